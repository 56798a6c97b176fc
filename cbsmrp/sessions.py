"""Who is whose neighbour: joining below a parent, admitting children, losing either (PROTOCOL.md sections 4 and 7).

The middle layer of the engine, above `exchange`. Rules 1 to 3 of the paper and its section 3, made safe against loss,
restarts, strangers and loops.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf
from typing import TypeVar

import attrs

from .bucket import Bucket
from .config import Timers
from .cookie import WINDOW, CookieJar
from .exchange import Exchange
from .messages import (
    MODE,
    NOT_ATTACHED,
    OWN_PARENT,
    RANK,
    RATE,
    REFUSALS,
    Address,
    Challenge,
    Hello,
    Quit,
    Refuse,
    Reply,
    Reset,
    SessionId,
    Subscribe,
    Update,
)
from .ready import Detached, NoAnswer, RateRefused
from .vif import UPSTREAM, Traffic, Vif, VifKind, upstream_vif

_T = TypeVar("_T")
_Memory = dict[Address, tuple[_T, float]]

#: Bounds on what strangers can make us remember or say.
MAX_WAITING_JOINS = 1024
ANSWERS_PER_SECOND = 50.0


def _remember(memory: _Memory[_T], address: Address, what: _T, until: float) -> None:
    """At the end, so that a memory stays in the order in which it may be forgotten."""
    memory.pop(address, None)
    memory[address] = (what, until)


def _forget(memory: _Memory[_T], now: float) -> None:
    while memory and (oldest := next(iter(memory.items())))[1][1] <= now:
        del memory[oldest[0]]


class Sessions(Exchange):
    mode_name = ""

    def __init__(
        self,
        generation: int,
        timers: Timers,
        rng: random.Random,
        candidates: Sequence[Address],
        chunk_bytes: int,
        opted: bool,
        now: float,
    ) -> None:
        core = not candidates and not self.is_host
        super().__init__(generation, timers, rng, core, chunk_bytes, opted, now)
        self.candidates = list(candidates)
        self.publications = 0
        #: Of ended sessions, by the kind of neighbour.
        self.past_traffic = {kind: Traffic() for kind in VifKind}
        self.quitting = False
        self._cookies = CookieJar(rng.randbytes(32))
        self._session_number = 0
        self._turn = 0
        self._failures = 0
        self._retry_at = now
        self._detached_at = now
        self._childless_since = now
        self._wanted_until = now + timers.linger
        self._ended: dict[Address, tuple[SessionId, float]] = {}
        self._joining: dict[Address, tuple[Subscribe, float]] = {}
        self._strangers = Bucket(ANSWERS_PER_SECOND, now)
        self._answered = False

    def _moved(self, vif: Vif) -> None:
        """A VIF has appeared, changed its address, or is gone."""

    @property
    def keep_attached(self) -> bool:
        """Stay on the tree with nobody below?"""
        return self.is_host

    # -- sessions: from below --------------------------------------------------------------------------

    def _on_subscribe(self, address: Address, m: Subscribe) -> None:
        if not self._cookies.accepts(address, m.state.cookie, self.now):
            if m.state.cookie:
                self.drops["bad_cookie"] += 1
            self._challenge(address, m.session.generation.to_bytes(8, "big") + m.session.number.to_bytes(8, "big"))
            return
        old = self.rib.at(address)
        if old is not None and old.id == UPSTREAM and old.joined:
            self._send(address, Refuse(m.session, OWN_PARENT, "I am your child"))
            return
        if old is not None and old.id == UPSTREAM:
            old = None
        if old is not None and old.session == m.session:
            old.reply = True  # the welcome may have been lost
            self._on_state(old, m.state)
            return
        ended, until = self._ended.get(address, (SessionId(0, 0), -inf))
        if (old is not None and old.session is not None and m.session < old.session) or (
            m.session <= ended and self.now < until
        ):
            self.drops["stale_session"] += 1
            return
        if old is not None:
            self._drop_child(old)  # a newer SUBSCRIBE ends the older session, admitted or not
        self._wanted_until = self.now + self.timers.linger
        self._admit(address, m)

    def _admit(self, address: Address, m: Subscribe) -> None:
        rank = self.rank
        if not m.host and m.mode != self.mode_name:
            text = f"this overlay runs mode {self.mode_name}, you asked for {m.mode}"
            self._send(address, Refuse(m.session, MODE, text))
        elif self.quitting or self.is_host or not self.attached or rank is None:
            # Rule 2: join first, answer then. (A joiner that goes elsewhere meanwhile will end the session itself.)
            if self.quitting or self.is_host or len(self._joining) >= MAX_WAITING_JOINS:
                self._send(address, Refuse(m.session, NOT_ATTACHED, "no way to the core"))
            else:
                _remember(self._joining, address, m, self.now + 2 * self.timers.resend_max)
        elif not m.host and not rank.better_than(m.state.rank):
            self._send(address, Refuse(m.session, RANK, "you may stand above me"))
        else:
            vif = Vif(
                -1,
                VifKind.HOST if m.host else VifKind.DOWNSTREAM,
                address,
                m.session,
                self.rng.getrandbits(64),
                opted=m.host and m.opted,
                hello_time=self.timers.host_hello if m.host else self.timers.hello,
                hold_time=self.timers.host_hold if m.host else self.timers.hold,
                shrink_delay=self.timers.host_shrink_delay if m.host else self.timers.shrink_delay,
                resend_time=self.timers.resend,
                heard=self.now,
                hello_at=self.now,
                seen_before=self.publications,
            )
            self.rib.add_child(vif)
            self._mark(vif)
            self._moved(vif)
            self._on_state(vif, m.state)

    def _admit_waiting(self) -> None:
        """Those who asked while there was no way to the core: admit them if there is one now, forget those who have
        gone on."""
        if self.attached:
            waiting, self._joining = self._joining, {}
            for address, (subscribe, until) in waiting.items():
                if self.now < until and self.rib.at(address) is None:
                    self._admit(address, subscribe)
        _forget(self._joining, self.now)
        _forget(self._ended, self.now)

    def _on_child(self, address: Address, m: Reply | Update | Hello) -> None:
        vif = self.rib.child_with(m.token)
        if vif is None:
            self.drops["bad_token"] += 1
            if self._may_reset():
                self._send(address, Reset(m.token, down=True))
            return
        if vif.address != address:
            # Somebody who knows the token speaks from elsewhere: the same child behind a NAT, if it can also hear us
            # there.
            if not self._cookies.accepts(address, m.state.cookie, self.now):
                self._challenge(address, m.token.to_bytes(8, "big") + bytes(8))
                return
            if m.state.serial <= vif.serial_in or self.rib.at(address) is not None:
                self.drops["stale_session"] += 1
                return
            self.rib.readdress(vif, address)
            self._moved(vif)
        vif.token_seen = True
        self._on_state(vif, m.state)

    def _drop_child(self, vif: Vif, tell: bool = False) -> None:
        assert vif.session is not None and vif.token is not None
        self.rib.remove(vif)
        self._retire(vif)
        _remember(self._ended, vif.address, vif.session, self.now + max(self.timers.lifetime, 2 * WINDOW))
        self._deadlines.set(vif.id, inf)
        if tell:
            self._send(vif.address, Reset(vif.token, down=True))
        self._childless_since = self.now
        self._confirmations.news(vif.id)
        self._installed(vif, gone=True)
        self._moved(vif)
        self._wanted_until = max(self._wanted_until, self.now + self.timers.linger)
        for other in self._affected_by(vif):
            self._mark(other)

    def _retire(self, vif: Vif) -> None:
        if vif.joined:
            vif.traffic.filtered = vif.filtered(self.publications)
        self.past_traffic[vif.kind].add(vif.traffic)

    # -- sessions: upwards -------------------------------------------------------------------------

    def _idle(self) -> bool:
        return self.quitting or not (self.keep_attached or self.rib.has_children or self._joining)

    def _needed(self) -> bool:
        if self.quitting:
            return False
        return self.keep_attached or self.rib.has_children or bool(self._joining) or self.now < self._wanted_until

    def _drained(self) -> bool:
        """Does everybody below know that the way up was lost, so that nobody clips by, or trusts in, what held before?

        A host is waited for no longer than a lease: after that it does not clip, and if it lives it has been asked
        often.
        """
        return all(
            v.in_force >= v.newest
            or (v.kind is VifKind.HOST and self.now >= max(self._detached_at + self.timers.lease, v.lease_until))
            for v in self.rib.children()
        )

    def _start_join(self, up: Vif) -> None:
        taken = {v.address for v in self.rib.children()}
        free = [c for c in self.candidates if c not in taken] if self._drained() else []
        if not taken and self.now >= self._childless_since + self.timers.lifetime + self.timers.hold:
            self._best_told = None  # nobody who was told it stands below any longer
        if not free:
            self._retry_at = self.now + self.timers.resend / 4
            return
        self._session_number += 1
        address = free[self._turn % len(free)]
        # The lower half is random, so that nobody who does not hear us can speak of this session.
        up.session = SessionId(self.generation, self._session_number << 32 | self.rng.getrandbits(32))
        self.rib.readdress(up, address)
        up.peer_epoch = -1
        up.accepted = up.in_force = up.sent = up.tries = 0
        up.resend_time, up.resend_at = self.timers.resend, self.now
        up.patience = self.timers.join_tries << min(self._failures, 4)
        up.cookie = b""
        up.hello_time = self.timers.host_hello if self.is_host else self.timers.hello
        up.hold_time = self.timers.host_hold if self.is_host else self.timers.hold
        if self.opted:
            up.hello_time = min(up.hello_time, self.timers.lease / 3)
        up.shrink_delay = 0.0 if self.is_host else self.timers.shrink_delay
        self._touched.add(UPSTREAM)

    def _no_parent(self, up: Vif, why: str) -> None:
        """This candidate will not do: try the next one a little later."""
        self._ready.notices.append(NoAnswer(up.address, why))
        self._drop_upstream(why, after=self.timers.resend * self.rng.uniform(0.5, 1.0))

    def _serve_joining(self, up: Vif) -> None:
        """Ask the candidate again when it is time; give it up after as many tries as it is worth."""
        if self.now >= up.resend_at:
            up.tries += 1
            if up.tries > up.patience:
                self._failures += 1
                told = "it answers, but has no way to the core: check its upstreams" if up.cookie else "no answer"
                self._no_parent(up, told)
            else:
                self._backed_off(up, doubled=up.tries > 1)
                self._send_subscribe(up)

    def _send_subscribe(self, up: Vif) -> None:
        assert up.session is not None
        if up.dirty:
            self._compute(up)
        value = None
        if up.cookie and len(self._chunks(up)) == 1:
            value = self._part(up, 0)
            up.sent, up.sent_at = up.out_version, self.now
        state = self._state(up, value=value)
        state = attrs.evolve(state, cookie=up.cookie, rank=None if self.is_host else self._best_told)
        self._send(up.address, Subscribe(up.session, self.mode_name, self.is_host, self.opted, state))

    def _on_parent(self, address: Address, m: Reply | Update | Hello) -> None:
        up = self.upstream
        welcome = m.state.welcome
        if up is None or up.session is None or up.address != address:
            ours = False
        elif up.joined:
            ours = m.token == up.token
            if not ours and welcome is not None and welcome.session == up.session:
                if welcome.parent_generation < up.parent_generation:
                    self.drops["stale_session"] += 1
                else:
                    self._drop_upstream("the parent restarted")
                return
        else:
            ours = welcome is not None and welcome.session == up.session
        if not ours or up is None:
            # The sender believes in a session that I have ended.
            self.drops["stale_session"] += 1
            if self._may_reset():
                self._send(address, Reset(m.token, down=False))
            return
        if not up.joined:
            assert welcome is not None
            up.token, up.token_seen, up.parent_generation = m.token, True, welcome.parent_generation
            up.heard = self.now
            up.seen_before = self.publications
            if welcome.hold_ms:
                up.hello_time = min(up.hello_time, welcome.hold_ms / 3000)
            up.hello_at = self.now + up.hello_time
            self._failures = 0
            self._installed(up)
            self._moved(up)
        self._on_state(up, m.state)

    def _drop_upstream(self, why: str, tell: bool = False, after: float = 0.0) -> None:
        """Give up the parent: assume that everything is wanted up there, and promise nothing."""
        old = self.upstream
        if old is None or old.session is None:
            return
        if tell and old.token is not None:
            self._send(old.address, Quit(old.token))
        up = upstream_vif()
        self.rib.put(up)
        self._retire(old)
        self._deadlines.set(UPSTREAM, inf)
        self._turn += 1
        self._retry_at = self.now + after
        if old.joined:
            self._detached_at = self.now
            self._installed(old, gone=True)
            self._moved(old)
            self._ready.notices.append(Detached(why))
            self._mark(up)
            self._mark_children()
            self._revoke()
        else:
            up.out_value, up.out_version, up.dirty, up.chunks = old.out_value, old.out_version, old.dirty, old.chunks
            up.shrink_at = old.shrink_at

    # -- other frames ------------------------------------------------------------------------------

    def _on_end(self, m: Quit | Reset) -> None:
        if m.down:
            up = self.upstream
            if up is not None and up.joined and up.token == m.token:
                self._drop_upstream("the parent ended the session")
                return
        elif (vif := self.rib.child_with(m.token)) is not None:
            self._drop_child(vif)
            return
        self.drops["bad_token"] += 1

    def _on_refuse(self, address: Address, m: Refuse) -> None:
        up = self.upstream
        if up is None or up.session != m.session or up.address != address:
            self.drops["stale_session"] += 1
        elif not up.joined and not m.version:
            self._no_parent(up, f"{REFUSALS[m.reason]}: {m.text}")
        elif up.joined and m.reason == RATE:
            self._ready.notices.append(RateRefused(m.text))
        elif not m.version or not self._value_refused(m):
            self.drops["stale_session"] += 1

    def _on_challenge(self, address: Address, m: Challenge) -> None:
        up = self.upstream
        if up is None or up.session is None or up.address != address:
            self.drops["stale_session"] += 1
            return
        generation, number = int.from_bytes(m.echo[:8], "big"), int.from_bytes(m.echo[8:], "big")
        if not up.joined and (generation, number) == up.session and m.cookie != up.cookie:
            up.cookie, up.resend_at = m.cookie, self.now
            up.tries = max(0, up.tries - 1)
        elif up.joined and generation == up.token and not number:
            up.cookie = m.cookie
            self._send_state(up, ask=True)
        else:
            self.drops["stale_session"] += 1
            return
        self._touched.add(UPSTREAM)

    def _on_rejoin(self, address: Address) -> None:
        up = self.upstream
        if up is None or not up.joined or up.address != address:
            self.drops["stale_session"] += 1
        elif self._may_reset():
            self._send_state(up, ask=True)

    def _challenge(self, address: Address, echo: bytes) -> None:
        if not self._answered:  # at most one a datagram
            self._answered = True
            self._send(address, Challenge(echo, self._cookies.bake(address, self.now)))

    def _may_reset(self) -> bool:
        """So many answers to strangers a second, and at most one a datagram."""
        if self._answered:
            return False
        self._answered = self._strangers.take(self.now)
        return self._answered
