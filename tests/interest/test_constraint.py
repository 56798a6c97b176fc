"""Sets of one attribute's values against brute force over a universe, and the known errors of other systems."""

import math
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interest import InterestError, attr, pattern
from interest.constraint import ANYTHING, PRESENT, ValueSet, at_least, equal, greater, like, same_type_complement
from interest.cuts import ALL_STRINGS
from interest.interest import Interest
from interest.pattern import Term


def only_set(interest):
    """The set that an interest in one attribute demands; empty if nothing can match."""
    if not interest:
        return ValueSet()
    (conjunct,) = interest.conjuncts
    return conjunct.constraints.get("x", ANYTHING)


@given(st.data())
def test_sets_agree_with_the_oracle(logic, data):
    left, right = data.draw(logic.conjunctions), data.draw(logic.conjunctions)
    a, b = only_set(logic.interest(left)), only_set(logic.interest(right))
    # True == 1 in a set of Python values: keep the types apart.
    mine, theirs = (
        {(type(v) is bool, v) for v in logic.universe if logic.truth(t, {"x": v})} for t in (left, right)
    )
    assert {(type(v) is bool, v) for v in logic.universe if a.contains(v)} == mine
    assert {(type(v) is bool, v) for v in logic.universe if (a | b).contains(v)} == mine | theirs
    assert {(type(v) is bool, v) for v in logic.universe if (a & b).contains(v)} == mine & theirs
    assert a.covers(b) == (theirs <= mine)
    assert a.intersects(b) == bool(mine & theirs)
    assert bool(a) == bool(mine)
    assert (a | b).covers(a) and (a | b).covers(b)


@given(st.data())
def test_covering_is_complete_against_a_union(logic, data):
    trees = [data.draw(logic.conjunctions) for _ in range(3)]
    a, b, c = (only_set(logic.interest(tree)) for tree in trees)
    mine, left, right = (
        {(type(v) is bool, v) for v in logic.universe if logic.truth(t, {"x": v})} for t in trees
    )
    assert (b | c).covers(a) == (mine <= left | right)


@given(st.data(), st.integers(1, 3))
def test_widening_only_widens(logic, data, limit):
    trees = data.draw(st.lists(logic.conjunctions, min_size=1, max_size=4))
    values = ValueSet.union([only_set(logic.interest(tree)) for tree in trees])
    wider = values.widened(limit)
    assert wider.width <= limit
    assert all(wider.contains(v) for v in logic.universe if values.contains(v))
    assert wider.covers(values)
    assert values.width > limit or wider is values


def test_price_example_of_the_cbcb_report_lossy():
    prices = ValueSet.union([greater(50) & same_type_complement(at_least(200)), equal(250), greater(500)])
    assert prices.widened(1) == greater(50)
    # The narrowest gap closes first.
    assert prices.widened(2) == ValueSet.union([greater(50) & same_type_complement(greater(250)), greater(500)])


# -- errors known from the Java implementation of Siena --------------------------------------------------------------


def test_at_most_does_not_cover_a_greater_prefix():
    at_most_abc = same_type_complement(greater("abc"))
    assert not at_most_abc.covers(like("ab%"))  # witness: "abz"
    assert like("ab%").contains("abz") and not at_most_abc.contains("abz")
    assert at_most_abc.intersects(like("ab%"))


def test_at_least_covers_the_prefix_it_starts():
    assert at_least("ab").covers(like("ab%"))
    assert not greater("ab").covers(like("ab%"))


def test_one_comparison_covers_a_range():
    assert greater(5).covers(greater(10) & same_type_complement(at_least(20)))


@pytest.mark.parametrize(
    "condition",
    [
        (attr("x") > 5) & (attr("x") < 5),
        (attr("x") > 5) & (attr("x") <= 5),
        (attr("x") == "a") & (attr("x") == 1),
        (attr("x") == 1) & (attr("x") == True),  # noqa: E712  # the value, not the truth
        attr("x").like("a%") & attr("x").like("b%"),
        attr("x").like("%a") & attr("x").like("%b"),
        attr("x").like("%a%") & ~attr("x").like("%a%"),
        attr("x").like("a%") & (attr("x") < "a"),
        attr("x").is_null() & (attr("x") > 1),
        attr("x").between(3, 2),
    ],
)
def test_contradictions_are_noticed(condition):
    assert Interest.of(where=condition) == Interest()


# -- strings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "inside", "outside"),
    [
        ("a", "a\U0010ffff\U0010ffff", "b"),
        ("\U0010ffff", "\U0010ffff\U0010ffff", "\U0010fffe"),
        ("a\U0010ffff", "a\U0010ffffz", "b"),
        ("\ud7ff", "\ud7ff\U0010ffff", "\ue000"),
    ],
)
def test_prefixes_at_the_end_of_the_alphabet(prefix, inside, outside):
    assert like(f"{prefix}%").contains(prefix)
    assert like(f"{prefix}%").contains(inside)
    assert not like(f"{prefix}%").contains(outside)


@given(st.text("ab%\\_", max_size=6), st.text("ab%_\\", max_size=6))
def test_escaped_patterns_match_themselves(text, other):
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    assert like(escaped) == equal(text)
    assert like(f"%{escaped}%").contains(other) == (text in other)
    assert pattern.parse(pattern.to_text(pattern.parse(f"a%{escaped}%"))) == pattern.parse(f"a%{escaped}%")


def test_patterns_that_overlap_need_length():
    assert not like("ab%ba").contains("aba")
    assert like("ab%ba").contains("abba")
    assert not like("%aa%aa%").contains("aaa")


def test_search_gives_up_undecided():
    patterns = tuple(sorted(("", "".join(letters), "") for letters in product("abcd", repeat=3)))
    term = Term(ALL_STRINGS, patterns[:30])
    assert pattern.satisfiable(term, [Term(ALL_STRINGS, (), patterns[30:31])]) is None
    some = ValueSet(terms=(term,))
    assert some.intersects(equal("zz")) in (True, False)
    assert not like("%ccc%").covers(some)
    assert like("%ccc%").intersects(some)


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: attr("x") == math.nan,
        lambda: attr("x") > math.inf,
        lambda: attr("x") == None,  # noqa: E711  # what a user may try
        lambda: attr("x") == [1],
        lambda: attr("x") == 2**64 + 1,
        lambda: attr("x") > 10**400,
        lambda: attr("x") > True,
        lambda: attr("x") == "\ud800",
        lambda: attr("x") == "a" * 5000,
        lambda: attr("x").between(1, "a"),
        lambda: attr("x").is_in("abc"),
        lambda: attr("x").like("a_"),
        lambda: attr("x").like("a\\b"),
        lambda: attr("x").like("a\\"),
        lambda: attr("x").like(3),
        lambda: attr("x").like("%a" * 100),
        lambda: attr(""),
        lambda: attr("n" * 300),
        lambda: attr(3),
        lambda: (attr("x") > 1) & 3,
        lambda: PRESENT.contains([1]),
    ],
)
def test_values_that_cannot_be_meant_are_refused_in_one_line(make):
    with pytest.raises(InterestError) as error:
        make()
    assert len(str(error.value).splitlines()) == 1


def test_conditions_have_no_truth_value():
    with pytest.raises(TypeError):
        assert 1 < attr("x") < 3


@given(st.integers(-(2**62), 2**62), st.floats(allow_nan=False))
def test_numbers_compare_exactly(integer, double):
    assume(math.isfinite(double))
    assert equal(integer).contains(float(integer)) == (integer == float(integer))
    assert greater(integer).contains(double) == (double > integer)
    assert at_least(double).contains(integer) == (integer >= double)
    assert (equal(double) == equal(integer)) == (double == integer)
