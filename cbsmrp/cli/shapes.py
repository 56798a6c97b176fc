"""Command-line text of what a user wants and publishes: regions, positions and attributes.

Used by the verbs `sub`, `pub` and `demo`. Lengths are metres. A malformed text raises InterestError: one line that
names the character where the reading stopped, what was expected there, and what was found.
"""

import math
import re
from typing import NoReturn

import shapely

from interest.errors import InterestError
from interest.shapes import Box, Cylinder, Piece, Prism, Sphere

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w])")  # "0..20" is two numbers and dots
_NAME = re.compile(r"[A-Za-z]+")
_INTEGER = re.compile(r"[+-]?\d+")

_FORMS = {
    "box": "box(x0,y0,x1,y1) or box(x0,y0,z0,x1,y1,z1)",
    "sphere": "sphere(x,y,z,r)",
    "cylinder": "cylinder(x,y,r) or cylinder(x,y,r,z0,z1)",
    "polygon": "POLYGON((x y, x y, ...)) or POLYGON((...)) z0..z1",
}


def piece(text: str) -> Piece:
    """One piece of a region, in any of these forms (upper and lower case are the same):

    `box(x0,y0,x1,y1)`, `box(x0,y0,z0,x1,y1,z1)`, `sphere(x,y,z,r)`, `cylinder(x,y,r)`, `cylinder(x,y,r,z0,z1)`, and a
    WKT polygon, holes allowed, with an optional height: `POLYGON((x y, x y, ...)) z0..z1`. An omitted height is
    unbounded. Raises InterestError.
    """
    scanner = _Scanner(text)
    name = scanner.name("a shape: " + ", ".join(_FORMS.values()))
    form = _FORMS.get(name)
    if form is None:
        scanner.fail("box, sphere, cylinder or POLYGON", at=scanner.at - len(name))
    if name == "polygon":
        return _polygon(scanner)
    numbers = scanner.numbers()
    scanner.end()
    try:
        match name, numbers:
            case "box", (x0, y0, x1, y1):
                return Box((x0, y0), (x1, y1))
            case "box", (x0, y0, z0, x1, y1, z1):
                return Box((x0, y0, z0), (x1, y1, z1))
            case "sphere", (x, y, z, r):
                return Sphere((x, y, z), r)
            case "cylinder", (x, y, r):
                return Cylinder((x, y), r)
            case "cylinder", (x, y, r, z0, z1):
                return Cylinder((x, y), r, z0, z1)
    except InterestError as error:
        raise InterestError(f"{_quoted(text)}: {error}") from None
    raise InterestError(f"{_quoted(text)} has {len(numbers)} numbers: give {form}")


def point(text: str) -> tuple[float, ...]:
    """The position `X,Y` or `X,Y,Z`, as two or three numbers. Raises InterestError."""
    scanner = _Scanner(text)
    position = [scanner.number()]
    while len(position) < 2 or (len(position) < 3 and scanner.at < len(text)):
        scanner.sign(",")
        position.append(scanner.number())
    scanner.end()
    return tuple(position)


def attribute(text: str) -> tuple[str, str | int | float | bool]:
    """The attribute `NAME=VALUE`.

    A value that looks like one is an integer (`7`), a double (`7.0`, `1e3`) or a boolean (`true`, `false`); anything
    else is a string, and quotes, single or double, make it one in any case: `team="7"`. Raises InterestError.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise InterestError(f'attribute {text!r}: give NAME=VALUE, such as team=2 or name="2"')
    if name == "layer":
        raise InterestError(f"attribute {text!r}: the layer has an option of its own, --layer")
    if value[:1] in ("'", '"'):
        if len(value) < 2 or value[-1] != value[0]:
            raise InterestError(f"attribute {text!r}: the quote {value[0]} is not closed at the end")
        return name, value[1:-1]
    if value in ("true", "false"):
        return name, value == "true"
    if _INTEGER.fullmatch(value):
        return name, int(value)
    if _NUMBER.fullmatch(value):
        if not math.isfinite(float(value)):
            raise InterestError(f"attribute {text!r}: the number is too large for a double; quotes make it a string")
        return name, float(value)
    return name, value


def _polygon(scanner: "_Scanner") -> Prism:
    scanner.sign("(")
    rings = [_ring(scanner)]
    while scanner.sign(",", ")") == ",":
        rings.append(_ring(scanner))
    heights: tuple[float, ...] = ()
    if scanner.rest():
        low = scanner.number()
        scanner.sign("..")
        heights = (low, scanner.number())
        scanner.end()
    try:
        return Prism(shapely.Polygon(rings[0], rings[1:]), *heights)
    except InterestError as error:
        raise InterestError(f"{_quoted(scanner.text)}: {error}") from None


def _ring(scanner: "_Scanner") -> list[tuple[float, float]]:
    start = scanner.at
    scanner.sign("(")
    ring = [(scanner.number(), scanner.number())]
    while scanner.sign(",", ")") == ",":
        ring.append((scanner.number(), scanner.number()))
    if len(ring) < 4 or ring[0] != ring[-1]:
        scanner.fail("a ring of at least four corners that ends where it starts", at=start)
    return ring


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:60] + "...")


class _Scanner:
    """Reads a text from left to right; `at` is where it stands. Blanks before anything are skipped."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def rest(self) -> str:
        """What is left after blanks."""
        self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
        return self.text[self.at :]

    def name(self, expected: str) -> str:
        """A word, in lower case."""
        self.rest()
        found = _NAME.match(self.text, self.at)
        if found is None:
            self.fail(expected)
        self.at = found.end()
        return found.group().lower()

    def number(self) -> float:
        """A finite number."""
        self.rest()
        found = _NUMBER.match(self.text, self.at)
        if found is None or not math.isfinite(float(found.group())):
            self.fail("a number")
        self.at = found.end()
        return float(found.group())

    def numbers(self) -> tuple[float, ...]:
        """Numbers in parentheses, separated by commas."""
        self.sign("(")
        found = [self.number()]
        while self.sign(",", ")") == ",":
            found.append(self.number())
        return tuple(found)

    def sign(self, *signs: str) -> str:
        """One of these signs."""
        rest = self.rest()
        for sign in signs:
            if rest.startswith(sign):
                self.at += len(sign)
                return sign
        self.fail(" or ".join(repr(sign) for sign in signs))

    def end(self) -> None:
        """Nothing more."""
        if self.rest():
            self.fail("the end")

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        """Raise InterestError: something else was expected at this place."""
        at = self.at if at is None else at
        near = self.text[at : at + 20]
        found = f"found {near!r}" if near else "the text ends"
        raise InterestError(f"{_quoted(self.text)}, character {at + 1}: expected {expected}, {found}")
