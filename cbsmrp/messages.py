"""The control messages and the publication, as values: what the engine receives and what it wants sent.

The engine sees only these; bytes are the business of `wire`. Sections of PROTOCOL.md are cited per class.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import attrs

from interest import Extent, Value

#: Whatever the driver uses to name a neighbour's socket: (host, port) on UDP, any hashable in a simulation.
Address = Hashable
VifId = int

#: Reasons of REFUSE (PROTOCOL.md section 8).
NOT_ATTACHED, RANK, MODE, PIECES, SUBSCRIPTIONS, RATE, REGION, OWN_PARENT = range(1, 9)
REFUSALS = {
    NOT_ATTACHED: "not_attached",
    RANK: "rank",
    MODE: "mode",
    PIECES: "pieces",
    SUBSCRIPTIONS: "subscriptions",
    RATE: "rate",
    REGION: "region",
    OWN_PARENT: "own_parent",
}


class SessionId(NamedTuple):
    """One stay of a child below a parent: the child's generation (ms) and the number it chose. Later stays compare
    greater."""

    generation: int
    number: int


class Rank(NamedTuple):
    """How fresh a router's news of the core is, and how far the core is away (PROTOCOL.md section 7)."""

    generation: int
    sequence: int
    depth: int

    def better_than(self, other: Rank | None) -> bool:
        """Newer, or equally new and nearer. Everything is better than none (a router that never told a child)."""
        if other is None:
            return True
        return (-self.generation, -self.sequence, self.depth) < (-other.generation, -other.sequence, other.depth)


@attrs.frozen
class ValuePart:
    """One numbered chunk of a region's binary form; `parts` of them make the version."""

    version: int
    part: int
    parts: int
    chunk: bytes
    subscriptions: int = 0
    attached: bool = False


@attrs.frozen
class Welcome:
    """Tells the child that the session stands; carried until the parent has seen the token."""

    session: SessionId
    parent_generation: int
    #: The parent gives the child up after so many milliseconds of silence.
    hold_ms: int = 0


@attrs.frozen
class State:
    """What every frame between neighbours says (PROTOCOL.md sections 3, 5 and 6)."""

    serial: int = 0
    accepted: int = 0
    epoch: int = 0
    in_force: int = 0
    ask: bool = False
    datagrams: int = 0
    lease: int = 0
    lease_ms: int = 0
    welcome: Welcome | None = None
    cookie: bytes = b""
    rank: Rank | None = None
    value: ValuePart | None = None


@attrs.frozen
class Subscribe:
    session: SessionId
    mode: str
    host: bool
    opted: bool
    state: State


@attrs.frozen
class _Tokened:
    token: int
    down: bool
    state: State


@attrs.frozen
class Reply(_Tokened):
    """Accepted, in force, or both; no value."""


@attrs.frozen
class Update(_Tokened):
    """A new version of what the sender wants of the receiver."""


@attrs.frozen
class Hello(_Tokened):
    """Sent because nothing else was, or to ask."""


@attrs.frozen
class Quit:
    token: int
    down: bool = False


@attrs.frozen
class Reset:
    token: int
    down: bool


@attrs.frozen
class Refuse:
    session: SessionId
    reason: int
    text: str
    version: int = 0


@attrs.frozen
class Challenge:
    echo: bytes
    cookie: bytes


@attrs.frozen
class Rejoin:
    """A hint that the receiver has no VIF here."""


Message = Subscribe | Reply | Update | Hello | Quit | Reset | Refuse | Challenge | Rejoin
TOKENED = (Reply, Update, Hello)


@attrs.frozen
class Publication:
    """One update of one object (PROTOCOL.md section 2).

    `extent` in metres; `payload` opaque bytes; (source, sequence) names it in the whole overlay.
    """

    source: int
    sequence: int
    extent: Extent
    attributes: dict[str, Value] = attrs.field(factory=dict, hash=False)
    payload: bytes = b""
    label: int = 0
    hop_limit: int = 255
