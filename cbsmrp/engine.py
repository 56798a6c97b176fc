"""The engine under a router and under a host: sessions, versions, re-sending, in force, ranks.

No sockets, no clock, no global randomness: time comes in with every call, randomness as a `random.Random`, and what
is to be
done goes out as one `Ready`. `router.Router` adds a routing mode and a forwarding table, `host.Host` an application.
PROTOCOL.md sections 4 to 7; the rules were tried out, and attacked, on an executable model before they were written
here.

One rule for both directions: what VIF n is told is derived from what every *other* VIF wants. Upwards that is SR
(equation 1 of the paper), downwards CR (equation 2).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf

import attrs

from interest import EVERYTHING, DecodeError, Interest
from interest.binary import decode_interest, encode_interest

from .config import Timers
from .confirmation import Confirmations
from .cookie import CookieJar
from .deadlines import Deadlines
from .messages import (
    MODE,
    NOT_ATTACHED,
    OWN_PARENT,
    RANK,
    REFUSALS,
    REGION,
    Address,
    Challenge,
    Hello,
    Message,
    Quit,
    Rank,
    Refuse,
    Rejoin,
    Reply,
    Reset,
    SessionId,
    State,
    Subscribe,
    Update,
    ValuePart,
    VifId,
    Welcome,
)
from .ready import Attached, Detached, NoAnswer, RateRefused, Ready
from .rib import Rib
from .vif import APPLICATION, UPSTREAM, Traffic, Vif, VifKind, upstream_vif

#: Bounds on what strangers can make us remember or say.
MAX_WAITING_JOINS = 1024
RESETS_PER_SECOND = 50
#: A region's binary form is at most this long (interest/FORMAT.md); longer ones are over-approximated further.
MAX_VALUE_BYTES = 65536
_LEASE_MEMORY = 64


class Engine:
    """What a router and a host share. Not used by itself.

    `generation` is the start time in ms, greater than that of any earlier life at this address; `candidates` the
    possible
    parents in order (none: this is the core); `chunk_bytes` how much of a region one frame may carry.
    """

    is_host = False
    mode_name = ""

    def __init__(
        self,
        *,
        generation: int,
        timers: Timers,
        rng: random.Random,
        candidates: Sequence[Address] = (),
        chunk_bytes: int = 1200,
        opted: bool = False,
        now: float = 0.0,
    ) -> None:
        self.generation = generation
        self.timers = timers
        self.rng = rng
        self.candidates = list(candidates)
        self.core = not self.candidates and not self.is_host
        self.chunk_bytes = chunk_bytes
        self.opted = opted
        self.now = now
        self.rib = Rib()
        self.drops: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.publications = 0
        #: Of ended sessions, by the kind of neighbour.
        self.past_traffic = {kind: Traffic() for kind in VifKind}
        self.quitting = False
        self._confirmations = Confirmations(self.rib)
        self._deadlines = Deadlines()
        self._cookies = CookieJar(rng.randbytes(32))
        self._ready = Ready()
        self._touched: set[VifId] = set()
        self._version = 0
        self._epoch = 0
        self._core_sequence = 0
        self._beat_at = now
        self._parent_rank: Rank | None = None
        self._best_told: Rank | None = None
        self._session_number = 0
        self._turn = 0
        self._failures = 0
        self._retry_at = now
        self._detached_at = now
        self._wanted_until = now + timers.linger
        self._ended: dict[Address, tuple[SessionId, float]] = {}
        self._joining: dict[Address, tuple[Subscribe, float]] = {}
        self._resets = (now, float(RESETS_PER_SECOND))
        self._answered = False
        if not self.core:
            self.rib.put(upstream_vif())
            self._mark(self.rib.vifs[UPSTREAM])

    # -- what subclasses decide ------------------------------------------------------------------------

    def _region_for(self, vif: Vif) -> Interest:
        """What this neighbour is to be told (may be larger than the exact region, never smaller)."""
        raise NotImplementedError

    def _affected_by(self, vif: Vif) -> Iterable[Vif]:
        """Whose region changes when what `vif` wants has changed."""
        raise NotImplementedError

    def _installed(self, vif: Vif, gone: bool = False) -> None:
        """What `vif` wants has changed, or it is gone: bring the forwarding table up to date."""

    def _refusal(self, vif: Vif, value: Interest, subscriptions: int) -> tuple[int, str] | None:
        """A reason to refuse this region, or None."""
        return None

    def _value_refused(self, m: Refuse) -> None:
        """The parent refuses a version of mine."""

    def _value_accepted(self, vif: Vif) -> None:
        """The neighbour has the version `vif.accepted` of mine."""

    def _confirmed(self, vif: Vif) -> None:
        """What `vif` wants, up to `vif.confirmed`, is in force."""
        vif.reply = True
        self._touched.add(vif.id)

    def _revoked(self) -> None:
        """Nothing that was said to be in force is any longer."""

    def _moved(self, vif: Vif) -> None:
        """A VIF has appeared, changed its address, or is gone."""

    @property
    def keep_attached(self) -> bool:
        """Stay on the tree with nobody below?"""
        return self.is_host

    # -- views -----------------------------------------------------------------------------------------

    @property
    def upstream(self) -> Vif | None:
        return self.rib.get(UPSTREAM)

    @property
    def attached(self) -> bool:
        """Is there a way to the core, as far as this node has been told?"""
        up = self.upstream
        return self.core or (up is not None and up.joined and up.attached)

    def observe_in_force(self, observer: Callable[[VifKind, float], None]) -> None:
        """Call `observer` with the kind of neighbour and the seconds from a version's arrival to its being in force."""
        self._confirmations.observer = observer

    @property
    def rank(self) -> Rank | None:
        if self.core:
            return Rank(self.generation, self._core_sequence, 0)
        parent = self._parent_rank
        return None if parent is None else parent._replace(depth=parent.depth + 1)

    def next_deadline(self) -> float:
        at = self._deadlines.next()
        if self.core:
            return min(at, self._beat_at)
        up = self.upstream
        assert up is not None
        if up.session is None:
            if self._needed():
                at = min(at, self._retry_at)
            if self.rib.has_children:
                at = min(at, self._detached_at + self.timers.flush)
        elif self._idle():
            at = min(at, max(self._wanted_until, self.now))
        return at

    def take_ready(self) -> Ready:
        ready, self._ready = self._ready, Ready()
        return ready

    # -- input -----------------------------------------------------------------------------------------

    def receive(self, address: Address, messages: Sequence[Message], now: float) -> None:
        """Handle the control messages of one datagram, all of which have been decoded."""
        self.now = now
        self._answered = False
        for message in messages:
            self.received[type(message).__name__] += 1
            if isinstance(message, Subscribe):
                self._on_subscribe(address, message)
            elif isinstance(message, Reply | Update | Hello):
                if message.down:
                    self._on_parent(address, message)
                else:
                    self._on_child(address, message)
            elif isinstance(message, Quit | Reset):
                self._on_end(message)
            elif isinstance(message, Refuse):
                self._on_refuse(address, message)
            elif isinstance(message, Challenge):
                self._on_challenge(address, message)
            elif isinstance(message, Rejoin):
                self._on_rejoin(address)
        self._finish()

    def expire(self, now: float) -> None:
        """Do what is due. Harmless at any time."""
        self.now = now
        for key in self._deadlines.due(now):
            if (vif := self.rib.get(key)) is not None:
                self._touched.add(key)
                if vif.joined and now >= vif.heard + vif.hold_time:
                    if key == UPSTREAM:
                        self._drop_upstream("silent", tell=True)
                    else:
                        self._drop_child(vif, tell=True)
                elif vif.shrink_at <= now:
                    self._mark(vif)
        if self.core:
            if now >= self._beat_at:
                self._core_sequence += 1
                self._beat_at = now + self.timers.hello
                self._pass_on_rank()
        else:
            up = self.upstream
            assert up is not None
            if up.session is None:
                if self._needed() and now >= self._retry_at:
                    self._start_join(up)
                if self.rib.has_children and now >= self._detached_at + self.timers.flush:
                    for child in self.rib.children():
                        self._drop_child(child, tell=True)
            elif not self._needed():
                self._drop_upstream("nobody needs it", tell=True, after=self.timers.resend)
        self._finish()

    def leave(self, now: float) -> None:
        """Leave the tree for good: QUIT upwards, and end what is below."""
        self.now, self.quitting = now, True
        for child in self.rib.children():
            self._drop_child(child, tell=True)
        if not self.core:
            self._drop_upstream("left", tell=True)
        self._finish()

    def unknown_sender(self, address: Address, now: float) -> None:
        """A publication came from an address without a VIF: hint, at a limited rate, that it should join again."""
        self.now = now
        if self._may_reset():
            self._send(address, Rejoin())

    def speaks_version(self, address: Address, version: int, now: float) -> None:
        """A datagram of another protocol version came from here."""
        self.now = now
        up = self.upstream
        if up is not None and up.session is not None and not up.joined and up.address == address:
            self._no_parent(up, f"it speaks protocol version {version}, this is version 1: use the same release")
        self._finish()

    # -- sessions: from below --------------------------------------------------------------------------

    def _on_subscribe(self, address: Address, m: Subscribe) -> None:
        if not self._cookies.accepts(address, m.state.cookie, self.now):
            if m.state.cookie:
                self.drops["bad_cookie"] += 1
            self._challenge(address, m.session.generation.to_bytes(8, "big") + m.session.number.to_bytes(4, "big"))
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
        elif not self.attached or rank is None:
            # Rule 2: join first, answer then. (A joiner that goes elsewhere meanwhile will end the session itself.)
            if self.quitting or self.is_host or len(self._joining) >= MAX_WAITING_JOINS:
                self._send(address, Refuse(m.session, NOT_ATTACHED, "no way to the core"))
            else:
                self._joining[address] = (m, self.now + 2 * self.timers.resend_max)
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
                self._challenge(address, m.token.to_bytes(8, "big") + bytes(4))
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
        self._ended[vif.address] = (vif.session, self.now + self.timers.lifetime)
        self._deadlines.set(vif.id, inf)
        if tell:
            self._send(vif.address, Reset(vif.token, down=True))
        self._confirmations.forget(vif.id)
        self._installed(vif, gone=True)
        self._moved(vif)
        self._wanted_until = max(self._wanted_until, self.now + self.timers.linger)
        for other in self._affected_by(vif):
            self._mark(other)

    def _retire(self, vif: Vif) -> None:
        if vif.joined:
            vif.traffic.filtered = vif.filtered(self.publications)
        self.past_traffic[vif.kind].add(vif.traffic)

    # -- sessions: upwards
    # -----------------------------------------------------------------------

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
        if not free:
            self._retry_at = self.now + self.timers.resend / 4
            return
        self._session_number += 1
        address = free[self._turn % len(free)]
        up.session = SessionId(self.generation, self._session_number)
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

    def _revoke(self) -> None:
        self._epoch += 1
        for vif in self._confirmations.revoke(self.now):
            vif.reply = True
            self._touched.add(vif.id)
        self._revoked()

    # -- other frames
    # ----------------------------------------------------------------------------

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
        elif m.version:
            self._value_refused(m)
        elif up.joined:
            self._ready.notices.append(RateRefused(m.text))

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
        if up is not None and up.joined and up.address == address and self._may_reset():
            self._send_state(up, ask=True)

    def _challenge(self, address: Address, echo: bytes) -> None:
        if not self._answered:  # at most one a datagram
            self._answered = True
            self._send(address, Challenge(echo, self._cookies.bake(address, self.now)))

    def _may_reset(self) -> bool:
        """A token bucket over all answers to strangers, and at most one a datagram."""
        if self._answered:
            return False
        at, left = self._resets
        left = min(RESETS_PER_SECOND, left + (self.now - at) * RESETS_PER_SECOND)
        self._resets = (self.now, left - 1 if left >= 1 else left)
        self._answered = left >= 1
        return self._answered

    # -- state -----------------------------------------------------------------------------------------

    def _on_state(self, vif: Vif, m: State) -> None:
        self._touched.add(vif.id)
        vif.heard = self.now
        vif.serial_in = max(vif.serial_in, m.serial)
        vif.traffic.control_in += 1
        lost = (m.datagrams - vif.traffic.datagrams_in) & 0xFFFFFFFF
        vif.traffic.lost_on_link = lost if lost < 1 << 31 else 0
        if m.accepted > vif.accepted and m.accepted <= vif.newest:
            vif.accepted, vif.tries = m.accepted, 0
            vif.resend_time = self.timers.resend
            vif.resend_at = self.now + 2 * vif.resend_time  # from now on: when to ask whether it is in force
            self._value_accepted(vif)
        if m.epoch > vif.peer_epoch:
            first, vif.peer_epoch, vif.in_force = vif.peer_epoch < 0, m.epoch, m.in_force
            if vif.id == UPSTREAM and not first:
                self._revoke()
        elif m.epoch == vif.peer_epoch:
            vif.in_force = max(vif.in_force, m.in_force)
        if vif.id == UPSTREAM:
            if m.rank is not None:
                self._on_rank(m.rank)
            if m.lease and (asked := vif.serial_times.get(m.lease)) is not None:
                vif.lease_until = max(vif.lease_until, asked + m.lease_ms / 1000)
        if m.value is not None:
            vif.reply = True
            self._on_value(vif, m.value)
        elif m.ask:
            vif.reply = True

    def _on_value(self, vif: Vif, part: ValuePart) -> None:
        if part.version <= vif.in_version or part.version < vif.parts_version or part.version == vif.refused_version:
            return
        if part.version > vif.parts_version:
            vif.parts_version, vif.parts = part.version, {}
        vif.parts[part.part] = part.chunk
        if len(vif.parts) < part.parts or sum(map(len, vif.parts.values())) > MAX_VALUE_BYTES:
            return
        data = b"".join(vif.parts[i] for i in sorted(vif.parts))
        vif.drop_value_in_progress()
        try:
            value = decode_interest(data)
        except DecodeError as error:
            self.drops["bad_region"] += 1
            return self._refuse_value(vif, part.version, REGION, str(error))
        if (refusal := self._refusal(vif, value, part.subscriptions)) is not None:
            return self._refuse_value(vif, part.version, *refusal)
        if vif.id == UPSTREAM and part.attached != vif.attached:
            vif.attached = part.attached
            if part.attached:
                self._ready.notices.append(Attached(vif.address))
            self._mark_children()
        self._accept(vif, part.version, value)

    def _refuse_value(self, vif: Vif, version: int, reason: int, text: str) -> None:
        vif.refused_version = version
        if vif.session is not None and vif.id != UPSTREAM:
            self._send(vif.address, Refuse(vif.session, reason, text, version))

    def _accept(self, vif: Vif, version: int, value: Interest) -> None:
        vif.in_version = version
        if value != vif.in_value:
            vif.in_value = value
            for other in self._affected_by(vif):
                self._mark(other)
        self._installed(vif)
        self._confirmations.enqueue(vif, version, self.now)

    def _on_rank(self, rank: Rank) -> None:
        mine = self._parent_rank
        if mine is None or rank[:2] != mine[:2]:
            newer = mine is None or rank[:2] > mine[:2]
            self._parent_rank = rank
            if newer:
                self._pass_on_rank()
        elif rank.depth > mine.depth:
            self._parent_rank = rank

    def _pass_on_rank(self) -> None:
        """A new core sequence goes on at once, so that those who must join again find fresher news than they ever
        told."""
        for vif in self.rib.children():
            if vif.kind is VifKind.DOWNSTREAM:
                vif.hello_at = self.now
                self._touched.add(vif.id)

    # -- values of mine
    # --------------------------------------------------------------------------

    def _mark(self, vif: Vif) -> None:
        """What this neighbour is told may have changed: a new version is due (and computed when it can be sent)."""
        if not vif.dirty:
            self._version += 1
            vif.dirty = self._version
        self._touched.add(vif.id)

    def _mark_children(self) -> None:
        for vif in self.rib.children():
            self._mark(vif)

    def _compute(self, vif: Vif) -> None:
        want = self._region_for(vif) if vif.clipped else EVERYTHING
        if vif.id != UPSTREAM or not self.is_host:
            want = self._bounded(want)
        attached = vif.id != UPSTREAM and self.attached
        old = vif.out_value
        if old is not None and vif.shrink_delay and want != old and self.now < vif.shrink_at and old.covers(want):
            vif.shrink_at = min(vif.shrink_at, self.now + vif.shrink_delay)
            want = old
        else:
            vif.shrink_at = inf
        if want != old or attached != vif.out_attached:
            vif.out_value, vif.out_attached, vif.out_version = want, attached, vif.dirty
            vif.chunks = None
        else:
            self._confirmations.same_value(vif, vif.dirty)
        vif.dirty = 0

    def _bounded(self, value: Interest) -> Interest:
        return value

    def _chunks(self, vif: Vif) -> list[bytes]:
        if vif.chunks is None:
            assert vif.out_value is not None
            data, pieces = encode_interest(vif.out_value), vif.out_value.piece_count
            while len(data) > MAX_VALUE_BYTES and not self.is_host:
                pieces = max(1, pieces // 2)
                data = encode_interest(vif.out_value.over_approximate(pieces))
            size = self.chunk_bytes
            vif.chunks = [data[i : i + size] for i in range(0, len(data), size)] or [b""]
        return vif.chunks

    # -- output ----------------------------------------------------------------------------------------

    def _send(self, address: Address, message: Message) -> None:
        self.sent[type(message).__name__] += 1
        self._ready.messages.append((address, message))

    def _finish(self) -> None:
        """Confirm what has come into force, then send what is due."""
        if self._joining and self.attached:
            waiting, self._joining = self._joining, {}
            for address, (subscribe, until) in waiting.items():
                if self.now < until and self.rib.at(address) is None:
                    self._admit(address, subscribe)
        while (
            True
        ):  # serving may confirm (a version turned out to say nothing new), and what is confirmed is to be served
            self._confirmations.settle(self.now, self._confirmed)
            if not self._touched:
                break
            touched, self._touched = sorted(self._touched), set()
            for key in touched:
                if (vif := self.rib.get(key)) is not None and key != APPLICATION:
                    self._serve(vif)
                    if self.rib.get(key) is vif:
                        self._deadlines.set(key, self._deadline(vif))
        if len(self._ended) > MAX_WAITING_JOINS:
            self._ended = {a: e for a, e in self._ended.items() if e[1] > self.now}
        if self._joining:
            self._joining = {a: e for a, e in self._joining.items() if e[1] > self.now}

    def _backed_off(self, vif: Vif, doubled: bool) -> None:
        vif.resend_time = min(2 * vif.resend_time, self.timers.resend_max) if doubled else self.timers.resend
        vif.resend_at = self.now + vif.resend_time * self.rng.uniform(1.0, 1.25)

    def _serve(self, vif: Vif) -> None:
        """Send this neighbour what is due; one value, question or answer an event."""
        now = self.now
        if vif.session is None:
            return
        if not vif.joined:
            if now >= vif.resend_at:
                vif.tries += 1
                if vif.tries > vif.patience:
                    self._failures += 1
                    self._no_parent(vif, "no answer")
                    return
                self._backed_off(vif, doubled=vif.tries > 1)
                self._send_subscribe(vif)
            return
        late, paced = now >= vif.resend_at, now >= vif.sent_at + self.timers.update_interval
        due = late if vif.in_flight else paced
        if vif.dirty and due:
            self._compute(vif)
        if vif.out_version > vif.accepted and due:
            self._backed_off(vif, doubled=vif.in_flight)
            vif.sent, vif.sent_at = vif.out_version, now
            self._send_value(vif)
        elif not vif.dirty and vif.accepted >= vif.out_version > vif.in_force and late:
            self._backed_off(vif, doubled=True)
            self._send_state(vif, ask=True)
        elif vif.reply:
            self._send_state(vif)
        elif now >= vif.hello_at:
            self._send_state(vif, hello=True)

    def _deadline(self, vif: Vif) -> float:
        if vif.session is None:
            return inf
        if not vif.joined:
            return vif.resend_at
        at = min(vif.hello_at, vif.heard + vif.hold_time)
        if not vif.dirty:
            at = min(at, vif.shrink_at)
        if vif.in_flight:
            at = min(at, vif.resend_at)
        elif vif.newest > vif.accepted:
            at = min(at, vif.sent_at + self.timers.update_interval)
        elif vif.in_force < vif.newest:
            at = min(at, vif.resend_at)
        if vif.opted and vif.in_force < vif.newest and vif.lease_until > self.now:
            at = min(at, vif.lease_until)
        return at

    def _state(self, vif: Vif, ask: bool = False, value: ValuePart | None = None) -> State:
        vif.serial_out += 1
        vif.hello_at = self.now + vif.hello_time
        vif.reply = False
        vif.traffic.control_out += 1
        welcome = rank = None
        lease = 0
        if vif.id != UPSTREAM:
            if not vif.token_seen and vif.session is not None:
                welcome = Welcome(vif.session, self.generation)
            if vif.kind is VifKind.DOWNSTREAM:
                rank = self.rank
                if rank is not None and rank.better_than(self._best_told):
                    self._best_told = rank
            if vif.opted and vif.serial_in > vif.lease_serial and not vif.dirty and vif.accepted >= vif.out_version:
                lease = vif.lease_serial = vif.serial_in
                vif.lease_until = self.now + self.timers.lease
        elif self.opted:
            ask = True
            vif.serial_times[vif.serial_out] = self.now
            vif.serial_times.pop(vif.serial_out - _LEASE_MEMORY, None)
        return State(
            vif.serial_out,
            vif.in_version,
            self._epoch,
            vif.confirmed,
            ask,
            vif.traffic.datagrams_out & 0xFFFFFFFF,
            lease,
            round(self.timers.lease * 1000) if lease else 0,
            welcome,
            b"",
            rank,
            value,
        )

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

    def _part(self, vif: Vif, part: int) -> ValuePart:
        chunks = self._chunks(vif)
        return ValuePart(
            vif.out_version, part, len(chunks), chunks[part], self._subscription_count(vif), vif.out_attached
        )

    def _subscription_count(self, vif: Vif) -> int:
        return 0

    def _send_value(self, vif: Vif) -> None:
        for part in range(len(self._chunks(vif))):
            self._send_tokened(Update, vif, self._state(vif, value=self._part(vif, part)))

    def _send_state(self, vif: Vif, ask: bool = False, hello: bool = False) -> None:
        self._send_tokened(Hello if hello or ask else Reply, vif, self._state(vif, ask=ask))

    def _send_tokened(self, kind: type[Reply] | type[Update] | type[Hello], vif: Vif, state: State) -> None:
        assert vif.token is not None
        if vif.id == UPSTREAM and vif.cookie:
            state, vif.cookie = attrs.evolve(state, cookie=vif.cookie), b""
        self._send(vif.address, kind(vif.token, vif.id != UPSTREAM, state))
