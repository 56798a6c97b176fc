"""What a conjunct demands of one attribute, as the set of values it accepts, and of all attributes together.

Constraints on one attribute are kept as one normalised `ValueSet` and not as a list of comparisons. Covering and
overlap of two conjuncts are then one set operation per attribute, which is complete: {x > 5} covers {x > 10, x < 20},
`x <= "abc"` does not cover the prefix "ab", and contradictions show as empty sets. (The report on CBCB, section on
predicates, leaves this open; Siena compares constraint with constraint and misses these.) Only patterns with inner
wildcards, beyond `pattern.MAX_STEPS` of search, are left in doubt: `covers` then says no and `intersects` yes.
Numbers are taken as dense: the gap between two neighbouring doubles counts as occupied.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import attrs

from interest import cuts, pattern
from interest.cuts import ALL_NUMBERS, ALL_STRINGS, NumberCuts, StringCuts
from interest.errors import InterestError
from interest.pattern import Term
from interest.value import MAX_ATTRIBUTES, Value, check_name, check_operand

MAX_INTERVALS = 64  # of each type in a set that an approximation leaves behind
MAX_TERMS = 64  # pattern terms that an intersection may produce, and patterns in one of them
BOTH_BOOLEANS = 3


@attrs.frozen(cache_hash=True)
class ValueSet:
    """A set of values of one attribute, all types together; `absent` says whether it may be missing.

    `booleans` has bit 0 for false and bit 1 for true. `terms` are the strings that need patterns, beside `strings`.
    Two sets without terms are equal exactly if they contain the same values.
    """

    absent: bool = False
    booleans: int = 0
    numbers: NumberCuts = ()
    strings: StringCuts = ()
    terms: tuple[Term, ...] = ()

    def contains(self, value: Value | None) -> bool:
        """Does the set contain a value, or, for None, the attribute's absence?"""
        if isinstance(value, str):
            return cuts.contains(self.strings, (0, value)) or (
                bool(self.terms) and any(term.contains(value) for term in self.terms)
            )
        if isinstance(value, bool):
            return self.booleans >> value & 1 == 1
        if isinstance(value, float | int):
            return cuts.contains(self.numbers, (value, 0))
        if value is None:
            return self.absent
        raise InterestError(f"an attribute's value is a str, int, float or bool, not {value!r}")

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders sets totally; plain tuples compare many times faster than attrs classes do."""
        return (self.absent, self.booleans, self.numbers, self.strings, self.terms)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.strings or self.terms or self.booleans or self.absent)

    def __or__(self, other: "ValueSet") -> "ValueSet":
        return ValueSet.union((self, other))

    @staticmethod
    def union(sets: Iterable["ValueSet"]) -> "ValueSet":
        sets = list(sets)
        strings = cuts.union([each.strings for each in sets])
        booleans = 0
        for each in sets:
            booleans |= each.booleans
        return ValueSet(
            any(each.absent for each in sets),
            booleans,
            cuts.union([each.numbers for each in sets]),
            strings,
            _normal(strings, [term for each in sets for term in each.terms]),
        )

    def __and__(self, other: "ValueSet") -> "ValueSet":
        """The values in both; InterestError if patterns multiply beyond MAX_TERMS."""
        strings: StringCuts = cuts.intersection(self.strings, other.strings)
        terms: list[Term] = []
        if self.terms or other.terms:
            mine, others = self._all_terms(), other._all_terms()
            if len(mine) * len(others) > MAX_TERMS:
                raise InterestError(f"LIKE patterns on one attribute multiply out to more than {MAX_TERMS}: use fewer")
            pairs = [_both(left, right) for left in mine for right in others]
            terms = [term for term in pairs if term.required or term.refused]
            if any(len(term.required) + len(term.refused) > MAX_TERMS for term in terms):
                raise InterestError(f"more than {MAX_TERMS} LIKE patterns on one attribute joined by AND: use fewer")
        return ValueSet(
            self.absent and other.absent,
            self.booleans & other.booleans,
            cuts.intersection(self.numbers, other.numbers),
            strings,
            _normal(strings, [term for term in terms if pattern.satisfiable(term) is not False]),
        )

    def covers(self, other: "ValueSet", search: bool = True) -> bool:
        """Is every value of `other` in this set? No in doubt. Without `search` the same terms are needed here."""
        if self == other:
            return True
        if other.absent > self.absent or other.booleans & ~self.booleans:
            return False
        if not cuts.is_subset(other.numbers, self.numbers):
            return False
        if not self.terms and not other.terms:
            return cuts.is_subset(other.strings, self.strings)
        if not search:
            return cuts.is_subset(other.strings, self.strings) and set(other.terms) <= set(self.terms)
        mine = self._all_terms()
        return all(pattern.satisfiable(term, mine) is False for term in other._all_terms())

    def intersects(self, other: "ValueSet") -> bool:
        """Is there a value, or the absence, in both? Yes in doubt."""
        if (self.absent and other.absent) or self.booleans & other.booleans:
            return True
        if cuts.intersection(self.numbers, other.numbers):
            return True
        if cuts.intersection(self.strings, other.strings):
            return True
        if not self.terms and not other.terms:
            return False
        return any(
            pattern.satisfiable(_both(mine, theirs)) is not False
            for mine in self._all_terms()
            for theirs in other._all_terms()
        )

    @property
    def width(self) -> int:
        """How many intervals and terms describe the set, of the type that has most."""
        return max(len(self.numbers) // 2, len(self.strings) // 2, len(self.terms))

    @cached_property
    def weight(self) -> int:
        """About how many bytes the set takes in binary."""
        texts = [text for each in self._all_terms() for _, text in each.within]
        texts += [part for term in self.terms for p in (*term.required, *term.refused) for part in p]
        return 10 * len(self.numbers) + 8 * len(self.terms) + sum(4 + len(text.encode()) for text in texts)

    def widened(self, limit: int) -> "ValueSet":
        """A superset of at most `limit` intervals per type: the narrowest gaps are closed, surplus terms dropped."""
        if self.width <= limit:
            return self
        if len(self.terms) > limit:
            return attrs.evolve(self, strings=ALL_STRINGS, terms=()).widened(limit)
        strings = _close_gaps(self.strings, limit, _string_gap)
        return ValueSet(
            self.absent,
            self.booleans,
            _close_gaps(self.numbers, limit, _number_gap),
            strings,
            _normal(strings, list(self.terms)),
        )

    def _all_terms(self) -> tuple[Term, ...]:
        return (Term(self.strings), *self.terms) if self.strings else self.terms


ANYTHING = ValueSet(True, BOTH_BOOLEANS, ALL_NUMBERS, ALL_STRINGS)
PRESENT = ValueSet(False, BOTH_BOOLEANS, ALL_NUMBERS, ALL_STRINGS)
ABSENT = ValueSet(absent=True)


def equal(value: Value) -> ValueSet:
    value = check_operand(value)
    if isinstance(value, bool):
        return ValueSet(booleans=2 if value else 1)
    if isinstance(value, str):
        return ValueSet(strings=((0, value), (0, cuts.just_after(value))))
    return ValueSet(numbers=((value, 0), (value, 1)))


def at_least(value: Value) -> ValueSet:
    value = _ordered(value)
    if isinstance(value, str):
        return ValueSet(strings=((0, value), ALL_STRINGS[1]))
    return ValueSet(numbers=((value, 0), ALL_NUMBERS[1]))


def greater(value: Value) -> ValueSet:
    value = _ordered(value)
    if isinstance(value, str):
        return ValueSet(strings=((0, cuts.just_after(value)), ALL_STRINGS[1]))
    return ValueSet(numbers=((value, 1), ALL_NUMBERS[1]))


def like(text: str) -> ValueSet:
    """The strings that match a LIKE text; InterestError for `_` and a stray backslash."""
    if not isinstance(text, str):
        raise InterestError(f"LIKE needs a string, not {text!r}")
    check_operand(text)
    parts = pattern.parse(text)
    if len(parts) == 1:
        return equal(parts[0])
    if len(parts) == 2 and not parts[1]:
        return ValueSet(strings=pattern.prefix(parts))
    return ValueSet(terms=(Term(pattern.prefix(parts), (parts,)),))


def same_type_complement(values: ValueSet) -> ValueSet:
    """The values of the same type that are outside a set made by `equal`, `at_least`, `greater` or `like`.

    That is where the comparison is false and not unknown, hence where its NOT is true.
    """
    if values.booleans:
        return ValueSet(booleans=values.booleans ^ BOTH_BOOLEANS)
    if values.terms:
        return ValueSet(terms=(Term(ALL_STRINGS, (), values.terms[0].required),))
    if values.numbers:
        return ValueSet(numbers=cuts.complement(values.numbers, ALL_NUMBERS))
    return ValueSet(strings=cuts.complement(values.strings, ALL_STRINGS))


@attrs.frozen(cache_hash=True)
class Constraints(Mapping[str, ValueSet]):
    """What a conjunct demands of the attributes: a mapping from names, sorted, to sets that exclude something.

    An attribute that is not named may have any value or be absent.
    """

    pairs: tuple[tuple[str, ValueSet], ...] = ()

    @staticmethod
    def of(sets: Mapping[str, ValueSet]) -> "Constraints":
        """Constraints from sets that may be unrestricted; InterestError for an impossible name."""
        return Constraints(_sorted({check_name(name): each for name, each in sets.items() if each != ANYTHING}))

    def __getitem__(self, name: str) -> ValueSet:
        for each, values in self.pairs:
            if each == name:
                return values
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.pairs])

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders constraints totally: by the first name, then by what is demanded of it, and so on."""
        return tuple([(name, values.sort_key) for name, values in self.pairs])

    @cached_property
    def satisfiable(self) -> bool:
        return all(values for _, values in self.pairs)

    def match(self, attributes: Mapping[str, Value]) -> bool:
        for name, values in self.pairs:  # noqa: SIM110  # on the forwarding path, where all() costs twice as much
            if not values.contains(attributes.get(name)):
                return False
        return True

    def __and__(self, other: "Constraints") -> "Constraints":
        if not other.pairs or self == other:
            return self
        if not self.pairs:
            return other
        sets = dict(self.pairs)
        for name, values in other.pairs:
            mine = sets.get(name)
            sets[name] = values if mine is None else mine & values
        if len(sets) > MAX_ATTRIBUTES:
            raise InterestError(f"a condition on {len(sets)} attributes together: at most {MAX_ATTRIBUTES} are allowed")
        return Constraints(_sorted(sets))

    def hull(self, other: "Constraints") -> "Constraints":
        """Constraints that everything passes which passes one of the two: attribute by attribute the union."""
        theirs = dict(other.pairs)
        return Constraints.of(
            {name: (values | theirs[name]).widened(MAX_INTERVALS) for name, values in self.pairs if name in theirs}
        )

    def covers(self, other: "Constraints", search: bool = True) -> bool:
        """Does everything that passes `other`, which must be satisfiable, pass these? No in doubt, and without `search`
        where patterns would have to be compared."""
        if self.pairs == other.pairs:
            return True
        theirs = dict(other.pairs)
        return all(name in theirs and values.covers(theirs[name], search) for name, values in self.pairs)

    def intersects(self, other: "Constraints") -> bool:
        """May something pass both? Yes in doubt."""
        theirs = dict(other.pairs)
        return all(name not in theirs or values.intersects(theirs[name]) for name, values in self.pairs)

    @cached_property
    def terms(self) -> int:
        """How many terms with patterns there are."""
        return sum(len(values.terms) for _, values in self.pairs)

    @cached_property
    def weight(self) -> int:
        """About how many bytes the constraints take in binary."""
        return sum(len(name.encode()) + values.weight + 16 for name, values in self.pairs)

    def without(self, dropped: str) -> "Constraints":
        return Constraints(tuple(pair for pair in self.pairs if pair[0] != dropped))

    def widened(self, limit: int) -> "Constraints":
        if all(values.width <= limit for _, values in self.pairs):
            return self
        return Constraints.of({name: values.widened(limit) for name, values in self.pairs})


UNCONSTRAINED = Constraints()


def _sorted(sets: Mapping[str, ValueSet]) -> tuple[tuple[str, ValueSet], ...]:
    return tuple([(name, sets[name]) for name in sorted(sets)])


def _ordered(value: Value) -> str | int | float:
    if isinstance(value, bool):
        raise InterestError(f"booleans have no order: compare with = or <>, not with < or > {value}")
    return check_operand(value)


def _both(left: Term, right: Term) -> Term:
    return Term(
        cuts.intersection(left.within, right.within),
        tuple(sorted({*left.required, *right.required})),
        tuple(sorted({*left.refused, *right.refused})),
    )


def _normal(strings: StringCuts, terms: list[Term]) -> tuple[Term, ...]:
    """Terms with the same patterns united, those inside `strings` dropped, sorted."""
    if not terms:
        return ()
    groups: dict[tuple[Any, Any], list[StringCuts]] = {}
    for term in terms:
        groups.setdefault((term.required, term.refused), []).append(term.within)
    united = [Term(cuts.union(within), *patterns) for patterns, within in groups.items()]
    return tuple(sorted(term for term in united if not cuts.is_subset(term.within, strings)))


def _close_gaps(sorted_cuts: tuple[cuts.C, ...], limit: int, size: Callable[[Any, Any], Any]) -> tuple[cuts.C, ...]:
    surplus = len(sorted_cuts) // 2 - limit
    if surplus <= 0:
        return sorted_cuts
    gaps = sorted(range(1, len(sorted_cuts) - 1, 2), key=lambda at: (size(sorted_cuts[at], sorted_cuts[at + 1]), at))
    closed = set(gaps[:surplus])
    return tuple(cut for at, cut in enumerate(sorted_cuts) if at not in closed and at - 1 not in closed)


def _number_gap(low: tuple[float, int], high: tuple[float, int]) -> float:
    return high[0] - low[0]


def _string_gap(low: tuple[int, str], high: tuple[int, str]) -> int:
    """Gaps between strings that begin alike count as narrow."""
    common = 0
    for left, right in zip(low[1], high[1], strict=False):
        if left != right:
            break
        common += 1
    return -common
