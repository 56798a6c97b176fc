"""Plain geometry for the oracle and the workloads: pieces as bare numbers, and which of many extents each one meets.

Nothing here comes from `interest`: it is the second opinion that the engine's regions are held against. Lengths are
metres; every set is closed, so touching counts; an unbounded height is -inf or inf. Extents are kept in numpy arrays
and asked in slices, since the oracle asks one version of a subscription about all publications of its time at once.
"""

import math
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt
import shapely

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ring = tuple[tuple[float, float], ...]


@attrs.frozen
class Box:
    """An axis-parallel box between two corners, (x, y, z) each."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]


@attrs.frozen
class Sphere:
    """All points within `radius` of `centre`."""

    centre: tuple[float, float, float]
    radius: float


@attrs.frozen
class Cylinder:
    """All points within `radius` of the vertical line through `centre`, between two heights."""

    centre: tuple[float, float]
    radius: float
    z0: float = -math.inf
    z1: float = math.inf


@attrs.frozen
class Prism:
    """A polygon between two heights: its outer ring, then its holes, each a sequence of (x, y)."""

    rings: tuple[Ring, ...]
    z0: float = -math.inf
    z1: float = math.inf

    def polygon(self) -> shapely.Polygon:
        """The footprint."""
        return shapely.Polygon(self.rings[0], self.rings[1:])


Piece = Box | Sphere | Cylinder | Prism
Extent = None | tuple[float, float] | tuple[float, float, float | None] | Box | Prism
"""Where a publication happens: nowhere in particular, at a point (z may be omitted), in a box or in a prism."""


class Extents:
    """The extents of n publications, to be asked in slices."""

    def __init__(self, extents: Sequence[Extent]) -> None:
        bounds = np.full((6, len(extents)), np.nan)
        self.given: Bools = np.zeros(len(extents), bool)
        self.prisms: dict[int, Prism] = {}
        for at, extent in enumerate(extents):
            if extent is None:
                continue
            self.given[at] = True
            if isinstance(extent, Prism):
                self.prisms[at] = extent
                x0, y0, x1, y1 = extent.polygon().bounds
                bounds[:, at] = x0, y0, extent.z0, x1, y1, extent.z1
            elif isinstance(extent, Box):
                bounds[:, at] = *extent.low, *extent.high
            else:
                x, y, *rest = extent
                z = rest[0] if rest else None
                bounds[:, at] = x, y, -math.inf if z is None else z, x, y, math.inf if z is None else z
        self.bounds: Floats = bounds

    def hits(self, piece: Piece, start: int, stop: int) -> Bools:
        """Which of the extents start..stop share a point with the piece."""
        met = self._boxes_met(piece, slice(start, stop))
        for at in self.prisms.keys() & range(start, stop) if self.prisms else ():
            met[at - start] = _prism_hits(piece, self.prisms[at])
        return met

    def meet(self, piece: Piece, some: npt.NDArray[np.int64]) -> Bools:
        """Which of the extents with these numbers share a point with the piece."""
        met = self._boxes_met(piece, some)
        for at in np.flatnonzero(np.isin(some, list(self.prisms))) if self.prisms else ():
            met[at] = _prism_hits(piece, self.prisms[int(some[at])])
        return met

    def _boxes_met(self, piece: Piece, some: slice | npt.NDArray[np.int64]) -> Bools:
        with np.errstate(invalid="ignore"):  # NaN stands for no extent, and compares false
            met = _box_hits(piece, self.bounds[:, some])
            met &= self.given[some]
        return met


def bounds(piece: Piece) -> tuple[float, float, float, float, float, float]:
    """(x0, y0, z0, x1, y1, z1) of a box around the piece, never smaller than it."""
    match piece:
        case Box(low, high):
            return (*low, *high)
        case Sphere((x, y, z), radius):
            # a little wider, for `meet` rounds: -5 + 5 is 0 there as well as a hair's breadth beside it
            dx, dy, dz = (radius + 1e-12 * (radius + abs(c)) for c in (x, y, z))
            return x - dx, y - dy, z - dz, x + dx, y + dy, z + dz
        case Cylinder((x, y), radius, z0, z1):
            x0, y0, _, x1, y1, _ = bounds(Sphere((x, y, 0.0), radius))
            return x0, y0, z0, x1, y1, z1
        case Prism(rings, z0, z1):
            xs, ys = [x for x, _ in rings[0]], [y for _, y in rings[0]]
            return min(xs), min(ys), z0, max(xs), max(ys), z1


def _offset(centre: float, low: Floats, high: Floats) -> Floats:
    """From the centre to the nearest number of each interval."""
    return np.where(centre < low, low, np.where(centre > high, high, centre)) - centre


def _box_hits(piece: Piece, bounds: Floats) -> Bools:
    x0, y0, z0, x1, y1, z1 = bounds
    match piece:
        case Box((a0, b0, c0), (a1, b1, c1)):
            overlap: Bools = (a0 <= x1) & (x0 <= a1) & (b0 <= y1) & (y0 <= b1) & (c0 <= z1) & (z0 <= c1)
            return overlap
        case Sphere((x, y, z), radius):
            dx, dy, dz = _offset(x, x0, x1), _offset(y, y0, y1), _offset(z, z0, z1)
            near: Bools = dx * dx + dy * dy + dz * dz <= radius * radius
            return near
        case Cylinder((x, y), radius, low, high):
            dx, dy = _offset(x, x0, x1), _offset(y, y0, y1)
            beside: Bools = (dx * dx + dy * dy <= radius * radius) & (low <= z1) & (z0 <= high)
            return beside
        case Prism(rings, low, high):
            met: Bools = (low <= z1) & (z0 <= high)
            points = (x0 == x1) & (y0 == y1)
            met &= np.where(points, in_polygon(rings, x0, y0), True)
            others = np.flatnonzero(met & ~points)
            if len(others):
                polygon = piece.polygon()
                met[others] = [bool(polygon.intersects(_rectangle(polygon, *bounds[[0, 1, 3, 4], i]))) for i in others]
            return met


def in_polygon(rings: Sequence[Ring], x: Floats, y: Floats) -> Bools:
    """Which points are inside a polygon or on its boundary: an odd number of edges to their right, or on an edge."""
    inside: Bools = np.zeros(len(x), bool)
    on: Bools = np.zeros(len(x), bool)
    for ring in rings:
        for (ax, ay), (bx, by) in zip(ring, (*ring[1:], ring[0]), strict=True):
            side = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            between = (min(ax, bx) <= x) & (x <= max(ax, bx)) & (min(ay, by) <= y) & (y <= max(ay, by))
            on |= (side == 0) & between
            inside ^= ((ay > y) != (by > y)) & ((side > 0) == (by > ay))
    return inside | on


def _prism_hits(piece: Piece, extent: Prism) -> bool:
    """Whether the piece shares a point with a prism; ground plan and height are independent of each other."""
    footprint = extent.polygon()
    match piece:
        case Box((x0, y0, z0), (x1, y1, z1)):
            met = footprint.intersects(_rectangle(footprint, x0, y0, x1, y1))
        case Sphere((x, y, z), radius):
            away = footprint.distance(shapely.Point(x, y))
            up = min(max(z, extent.z0), extent.z1) - z
            return bool(away * away + up * up <= radius * radius)
        case Cylinder((x, y), radius, z0, z1):
            met = footprint.distance(shapely.Point(x, y)) <= radius
        case Prism(_, z0, z1):
            met = footprint.intersects(piece.polygon())
    return bool(met) and z0 <= extent.z1 and extent.z0 <= z1


def _rectangle(polygon: shapely.Polygon, x0: float, y0: float, x1: float, y1: float) -> shapely.Geometry:
    """A rectangle, or what a flat one is, cut off well outside the polygon so that it is finite."""
    a0, b0, a1, b1 = polygon.bounds
    wide, high = a1 - a0 + 1, b1 - b0 + 1
    x0, y0, x1, y1 = max(x0, a0 - wide), max(y0, b0 - high), min(x1, a1 + wide), min(y1, b1 + high)
    if x0 > x1 or y0 > y1:
        return shapely.Point()
    if x0 < x1 and y0 < y1:
        return shapely.box(x0, y0, x1, y1)
    return shapely.Point(x0, y0) if (x0, y0) == (x1, y1) else shapely.LineString(((x0, y0), (x1, y1)))
