"""Two pieces compared: do they share a point, does one cover the other.

`Region` calls this for each pair that its bounds do not decide. Boxes and prisms are compared exactly. With a sphere
or a cylinder, rounding always widens: `intersects` may say yes to a near miss, `covers` may say no to an exact fit.
"""

import math

import shapely

from interest.shapes import Box, Cylinder, Piece, Prism, Sphere, contains, overlap

MARGIN = 2.0**-44
"""More than the relative error of any distance computed here."""
TINY = 2.0**-500
"""More than the absolute error where squares underflow (metres)."""


def intersects(a: Piece, b: Piece) -> bool:
    """Whether two pieces share a point; never a wrong no."""
    if isinstance(b, Box):
        return a.meets_box(b.bounds)
    if isinstance(a, Box):
        return b.meets_box(a.bounds)
    if not overlap(a.bounds, b.bounds):
        return False
    if isinstance(a, Sphere):
        return _sphere_may_reach(a, b)
    if isinstance(b, Sphere):
        return _sphere_may_reach(b, a)
    if isinstance(a, Cylinder):
        return _may_reach(_gap(a.centre, b), a.radius)
    if isinstance(b, Cylinder):
        return _may_reach(_gap(b.centre, a), b.radius)
    return bool(a.footprint.intersects(b.footprint))


def covers(a: Piece, b: Piece) -> bool:
    """Whether every point of `b` lies in `a`; never a wrong yes."""
    if isinstance(b, Box):
        return a.covers_box(b.bounds)
    if not contains(a.bounds, b.bounds):
        return False
    if isinstance(a, Box) or a == b:
        return True
    if isinstance(a, Prism):
        return bool(a.footprint.covers(b.footprint)) if isinstance(b, Prism) else _holds_disc(a, b)
    if not isinstance(b, Prism) and type(a) is type(b) and a.centre == b.centre:
        return a.radius >= b.radius  # the formula is monotone: no rounding can put these in the wrong order
    if isinstance(a, Cylinder):
        return _surely_reaches(a.radius, _spread(a.centre, b))
    if isinstance(b, Sphere):
        return _surely_reaches(a.radius, math.dist(a.centre, b.centre) + b.radius)
    rise = max(a.centre[2] - b.z0, b.z1 - a.centre[2])
    return _surely_reaches(a.radius, math.hypot(_spread(a.centre[:2], b), rise))


def _may_reach(gap: float, radius: float) -> bool:
    return gap <= radius * (1 + MARGIN) + TINY


def _surely_reaches(radius: float, spread: float) -> bool:
    return spread * (1 + MARGIN) + TINY <= radius


def _sphere_may_reach(sphere: Sphere, other: Prism | Sphere | Cylinder) -> bool:
    x, y, z = sphere.centre
    if isinstance(other, Sphere):
        gap = math.dist(sphere.centre, other.centre) * (1 - MARGIN) - other.radius * (1 + MARGIN)
    else:
        gap = math.hypot(_gap((x, y), other), max(other.z0 - z, z - other.z1, 0.0)) * (1 - MARGIN)
    return _may_reach(gap, sphere.radius)


def _gap(point: tuple[float, float], other: Prism | Cylinder) -> float:
    """A lower bound of the distance from a point to a piece, both seen from above."""
    if isinstance(other, Cylinder):
        return max(0.0, math.dist(point, other.centre) * (1 - MARGIN) - other.radius * (1 + MARGIN))
    distance = float(shapely.distance(other.footprint, shapely.Point(point)))
    return max(0.0, distance - MARGIN * _spread(point, other))


def _spread(point: tuple[float, ...], other: Prism | Sphere | Cylinder) -> float:
    """The greatest distance from a point to any point of a piece, both seen from above."""
    if isinstance(other, Prism):
        return max(math.dist(point, corner) for corner in other.rings[0])
    return math.dist(point, other.centre[:2]) + other.radius


def _holds_disc(prism: Prism, disc: Sphere | Cylinder) -> bool:
    """Whether a sphere or cylinder, seen from above, surely lies in the footprint."""
    x, y = disc.centre[:2]
    if not shapely.intersects_xy(prism.footprint, x, y):
        return False
    clearance = float(shapely.distance(prism.footprint.boundary, shapely.Point(x, y)))
    return _surely_reaches(clearance - MARGIN * _spread((x, y), prism), disc.radius)
