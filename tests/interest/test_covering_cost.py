"""Interests come from strangers: comparing two of them may not take longer because somebody chose them badly."""

import pytest

from interest import Box, Interest, attr, pattern
from interest.conjunct import MAX_SEARCHES


def crowd(first, count):
    """Overlapping boxes, each with a pattern of its own in which the search goes far."""
    return Interest.union(
        Interest.of(
            Box((i, 0), (i + 900, 1000)), None, attr("a").like("%x%" + "xx%" * 30 + chr(97 + i % 26) + str(i) + "%")
        )
        for i in range(first, first + count)
    )


@pytest.fixture
def searches(monkeypatch):
    calls = []
    plain = pattern.satisfiable
    monkeypatch.setattr(pattern, "satisfiable", lambda *terms: calls.append(terms) or plain(*terms))
    return calls


def test_many_patterns_are_not_compared_with_many(searches):
    before, after = crowd(0, 64), crowd(1, 64)
    assert not before.covers(after) and not after.covers(before)
    before.over_approximate(16)
    assert len(searches) <= 4 * MAX_SEARCHES


def test_what_both_hold_needs_no_comparison(searches):
    small, large = crowd(0, 40), crowd(0, 64)
    assert large.covers(small) and searches == []


def test_few_patterns_are_compared_as_ever(searches):
    wide, narrow = (Interest.of(Box((0, 0), (9, 9)), None, attr("a").like(text)) for text in ("%b%", "%abc%"))
    assert wide.covers(narrow) and not narrow.covers(wide) and searches
