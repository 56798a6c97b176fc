"""CQL2 text: what is read means what the oracle says, what is written is read back equal, what is refused is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interest import (
    EVERYTHING,
    EVERYWHERE,
    NOTHING,
    Box,
    Cylinder,
    Interest,
    InterestError,
    Prism,
    Region,
    Sphere,
    attr,
)
from interest.cql2 import parse, to_text
from interest.cql2_reader import MAX_NESTING, MAX_TEXT

TRIANGLE = Prism([(0, 0), (1.5, 0), (0, 1e-7)], -20.5, 1e22)

WORDS = [
    *("(", ")", "NOT", "AND", "OR", "x", "=", "1", "'a'", ",", "IN", "LIKE", "BETWEEN", "S_INTERSECTS", "geom", "-"),
    *("BBOX", "POLYGON", "SPHERE", "PRISM", "NULL", "IS", "TRUE", '"y"', "1e5", "0.5", "CASEI", "<>", "POINT", "\n"),
]

finite = st.floats(-1e80, 1e80)
heights = st.tuples(st.floats(allow_nan=False, max_value=0), st.floats(allow_nan=False, min_value=1)).filter(
    lambda ends: ends[0] < float("inf") and ends[1] > float("-inf")
)
shapes = st.one_of(
    st.tuples(finite, finite, finite, finite, heights).map(
        lambda n: Box((min(n[0], n[1]), min(n[2], n[3]), n[4][0]), (max(n[0], n[1]), max(n[2], n[3]), n[4][1]))
    ),
    st.builds(Sphere, st.tuples(finite, finite, finite), st.floats(0, 1e80)),
    st.builds(lambda c, r, h: Cylinder(c, r, *h), st.tuples(finite, finite), st.floats(0, 1e80), heights),
    st.builds(lambda h: Prism([(0, 0), (1.5, 0), (0, 1e-7)], *h), heights),
    st.just(Prism([(0, 0), (8, 0), (0, 8)])),
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(lambda name: name != "geom")
operands = st.one_of(
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


@given(st.data())
def test_text_means_what_the_oracle_says(logic, data):
    tree = data.draw(logic.conditions)
    interest = parse(logic.spelled(tree))
    assert interest == logic.interest(tree)
    assert parse(to_text(interest)) == interest


@given(st.data())
def test_disjunctions_with_regions_are_read_back_equal(logic, data):
    tree = data.draw(logic.disjunctions)
    interest = parse(logic.spelled(tree))
    assert interest == logic.interest(tree)
    assert parse(to_text(interest)) == interest
    assert parse(to_text(interest.simplify())) == interest.simplify()


@given(st.lists(shapes, min_size=1, max_size=3), names, operands, st.sampled_from(["=", "<>", "IN"]))
def test_any_value_is_read_back_equal(pieces, name, operand, operator):
    attribute = attr(name)
    condition = attribute == operand if operator == "=" else attribute != operand
    interest = Interest.of(Region(pieces), "a'b", attribute.is_in([operand, 1]) if operator == "IN" else condition)
    assert parse(to_text(interest)) == interest


@pytest.mark.parametrize(
    ("text", "interest"),
    [
        ("TRUE", EVERYTHING),
        ("FALSE", NOTHING),
        ("S_INTERSECTS(geom, BBOX(0, 1, 2, 3))", Interest.of(Box((0, 1), (2, 3)))),
        ("S_INTERSECTS(geom, BBOX(0, 1, 2, 3, 4, 5))", Interest.of(Box((0, 1, 2), (3, 4, 5)))),
        ("S_INTERSECTS(geom, SPHERE(1, 2, 3, 4.5))", Interest.of(Sphere((1, 2, 3), 4.5))),
        ("S_INTERSECTS(geom, CYLINDER(1, 2, 3))", Interest.of(Cylinder((1, 2), 3))),
        ("S_INTERSECTS(geom, CYLINDER(1, 2, 3, NULL, 5))", Interest.of(Cylinder((1, 2), 3, z1=5))),
        ("S_INTERSECTS(geom, POLYGON((0 0, 8 0, 0 8, 0 0)))", Interest.of(Prism([(0, 0), (8, 0), (0, 8)]))),
        (
            "S_INTERSECTS(geom, PRISM(POLYGON((0 0, 8 0, 0 8, 0 0)), 0, 20))",
            Interest.of(Prism([(0, 0), (8, 0), (0, 8)], 0, 20)),
        ),
        (
            "S_INTERSECTS(geom, PRISM(POLYGON((0 0, 1.5 0, 0 0.0000001, 0 0)), -20.5, 10000000000000000000000.0))",
            Interest.of(TRIANGLE),
        ),
        ("S_INTERSECTS(geom, BOX(NULL, NULL, NULL, NULL, NULL, NULL))", Interest.of(EVERYWHERE)),
        ("S_INTERSECTS(geom, BOX(0, 0, NULL, 1, 1, 5))", Interest.of(Box((0, 0), (1, 1, 5)))),
        ('"device-type" = \'x\' AND speed > 3', Interest.of(where=(attr("device-type") == "x") & (attr("speed") > 3))),
        ('"not" = 1', Interest.of(where=attr("not") == 1)),
        ("name LIKE 'a%'", Interest.of(where=attr("name").like("a%"))),
        ("name LIKE '%a%b' AND name NOT LIKE '%c%'", Interest.of(where="name LIKE '%a%b' AND NOT name LIKE '%c%'")),
        ("x <> 5", Interest.of(where=attr("x") != 5)),
        ("x <> 'a'", Interest.of(where=attr("x") != "a")),
        ("x BETWEEN 1 AND 2", Interest.of(where=attr("x").between(1, 2))),
        ("x IN (TRUE, 1, 'a')", Interest.of(where=attr("x").is_in(["a", 1.0, True]))),
        ("x IS NULL OR x >= 2", Interest.of(where=attr("x").is_null() | (attr("x") >= 2))),
        ("x IS NOT NULL", Interest.of(where=~attr("x").is_null())),
        ("x > 'a' AND x <= 'b'", Interest.of(where=(attr("x") > "a") & (attr("x") <= "b"))),
        ("x >= 'a' AND x < 'c'", Interest.of(where=(attr("x") >= "a") & (attr("x") < "c"))),
        ("x = 1e+300", Interest.of(where=attr("x") == 1e300)),
        ("x = 9007199254740992.0", Interest.of(where=attr("x") == 2**53)),
    ],
)
def test_canonical_text(text, interest):
    assert to_text(interest) == text
    assert parse(text) == interest


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("3 < x", "x > 3"),
        ("s_intersects(geom, point(1 2))", "S_INTERSECTS(geom, BBOX(1, 2, 1, 2))"),
        ("S_INTERSECTS(geom, POINT(1 2 3))", "S_INTERSECTS(geom, BBOX(1, 2, 3, 1, 2, 3))"),
        (
            "S_INTERSECTS(geom, MULTIPOLYGON(((0 0, 1 0, 0 1, 0 0)), ((5 5, 6 5, 5 6, 5 5))))",
            "S_INTERSECTS(geom, POLYGON((0 0, 1 0, 0 1, 0 0))) OR S_INTERSECTS(geom, POLYGON((5 5, 6 5, 5 6, 5 5)))",
        ),
        ("(price > 50 AND price < 200) OR price < 100", "price < 200"),
        ("x NOT IN (1, 2) AND NOT x BETWEEN 0 AND 5", "x < 0 OR x > 5"),
        ("x = 1 OR y = 2 AND x = 3", "x = 1 OR (x = 3 AND y = 2)"),
        ("TRUE AND x = 1", "x = 1"),
        ("FALSE OR x = 1", "x = 1"),
        ("x=-5", "x = -5"),
    ],
)
def test_other_spellings(text, canonical):
    assert to_text(parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, column 1"),
        ("x = = 3", "line 1, column 5, near '= 3'"),
        ("x = 1\n AND y =", "line 2, column 9, where the text ends"),
        ("x = 'a", "line 1, column 5.*not closed"),
        ("x = ;", "column 5.*';'"),
        ("device-type = 'x'", "column 7.*quotes"),
        ("x + 1 = 2", "arithmetic"),
        ("x * 2 = 2", "arithmetic"),
        ("-x = 2", "arithmetic"),
        ("x = 1 -- comment", "arithmetic"),
        ("x = 9007199254740993", "2\\^53"),
        ("x = 9007199254740992", "2\\^53"),
        ("x = 1e999", "column 5"),
        ("S_INTERSECTS(geom, BBOX(0, 0, 1e999, 1))", "double"),
        ("x = NULL", "IS NULL"),
        ("x = y", "attribute y"),
        ("1 = 1", "1.0"),
        ("x", "attribute x is no condition"),
        ("x > TRUE", "no order"),
        ("x LIKE 'a_'", "_"),
        ("x LIKE 3", "3"),
        ("CASEI(x) = 'a'", "CASEI"),
        ("x = DATE('2020-01-01')", "DATE"),
        ("f(x) = 1", "F"),
        ("LIKE(x)", "LIKE"),
        ("x IN (y)", "attribute y"),
        ("geom = 1", "geom"),
        ("A_CONTAINS(x, ('a'))", "A_CONTAINS"),
        ("S_WITHIN(geom, POINT(1 1))", "S_WITHIN"),
        ("S_INTERSECTS(place, POINT(1 1))", "geom"),
        ("S_INTERSECTS(geom)", "geom"),
        ("S_INTERSECTS(geom, geom)", "geom"),
        ("S_INTERSECTS(geom, 3)", "3"),
        ("S_INTERSECTS(geom, LINESTRING(0 0, 1 1))", "LINESTRING"),
        ("S_INTERSECTS(geom, POLYGON EMPTY)", "EMPTY"),
        ("S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1)))", "ring"),
        ("S_INTERSECTS(geom, POLYGON((0 0 1, 1 0 1, 1 1 1, 0 0 1)))", "PRISM"),
        ("S_INTERSECTS(geom, POLYGON((0 0, 1 1, 1 0, 0 1, 0 0)))", "simple"),
        ("S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 0 3)))", "geometry"),
        ("S_INTERSECTS(geom, BBOX(0, 0, 1, 1, 2))", "5 numbers"),
        ("S_INTERSECTS(geom, BBOX(2, 0, 1, 1))", "2.0 to 1.0"),
        ("S_INTERSECTS(geom, SPHERE(1, 2, 3))", "SPHERE"),
        ("S_INTERSECTS(geom, SPHERE(1, 2, 3, NULL))", "SPHERE.*null"),
        ("S_INTERSECTS(geom, SPHERE(1, 2, 3, TRUE))", "SPHERE.*true"),
        ("S_INTERSECTS(geom, SPHERE(1, 2, 3, -4))", "-4"),
        ("S_INTERSECTS(geom, CYLINDER(1, 2, 3, 4))", "CYLINDER"),
        ("S_INTERSECTS(geom, PRISM(1, 2, 3))", "PRISM"),
        ("S_INTERSECTS(geom, PRISM(POLYGON((0 0, 1 0, 1 1, 0 0)), 5, 1))", "5.0 to 1.0"),
        ("S_INTERSECTS(geom, BOX(0, 0, 0, 1, 1))", "BOX"),
        ("NOT S_INTERSECTS(geom, POINT(1 1))", "NOT"),
        ("(" * (MAX_NESTING + 1) + "x = 1" + ")" * (MAX_NESTING + 1), "nested"),
        ("(" * 30_000, "nested"),
        ("NOT " * 10_000 + "x = 1", "nested"),
        ("NOT (" * 60 + "x = 1" + ")" * 60, "nested"),
        ("x = " + "-" * 10_000 + "1", "arithmetic"),
        ("x = 1 OR " * MAX_TEXT, "characters"),
    ],
)
def test_what_is_refused_is_named_in_one_line(text, words):
    with pytest.raises(InterestError, match=words) as error:
        parse(text)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 300


def test_the_deepest_text_that_is_read():
    assert parse("(" * MAX_NESTING + "x = 1" + ")" * MAX_NESTING) == Interest.of(where="x = 1")
    assert parse("NOT " * MAX_NESTING + "x = 1") == Interest.of(where="x = 1")
    assert parse(" OR ".join(f"x = {i}" for i in range(5000))) == Interest.of(where=attr("x").is_in(range(5000)))


@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_word_salad_raises_nothing_else(words):
    try:
        interest = parse(" ".join(words))
    except InterestError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert parse(to_text(interest)) == interest


@pytest.mark.parametrize("condition", [attr("x") == 2**62 + 1, attr("geom") == 1])
def test_what_has_no_text_form_is_refused(condition):
    with pytest.raises(InterestError):
        to_text(Interest.of(where=condition))
