"""LIKE patterns, and the search for a string that some sets of strings contain and others do not.

A pattern is the tuple of its literal parts, with anything between two parts: `a%b` is `("a", "b")`, `%x%` is
`("", "x", "")`. A prefix needs no pattern (it is an interval, see `cuts`); a `Term` is an interval set narrowed by
patterns that a string must and must not match. `constraint` asks `satisfiable` whether terms exclude or cover each
other: a breadth-first search over the product of the patterns' automata and the cuts' comparisons, exact within a
stated number of steps and undecided beyond it.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from interest import cuts
from interest.cuts import ALL_STRINGS, StringCuts
from interest.errors import InterestError

Pattern: TypeAlias = tuple[str, ...]

MAX_PARTS = 64  # of one pattern
MAX_STEPS = 20_000  # of the search; some 20 ms
_NUL, _LAST = 0, 0x10FFFF


class Term(NamedTuple):
    """Strings in `within` that match all of `required` and none of `refused` (both sorted)."""

    within: StringCuts
    required: tuple[Pattern, ...] = ()
    refused: tuple[Pattern, ...] = ()

    def contains(self, text: str) -> bool:
        return (
            cuts.contains(self.within, (0, text))
            and all(matches(pattern, text) for pattern in self.required)
            and not any(matches(pattern, text) for pattern in self.refused)
        )


def parse(text: str) -> Pattern:
    """The pattern of a LIKE text, in which a backslash takes `%`, `_` and itself literally; InterestError for `_`."""
    parts = [""]
    characters = iter(text)
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            if character not in ("%", "_", "\\"):
                raise InterestError(rf"in LIKE {text!r} a backslash must be followed by %, _ or a backslash")
            parts[-1] += character
        elif character == "%":
            if len(parts) == 1 or parts[-1]:
                parts.append("")
            if len(parts) > MAX_PARTS:
                raise InterestError(f"LIKE {text[:40]!r}... has more than {MAX_PARTS - 1} wildcards: use fewer")
        elif character == "_":
            raise InterestError(rf"LIKE {text!r}: the one-character wildcard _ is not supported; \_ means a plain one")
        else:
            parts[-1] += character
    return tuple(parts)


def to_text(pattern: Pattern) -> str:
    """The LIKE text of a pattern."""
    return "%".join(
        part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for part in pattern
    )


def matches(pattern: Pattern, text: str) -> bool:
    if len(pattern) == 1:
        return text == pattern[0]
    first, last = pattern[0], pattern[-1]
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for part in pattern[1:-1]:
        found = text.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def prefix(pattern: Pattern) -> StringCuts:
    """The interval that the strings matching a pattern with a wildcard lie in."""
    return cuts.prefix_cuts(pattern[0]) if pattern[0] else ALL_STRINGS


class _Automaton:
    """A pattern as a nondeterministic automaton, its set of states a bit mask."""

    def __init__(self, pattern: Pattern) -> None:
        self.loops = 0  # states before which a wildcard stands
        self.steps: dict[str, int] = {}
        position = 0
        for index, part in enumerate(pattern):
            if index:
                self.loops |= 1 << position
            for character in part:
                self.steps[character] = self.steps.get(character, 0) | 1 << position
                position += 1
        self.final = 1 << position

    def step(self, state: int, character: str) -> int:
        return (state & self.loops) | (state & self.steps.get(character, 0)) << 1


# How a string read so far compares with a bound: the length of the bound read as an equal prefix, or decided.
_LESS, _GREATER = -1, -2


def _compare(bound: str, state: int, character: str) -> int:
    if state < 0:
        return state
    if state == len(bound) or character > bound[state]:
        return _GREATER
    return _LESS if character < bound[state] else state + 1


def satisfiable(term: Term, excluded: Sequence[Term] = ()) -> bool | None:
    """Is there a string in `term` and in none of `excluded`? None if the search gives up undecided."""
    if not term.within:
        return False
    terms = (term, *excluded)
    patterns = sorted({pattern for each in terms for pattern in (*each.required, *each.refused)})
    bounds = sorted({text for each in terms for after, text in each.within if not after and text})
    automata = [_Automaton(pattern) for pattern in patterns]
    pattern_place = {pattern: place for place, pattern in enumerate(patterns)}
    bound_place = {bound: place for place, bound in enumerate(bounds)}
    alphabet = _alphabet(set().union(*bounds, *(part for each in patterns for part in each)))

    def inside(each: Term, compared: tuple[int, ...], states: tuple[int, ...]) -> bool:
        below = 0
        for after, text in each.within:
            if after:
                break
            if text:
                compare = compared[bound_place[text]]
                if compare != _GREATER and compare != len(text):
                    break
            below += 1
        if not below & 1:
            return False
        accepted = [bool(state & automaton.final) for state, automaton in zip(states, automata, strict=True)]
        return all(accepted[pattern_place[p]] for p in each.required) and not any(
            accepted[pattern_place[p]] for p in each.refused
        )

    needed = [pattern_place[pattern] for pattern in term.required]
    start = (tuple(0 for _ in bounds), tuple(1 for _ in automata))
    seen, queue, steps = {start}, [start], 0
    for compared, states in queue:
        if inside(term, compared, states) and not any(inside(each, compared, states) for each in excluded):
            return True
        for character in alphabet:
            steps += len(bounds) + len(automata) + 1
            if steps > MAX_STEPS:
                return None
            following = (
                tuple([_compare(bound, state, character) for bound, state in zip(bounds, compared, strict=True)]),
                tuple([each.step(state, character) for each, state in zip(automata, states, strict=True)]),
            )
            if following not in seen and all(following[1][place] for place in needed):
                seen.add(following)
                queue.append(following)
    return False


def _alphabet(mentioned: set[str]) -> list[str]:
    """The characters mentioned, and one of each gap between them: all others behave like one of these."""
    codes = {ord(character) for character in mentioned}
    gaps = {_NUL} | {code + 1 for code in codes if code < _LAST}
    gaps = {0xE000 if 0xD800 <= code <= 0xDFFF else code for code in gaps}
    return [chr(code) for code in sorted(codes | gaps)]
