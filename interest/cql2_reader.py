"""From OGC CQL2 text to a condition: the `cql2` package parses, this module guards it and says what is supported.

Supported: AND, OR, NOT, TRUE, FALSE; = <> < <= > >=, BETWEEN, IN, LIKE with `%`, IS [NOT] NULL, each between an
attribute and literals; and S_INTERSECTS(geom, shape). A shape is BBOX with 4 or 6 numbers, POLYGON, MULTIPOLYGON,
POINT, or one of the functions SPHERE(x, y, z, r), CYLINDER(x, y, r[, z0, z1]), PRISM(polygon[, z0, z1]) and
BOX(x0, y0, z0, x1, y1, z1). Heights that are left out are unbounded; NULL leaves out one of the numbers z0 and z1, and
any number of BOX. All else is refused by name. `cql2_writer` writes what this reads.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any as Json
from typing import cast

import cql2
import shapely

from interest.errors import InterestError
from interest.expression import All, Any, Attribute, Expression, Not, Operator, compare, within
from interest.region import Region
from interest.shapes import Box, Cylinder, Piece, Prism, Sphere

GEOMETRY = "geom"
MAX_TEXT = 64 * 1024  # characters
MAX_NESTING = 100  # parentheses and NOTs within each other; the parser overflows its stack at some thousands
MAX_INTEGER = 2**53 - 1  # the parser reads numbers as doubles; from 2^53 on, neighbours look the same

_COMPARISONS = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # and what they are turned round
_ARITY = {"not": 1, "isnull": 1, "like": 2, "in": 2, "between": 3, **dict.fromkeys(_COMPARISONS, 2)}
_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<string>'(?:[^']|'')*') | (?P<name>"(?:[^"]|"")*" | [^\W\d][\w.:]*)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?) | (?P<operator><>|<=|>=|[=<>]) | (?P<sign>[-+]) | (?P<mark>[(),])""",
    re.VERBOSE,
)


def parse_expression(text: str) -> Expression:
    """The condition that a CQL2 text spells; InterestError, in one line, for what is wrong or not supported."""
    _check(text)
    try:
        tree = cql2.parse_text(text).to_json()
    except cql2.ParseError as error:
        place = re.search(r"--> (\d+):(\d+)", str(error))
        line, column = (int(part) for part in place.groups()) if place else (1, 1)
        rest = text.split("\n")[line - 1][column - 1 :] if place else text
        near = f"near {rest[:30]!r}" if rest else "where the text ends"
        raise InterestError(f"CQL2 syntax error at line {line}, column {column}, {near}") from None
    except Exception as error:  # cql2 raises a bare Exception for a geometry that it cannot read
        raise InterestError(f"CQL2: {' '.join(str(error).split())}") from None
    return _condition(tree)


def _check(text: str) -> None:
    """Refuse what the parser would take wrongly, or break on: InterestError with the place."""
    if len(text) > MAX_TEXT:
        raise InterestError(f"CQL2 text of {len(text)} characters: at most {MAX_TEXT} are read")
    at, depth, run = 0, 0, 0
    opened: list[int] = []
    before = ""  # the kind of the token before
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise InterestError(f"{_place(text, at)}: {_unexpected(text[at])}")
        kind, word = token.lastgroup, token.group()
        if kind == "sign" and before in ("name", "number", "string", ")", "sign"):
            raise InterestError(f'{_place(text, at)}: no arithmetic here (a name with a dash needs quotes: "a-b")')
        if kind == "number" and (math.isinf(float(word)) or (word.isdigit() and float(word) > MAX_INTEGER)):
            raise InterestError(f"{_place(text, at)}: a number must be a double, and an integer less than 2^53")
        if word == "(":
            opened.append(run + 1)
            depth, run = depth + run + 1, 0
        elif word == ")":
            depth, run = depth - (opened.pop() if opened else 0), 0
        elif kind == "name" and word.upper() == "NOT":
            run += 1
        elif kind != "space":
            run = 0
        if depth + run > MAX_NESTING:
            raise InterestError(f"{_place(text, at)}: nested more than {MAX_NESTING} deep")
        if kind != "space":
            keyword = kind == "name" and word.upper() in ("AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS")
            before = "keyword" if keyword else word if word == ")" else str(kind)
        at = token.end()


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return f"CQL2 text, line {line}, column {column}, near {text[at:at + 30]!r}"


def _unexpected(character: str) -> str:
    if character in "*/^%":
        return "arithmetic is not supported"
    if character in "'\"":
        return "a quote that is not closed"
    return f"the character {character!r} is not part of CQL2"


# -- conditions -----------------------------------------------------------------------------------------------------


def _condition(tree: Json) -> Expression:
    if isinstance(tree, bool):
        return All() if tree else Any()
    if not isinstance(tree, dict) or "op" not in tree:
        raise InterestError(f"CQL2: {_spelled(tree)} is no condition: compare it with something")
    name, args = str(tree["op"]), tree["args"]
    operator = name.lower()
    if len(args) != _ARITY.get(operator, len(args)):  # someone wrote LIKE(a) as a function
        raise InterestError(f"CQL2: {name.upper()} of {len(args)} parts is not supported")
    if operator == "and":
        return All(tuple(_condition(each) for each in args))
    if operator == "or":
        return Any(tuple(_condition(each) for each in args))
    if operator == "not":
        return Not(_condition(args[0]))
    if operator in _COMPARISONS:
        left, right = args
        if not _is_property(left) and _is_property(right):
            left, right, operator = right, left, _COMPARISONS[operator] if operator not in ("=", "<>") else operator
        return compare(_name(left), cast(Operator, operator), _literal(right))
    if operator == "between":
        return _attribute(args[0]).between(_literal(args[1]), _literal(args[2]))
    if operator == "in":
        if not isinstance(args[1], list):
            raise InterestError(f"CQL2: IN {_spelled(args[1])}: give a list of literals")
        return _attribute(args[0]).is_in([_literal(each) for each in args[1]])
    if operator == "like":
        return _attribute(args[0]).like(_literal(args[1]))
    if operator == "isnull":
        return _attribute(args[0]).is_null()
    if operator == "s_intersects":
        return _spatial(args)
    if operator in ("+", "-", "*", "/", "^", "%", "div"):
        raise InterestError("CQL2: arithmetic is not supported")
    raise InterestError(f"CQL2: {name.upper()} is not supported")


def _is_property(tree: Json) -> bool:
    return isinstance(tree, dict) and "property" in tree


def _name(tree: Json) -> str:
    if not _is_property(tree):
        raise InterestError(f"CQL2: {_spelled(tree)} is not supported where an attribute's name belongs")
    if tree["property"] == GEOMETRY:
        raise InterestError(f"CQL2: {GEOMETRY} is the geometry: it can only stand in S_INTERSECTS({GEOMETRY}, ...)")
    return str(tree["property"])


def _attribute(tree: Json) -> Attribute:
    return Attribute(_name(tree))


def _literal(tree: Json) -> Json:
    """A string, number or boolean."""
    if isinstance(tree, str | bool | int | float):
        return tree
    if tree is None:
        raise InterestError("CQL2: comparing with NULL is never true: use IS NULL or IS NOT NULL")
    raise InterestError(f"CQL2: {_spelled(tree)} is not supported where a string, number or boolean belongs")


def _spelled(tree: Json) -> str:
    """A short name for a part of the tree that is refused."""
    if isinstance(tree, dict):
        if "op" in tree:
            known = {"+", "-", "*", "/", "^", "%", "div"}
            return "arithmetic" if tree["op"] in known else f"{str(tree['op']).upper()}(...)"
        if "property" in tree:
            return f"the attribute {tree['property']}"
        return str(tree.get("type", next(iter(tree), "nothing"))).upper()
    return "a list" if isinstance(tree, list) else json.dumps(tree)


# -- shapes ---------------------------------------------------------------------------------------------------------


def _spatial(args: Sequence[Json]) -> Expression:
    if len(args) != 2 or not _is_property(args[0]) or args[0]["property"] != GEOMETRY:
        raise InterestError(f"CQL2: S_INTERSECTS takes {GEOMETRY} and then a shape")
    return within(Region(_pieces(args[1])))


def _pieces(tree: Json) -> list[Piece]:
    if not isinstance(tree, dict):
        raise InterestError(f"CQL2: {_spelled(tree)} is no shape")
    if "bbox" in tree:
        numbers = tree["bbox"]
        if len(numbers) not in (4, 6):
            raise InterestError(f"CQL2: BBOX of {len(numbers)} numbers: give 4 (x0, y0, x1, y1) or 6")
        half = len(numbers) // 2
        return [Box(numbers[:half], numbers[half:])]
    kind = str(tree.get("op", tree.get("type"))).upper()
    if kind == "POINT":
        position = tree["coordinates"]
        return [Box(position, position)]
    if kind == "POLYGON":
        return [Prism(_polygon(tree["coordinates"]))]
    if kind == "MULTIPOLYGON":
        return [Prism(_polygon(each)) for each in tree["coordinates"]]
    args = tree.get("args", [])
    if kind == "SPHERE":
        x, y, z, radius = _numbers("SPHERE(x, y, z, r)", args, (4,))
        return [Sphere((x, y, z), radius)]
    if kind == "CYLINDER":
        x, y, radius, *heights = _numbers("CYLINDER(x, y, r, z0, z1)", args, (3, 5), (3, 4))
        return [Cylinder((x, y), radius, *heights)]
    if kind == "PRISM":
        if not args or not isinstance(args[0], dict) or args[0].get("type") != "Polygon":
            raise InterestError("CQL2: PRISM(POLYGON(...), z0, z1) takes a polygon first")
        heights = _numbers("PRISM(POLYGON(...), z0, z1)", args[1:], (0, 2), (0, 1))
        return [Prism(_polygon(args[0]["coordinates"]), *heights)]
    if kind == "BOX":
        numbers = _numbers("BOX(x0, y0, z0, x1, y1, z1)", args, (6,), (0, 1, 2, 3, 4, 5))
        return [Box(numbers[:3], numbers[3:])]
    raise InterestError(f"CQL2: {_spelled(tree)} is not supported as a shape")


def _numbers(
    usage: str, args: Sequence[Json], lengths: tuple[int, ...], open_ends: tuple[int, ...] = ()
) -> list[float]:
    """The numbers of a function; NULL, allowed in `open_ends`, is -inf in their first half and inf in the second."""
    if len(args) not in lengths:
        raise InterestError(f"CQL2: {usage} does not take {len(args)} numbers")
    upper = open_ends[len(open_ends) // 2 :]
    result: list[float] = []
    for place, each in enumerate(args):
        if each is None and place in open_ends:
            result.append(math.inf if place in upper else -math.inf)
        elif isinstance(each, bool) or not isinstance(each, int | float):
            raise InterestError(f"CQL2: {usage} takes numbers, not {_spelled(each)}")
        else:
            result.append(float(each))
    return result


def _polygon(rings: Sequence[Sequence[Sequence[float]]]) -> shapely.Polygon:
    if not rings:
        raise InterestError("CQL2: POLYGON EMPTY is no shape")
    if any(len(corner) != 2 for ring in rings for corner in ring):
        raise InterestError("CQL2: POLYGON with heights is not supported: use PRISM(POLYGON((x y, ...)), z0, z1)")
    if any(len(ring) < 4 or ring[0] != ring[-1] for ring in rings):
        raise InterestError("CQL2: a ring of a POLYGON needs 4 corners at least, the last the same as the first")
    return shapely.Polygon(rings[0], rings[1:])
