"""The next thing that is due: a heap of one deadline per key, where a deadline may be moved at any time.

Used by `engine` (one key per VIF) so that a router with a thousand VIFs does not look at all of them at every event.
"""

from __future__ import annotations

import heapq
from math import inf


class Deadlines:
    def __init__(self) -> None:
        self._at: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def set(self, key: int, at: float) -> None:
        """Move the deadline of key; infinity removes it."""
        if at == inf:
            self._at.pop(key, None)
        elif self._at.get(key) != at:
            self._at[key] = at
            heapq.heappush(self._heap, (at, key))

    def next(self) -> float:
        """The earliest deadline, infinity if there is none."""
        heap, at = self._heap, self._at
        while heap and at.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else inf

    def due(self, now: float) -> list[int]:
        """Take every key that is due, earliest first."""
        keys = []
        while self.next() <= now:
            _, key = heapq.heappop(self._heap)
            del self._at[key]
            keys.append(key)
        return keys
