"""Whether several boxes together cover one box, decided exactly on the grid of their own coordinates.

`Region.covers` calls this when no single piece covers the box. Between two neighbouring coordinates nothing changes,
so one cell of that grid stands for all its points.
"""

import numpy as np
import numpy.typing as npt

from interest.shapes import Bounds

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

MAX_CELLS = 1 << 21
"""Larger grids are not decided: some eighty boxes in general position, or far more on a common grid."""


def tiles(bounds: Bounds, boxes: Floats) -> bool:
    """Whether the closed boxes, one a row of `boxes` (x0, y0, z0, x1, y1, z1), cover the box `bounds` together.

    Exact up to MAX_CELLS cells, and no beyond them.
    """
    low, high = np.array(bounds[:3]), np.array(bounds[3:])
    wide = low < high
    # Where the target is flat a box must reach it; elsewhere the closed union covers the closed target as soon as it
    # covers its inside, so a box that only touches, or is itself flat there, cannot help.
    box_low, box_high = np.maximum(boxes[:, :3], low), np.minimum(boxes[:, 3:], high)
    helps = np.where(wide, box_low < box_high, box_low <= box_high).all(axis=1)
    box_low, box_high = box_low[helps][:, wide], box_high[helps][:, wide]
    if not len(box_low):
        return False
    low, high = low[wide], high[wide]
    cuts = [
        np.unique(np.concatenate((box_low[:, axis], box_high[:, axis], (low[axis], high[axis]))))
        for axis in range(len(low))
    ]
    shape = tuple(len(cut) - 1 for cut in cuts)
    if np.prod(shape, dtype=np.float64) > MAX_CELLS:
        return False
    covered = np.zeros(shape, dtype=np.bool_)
    starts = [np.searchsorted(cut, box_low[:, axis]).tolist() for axis, cut in enumerate(cuts)]
    stops = [np.searchsorted(cut, box_high[:, axis]).tolist() for axis, cut in enumerate(cuts)]
    for row in range(len(box_low)):
        covered[tuple(slice(start[row], stop[row]) for start, stop in zip(starts, stops, strict=True))] = True
    return bool(covered.all())
