"""Fewer pieces for a region: without changing it (`simplify`), or by widening it to a budget (`over_approximate`).

Routers widen the regions they exchange, so that state and datagrams stay bounded; the price is extra packets, never a
lost one. Both are methods of `Region`, which is why this module does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from interest.errors import InterestError
from interest.shapes import LIMIT, Bounds, Box, Piece
from interest.spatial import covers
from interest.tiling import Flags, Floats, Indices

if TYPE_CHECKING:
    from interest.region import Region

_BLOCK = 256
"""Partners are sought among this many neighbours in order of x0, which keeps each step linear in the pieces.

On 600 random boxes the result is as small as with all pairs, in a third of the time.
"""

_TIE = 1e-12
"""Weight of the gap between two pieces against their added volume: decides where all volumes are zero."""


def simplify(region: Region) -> Region:
    """The same set of points in fewer pieces, where that is easy to see; the region itself where it is not.

    Drops what a single other piece covers, and joins boxes whose union is a box. Time grows with the square of the
    number of pieces.
    """
    while True:
        smaller = _join_boxes(_drop_covered(region))
        if len(smaller) == len(region):
            return region
        region = smaller


def over_approximate(region: Region, budget: int) -> Region:
    """A region of at most `budget` pieces that covers `region`; the region itself where that is within the budget.

    Simplifies first. Then merges pieces into their bounding box in pairs, those first that add the least volume (both
    taken as boxes, their overlap counted once). A heuristic: the least sum over all choices is not promised. Raises
    InterestError for a budget below one.
    """
    if budget < 1:
        raise InterestError(f"Budget is {budget} pieces: give one at least")
    if len(region) > budget:
        region = simplify(region)
    if len(region) <= budget:
        return region
    order = np.argsort(region.table[0], kind="stable")
    bounds = region.table[:, order]
    scaled = _scaled(bounds)
    kept: list[Piece | None] = [region.pieces[index] for index in order.tolist()]
    while (excess := len(kept) - budget) > 0:
        first, second = _pairs(scaled, max(1, excess // 2))
        gone = np.zeros(len(kept), dtype=np.bool_)
        gone[second] = True
        bounds, scaled = _merged(bounds, first, second, gone), _merged(scaled, first, second, gone)
        for index in first.tolist():
            kept[index] = None
        kept = [kept[index] for index in np.flatnonzero(~gone).tolist()]
    merged = (
        Box(column[:3], column[3:]) if piece is None else piece
        for piece, column in zip(kept, bounds.T.tolist(), strict=True)
    )
    return attrs.evolve(region, pieces=merged)


def _drop_covered(region: Region) -> Region:
    """Without the pieces that one other piece covers."""
    table, pieces = region.table, region.pieces
    inside = np.ones((len(pieces), len(pieces)), dtype=np.bool_)  # inside[i, j]: the bounds of j lie in those of i
    for low, high in zip(table[:3], table[3:], strict=True):
        inside &= low[:, None] <= low
        inside &= high[:, None] >= high
    np.fill_diagonal(inside, False)
    alive = np.ones(len(pieces), dtype=np.bool_)
    for inner in np.flatnonzero(inside.any(axis=0))[::-1].tolist():  # of two equal sets the simpler shape stays
        outer = np.flatnonzero(inside[:, inner] & alive).tolist()
        alive[inner] = not any(covers(pieces[index], pieces[inner]) for index in outer)
    if alive.all():
        return region
    return attrs.evolve(region, pieces=[pieces[index] for index in np.flatnonzero(alive).tolist()])


def _join_boxes(region: Region) -> Region:
    """With boxes joined that agree on two axes and touch on the third."""
    boxes = [piece.bounds for piece in region.pieces if isinstance(piece, Box)]
    count = len(boxes)
    for axis in range(3):
        boxes = _joined(boxes, axis)
    if len(boxes) == count:
        return region
    others = (piece for piece in region.pieces if not isinstance(piece, Box))
    return attrs.evolve(region, pieces=[*map(Box.of, boxes), *others])


def _joined(boxes: list[Bounds], axis: int) -> list[Bounds]:
    columns: dict[tuple[float, ...], list[tuple[float, float]]] = {}
    for box in boxes:
        low, high = list(box[:3]), list(box[3:])
        interval = low.pop(axis), high.pop(axis)
        columns.setdefault((*low, *high), []).append(interval)
    result: list[Bounds] = []
    for (a0, b0, a1, b1), intervals in columns.items():
        intervals.sort()
        joined = [intervals[0]]
        for start, stop in intervals[1:]:
            if start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(stop, joined[-1][1])
            else:
                joined.append((start, stop))
        for start, stop in joined:
            low, high = [a0, b0], [a1, b1]
            low.insert(axis, start)
            high.insert(axis, stop)
            result.append((low[0], low[1], low[2], high[0], high[1], high[2]))
    return result


def _scaled(table: Floats) -> Floats:
    """Bounds for computing costs: each axis to the unit of its finite extent, infinities just outside of it.

    An axis on which all pieces agree counts for nothing, so that a world without heights is decided by area.
    """
    scaled = np.zeros_like(table)
    for axis in range(3):
        rows = table[axis::3]
        if (rows == rows[:, :1]).all():
            scaled[axis + 3] = 1.0
            continue
        finite = rows[np.abs(rows) <= LIMIT]
        least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        size = most - least or 1.0
        scaled[axis::3] = (np.clip(rows, least - size, most + size) - least) / size
    return scaled


def _merged(table: Floats, first: Indices, second: Indices, gone: Flags) -> Floats:
    """The table with each `second` column taken into its `first`, and those `gone` removed."""
    result = table.copy()
    result[:3, first] = np.minimum(table[:3, first], table[:3, second])
    result[3:, first] = np.maximum(table[3:, first], table[3:, second])
    return result[:, ~gone]


def _pairs(table: Floats, most: int) -> tuple[Indices, Indices]:
    """Up to `most` disjoint pairs, each the other's cheapest partner, cheapest first.

    The cheapest pair of all is always among them. Deterministic: the lower index wins a tie.
    """
    count = table.shape[1]
    partner, cost = np.empty(count, dtype=np.intp), np.empty(count)
    for start in range(0, count, _BLOCK):
        costs = _costs(table[:, start : start + _BLOCK])
        nearest = costs.argmin(axis=1)
        partner[start : start + _BLOCK] = nearest + start
        cost[start : start + _BLOCK] = costs[np.arange(len(nearest)), nearest]
    index = np.arange(count)
    first = index[(partner[partner] == index) & (index < partner)]
    first = first[np.argsort(cost[first], kind="stable")[:most]]
    return first, partner[first]


def _costs(table: Floats) -> Floats:
    """What merging adds to the volume, for all pairs of columns; infinite on the diagonal."""
    count = table.shape[1]
    whole, common, gaps = np.ones((count, count)), np.ones((count, count)), np.zeros((count, count))
    volume = np.ones(count)
    for low, high in zip(table[:3], table[3:], strict=True):
        length = high - low
        volume *= length
        merged = np.maximum(high[:, None], high)
        merged -= np.minimum(low[:, None], low)
        shared = length[:, None] + length
        shared -= merged
        gaps -= shared
        whole *= merged
        common *= np.maximum(shared, 0.0, out=shared)
    whole += common
    whole -= volume[:, None] + volume
    gaps *= _TIE
    whole += gaps
    np.fill_diagonal(whole, np.inf)
    return whole
