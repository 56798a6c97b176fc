"""Where a publication happens: nowhere in particular (None), at a point, in a box, or in a prism.

Publishers make these, `Region.matches` decides on them, the wire carries them.
"""

import math
from collections.abc import Sequence

import attrs

from interest.shapes import LIMIT, Bounds, Box, Prism, coordinates, finite


def _position(values: Sequence[float]) -> tuple[float, ...]:
    if type(values) is tuple and len(values) == 3:  # what is received: decided here, at a third of the time
        x, y, z = values
        if (
            type(x) is type(y) is type(z) is float
            and -LIMIT <= x <= LIMIT
            and -LIMIT <= y <= LIMIT
            and -LIMIT <= z <= LIMIT
        ):
            return x + 0.0, y + 0.0, z + 0.0
    given = coordinates(values, "Point", (2, 3))
    return tuple(finite(value, f"Point {axis}") for axis, value in zip("xyz", given, strict=False))


@attrs.frozen(cache_hash=True)
class Point:
    """A position, (x, y, z) in metres, or (x, y): a vertical line, for an omitted z is unbounded.

    Raises InterestError for NaN and infinities.
    """

    position: tuple[float, ...] = attrs.field(converter=_position)
    """Two or three coordinates, as given."""

    @property
    def bounds(self) -> Bounds:
        """The point as a box of no size, unbounded in z where z was omitted."""
        position = self.position  # asked for once or twice: computing it anew costs less than keeping it
        if len(position) == 3:
            x, y, z = position
            return x, y, z, x, y, z
        x, y = position
        return x, y, -math.inf, x, y, math.inf


Extent = Point | Box | Prism | None
