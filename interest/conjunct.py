"""A conjunct: a spatial part and constraints that hold together; and the normal form of a disjunction of conjuncts.

`expression` multiplies conjuncts out, `interest` holds them, `approximate` makes them fewer. CBCB calls a conjunct a
filter and a disjunction a predicate.
"""

from collections.abc import Iterable

import attrs

from interest.constraint import UNCONSTRAINED, Constraints, ValueSet
from interest.errors import InterestError
from interest.region import Region

#: Pairs of terms that one comparison of interests looks into; each may cost `pattern.MAX_STEPS`, and a stranger may
#: have chosen them.
MAX_SEARCHES = 16


@attrs.frozen(cache_hash=True)
class Conjunct:
    """What lies in `region` (None: wherever it is, also without extent) and passes all `constraints`."""

    region: Region | None = None
    constraints: Constraints = UNCONSTRAINED

    @property
    def piece_count(self) -> int:
        return 1 if self.region is None else len(self.region)

    def intersects(self, other: "Conjunct") -> bool:
        return self.constraints.intersects(other.constraints) and (
            self.region is None or other.region is None or self.region.intersects(other.region)
        )

    def covers(self, other: "Conjunct", search: bool = True) -> bool:
        """Does this match all that `other`, which must be satisfiable, matches? No in doubt, and without `search` where
        patterns would have to be compared."""
        return self.constraints.covers(other.constraints, search) and (
            self.region is None or (other.region is not None and self.region.covers(other.region))
        )

    def __and__(self, other: "Conjunct") -> "Conjunct":
        """Both; InterestError if that needs an intersection of regions, which extents with a size do not allow."""
        return Conjunct(_both(self.region, other.region), self.constraints & other.constraints)


def few_patterns(left: Iterable[Conjunct], right: Iterable[Conjunct]) -> bool:
    """May patterns be compared when each conjunct of one side is compared with each of the other?"""
    mine, theirs = (sum(each.constraints.terms for each in side) for side in (left, right))
    return mine * theirs <= MAX_SEARCHES


def _both(left: Region | None, right: Region | None) -> Region | None:
    if left is None or right is None:
        return right if left is None else left
    if left.covers(right):
        return right
    if right.covers(left):
        return left
    raise InterestError("two different spatial parts joined by AND are not supported: give one region, or join by OR")


def normal_form(conjuncts: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    """The same disjunction, sorted, without what nothing can match and with equal constraints only once.

    Regions under equal constraints are united, sets of a single attribute without a spatial part too, and an empty
    conjunct absorbs all others. Takes n log n steps: nothing is compared pair by pair.
    """
    placed: dict[Constraints, list[Region]] = {}
    anywhere: dict[Constraints, None] = {}
    single: dict[str, list[ValueSet]] = {}
    for each in conjuncts:
        constraints, region = each.constraints, each.region
        if not constraints.satisfiable or (region is not None and not region.pieces):
            continue
        if region is not None:
            placed.setdefault(constraints, []).append(region)
        elif not constraints.pairs:
            return (Conjunct(),)
        elif len(constraints.pairs) == 1:
            ((name, values),) = constraints.pairs
            single.setdefault(name, []).append(values)
        else:
            anywhere[constraints] = None
    for name, sets in single.items():
        constraints = Constraints.of({name: sets[0] if len(sets) == 1 else ValueSet.union(sets)})
        if not constraints.pairs:
            return (Conjunct(),)
        anywhere[constraints] = None
    result = [Conjunct(None, constraints) for constraints in anywhere]
    for constraints, regions in placed.items():
        if constraints not in anywhere:
            result.append(Conjunct(regions[0] if len(regions) == 1 else Region.union(regions), constraints))
    if len(result) > 1:
        result.sort(key=lambda each: each.constraints.sort_key)
    return tuple(result)
