"""The pieces a region is made of: box, prism, sphere and cylinder, as immutable values.

Lengths are metres as float64, and every piece is closed: touching it counts. `Region` unites pieces, `spatial`
compares them in pairs. A sphere and a cylinder are the floating-point numbers that one formula accepts
(dx*dx + dy*dy + dz*dz <= r*r). The formula is monotone in each coordinate, so asking it about the nearest or the
farthest point of a box gives exact answers for the box.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any

import attrs
import shapely
from shapely.geometry.base import BaseGeometry

from interest.errors import InterestError

Position = tuple[float, float, float]
Bounds = tuple[float, float, float, float, float, float]
"""x0, y0, z0, x1, y1, z1 in metres; -inf and inf where unbounded."""
Ring = tuple[tuple[float, float], ...]

LIMIT = 1e100
"""Coordinates of curved and polygonal pieces stay below this (metres), so that no square of a distance overflows."""


def number(value: object, what: str) -> float:
    """`value` as a float without negative zero; raises InterestError for NaN and for what is not a number."""
    if type(value) is not float:
        if not isinstance(value, Real):
            raise InterestError(f"{what} is {value!r}: give a number of metres")
        try:
            value = float(value)
        except OverflowError:
            raise InterestError(f"{what} is beyond the range of a float: give a number of metres") from None
    if value != value:
        raise InterestError(f"{what} is NaN: give a number of metres")
    return value + 0.0


def finite(value: object, what: str) -> float:
    """`number`, and between -LIMIT and LIMIT."""
    result = number(value, what)
    if not -LIMIT <= result <= LIMIT:
        raise InterestError(f"{what} is {result}: give a number between -{LIMIT:g} and {LIMIT:g}")
    return result


def coordinates(values: Iterable[object], what: str, lengths: tuple[int, ...]) -> tuple[object, ...]:
    """`values` as a tuple of one of the `lengths`; raises InterestError for everything else."""
    try:
        result = tuple(values)
    except TypeError:
        result = ()
    if len(result) not in lengths:
        names = " or ".join("(x, y)" if length == 2 else "(x, y, z)" for length in lengths)
        raise InterestError(f"{what} is {values!r}: give {names}")
    return result


def overlap(a: Bounds, b: Bounds) -> bool:
    """Whether two boxes share a point."""
    return (
        a[0] <= b[3] and b[0] <= a[3] and a[1] <= b[4] and b[1] <= a[4] and a[2] <= b[5] and b[2] <= a[5]
    )  # fmt: skip


def contains(a: Bounds, b: Bounds) -> bool:
    """Whether box `a` covers box `b`."""
    return (
        a[0] <= b[0] and b[3] <= a[3] and a[1] <= b[1] and b[4] <= a[4] and a[2] <= b[2] and b[5] <= a[5]
    )  # fmt: skip


def _corner(values: Sequence[float], what: str, omitted: float) -> Position:
    given = coordinates(values, what, (2, 3))
    z = number(given[2], f"{what} z") if len(given) == 3 else omitted
    return number(given[0], f"{what} x"), number(given[1], f"{what} y"), z


def _low(values: Sequence[float]) -> Position:
    return _corner(values, "Box low corner", -math.inf)


def _high(values: Sequence[float]) -> Position:
    return _corner(values, "Box high corner", math.inf)


def _check_interval(low: float, high: float, what: str) -> None:
    if low > high:
        raise InterestError(f"{what} goes from {low} to {high}: give the lower end first")
    if low == math.inf or high == -math.inf:
        raise InterestError(f"{what} goes from {low} to {high}, which holds no point: give one finite end at least")


@attrs.frozen(cache_hash=True)
class Box:
    """An axis-parallel box between two corners, (x, y) or (x, y, z).

    An omitted z is unbounded, and infinities are allowed. Raises InterestError for NaN and for an inverted box.
    """

    low: Position = attrs.field(converter=_low)
    high: Position = attrs.field(converter=_high)

    def __attrs_post_init__(self) -> None:
        for axis, low, high in zip("xyz", self.low, self.high, strict=True):
            _check_interval(low, high, f"Box {axis}")

    @classmethod
    def of(cls, bounds: Bounds) -> "Box":
        """The box with these bounds."""
        return cls(bounds[:3], bounds[3:])

    @cached_property
    def bounds(self) -> Bounds:
        """The box itself, as six numbers."""
        return self.low + self.high

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders all pieces totally; equal only for equal pieces."""
        return (0, *self.low, *self.high)

    def meets_box(self, bounds: Bounds) -> bool:
        """Whether a point of this piece lies in the box; exact."""
        return overlap(self.bounds, bounds)

    def covers_box(self, bounds: Bounds) -> bool:
        """Whether every point of the box lies in this piece; exact."""
        return contains(self.bounds, bounds)


def _ring(line: shapely.LinearRing) -> Ring:
    """A closed ring in normal form: anticlockwise from its least corner, without the repeated last point."""
    closed: list[tuple[float, float]] = [(x + 0.0, y + 0.0) for x, y in shapely.get_coordinates(line).tolist()]
    corners = [point for point, following in pairwise(closed) if point != following]
    first = corners.index(min(corners))
    corners = corners[first:] + corners[:first]
    if not shapely.LinearRing(corners).is_ccw:
        corners[1:] = corners[:0:-1]
    return tuple(corners)


def _rings(footprint: shapely.Polygon | Sequence[Sequence[float]]) -> tuple[Ring, ...]:
    """The outer ring, then the holes in order; raises InterestError unless they make one simple polygon."""
    what = "Prism footprint"
    if isinstance(footprint, BaseGeometry):
        if not isinstance(footprint, shapely.Polygon):
            raise InterestError(f"{what} is a {footprint.geom_type}: give one Polygon to a prism")
        polygon = shapely.force_2d(footprint)
        for value in shapely.get_coordinates(polygon).flat:
            finite(value, f"{what} coordinate")
    else:
        try:
            points = [coordinates(point, f"{what} corner", (2,)) for point in footprint]
        except TypeError:
            raise InterestError(f"{what} is {footprint!r}: give a shapely Polygon or a sequence of (x, y)") from None
        flat = [(finite(x, f"{what} x"), finite(y, f"{what} y")) for x, y in points]
        if len(set(flat)) < 3:
            raise InterestError(f"{what} has {len(set(flat))} different corners: give three at least")
        polygon = shapely.Polygon(flat)
    if polygon.is_empty:
        raise InterestError(f"{what} is an empty polygon: give three corners at least")
    if not polygon.is_valid:
        raise InterestError(f"{what} is not a simple polygon ({shapely.is_valid_reason(polygon)}): correct its corners")
    holes = sorted(_ring(hole) for hole in polygon.interiors)
    return (_ring(polygon.exterior), *holes)


def _z0(value: float) -> float:
    return number(value, "Lower height")


def _z1(value: float) -> float:
    return number(value, "Upper height")


@attrs.frozen(cache_hash=True)
class Prism:
    """A footprint (a simple polygon, holes allowed) between two heights.

    `footprint` is given as a shapely Polygon or as the (x, y) corners of its outer ring. Prisms that differ only in
    where a ring starts or in its direction are equal. Raises InterestError for a footprint that is not simple, and for
    inverted heights.
    """

    rings: tuple[Ring, ...] = attrs.field(converter=_rings, alias="footprint")
    """The outer ring and the holes, in normal form, each without its repeated last point."""
    z0: float = attrs.field(default=-math.inf, converter=_z0)
    z1: float = attrs.field(default=math.inf, converter=_z1)

    def __attrs_post_init__(self) -> None:
        _check_interval(self.z0, self.z1, "Prism height")

    @cached_property
    def footprint(self) -> shapely.Polygon:
        """The footprint as a prepared shapely polygon."""
        polygon = shapely.Polygon(self.rings[0], self.rings[1:])
        shapely.prepare(polygon)
        return polygon

    @cached_property
    def bounds(self) -> Bounds:
        """The least box around the prism; exact, for the corners are given."""
        xs, ys = zip(*self.rings[0], strict=True)
        return min(xs), min(ys), self.z0, max(xs), max(ys), self.z1

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders all pieces totally; equal only for equal pieces."""
        return (3, self.z0, self.z1, self.rings)

    def meets_box(self, bounds: Bounds) -> bool:
        """Whether a point of this piece lies in the box; exact."""
        if not overlap(self.bounds, bounds):
            return False
        x0, y0, _, x1, y1, _ = bounds
        if x0 == x1 and y0 == y1:
            return bool(shapely.intersects_xy(self.footprint, x0, y0))
        return bool(self.footprint.intersects(self._rectangle(bounds)))

    def covers_box(self, bounds: Bounds) -> bool:
        """Whether every point of the box lies in this piece; exact."""
        return contains(self.bounds, bounds) and bool(self.footprint.covers(self._rectangle(bounds)))

    def _rectangle(self, bounds: Bounds) -> BaseGeometry:
        """The ground plan of an overlapping box, cut to the bounds of this prism: this takes infinities away."""
        x0, y0 = max(bounds[0], self.bounds[0]), max(bounds[1], self.bounds[1])
        x1, y1 = min(bounds[3], self.bounds[3]), min(bounds[4], self.bounds[4])
        if x0 < x1 and y0 < y1:
            return shapely.box(x0, y0, x1, y1)
        return shapely.Point(x0, y0) if (x0, y0) == (x1, y1) else shapely.LineString(((x0, y0), (x1, y1)))


def _radius(value: float) -> float:
    radius = finite(value, "Radius")
    if radius < 0:
        raise InterestError(f"Radius is {radius}: give zero or more")
    return radius


def _reach(centre: float, radius: float) -> float:
    """The least float that is certainly not below any coordinate the formula accepts, nor below centre + radius."""
    reach = centre + radius
    if math.fsum((centre, radius, -reach)) > 0:  # fsum is exact in sign: the sum was rounded inward
        reach = math.nextafter(reach, math.inf)
    beyond = math.nextafter(reach, math.inf) - centre
    if beyond * beyond > radius * radius:
        return reach
    # Rounding (or underflow) makes the formula accept more than the true sphere: allow for the most it can.
    return math.nextafter(centre + (radius * (1 + 2.0**-50) + 2.0**-536), math.inf)


def _span(centre: float, radius: float) -> tuple[float, float]:
    return 0.0 - _reach(-centre, radius), _reach(centre, radius)


def _nearest(centre: float, low: float, high: float) -> float:
    """The offset from the centre of the nearest point of an interval."""
    return (low if centre < low else high if centre > high else centre) - centre


def _farthest(centre: float, low: float, high: float) -> float:
    return max(centre - low, high - centre)


def _centre3(values: Sequence[float]) -> Position:
    given = coordinates(values, "Sphere centre", (2, 3))
    if len(given) == 2:
        raise InterestError(f"Sphere centre is {given!r}, without z: use Cylinder((x, y), radius), unbounded in z")
    x, y, z = (finite(value, f"Sphere centre {axis}") for axis, value in zip("xyz", given, strict=True))
    return x, y, z


@attrs.frozen(cache_hash=True)
class Sphere:
    """All points within `radius` of `centre`, (x, y, z). In a world without heights use Cylinder((x, y), radius).

    Raises InterestError for a negative radius, and for infinities.
    """

    centre: Position = attrs.field(converter=_centre3)
    radius: float = attrs.field(converter=_radius)

    @cached_property
    def bounds(self) -> Bounds:
        """A box around the sphere, rounded outward; nothing that `meets_box` accepts is outside."""
        (x0, x1), (y0, y1), (z0, z1) = (_span(c, self.radius) for c in self.centre)
        return x0, y0, z0, x1, y1, z1

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders all pieces totally; equal only for equal pieces."""
        return (1, *self.centre, self.radius)

    def meets_box(self, bounds: Bounds) -> bool:
        """Whether a point of this piece lies in the box; exact by the formula."""
        x, y, z = self.centre
        dx = _nearest(x, bounds[0], bounds[3])
        dy = _nearest(y, bounds[1], bounds[4])
        dz = _nearest(z, bounds[2], bounds[5])
        return dx * dx + dy * dy + dz * dz <= self.radius * self.radius

    def covers_box(self, bounds: Bounds) -> bool:
        """Whether every point of the box lies in this piece; exact by the formula."""
        x, y, z = self.centre
        dx = _farthest(x, bounds[0], bounds[3])
        dy = _farthest(y, bounds[1], bounds[4])
        dz = _farthest(z, bounds[2], bounds[5])
        return dx * dx + dy * dy + dz * dz <= self.radius * self.radius


def _centre2(values: Sequence[float]) -> tuple[float, float]:
    x, y = coordinates(values, "Cylinder centre", (2,))
    return finite(x, "Cylinder centre x"), finite(y, "Cylinder centre y")


@attrs.frozen(cache_hash=True)
class Cylinder:
    """All points within `radius` of the vertical line through `centre`, (x, y), between two heights.

    Raises InterestError for a negative radius, for infinities other than heights, and for inverted heights.
    """

    centre: tuple[float, float] = attrs.field(converter=_centre2)
    radius: float = attrs.field(converter=_radius)
    z0: float = attrs.field(default=-math.inf, converter=_z0)
    z1: float = attrs.field(default=math.inf, converter=_z1)

    def __attrs_post_init__(self) -> None:
        _check_interval(self.z0, self.z1, "Cylinder height")

    @cached_property
    def bounds(self) -> Bounds:
        """A box around the cylinder, rounded outward; nothing that `meets_box` accepts is outside."""
        (x0, x1), (y0, y1) = (_span(c, self.radius) for c in self.centre)
        return x0, y0, self.z0, x1, y1, self.z1

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders all pieces totally; equal only for equal pieces."""
        return (2, *self.centre, self.radius, self.z0, self.z1)

    def meets_box(self, bounds: Bounds) -> bool:
        """Whether a point of this piece lies in the box; exact by the formula."""
        if self.z0 > bounds[5] or self.z1 < bounds[2]:
            return False
        x, y = self.centre
        dx = _nearest(x, bounds[0], bounds[3])
        dy = _nearest(y, bounds[1], bounds[4])
        return dx * dx + dy * dy <= self.radius * self.radius

    def covers_box(self, bounds: Bounds) -> bool:
        """Whether every point of the box lies in this piece; exact by the formula."""
        if self.z0 > bounds[2] or self.z1 < bounds[5]:
            return False
        x, y = self.centre
        dx = _farthest(x, bounds[0], bounds[3])
        dy = _farthest(y, bounds[1], bounds[4])
        return dx * dx + dy * dy <= self.radius * self.radius


Piece = Box | Prism | Sphere | Cylinder
