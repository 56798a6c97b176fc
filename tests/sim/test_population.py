"""Movement and areas of interest: inside the space, at the speeds asked for, in a steady state from the beginning."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.traces import TraceError
from sim.geometry import Box, Cylinder, Prism, Sphere
from sim.scenario.scenario import build, from_mapping
from sim.workload.mobility import near, uniform, waypoints
from sim.workload.motion import During, Oscillation, Still

SPACE = (100.0, 60.0, 30.0)
REACH = math.hypot(*SPACE)


def walk(seed, duration=50.0, speed=(1.0, 10.0), pause=(0.0, 5.0)):
    return waypoints(random.Random(seed), uniform(SPACE), REACH, speed, pause, duration)


@given(st.integers(0, 10**6), st.floats(0, 50))
def test_waypoints_stay_in_the_space_and_keep_to_their_speeds(seed, t):
    found = walk(seed)
    position = found.position(t)
    assert position is not None
    assert all(-1e-9 <= value <= side + 1e-9 for value, side in zip(position, SPACE, strict=True))
    assert found.times[0] <= 0 and found.times[-1] >= 50
    legs = list(zip(found.times, zip(found.x, found.y, found.z, strict=True), strict=True))
    for (before, here), (after, there) in pairwise(legs):
        if here != there:
            assert 1 - 1e-9 <= math.dist(here, there) / (after - before) <= 10 + 1e-9
        else:
            assert after - before <= 5


def test_waypoint_movement_is_steady_from_the_beginning():
    """Begun with uniform places and speeds, it would begin spread out and fast, and end in the middle and slow."""

    def measures(t):
        away, speeds = [], []
        for seed in range(1500):
            found = walk(seed, 210.0, pause=(0.0, 0.0))
            here, soon = found.position(t), found.position(t + 0.01)
            away.append(math.hypot(here[0] - 50, here[1] - 30))
            speeds.append(math.dist(here, soon) / 0.01)
        return mean(away), mean(speeds)

    (away, speed), (later_away, later_speed) = measures(0.0), measures(200.0)
    # standard errors: some 0.4 m and 0.06 m/s; uniform places would be 31.9 m away, uniform speeds 5.5 m/s
    assert abs(away - later_away) < 1.5 and away < 29
    # time spent at a speed is as its inverse: the mean is that of 9 / ln 10
    assert abs(speed - 9 / math.log(10)) < 0.25 and abs(later_speed - speed) < 0.3


def test_hotspots_draw_their_share():
    spots = [(20.0, 20.0, 10.0), (80.0, 40.0, 20.0)]
    place = near(spots, 0.75, 2.0, SPACE)
    draw = random.Random(4)
    places = [place(draw) for _ in range(4000)]
    by = [sum(math.dist(each, spot) < 8 for each in places) / len(places) for spot in spots]
    assert by == pytest.approx([0.5, 0.25], abs=0.03)
    assert all(0 <= value <= side for each in places for value, side in zip(each, SPACE, strict=True))


def world(workload=None, areas=None, **other):
    return build(
        from_mapping({"hosts": 12, "seconds": 3, "workload": workload or {}, "areas": areas or {}, **other}), 5
    )


def test_a_flock_keeps_together():
    found = world({"kind": "flocking", "groups": 3, "spread": 20, "objects": 30})
    for t in (0.0, 1.5, 3.0):
        for flock in range(3):
            places = [each.position(t) for each in found.workload.entities[flock::3]]
            for axis in range(3):
                values = [place[axis] for place in places]
                assert max(values) - min(values) <= 2 * 20
        everywhere = [each.position(t) for each in found.workload.entities]
        assert max(p[0] for p in everywhere) - min(p[0] for p in everywhere) > 40
        assert all(0 <= p[axis] <= side for p in everywhere for axis, side in enumerate((720, 720, 400)))


def test_objects_are_dealt_out_with_what_they_publish():
    found = world({"objects": 30, "extent": [4, 6, 8], "attributes": {"team": ["a", "b"]}, "layer": "cars"})
    counts = [sum(each.owner == host for each in found.workload.entities) for host in found.attachment]
    assert sum(counts) == 30 and set(counts) == {2, 3}
    assert {each.attributes["team"] for each in found.workload.entities} == {"a", "b"}
    for each in found.workload.entities:
        x, y, z = each.position(1.0)
        assert each.layer == "cars" and each.extent(1.0) == Box((x - 2, y - 3, z - 4), (x + 2, y + 3, z + 4))


def test_a_world_without_heights():
    found = world({"kind": "waypoint", "space": [50, 50], "extent": [2, 2, 2]})
    box = found.workload.entities[0].extent(0.0)
    assert (box.low[2], box.high[2]) == (-math.inf, math.inf)
    assert found.workload.areas[0].piece(0.0).low[2] == -math.inf


@pytest.mark.parametrize(
    ("shape", "kinds"), [("sphere", {Sphere}), ("cylinder", {Cylinder}), ("mixed", {Sphere, Box, Prism})]
)
def test_shapes(shape, kinds):
    assert {type(area.shape) for area in world(areas={"shape": shape}).workload.areas} == kinds


def test_areas_are_as_large_as_asked():
    areas = world(areas={"size": [10, 20, 30], "smallest": 0.5, "per_host": 3}).workload.areas
    sides = [tuple(high - low for low, high in zip(a.shape.low, a.shape.high, strict=True)) for a in areas]
    assert all(side <= full for each in sides for side, full in zip(each, (10, 20, 30), strict=True))
    assert all(side >= full / 2 for each in sides for side, full in zip(each, (10, 20, 30), strict=True))
    assert len(areas) == 36 and len(set(sides)) == 36


def test_areas_stay_or_follow_their_own():
    at_rest = world()
    assert not list(at_rest.workload.moves())
    for area in at_rest.workload.areas:
        assert area.follows.owner == area.owner
    anywhere = world(areas={"centre": "anywhere", "subscribers": 7})
    assert [area.owner for area in anywhere.workload.areas] == [f"h{n}" for n in range(7)]
    assert all(area.piece(0) == area.piece(2) is not None for area in anywhere.workload.areas)
    assert len(list(anywhere.demands())) == 7


def test_areas_ask_for_one_value():
    found = world({"attributes": {"team": ["a", "b"], "level": [1, 2]}}, {"match": ["team"]})
    asked = [area.conditions for area in found.workload.areas]
    assert set(asked) == {(("=", "team", "a"),), (("=", "team", "b"),)}


def test_recorded_movement_is_dealt_out_and_said(tmp_path):
    trace = tmp_path / "trace.csv"
    rows = [f"{t},m{a}.p{n},{10 * n + t},{a}" for a in (0, 1) for t in range(20) for n in range(5)]
    trace.write_text("t,id,x,y\n" + "\n".join(rows) + "\n")
    found = world({"kind": "recorded", "file": str(trace), "start": 2, "rate": 4}, {"centre": "anywhere"}, hosts=4)
    assert {each.layer for each in found.workload.entities} == {"m0", "m1"}
    assert {each.owner for each in found.workload.entities} == set(found.attachment)
    assert {each.position(0)[0] for each in found.workload.entities} == {10.0 * n + 2 for n in range(5)}
    assert any("interpolated linearly between samples 1 s apart" in note for note in found.notes)
    few = world({"kind": "recorded", "file": str(trace), "objects": 3})
    assert [each.name for each in few.workload.entities] == ["m0.p0", "m0.p1", "m0.p2"]
    assert "3 of 10 recorded objects" in few.notes[0]
    with pytest.raises(TraceError, match="choose another start"):
        world({"kind": "recorded", "file": str(trace), "start": 100})


def test_during():
    swing = Oscillation(1, 2, 3, 1, 4, 0)
    found = During(swing, 1.0, 2.0)
    assert [found.position(t) is None for t in (0.9, 1.0, 1.9, 2.0)] == [True, False, False, True]
    assert found.position(1.5) == swing.position(1.5) and Still(1, 2, None).position(9) == (1, 2, None)
