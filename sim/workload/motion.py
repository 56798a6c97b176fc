"""How objects move: the paper's vertical oscillation, and tracks, of which a recorded trace is made.

Used by `workload` and by `mobility`, which draws tracks. A motion answers `position(t)`: (x, y, z) in metres at `t`
seconds of the run, z None where the world has no heights, or None while the object is not there.
"""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Protocol

import attrs

from cbsmrp.traces import Sample, arena

Position = tuple[float, float, float | None]


class Motion(Protocol):
    """Where one object is."""

    def position(self, t: float) -> Position | None:
        """Its position at `t` seconds, or None while it is not there."""


@attrs.frozen
class Still:
    """At one place; z None where the world has no heights."""

    x: float
    y: float
    z: float | None

    def position(self, t: float) -> Position:
        """Always there."""
        return self.x, self.y, self.z


@attrs.frozen
class During:
    """Another motion, from `start` on and before `end` (seconds); at other times it is not there."""

    motion: Motion
    start: float
    end: float

    def position(self, t: float) -> Position | None:
        """Where the other motion is, while this one is there."""
        return self.motion.position(t) if self.start <= t < self.end else None


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
        return self.x, self.y, self.z + self.offset(t)

    def offset(self, t: float) -> float:
        """How far above the equilibrium it is."""
        return self.amplitude * math.sin(2 * math.pi * t / self.period + self.phase)


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


def tracks(samples: Iterable[Sample], start: float | None, gap: float | None) -> dict[str, Track]:
    """One track an object, beginning `start` seconds into its arena, by default after a tenth of the arena's time.

    Without a `gap`, it is three times the arena's median time between samples of one object.
    """
    columns: dict[str, tuple[array[float], array[float], array[float], array[float]]] = {}
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for sample in samples:
        space = arena(sample.id)
        first.setdefault(space, sample.t)
        last[space] = sample.t
        track = columns.setdefault(sample.id, (array("d"), array("d"), array("d"), array("d")))
        row = (sample.t, sample.x, sample.y, math.nan if sample.z is None else sample.z)
        for column, value in zip(track, row, strict=True):
            column.append(value)
    steps: dict[str, list[float]] = {}
    for name, (times, *_) in columns.items():
        steps.setdefault(arena(name), []).extend(b - a for a, b in pairwise(times) if b > a)
    gaps = {space: 3 * median(each) if each else 0.0 for space, each in steps.items()}
    begin = {space: t + (0.1 * (last[space] - t) if start is None else start) for space, t in first.items()}
    return {
        name: Track(*track, gaps[arena(name)] if gap is None else gap, begin[arena(name)])
        for name, track in columns.items()
    }


def is_there(track: Track, duration: float) -> bool:
    """Whether the object is there at some time of the run."""
    end = track.start + duration
    return any(track.position(t) is not None for t in (0.0, duration)) or any(
        track.start <= t <= end for t in track.times
    )


def spacing(tracks: Iterable[Track]) -> float:
    """The median time between samples that are not a gap."""
    steps = [b - a for track in tracks for a, b in pairwise(track.times) if a < b <= a + track.gap]
    return median(steps) if steps else 0.0
