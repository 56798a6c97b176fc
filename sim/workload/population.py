"""Who is about in a scenario: objects that move and publish, areas of interest, and when hosts are there.

Called by `scenario.build`. What is drawn for an object or an area depends on the seed and its own name only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import islice

from cbsmrp.traces import TraceError, arena, read
from sim.geometry import Box, Cylinder, Piece, Sphere
from sim.scenario.tables import AreasTable, Churn, WorkloadTable
from sim.workload.mobility import member, near, uniform, waypoints
from sim.workload.motion import During, Motion, Oscillation, Still, is_there, spacing, tracks
from sim.workload.workload import Area, Entity, mixed_shape, substream

Presence = Mapping[str, tuple[float, float]]


def presence(churn: Churn, hosts: Sequence[str], seed: int, duration: float) -> dict[str, tuple[float, float]]:
    """From when until when hosts are there, of those that are not there all the time."""
    found = {}
    for host in hosts:
        draw = substream(seed, f"presence of {host}")
        arrives = draw.random() < churn.arriving
        leaves = draw.random() < churn.leaving
        first, second = sorted((draw.uniform(0, duration), draw.uniform(0, duration)))
        if arrives or leaves:
            found[host] = (first if arrives else 0.0, second if leaves else math.inf)
    return found


def objects(
    table: WorkloadTable, hosts: Sequence[str], present: Presence, seed: int, duration: float
) -> tuple[tuple[Entity, ...], tuple[str, ...]]:
    """The objects, dealt out to the hosts in turn, and what must be said of them. Raises TraceError."""
    if table.kind == "recorded":
        motions, notes = _recorded(table, duration)
    else:
        motions = {
            f"object{number}": _motion(table, number, seed, duration) for number in range(table.objects or len(hosts))
        }
        notes = (f"{len(motions)} objects, {table.kind}, in {' x '.join(f'{side:g}' for side in table.space)} m",)
    interval = 1 / table.rate
    found = []
    for number, (name, motion) in enumerate(motions.items()):
        draw = substream(seed, f"publications of {name}")
        owner = hosts[number % len(hosts)]
        if owner in present:
            motion = During(motion, *present[owner])
        found.append(
            Entity(
                name,
                table.layer or (arena(name) if table.kind == "recorded" else "") or None,
                motion,
                draw.uniform(0, interval),
                interval,
                owner,
                (table.extent[0], table.extent[1], table.extent[2]) if table.extent else None,
                {key: draw.choice(values) for key, values in table.attributes.items()},
                table.payload,
            )
        )
    return tuple(found), notes


def areas(
    table: AreasTable,
    workload: WorkloadTable,
    hosts: Sequence[str],
    entities: Sequence[Entity],
    seed: int,
    duration: float,
) -> tuple[Area, ...]:
    """Of each host its areas of interest: about its own objects in turn, or about places drawn for them.

    A host without an object of its own has its areas about somebody else's.
    """
    own: dict[str, list[Entity]] = {}
    for entity in entities:
        own.setdefault(entity.owner, []).append(entity)
    found = []
    for host_number, host in enumerate(hosts):
        for number in range(table.per_host):
            name = f"area{number} of {host}"
            draw = substream(seed, name)
            follows = own[host][number % len(own[host])] if host in own else draw.choice(entities)
            shape = _shape(table, host_number * table.per_host + number, substream(seed, f"shape of {name}"))
            first, interval = draw.uniform(0, 1 / (table.move_rate or 1)), 1 / (table.move_rate or math.inf)
            if table.centre == "anywhere":
                place = _anywhere(workload, entities, draw, duration)
                follows = Entity(f"place of {name}", follows.layer, place, math.inf, 1.0)
            conditions = tuple(("=", key, draw.choice(workload.attributes[key])) for key in table.match)
            moving = table.move_rate > 0
            found.append(
                Area(name, host, follows, shape, first if moving else math.inf, interval if moving else 1.0, conditions)
            )
    return tuple(found)


def _motion(table: WorkloadTable, number: int, seed: int, duration: float) -> Motion:
    draw = substream(seed, f"object{number}")
    space = table.space
    group = number % table.groups
    match table.kind:
        case "oscillating":
            amplitude = draw.uniform(*table.amplitude)
            x, y = draw.uniform(0, space[0]), draw.uniform(0, space[1])
            z = draw.uniform(amplitude, space[2] - amplitude)
            return Oscillation(x, y, z, amplitude, draw.uniform(*table.period), draw.uniform(0, 2 * math.pi))
        case "still":
            return _still(uniform(space)(draw))
        case "waypoint":
            return waypoints(draw, uniform(space), math.hypot(*space), table.speed, table.pause, duration)
        case "hotspots":
            spots = [uniform(space)(substream(seed, f"hotspot{each}")) for each in range(table.groups)]
            place = near(spots, table.attraction, table.spread, space)
            return waypoints(draw, place, math.hypot(*space), table.speed, table.pause, duration)
        case _:
            places = uniform(space, table.spread)
            leader = substream(seed, f"flock{group}")
            middle = waypoints(leader, places, math.hypot(*space), table.speed, table.pause, duration)
            return member(draw, middle, table.spread, table.period)


def _still(place: Sequence[float]) -> Still:
    return Still(place[0], place[1], place[2] if len(place) > 2 else None)


def _recorded(table: WorkloadTable, duration: float) -> tuple[dict[str, Motion], tuple[str, ...]]:
    """The first so many objects of a trace, in the order of their names."""
    found = tracks(read(table.file), table.start, None)
    there = {name: track for name, track in sorted(found.items()) if is_there(track, duration)}
    if not there:
        raise TraceError(
            f"{table.file}: no object is there in the {duration:g} s from second {table.start:g} on:"
            " choose another start"
        )
    chosen = dict(islice(there.items(), table.objects or None))
    notes = (
        f"{len(chosen)} of {len(there)} recorded objects, {duration:g} s of each arena from second {table.start:g} on",
        f"positions are interpolated linearly between samples {spacing(chosen.values()):.3g} s apart (median) and"
        f" published every {1 / table.rate:.3g} s",
    )
    return dict(chosen), notes


def _anywhere(workload: WorkloadTable, entities: Sequence[Entity], draw: random.Random, duration: float) -> Motion:
    """A place in the space; with recorded movement, where some object is at some time of the run."""
    if workload.kind != "recorded":
        return _still(uniform(workload.space)(draw))
    for entity in draw.sample(entities, len(entities)):
        times = list(entity.publish_times(duration))
        if times and (at := entity.position(draw.choice(times))) is not None:
            return Still(*at)
    raise TraceError(f"{workload.file}: no object publishes anything in {duration:g} s: choose a longer time")


def _shape(table: AreasTable, number: int, draw: random.Random) -> Piece:
    width, depth, height = (side * draw.uniform(table.smallest, 1) / 2 for side in table.size)
    match table.shape:
        case "box":
            return Box((-width, -depth, -height), (width, depth, height))
        case "sphere":
            return Sphere((0.0, 0.0, 0.0), width)
        case "cylinder":
            return Cylinder((0.0, 0.0), width, -height, height)
        case _:
            return mixed_shape(number, draw, width, height)
