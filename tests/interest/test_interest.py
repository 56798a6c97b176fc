"""Interests against brute force: matching in three-valued logic, covering, overlap, union, approximation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interest import (
    EVERYTHING,
    EVERYWHERE,
    NOTHING,
    NOWHERE,
    Box,
    Interest,
    InterestError,
    Point,
    Region,
    Sphere,
    attr,
    within,
)
from interest.binary import MAX_INTEREST_BYTES, encode_interest
from interest.conjunct import Conjunct
from interest.expression import MAX_CONJUNCTS


def expected(logic, tree):
    return {
        number
        for number, (place, attributes) in enumerate(logic.publications)
        if logic.truth(tree, attributes, place) is True
    }


@given(st.data())
def test_matching_is_three_valued(logic, data):
    tree = data.draw(logic.conditions)
    interest = logic.interest(tree)
    for number, x in enumerate(logic.few_values):
        for y in logic.few_values[number % 3 :: 3]:
            attributes = {name: value for name, value in (("x", x), ("y", y)) if value is not None}
            assert interest.matches(None, attributes) == (logic.truth(tree, attributes) is True), attributes


@settings(max_examples=40)
@given(st.data())
def test_interests_agree_with_the_oracle(logic, data):
    left, right = data.draw(logic.disjunctions), data.draw(logic.disjunctions)
    a, b = logic.interest(left), logic.interest(right)
    mine, theirs = expected(logic, left), expected(logic, right)
    assert logic.matched(a) == mine
    assert logic.matched(a | b) == mine | theirs
    assert a | b == b | a == Interest.union([b, a, b])
    assert not a.covers(b) or theirs <= mine
    assert a.intersects(b) or not mine & theirs
    assert (a | b).covers(a) and (a | b).covers(b)
    simple = (a | b).simplify()
    assert logic.matched(simple) == mine | theirs
    assert simple.piece_count <= (a | b).piece_count
    for budget in (1, 2, 3, 100):
        wider = (a | b).over_approximate(budget)
        assert logic.matched(wider) >= mine | theirs
        assert wider.piece_count <= budget or not wider
        assert wider.over_approximate(budget) is wider
        if (a | b).piece_count <= budget:
            assert wider == a | b


@given(st.data())
def test_conjuncts_cover_each_other_completely(logic, data):
    left, right = data.draw(logic.wide_conjunctions), data.draw(logic.wide_conjunctions)
    a, b = logic.interest(left), logic.interest(right)

    def projections(tree):
        """What a conjunction allows of x and of y: it is their product."""
        return [
            {
                number
                for number, value in enumerate(logic.universe)
                if all(logic.truth(part, {name: value}) for part in tree[1:] if logic.name_of(part) == name)
            }
            for name in "xy"
        ]

    mine, theirs = projections(left), projections(right)
    empty = not all(theirs)
    assert a.covers(b) == (empty or all(t <= m for m, t in zip(mine, theirs, strict=True)))
    assert a.intersects(b) == all(t & m for m, t in zip(mine, theirs, strict=True))
    assert bool(b) is not empty


def test_everything_and_nothing():
    some = Interest.of(Box((0, 0), (1, 1)), "a", attr("x") > 3)
    assert Interest.of() == EVERYTHING and Interest.of(NOWHERE) == NOTHING
    assert EVERYTHING.matches(None, {}) and not NOTHING.matches(Point((0, 0)), {"x": 1})
    assert some | EVERYTHING == EVERYTHING and some | NOTHING == some == NOTHING | some
    assert EVERYTHING.covers(some) and some.covers(NOTHING) and not some.covers(EVERYTHING)
    assert EVERYTHING.intersects(some) and not NOTHING.intersects(EVERYTHING)
    assert (EVERYTHING.piece_count, NOTHING.piece_count) == (1, 0)
    assert EVERYTHING.bounds is None and NOTHING.bounds is None
    assert EVERYTHING.covers(Interest.of(EVERYWHERE)) and not Interest.of(EVERYWHERE).covers(EVERYTHING)


def test_equal_constraints_unite_their_regions():
    boxes = [Box((i, 0), (i + 1, 1)) for i in range(5)]
    one_by_one = NOTHING
    for box in boxes:
        one_by_one |= Interest.of(box, "a")
    assert one_by_one == Interest.of(Region(boxes), "a")
    assert len(one_by_one.conjuncts) == 1 and one_by_one.piece_count == 5
    assert one_by_one.bounds[:2] == (0, 0) and one_by_one.bounds[3:5] == (5, 1)
    assert one_by_one.covers(Interest.of(Box((0.5, 0), (3.5, 1)), "a", attr("x") > 1))
    assert not one_by_one.covers(Interest.of(Box((0.5, 0), (3.5, 1))))


def test_regions_under_different_constraints_cover_together():
    left, right = Interest.of(Box((0, 0), (1, 1)), where=attr("x") > 1), Interest.of(Box((1, 0), (2, 1)))
    assert (left | right).covers(Interest.of(Box((0, 0), (2, 1)), where=attr("x") > 2))
    assert not (left | right).covers(Interest.of(Box((0, 0), (2, 1)), where=attr("x") > 0))


def test_price_example_of_the_cbcb_report():
    wanted = Interest.of(where="(price > 50 AND price < 200) OR price < 100")
    assert wanted.simplify() == Interest.of(where="price < 200")
    here = Box((0, 0), (1, 1))
    wanted = Interest.of(here, where="price > 50 AND price < 200") | Interest.of(here, where="price < 100")
    assert len(wanted.conjuncts) == 2
    assert wanted.simplify() == Interest.of(here, where="price < 200")


def test_simplification_absorbs():
    wide = Interest.of(Box((0, 0), (9, 9)), where="x > 1")
    narrow = Interest.of(Box((1, 1), (2, 2)), where="x > 2 AND y = 1")
    assert (wide | narrow).simplify() == wide
    assert (Interest.of(where="x > 1 AND y = 1") | Interest.of(where="y = 1")).simplify() == Interest.of(where="y = 1")


def test_a_place_adds_nothing_to_the_same_constraints_anywhere():
    anywhere = Interest.of(where="x > 1 AND y = 1")
    assert anywhere | Interest.of(Box((0, 0), (1, 1)), where="x > 1 AND y = 1") == anywhere
    assert Interest.of(layer="a") | Interest.of(Box((0, 0), (1, 1)), "a") == Interest.of(layer="a")


def test_the_budget_is_shared_among_the_regions():
    """Regions of 2, 20 and 40 separate boxes: the small one stays as it is, the others divide the rest."""
    swarms = [
        Interest.of(Region([Box((i, y), (i + 0.1, y + 0.1)) for i in range(count)]), where=attr("x") == y)
        for y, count in ((0, 40), (1, 2), (2, 20))
    ]
    wanted = Interest.union(swarms)
    wider = wanted.over_approximate(12)
    assert wider.piece_count == 12 and wider.covers(wanted)
    assert sorted(each.piece_count for each in wider.conjuncts) == [2, 5, 5]


def test_layers_are_ordinary_strings():
    assert Interest.of(layer="a") == Interest.of(where="layer = 'a'") == Interest.of(where=attr("layer") == "a")
    assert Interest.of(layer="a").matches(None, {"layer": "a"})
    assert not Interest.of(layer="a").matches(None, {})


def test_approximation_keeps_places_when_it_can():
    """Five hundred teams in one place each: the budget must not be spent on dropping all places."""
    teams = Interest.union([Interest.of(Box((i, 0), (i + 0.5, 1)), "a", attr("team") == i) for i in range(500)])
    wider = teams.over_approximate(64)
    assert wider.piece_count <= 64 and wider.covers(teams)
    assert not wider.matches(Point((0, 5)), {"layer": "a", "team": 0})
    assert not wider.matches(Point((0, 0.5)), {"layer": "b", "team": 0})
    assert wider == teams.over_approximate(64)


@pytest.mark.parametrize("budget", [1, 4])
def test_approximations_fit_the_binary_form(budget):
    long = [Interest.of(where=attr(f"name{i}") == f"{j:03}" + "é" * 1900) for i in range(8) for j in range(8)]
    wide = Interest.union(long) | Interest.of(where=attr("number").is_in(range(5000)))
    assert len(encode_interest(wide)) > MAX_INTEREST_BYTES
    wider = wide.over_approximate(budget)
    assert len(encode_interest(wider)) <= MAX_INTEREST_BYTES
    assert wider.covers(wide)
    one = Interest.of(where=attr("number").is_in(range(5000)))
    assert one.piece_count == 1 and len(encode_interest(one.over_approximate(1))) < 2000
    assert one.over_approximate(1).covers(one)


def test_a_budget_below_one_is_refused():
    with pytest.raises(InterestError):
        EVERYTHING.over_approximate(0)


def test_expressions_that_multiply_out_are_refused():
    condition = Interest.of(where=attr("x") > 0)
    pairs = [(attr(f"a{i}") == 1) | (attr(f"b{i}") == 1) for i in range(11)]
    product = pairs[0]
    for pair in pairs[1:]:
        product &= pair
    with pytest.raises(InterestError, match=str(MAX_CONJUNCTS)):
        Interest.of(where=product)
    assert Interest.of(where=~product).piece_count == 11
    assert Interest.of(where=condition) == condition


@pytest.mark.parametrize(
    "condition",
    [
        ~within(Sphere((0, 0, 0), 1)),
        ~((attr("x") > 1) & within(Sphere((0, 0, 0), 1))),
        within(Box((0, 0), (2, 2))) & within(Box((1, 1), (3, 3))),
    ],
)
def test_spatial_parts_that_no_region_says_are_refused(condition):
    with pytest.raises(InterestError):
        Interest.of(where=condition)


def test_spatial_parts_within_each_other_are_one():
    assert Interest.of(Box((0, 0), (9, 9)), where=within(Box((1, 1), (2, 2)))) == Interest.of(Box((1, 1), (2, 2)))
    assert Interest.of(where=~~within(Box((0, 0), (1, 1)))) == Interest.of(Box((0, 0), (1, 1)))


def test_unsatisfiable_conjuncts_vanish():
    nowhere = Conjunct(NOWHERE, Interest.of(layer="a").conjuncts[0].constraints)
    assert Interest((nowhere,)) == NOTHING
    assert not Interest.of(Box((0, 0), (1, 1)), "a", attr("layer") == "b")
