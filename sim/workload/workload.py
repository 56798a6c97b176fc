"""Workloads of the demo and of simulations: objects that publish where they are, areas of interest that follow some.

Two kinds: `oscillating`, the paper's experiment, and `recorded`, movement from a trace. Both are functions of a seed;
what is drawn for one object or area depends on its own name only, so that changing a number elsewhere moves nothing.
Times are seconds of the run, lengths metres.
"""

import heapq
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import attrs

from cbsmrp.traces import Sample, TraceError, arena
from interest import Point, shapes
from sim.geometry import Box, Cylinder, Extent, Piece, Prism, Sphere
from sim.workload.motion import Motion, Oscillation, Position, is_there, spacing, tracks

SPACE = (720.0, 720.0, 400.0)
"""The paper's world. It prints its boxes in cm and the space in m; only one unit for both, the metre, gives matches."""
BOX = (220.0, 220.0, 200.0)
"""The paper's largest subscription region, centred on an object."""
FASTEST = 5.0
"""Areas of interest move at most this often a second."""


_Shapes = Callable[[int, "Entity", random.Random], Piece]
"""The shape of the area with this number that follows this object."""


def substream(seed: int, name: str) -> random.Random:
    """A generator of its own for everything drawn under this name; the same in every process."""
    return random.Random(int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:8], "big"))


@attrs.frozen(eq=False)
class Entity:
    """An object that publishes its position on `layer` every `interval` seconds from `first` on, while it is there.

    `owner` is the host that publishes for it. With a `size`, what it publishes is a box of these sides about its
    position; `attributes` and `payload` (bytes) go with every publication.
    """

    name: str
    layer: str | None
    motion: Motion
    first: float
    interval: float
    owner: str = ""
    size: tuple[float, float, float] | None = None
    attributes: Mapping[str, str | int | float | bool] = attrs.field(factory=dict)
    payload: int = 0

    def position(self, t: float) -> Position | None:
        """Where it is at `t` seconds, or None."""
        return self.motion.position(t)

    def extent(self, t: float) -> Extent:
        """What it publishes at `t` seconds: its position or the box about it; None while it is not there."""
        position = self.position(t)
        if position is None or self.size is None:
            return position
        half = [side / 2 for side in self.size]
        around = Box((-half[0], -half[1], -half[2]), (half[0], half[1], half[2]))
        box = shifted(around, position)
        assert isinstance(box, Box)
        return box

    def publish_times(self, until: float) -> Iterator[float]:
        """When it publishes, up to but not including `until`."""
        return (t for t in _ticks(self.first, self.interval, until) if self.position(t) is not None)


@attrs.frozen(eq=False)
class Area:
    """An area of interest of subscriber `owner`: `shape`, given about the origin, wherever `follows` is.

    It moves every `interval` seconds from `first` on (infinity: never), and asks for publications whose attributes
    fulfil all `conditions`, each as (operator, attribute, value).
    """

    name: str
    owner: str
    follows: Entity
    shape: Piece
    first: float
    interval: float
    conditions: tuple[tuple[str, str, str | int | float | bool], ...] = ()

    @property
    def layer(self) -> str | None:
        """The layer it asks for: that of the object it follows."""
        return self.follows.layer

    def piece(self, t: float) -> Piece | None:
        """The area at `t` seconds; None while there is nothing to follow, so that it stays where it was."""
        position = self.follows.position(t)
        return None if position is None else shifted(self.shape, position)

    def move_times(self, until: float) -> Iterator[float]:
        """When it moves, up to but not including `until`."""
        return (t for t in _ticks(self.first, self.interval, until) if self.piece(t) is not None)


@attrs.frozen(eq=False)
class Workload:
    """Who publishes and who wants what for `duration` seconds; `notes` must be said beside any figure from it."""

    entities: tuple[Entity, ...]
    areas: tuple[Area, ...]
    duration: float
    notes: tuple[str, ...]

    def publications(self) -> Iterator[tuple[float, Entity]]:
        """The schedule: (time, who publishes), in the order of time."""
        schedules = ([(t, n) for t in each.publish_times(self.duration)] for n, each in enumerate(self.entities))
        return ((t, self.entities[n]) for t, n in heapq.merge(*schedules))

    def moves(self) -> Iterator[tuple[float, Area]]:
        """The schedule of the areas: (time, which one moves), in the order of time."""
        schedules = ([(t, n) for t in each.move_times(self.duration)] for n, each in enumerate(self.areas))
        return ((t, self.areas[n]) for t, n in heapq.merge(*schedules))


def oscillating(
    seed: int,
    *,
    duration: float,
    objects: int = 60,
    rate: float = 600.0,
    subscribers: int = 6,
    areas: int = 2,
    move_rate: float = FASTEST,
) -> Workload:
    """The paper's world: objects at uniformly distributed places, swinging up and down, on one layer, "objects".

    `rate` is of all publications together, per second; `areas` per subscriber are as large as the paper's largest box,
    as spheres, boxes and polygons in turn, and match some 2 to 8 % of the publications each. The paper gives neither
    amplitudes (here 10 to 40 m) nor periods (4 to 10 s).
    """
    entities = []
    for number in range(objects):
        name = f"object{number}"
        draw = substream(seed, name)
        amplitude = draw.uniform(10, 40)
        motion = Oscillation(
            draw.uniform(0, SPACE[0]),
            draw.uniform(0, SPACE[1]),
            draw.uniform(amplitude, SPACE[2] - amplitude),
            amplitude,
            draw.uniform(4, 10),
            draw.uniform(0, 2 * math.pi),
        )
        entities.append(Entity(name, "objects", motion, draw.uniform(0, objects / rate), objects / rate))

    def shape(number: int, _: Entity, draw: random.Random) -> Piece:
        return mixed_shape(number, draw, BOX[0] / 2, BOX[2] / 2)

    notes = (
        f"{objects} objects swing about their places in {SPACE[0]:g} x {SPACE[1]:g} x {SPACE[2]:g} m (the paper's)",
    )
    owned = _areas(seed, entities, subscribers, areas, move_rate, shape)
    return Workload(tuple(entities), owned, duration, notes)


def recorded(
    samples: Iterable[Sample],
    seed: int,
    *,
    duration: float,
    rate: float = 600.0,
    object_rate: float = 10.0,
    start: float | None = None,
    gap: float | None = None,
    subscribers: int = 6,
    areas: int = 2,
    move_rate: float = FASTEST,
    share: tuple[float, float] = (0.05, 0.15),
) -> Workload:
    """Movement from a trace: `duration` seconds of every arena, side by side as layers.

    The run begins `start` seconds into each arena, by default after a tenth of its time.
    Every object publishes `object_rate` times a second, or as often as `rate` publications per second together allow,
    at positions interpolated between samples; `notes` says both. An object is not there between samples more than `gap`
    seconds apart, by default three times its arena's median. The areas are so large that each matches about a `share`
    (from, to) of all publications, or six tenths of those on its layer, whichever is less. Raises TraceError when
    nothing moves in that time.
    """
    found = tracks(samples, start, gap)
    present = {name: track for name, track in found.items() if is_there(track, duration)}
    if not present:
        raise TraceError(f"the trace has no object in the {duration:g} s from {_from(start)} on: choose another start")
    interval = max(1 / object_rate, len(present) / rate)
    entities = [
        Entity(name, arena(name) or None, track, substream(seed, name).uniform(0, interval), interval)
        for name, track in sorted(present.items())
    ]
    by_layer: dict[str | None, list[Entity]] = {}
    for entity in entities:
        by_layer.setdefault(entity.layer, []).append(entity)

    def shape(number: int, follows: Entity, draw: random.Random) -> Piece:
        others = by_layer[follows.layer]
        part = min(0.6, draw.uniform(*share) * len(entities) / len(others))
        reach = _reach(follows, draw.sample(others, min(300, len(others))), part, duration)
        return mixed_shape(number, draw, reach, reach)

    notes = [
        f"{len(present)} objects in {len(by_layer)} arenas, {duration:g} s of each from {_from(start)} on",
        f"positions are interpolated linearly between samples {spacing(present.values()):.3g} s apart (median)"
        f" and published every {interval:.3g} s",
    ]
    if interval > 1 / object_rate:
        notes.append(
            f"capped: {object_rate:g} publications/s of each object would be {len(present) * object_rate:.0f}/s"
            f" together, {rate:.0f}/s is carried"
        )
    followed = [entity for entity in entities if entity.position(0) and entity.position(duration)] or entities
    owned = _areas(seed, followed, subscribers, areas, move_rate, shape)
    return Workload(tuple(entities), owned, duration, tuple(notes))


def shifted(shape: Piece, by: Position) -> Piece:
    """A shape given about the origin, moved there; without a height it becomes unbounded in height."""
    x, y, z = by
    low, high = (-math.inf, math.inf) if z is None else (z, z)
    match shape:
        case Sphere((a, b, c), radius):
            return Cylinder((x + a, y + b), radius) if z is None else Sphere((x + a, y + b, z + c), radius)
        case Box((a0, b0, c0), (a1, b1, c1)):
            return Box((x + a0, y + b0, low + c0), (x + a1, y + b1, high + c1))
        case Cylinder((a, b), radius, z0, z1):
            return Cylinder((x + a, y + b), radius, low + z0, high + z1)
        case Prism(rings, z0, z1):
            return Prism(tuple(tuple((x + a, y + b) for a, b in ring) for ring in rings), low + z0, high + z1)


def to_interest(piece: Piece) -> shapes.Piece:
    """The same piece as a subscriber gives it to the client."""
    match piece:
        case Sphere(centre, radius):
            return shapes.Sphere(centre, radius)
        case Box(low, high):
            return shapes.Box(low, high)
        case Cylinder(middle, radius, z0, z1):
            return shapes.Cylinder(middle, radius, z0, z1)
        case Prism(_, z0, z1):
            return shapes.Prism(piece.polygon(), z0, z1)


def to_interest_extent(extent: Extent) -> "shapes.Box | shapes.Prism | Point | None":
    """The same extent as a publisher gives it to the client."""
    if extent is None:
        return None
    if isinstance(extent, Box | Prism):
        piece = to_interest(extent)
        assert isinstance(piece, shapes.Box | shapes.Prism)
        return piece
    x, y, *rest = extent
    return Point((x, y)) if not rest or rest[0] is None else Point((x, y, rest[0]))


def _ticks(first: float, interval: float, until: float) -> Iterator[float]:
    number = 0
    while (t := first + number * interval) < until:
        yield t
        number += 1


def _areas(
    seed: int, entities: Sequence[Entity], subscribers: int, areas: int, move_rate: float, shape: _Shapes
) -> tuple[Area, ...]:
    """`areas` for each subscriber, each following an object of its own as long as there are enough."""
    if not 0 < move_rate <= FASTEST:
        raise ValueError(f"areas move {move_rate} times a second: give more than 0 and at most {FASTEST:g}")
    found: list[Area] = []
    order: list[Entity] = []
    shuffle = substream(seed, "followed")
    for number in range(subscribers * areas):
        if not order:
            order = shuffle.sample(entities, len(entities))
        follows = order.pop()
        name = f"area{number}"
        draw = substream(seed, name)
        first = draw.uniform(0, 1 / move_rate)
        found.append(
            Area(name, f"subscriber{number // areas}", follows, shape(number, follows, draw), first, 1 / move_rate)
        )
    return tuple(found)


def mixed_shape(number: int, draw: random.Random, reach: float, height: float) -> Piece:
    """A sphere, a box and a polygon in turn, about as large as one another, reaching so far from the origin."""
    match number % 3:
        case 0:
            return Sphere((0.0, 0.0, 0.0), 1.15 * reach)
        case 1:
            return Box((-reach, -reach, -height), (reach, reach, height))
        case _:
            corners = draw.randint(5, 8)
            turn = draw.uniform(0, 2 * math.pi)
            angles = [turn + 2 * math.pi * (k + draw.uniform(0, 0.5)) / corners for k in range(corners)]
            ring = tuple((1.3 * reach * math.cos(angle), 1.3 * reach * math.sin(angle)) for angle in angles)
            return Prism((ring,), -height, height)


def _reach(follows: Entity, others: Sequence[Entity], part: float, duration: float) -> float:
    """How far from `follows` that part of the others is, over the run, in the largest of the three directions."""
    away = []
    for moment in (0.0, 0.25, 0.5, 0.75, 1.0):
        here = follows.position(moment * duration)
        for other in others if here else ():
            there = other.position(moment * duration)
            if here is not None and there is not None:
                away.append(max(abs((a or 0.0) - (b or 0.0)) for a, b in zip(here, there, strict=True)))
    away.sort()
    return max(away[int(part * (len(away) - 1))] if away else 0.0, 1.0)


def _from(start: float | None) -> str:
    return "a tenth of its time" if start is None else f"second {start:g}"
