"""What two neighbours say to each other over a VIF: one value each way, versions, re-sending, in force, ranks, leases.

The lowest layer of the engine; `sessions` adds who is whose neighbour, `engine` the calls from outside. PROTOCOL.md
sections 5 and 6. One rule for both directions: what VIF n is told is derived from what every *other* VIF wants; upwards
that is SR (equation 1 of the paper), downwards CR (equation 2).
"""

from __future__ import annotations

import abc
import random
from collections import Counter
from collections.abc import Iterable
from math import inf

import attrs

from interest import EVERYTHING, DecodeError, Interest
from interest.binary import decode_interest, encode_interest

from .config import Timers
from .confirmation import Confirmations
from .deadlines import Deadlines
from .messages import (
    REGION,
    Address,
    Hello,
    Message,
    Rank,
    Refuse,
    Reply,
    State,
    Update,
    ValuePart,
    VifId,
    Welcome,
)
from .ready import Attached, Ready
from .rib import Rib
from .vif import UPSTREAM, Vif, VifKind, upstream_vif

#: A region's binary form is at most this long (interest/FORMAT.md); longer ones are over-approximated further.
MAX_VALUE_BYTES = 65536
#: What the wire holds.
MAX_DEPTH = 0xFFFF
_LEASE_MEMORY = 64


class Exchange(abc.ABC):
    """The state that every layer shares, and the exchange of values. `core`: the root of the tree."""

    is_host = False

    def __init__(
        self, generation: int, timers: Timers, rng: random.Random, core: bool, chunk_bytes: int, opted: bool, now: float
    ) -> None:
        self.generation = generation
        self.timers = timers
        self.rng = rng
        self.core = core
        self.chunk_bytes = chunk_bytes
        self.opted = opted
        self.now = now
        self.rib = Rib()
        self.drops: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self._confirmations = Confirmations(self.rib)
        self._deadlines = Deadlines()
        self._ready = Ready()
        self._touched: set[VifId] = set()
        self._version = 0
        self._epoch = 0
        self._core_sequence = 0
        self._parent_rank: Rank | None = None
        self._best_told: Rank | None = None
        if not core:
            self.rib.put(upstream_vif())
            self._mark(self.rib.vifs[UPSTREAM])

    # -- what subclasses decide ------------------------------------------------------------------------

    @abc.abstractmethod
    def _region_for(self, vif: Vif) -> Interest:
        """What this neighbour is to be told (may be larger than the exact region, never smaller)."""

    @abc.abstractmethod
    def _affected_by(self, vif: Vif) -> Iterable[Vif]:
        """Whose region changes when what `vif` wants has changed."""

    def _installed(self, vif: Vif, gone: bool = False) -> None:
        """What `vif` wants has changed, or it is gone: bring the forwarding table up to date."""

    def _refusal(self, vif: Vif, value: Interest, subscriptions: int) -> tuple[int, str] | None:
        """A reason to refuse this region, or None."""
        return None

    def _value_refused(self, m: Refuse) -> bool:
        """The parent refuses a version of mine. Is that news?"""
        return False

    def _value_accepted(self, vif: Vif) -> None:
        """The neighbour has the version `vif.accepted` of mine."""

    def _confirmed(self, vif: Vif) -> None:
        """What `vif` wants, up to `vif.confirmed`, is in force."""
        vif.reply = True
        self._touched.add(vif.id)

    def _revoked(self) -> None:
        """Nothing that was said to be in force is any longer."""

    def _bounded(self, value: Interest) -> Interest:
        """The same region in no more pieces than a neighbour is to be told."""
        return value

    def _subscription_count(self, vif: Vif) -> int:
        """How many subscriptions this neighbour's value stands for (a host says it)."""
        return 0

    # -- views -------------------------------------------------------------------------------------

    @property
    def upstream(self) -> Vif | None:
        return self.rib.get(UPSTREAM)

    @property
    def attached(self) -> bool:
        """Is there a way to the core, as far as this node has been told?"""
        up = self.upstream
        return self.core or (up is not None and up.joined and up.attached)

    @property
    def rank(self) -> Rank | None:
        if self.core:
            return Rank(self.generation, self._core_sequence, 0)
        parent = self._parent_rank
        return None if parent is None else parent._replace(depth=min(parent.depth + 1, MAX_DEPTH))

    # -- state -----------------------------------------------------------------------------------------

    def _on_state(self, vif: Vif, m: State) -> None:
        self._touched.add(vif.id)
        vif.heard = self.now
        vif.asked_at, vif.unanswered = inf, 0
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
            self._confirmations.news(vif.id)
            if vif.id == UPSTREAM and not first:
                self._revoke()
        elif m.epoch == vif.peer_epoch and m.in_force > vif.in_force:
            vif.in_force = m.in_force
            self._confirmations.news(vif.id)
        if vif.id == UPSTREAM:
            if m.rank is not None:
                self._on_rank(m.rank)
            if m.lease and (asked := vif.serial_times.get(m.lease)) is not None:
                vif.lease_until = max(vif.lease_until, asked + m.lease_ms / 1000)
        if m.value is not None:
            self._on_value(vif, m.value)
        elif m.ask:
            vif.reply = True

    def _on_value(self, vif: Vif, part: ValuePart) -> None:
        if part.version <= vif.in_version:
            vif.reply = True
            return
        if part.version < vif.parts_version:
            return
        if vif.refused is not None and part.version == vif.refused.version:
            if part.part == 0:  # sent again: our answer may have been lost
                self._send_refusal(vif)
            return
        if part.version > vif.parts_version:
            vif.parts_version, vif.parts = part.version, {}
        vif.parts[part.part] = part.chunk
        if sum(map(len, vif.parts.values())) > MAX_VALUE_BYTES:
            vif.drop_value_in_progress()
            self.drops["bad_region"] += 1
            return self._refuse_value(vif, part.version, REGION, f"longer than {MAX_VALUE_BYTES} bytes")
        if len(vif.parts) < part.parts:
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
        assert vif.session is not None
        vif.refused = Refuse(vif.session, reason, text, version)
        self._send_refusal(vif)

    def _send_refusal(self, vif: Vif) -> None:
        if vif.refused is not None and vif.id != UPSTREAM:
            self._send(vif.address, vif.refused)

    def _accept(self, vif: Vif, version: int, value: Interest) -> None:
        vif.in_version, vif.reply = version, True
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

    # -- values of mine ----------------------------------------------------------------------------

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
        shrink_at = inf
        if old is not None and want != old and not self.is_host and old.covers(want):
            if want.covers(old):
                want = old  # the same set in other words is no news (the paper's rule 2)
            elif vif.shrink_delay and self.now < vif.shrink_at:
                shrink_at = min(vif.shrink_at, self.now + vif.shrink_delay)
                want = old
        vif.shrink_at = shrink_at
        if want != old or attached != vif.out_attached:
            vif.out_value, vif.out_attached, vif.out_version = want, attached, vif.dirty
            vif.chunks = None
        else:
            self._confirmations.same_value(vif, vif.dirty)
        vif.dirty = 0

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

    def _revoke(self) -> None:
        self._epoch += 1
        for vif in self._confirmations.revoke(self.now):
            vif.reply = True
            self._touched.add(vif.id)
        self._revoked()

    # -- output ----------------------------------------------------------------------------------------

    def _send(self, address: Address, message: Message) -> None:
        self.sent[type(message).__name__] += 1
        self._ready.messages.append((address, message))

    def _backed_off(self, vif: Vif, doubled: bool) -> None:
        vif.resend_time = min(2 * vif.resend_time, self.timers.resend_max) if doubled else self.timers.resend
        vif.resend_at = self.now + vif.resend_time * self.rng.uniform(1.0, 1.25)

    def _serve(self, vif: Vif) -> None:
        """Send this neighbour what is due; one value, question or answer an event."""
        now = self.now
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
        elif vif.unanswered and late:
            self._backed_off(vif, doubled=True)
            self._send_state(vif, ask=True)
        elif now >= vif.hello_at:
            # A host asks, so that it may have shorter times than its router, which may serve thousands.
            self._send_state(vif, ask=self.is_host, hello=True)

    def _deadline(self, vif: Vif) -> float:
        if not vif.joined:
            return vif.resend_at if vif.session is not None else inf
        at = min(vif.hello_at, vif.heard + vif.hold_time)
        if not vif.dirty:
            at = min(at, vif.shrink_at)
        if vif.in_flight or vif.unanswered:
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
                welcome = Welcome(vif.session, self.generation, round(vif.hold_time * 1000))
            if vif.kind is VifKind.DOWNSTREAM:
                rank = self.rank
                if rank is not None and rank.better_than(self._best_told):
                    self._best_told = rank
            # One who did not report in force and yet got leases would keep everybody else from being in force.
            knows = not vif.dirty and min(vif.accepted, vif.in_force) >= vif.out_version
            if vif.opted and knows and vif.serial_in > vif.lease_serial:
                lease = vif.lease_serial = vif.serial_in
                vif.lease_until = self.now + self.timers.lease
        else:
            ask = ask or self.opted
            if self.is_host and (ask or value is not None):
                vif.asked_at = min(vif.asked_at, self.now)
                vif.unanswered += 1
                if self.now >= vif.resend_at:
                    self._backed_off(vif, doubled=False)
        if vif.id == UPSTREAM and self.opted:
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

    def _part(self, vif: Vif, part: int) -> ValuePart:
        chunks = self._chunks(vif)
        return ValuePart(
            vif.out_version, part, len(chunks), chunks[part], self._subscription_count(vif), vif.out_attached
        )

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
