"""A region: a finite union of pieces, as an immutable value in normal form.

This is what an interest wants in space, and what routers exchange as SR and CR (CBSMRP, equations 1 and 2). `|` only
concatenates: polygons are never dissolved, and covered pieces stay until somebody calls `simplify`.
"""

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import attrgetter

import attrs
import numpy as np

from interest import simplify, spatial
from interest.errors import InterestError
from interest.extent import Extent
from interest.shapes import Bounds, Box, Cylinder, Piece, Prism, Sphere, overlap
from interest.tiling import Floats, tiles

UNBOUNDED = Box((-math.inf, -math.inf, -math.inf), (math.inf, math.inf, math.inf))

_FEW = 24
"""Up to this many pairs of pieces, plain loops are faster than numpy."""

_sort_key = attrgetter("sort_key")


def _normal_form(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    if isinstance(pieces, Piece):
        raise InterestError(f"Region of {pieces!r}: give a sequence of pieces, Region([piece])")
    given = tuple(pieces)
    for piece in given:
        if not isinstance(piece, (Box, Prism, Sphere, Cylinder)):
            raise InterestError(f"Region piece {piece!r}: give a Box, Prism, Sphere or Cylinder")
    unique = dict.fromkeys(given)
    if UNBOUNDED in unique:
        return (UNBOUNDED,)
    return tuple(sorted(unique, key=_sort_key))


@attrs.frozen(cache_hash=True)
class Region:
    """The union of `pieces`: sorted, without duplicates, and only the unbounded box where that is one of them.

    Equal regions have equal pieces; unequal ones may still be the same set. Raises InterestError for anything that is
    not a piece. A publication without extent matches no region, not even EVERYWHERE.
    """

    pieces: tuple[Piece, ...] = attrs.field(default=(), converter=_normal_form)

    @staticmethod
    def union(regions: Iterable["Region"]) -> "Region":
        """The union of any number of regions, in one go."""
        return Region(chain.from_iterable(region.pieces for region in regions))

    def __or__(self, other: "Region") -> "Region":
        if not isinstance(other, Region):
            return NotImplemented
        if not other.pieces or self.pieces is other.pieces:
            return self
        return Region(self.pieces + other.pieces) if self.pieces else other

    def __len__(self) -> int:
        """The number of pieces."""
        return len(self.pieces)

    def __iter__(self) -> Iterator[Piece]:
        return iter(self.pieces)

    @cached_property
    def bounds(self) -> Bounds | None:
        """A box around all pieces, or None for the empty region."""
        if not self.pieces:
            return None
        x0, y0, z0, x1, y1, z1 = zip(*(piece.bounds for piece in self.pieces), strict=True)
        return min(x0), min(y0), min(z0), max(x1), max(y1), max(z1)

    @cached_property
    def table(self) -> Floats:
        """The bounds of all pieces, one piece a column: shape (6, number of pieces)."""
        table = np.array([piece.bounds for piece in self.pieces], dtype=np.float64).reshape(-1, 6).T.copy()
        table.flags.writeable = False
        return table

    @cached_property
    def _boxes(self) -> Floats:
        """The pieces that are boxes, one a row."""
        rows = [piece.bounds for piece in self.pieces if isinstance(piece, Box)]
        return np.array(rows, dtype=np.float64).reshape(-1, 6)

    def matches(self, extent: Extent) -> bool:
        """Whether a publication with this extent touches the region.

        Exact for points and boxes, and for prisms against boxes and prisms; a prism that misses a sphere or a cylinder
        by no more than rounding counts as touching.
        """
        if extent is None:
            return False
        candidates = self._near(extent.bounds)
        if isinstance(extent, Prism):
            return any(spatial.intersects(piece, extent) for piece in candidates)
        return any(piece.meets_box(extent.bounds) for piece in candidates)

    def intersects(self, other: "Region") -> bool:
        """Whether the regions share a point: exact for boxes and prisms, and never a wrong no for the rest."""
        if len(self.pieces) * len(other.pieces) <= _FEW:
            return any(spatial.intersects(a, b) for a in self.pieces for b in other.pieces)
        if len(other) > len(self):
            self, other = other, self
        return any(spatial.intersects(a, b) for b in other.pieces for a in self._near(b.bounds))

    def covers(self, other: "Region") -> bool:
        """Whether every point of `other` is in this region: never a wrong yes.

        Complete where both are boxes, also for one box that only several cover together (within `tiling.MAX_CELLS`).
        Any other piece must lie in one piece, or its bounds in the boxes.
        """
        mine = self._piece_set
        return all(piece in mine or self._covers_piece(piece) for piece in other.pieces)

    def simplify(self) -> "Region":
        """The same set in fewer pieces where that is easy to see; see `simplify.simplify`."""
        return simplify.simplify(self)

    def over_approximate(self, budget: int) -> "Region":
        """A region that covers this one with at most `budget` pieces; see `simplify.over_approximate`."""
        return simplify.over_approximate(self, budget)

    @cached_property
    def _piece_set(self) -> frozenset[Piece]:
        return frozenset(self.pieces)

    def _covers_piece(self, piece: Piece) -> bool:
        if any(spatial.covers(mine, piece) for mine in self._near(piece.bounds)):
            return True
        return len(self._boxes) > 1 and tiles(piece.bounds, self._boxes)

    def _near(self, bounds: Bounds) -> Iterable[Piece]:
        """The pieces whose bounds touch these."""
        if len(self.pieces) <= _FEW:
            return [piece for piece in self.pieces if overlap(piece.bounds, bounds)]
        table = self.table
        near = (table[0] <= bounds[3]) & (table[3] >= bounds[0])
        near &= (table[1] <= bounds[4]) & (table[4] >= bounds[1])
        near &= (table[2] <= bounds[5]) & (table[5] >= bounds[2])
        return [self.pieces[index] for index in np.flatnonzero(near).tolist()]


NOWHERE = Region()
EVERYWHERE = Region((UNBOUNDED,))
