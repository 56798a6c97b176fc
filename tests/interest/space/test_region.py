"""Regions against the oracle: what they match, meet and cover, and their normal form."""

import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from interest import spatial, tiling
from interest.errors import InterestError
from interest.extent import Point
from interest.region import EVERYWHERE, NOWHERE, Region
from interest.shapes import Box, Cylinder, Prism, Sphere

INF = math.inf


@given(data=st.data())
def test_matches_points_exactly(oracle, data):
    known = data.draw(oracle.regions())
    point, inside = data.draw(oracle.points())
    assert known.region.matches(point) == any(inside(part) for part in known.parts)


@given(data=st.data())
def test_matches_boxes_exactly(oracle, data):
    """A box meets a piece exactly if the nearest point does; for grid shapes the samples hold one if any does."""
    known = data.draw(oracle.regions(st.one_of(oracle.boxes(), oracle.spheres(), oracle.cylinders())))
    box = data.draw(oracle.boxes())
    assert known.region.matches(box.shape) == any(known.holds(p) for p in oracle.samples if box.holds(p))


@given(data=st.data())
def test_prisms_meet_and_cover_exactly(oracle, data):
    a, b = data.draw(oracle.prisms()), data.draw(oracle.prisms())
    above = a.z[0] <= b.z[1] and b.z[0] <= a.z[1]
    assert spatial.intersects(a.shape, b.shape) == (above and a.plan.meets(b.plan))
    assert Region([a.shape]).matches(b.shape) == (above and a.plan.meets(b.plan))
    assert spatial.covers(a.shape, b.shape) == (a.z[0] <= b.z[0] and b.z[1] <= a.z[1] and a.plan.covers(b.plan))


@given(data=st.data())
def test_boxes_and_prisms_compare_as_two_prisms_do(oracle, data):
    """A box that is not flat is a prism too: both ways to say it give one answer."""
    prism, box = data.draw(oracle.prisms()).shape, data.draw(oracle.boxes()).shape
    x0, y0, z0, x1, y1, z1 = box.bounds
    x0, y0, x1, y1 = max(x0, -9), max(y0, -9), min(x1, 9), min(y1, 9)
    assume(x0 < x1 and y0 < y1)
    same = Prism(shapely.box(x0, y0, x1, y1), z0, z1)
    assert spatial.intersects(prism, box) == spatial.intersects(box, prism) == spatial.intersects(prism, same)
    assert spatial.covers(box, prism) == spatial.covers(same, prism)
    if box.bounds == same.bounds:
        assert spatial.covers(prism, box) == spatial.covers(prism, same)


@given(data=st.data())
def test_flat_boxes_against_prisms(oracle, data):
    prism, box = data.draw(oracle.prisms()), data.draw(oracle.boxes(unbounded=False))
    x0, y0, z0, x1, y1, z1 = box.shape.bounds
    assume((x0 == x1 or y0 == y1) and prism.z[0] <= z1 and z0 <= prism.z[1])
    plan = oracle.plan([(x0, y0), (x1, y1)])
    if (x0, y0) == (x1, y1):
        assert spatial.intersects(prism.shape, box.shape) == prism.plan.holds((x0, y0))
    else:
        assert spatial.intersects(prism.shape, box.shape) == any(prism.plan.holds(p) for p in plan.cut_by(prism.plan))


@given(data=st.data())
def test_spheres_and_cylinders_meet_what_they_touch(oracle, data):
    """On the grid all squared distances are rational, so the truth is known, also for touching."""
    prism, a, b = data.draw(oracle.prisms()), data.draw(oracle.spheres()).shape, data.draw(oracle.spheres()).shape
    apart = sum((int(p) - int(q)) ** 2 for p, q in zip(a.centre, b.centre, strict=True))
    assert spatial.intersects(a, b) == (apart <= (a.radius + b.radius) ** 2)
    flat = prism.plan.squared_distance((int(a.centre[0]), int(a.centre[1])))
    rise = max(prism.z[0] - a.centre[2], a.centre[2] - prism.z[1], 0)
    expected = rise < INF and flat + int(rise) ** 2 <= a.radius**2
    assert spatial.intersects(a, prism.shape) == spatial.intersects(prism.shape, a) == expected
    cylinder = Cylinder(a.centre[:2], a.radius, 1, 2)
    expected = prism.z[0] <= 2 and prism.z[1] >= 1 and flat <= a.radius**2
    assert spatial.intersects(cylinder, prism.shape) == spatial.intersects(prism.shape, cylinder) == expected
    rise = max(1 - b.centre[2], b.centre[2] - 2, 0)
    flat = (a.centre[0] - b.centre[0]) ** 2 + (a.centre[1] - b.centre[1]) ** 2
    if rise == 0 or flat == 0:
        expected = flat <= (a.radius + b.radius) ** 2 and rise <= b.radius
        assert spatial.intersects(cylinder, b) == spatial.intersects(b, cylinder) == expected


@settings(max_examples=150)
@given(data=st.data())
def test_no_common_point_is_missed_and_no_cover_invented(oracle, data):
    a, b = data.draw(oracle.regions()), data.draw(oracle.regions(most=2))
    in_b = [p for p in oracle.samples if b.holds(p)]
    if any(a.holds(p) for p in in_b):
        assert a.region.intersects(b.region) and b.region.intersects(a.region)
    if a.region.covers(b.region):
        assert all(a.holds(p) for p in in_b)
        assert NOWHERE in (a.region, b.region) or not b.region or a.region.intersects(b.region)


@settings(max_examples=150)
@given(data=st.data())
def test_boxes_are_decided_exactly(oracle, data):
    """Complete: a box that only several cover together counts as covered."""
    a, b = data.draw(oracle.regions(oracle.boxes(), most=8)), data.draw(oracle.regions(oracle.boxes(), most=2))
    in_b = [p for p in oracle.samples if b.holds(p)]
    assert a.region.covers(b.region) == all(a.holds(p) for p in in_b)
    assert a.region.intersects(b.region) == any(a.holds(p) for p in in_b)


@given(st.randoms(use_true_random=False), st.integers(2, 40), st.booleans())
def test_a_box_cut_up_at_random_is_covered_until_a_part_is_missing(rng, parts, flat):
    whole = (0.0, -INF, 2.5, 7.0, 3.0, 2.5 if flat else INF)
    cut = [whole]
    while len(cut) < parts:
        box = cut.pop(rng.randrange(len(cut)))
        axis = rng.choice((0, 1) if flat else (0, 1, 2))
        low, high = max(box[axis], -50.0), min(box[axis + 3], 50.0)
        at = rng.uniform(low, high)
        cut += [(*box[: axis + 3], at, *box[axis + 4 :]), (*box[:axis], at, *box[axis + 1 :])]
    rng.shuffle(cut)
    target = Region([Box.of(whole)])
    assert Region(map(Box.of, cut)).covers(target)
    assert target.covers(Region(map(Box.of, cut)))
    lost = cut.pop()
    assume(all(low < high for low, high in zip(lost[: 2 + (not flat)], lost[3:], strict=False)))
    assert not Region(map(Box.of, cut)).covers(target)


def test_a_grid_too_large_to_decide_counts_as_not_covered(monkeypatch):
    halves = Region([Box((0, 0), (1, 2)), Box((1, 0), (2, 2))])
    assert halves.covers(Region([Box((0, 0), (2, 2))]))
    monkeypatch.setattr(tiling, "MAX_CELLS", 1)
    assert not halves.covers(Region([Box((0, 0), (2, 2))]))


def test_many_pieces_decide_as_few_do(oracle):
    """The vectorised search for candidates finds what plain loops find."""
    rng = random.Random(4)

    def scattered(count):
        for index in range(count):
            x, y, z = (rng.randrange(60) for _ in range(3))
            yield Box((x, y, z), (x + 3, y + 3, z + 3)) if index % 3 else Sphere((x, y, z), 2)

    many, others = list(scattered(120)), list(scattered(120))
    region = Region(many)
    for piece in others:
        x, y, z = piece.bounds[:3]
        assert region.intersects(Region([piece])) == any(spatial.intersects(one, piece) for one in many)
        assert region.matches(Point((x, y, z))) == any(Region([one]).matches(Point((x, y, z))) for one in many)
    assert region.intersects(Region(others)) == any(region.intersects(Region([one])) for one in others)
    assert region.covers(Region(many[:60])) and not region.covers(Region([Box((0, 0, 0), (60, 60, 60))]))


SQUARE = [(0, 0), (10, 0), (10, 10), (0, 10)]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Box((0, 0, 0), (100, 100, 100)), Sphere((50, 50, 50), 49)),
        (Box((-50, -50, -50), (50, 50, 50)), Sphere((0, 0, 0), 50)),
        (Box((0, 0), (10, 10)), Cylinder((5, 5), 4)),
        (Box((0, 0), (10, 10)), Prism(SQUARE, 1, 2)),
        (Prism(SQUARE), Box((0, 0, -INF), (10, 10, 7))),
        (Prism(SQUARE), Sphere((5, 5, 5), 4.9)),
        (Prism(SQUARE, 0, 9), Cylinder((5, 5), 4.9, 0, 9)),
        (Sphere((5, 5, 5), 9), Box((0, 0, 0), (10, 10, 10))),
        (Sphere((0, 0, 0), 3), Box((-1, -2, -2), (1, 2, 2))),
        (Sphere((0, 0, 0), 5), Sphere((1, 0, 0), 3.9)),
        (Sphere((5, 5, 5), 9), Prism(SQUARE, 1, 9)),
        (Sphere((5, 5, 5), 9), Cylinder((5, 5), 7, 1, 9)),
        (Cylinder((0, 0), 5), Box((-3, -4), (3, 4))),
        (Cylinder((0, 0), 5), Cylinder((1, 0), 3.9, 2, 3)),
        (Cylinder((0, 0), 5), Sphere((0, 1, 77), 3.9)),
        (Cylinder((0, 0), 5, 0, 9), Cylinder((0, 0), 5, 0, 8)),
        (Cylinder((5, 5), 7.1, 0, 9), Prism(SQUARE, 0, 9)),
    ],
)
def test_covers_recognises_each_kind_in_each_other(outer, inner):
    assert Region([outer]).covers(Region([inner]))
    assert not Region([inner]).covers(Region([outer]))
    assert Region([outer]).covers(Region([outer]))


@pytest.mark.parametrize(
    ("outer", "inner", "smaller"),
    [
        (Sphere((5, 5, 5), 9), Cylinder((5, 5), 7, 1, 10.9), Cylinder((5, 5), 7, 1, 10.6)),
        (Sphere((5, 5, 5), 9), Cylinder((5, 5), 7, -0.9, 9), Cylinder((5, 5), 7, -0.6, 9)),
        (Sphere((5, 5, 5), 9), Prism(SQUARE, 1, 11), Prism(SQUARE, 1, 10)),
        (Sphere((0, 0, 0), 5), Sphere((2, 2, 0), 2.3), Sphere((2, 2, 0), 2.1)),
        (Cylinder((0, 0), 5), Cylinder((2, 2), 2.3), Cylinder((2, 2), 2.1)),
        (Cylinder((5, 5), 7), Prism(SQUARE), Prism([(0, 1), (10, 1), (10, 9), (0, 9)])),
        (Prism([(0, 0), (10, 0), (0, 10)]), Cylinder((3, 3), 2.9), Cylinder((3, 3), 2.8)),
        (Prism(shapely.Polygon(SQUARE, [[(4, 4), (6, 4), (6, 6)]])), Sphere((5, 5, 5), 3), Sphere((2, 2, 5), 1.9)),
        (Prism(shapely.Polygon(SQUARE, [[(4, 4), (6, 4), (6, 6)]])), Sphere((3, 3, 5), 1.5), Sphere((3, 3, 5), 1.4)),
    ],
)
def test_covers_sees_what_sticks_out_within_the_bounds(outer, inner, smaller):
    assert not Region([outer]).covers(Region([inner]))
    assert Region([outer]).covers(Region([smaller]))


@pytest.mark.parametrize("piece", [Sphere((5, 5, 5), 4), Cylinder((5, 5), 4), Prism([(1, 5), (5, 1), (9, 5), (5, 9)])])
def test_boxes_together_cover_what_only_their_union_holds(piece):
    halves = Region([Box((0, 0), (5, 10)), Box((5, 0), (10, 10))])
    assert halves.covers(Region([piece]))
    assert not Region(halves.pieces[:1]).covers(Region([piece]))


LENGTHS = st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3) | st.sampled_from([0.1, 0.3, 1e-170, -1e-170, 1e16, 3e-308])


def near(value: float, steps: int) -> float:
    for _ in range(abs(steps)):
        value = math.nextafter(value, INF if steps > 0 else -INF)
    return value


@given(LENGTHS, LENGTHS, LENGTHS, st.integers(-3, 3), st.booleans())
@example(0.0, 1e-170, 1e-165, 0, True)
@example(-1.0, 1.0, 0.0, 1, True)
def test_bounds_leave_out_nothing_that_a_sphere_matches(centre, radius, offset, steps, at_edge):
    radius = abs(radius)
    x = near(centre + radius, steps) if at_edge else near(centre + offset, steps)
    for piece in (Sphere((centre, 0, 0), radius), Cylinder((centre, 0), radius)):
        if (x - centre) * (x - centre) <= radius * radius:
            assert Region([piece]).matches(Point((x, 0, 0)))
            assert piece.bounds[0] <= x <= piece.bounds[3]
            assert Fraction(piece.bounds[0]) <= Fraction(centre) - Fraction(radius)
            assert Fraction(piece.bounds[3]) >= Fraction(centre) + Fraction(radius)
            assert EVERYWHERE.covers(Region([piece]))
            left_of_x = Region([Box((-INF, -INF), (near(x, -1), INF))])
            assert not left_of_x.covers(Region([piece]))


@given(*[st.tuples(*[st.floats(-50, 50)] * 3)] * 3, st.floats(0, 30), st.integers(-4, 4))
def test_rounding_never_makes_a_sphere_cover_too_much(centre, other, towards, radius, steps):
    """Nearly tangent from inside: where covers says yes, what matches the inner one matches the outer one."""
    outer_radius = max(0.0, near(math.dist(centre, other) + radius, steps))
    pairs = [
        (Sphere(centre, outer_radius), Sphere(other, radius)),
        (Cylinder(centre[:2], max(0.0, near(math.dist(centre[:2], other[:2]) + radius, steps))), Sphere(other, radius)),
    ]
    for outer, inner in pairs:
        for target in (other, towards, centre):
            away = [o - c for o, c in zip(other, outer.centre, strict=False)] if target == other else target
            length = math.hypot(*away) or 1.0
            edge = [o + radius * a / length for o, a in zip(other, (*away, 0.0), strict=False)]
            for point in (Point(edge), Point([near(v, 1) for v in edge]), Point([near(v, -1) for v in edge])):
                if Region([inner]).matches(point) and not Region([outer]).matches(point):
                    assert not spatial.covers(outer, inner)


@settings(max_examples=200)
@given(seed=st.integers(0))
def test_footprints_that_touch_in_arbitrary_floats_compare_exactly(oracle, seed):
    """Corners rounded onto an edge lie on it, inside or outside: exact arithmetic knows which, and so must we."""
    rng = random.Random(seed)

    def on_edge(a, b):
        t = rng.random()
        return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])

    size, offset = 10 ** rng.uniform(-3, 6), rng.choice([0, 1e4, 1e7]) * rng.random()
    a = [(rng.uniform(-size, size) + offset, rng.uniform(-size, size) + offset) for _ in range(3)]
    along = (a[1][0] - a[0][0], a[1][1] - a[0][1])
    b = rng.choice(
        [
            [on_edge(a[0], a[1]), on_edge(a[1], a[2]), on_edge(a[2], a[0])],
            [on_edge(a[0], a[1]), *((x + along[1], y - along[0]) for x, y in a[:2])],
            [on_edge(a[0], a[1]), *((x - along[1], y + along[0]) for x, y in a[:2])],
        ]
    )
    prisms, plans = (Prism(a), Prism(b)), (oracle.plan(a), oracle.plan(b))
    assert spatial.intersects(*prisms) == plans[0].meets(plans[1])
    assert spatial.covers(*prisms) == plans[0].covers(plans[1])
    x, y = b[0]
    assert Region(prisms[:1]).matches(Point((x, y))) == plans[0].holds((Fraction(x), Fraction(y)))


@given(data=st.data())
def test_union_is_a_set_of_pieces(oracle, data):
    a, b, c = (data.draw(oracle.regions(most=4)).region for _ in range(3))
    assert a | b == b | a and hash(a | b) == hash(b | a)
    assert (a | b) | c == a | (b | c) == Region.union([c, a, b, a])
    assert a | a == a == a | NOWHERE == NOWHERE | a
    assert a | EVERYWHERE == EVERYWHERE == Region([*a.pieces, *EVERYWHERE.pieces])
    assert EVERYWHERE in (a, b) or a | b == EVERYWHERE or set((a | b).pieces) == set(a.pieces) | set(b.pieces)
    assert pickle.loads(pickle.dumps(a)) == a  # noqa: S301  # our own bytes


@given(data=st.data(), turns=st.integers(0, 5), back=st.booleans())
def test_a_footprint_is_the_same_wherever_it_starts(oracle, data, turns, back):
    known = data.draw(oracle.prisms())
    rings = [[*ring[turns % len(ring) :], *ring[: turns % len(ring)]] for ring in known.plan.rings]
    rings = [[*(ring[::-1] if back else ring)] for ring in rings]
    doubled = [corner for corner in rings[0] for _ in range(1 + back)]
    other = Prism(shapely.Polygon(doubled, rings[1:]), *known.z)
    assert other == known.shape and hash(other) == hash(known.shape) and other.sort_key == known.shape.sort_key


def test_holes_are_the_same_in_any_order():
    holes = [[(1, 1), (2, 1), (2, 2)], [(5, 5), (6, 5), (6, 6)]]
    assert Prism(shapely.Polygon(SQUARE, holes)) == Prism(shapely.Polygon(SQUARE, holes[::-1]))


def test_zero_has_one_sign():
    assert repr(Region([Box((-0.0, 0, 0), (1, 1, 1))])) == repr(Region([Box((0.0, -0.0, 0), (1, 1, 1))]))
    assert repr(Prism([(-0.0, 0), (1, 0), (1, 1)])) == repr(Prism([(0.0, 0), (1, 0), (1, 1)]))


def test_no_extent_matches_no_region():
    assert not EVERYWHERE.matches(None)
    assert not NOWHERE.matches(None)
    assert EVERYWHERE.matches(Point((1, 2)))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Box((0, 0, 0), (1, -1, 1)), "Box y goes from 0.0 to -1.0: give the lower end first"),
        (lambda: Box((0, 0), (1, math.nan)), "Box high corner y is NaN"),
        (lambda: Box((0,), (1, 1)), r"Box low corner is \(0,\): give \(x, y\) or \(x, y, z\)"),
        (lambda: Box(("0", 0), (1, 1)), "Box low corner x is '0': give a number"),
        (lambda: Box((INF, 0), (INF, 1)), "Box x goes from inf to inf, which holds no point"),
        (lambda: Box((0, 0), (10**400, 1)), "beyond the range of a float"),
        (lambda: Sphere((1, 2), 3), r"Sphere centre is \(1, 2\), without z: use Cylinder"),
        (lambda: Sphere((1, 2, 3), -3), "Radius is -3.0: give zero or more"),
        (lambda: Sphere((1, 2, INF), 3), "Sphere centre z is inf: give a number between"),
        (lambda: Cylinder((1, 2), 3, 5, 4), "Cylinder height goes from 5.0 to 4.0"),
        (lambda: Prism([(0, 0), (1, 1), (0, 1), (1, 0)]), r"not a simple polygon \(Self-intersection\[0.5 0.5\]\)"),
        (lambda: Prism([(0, 0), (1, 1), (0, 0)]), "2 different corners: give three at least"),
        (lambda: Prism([(0, 0), (1, 1), (2, 2)]), "not a simple polygon"),
        (lambda: Prism([(0, 0), (1, INF), (2, 2)]), "Prism footprint y is inf"),
        (lambda: Prism(shapely.Polygon()), "empty polygon"),
        (lambda: Prism(shapely.MultiPolygon([shapely.box(0, 0, 1, 1)])), "MultiPolygon: give one Polygon"),
        (lambda: Region(Box((0, 0), (1, 1))), "give a sequence of pieces"),
        (lambda: Region([Point((0, 0))]), "Region piece Point.*: give a Box, Prism, Sphere or Cylinder"),
        (lambda: Point((0, INF)), "Point y is inf"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(make, says):
    with pytest.raises(InterestError, match=says) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_numbers_of_numpy_are_numbers():
    assert Box(np.array([0, 1, 2]), np.float32([3, 4, 5])) == Box((0, 1, 2), (3, 4, 5))
