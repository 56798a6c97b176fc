"""An oracle for regions that asks no code of `interest`: exact rational arithmetic on a small grid of integers.

Every shape is drawn together with its own membership test. Boxes have integer corners in 0..GRID, so the half steps in
`samples` hold a point of every cell, face, edge and corner that unions of boxes can make, and sampling decides about
boxes exactly. Two footprints are compared by crossing their edges with each other.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import pairwise, product

import attrs
import pytest
import shapely
from hypothesis import strategies as st

from interest.extent import Point
from interest.region import Region
from interest.shapes import Box, Cylinder, Piece, Prism, Sphere

GRID = 4
FAR = 60
INFINITE = float("inf")

Number = int | Fraction
Spot = tuple[Number, Number, Number]
Corner = tuple[Number, Number]


def on_segment(p: Corner, a: Corner, b: Corner) -> bool:
    return (
        turn(a, b, p) == 0 and min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])
    )


def turn(a: Corner, b: Corner, c: Corner) -> Number:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@attrs.frozen
class Plan:
    """A footprint as edges, decided by ray casting in exact arithmetic."""

    rings: tuple[tuple[Corner, ...], ...]

    def edges(self) -> Iterator[tuple[Corner, Corner]]:
        for ring in self.rings:
            yield from pairwise((*ring, ring[0]))

    def on_border(self, p: Corner) -> bool:
        return any(on_segment(p, a, b) for a, b in self.edges())

    def inside(self, p: Corner) -> bool:
        """Strictly inside."""
        if self.on_border(p):
            return False
        odd = False
        for a, b in self.edges():
            if (a[1] > p[1]) != (b[1] > p[1]):
                x = a[0] + Fraction((p[1] - a[1]) * (b[0] - a[0])) / (b[1] - a[1])
                odd ^= x > p[0]
        return odd

    def holds(self, p: Corner) -> bool:
        return self.on_border(p) or self.inside(p)

    def cut_by(self, other: "Plan") -> Iterator[Corner]:
        """Midpoints of the parts into which the edges of the other plan cut the edges of this one, and their ends."""
        for a, b in self.edges():
            direction = (b[0] - a[0], b[1] - a[1])
            at = {Fraction(0), Fraction(1)}
            for c, d in other.edges():
                across = turn((0, 0), direction, (d[0] - c[0], d[1] - c[1]))
                if across:
                    at.add(Fraction(turn((0, 0), (c[0] - a[0], c[1] - a[1]), (d[0] - c[0], d[1] - c[1])), across))
                for p in (c, d):
                    if turn(a, b, p) == 0:
                        length = direction[0] ** 2 + direction[1] ** 2
                        at.add(Fraction((p[0] - a[0]) * direction[0] + (p[1] - a[1]) * direction[1], length))
            cuts = sorted(t for t in at if 0 <= t <= 1)
            for t in (*cuts, *((s + t) / 2 for s, t in pairwise(cuts))):
                yield a[0] + t * direction[0], a[1] + t * direction[1]

    def meets(self, other: "Plan") -> bool:
        return any(other.holds(p) for p in self.cut_by(other)) or any(self.holds(p) for p in other.cut_by(self))

    def covers(self, other: "Plan") -> bool:
        return all(self.holds(p) for p in other.cut_by(self)) and not any(other.inside(p) for p in self.cut_by(other))

    def squared_distance(self, p: Corner) -> Fraction:
        if self.holds(p):
            return Fraction(0)
        least = []
        for a, b in self.edges():
            dx, dy = b[0] - a[0], b[1] - a[1]
            t = min(max(Fraction((p[0] - a[0]) * dx + (p[1] - a[1]) * dy, dx * dx + dy * dy), Fraction(0)), Fraction(1))
            least.append((a[0] + t * dx - p[0]) ** 2 + (a[1] + t * dy - p[1]) ** 2)
        return min(least)


@attrs.frozen
class Known:
    """A shape, and the truth about it."""

    shape: Piece
    holds: Callable[[Spot], bool] = attrs.field(repr=False)
    plan: Plan | None = None
    z: tuple[float, float] = (-INFINITE, INFINITE)


@attrs.frozen
class KnownRegion:
    """A region, and the truth about it."""

    region: Region
    parts: tuple[Known, ...]

    def holds(self, spot: Spot) -> bool:
        return any(part.holds(spot) for part in self.parts)


def plan_of(corners: Iterable[tuple[float, float]]) -> Plan:
    """The plan with these corners, which need not be on the grid."""
    return Plan((tuple((Fraction(x), Fraction(y)) for x, y in corners),))


GRID_NUMBERS = st.integers(0, GRID)
CORNERS = st.tuples(GRID_NUMBERS, GRID_NUMBERS)


@st.composite
def intervals(draw: st.DrawFn, unbounded: bool = True) -> tuple[float, float]:
    low, high = sorted((draw(GRID_NUMBERS), draw(GRID_NUMBERS)))
    reach = draw(st.sampled_from(["both", "both", "both", "low", "high", "none"])) if unbounded else "both"
    return (low if reach in ("both", "low") else -INFINITE), (high if reach in ("both", "high") else INFINITE)


@st.composite
def boxes(draw: st.DrawFn, unbounded: bool = True) -> Known:
    sides = [draw(intervals(unbounded)) for _ in range(3)]
    box = Box([low for low, _ in sides], [high for _, high in sides])
    return Known(box, lambda p: all(low <= v <= high for v, (low, high) in zip(p, sides, strict=True)))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    if draw(st.integers(0, 3)) == 0:
        frame = ((0, 0), (GRID, 0), (GRID, GRID), (0, GRID))
        inner = st.tuples(st.integers(1, GRID - 1), st.integers(1, GRID - 1))
        hole = draw(st.lists(inner, min_size=3, max_size=3, unique=True).filter(lambda h: turn(h[0], h[1], h[2]) != 0))
        return Plan((frame, tuple(hole)))
    ring = st.lists(CORNERS, min_size=3, max_size=6, unique=True)
    return Plan((tuple(draw(ring.filter(lambda corners: shapely.Polygon(corners).is_valid))),))


@st.composite
def prisms(draw: st.DrawFn) -> Known:
    plan, (z0, z1) = draw(plans()), draw(intervals())
    prism = Prism(shapely.Polygon(plan.rings[0], plan.rings[1:]), z0, z1)
    return Known(prism, lambda p: z0 <= p[2] <= z1 and plan.holds((p[0], p[1])), plan, (z0, z1))


@st.composite
def spheres(draw: st.DrawFn) -> Known:
    (x, y), z, r = draw(CORNERS), draw(GRID_NUMBERS), draw(st.integers(0, 5))
    return Known(Sphere((x, y, z), r), lambda p: (p[0] - x) ** 2 + (p[1] - y) ** 2 + (p[2] - z) ** 2 <= r * r)


@st.composite
def cylinders(draw: st.DrawFn) -> Known:
    (x, y), r, (z0, z1) = draw(CORNERS), draw(st.integers(0, 5)), draw(intervals())
    return Known(Cylinder((x, y), r, z0, z1), lambda p: z0 <= p[2] <= z1 and (p[0] - x) ** 2 + (p[1] - y) ** 2 <= r * r)


def pieces() -> st.SearchStrategy[Known]:
    return st.one_of(boxes(), prisms(), spheres(), cylinders())


def regions(of: st.SearchStrategy[Known] | None = None, most: int = 6) -> st.SearchStrategy[KnownRegion]:
    parts = st.lists(pieces() if of is None else of, max_size=most)
    return parts.map(lambda known: KnownRegion(Region([part.shape for part in known]), tuple(known)))


@st.composite
def points(draw: st.DrawFn) -> tuple[Point, Callable[[Known], bool]]:
    """A point, or a vertical line, and whether a known shape holds any of it."""
    x, y = draw(st.tuples(*[st.sampled_from(STEPS)] * 2))
    if draw(st.booleans()):
        z = draw(st.sampled_from(STEPS))
        return Point((float(x), float(y), float(z))), lambda known: known.holds((x, y, z))
    return Point((float(x), float(y))), lambda known: any(known.holds((x, y, z)) for z in STEPS)


STEPS: tuple[Fraction, ...] = tuple(Fraction(n, 2) for n in (-2 * FAR, *range(-1, 2 * GRID + 2), 2 * FAR))


@attrs.frozen
class Oracle:
    """What the tests of this folder draw from."""

    boxes = staticmethod(boxes)
    prisms = staticmethod(prisms)
    spheres = staticmethod(spheres)
    cylinders = staticmethod(cylinders)
    pieces = staticmethod(pieces)
    plan = staticmethod(plan_of)
    regions = staticmethod(regions)
    points = staticmethod(points)
    samples: tuple[Spot, ...] = tuple(product(STEPS, STEPS, STEPS))


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle()
