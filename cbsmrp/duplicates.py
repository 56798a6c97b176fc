"""Duplicate suppression by (source, sequence): a client may hear a publication twice while its way to the core changes.

A window of 1024 sequence numbers a source (decision 7); the sources heard longest ago are forgotten past a bound.
"""

from __future__ import annotations

WINDOW = 1024
MAX_SOURCES = 16384
_MASK = (1 << WINDOW) - 1
_HALF = 1 << 31


class Duplicates:
    def __init__(self) -> None:
        #: source -> (highest sequence heard, bit i set: highest - i was heard); in the order of the last new
        #: publication
        self._heard: dict[int, tuple[int, int]] = {}

    def seen(self, source: int, sequence: int) -> bool:
        """Note this one, and tell whether it was noted before. Older than the window: not a duplicate as far as
        known."""
        entry = self._heard.get(source)
        if entry is None:
            if len(self._heard) >= MAX_SOURCES:
                del self._heard[next(iter(self._heard))]
            self._heard[source] = (sequence, 1)
            return False
        highest, bits = entry
        ahead = (sequence - highest) & 0xFFFFFFFF
        if 0 < ahead < _HALF:
            del self._heard[source]  # to the end of the order
            self._heard[source] = (sequence, (bits << min(ahead, WINDOW) | 1) & _MASK)
            return False
        behind = -ahead & 0xFFFFFFFF
        if behind >= WINDOW:
            return False
        if bits >> behind & 1:
            return True
        self._heard[source] = (highest, bits | 1 << behind)
        return False
