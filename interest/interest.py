"""The type that everything is about: what someone wants, as a disjunction of regions with constraints.

CBSMRP's subscription and clipping regions, CBCB's predicates and SemCast's profiles are all values of this type.
Approximation only ever widens: `covers` says no when in doubt, `intersects` yes; `matches` is exact.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain

import attrs

from interest import approximate, cql2_reader
from interest.conjunct import Conjunct, few_patterns, normal_form
from interest.errors import InterestError
from interest.expression import All, Expression, attr, within
from interest.extent import Extent
from interest.region import Region
from interest.shapes import Bounds, Piece
from interest.value import LAYER, Value


@attrs.frozen(cache_hash=True)
class Interest:
    """A disjunction of conjuncts, always in normal form (`conjunct.normal_form`), immutable and hashable.

    No conjunct: nothing matches (`NOTHING`); an empty conjunct: everything does (`EVERYTHING`). Equal interests match
    the same; unequal ones may do so too.
    """

    conjuncts: tuple[Conjunct, ...] = attrs.field(default=(), converter=normal_form)

    @staticmethod
    def of(
        region: Region | Piece | None = None,
        layer: str | None = None,
        where: "str | Expression | Interest | None" = None,
    ) -> "Interest":
        """What touches `region`, is published on `layer`, and fulfils `where`, each of them unless None.

        `where` is a CQL2 text, a condition such as `attr("speed") > 3`, or an interest. Raises InterestError.
        """
        parts: list[Expression] = []
        if region is not None:
            parts.append(within(region))
        if layer is not None:
            parts.append(attr(LAYER) == layer)
        if isinstance(where, Interest):
            parts.append(_Given(where.conjuncts))
        elif where is not None:
            if not isinstance(where, str | Expression):
                raise InterestError(f"where {where!r}: give CQL2 text, a condition such as attr('speed') > 3")
            parts.append(cql2_reader.parse_expression(where) if isinstance(where, str) else where)
        return Interest(All(tuple(parts)).conjuncts())

    @staticmethod
    def union(interests: "Iterable[Interest]") -> "Interest":
        """What at least one of the interests matches: in one go, without comparing them pair by pair."""
        return Interest(chain.from_iterable([each.conjuncts for each in interests]))

    def __or__(self, other: "Interest") -> "Interest":
        if not isinstance(other, Interest):
            return NotImplemented
        if not other.conjuncts or self.conjuncts is other.conjuncts:
            return self
        return Interest(self.conjuncts + other.conjuncts) if self.conjuncts else other

    def __bool__(self) -> bool:
        """Whether anything can match."""
        return bool(self.conjuncts)

    def matches(self, extent: Extent, attributes: Mapping[str, Value]) -> bool:
        """Does a publication with this extent and these attributes match? Exact as far as `Region.matches` is."""
        for each in self.conjuncts:
            if each.constraints.match(attributes) and (each.region is None or each.region.matches(extent)):
                return True
        return False

    def intersects(self, other: "Interest") -> bool:
        """May one publication match both? Yes in doubt. Regions need a common point: two regions that only a
        publication with a large extent touches together do not count."""
        return any(mine.intersects(theirs) for mine in self.conjuncts for theirs in other.conjuncts)

    def covers(self, other: "Interest") -> bool:
        """Does this match all that `other` matches? No in doubt.

        Each conjunct of `other` must be covered by one conjunct here, or by the united regions of several whose
        constraints cover its own.
        """
        held = set(self.conjuncts)  # most of what is compared is what it was before
        left = [each for each in other.conjuncts if each not in held]
        search = few_patterns(self.conjuncts, left)
        return all(self._covers(conjunct, search) for conjunct in left)

    def _covers(self, conjunct: Conjunct, search: bool) -> bool:
        regions = []
        for mine in self.conjuncts:
            if mine.constraints.covers(conjunct.constraints, search):
                if mine.region is None:
                    return True
                regions.append(mine.region)
        if not regions or conjunct.region is None:
            return False
        return (regions[0] if len(regions) == 1 else Region.union(regions)).covers(conjunct.region)

    @cached_property
    def piece_count(self) -> int:
        """Pieces in all regions; a conjunct without spatial part counts as one."""
        return approximate.piece_count(self.conjuncts)

    @cached_property
    def bounds(self) -> Bounds | None:
        """A box around all regions; None if a conjunct has no spatial part, and for NOTHING."""
        if any(each.region is None for each in self.conjuncts):
            return None
        return Region.union(each.region for each in self.conjuncts if each.region is not None).bounds

    def simplify(self) -> "Interest":
        """An interest that matches the same, in fewer conjuncts and pieces where that is easy to see."""
        return self._of(approximate.simplify(self.conjuncts))

    def over_approximate(self, budget: int) -> "Interest":
        """An interest that matches at least the same, of at most `budget` pieces, small enough for one value of the
        binary form; itself where it is that already. See `approximate.over_approximate`."""
        return self._of(approximate.over_approximate(self.conjuncts, budget))

    def _of(self, conjuncts: tuple[Conjunct, ...]) -> "Interest":
        return self if conjuncts is self.conjuncts else Interest(conjuncts)


@attrs.frozen
class _Given(Expression):
    """An interest as a part of a condition."""

    given: tuple[Conjunct, ...]

    def conjuncts(self, negated: bool = False) -> tuple[Conjunct, ...]:
        assert not negated  # `of` only ever joins it by AND
        return self.given


NOTHING = Interest()
EVERYTHING = Interest((Conjunct(),))
