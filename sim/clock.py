"""Virtual time: a heap of events, in order of time and then of scheduling. No wall clock, no threads.

Used by `network` and `node`, and by scenarios that schedule failures.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class Clock:
    """`now` in seconds. Two events of one time happen in the order in which they were scheduled."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.events = 0
        self._order = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, time: float, call: Callable[..., None], *args: Any) -> None:
        """Call at this time; the past means now."""
        self._order += 1
        heapq.heappush(self._heap, (max(time, self.now), self._order, call, args))

    def after(self, delay: float, call: Callable[..., None], *args: Any) -> None:
        self.at(self.now + delay, call, *args)

    def run(self, until: float) -> None:
        """Everything that is due up to and including this time; then it is this time."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, call, args = heapq.heappop(heap)
            self.events += 1
            call(*args)
        self.now = max(self.now, until)

    def advance(self, seconds: float) -> None:
        self.run(self.now + seconds)
