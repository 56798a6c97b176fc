"""Which of many interests a publication matches: the forwarding table's and the host's way to find out.

Every piece of every interest is one entry. Up to FEW entries are scanned, in the order of their least x as far as that
of the publication; more go into an R-tree, whose one look-up costs some 10 µs, as much as scanning two hundred so. Each
hit is checked exactly. Interests, or parts of them, without a spatial part are in a list beside it.
"""

import itertools
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from rtree.index import Index, Property, RT_Quadratic

from interest import spatial
from interest.constraint import Constraints
from interest.extent import Extent
from interest.interest import Interest
from interest.shapes import Bounds, Box, Piece, Prism
from interest.value import Value

K = TypeVar("K", bound=Hashable)

FEW = 192
_FARTHEST = 1e100
"""What lies farther out is moved here in the R-tree, which crashes where a volume of a box, or a sum of them, is not
finite. Hits only become more: they are checked exactly."""


class _Entry(NamedTuple):
    bounds: Bounds
    row: int
    constraints: Constraints
    piece: Piece


class _Row(Generic[K]):
    """One key: the ids of its entries, and the constraints that hold without a spatial part."""

    __slots__ = ("anywhere", "entries", "key")

    def __init__(self, key: K) -> None:
        self.key = key
        self.entries: dict[tuple[Constraints, Piece], int] = {}
        self.anywhere: list[Constraints] = []


class InterestIndex(Generic[K]):
    """A mapping from keys to interests that finds the keys whose interest matches."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._rows: dict[int, _Row[K]] = {}
        self._anywhere: dict[int, list[Constraints]] = {}
        self._entries: dict[int, _Entry] = {}
        self._tree: Any = None  # an Index while there are many entries
        self._scanned: tuple[list[float], list[_Entry]] | None = None  # least x, entry; None: to be sorted anew
        self._next = itertools.count()

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def insert(self, key: K, interest: Interest) -> None:
        """Add a key; KeyError if it is there already."""
        if key in self._numbers:
            raise KeyError(f"{key!r} is in the index already")
        number = next(self._next)
        self._numbers[key] = number
        self._rows[number] = _Row(key)
        self._fill(number, interest)

    def replace(self, key: K, interest: Interest) -> None:
        """Give a key another interest; KeyError if it is not there. Entries that stay the same are not touched."""
        self._fill(self._numbers[key], interest)

    def remove(self, key: K) -> None:
        """Take a key out; KeyError if it is not there."""
        number = self._numbers.pop(key)
        self._fill(number, Interest())
        del self._rows[number]

    def find(self, extent: Extent, attributes: Mapping[str, Value]) -> list[K]:
        """The keys whose interest matches a publication, in the order in which they were inserted."""
        found = set()
        for number, alternatives in self._anywhere.items():
            for constraints in alternatives:
                if constraints.match(attributes):
                    found.add(number)
                    break
        if extent is not None:
            x0, y0, z0, x1, y1, z1 = bounds = extent.bounds
            prism = extent if isinstance(extent, Prism) else None
            entries: Iterable[_Entry]
            if self._tree is None:
                lows, ordered = self._scanned or self._sort()
                entries = ordered[: bisect_right(lows, x1)]
            else:
                entries = [self._entries[hit] for hit in self._tree.intersection(_clamped(bounds))]
            for (u0, v0, w0, u1, v1, w1), number, constraints, piece in entries:
                if (  # the boxes are compared without a call, for most entries end there, and many need no more
                    (x0 <= u1 and v0 <= y1 and y0 <= v1 and w0 <= z1 and z0 <= w1 and u0 <= x1)
                    and number not in found
                    and (not constraints.pairs or constraints.match(attributes))
                    and (
                        spatial.intersects(piece, prism)
                        if prism is not None
                        else type(piece) is Box or piece.meets_box(bounds)
                    )
                ):
                    found.add(number)
        return [self._rows[number].key for number in sorted(found)]

    def _fill(self, number: int, interest: Interest) -> None:
        row = self._rows[number]
        row.anywhere = [each.constraints for each in interest.conjuncts if each.region is None]
        if row.anywhere:
            self._anywhere[number] = row.anywhere
        else:
            self._anywhere.pop(number, None)
        wanted = {
            (each.constraints, piece): None
            for each in interest.conjuncts
            if each.region is not None
            for piece in each.region.pieces
        }
        for gone in row.entries.keys() - wanted.keys():
            self._remove_entry(row.entries.pop(gone))
        for added in wanted:
            if added not in row.entries:
                constraints, piece = added
                row.entries[added] = self._add_entry(_Entry(piece.bounds, number, constraints, piece))
        if self._tree is None and len(self._entries) > FEW:
            self._tree = _tree(self._entries)
        elif self._tree is not None and len(self._entries) <= FEW // 2:
            self._tree = None

    def _sort(self) -> tuple[list[float], list[_Entry]]:
        entries = sorted(self._entries.values(), key=lambda entry: entry.bounds[0])
        self._scanned = [entry.bounds[0] for entry in entries], entries
        return self._scanned

    def _add_entry(self, entry: _Entry) -> int:
        number = next(self._next)
        self._entries[number] = entry
        self._scanned = None
        if self._tree is not None:
            self._tree.insert(number, _clamped(entry.bounds))
        return number

    def _remove_entry(self, number: int) -> None:
        entry = self._entries.pop(number)
        self._scanned = None
        if self._tree is not None:
            self._tree.delete(number, _clamped(entry.bounds))  # finds it by the very bounds it was inserted with


def _tree(entries: Mapping[int, _Entry]) -> Any:
    stream = ((number, _clamped(entry.bounds), None) for number, entry in entries.items())
    return Index(stream, properties=_properties())


def _properties() -> Property:
    """Small nodes, filled little: a moving box then costs 10 to 20 µs, with the library's defaults 100 to 600."""
    return Property(dimension=3, variant=RT_Quadratic, leaf_capacity=16, index_capacity=16, fill_factor=0.4)


def _clamped(bounds: Bounds) -> Bounds:
    x0, y0, z0, x1, y1, z1 = bounds
    low, high = -_FARTHEST, _FARTHEST
    if x0 >= low and y0 >= low and z0 >= low and x1 <= high and y1 <= high and z1 <= high:
        return bounds  # nearly always: twelve calls fewer for each publication
    x0, y0, z0, x1, y1, z1 = [min(max(value, -_FARTHEST), _FARTHEST) for value in bounds]
    return x0, y0, z0, x1, y1, z1
