"""Sets of ordered values, each a sorted tuple of cuts that lie between values.

The first cut opens an interval, the second closes it, and so on; touching intervals are always one, so equal sets are
equal tuples. A cut of the numbers is `(value, side)`, side 0 just before the value and 1 just after it, which spells
open and closed ends alike. A cut of the strings is `(0, text)`, always just before the text: strings have a successor
(`text + NUL`), so half-open intervals say everything, and a prefix is an interval too. `constraint` and `pattern`
compute with these.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeAlias, TypeVar

NumberCut: TypeAlias = tuple[float, int]
StringCut: TypeAlias = tuple[int, str]
NumberCuts: TypeAlias = tuple[tuple[float, int], ...]
StringCuts: TypeAlias = tuple[tuple[int, str], ...]

C = TypeVar("C", tuple[float, int], tuple[int, str])

# Infinity is a value that a publication may carry, so the ends lie beyond it.
ALL_NUMBERS: NumberCuts = ((-math.inf, 0), (math.inf, 1))
ALL_STRINGS: StringCuts = ((0, ""), (1, ""))


def contains(cuts: tuple[C, ...], before: C) -> bool:
    """Is the value inside whose own cut, just before it, is `before`?"""
    return bisect_right(cuts, before) & 1 == 1


def union(sets: Iterable[tuple[C, ...]]) -> tuple[C, ...]:
    return _at_depth(sets, 1)


def intersection(left: tuple[C, ...], right: tuple[C, ...]) -> tuple[C, ...]:
    return _at_depth((left, right), 2)


def _at_depth(sets: Iterable[tuple[C, ...]], depth: int) -> tuple[C, ...]:
    """The values that lie in at least `depth` of the sets."""
    # Openings sort before closings at the same cut, so that touching intervals grow together.
    events = sorted((cut, index & 1) for cuts in sets for index, cut in enumerate(cuts))
    inside = 0
    result: list[C] = []
    for cut, closing in events:
        if not closing:
            inside += 1
            if inside == depth:
                result.append(cut)
        else:
            if inside == depth:
                if result[-1] == cut:
                    result.pop()
                else:
                    result.append(cut)
            inside -= 1
    return tuple(result)


def complement(cuts: tuple[C, ...], everything: tuple[C, ...]) -> tuple[C, ...]:
    bottom, top = everything
    result = list(cuts)
    if result[:1] == [bottom]:
        del result[0]
    else:
        result.insert(0, bottom)
    if result[-1:] == [top]:
        del result[-1]
    else:
        result.append(top)
    return tuple(result)


def is_subset(inner: tuple[C, ...], outer: tuple[C, ...]) -> bool:
    if inner == outer or not inner:
        return True
    if not outer or inner[0] < outer[0] or inner[-1] > outer[-1]:
        return False
    return intersection(inner, outer) == inner


def just_after(text: str) -> str:
    """The least string greater than `text`."""
    return text + "\0"


def prefix_cuts(prefix: str) -> StringCuts:
    """The strings that start with `prefix`, as one interval."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1])
        if code < 0x10FFFF:
            following = 0xE000 if code == 0xD7FF else code + 1  # surrogates are no characters
            return ((0, prefix), (0, prefix[: end - 1] + chr(following)))
    return ((0, prefix), (1, ""))
