"""The oracle of deliveries: knows every publication and every subscription, and says what had to arrive where.

It decides by brute force on plain geometry and does not import `interest`, so that it cannot share a mistake with the
engine. Called by `cbsmrp demo` and by tests of T1 (only what matches), T2 (all that matches) and T3 (at most once).

A subscription is the list of its versions. While one moves, several are about: between the last version in force when a
publication was sent and the newest one asked for before it can have arrived, routers may know any of them. So
what matches *every* such version must be delivered, what matches *any* may be, and the rest is unwanted. Before the
first version is in force there is a version that wants nothing; the end of a subscription is one too.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from sim.geometry import Bools, Extent, Extents, Piece

Value: TypeAlias = str | int | float | bool | tuple["Value", ...]
Attributes = Mapping[str, str | int | float | bool]
Condition: TypeAlias = tuple[str, str, Value] | Callable[[Attributes], bool]
"""(operator, attribute, value) with = <> < <= > >= in, or any hashable function of the attributes."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NOTHING: tuple[Piece, ...] = ()


@attrs.frozen
class Publication:
    """One publication: `time` in seconds is taken before it is handed to the client to send."""

    time: float
    host: str
    source: int
    sequence: int
    extent: Extent = None
    attributes: Attributes = attrs.field(factory=dict)
    layer: str | None = None


@attrs.frozen
class Version:
    """What a subscription wants from when it was `asked` on: any of `pieces`, on `layer`, under all `conditions`.

    `asked` (seconds) is taken before the client is told, `in_force` after the client has said so; None: it never did.
    `pieces` None is no spatial part; NOTHING is how a subscription ends.
    """

    asked: float
    in_force: float | None
    pieces: tuple[Piece, ...] | None
    layer: str | None = None
    conditions: tuple[Condition, ...] = ()


@attrs.frozen
class Subscription:
    """The versions of one subscription in the order asked.

    `unpromised`: spans (from, to) in seconds between `in_force_lost` and the next `in_force`; of what was sent then,
    nothing must arrive.
    """

    versions: Sequence[Version]
    unpromised: Sequence[tuple[float, float]] = ()


@attrs.frozen
class Delivery:
    """One publication that arrived at a host's socket, before the client's own filter, at `time` (seconds)."""

    source: int
    sequence: int
    time: float


@attrs.define
class Verdict:
    """Counts of pairs (publication, host), and the first few that went wrong, in words."""

    publications: int = 0
    expected: int = 0
    """Must be delivered."""
    may_deliver: int = 0
    """May be delivered, but need not."""
    delivered: int = 0
    """Arrived, once or more, and must or may."""
    missed: int = 0
    """Must be delivered and did not arrive."""
    unwanted: int = 0
    """Arrived, and neither must nor may."""
    duplicates: int = 0
    """Arrivals after the first."""
    misses: list[str] = attrs.field(factory=list)
    unwanted_ones: list[str] = attrs.field(factory=list)

    @property
    def firm(self) -> float:
        """The share of what must be delivered in what must or may be; 1 where there is nothing of either."""
        wanted = self.expected + self.may_deliver
        return self.expected / wanted if wanted else 1.0


def judge(
    publications: Iterable[Publication],
    subscriptions: Mapping[str, Sequence[Subscription]],
    deliveries: Mapping[str, Iterable[Delivery]],
    *,
    window: float | Callable[[float], float],
    examples: int = 10,
) -> Verdict:
    """Hold what arrived at each host against what had to.

    `window` (seconds, or a function from the time of sending to seconds) is the longest that a publication takes from
    being sent to the last router that decides on it, which is no sooner than for those sent before: versions asked for
    within it after sending count. One that arrived later still is unwanted only if no version asked for until then
    matches. At most `examples` misses and as many unwanted ones are described. A host never expects its own
    publications. Raises ValueError when two publications have the same source and sequence.
    """
    world = _World(publications, window)
    verdict = Verdict(publications=len(world.publications))
    for host in sorted(subscriptions.keys() | deliveries.keys()):
        wanted = subscriptions.get(host, ())
        must, may = world.wanted(host, wanted)
        last = _Arrivals(world, deliveries.get(host, ()))
        arrived = last.count > 0
        for at in np.flatnonzero(arrived & ~may):
            may[at] = world.late(host, wanted, int(at), last.latest[int(at)])
        missed, unwanted = np.flatnonzero(must & ~arrived), np.flatnonzero(arrived & ~may)
        verdict.expected += int(must.sum())
        verdict.may_deliver += int((may & ~must).sum())
        verdict.delivered += int((arrived & may).sum())
        verdict.missed += len(missed)
        verdict.unwanted += len(unwanted) + len(last.unknown)
        verdict.duplicates += last.again
        for at in missed[: examples - len(verdict.misses)]:
            verdict.misses.append(f"{host} missed {world.describe(int(at), wanted)}")
        for at in unwanted[: examples - len(verdict.unwanted_ones)]:
            verdict.unwanted_ones.append(f"{host} was sent {world.describe(int(at), wanted, host)}")
        for source, sequence in last.unknown[: examples - len(verdict.unwanted_ones)]:
            verdict.unwanted_ones.append(f"{host} was sent {source:016x}/{sequence}, which nobody published")
    return verdict


class _World:
    """All publications in the order of time, as arrays, with what was already found out about them."""

    def __init__(self, publications: Iterable[Publication], window: float | Callable[[float], float]) -> None:
        self.publications = sorted(publications, key=lambda each: each.time)
        self.index = {(each.source, each.sequence): at for at, each in enumerate(self.publications)}
        if len(self.index) != len(self.publications):
            raise ValueError("two publications have the same source and sequence")
        self.times = np.array([each.time for each in self.publications], float)
        windows = [window(each.time) if callable(window) else window for each in self.publications]
        # When the last router has decided on each publication, and on every earlier one.
        self.decided = np.maximum.accumulate(self.times + np.array(windows, float))
        self.extents = Extents([each.extent for each in self.publications])
        self.attributes = [
            {**each.attributes, "layer": each.layer} if each.layer is not None else each.attributes
            for each in self.publications
        ]
        hosts = {host: number for number, host in enumerate({each.host for each in self.publications})}
        self.host_numbers = hosts
        self.hosts = np.array([hosts[each.host] for each in self.publications], int)
        self._conditions: dict[object, Bools] = {}

    def wanted(self, host: str, subscriptions: Sequence[Subscription]) -> tuple[Bools, Bools]:
        """For each publication: must it be delivered to the host, may it?"""
        must, may = np.zeros(len(self.times), bool), np.zeros(len(self.times), bool)
        for subscription in subscriptions:
            every, some = np.ones(len(self.times), bool), np.zeros(len(self.times), bool)
            every[: self._before(_superseded(subscription, -1))] = False
            for number, version in enumerate(subscription.versions):
                start = int(np.searchsorted(self.decided, version.asked, side="left"))
                stop = self._before(_superseded(subscription, number))
                if start < stop:
                    matching = self._matching(version, start, stop)
                    every[start:stop] &= matching
                    some[start:stop] |= matching
            for begin, end in subscription.unpromised:
                every[(self.decided >= begin) & (self.times <= end)] = False
            must |= every
            may |= some
        others = self.hosts != self.host_numbers.get(host, -1)
        return must & others, may & others

    def late(self, host: str, subscriptions: Sequence[Subscription], at: int, arrived: float) -> bool:
        """Whether a version asked for after the window, but before the publication arrived, matches it."""
        publication = self.publications[at]
        return publication.host != host and any(
            self.decided[at] < version.asked <= arrived and bool(self._matching(version, at, at + 1)[0])
            for subscription in subscriptions
            for version in subscription.versions
        )

    def describe(self, at: int, subscriptions: Sequence[Subscription], receiver: str = "") -> str:
        """A publication and what each subscription's versions about at its time say to it, in words."""
        each = self.publications[at]
        text = f"{each.source:016x}/{each.sequence}, sent at {each.time:.3f} s by {each.host} at {each.extent}"
        text += f" on layer {each.layer}" if each.layer is not None else ""
        if each.host == receiver:
            return f"{text}: its own"
        found = []
        for place, subscription in enumerate(subscriptions):
            said = [
                f"#{number} asked {version.asked:.3f} in force "
                + ("never" if version.in_force is None else f"{version.in_force:.3f}")
                + (" matches" if self._matching(version, at, at + 1)[0] else " does not match")
                for number, version in enumerate(subscription.versions)
                if version.asked <= self.decided[at] and each.time < _superseded(subscription, number)
            ]
            found.append(f"subscription {place}: {', '.join(said) or 'no version yet'}")
        return f"{text}: {'; '.join(found) or 'no subscription'}"

    def _before(self, time: float) -> int:
        """How many publications were sent before this time."""
        return int(np.searchsorted(self.times, time, side="left"))

    def _matching(self, version: Version, start: int, stop: int) -> Bools:
        if version.pieces is None:
            met: Bools = np.ones(stop - start, bool)
        else:
            met = np.zeros(stop - start, bool)
            for piece in version.pieces:
                met |= self.extents.hits(piece, start, stop)
        layer: tuple[Condition, ...] = () if version.layer is None else (("=", "layer", version.layer),)
        for condition in (*layer, *version.conditions):
            met &= self._condition(condition)[start:stop]
        return met

    def _condition(self, condition: Condition) -> Bools:
        """Which publications fulfil a condition; versions that only move ask the same one again and again."""
        key = condition if callable(condition) else repr(condition)  # as keys, 1 and True would be one
        if key not in self._conditions:
            self._conditions[key] = np.array([holds(condition, each) for each in self.attributes], bool)
        return self._conditions[key]


class _Arrivals:
    """What arrived at one host."""

    def __init__(self, world: _World, deliveries: Iterable[Delivery]) -> None:
        self.count: npt.NDArray[np.int64] = np.zeros(len(world.times), np.int64)
        self.latest: dict[int, float] = {}
        self.unknown: list[tuple[int, int]] = []
        self.again = 0
        for each in deliveries:
            at = world.index.get((each.source, each.sequence))
            if at is None:
                self.unknown.append((each.source, each.sequence))
                continue
            self.again += int(self.count[at] > 0)
            self.count[at] += 1
            self.latest[at] = max(each.time, self.latest.get(at, -math.inf))


def holds(condition: Condition, attributes: Attributes) -> bool:
    """Whether attributes fulfil a condition. An absent attribute, or one of another type, fulfils none."""
    if callable(condition):
        return condition(attributes)
    sign, name, value = condition
    if name not in attributes:
        return False
    found = attributes[name]
    if sign == "in":
        assert isinstance(value, tuple)
        return any(_kind(each) is _kind(found) and each == found for each in value)
    return _kind(found) is _kind(value) and _COMPARE[sign](found, value)


def _kind(value: object) -> type:
    """Integers and doubles are one type, truth values another."""
    return float if type(value) is int else type(value)


def _superseded(subscription: Subscription, number: int) -> float:
    """When a later version was in force first; a publication sent from then on no longer meets this one."""
    later = [each.in_force for each in subscription.versions[number + 1 :] if each.in_force is not None]
    return min(later, default=math.inf)
