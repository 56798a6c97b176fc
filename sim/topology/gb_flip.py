"""Knuth's portable random numbers, GB_FLIP (The Stanford GraphBase, 1993), as described there: 31 bits a number.

GT-ITM draws from them, so that its graphs can be had again from their seeds. Called by `transit_stub`.
"""

from __future__ import annotations

_LONG, _SHORT = 55, 24
_MASK = 0x7FFFFFFF
LARGEST = _MASK
"""The largest number drawn; the smallest is 0."""


class Flip:
    """The numbers a[n] = (a[n-24] - a[n-55]) mod 2^31 of a seed (any integer), made 55 at a time and used backwards."""

    def __init__(self, seed: int) -> None:
        previous = seed & _MASK
        spread, value = previous, 1
        self._table = table = [0] * _LONG
        # Filled in steps of 21, so that neighbours in the table come from seeds far apart; place 0 is the 55th.
        table[-1] = previous
        place = 21
        while place:
            table[place - 1] = value
            value = (previous - value) & _MASK
            spread = (spread >> 1) + (0x40000000 if spread & 1 else 0)  # a rotation of 31 bits, but for the top one
            value = (value - spread) & _MASK
            previous = table[place - 1]
            place = (place + 21) % _LONG
        for _ in range(5):
            self._cycle()
        self._left = _LONG - 1  # making ready takes one number, as Knuth's own does

    def _cycle(self) -> None:
        table = self._table
        for n in range(_LONG):
            table[n] = (table[n] - table[n - _SHORT]) & _MASK

    def next(self) -> int:
        """The next number, 0 to LARGEST."""
        if not self._left:
            self._cycle()
            self._left = _LONG
        self._left -= 1
        return self._table[self._left]
