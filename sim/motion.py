"""How objects move: the paper's vertical oscillation, and tracks recorded in a trace.

Used by `workload`. A motion answers `position(t)`: (x, y, z) in metres at `t` seconds of the run, z None where the
world has no heights, or None while the object is not there.
"""

import math
from array import array
from bisect import bisect_right
from typing import Protocol

import attrs

Position = tuple[float, float, float | None]


class Motion(Protocol):
    """Where one object is."""

    def position(self, t: float) -> Position | None:
        """Its position at `t` seconds, or None while it is not there."""


@attrs.frozen
class Oscillation:
    """Harmonic oscillation about an equilibrium in the vertical (CBSMRP, section on experiments); phase in radians."""

    x: float
    y: float
    z: float
    amplitude: float
    period: float
    phase: float

    def position(self, t: float) -> Position:
        """Always there."""
        return self.x, self.y, self.z + self.amplitude * math.sin(2 * math.pi * t / self.period + self.phase)


@attrs.frozen
class Track:
    """Samples of one object, with straight lines between them.

    `times` rises; a NaN in `z` is an unknown height. The object is not there before the first sample, after the last,
    or between two that are more than `gap` seconds apart. `start` is the trace's time at second 0 of the run.
    """

    times: "array[float]"
    x: "array[float]"
    y: "array[float]"
    z: "array[float]"
    gap: float
    start: float

    def position(self, t: float) -> Position | None:
        """On the straight line between the samples before and after."""
        at = t + self.start
        after = bisect_right(self.times, at)
        before = after - 1
        if before < 0:
            return None
        if self.times[before] == at:
            after = before
        elif after == len(self.times) or self.times[after] - self.times[before] > self.gap:
            return None
        span = self.times[after] - self.times[before]
        part = (at - self.times[before]) / span if span else 0.0
        x, y, z = (each[before] + part * (each[after] - each[before]) for each in (self.x, self.y, self.z))
        return x, y, None if math.isnan(z) else z
