"""Fewer conjuncts for an interest: without changing what it matches (`simplify`), or by widening it to a budget.

What routers tell each other is bounded this way; widening costs extra packets, never a lost one. CBCB, section on
predicate simplification: (price > 50 and price < 200) or price < 100 becomes price < 200.
"""

from collections.abc import Sequence
from itertools import pairwise

from interest.conjunct import Conjunct, few_patterns, normal_form
from interest.constraint import ANYTHING, MAX_INTERVALS, Constraints, ValueSet
from interest.errors import InterestError
from interest.region import Region

MAX_PAIRWISE = 128  # conjuncts that are still compared pair by pair
MAX_WEIGHT = 32 * 1024  # bytes, about, that the constraints of an approximation take in binary

Conjuncts = tuple[Conjunct, ...]


def piece_count(conjuncts: Sequence[Conjunct]) -> int:
    return sum(each.piece_count for each in conjuncts)


def simplify(conjuncts: Conjuncts) -> Conjuncts:
    """Conjuncts that match the same, fewer where that is easy to see.

    Unites what differs in one attribute, or not at all, under the same region, and drops what one other conjunct
    covers.
    """
    conjuncts = normal_form(
        each if each.region is None else Conjunct(each.region.simplify(), each.constraints) for each in conjuncts
    )
    while True:
        fewer = conjuncts
        for name in sorted({name for each in conjuncts for name in each.constraints}):
            fewer = _join_on(name, fewer)
        if len(fewer) == len(conjuncts):
            break
        conjuncts = fewer
    return _drop_covered(conjuncts) if len(conjuncts) <= MAX_PAIRWISE else conjuncts


def over_approximate(conjuncts: Conjuncts, budget: int) -> Conjuncts:
    """Conjuncts that match at least the same, of at most `budget` pieces in total, a spatial part that is missing
    counting as one.

    The constraints are bounded too (MAX_INTERVALS, MAX_WEIGHT). Returns what is within all bounds unchanged. First
    simplifies; then, while there are more conjuncts than the budget, merges those that differ least, which widens
    their constraints; then shares the budget among the regions. InterestError for a budget below one.
    """
    if budget < 1:
        raise InterestError(f"Budget is {budget} pieces: give one at least")
    if piece_count(conjuncts) > budget and len(conjuncts) > 1:
        conjuncts = simplify(conjuncts)
    while len(conjuncts) > budget:
        conjuncts = _merge_neighbours(conjuncts, budget)
    conjuncts = _bound_constraints(conjuncts)
    if piece_count(conjuncts) <= budget:
        return conjuncts
    # The smallest regions keep all their pieces if an even share allows, the larger ones divide the rest.
    result, left = [], budget
    by_size = sorted(enumerate(conjuncts), key=lambda entry: (entry[1].piece_count, entry[0]))
    for done, (_, each) in enumerate(by_size):
        share = min(each.piece_count, left // (len(by_size) - done))
        left -= share
        result.append(each if each.region is None else Conjunct(each.region.over_approximate(share), each.constraints))
    return normal_form(result)


def _join_on(name: str, conjuncts: Conjuncts) -> Conjuncts:
    """Unite the conjuncts that agree in all but this attribute."""
    groups: dict[tuple[Region | None, Constraints], list[ValueSet]] = {}
    for each in conjuncts:
        key = (each.region, each.constraints.without(name))
        groups.setdefault(key, []).append(each.constraints.get(name, ANYTHING))
    if len(groups) == len(conjuncts):
        return conjuncts
    return normal_form(
        Conjunct(region, Constraints.of({**rest, name: ValueSet.union(sets)}))
        for (region, rest), sets in groups.items()
    )


def _drop_covered(conjuncts: Conjuncts) -> Conjuncts:
    kept = list(conjuncts)
    search = few_patterns(conjuncts, conjuncts)
    for each in conjuncts:
        if any(other is not each and other.covers(each, search) for other in kept):
            kept = [other for other in kept if other is not each]
    return tuple(kept) if len(kept) < len(conjuncts) else conjuncts


def _merge_neighbours(conjuncts: Conjuncts, target: int) -> Conjuncts:
    """Merge disjoint pairs of neighbours in normal order, cheapest first: at most down to `target`, at least one.

    Neighbours agree in their first attributes' names and then in their values, so that like comes to like without
    comparing all pairs.
    """
    costs = sorted((_cost(left, right), at) for at, (left, right) in enumerate(pairwise(conjuncts)))
    merged: set[int] = set()
    for _, at in costs:
        if len(conjuncts) - len(merged) <= target:
            break
        if at - 1 not in merged and at + 1 not in merged:
            merged.add(at)
    return normal_form(
        _hull(each, conjuncts[at + 1]) if at in merged else each
        for at, each in enumerate(conjuncts)
        if at - 1 not in merged
    )


def _cost(left: Conjunct, right: Conjunct) -> tuple[bool, int, int]:
    """What a merger loses: the spatial part, attributes, agreement in attributes' values."""
    mine, theirs = dict(left.constraints.pairs), dict(right.constraints.pairs)
    shared = mine.keys() & theirs.keys()
    lost = len(mine) + len(theirs) - 2 * len(shared)
    return ((left.region is None) != (right.region is None), lost, sum(mine[name] != theirs[name] for name in shared))


def _hull(left: Conjunct, right: Conjunct) -> Conjunct:
    region = None if left.region is None or right.region is None else left.region | right.region
    return Conjunct(region, left.constraints.hull(right.constraints))


def _bound_constraints(conjuncts: Conjuncts) -> Conjuncts:
    limit = MAX_INTERVALS
    while True:
        if any(values.width > limit for each in conjuncts for values in each.constraints.values()):
            conjuncts = normal_form(Conjunct(each.region, each.constraints.widened(limit)) for each in conjuncts)
        if sum(each.constraints.weight for each in conjuncts) <= MAX_WEIGHT:
            return conjuncts
        if limit > 1:
            limit //= 2
        elif len(conjuncts) > 1:
            conjuncts = _merge_neighbours(conjuncts, len(conjuncts) // 2)
        else:
            (each,) = conjuncts
            heaviest = max(each.constraints, key=lambda name: (each.constraints[name].weight, name))
            conjuncts = normal_form([Conjunct(each.region, each.constraints.without(heaviest))])
