"""From conjuncts to the CQL2 text that `cql2_reader` reads back as equal ones.

One canonical spelling: alternatives joined by OR, each a spatial part and then the attributes in order of their names,
joined by AND. TRUE is the interest in everything, FALSE the interest in nothing.
"""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from interest import pattern
from interest.conjunct import Conjunct
from interest.constraint import PRESENT, ValueSet
from interest.cql2_reader import GEOMETRY, MAX_INTEGER
from interest.cuts import ALL_NUMBERS, ALL_STRINGS, NumberCut, StringCut, complement, intersection, prefix_cuts
from interest.errors import InterestError
from interest.pattern import Term
from interest.region import Region
from interest.shapes import Box, Cylinder, Piece, Prism, Ring

C = TypeVar("C")

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(
    (
        *("AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "DIV", "CASEI", "ACCENTI"),
        *("DATE", "TIMESTAMP", "INTERVAL", "BBOX", "EMPTY", "Z", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT"),
        *("MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"),
    )
)


def conjuncts_to_text(conjuncts: Iterable[Conjunct]) -> str:
    """InterestError for an integer beyond 2^53 that is no double, and for an attribute called `geom`."""
    return _join("OR", [_conjunct(each) for each in conjuncts]) or "FALSE"


def _conjunct(conjunct: Conjunct) -> str:
    parts = [] if conjunct.region is None else [_region(conjunct.region)]
    parts += [_join("OR", _alternatives(_name(name), values)) for name, values in conjunct.constraints.pairs]
    return _join("AND", parts) or "TRUE"


def _join(operator: str, parts: list[str]) -> str:
    """Parts joined, those in parentheses that are joined themselves."""
    if len(parts) < 2:
        return "".join(parts)
    return _Joined(f" {operator} ".join(f"({part})" if isinstance(part, _Joined) else part for part in parts))


class _Joined(str):
    """A text that needs parentheses within a larger one."""

    __slots__ = ()


# -- attributes -----------------------------------------------------------------------------------------------------


def _name(name: str) -> str:
    if name == GEOMETRY:
        raise InterestError(f"an attribute called {GEOMETRY} has no text form, where that is the geometry: rename it")
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _alternatives(name: str, values: ValueSet) -> list[str]:
    """Comparisons of which one must be true for a value to be in the set."""
    if values == PRESENT:
        return [f"{name} IS NOT NULL"]
    points = [text for bit, text in ((1, "FALSE"), (2, "TRUE")) if values.booleans & bit]
    ranges: list[str] = []
    but = _all_but_one(values)
    if but:
        return [f"{name} <> {but}"]
    for low, high in _intervals(values.numbers):
        if low[0] == high[0]:
            points.append(_number(low[0]))
        else:
            ranges += _number_range(name, low, high)
    for start, end in _intervals(values.strings):
        if end[1] == start[1] + "\0":
            points.append(_string(start[1]))
        else:
            ranges += _string_range(name, start, end)
    absent = [f"{name} IS NULL"] if values.absent else []
    if len(points) > 1:
        points = [f"{name} IN ({', '.join(points)})"]
    else:
        points = [f"{name} = {point}" for point in points]
    return absent + points + ranges + [_term(name, term) for term in values.terms]


def _all_but_one(values: ValueSet) -> str:
    """The operand of <> if the set consists of all but one number, or all but one string."""
    if values == ValueSet(numbers=values.numbers) and len(gap := complement(values.numbers, ALL_NUMBERS)) == 2:
        return _number(gap[0][0]) if gap[0][0] == gap[1][0] else ""
    if values == ValueSet(strings=values.strings) and len(hole := complement(values.strings, ALL_STRINGS)) == 2:
        return _string(hole[0][1]) if hole[0][1] + "\0" == hole[1][1] else ""
    return ""


def _intervals(cuts: tuple[C, ...]) -> Iterable[tuple[C, C]]:
    return zip(cuts[::2], cuts[1::2], strict=True)


def _number_range(name: str, low: NumberCut, high: NumberCut) -> list[str]:
    """An interval of more than one number. All numbers take two comparisons, as there is no one they could be under."""
    if (low, high) == ALL_NUMBERS:
        return [f"{name} <= 0", f"{name} > 0"]
    if not math.isinf(low[0]) and not low[1] and not math.isinf(high[0]) and high[1]:
        return [f"{name} BETWEEN {_number(low[0])} AND {_number(high[0])}"]
    ends = [] if math.isinf(low[0]) else [f"{name} {'>' if low[1] else '>='} {_number(low[0])}"]
    if not math.isinf(high[0]):
        ends.append(f"{name} {'<=' if high[1] else '<'} {_number(high[0])}")
    return [_join("AND", ends)]


def _string_range(name: str, low: StringCut, high: StringCut) -> list[str]:
    """An interval of more than one string. An end with a NUL after the text is the text's own, from the other side."""
    if low[1] and prefix_cuts(low[1]) == (low, high):
        return [f"{name} LIKE {_string(pattern.to_text((low[1], '')))}"]
    ends = []
    if low[1].endswith("\0"):
        ends.append(f"{name} > {_string(low[1][:-1])}")
    elif low[1] or high[0]:
        ends.append(f"{name} >= {_string(low[1])}")
    if high[1].endswith("\0"):
        ends.append(f"{name} <= {_string(high[1][:-1])}")
    elif not high[0]:
        ends.append(f"{name} < {_string(high[1])}")
    return [_join("AND", ends)]


def _term(name: str, term: Term) -> str:
    implied = ALL_STRINGS
    for required in term.required:
        implied = intersection(implied, pattern.prefix(required))
    parts = []
    if term.within != implied:
        parts.append(_join("OR", _alternatives(name, ValueSet(strings=term.within))))
    parts += [f"{name} LIKE {_string(pattern.to_text(required))}" for required in term.required]
    parts += [f"{name} NOT LIKE {_string(pattern.to_text(refused))}" for refused in term.refused]
    return _join("AND", parts)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(number: float) -> str:
    if abs(number) <= MAX_INTEGER:
        return repr(number)
    if float(number) != number:
        raise InterestError(f"the integer {number} has no CQL2 text form: beyond 2^53 only doubles can be written")
    return repr(float(number))


# -- shapes ---------------------------------------------------------------------------------------------------------


def _region(region: Region) -> str:
    return _join("OR", [f"S_INTERSECTS({GEOMETRY}, {_piece(piece)})" for piece in region.pieces])


def _piece(piece: Piece) -> str:
    if isinstance(piece, Box):
        corners = piece.low + piece.high
        if all(map(math.isfinite, corners)):
            return f"BBOX({_metres(corners)})"
        flat = (*piece.low[:2], *piece.high[:2])
        if math.isinf(piece.low[2]) and math.isinf(piece.high[2]) and all(map(math.isfinite, flat)):
            return f"BBOX({_metres(flat)})"
        return f"BOX({_metres(corners)})"
    if isinstance(piece, Prism):
        polygon = f"POLYGON({', '.join(_ring(ring) for ring in piece.rings)})"
        return polygon if _unbounded(piece) else f"PRISM({polygon}, {_metres((piece.z0, piece.z1))})"
    if isinstance(piece, Cylinder):
        heights = () if _unbounded(piece) else (piece.z0, piece.z1)
        return f"CYLINDER({_metres((*piece.centre, piece.radius, *heights))})"
    return f"SPHERE({_metres((*piece.centre, piece.radius))})"


def _unbounded(piece: Prism | Cylinder) -> bool:
    return piece.z0 == -math.inf and piece.z1 == math.inf


def _ring(ring: Ring) -> str:
    return f"({', '.join(f'{_metre(x)} {_metre(y)}' for x, y in (*ring, ring[0]))})"


def _metres(numbers: Iterable[float]) -> str:
    return ", ".join(map(_metre, numbers))


def _metre(number: float) -> str:
    """Without an exponent, which polygons do not take; NULL for an infinity."""
    if math.isinf(number):
        return "NULL"
    if number.is_integer() and abs(number) <= MAX_INTEGER:
        return str(int(number))
    text = format(Decimal(repr(number)), "f")
    return text if "." in text else f"{text}.0"
