"""The index against a plain list of interests, through insertions, replacements and removals."""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from interest import (
    EVERYTHING,
    EVERYWHERE,
    NOTHING,
    Box,
    Cylinder,
    Interest,
    InterestIndex,
    Point,
    Prism,
    Region,
    Sphere,
    attr,
)
from interest.index import FEW

corners = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
sizes = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
solids = st.builds(lambda c, s: Box(c, [a + b for a, b in zip(c, s, strict=True)]), corners, sizes)
pieces = st.one_of(
    solids,
    st.builds(Sphere, corners, st.integers(0, 3)),
    st.builds(lambda c, r: Cylinder(c[:2], r, c[2]), corners, st.integers(0, 3)),
    st.builds(lambda c, s: Prism([c[:2], (c[0] + s[0] + 1, c[1]), (c[0], c[1] + s[1] + 1)], c[2]), corners, sizes),
    st.just(EVERYWHERE.pieces[0]),
    st.just(Box((-1.7e308, 0, 0), (1.7e308, 1, 1))),
)
wheres = st.sampled_from([None, attr("x") > 1, attr("x") <= 1, attr("x").is_null(), attr("layer") == "a"])
# Some hundred boxes in one interest push the index over to its tree, and back when they go.
swarms = st.integers(0, 5).map(
    lambda at: Region([Box((at + i / 50, at, at), (at + i / 50 + 0.1, at + 1, at + 1)) for i in range(FEW)])
)
regions = st.one_of(st.none(), pieces, swarms, st.lists(pieces, max_size=4).map(Region))
conjunctions = st.builds(lambda region, where: Interest.of(region, where=where), regions, wheres)
interests = st.lists(conjunctions, max_size=3).map(Interest.union)
prisms = pieces.filter(lambda piece: isinstance(piece, Prism))
extents = st.one_of(st.none(), st.builds(Point, corners), st.builds(lambda c: Point(c[:2]), corners), solids, prisms)
attributes = st.fixed_dictionaries({}, optional={"x": st.integers(0, 3), "layer": st.sampled_from("ab")})


class IndexMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.index = InterestIndex()
        self.plain = {}

    @rule(key=st.integers(0, 9), interest=interests)
    def insert(self, key, interest):
        if key in self.plain:
            with pytest.raises(KeyError):
                self.index.insert(key, interest)
        else:
            self.index.insert(key, interest)
            self.plain[key] = interest

    @precondition(lambda self: self.plain)
    @rule(data=st.data(), interest=interests)
    def replace(self, data, interest):
        key = data.draw(st.sampled_from(list(self.plain)))
        self.index.replace(key, interest)
        self.plain[key] = interest

    @precondition(lambda self: self.plain)
    @rule(data=st.data())
    def remove(self, data):
        key = data.draw(st.sampled_from(list(self.plain)))
        self.index.remove(key)
        del self.plain[key]

    @rule(extent=extents, values=attributes)
    def find(self, extent, values):
        assert self.index.find(extent, values) == [
            key for key, interest in self.plain.items() if interest.matches(extent, values)
        ]

    @invariant()
    def size(self):
        assert len(self.index) == len(self.plain)
        assert all((key in self.index) == (key in self.plain) for key in range(10))


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=40, stateful_step_count=25)


def test_a_large_index_finds_what_a_scan_finds():
    rng = random.Random(5)
    index, plain = InterestIndex(), {}
    for step in range(1500):
        key = rng.randrange(300)
        low = [rng.uniform(0, 700) for _ in range(3)]
        boxes = [Box(low, [each + rng.uniform(0, 220) for each in low]) for _ in range(rng.randint(0, 2))]
        wanted = Interest.of(Region(boxes), where=rng.choice((None, "x > 1")))
        if key not in plain:
            index.insert(key, wanted)
            plain[key] = wanted
        elif rng.random() < 0.3:
            index.remove(key)
            del plain[key]
        else:
            index.replace(key, wanted)
            plain[key] = wanted
        if step % 5 == 0:
            place, values = Point([rng.uniform(0, 700) for _ in range(3)]), {"x": rng.randint(0, 3)}
            assert index.find(place, values) == [each for each in plain if plain[each].matches(place, values)]
    for key in list(plain):
        index.remove(key)
    assert len(index) == 0 and index.find(Point((5, 5, 5)), {"x": 2}) == []


def test_unknown_keys_are_the_callers_error():
    index = InterestIndex()
    for call in (lambda: index.replace("a", EVERYTHING), lambda: index.remove("a")):
        with pytest.raises(KeyError):
            call()
    index.insert("a", NOTHING)
    assert "a" in index and index.find(None, {}) == []
