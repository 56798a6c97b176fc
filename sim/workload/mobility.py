"""Random movement: waypoints (uniform, or drawn to hotspots) and members of a flock.

Used by `population`. Every object is drawn from a generator of its own. Waypoint movement begins in its steady state:
begun at rest at uniformly drawn places, it would slow down and gather in the middle for a long time, and what is
measured would depend on when.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Sequence

import attrs

from sim.workload.motion import Motion, Oscillation, Position, Track

Place = tuple[float, ...]
"""Two or three coordinates, in metres."""


def waypoints(
    draw: random.Random,
    place: Callable[[random.Random], Place],
    reach: float,
    speed: tuple[float, float],
    pause: tuple[float, float],
    duration: float,
) -> Track:
    """From place to place on straight lines, with a speed (metres per second) and a pause (seconds) drawn for each.

    `place` draws where to go next, no two farther than `reach` metres from each other. Each way and its pause are met
    at a random time with a probability proportional to how long they take: so are the first ones drawn, by rejection.
    """
    longest = reach / speed[0] + pause[1]
    while True:
        here, there = place(draw), place(draw)
        ride, rest = math.dist(here, there) / draw.uniform(*speed), draw.uniform(*pause)
        if draw.uniform(0, longest) < ride + rest:
            break
    at = -draw.uniform(0, ride + rest)
    times, places = [at, at + ride], [here, there]
    at += ride + rest
    while times[-1] <= duration:
        if at > times[-1]:
            times.append(at)
            places.append(places[-1])
        there = place(draw)
        at += math.dist(places[-1], there) / draw.uniform(*speed)
        times.append(at)
        places.append(there)
        at += draw.uniform(*pause)
    x, y, z = (array("d", [place[axis] if axis < len(place) else math.nan for place in places]) for axis in range(3))
    return Track(array("d", times), x, y, z, gap=math.inf, start=0.0)


def uniform(space: Sequence[float], margin: float = 0.0) -> Callable[[random.Random], Place]:
    """Places anywhere in the space, or only so far from its sides."""
    return lambda draw: tuple(draw.uniform(margin, side - margin) for side in space)


def near(spots: Sequence[Place], attraction: float, spread: float, space: Sequence[float]) -> Callable[..., Place]:
    """Places about one of the spots with probability `attraction`, otherwise anywhere in the space.

    Spots are visited in the proportion 1 : 1/2 : 1/3 and so on; `spread` is the standard deviation, in metres.
    """
    weights = [1 / (rank + 1) for rank in range(len(spots))]
    anywhere = uniform(space)

    def place(draw: random.Random) -> Place:
        if draw.random() >= attraction:
            return anywhere(draw)
        (spot,) = draw.choices(spots, weights)
        return tuple(min(max(draw.gauss(at, spread), 0.0), side) for at, side in zip(spot, space, strict=True))

    return place


@attrs.frozen
class Member:
    """One of a flock: it swings about the flock's middle in every direction, each with a period of its own.

    The reference point group mobility of Hong, Gerla, Pei and Chiang (1999), with a smooth way about the point.
    """

    middle: Motion
    swings: tuple[Oscillation, Oscillation, Oscillation]

    def position(self, t: float) -> Position | None:
        """Where its flock is, and its own way."""
        found = self.middle.position(t)
        if found is None:
            return None
        x, y, z = found
        dx, dy, dz = (swing.offset(t) for swing in self.swings)
        return x + dx, y + dy, None if z is None else z + dz


def member(draw: random.Random, middle: Motion, spread: float, period: tuple[float, float]) -> Member:
    """At most `spread` metres from the middle in each direction; swings take between the two periods (seconds)."""

    def swing() -> Oscillation:
        return Oscillation(
            0.0, 0.0, 0.0, spread * draw.uniform(0.1, 1), draw.uniform(*period), draw.uniform(0, 2 * math.pi)
        )

    return Member(middle, (swing(), swing(), swing()))
