"""Effects as data: what an engine wants done, in the order in which it must be done.

First the forwarding table's changes, then the messages, then what the application is told; so a REPLY never runs
ahead of
the state it promises. Filled by `engine`, taken and carried out by `endpoint`.
"""

from __future__ import annotations

import attrs

from interest import Interest

from .fib import FibChange
from .messages import Address, Message


@attrs.frozen
class Attached:
    """There is a parent, and through it a way to the core."""

    parent: Address


@attrs.frozen
class Detached:
    """The way to the core is lost."""

    why: str


@attrs.frozen
class NoAnswer:
    """A candidate parent did not answer, or would not have us."""

    candidate: Address
    why: str


@attrs.frozen
class InForce:
    """A host: every subscription as it stood at this version of its interest is in force everywhere."""

    version: int


@attrs.frozen
class InForceLost:
    """A host: what was in force may not be any longer."""


@attrs.frozen
class SubscriptionRefused:
    """A host: the router will not take this change; the subscription is what it was before, or gone (`interest`
    None)."""

    subscription: int
    interest: Interest | None
    text: str
    #: The version of the subscription that was refused.
    version: int = 0


@attrs.frozen
class RateRefused:
    """A host: the router drops publications above a rate; `text` says which."""

    text: str


Notice = Attached | Detached | NoAnswer | InForce | InForceLost | SubscriptionRefused | RateRefused


@attrs.define
class Ready:
    fib_changes: list[FibChange] = attrs.field(factory=list)
    messages: list[tuple[Address, Message]] = attrs.field(factory=list)
    notices: list[Notice] = attrs.field(factory=list)

    def __bool__(self) -> bool:
        return bool(self.fib_changes or self.messages or self.notices)
