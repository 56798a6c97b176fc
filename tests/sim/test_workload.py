"""Workloads: the same from the same seed anywhere, true to what was recorded, and capped as they say."""

import math
import os
import subprocess
import sys
from array import array
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.traces import Sample, TraceError, read
from interest.shapes import Box as InterestBox
from interest.shapes import Cylinder as InterestCylinder
from sim.geometry import Box, Cylinder, Extents, Prism, Sphere
from sim.oracle import Publication, Subscription, Version, judge
from sim.workload.motion import Oscillation, Track
from sim.workload.workload import SPACE, Area, Entity, oscillating, recorded, shifted, substream, to_interest

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "movement"


def track(times, xs, gap=10.0, start=0.0):
    zeros = array("d", [0.0] * len(times))
    return Track(array("d", times), array("d", xs), zeros, array("d", [math.nan] * len(times)), gap, start)


def test_a_track_is_straight_between_samples():
    found = track([0, 2, 4], [0, 10, 0])
    assert [found.position(t) for t in (0, 1, 2, 3.5, 4)] == [(x, 0.0, None) for x in (0.0, 5.0, 10.0, 2.5, 0.0)]


def test_an_object_is_absent_before_after_and_in_gaps():
    found = track([1, 2, 20, 21], [0, 1, 2, 3])
    assert [found.position(t) is None for t in (0.9, 1, 2, 2.1, 19.9, 20, 21, 21.1)] == [
        True, False, False, True, True, False, False, True,
    ]  # fmt: skip


def test_a_track_starts_where_the_run_does():
    assert track([100, 102], [0, 10], start=100.5).position(0.5) == (5.0, 0.0, None)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=10), st.floats(-1, 41))
def test_a_track_stays_between_its_neighbours(times, t):
    times = sorted(times)
    xs = [float(substream(7, str(n)).randint(-100, 100)) for n in range(len(times))]
    found = track(times, xs, gap=8).position(t)
    around = [(b - a, {xs[n], xs[n + 1]}) for n, (a, b) in enumerate(pairwise(times)) if a <= t <= b]
    around += [(0, {x}) for a, x in zip(times, xs, strict=True) if a == t]
    allowed = [values for length, values in around if length <= 8]
    if not allowed:
        assert found is None
    else:
        assert found is not None and min(map(min, allowed)) - 1e-9 <= found[0] <= max(map(max, allowed)) + 1e-9


def test_oscillation():
    found = Oscillation(1, 2, 3, amplitude=10, period=4, phase=0)
    assert found.position(0) == (1, 2, 3)
    assert found.position(1) == pytest.approx((1, 2, 13)) and found.position(3) == pytest.approx((1, 2, -7))


def fingerprint(workload):
    positions = [(t, each.name, each.layer, each.position(t)) for t, each in workload.publications()]
    return positions, [(t, each.name, each.owner, each.layer, each.piece(t)) for t, each in workload.moves()]


PROGRAM = """
from hashlib import sha256
from sim.workload.workload import oscillating
work = oscillating(5, duration=1)
found = [(t, e.name, e.position(t)) for t, e in work.publications()], [(t, a.piece(t)) for t, a in work.moves()]
print(sha256(repr(found).encode()).hexdigest())
"""


def test_one_seed_one_workload_in_any_process():
    assert fingerprint(oscillating(5, duration=1)) == fingerprint(oscillating(5, duration=1))
    assert fingerprint(oscillating(5, duration=1)) != fingerprint(oscillating(6, duration=1))
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": number},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in ("1", "2")
    ]
    assert said[0] == said[1] != ""


def test_more_subscribers_move_no_object():
    few, many = oscillating(5, duration=1, subscribers=1), oscillating(5, duration=1, subscribers=4)
    assert fingerprint(few)[0] == fingerprint(many)[0]
    assert [fingerprint(many)[1].count(each) for each in fingerprint(few)[1]] == [1] * len(fingerprint(few)[1])


def test_the_papers_world():
    work = oscillating(3, duration=2, objects=80, rate=400)
    published = list(work.publications())
    assert abs(len(published) - 800) <= 80
    assert [t for t, _ in published] == sorted(t for t, _ in published)
    for t, each in published:
        assert all(0 <= value <= side for value, side in zip(each.position(t), SPACE, strict=True))
    assert {type(area.shape) for area in work.areas} == {Sphere, Box, Prism}
    assert {area.owner for area in work.areas} == {f"subscriber{number}" for number in range(6)}


def test_areas_move_at_most_five_times_a_second():
    work = oscillating(3, duration=2)
    assert len(list(work.moves())) <= 2 * 5 * len(work.areas)
    with pytest.raises(ValueError, match="at most 5"):
        oscillating(3, duration=2, move_rate=6)


def test_an_area_goes_with_its_object():
    entity = Entity("m.a", "m", track([0, 2], [0, 10]), 0.0, 0.5)
    area = Area("area0", "s", entity, Sphere((0, 0, 0), 3), 0.0, 0.5)
    assert area.piece(1) == Cylinder((5, 0), 3) and area.piece(3) is None
    assert list(area.move_times(10)) == [0, 0.5, 1, 1.5, 2] == list(entity.publish_times(10))


@pytest.mark.parametrize(
    "shape",
    [
        Sphere((1, 2, 3), 4),
        Box((0, 0, 0), (1, 2, 3)),
        Cylinder((1, 2), 3, 0, 1),
        Prism((((0, 0), (1, 0), (0, 1)),), 0, 1),
    ],
)
def test_shapes_are_shifted_whole(shape):
    points = [(x / 2, y / 2, z / 2) for x in range(-6, 10) for y in range(-4, 12) for z in range(-2, 14)]
    there = [(x + 10, y - 20, z + 30) for x, y, z in points]
    before = Extents(points).hits(shape, 0, len(points))
    assert before.any() and not before.all()
    assert (Extents(there).hits(shifted(shape, (10, -20, 30)), 0, len(points)) == before).all()
    flat = Extents([(x, y) for x, y, _ in there]).hits(shifted(shape, (10, -20, None)), 0, len(points))
    assert (flat >= before).all()


def test_pieces_for_the_client_are_the_same():
    assert to_interest(Box((0, 0, -math.inf), (1, 2, math.inf))) == InterestBox((0, 0), (1, 2))
    assert to_interest(Cylinder((1, 2), 3)) == InterestCylinder((1, 2), 3)
    for shape in (Sphere((1, 2, 3), 4), Prism((((0, 0), (5, 0), (0, 5)), ((1, 1), (2, 1), (1, 2))), 0, 1)):
        points = [(x / 2, y / 2, z / 2) for x in range(-6, 10) for y in range(-4, 12) for z in range(0, 14, 3)]
        ours = Extents(points).hits(shape, 0, len(points)).tolist()
        assert ours == [to_interest(shape).meets_box((*point, *point)) for point in points]


def samples(objects=10, arenas=2, seconds=60, z=None):
    return [
        Sample(float(t), f"m{a}.p{n}", 10.0 * n + t, float(a), z)
        for a in range(arenas)
        for t in range(seconds)
        for n in range(objects)
    ]


def test_arenas_are_layers_side_by_side():
    work = recorded(samples(), 1, duration=5, start=3)
    assert {each.layer for each in work.entities} == {"m0", "m1"}
    assert {each.position(0)[0] for each in work.entities} == {10.0 * n + 3 for n in range(10)}
    assert all(area.layer == area.follows.layer for area in work.areas)
    alone = recorded(
        [Sample(row.t, row.id.partition(".")[2], row.x, row.y, row.z) for row in samples(arenas=1)], 1, duration=5
    )
    assert {each.layer for each in alone.entities} == {None}


def test_the_rate_is_capped_and_said():
    free = recorded(samples(), 1, duration=5, rate=600)
    capped = recorded(samples(), 1, duration=5, rate=50)
    assert abs(len(list(free.publications())) - 20 * 10 * 5) <= 20
    assert abs(len(list(capped.publications())) - 50 * 5) <= 20
    assert not any("capped" in note for note in free.notes)
    assert "capped: 10 publications/s of each object would be 200/s together, 50/s is carried" in capped.notes
    assert any("interpolated linearly between samples 1 s apart" in note for note in free.notes)


def test_a_trace_without_anybody_is_refused():
    with pytest.raises(TraceError, match="choose another start"):
        recorded(samples(), 1, duration=5, start=1000)
    with pytest.raises(TraceError, match="choose another start"):
        recorded([], 1, duration=5)


def shares(work, lag=0.03):
    """Of the publications, what part each area may be sent, and what part of all that is certain."""
    published = [
        Publication(t, "p", 1, number, each.position(t), {}, each.layer)
        for number, (t, each) in enumerate(work.publications())
    ]
    found, expected = [], 0
    for area in work.areas:
        times = [-1.0, *area.move_times(work.duration)]
        pieces = [(t, area.piece(max(t, 0.0))) for t in times]
        versions = [Version(t, t + lag, (piece,), area.layer) for t, piece in pieces if piece]
        said = judge(published, {"h": [Subscription(versions)]}, {}, window=0.1)
        found.append((said.expected + said.may_deliver) / len(published))
        expected += said.expected
    return found, expected / (sum(found) * len(published))


@pytest.mark.parametrize("name", ["oscillating", "arma3_ocap", "ais_us", "rocket_league"])
def test_areas_match_a_reasonable_part_and_mostly_for_certain(name):
    path = RECORDED / f"{name}.csv.gz"
    if name == "oscillating":
        work = oscillating(1, duration=10)
    elif path.exists():
        work = recorded(read(path), 1, duration=10)
    else:
        pytest.skip("recorded movement is not here")
    found, certain = shares(work)
    assert all(0.005 < share < 0.25 for share in found) and 0.02 < sum(found) / len(found) < 0.2
    assert certain > 0.93  # with 30 ms until in force and 100 ms on the way
    assert 4500 < len(list(work.publications())) <= 6060  # cars that wait for the kick-off after a goal are not there
