"""The oracle itself: hand-made cases for every sentence of its rules, and a naive version of it on random worlds."""

import math
import subprocess
import sys

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sim.geometry import Box, Cylinder, Extents, Prism, Sphere
from sim.oracle import NOTHING, Delivery, Publication, Subscription, Version, holds, judge

HERE, THERE = (0.0, 0.0, 0.0), (100.0, 0.0, 0.0)
AROUND_HERE, AROUND_THERE, AROUND_BOTH = Sphere(HERE, 10), Sphere(THERE, 10), Sphere((50.0, 0.0, 0.0), 60)


def verdict(versions, deliveries=(), time=10.0, extent=HERE, window=0.1, unpromised=(), host="publisher", **more):
    """One publication (1, 1) at `time`, one subscription of host "h"."""
    publication = Publication(time, host, 1, 1, extent, **more)
    arrived = [Delivery(1, 1, at) for at in deliveries]
    return judge([publication], {"h": [Subscription(versions, unpromised)]}, {"h": arrived}, window=window)


def kind(versions, **more):
    """must, may or no."""
    found = verdict(versions, **more)
    return "must" if found.expected else "may" if found.may_deliver else "no"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], "no"),
        ([(1, 2, AROUND_HERE)], "must"),
        ([(1, 2, AROUND_THERE)], "no"),
        ([(1, 10, AROUND_HERE)], "must"),  # in force at the very moment
        ([(1, 10.01, AROUND_HERE)], "may"),  # not yet in force
        ([(1, None, AROUND_HERE)], "may"),
        ([(10.05, 10.06, AROUND_HERE)], "may"),  # asked for while the publication travels
        ([(10.2, 10.3, AROUND_HERE)], "no"),  # asked for too late
        ([(1, 2, AROUND_HERE), (9, None, AROUND_THERE)], "may"),  # moved away, not yet in force
        ([(1, 2, AROUND_HERE), (9, 9.5, AROUND_THERE)], "no"),  # moved away
        ([(1, 2, AROUND_HERE), (10.05, 12, AROUND_THERE)], "may"),  # moves away while it travels
        ([(1, 2, AROUND_HERE), (10.2, 12, AROUND_THERE)], "must"),  # moves away later
        ([(1, 2, AROUND_HERE), (9, None, AROUND_BOTH)], "must"),  # all of them match
        ([(1, 2, AROUND_HERE), (8, None, AROUND_THERE), (9, None, AROUND_BOTH)], "may"),  # one between does not
        ([(1, 2, AROUND_THERE), (8, None, AROUND_THERE), (9, 9.5, AROUND_HERE)], "must"),  # only the last counts
        ([(1, None, AROUND_THERE), (2, 3, AROUND_HERE)], "must"),  # superseded without ever being in force
        ([(1, 2, AROUND_HERE), (9, None, None)], "may"),  # ends, and nobody knows yet
        ([(1, 2, AROUND_HERE), (9, 9.5, None)], "no"),  # has ended
    ],
)
def test_which_versions_count(versions, expected):
    listed = [Version(asked, force, NOTHING if piece is None else (piece,)) for asked, force, piece in versions]
    assert kind(listed) == expected


WANTS = [Version(1, 2, (AROUND_HERE,))]


def test_what_arrives_is_counted():
    right = verdict(WANTS, [10.05])
    assert (right.expected, right.delivered, right.missed, right.unwanted, right.duplicates) == (1, 1, 0, 0, 0)
    twice = verdict(WANTS, [10.05, 10.06, 10.07])
    assert (twice.delivered, twice.duplicates, twice.unwanted) == (1, 2, 0)
    missed = verdict(WANTS)
    assert (missed.missed, missed.delivered) == (1, 0)
    assert missed.misses == [
        "h missed 0000000000000001/1, sent at 10.000 s by publisher at (0.0, 0.0, 0.0): "
        "subscription 0: #0 asked 1.000 in force 2.000 matches"
    ]
    unwanted = verdict(WANTS, [10.05, 10.06], extent=THERE)
    assert (unwanted.delivered, unwanted.unwanted, unwanted.duplicates) == (0, 1, 1)
    assert "#0 asked 1.000 in force 2.000 does not match" in unwanted.unwanted_ones[0]


def test_no_own_publications():
    own = verdict(WANTS, [10.05], host="h")
    assert (own.expected, own.may_deliver, own.unwanted) == (0, 0, 1) and own.unwanted_ones[0].endswith("its own")


def test_what_nobody_published_is_unwanted():
    found = judge([], {}, {"h": [Delivery(7, 8, 1.0)]}, window=0.1)
    assert found.unwanted == 1 and found.unwanted_ones == ["h was sent 0000000000000007/8, which nobody published"]


def test_a_late_arrival_may_match_what_was_asked_since():
    versions = [Version(1, 2, (AROUND_THERE,)), Version(11, 12, (AROUND_HERE,))]
    assert verdict(versions, [11.5]).unwanted == 0
    assert verdict(versions, [10.5]).unwanted == 1


def test_a_void_promise_expects_nothing():
    assert kind(WANTS, unpromised=[(9, 11)]) == "may"
    assert kind(WANTS, unpromised=[(10.05, 11)]) == "may"  # lost while it travels
    assert kind(WANTS, unpromised=[(5, 9.9), (10.2, 12)]) == "must"


def test_one_subscription_is_enough():
    publication = Publication(10, "p", 1, 1, HERE)
    both = [Subscription([Version(1, 2, (AROUND_THERE,))]), Subscription(WANTS)]
    assert judge([publication], {"h": both, "g": both[:1]}, {}, window=0.1).expected == 1


def test_layers_attributes_and_no_extent():
    plain = Version(1, 2, None)
    assert kind([plain], extent=None) == kind([plain]) == "must"
    assert kind(WANTS, extent=None) == "no"
    assert kind([Version(1, 2, None, layer="a")], layer="a") == "must"
    assert kind([Version(1, 2, None, layer="a")], layer="b") == kind([Version(1, 2, None, layer="a")]) == "no"
    fast = Version(1, 2, (AROUND_HERE,), conditions=(("=", "team", 2), lambda found: found.get("speed", 0) > 3))
    assert kind([fast], attributes={"team": 2.0, "speed": 4}) == "must"
    assert kind([fast], attributes={"team": 2.0, "speed": 3}) == "no"
    assert kind([fast], attributes={"team": True, "speed": 4}) == "no"


@pytest.mark.parametrize(
    ("condition", "attributes", "expected"),
    [
        (("=", "a", 1), {"a": 1.0}, True),
        (("=", "a", 1), {"a": True}, False),
        (("=", "a", 2**53 + 1), {"a": float(2**53)}, False),
        (("<>", "a", 1), {"a": "1"}, False),
        (("<>", "a", 1), {"a": 2}, True),
        (("<>", "a", 1), {}, False),
        (("<", "a", "b"), {"a": "a"}, True),
        ((">=", "a", 2), {"a": 2}, True),
        (("in", "a", (1, "x")), {"a": "x"}, True),
        (("in", "a", (1, "x")), {"a": True}, False),
    ],
)
def test_conditions(condition, attributes, expected):
    assert holds(condition, attributes) is expected


SQUARE = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0))
HOLE = ((2.0, 2.0), (8.0, 2.0), (8.0, 8.0), (2.0, 8.0))
RING = Prism((SQUARE, HOLE), 0, 5)
INF = math.inf


@pytest.mark.parametrize(
    ("piece", "extent", "expected"),
    [
        (Box((0, 0, 0), (1, 1, 1)), (1, 1, 1), True),
        (Box((0, 0, 0), (1, 1, 1)), (1, 1, 1.001), False),
        (Box((0, 0, 0), (1, 1, 1)), (1, 1), True),
        (Box((0, 0, -INF), (1, 1, INF)), (1, 1, None), True),
        (Box((0, 0, 0), (1, 1, 1)), Box((1, 1, 1), (2, 2, 2)), True),
        (Box((0, 0, 0), (1, 1, 1)), Box((1.1, 1, 1), (2, 2, 2)), False),
        (Sphere((0, 0, 0), 5), (3, 4, 0), True),
        (Sphere((0, 0, 0), 5), (3, 4, 0.1), False),
        (Sphere((0, 0, 90), 5), (3, 4), True),
        (Sphere((0, 0, 0), 5), Box((3, 4, -1), (9, 9, 1)), True),
        (Cylinder((0, 0), 5, 0, 1), (3, 4, 1), True),
        (Cylinder((0, 0), 5, 0, 1), (3, 4, 2), False),
        (Cylinder((0, 0), 5), (3, 4.1), False),
        (RING, (0, 0, 0), True),
        (RING, (10, 5, 5), True),
        (RING, (2, 5, 5), True),
        (RING, (5, 5, 1), False),
        (RING, (1, 1, 6), False),
        (RING, (1, 1), True),
        (RING, Box((3, 3, 0), (7, 7, 5)), False),
        (RING, Box((3, 3, 0), (8, 7, 5)), True),
        (RING, Box((3, 3, 0), (3, 9, 5)), True),
        (RING, Box((-INF, 5, 0), (INF, 5, 5)), True),
        (RING, Box((11, -INF, 0), (12, INF, 5)), False),
        (Box((3, 3, 0), (7, 7, 9)), RING, False),
        (Box((3, 3, 0), (8, 7, 9)), RING, True),
        (Box((-INF, -INF, 6), (INF, INF, 9)), RING, False),
        (Sphere((5, 5, 0), 3), RING, True),
        (Sphere((5, 5, 6), 3), RING, False),
        (Sphere((0, -3, 9), 5), RING, True),
        (Cylinder((5, 5), 2.9), RING, False),
        (Cylinder((5, 5), 3, 5, 6), RING, True),
        (Cylinder((5, 5), 3, 6, 7), RING, False),
        (Prism((HOLE,)), RING, True),
        (Prism((((3, 3), (4, 3), (4, 4)),)), RING, False),
        (Prism((((3, 3), (9, 3), (4, 4)),), 5, 6), RING, True),
        (RING, None, False),
        (Box((-INF,) * 3, (INF,) * 3), None, False),
    ],
)
def test_geometry(piece, extent, expected):
    everywhere_else = Extents([(1e6, 1e6, 1e6), extent, None])
    assert everywhere_else.hits(piece, 0, 3).tolist() == [False, expected, False] or piece == Box(
        (-INF,) * 3, (INF,) * 3
    )
    assert everywhere_else.hits(piece, 1, 2).tolist() == [expected]


grid = st.integers(0, 12).map(float)
corners = st.lists(st.tuples(grid, grid), min_size=3, max_size=8, unique=True)


@given(corners, st.lists(st.tuples(grid, grid), min_size=1, max_size=20))
def test_points_in_polygons_agree_with_shapely(ring, points):
    polygon = shapely.Polygon(ring)
    if not polygon.is_valid:
        return
    found = Extents(points).hits(Prism((tuple(ring),)), 0, len(points))
    assert found.tolist() == [polygon.intersects(shapely.Point(point)) for point in points]


# A naive version of the rules, one pair of a publication and a subscription at a time, on a line of small integers.


def naive_matches(version, publication):
    piece = version.pieces[0] if version.pieces else None
    inside = piece is not None and math.dist(piece.centre, publication.extent) <= piece.radius
    return inside and version.layer in (None, publication.layer)


def naive(publication, subscription, decided):
    known = [
        number
        for number, version in enumerate(subscription.versions)
        if version.in_force is not None and version.in_force <= publication.time
    ]
    first = max(known, default=-1)
    asked = [n for n, version in enumerate(subscription.versions) if version.asked <= decided]
    about = [
        naive_matches(subscription.versions[n], publication) for n in range(max(first, 0), max(asked, default=-1) + 1)
    ]
    broken = any(a <= decided and publication.time <= b for a, b in subscription.unpromised)
    return first >= 0 and all(about) and not broken, any(about)


moment = st.integers(0, 20).map(float)


@st.composite
def subscription(draw):
    asked = sorted(draw(st.lists(moment, max_size=6, unique=True)))
    versions = [
        Version(
            at,
            draw(st.none() | st.integers(0, 6).map(lambda later, at=at: at + later)),
            draw(
                st.just(NOTHING)
                | st.tuples(st.builds(Sphere, st.tuples(grid, st.just(0.0), st.just(0.0)), st.just(4.0)))
            ),
            draw(st.sampled_from([None, "a", "b"])),
        )
        for at in asked
    ]
    spans = draw(st.lists(st.tuples(moment, moment).map(sorted).map(tuple), max_size=1))
    return Subscription(versions, spans)


@st.composite
def worlds(draw):
    hosts = ["h0", "h1", "h2"]
    publications = [
        Publication(
            draw(moment),
            draw(st.sampled_from(hosts)),
            1,
            number,
            (draw(grid), 0.0, 0.0),
            layer=draw(st.sampled_from([None, "a", "b"])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]
    subscriptions = {host: draw(st.lists(subscription(), max_size=2)) for host in hosts[:2]}
    numbers = st.integers(0, len(publications) + 1)
    deliveries = {host: [Delivery(1, n, -1.0) for n in draw(st.lists(numbers, max_size=8))] for host in hosts[1:]}
    windows = draw(st.lists(st.integers(0, 2).map(float), min_size=21, max_size=21))
    return publications, subscriptions, deliveries, draw(st.sampled_from([windows[0], lambda time: windows[int(time)]]))


@given(worlds())
def test_the_naive_version_says_the_same(world):
    publications, subscriptions, deliveries, window = world
    found = judge(publications, subscriptions, deliveries, window=window, examples=1000)
    expected = may = delivered = missed = unwanted = duplicates = 0
    for host in {*subscriptions, *deliveries}:
        arrived = [each.sequence for each in deliveries.get(host, [])]
        unwanted += sum(sequence >= len(publications) for sequence in arrived)
        for publication in publications:
            before = [each.time for each in publications if each.time <= publication.time]
            decided = max(time + (window(time) if callable(window) else window) for time in before)
            says = [
                naive(publication, each, decided) for each in subscriptions.get(host, []) if publication.host != host
            ]
            must, can = any(m for m, _ in says), any(c for _, c in says)
            times = arrived.count(publication.sequence)
            expected += must
            may += can and not must
            delivered += can and times > 0
            missed += must and not times
            unwanted += times > 0 and not can
            duplicates += max(times - 1, 0)
    assert (found.expected, found.may_deliver, found.delivered) == (expected, may, delivered)
    assert (found.missed, found.unwanted, found.duplicates) == (missed, unwanted, duplicates)
    assert (len(found.misses), len(found.unwanted_ones)) == (missed, unwanted)


def test_the_same_publication_twice_is_a_mistake():
    with pytest.raises(ValueError, match="same source and sequence"):
        judge([Publication(1, "h", 1, 1), Publication(2, "h", 1, 1)], {}, {}, window=0)


def test_it_does_not_import_interest():
    program = "import sys, sim.oracle; sys.exit(any(name.partition('.')[0] == 'interest' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
