"""A VIF: one end of the relation with one neighbour, for the time of one session.

It holds who the neighbour is, what it wants (`theirs`), what it has been told (`mine`), and the timers of both. A new
session is a new VIF object. `engine` reads and writes it; the drivers only touch `traffic` and the allowance.
Definition 2 of the paper; PROTOCOL.md sections 4 to 6.
"""

from __future__ import annotations

import enum
from collections import deque
from math import inf

import attrs

from interest import EVERYTHING, NOTHING, Interest

from .bucket import Bucket
from .messages import Address, Refuse, SessionId, VifId


class VifKind(enum.Enum):
    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    HOST = "host"
    #: The application inside a host's own engine: what it wants enters here, and nothing is ever sent to it.
    APPLICATION = "application"


#: The upstream VIF and a host's application keep their numbers over all sessions; children count from FIRST_CHILD.
UPSTREAM: VifId = 0
APPLICATION: VifId = 1
FIRST_CHILD: VifId = 2


@attrs.define
class Traffic:
    """Counters of one VIF, written by whoever moves the bytes. `lost_on_link` is the neighbour's count less ours."""

    packets_in: int = 0
    packets_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    datagrams_in: int = 0
    datagrams_out: int = 0
    dropped: int = 0
    control_in: int = 0
    control_out: int = 0
    lost_on_link: int = 0
    #: Publications that were kept from this neighbour; set when the session ends, see `Vif.filtered`.
    filtered: int = 0

    def add(self, other: Traffic) -> None:
        for field in attrs.fields(Traffic):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@attrs.define
class Wait:
    """A version received that is not in force yet: which version of mine must be in force at which other VIF."""

    version: int
    needs: dict[VifId, int]
    since: float


@attrs.define(eq=False)
class Vif:
    id: VifId
    kind: VifKind
    address: Address = None
    session: SessionId | None = None
    #: Downstream: made by us at admission. Upstream: None until the parent's welcome.
    token: int | None = None
    token_seen: bool = False
    parent_generation: int = 0
    opted: bool = False
    hello_time: float = 1.0
    hold_time: float = 3.5
    traffic: Traffic = attrs.field(factory=Traffic)
    #: Publications the router had handled when this VIF appeared: what it filtered is those since, less those sent
    #: and received.
    seen_before: int = 0

    # theirs: what the neighbour wants
    in_version: int = 0
    in_value: Interest = NOTHING
    attached: bool = False
    parts_version: int = 0
    parts: dict[int, bytes] = attrs.field(factory=dict)
    confirmed: int = 0
    waits: deque[Wait] = attrs.field(factory=deque)
    #: What was answered to the newest version that was refused.
    refused: Refuse | None = None

    # mine: what the neighbour is told; `dirty` is the number of a version that is due but not computed yet
    dirty: int = 0
    out_version: int = 0
    out_value: Interest | None = None
    out_attached: bool = False
    chunks: list[bytes] | None = None
    shrink_delay: float = 0.0
    shrink_at: float = inf
    sent: int = 0
    sent_at: float = -inf
    accepted: int = 0
    in_force: int = 0
    peer_epoch: int = -1
    resend_time: float = 0.1
    resend_at: float = inf
    tries: int = 0
    patience: int = 0
    cookie: bytes = b""

    # both
    heard: float = 0.0
    hello_at: float = inf
    reply: bool = False
    #: Towards a host's router: since when, and how often, an answer has been asked for in vain.
    asked_at: float = inf
    unanswered: int = 0
    serial_out: int = 0
    serial_in: int = 0
    lease_serial: int = 0
    lease_until: float = -inf
    serial_times: dict[int, float] = attrs.field(factory=dict)

    # publications of a host: what it may still send, and when it was last told that it sends too many
    allowance: Bucket | None = None
    rate_told_at: float = -inf

    def filtered(self, publications: int) -> int:
        """Of the `publications` that the router has handled until now: those that were kept from this neighbour."""
        traffic = self.traffic
        brought = traffic.packets_in - traffic.dropped
        return max(0, publications - self.seen_before - brought - traffic.packets_out)

    @property
    def joined(self) -> bool:
        """Does a session stand, as far as this side knows?"""
        return self.token is not None

    @property
    def clipped(self) -> bool:
        """Does this neighbour hold back what we do not want? (A host only if it asked to.)"""
        return self.kind in (VifKind.UPSTREAM, VifKind.DOWNSTREAM) or self.opted

    @property
    def newest(self) -> int:
        """The newest version of mine, computed or not, sent or not."""
        return self.dirty or self.out_version

    @property
    def in_flight(self) -> bool:
        return self.sent > self.accepted

    def drop_value_in_progress(self) -> None:
        self.parts_version, self.parts = 0, {}


def upstream_vif() -> Vif:
    """A VIF towards a parent that is not there yet: unknown, so everything may be wanted up there (decision 4)."""
    return Vif(UPSTREAM, VifKind.UPSTREAM, in_value=EVERYTHING)
