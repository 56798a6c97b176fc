"""An oracle for conditions on attributes that asks no code of `interest`: trees of tuples, evaluated in three values.

A tree is ("and", ...), ("or", ...), ("not", tree), ("box", x0, y0, x1, y1) or (operator, name, operand, ...). It can be
evaluated here, built with the Python constructors, and spelled as CQL2. The universe holds a value between, on and
beyond all operands that the strategies draw, and strings longer than all of them, so that two conditions that agree on
it agree.
"""

import re
from functools import cached_property
from itertools import product
from typing import Any

import pytest
from hypothesis import strategies as st

from interest import Box, Expression, Interest, Point, Value, attr, within

Tree = tuple[Any, ...]

NUMBERS: list[Value] = [0, 1.0, 2, 3.0]
STRINGS: list[Value] = ["", "a", "b", "ab", "ba", "aa"]
PATTERNS = ["a%", "%b", "%a%", "a%b", "%", "a%b%", "%ab%", "ab"]
UNIVERSE: list[Value | None] = [
    *(None, True, False, float("-inf"), -1, 0, 0.5, 1, 1.5, 2.0, 2.5, 3, 3.5, float("inf")),
    *("".join(letters) for length in range(5) for letters in product("!abc", repeat=length)),
]
PLACES = [None, *((x / 2, y / 2) for x in range(-1, 8) for y in range(-1, 8))]
ALWAYS = ("or", ("null", "x"), ("not", ("null", "x")))
COMPARE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def kind(value: object) -> str:
    return "text" if isinstance(value, str) else "truth" if isinstance(value, bool) else "number"


def truth(tree: Tree, attributes: dict[str, Value], place: tuple[float, float] | None = None) -> bool | None:
    """True, False, or None for unknown."""
    operator, *rest = tree
    if operator in ("and", "or"):
        decisive = operator == "or"
        results = [truth(each, attributes, place) for each in rest]
        return decisive if decisive in results else None if None in results else not decisive
    if operator == "not":
        result = truth(rest[0], attributes, place)
        return None if result is None else not result
    if operator == "box":
        x0, y0, x1, y1 = rest
        return place is not None and x0 <= place[0] <= x1 and y0 <= place[1] <= y1
    name, *operands = rest
    value = attributes.get(name)
    if operator == "null":
        return value is None
    if operator == "in":
        return truth(("or", *(("=", name, each) for each in operands)), attributes)
    if operator == "between":
        return truth(("and", (">=", name, operands[0]), ("<=", name, operands[1])), attributes)
    if value is None or kind(value) != kind(operands[0]):
        return None
    if operator == "like":
        return re.fullmatch(".*".join(map(re.escape, operands[0].split("%"))), str(value), re.DOTALL) is not None
    return COMPARE[operator](value, operands[0])


def built(tree: Tree) -> Expression:
    """The tree made with the Python constructors."""
    operator, *rest = tree
    if operator in ("and", "or"):
        result = built(rest[0])
        for each in rest[1:]:
            result = result & built(each) if operator == "and" else result | built(each)
        return result
    if operator == "not":
        return ~built(rest[0])
    if operator == "box":
        return within(Box(rest[:2], rest[2:]))
    attribute, operands = attr(rest[0]), rest[1:]
    if operator == "null":
        return attribute.is_null()
    if operator == "in":
        return attribute.is_in(operands)
    if operator == "between":
        return attribute.between(*operands)
    return attribute.like(operands[0]) if operator == "like" else COMPARE[operator](attribute, operands[0])


def spelled(tree: Tree) -> str:
    """The tree as CQL2 text."""
    operator, *rest = tree
    if operator in ("and", "or"):
        return "(" + f" {operator.upper()} ".join(map(spelled, rest)) + ")"
    if operator == "not":
        return f"NOT {spelled(rest[0])}"
    if operator == "box":
        return f"S_INTERSECTS(geom, BBOX({', '.join(map(str, rest))}))"
    name, operands = rest[0], [literal(each) for each in rest[1:]]
    if operator == "null":
        return f"{name} IS NULL"
    if operator == "in":
        return f"{name} IN ({', '.join(operands)})"
    if operator == "between":
        return f"{name} BETWEEN {operands[0]} AND {operands[1]}"
    return f"{name} {operator.upper()} {operands[0]}"


def literal(value: Value) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).upper()


def comparisons(names: st.SearchStrategy[str]) -> st.SearchStrategy[Tree]:
    numbers, strings = st.sampled_from(NUMBERS), st.sampled_from(STRINGS)
    ordered = st.one_of(numbers, strings)
    return st.one_of(
        st.tuples(st.sampled_from(["=", "<>"]), names, st.one_of(ordered, st.booleans())),
        st.tuples(st.sampled_from(["<", "<=", ">", ">="]), names, ordered),
        st.tuples(st.just("between"), names, numbers, numbers),
        st.tuples(st.just("between"), names, strings, strings),
        st.tuples(st.just("in"), names, st.one_of(ordered, st.booleans()), ordered),
        st.tuples(st.just("like"), names, st.sampled_from(PATTERNS)),
        st.tuples(st.just("null"), names),
    )


def literals(names: st.SearchStrategy[str]) -> st.SearchStrategy[Tree]:
    return st.one_of(comparisons(names), st.tuples(st.just("not"), comparisons(names)))


def boxes() -> st.SearchStrategy[Tree]:
    spans = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2))
    return spans.map(lambda s: ("box", s[0], s[2], s[0] + s[1], s[2] + s[3]))


class Logic:
    """What the tests of this directory draw and ask; a fixture, because test modules are not importable."""

    truth = staticmethod(truth)
    built = staticmethod(built)
    spelled = staticmethod(spelled)
    universe = UNIVERSE
    names = st.sampled_from(["x", "y"])
    few_values = (None, True, 0, 0.5, 1, 2.5, 3, "", "a", "ab", "abb", "b", "ba", "c")
    # Trees without a spatial part, of any shape.
    conditions = st.recursive(
        comparisons(names),
        lambda trees: st.one_of(
            st.tuples(st.just("and"), trees, trees),
            st.tuples(st.just("or"), trees, trees),
            st.tuples(st.just("not"), trees),
        ),
        max_leaves=8,
    )
    # Conjunctions of comparisons of one attribute, and of two.
    conjunctions = st.lists(literals(st.just("x")), min_size=1, max_size=3).map(lambda parts: ("and", *parts))
    wide_conjunctions = st.lists(literals(names), min_size=1, max_size=4).map(lambda parts: ("and", *parts))
    # Disjunctions of conjunctions with boxes and attributes.
    disjunctions = st.lists(
        st.tuples(st.none() | boxes(), st.lists(literals(names), max_size=2)).map(
            lambda parts: ("and", *([parts[0]] if parts[0] else []), *parts[1], ALWAYS)
        ),
        min_size=1,
        max_size=4,
    ).map(lambda parts: ("or", *parts))

    @staticmethod
    def name_of(tree: Tree) -> str:
        """The attribute of a comparison or its NOT."""
        return str(tree[1][1] if tree[0] == "not" else tree[1])

    def interest(self, tree: Tree) -> Interest:
        return Interest.of(where=built(tree))

    @cached_property
    def publications(self) -> list[tuple[tuple[float, float] | None, dict[str, Value]]]:
        """Every pair of values, each at a few places."""
        values = [dict(zip("xy", pair, strict=True)) for pair in product(self.few_values, repeat=2)]
        kept = [{name: value for name, value in each.items() if value is not None} for each in values]
        return [(place, each) for at, each in enumerate(kept) for place in PLACES[at % 11 :: 11]]

    def matched(self, interest: Interest) -> set[int]:
        """Which of `publications` an interest matches."""
        return {
            number
            for number, (place, attributes) in enumerate(self.publications)
            if interest.matches(None if place is None else Point(place), attributes)
        }


@pytest.fixture(scope="session")
def logic() -> Logic:
    return Logic()
