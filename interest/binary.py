"""The binary form of interests, polygons and attributes; FORMAT.md describes it byte by byte.

Routers exchange it (`cbsmrp.wire`), so that everything read here is hostile until proven otherwise: a count is checked
against the bytes that are left before anything is allocated, and whatever does not decode raises `DecodeError` with a
named reason, never anything else. What decodes is brought into normal form.
"""

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from typing import Any, Final, TypeVar

import numpy as np
import shapely

from interest.conjunct import Conjunct
from interest.constraint import MAX_TERMS, Constraints, ValueSet
from interest.cuts import NumberCut, StringCut, StringCuts
from interest.errors import DecodeError, InterestError
from interest.interest import Interest
from interest.pattern import MAX_PARTS, Pattern, Term
from interest.region import Region
from interest.shapes import Box, Cylinder, Piece, Prism, Ring, Sphere
from interest.value import LAYER, MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_STRING_BYTES, Value, check_name, check_value

VERSION: Final = 1
MAX_INTEREST_BYTES = 64 * 1024
# The next two are what fits MAX_INTEREST_BYTES in normal form: no encoder meets them first.
MAX_CONJUNCTS = MAX_INTEREST_BYTES // 6
MAX_PIECES = MAX_INTEREST_BYTES // 32
MAX_RINGS = 64  # of one polygon
MAX_VERTICES = 1024  # of one polygon
MAX_ATTRIBUTES_BYTES = 64 * 1024 - 1

_BOX = struct.Struct(">6d")
_SPHERE = struct.Struct(">4d")
_CYLINDER = struct.Struct(">5d")
_HEIGHTS = struct.Struct(">2d")
_COUNTS = struct.Struct(">4I")
_U8, _U16, _U32 = struct.Struct(">B"), struct.Struct(">H"), struct.Struct(">I")
_INTEGER, _DOUBLE = struct.Struct(">q"), struct.Struct(">d")

_ABSENT, _BOOLEANS, _NUMBERS, _STRINGS, _TERMS = 1, 6, 8, 16, 32  # flags of a set
_AFTER, _IS_INTEGER = 1, 2  # flags of a number's cut
_FALSE, _TRUE, _INT, _FLOAT, _STR = range(5)  # types of an attribute's value


# -- interests ------------------------------------------------------------------------------------------------------


def encode_interest(interest: Interest) -> bytes:
    """The bytes of an interest. They may be more than MAX_INTEREST_BYTES, which no decoder takes: `over_approximate`
    makes an interest that fits. InterestError for a polygon beyond MAX_VERTICES corners or MAX_RINGS rings."""
    out = bytearray(_U8.pack(VERSION) + _U32.pack(len(interest.conjuncts)))
    for conjunct in interest.conjuncts:
        if conjunct.region is None:
            out.append(0)
        else:
            out.append(1)
            _put_region(out, conjunct.region)
        out.append(len(conjunct.constraints.pairs))
        for name, values in conjunct.constraints.pairs:
            _put_name(out, name)
            _put_set(out, values)
    return bytes(out)


def decode_interest(data: bytes | memoryview) -> Interest:
    """The interest of some bytes. DecodeError for everything that `encode_interest` and `over_approximate` never make,
    but for the order of things, which is free."""
    if len(data) > MAX_INTEREST_BYTES:
        raise DecodeError("interest_too_long", f"{len(data)} bytes, at most {MAX_INTEREST_BYTES} are taken")
    reader = _Reader(bytes(data))
    version = reader.take(_U8)
    if version != VERSION:
        raise DecodeError("interest_version", f"version {version}, this is version {VERSION}")
    pieces = [MAX_PIECES]
    # The smallest conjunct is flags and a count of attributes.
    conjuncts = [_get_conjunct(reader, pieces) for _ in range(reader.count(_U32, 2, MAX_CONJUNCTS, "conjuncts"))]
    reader.finish()
    return Interest(conjuncts)


def _get_conjunct(reader: "_Reader", pieces_left: list[int]) -> Conjunct:
    flags = reader.take(_U8)
    if flags > 1:
        raise DecodeError("bad_flags", f"flags {flags:#x} of a conjunct")
    region = _get_region(reader, pieces_left) if flags else None
    sets: dict[str, ValueSet] = {}
    for _ in range(reader.count(_U8, 3, MAX_ATTRIBUTES, "attributes")):
        name = reader.name()
        if name in sets:
            raise DecodeError("duplicate_attribute", f"{name!r} twice")
        sets[name] = _get_set(reader)
    return Conjunct(region, Constraints.of(sets))


# -- regions --------------------------------------------------------------------------------------------------------


def _put_region(out: bytearray, region: Region) -> None:
    boxes: list[Box] = []
    spheres: list[Sphere] = []
    cylinders: list[Cylinder] = []
    prisms: list[Prism] = []
    for piece in region.pieces:
        if isinstance(piece, Box):
            boxes.append(piece)
        elif isinstance(piece, Sphere):
            spheres.append(piece)
        elif isinstance(piece, Cylinder):
            cylinders.append(piece)
        else:
            prisms.append(piece)
    out += _COUNTS.pack(len(boxes), len(spheres), len(cylinders), len(prisms))
    out += struct.pack(f">{6 * len(boxes)}d", *chain.from_iterable([box.low + box.high for box in boxes]))
    for sphere in spheres:
        out += _SPHERE.pack(*sphere.centre, sphere.radius)
    for cylinder in cylinders:
        out += _CYLINDER.pack(*cylinder.centre, cylinder.radius, cylinder.z0, cylinder.z1)
    for prism in prisms:
        out += _HEIGHTS.pack(prism.z0, prism.z1)
        out += encode_polygon(prism)


def _get_region(reader: "_Reader", pieces_left: list[int]) -> Region:
    boxes, spheres, cylinders, prisms = reader.unpack(_COUNTS)
    pieces_left[0] -= boxes + spheres + cylinders + prisms
    if pieces_left[0] < 0:
        raise DecodeError("too_many_pieces", f"more than {MAX_PIECES}")
    pieces: list[Piece] = []
    if boxes + spheres + cylinders + prisms == 0:
        raise DecodeError("bad_region", "a region without pieces")
    try:
        pieces += [Box(each[:3], each[3:]) for each in reader.rows(_BOX, boxes)]
        pieces += [Sphere(each[:3], each[3]) for each in reader.rows(_SPHERE, spheres)]
        pieces += [Cylinder(each[:2], *each[2:]) for each in reader.rows(_CYLINDER, cylinders)]
        for _ in range(prisms):
            z0, z1 = reader.unpack(_HEIGHTS)
            pieces.append(_checked_prism(_get_polygon(reader), z0, z1))
    except InterestError as error:
        raise DecodeError("bad_shape", str(error)) from None
    return Region(pieces)


def encode_polygon(prism: Prism) -> bytes:
    """The footprint of a prism; InterestError beyond MAX_VERTICES corners or MAX_RINGS rings."""
    rings = prism.rings
    corners = sum(map(len, rings))
    if len(rings) > MAX_RINGS or corners > MAX_VERTICES:
        raise InterestError(
            f"a polygon of {corners} corners in {len(rings)} rings: give at most {MAX_VERTICES} in {MAX_RINGS}"
        )
    out = bytearray([len(rings)])
    for ring in rings:
        out += _U16.pack(len(ring))
        out += struct.pack(f">{2 * len(ring)}d", *chain.from_iterable(ring))
    return bytes(out)


def decode_polygon(data: bytes | memoryview) -> shapely.Polygon:
    """The polygon of some bytes, valid and with finite corners; DecodeError otherwise."""
    reader = _Reader(bytes(data))
    polygon = _get_polygon(reader)
    reader.finish()
    try:
        return _checked_prism(polygon).footprint
    except InterestError as error:
        raise DecodeError("bad_shape", str(error)) from None


def _checked_prism(polygon: shapely.Polygon, *heights: float) -> Prism:
    """A prism, if the polygon is one; overflow on absurd corners while this is checked is nobody's concern."""
    with np.errstate(all="ignore"):
        return Prism(polygon, *heights)


def _get_polygon(reader: "_Reader") -> shapely.Polygon:
    """A polygon whose validity `Prism` has still to check."""
    rings: list[Ring] = []
    for _ in range(reader.count(_U8, 50, MAX_RINGS, "rings")):
        corners = reader.count(_U16, 16, MAX_VERTICES - sum(map(len, rings)), "vertices")
        if corners < 3:
            raise DecodeError("bad_shape", f"a ring of {corners} corners")
        numbers = reader.unpack(struct.Struct(f">{2 * corners}d"))
        if not all(map(math.isfinite, numbers)):
            raise DecodeError("bad_shape", "a corner that is not finite")
        rings.append(tuple(zip(numbers[::2], numbers[1::2], strict=True)))
    if not rings:
        raise DecodeError("bad_shape", "a polygon without rings")
    try:
        return shapely.Polygon(rings[0], rings[1:])
    except (shapely.errors.GEOSException, ValueError) as error:
        raise DecodeError("bad_shape", str(error)) from None


# -- sets of values -------------------------------------------------------------------------------------------------


def _put_set(out: bytearray, values: ValueSet) -> None:
    out.append(
        (_ABSENT if values.absent else 0)
        | values.booleans << 1
        | (_NUMBERS if values.numbers else 0)
        | (_STRINGS if values.strings else 0)
        | (_TERMS if values.terms else 0)
    )
    if values.numbers:
        out += _U32.pack(len(values.numbers))
        for number, after in values.numbers:
            if isinstance(number, int):
                out.append(after | _IS_INTEGER)
                out += _INTEGER.pack(number)
            else:
                out.append(after)
                out += _DOUBLE.pack(number)
    if values.strings:
        _put_strings(out, values.strings)
    if values.terms:
        out += _U32.pack(len(values.terms))
        for term in values.terms:
            _put_strings(out, term.within)
            _put_patterns(out, term.required)
            _put_patterns(out, term.refused)


def _get_set(reader: "_Reader") -> ValueSet:
    flags = reader.take(_U8)
    if flags > 63:
        raise DecodeError("bad_flags", f"flags {flags:#x} of a set of values")
    numbers = _get_cuts(reader, _get_number_cut, 9) if flags & _NUMBERS else ()
    strings = _get_strings(reader) if flags & _STRINGS else ()
    terms: list[Term] = []
    if flags & _TERMS:
        for _ in range(reader.count(_U32, 10, MAX_INTEREST_BYTES, "terms")):
            within, required, refused = _get_strings(reader), _get_patterns(reader), _get_patterns(reader)
            if not required and not refused:
                raise DecodeError("bad_set", "a term without patterns")
            terms.append(Term(within, required, refused))
    # The union with nothing brings the terms into normal form.
    return ValueSet.union([ValueSet(bool(flags & _ABSENT), (flags & _BOOLEANS) >> 1, numbers, strings, tuple(terms))])


def _get_number_cut(reader: "_Reader") -> NumberCut:
    flags = reader.take(_U8)
    if flags > 3:
        raise DecodeError("bad_flags", f"flags {flags:#x} of a number")
    after = flags & _AFTER
    if flags & _IS_INTEGER:
        return reader.take(_INTEGER), after
    (number,) = reader.unpack(_DOUBLE)
    if math.isfinite(number):
        # A double that is an integer of 64 bits has one spelling in memory, the integer.
        return (int(number) if number.is_integer() and -(2**63) <= number < 2**63 else number), after
    if number != number or after != (number > 0):
        raise DecodeError("bad_number", f"{number} as an end of a constraint")
    return number, after


def _put_strings(out: bytearray, strings: StringCuts) -> None:
    out += _U32.pack(len(strings))
    for top, text in strings:
        if top:
            out += b"\xff\xff"
        else:
            _put_text(out, text)


def _get_strings(reader: "_Reader") -> StringCuts:
    return _get_cuts(reader, _get_string_cut, 2)


def _get_string_cut(reader: "_Reader") -> StringCut:
    length = reader.take(_U16)
    return (1, "") if length == 0xFFFF else (0, reader.text(length, MAX_STRING_BYTES + 1))


C = TypeVar("C", NumberCut, StringCut)


def _get_cuts(reader: "_Reader", get: Callable[["_Reader"], C], size: int) -> tuple[C, ...]:
    cuts = tuple([get(reader) for _ in range(reader.count(_U32, size, MAX_INTEREST_BYTES, "cuts"))])
    if not cuts or len(cuts) % 2 or any(low >= high for low, high in pairwise(cuts)):
        raise DecodeError("bad_set", "the ends of a set's intervals are not in pairs, or not in order")
    return cuts


def _put_patterns(out: bytearray, patterns: tuple[Pattern, ...]) -> None:
    out.append(len(patterns))
    for pattern in patterns:
        out.append(len(pattern))
        for part in pattern:
            _put_text(out, part)


def _get_patterns(reader: "_Reader") -> tuple[Pattern, ...]:
    patterns: set[Pattern] = set()
    for _ in range(reader.count(_U8, 5, MAX_TERMS, "patterns")):
        parts = reader.count(_U8, 2, MAX_PARTS, "parts of a pattern")
        pattern = tuple([reader.text(reader.take(_U16), MAX_STRING_BYTES) for _ in range(parts)])
        if parts < 2 or not all(pattern[1:-1]):
            raise DecodeError("bad_pattern", f"{pattern!r} is no pattern with a wildcard between each two parts")
        patterns.add(pattern)
    return tuple(sorted(patterns))


# -- attributes -----------------------------------------------------------------------------------------------------


def encode_attributes(attributes: Mapping[str, Value]) -> bytes:
    """The bytes of a publication's attributes, in the mapping's order; InterestError for what cannot be sent."""
    if len(attributes) > MAX_ATTRIBUTES:
        raise InterestError(f"a publication has {len(attributes)} attributes, at most {MAX_ATTRIBUTES} can be sent")
    out = bytearray()
    for name, value in attributes.items():
        _put_name(out, check_name(name))
        check_value(value)
        if isinstance(value, str):
            out.append(_STR)
            _put_text(out, value)
        elif name == LAYER:
            raise InterestError(f"layer is {value!r}: a layer is a string")
        elif isinstance(value, bool):
            out.append(_TRUE if value else _FALSE)
        elif isinstance(value, float):
            out.append(_FLOAT)
            out += _DOUBLE.pack(value)
        elif -(2**63) <= value < 2**63:
            out.append(_INT)
            out += _INTEGER.pack(value)
        else:
            raise InterestError(f"{name} is an integer beyond 64 bits: send it as a float or as a string")
    if len(out) > MAX_ATTRIBUTES_BYTES:
        raise InterestError(f"attributes of {len(out)} bytes, at most {MAX_ATTRIBUTES_BYTES} can be sent")
    return bytes(out)


def decode_attributes(data: bytes | memoryview) -> dict[str, Value]:
    """The attributes of some bytes; DecodeError for anything that `encode_attributes` does not make."""
    data = bytes(data)
    end = len(data)
    if end > MAX_ATTRIBUTES_BYTES:
        raise DecodeError("attributes_too_long", f"{end} bytes, at most {MAX_ATTRIBUTES_BYTES} are taken")
    attributes: dict[str, Value] = {}
    at = 0
    try:  # this runs for every publication received: slices and no reader object
        while at < end:
            start = at + 1
            at = start + data[at]
            name = data[start:at].decode()
            kind = data[at]  # beyond the end, as for a name that is cut off, an IndexError
            at += 1
            value: Value
            if kind == _FLOAT:
                (value,) = _DOUBLE.unpack_from(data, at)
                at += 8
                if value != value:
                    raise DecodeError("bad_number", f"{name!r} is NaN")
            elif kind == _STR:
                start = at + 2
                at = start + (data[at] << 8 | data[at + 1])
                if at > end or at - start > MAX_STRING_BYTES:
                    raise DecodeError("truncated" if at > end else "bad_text", f"{name!r} has {at - start} bytes")
                value = data[start:at].decode()
            elif kind == _INT:
                (value,) = _INTEGER.unpack_from(data, at)
                at += 8
            elif kind <= _TRUE:
                value = kind == _TRUE
            else:
                raise DecodeError("bad_type", f"{name!r} has the unknown type {kind}")
            if not name:
                raise DecodeError("bad_name", "an attribute without a name")
            if name in attributes:
                raise DecodeError("duplicate_attribute", f"{name!r} twice")
            attributes[name] = value
    except (IndexError, struct.error):
        raise DecodeError("truncated", f"attributes of {end} bytes end too early") from None
    except UnicodeDecodeError as error:
        raise DecodeError("bad_text", str(error)) from None
    if len(attributes) > MAX_ATTRIBUTES:
        raise DecodeError("too_many_attributes", f"{len(attributes)}, at most {MAX_ATTRIBUTES} are taken")
    if not isinstance(attributes.get(LAYER, ""), str):
        raise DecodeError("bad_type", "a layer that is not a string")
    return attributes


# -- small parts ----------------------------------------------------------------------------------------------------


def _put_name(out: bytearray, name: str) -> None:
    data = name.encode()
    out.append(len(data))
    out += data


def _put_text(out: bytearray, text: str) -> None:
    data = text.encode()
    out += _U16.pack(len(data))
    out += data


class _Reader:
    """A place in some bytes; every step raises DecodeError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        self._need(form.size)
        result = form.unpack_from(self._data, self._at)
        self._at += form.size
        return result

    def take(self, form: struct.Struct) -> int:
        """One integer."""
        (number,) = self.unpack(form)
        return int(number)

    def rows(self, form: struct.Struct, count: int) -> Iterable[tuple[float, ...]]:
        """`count` rows of numbers."""
        start = self._at
        self._need(form.size * count)
        self._at += form.size * count
        return form.iter_unpack(self._data[start : self._at])

    def count(self, form: struct.Struct, size: int, limit: int, what: str) -> int:
        """A count of things that take at least `size` bytes each."""
        count = self.take(form)
        if count > limit:
            raise DecodeError(f"too_many_{what.split()[0]}", f"{count} {what}, at most {limit} are taken")
        self._need(count * size)
        return count

    def name(self) -> str:
        length = self.take(_U8)
        if not length:
            raise DecodeError("bad_name", "an attribute without a name")
        return self.text(length, MAX_NAME_BYTES)

    def text(self, length: int, limit: int) -> str:
        if length > limit:
            raise DecodeError("bad_text", f"a text of {length} bytes, at most {limit} are taken")
        self._need(length)
        start = self._at
        self._at += length
        try:
            return self._data[start : self._at].decode()
        except UnicodeDecodeError as error:
            raise DecodeError("bad_text", str(error)) from None

    def finish(self) -> None:
        if self._at != len(self._data):
            raise DecodeError("trailing_bytes", f"{len(self._data) - self._at} bytes after the end")

    def _need(self, size: int) -> None:
        if self._at + size > len(self._data):
            raise DecodeError("truncated", f"{size} bytes needed, {len(self._data) - self._at} are left")
