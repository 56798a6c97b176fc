"""Conditions as trees of AND, OR and NOT, and their multiplication into conjuncts.

`attr("speed") > 3` and `within(Sphere(...))` make leaves, `&`, `|` and `~` join them; `cql2_reader` makes the same
trees from text, and `Interest.of` turns them into interests. Logic is three-valued: a comparison with an absent
attribute or a value of another type is unknown, NOT of unknown is unknown, and only true matches. Hence each
comparison is a pair of sets, where it is true and where it is false, and NOT swaps them.
"""

import abc
from collections.abc import Iterable
from typing import ClassVar, Literal

import attrs

from interest import constraint
from interest.conjunct import Conjunct, normal_form
from interest.constraint import ABSENT, PRESENT, Constraints, ValueSet
from interest.errors import InterestError
from interest.region import Region
from interest.shapes import Piece
from interest.value import LAYER, Value, check_name

MAX_CONJUNCTS = 1024  # an expression may multiply out to

Conjuncts = tuple[Conjunct, ...]
Operator = Literal["=", "<>", "<", "<=", ">", ">="]


class Expression(abc.ABC):
    """A condition; join with `&`, `|` and `~`."""

    __slots__ = ()

    @abc.abstractmethod
    def conjuncts(self, negated: bool = False) -> Conjuncts:
        """Where the condition is true (or, if `negated`, false), as conjuncts in normal form.

        InterestError for more than MAX_CONJUNCTS, for NOT of a spatial part and for two regions joined by AND.
        """

    def __and__(self, other: "Expression") -> "Expression":
        return All((*_parts(self, All), *_parts(other, All)))

    def __or__(self, other: "Expression") -> "Expression":
        return Any((*_parts(self, Any), *_parts(other, Any)))

    def __invert__(self) -> "Expression":
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a condition has no truth value: join conditions with & | ~, not with and, or, not, a < x < b")


@attrs.frozen
class Comparison(Expression):
    """A comparison of one attribute, as the values for which it is true and for which it is false."""

    name: str
    true: ValueSet
    false: ValueSet

    def conjuncts(self, negated: bool = False) -> Conjuncts:
        return normal_form([Conjunct(None, Constraints.of({self.name: self.false if negated else self.true}))])


@attrs.frozen
class Within(Expression):
    """The spatial part: the publication's extent touches the region."""

    region: Region

    def conjuncts(self, negated: bool = False) -> Conjuncts:
        if negated:
            raise InterestError("NOT of a spatial part is not supported: say where, not where not")
        return normal_form([Conjunct(self.region)])


@attrs.frozen
class All(Expression):
    """AND; of nothing, true."""

    parts: tuple[Expression, ...] = ()

    def conjuncts(self, negated: bool = False) -> Conjuncts:
        results = [part.conjuncts(negated) for part in self.parts]
        return _disjunction(results) if negated else _conjunction(results)


@attrs.frozen
class Any(Expression):
    """OR; of nothing, false."""

    parts: tuple[Expression, ...] = ()

    def conjuncts(self, negated: bool = False) -> Conjuncts:
        results = [part.conjuncts(negated) for part in self.parts]
        return _conjunction(results) if negated else _disjunction(results)


@attrs.frozen
class Not(Expression):
    part: Expression

    def conjuncts(self, negated: bool = False) -> Conjuncts:
        return self.part.conjuncts(not negated)


class Attribute:
    """An attribute to compare: `attr("speed") > 3`, `attr("team").is_in([1, 2])`, `attr("name").like("a%")`.

    Every comparison raises InterestError for a value that cannot be compared with.
    """

    __slots__ = ("name",)
    __hash__: ClassVar[None]  # type: ignore[assignment]  # == makes a condition, so a dictionary could not find it

    def __init__(self, name: str) -> None:
        self.name = check_name(name)

    def __eq__(self, value: Value) -> Expression:  # type: ignore[override]  # a condition, as in every query builder
        return compare(self.name, "=", value)

    def __ne__(self, value: Value) -> Expression:  # type: ignore[override]
        return compare(self.name, "<>", value)

    def __lt__(self, value: Value) -> Expression:
        return compare(self.name, "<", value)

    def __le__(self, value: Value) -> Expression:
        return compare(self.name, "<=", value)

    def __gt__(self, value: Value) -> Expression:
        return compare(self.name, ">", value)

    def __ge__(self, value: Value) -> Expression:
        return compare(self.name, ">=", value)

    def between(self, low: Value, high: Value) -> Expression:
        """From `low` to `high`, both included; they are of one type."""
        if isinstance(low, str) != isinstance(high, str):
            raise InterestError(f"BETWEEN {low!r} AND {high!r}: both ends must be numbers, or both strings")
        return (self >= low) & (self <= high)

    def is_in(self, values: Iterable[Value]) -> Expression:
        if isinstance(values, str):
            raise InterestError(f"is_in({values!r}): give a list of values")
        return Any(tuple(self == value for value in values))

    def like(self, pattern: str) -> Expression:
        """Strings that match a pattern in which `%` stands for anything; `\\%` is a plain percent sign."""
        return _comparison(self.name, constraint.like(pattern))

    def is_null(self) -> Expression:
        return Comparison(self.name, ABSENT, PRESENT)

    def is_not_null(self) -> Expression:
        return Comparison(self.name, PRESENT, ABSENT)


attr = Attribute


def within(region: Region | Piece) -> Expression:
    """The publication's extent touches a region or piece."""
    return Within(region if isinstance(region, Region) else Region((region,)))


def compare(name: str, operator: Operator, value: Value) -> Expression:
    if name == LAYER and not isinstance(value, str):
        raise InterestError(f"{LAYER} {operator} {value!r} can never match: a layer is a text, give one in quotes")
    if operator in ("=", "<>"):
        result = _comparison(name, constraint.equal(value))
        return result if operator == "=" else Comparison(name, result.false, result.true)
    if operator in (">", "<="):
        result = _comparison(name, constraint.greater(value))
        return result if operator == ">" else Comparison(name, result.false, result.true)
    result = _comparison(name, constraint.at_least(value))
    return result if operator == ">=" else Comparison(name, result.false, result.true)


def _comparison(name: str, true: ValueSet) -> Comparison:
    return Comparison(name, true, constraint.same_type_complement(true))


def _parts(expression: Expression, kind: type[All] | type[Any]) -> tuple[Expression, ...]:
    if isinstance(expression, All | Any) and type(expression) is kind:
        return expression.parts
    if not isinstance(expression, Expression):
        raise InterestError(f"cannot join a condition with {expression!r}: give another condition")
    return (expression,)


def _disjunction(results: list[Conjuncts]) -> Conjuncts:
    result = normal_form([each for conjuncts in results for each in conjuncts])
    _check_size(len(result))
    return result


def _conjunction(results: list[Conjuncts]) -> Conjuncts:
    product: Conjuncts = (Conjunct(),)
    for conjuncts in results:
        _check_size(len(product) * len(conjuncts))
        product = normal_form([left & right for left in product for right in conjuncts])
    return product


def _check_size(size: int) -> None:
    if size > MAX_CONJUNCTS:
        raise InterestError(
            f"the condition multiplies out to {size} alternatives, at most {MAX_CONJUNCTS} are allowed: split it"
        )
