"""Fewer pieces: the same set from `simplify`, a covering one within the budget from `over_approximate`."""

import math
import random
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interest.errors import InterestError
from interest.extent import Point
from interest.region import NOWHERE, Region
from interest.shapes import Box, Cylinder, Prism, Sphere

INF = math.inf


def volume(region):
    """The volume of a union of boxes on integer corners, cell by cell."""
    cells = set()
    for piece in region.pieces:
        x0, y0, z0, x1, y1, z1 = map(int, piece.bounds)
        cells |= {(x, y, z) for x in range(x0, x1) for y in range(y0, y1) for z in range(z0, z1)}
    return len(cells)


def around(*pieces):
    return Box.of(Region(pieces).bounds)


@given(data=st.data())
def test_simplify_keeps_every_point_and_adds_none(oracle, data):
    known = data.draw(oracle.regions(most=8))
    simple = known.region.simplify()
    assert len(simple) <= len(known.region) and simple.simplify() is simple
    for x, y, z in oracle.samples[data.draw(st.integers(0, 6)) :: 7]:
        assert simple.matches(Point((float(x), float(y), float(z)))) == known.holds((x, y, z))


@given(data=st.data())
def test_simplify_leaves_no_piece_inside_another(oracle, data):
    pieces = data.draw(oracle.regions(most=8)).region.simplify().pieces
    assert not any(Region([a]).covers(Region([b])) for a in pieces for b in pieces if a is not b)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_simplify_joins_a_grid_of_boxes_to_one(nx, ny, nz):
    cells = [
        Box((x, 2 * y, z), (x + 1, 2 * y + 2, z + 1)) for x in range(nx) for y in range(ny) for z in range(nz)
    ]  # fmt: skip
    assert Region(cells).simplify() == Region([Box((0, 0, 0), (nx, 2 * ny, nz))])


def test_simplify_joins_unbounded_boxes():
    left, right = Box((-INF, 0), (3, 4)), Box((2, 0), (INF, 4))
    assert Region([left, right]).simplify() == Region([Box((-INF, 0), (INF, 4))])


def test_simplify_drops_one_of_two_equal_sets_and_keeps_the_other():
    pieces = [Sphere((0, 0, 0), 2), Sphere((0, 0, 0), 1), Cylinder((9, 9), 1, 0, 1), Cylinder((9, 9), 1, 0, 2)]
    assert Region(pieces).simplify() == Region([pieces[0], pieces[3]])


def test_simplify_keeps_one_of_two_shapes_of_one_set():
    same = [Box((0, 0), (2, 2)), Prism([(0, 0), (2, 0), (2, 2), (0, 2)])]
    assert Region(same).simplify() == Region(same[:1])


def test_simplify_joins_past_a_box_that_is_only_then_inside():
    boxes = [Box((0, 0), (1, 4)), Box((1, 0), (2, 4)), Box((0, 1), (2, 2))]
    assert Region(boxes).simplify() == Region([Box((0, 0), (2, 4))])


@settings(max_examples=150)
@given(data=st.data(), budget=st.integers(1, 8))
def test_over_approximation_covers_within_its_budget(oracle, data, budget):
    known = data.draw(oracle.regions(most=12))
    wide = known.region.over_approximate(budget)
    assert len(wide) <= budget
    assert wide.covers(known.region)
    assert len(known.region) > budget or wide is known.region
    assert all(
        wide.matches(Point(tuple(map(float, p))))
        for p in oracle.samples[data.draw(st.integers(0, 6)) :: 7]
        if known.holds(p)
    )
    assert wide == Region(known.region.pieces[::-1]).over_approximate(budget)


@settings(max_examples=10)
@given(st.integers(), st.integers(1, 40), st.sampled_from([1e-3, 1.0, 1e9, 1e200]))
def test_over_approximation_of_many_pieces(seed, budget, size):
    """More pieces than one block of neighbours holds, of all sizes, some of them flat or unbounded."""
    rng, boxes = random.Random(seed), []
    for index in range(300):
        x, y, z = (rng.uniform(-size, size) for _ in range(3))
        dx, dy, dz = (rng.expovariate(10) * size for _ in range(3))
        boxes.append(Box((x, y, z), (x + dx, y + dy * (index % 3), INF if index % 5 == 0 else z + dz)))
    region = Region(boxes)
    wide = region.over_approximate(budget)
    assert len(wide) <= budget and wide.covers(region)


CUBES = st.tuples(*[st.integers(0, 9)] * 3, *[st.integers(1, 5)] * 3)


@given(st.lists(CUBES, min_size=2, max_size=6))
def test_one_merge_is_the_cheapest_of_all(cubes):
    region = Region(Box((x, y, z), (x + dx, y + dy, z + dz)) for x, y, z, dx, dy, dz in cubes).simplify()
    assume(len(region) > 1)

    def added(a, b):
        return volume(Region([around(a, b)])) - volume(Region([a, b]))

    least = min(added(a, b) for a, b in combinations(region.pieces, 2))
    wide = region.over_approximate(len(region) - 1)
    (new,) = set(wide.pieces) - set(region.pieces)
    merged = set(region.pieces) - set(wide.pieces)
    assert around(*merged) == new and added(*merged) == least


def clusters(*corners, size=1.0, z=(0.0, 1.0)):
    """Four small boxes near each corner, none touching, none in line with another."""
    for index, (x, y) in enumerate(corners):
        for dx, dy in ((0.0, 0.5), (2.5, 0.0), (0.5, 3.0), (3.0, 2.5)):
            left, front = x + dx + index / 9, y + dy + index / 9
            yield Box((left, front, z[0]), (left + size, front + size, z[1]))


@pytest.mark.parametrize("z", [(0, 1), (5, 5), (-INF, INF), (0, INF)])
@pytest.mark.parametrize("size", [1, 0])
def test_clusters_become_their_bounding_boxes(size, z):
    """Whatever the heights are: solid, flat, or unbounded; also for points, whose volume is zero."""
    corners = [(0, 0), (100, 0), (0, 100), (90, 100)]
    wide = Region(clusters(*corners, size=size, z=z)).over_approximate(4)
    boxes = list(clusters(*corners, size=size, z=z))
    assert wide == Region(around(*boxes[start : start + 4]) for start in range(0, 16, 4))


def test_nearness_decides_where_all_volumes_are_zero():
    spots = [Box((x, y, 0), (x, y, 0)) for x, y in ((0, 0), (0, 100), (0, 101), (7, 9))]
    assert Region(spots).over_approximate(3) == Region([spots[0], spots[3], Box((0, 100, 0), (0, 101, 0))])


def test_area_decides_in_a_flat_world():
    """Not nearness: the long boxes are nearer to each other, the small ones are cheaper to merge."""
    long = [Box((0, y, 5), (100, y + 1, 5)) for y in (0, 4, 1000)]
    small = [Box((x, 0, 5), (x + 1, 1, 5)) for x in (200, 204)]
    assert Region(long + small).over_approximate(4) == Region([*long, Box((200, 0, 5), (205, 1, 5))])


def test_pieces_that_are_not_merged_keep_their_shape():
    lone = [Sphere((500, 500, 0), 5), Cylinder((-500, 500), 5)]
    wide = Region([*lone, *clusters((0, 0))]).over_approximate(3)
    assert wide == Region([*lone, Box((0, 0, 0), (4, 4, 1))])


def test_what_simplify_can_do_costs_nothing():
    spheres = [Sphere((0, 0, 0), 5 + r) for r in range(4)]
    assert Region([*spheres, Sphere((50, 0, 0), 5)]).over_approximate(2) == Region(
        [spheres[3], Sphere((50, 0, 0), 5)]
    )  # fmt: skip


def test_a_half_space_is_not_merged_with_what_is_near_it():
    """An infinite extent does not make all costs equal."""
    half = Box((-INF, -INF), (0, INF))
    near, far = Box((10, 0, 0), (11, 1, 1)), Box((12, 0, 0), (13, 1, 1))
    assert Region([half, near, far]).over_approximate(2) == Region([half, Box((10, 0, 0), (13, 1, 1))])


@pytest.mark.parametrize("budget", [0, -3])
def test_a_budget_of_nothing_is_refused(budget):
    with pytest.raises(InterestError, match=f"Budget is {budget} pieces: give one at least"):
        Region([Sphere((0, 0, 0), 1)]).over_approximate(budget)


def test_nowhere_stays_nowhere():
    assert NOWHERE.over_approximate(1) is NOWHERE and NOWHERE.simplify() is NOWHERE
