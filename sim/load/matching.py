"""Which hosts must get each publication, for many publications at once: arrays in, pairs (publication, host) out.

The first half of the load computation (`load`); it knows nothing of trees, so that every protocol's load starts here.
A subscription is rows of pieces, each with the span of time in which it is in force. A tree of rectangles finds the
candidates in the ground plan; time, height, shape and attributes are then decided exactly. Results come in blocks of
bounded size.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np
import numpy.typing as npt
import shapely

from sim.geometry import Bools, Box, Extent, Extents, Floats, Piece, bounds
from sim.oracle import Attributes, Condition, holds

Ints = npt.NDArray[np.int64]

PAIRS = 2_000_000
"""At most so many pairs (publication, row) are looked at together: some 100 MB."""
_ROWS = 2000
"""A tree of rectangles is built anew at the earliest after so many rows have come and gone."""
_FARTHEST = 1e100
"""What lies farther out is moved here in the tree of rectangles, which cannot hold infinite ones."""


@attrs.frozen(eq=False)
class Publications:
    """n publications in the order of time: when (seconds), from which host (its number), where, how many bytes.

    `sizes` are those of the datagram that carries one. `kinds` number the sets of attributes; a publication's layer is
    one of them.
    """

    times: Floats
    hosts: Ints
    extents: Extents
    sizes: Ints
    kinds: Ints

    def __len__(self) -> int:
        return len(self.times)


@attrs.frozen(eq=False)
class Wants:
    """n pieces that hosts want, each from `begins` up to but not including `ends` (seconds), in the order of `begins`.

    `boxes` (6, n) holds the bounds of the pieces, and `shapes` those that are no boxes, by their row; rows that are
    `anywhere` have no spatial part. `kinds` number the conditions on attributes.
    """

    begins: Floats
    ends: Floats
    hosts: Ints
    boxes: Floats
    shapes: Mapping[int, Piece]
    anywhere: Bools
    kinds: Ints

    def __len__(self) -> int:
        return len(self.begins)


@attrs.frozen(eq=False)
class Traffic:
    """Who publishes what and who wants what: `accepts[i, j]`: conditions i hold for attributes j."""

    publications: Publications
    wants: Wants
    accepts: Bools


@attrs.frozen(eq=False)
class Matches:
    """The publications start..stop, and who must get them: pairs in the order of publications, then of hosts.

    No pair occurs twice, and no host gets what it has published. `publications` counts from 0, not from `start`.
    """

    start: int
    stop: int
    publications: Ints
    hosts: Ints


@attrs.frozen
class Published:
    """One publication; `host` is a number, `size` in bytes as it travels."""

    time: float
    host: int
    extent: Extent
    size: int
    attributes: Attributes = attrs.field(factory=dict)


@attrs.frozen
class Want:
    """What a host (its number) wants from `begin` up to `end`: any of `pieces` (None: no spatial part), if all of
    `conditions` hold."""

    host: int
    begin: float
    end: float
    pieces: tuple[Piece, ...] | None
    conditions: tuple[Condition, ...] = ()


def gather(publications: Iterable[Published], wants: Iterable[Want]) -> Traffic:
    """Objects as arrays."""
    attributes: dict[str, tuple[int, Attributes]] = {}  # by their text, for as keys 1 and True would be one
    conditions: dict[str, tuple[int, tuple[Condition, ...]]] = {}
    sent = sorted(publications, key=lambda each: each.time)
    kinds = [
        attributes.setdefault(repr(sorted(each.attributes.items())), (len(attributes), each.attributes))[0]
        for each in sent
    ]
    rows: list[tuple[Want, Piece | None, int]] = []
    for want in sorted(wants, key=lambda each: each.begin):
        kind = conditions.setdefault(repr(want.conditions), (len(conditions), want.conditions))[0]
        pieces: Sequence[Piece | None] = (None,) if want.pieces is None else want.pieces
        rows += [(want, piece, kind) for piece in pieces]
    boxes = np.array([(math.nan,) * 6 if piece is None else bounds(piece) for _, piece, _ in rows], float)
    return Traffic(
        Publications(
            np.array([each.time for each in sent], float),
            np.array([each.host for each in sent], np.int64),
            Extents([each.extent for each in sent]),
            np.array([each.size for each in sent], np.int64),
            np.array(kinds, np.int64),
        ),
        Wants(
            np.array([want.begin for want, _, _ in rows], float),
            np.array([want.end for want, _, _ in rows], float),
            np.array([want.host for want, _, _ in rows], np.int64),
            boxes.reshape(-1, 6).T,
            {at: piece for at, (_, piece, _) in enumerate(rows) if not isinstance(piece, Box | None)},
            np.array([piece is None for _, piece, _ in rows], bool),
            np.array([kind for _, _, kind in rows], np.int64),
        ),
        np.array(
            [
                [all(holds(each, found) for each in asked) for _, found in attributes.values()]
                for _, asked in conditions.values()
            ],
            bool,
        ).reshape(len(conditions), len(attributes)),
    )


def matches(traffic: Traffic, begin: float = -math.inf, end: float = math.inf) -> Iterator[Matches]:
    """Who must get what is published from `begin` up to `end` (seconds), in blocks of successive publications."""
    start, last = (int(each) for each in np.searchsorted(traffic.publications.times, (begin, end), side="left"))
    while start < last:
        rows, stop = _about(traffic, start, last)
        index = _Rows(traffic.wants, rows)
        step = max(1, PAIRS // max(len(rows), 1))
        for first in range(start, stop, step):
            yield _block(traffic, index, first, min(first + step, stop))
        start = stop


def _about(traffic: Traffic, start: int, last: int) -> tuple[Ints, int]:
    """The rows in force at some time from publication `start` to another, at most `last`, and that other one.

    Rows that are there all the time are indexed once; where they come and go, about as many do as there are at once.
    """
    times, wants = traffic.publications.times, traffic.wants
    known = int(np.searchsorted(wants.begins, times[start], side="right"))
    now = np.flatnonzero(wants.ends[:known] > times[start])
    new = known + max(len(now), _ROWS)
    stop = last
    if new < len(wants):
        stop = min(last, max(start + 1, int(np.searchsorted(times, wants.begins[new], side="left"))))
    until = int(np.searchsorted(wants.begins, times[stop - 1], side="right"))
    return np.concatenate((now, np.arange(known, until))), stop


class _Rows:
    """Some rows, to be asked by publications; those without a spatial part stand beside the tree of rectangles."""

    def __init__(self, wants: Wants, rows: Ints) -> None:
        anywhere = wants.anywhere[rows]
        self.anywhere = rows[anywhere]
        self.spatial = rows[~anywhere]
        x0, y0, _, x1, y1, _ = _finite(wants.boxes[:, self.spatial])
        self.tree = shapely.STRtree(shapely.box(x0, y0, x1, y1))

    def candidates(self, extents: Extents, start: int, stop: int) -> tuple[Ints, Ints]:
        """Pairs (publication, row) that may match; every one that does is among them."""
        some = start + np.flatnonzero(extents.given[start:stop])
        x0, y0, _, x1, y1, _ = _finite(extents.bounds[:, some])
        points = bool(np.all(x0 == x1) and np.all(y0 == y1))
        # a flat rectangle is no valid polygon, but its bounds are all that is asked for
        at, found = self.tree.query(shapely.points(x0, y0) if points else shapely.box(x0, y0, x1, y1))
        publications, rows = some[at], self.spatial[found]
        if len(self.anywhere):
            every = np.arange(start, stop)
            publications = np.concatenate((publications, np.repeat(every, len(self.anywhere))))
            rows = np.concatenate((rows, np.tile(self.anywhere, len(every))))
        return publications, rows


def _finite(boxes: Floats) -> Floats:
    return np.clip(boxes, -_FARTHEST, _FARTHEST)


def _block(traffic: Traffic, index: _Rows, start: int, stop: int) -> Matches:
    publications, wants = traffic.publications, traffic.wants
    at, row = index.candidates(publications.extents, start, stop)
    times = publications.times[at]
    keep = (wants.begins[row] <= times) & (times < wants.ends[row]) & (wants.hosts[row] != publications.hosts[at])
    if not traffic.accepts.all():
        keep &= traffic.accepts[wants.kinds[row], publications.kinds[at]]
    at, row = at[keep], row[keep]
    met = _meet(publications.extents, wants, at, row)
    met |= wants.anywhere[row]
    at, row = at[met], row[met]
    count = int(wants.hosts.max(initial=0)) + 1
    pairs = np.unique(at * count + wants.hosts[row])
    return Matches(start, stop, pairs // count, pairs % count)


def _meet(extents: Extents, wants: Wants, at: Ints, row: Ints) -> Bools:
    """Which pairs share a point."""
    with np.errstate(invalid="ignore"):  # NaN stands for no extent and no spatial part, and compares false
        met: Bools = np.ones(len(at), bool)
        for axis in range(3):
            met &= wants.boxes[axis, row] <= extents.bounds[axis + 3, at]
            met &= extents.bounds[axis, at] <= wants.boxes[axis + 3, row]
    if not wants.shapes and not extents.prisms:
        return met
    prisms = np.zeros(len(extents.given), bool)
    prisms[list(extents.prisms)] = True
    round_ = np.zeros(len(wants), bool)
    round_[list(wants.shapes)] = True
    left = np.flatnonzero(met & (round_[row] | prisms[at]))
    left = left[np.argsort(row[left], kind="stable")]
    for part in np.split(left, np.flatnonzero(np.diff(row[left])) + 1) if len(left) else ():
        number = int(row[part[0]])
        box = wants.boxes[:, number]
        piece = wants.shapes.get(number) or Box((box[0], box[1], box[2]), (box[3], box[4], box[5]))
        met[part] = extents.meet(piece, at[part])
    return met
