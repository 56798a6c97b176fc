"""The binary form: what is encoded is decoded equal, what is broken has a reason, and FORMAT.md holds."""

import math
import random
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interest
from interest import (
    EVERYTHING,
    NOTHING,
    Box,
    Cylinder,
    DecodeError,
    Interest,
    InterestError,
    Prism,
    Region,
    Sphere,
    attr,
)
from interest.binary import (
    MAX_INTEREST_BYTES,
    MAX_VERTICES,
    decode_attributes,
    decode_interest,
    decode_polygon,
    encode_attributes,
    encode_interest,
    encode_polygon,
)
from interest.value import MAX_ATTRIBUTES, MAX_STRING_BYTES

PRISM = Prism([(0, 0), (8, 0), (8, 8), (0, 8)], 1, 2)
HOLED = Prism(PRISM.footprint.difference(PRISM.footprint.buffer(-2)), -math.inf, 5)
SAMPLE = Interest.union(
    [
        Interest.of(Region([Box((0, 0), (1, 1)), Sphere((1, 2, 3), 4), Cylinder((1, 2), 3, 0), PRISM]), "a", "x > 3"),
        Interest.of(HOLED, "a"),
        Interest.of(where="x IN (1, 2.5, TRUE, 'é') AND (y LIKE '%a%b' OR y < 'k') AND z IS NULL"),
        Interest.of(Box((5, 5, 5), (6, 6, math.inf)), where="name NOT LIKE '%q'"),
    ]
)

LARGE = Interest.of(where=attr("x") == 2.0**62)
LAST_PREFIX = Interest.of(where=attr("x").like("\ud7ff%"))  # it ends where the surrogates are

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda name: name != "layer")
values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


def reason(decode, data):
    with pytest.raises(DecodeError) as error:
        decode(data)
    assert str(error.value).startswith(error.value.reason)
    return error.value.reason


@given(st.data())
def test_interests_are_decoded_equal(logic, data):
    wanted = logic.interest(data.draw(st.one_of(logic.conditions, logic.disjunctions)))
    assert decode_interest(encode_interest(wanted)) == wanted


@pytest.mark.parametrize("wanted", [EVERYTHING, NOTHING, SAMPLE, LARGE, LAST_PREFIX])
def test_samples_are_decoded_equal(wanted):
    assert decode_interest(memoryview(encode_interest(wanted))) == wanted


@pytest.mark.parametrize("prism", [PRISM, HOLED])
def test_polygons_are_decoded_equal(prism):
    assert Prism(decode_polygon(encode_polygon(prism)), prism.z0, prism.z1) == prism


@given(st.dictionaries(names, values, max_size=8), st.none() | st.text("abc"))
def test_attributes_are_decoded_equal_in_type_and_order(attributes, layer):
    if layer is not None:
        attributes["layer"] = layer
    back = decode_attributes(encode_attributes(attributes))
    assert list(back.items()) == list(attributes.items())
    assert [type(value) for value in back.values()] == [type(value) for value in attributes.values()]


def test_no_prefix_of_a_value_decodes():
    data = encode_interest(SAMPLE)
    assert {reason(decode_interest, data[:end]) for end in range(len(data))} == {"truncated"}
    polygon = encode_polygon(PRISM)
    assert {reason(decode_polygon, polygon[:end]) for end in range(len(polygon))} == {"truncated"}


def test_damaged_bytes_raise_nothing_else():
    """20,000 values with a few bytes changed, cut out, put in or repeated. What decodes is in normal form."""
    rng = random.Random(11)
    attributes = encode_attributes({"layer": "a", "x": 1, "y": 2.5, "z": True, "name": "some text"})
    forms = [
        (decode_interest, encode_interest(SAMPLE)),
        (decode_interest, encode_interest(Interest.of(PRISM, "a", "x > 3 AND y LIKE '%a%b'"))),
        (decode_polygon, encode_polygon(HOLED)),
        (decode_attributes, attributes),
        (decode_attributes, b""),
    ]
    reasons, decoded = set(), 0
    for number in range(20_000):
        decode, data = forms[number % len(forms)]
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(damaged) + 1)
            end = at + rng.choice((0, 1, 1, 1, 2, 8))
            twice = bytes(damaged[at:end]) * 2
            damaged[at:end] = rng.choice((rng.randbytes(1), b"\x00", b"\xff", b"\x7f\xf0", rng.randbytes(8), twice))
        try:
            result = decode(bytes(damaged))
        except DecodeError as error:
            assert re.fullmatch("[a-z_]+", error.reason)
            reasons.add(error.reason)
            continue
        decoded += 1
        if isinstance(result, Interest):
            assert decode_interest(encode_interest(result)) == result
        elif isinstance(result, dict):
            assert decode_attributes(encode_attributes(result)) == result
    assert decoded > 500
    assert reasons >= {"truncated", "bad_shape", "bad_flags", "bad_set", "bad_text", "bad_type", "interest_version"}


def head(conjuncts, rest):
    return struct.pack(">BI", 1, conjuncts) + rest


def one_set(form):
    return head(1, b"\x00\x01\x01x" + form)


def one_region(boxes, *corners, spheres=0):
    counts = struct.pack(">4I", boxes, spheres, 0, 0)
    return head(1, b"\x01" + counts + struct.pack(f">{len(corners)}d", *corners) + b"\x00")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "truncated"),
        (b"\x02\x00\x00\x00\x00", "interest_version"),
        (head(0, b"\x00"), "trailing_bytes"),
        (bytes(MAX_INTEREST_BYTES + 1), "interest_too_long"),
        (head(2**32 - 1, b""), "too_many_conjuncts"),
        (head(9000, b"\x00\x00"), "truncated"),
        (head(1, b"\x02\x00"), "bad_flags"),
        (head(1, b"\x00\xff"), "too_many_attributes"),
        (one_region(0), "bad_region"),
        (one_region(2**32 - 1), "too_many_pieces"),
        (one_region(2000), "truncated"),
        (one_region(1, 0, 0, 0, 1, 1, math.nan), "bad_shape"),
        (one_region(1, 0, 0, 0, -1, 1, 1), "bad_shape"),
        (one_region(0, 0, 0, 0, -1, spheres=1), "bad_shape"),
        (one_region(0, 0, 0, math.inf, 1, spheres=1), "bad_shape"),
        (head(1, b"\x00\x01\x00\x01\x00"), "bad_name"),
        (head(1, b"\x00\x01\x01\xff\x01"), "bad_text"),
        (head(1, b"\x00\x02\x01x\x01\x01x\x01"), "duplicate_attribute"),
        (one_set(b"\x40"), "bad_flags"),
        (one_set(b"\x08" + struct.pack(">I", 2**31)), "too_many_cuts"),
        (one_set(b"\x08" + struct.pack(">I", 60_000)), "truncated"),
        (one_set(b"\x08" + struct.pack(">I", 0)), "bad_set"),
        (one_set(b"\x08" + struct.pack(">IBq", 1, 2, 5)), "bad_set"),
        (one_set(b"\x08" + struct.pack(">IBqBq", 2, 3, 5, 2, 5)), "bad_set"),
        (one_set(b"\x08" + struct.pack(">IBqBq", 2, 2, 5, 2, 5)), "bad_set"),
        (one_set(b"\x08" + struct.pack(">IBdBq", 2, 2, 5.0, 3, 5)), "bad_set"),
        (one_set(b"\x08" + struct.pack(">IBdBd", 2, 0, math.nan, 1, math.inf)), "bad_number"),
        (one_set(b"\x08" + struct.pack(">IBdBd", 2, 0, 1.5, 0, math.inf)), "bad_number"),
        (one_set(b"\x08" + struct.pack(">IBdBd", 2, 4, 1.5, 1, math.inf)), "bad_flags"),
        (one_set(b"\x10" + struct.pack(">IHHH", 2, 2**16 - 1, 1, 97 << 8)), "bad_set"),
        (one_set(b"\x10" + struct.pack(">IHH", 2, MAX_STRING_BYTES + 2, 0)), "bad_text"),
        (one_set(b"\x20" + struct.pack(">IIHHBB", 1, 2, 0, 2**16 - 1, 0, 0)), "bad_set"),
        (one_set(b"\x20" + struct.pack(">IIHHBBHB", 1, 2, 0, 2**16 - 1, 1, 1, 0, 0)), "truncated"),
        (one_set(b"\x20" + struct.pack(">IIHHBBHHB", 1, 2, 0, 2**16 - 1, 1, 2, 0, 0, 65)), "too_many_patterns"),
        (one_set(b"\x20" + struct.pack(">IIHHBBHHHB", 1, 2, 0, 2**16 - 1, 1, 3, 0, 0, 0, 0)), "bad_pattern"),
        (one_set(b"\x20" + struct.pack(">IIHHBB", 1, 2, 0, 2**16 - 1, 1, 65) + bytes(200)), "too_many_parts"),
    ],
)
def test_broken_interests_have_a_reason(data, expected):
    assert reason(decode_interest, data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x01", "truncated"),
        (b"\x01x", "truncated"),
        (b"\x05x\x01", "truncated"),
        (b"\x01x\x02\x00", "truncated"),
        (b"\x01x\x03\x00", "truncated"),
        (b"\x01x\x04\x00", "truncated"),
        (b"\x01x\x04\x00\x02a", "truncated"),
        (b"\x01x\x05", "bad_type"),
        (b"\x00\x01", "bad_name"),
        (b"\x01\xff\x01", "bad_text"),
        (b"\x01x\x04\x00\x01\xff", "bad_text"),
        (b"\x01x\x04\xff\xff" + b"a" * 0xFFFF, "attributes_too_long"),
        (b"\x01x\x04" + struct.pack(">H", MAX_STRING_BYTES + 1) + b"a" * (MAX_STRING_BYTES + 1), "bad_text"),
        (b"\x01x\x01\x01x\x01", "duplicate_attribute"),
        (b"\x01x\x03" + struct.pack(">d", math.nan), "bad_number"),
        (b"\x05layer\x01", "bad_type"),
        (b"".join(b"\x01" + bytes([32 + i]) + b"\x01" for i in range(MAX_ATTRIBUTES + 1)), "too_many_attributes"),
    ],
)
def test_broken_attributes_have_a_reason(data, expected):
    assert reason(decode_attributes, data) == expected


@pytest.mark.parametrize(
    ("rings", "expected"),
    [
        ([], "bad_shape"),
        ([[(0, 0), (1, 0)]], "truncated"),
        ([[(0, 0), (1, 0), (2, 0), (3, 0)]], "bad_shape"),
        ([[(0, 0), (1, 1), (1, 0), (0, 1)]], "bad_shape"),
        ([[(0, 0), (1, math.nan), (1, 0)]], "bad_shape"),
        ([[(0, 0), (1, math.inf), (1, 0)]], "bad_shape"),
        ([[(0, 0), (1e200, 0), (0, 1)]], "bad_shape"),
        ([[(0, 0), (8, 0), (0, 8)], [(20, 20), (21, 20), (20, 21)]], "bad_shape"),
        ([[(math.cos(i), math.sin(i)) for i in range(MAX_VERTICES + 1)]], "too_many_vertices"),
    ],
)
def test_broken_polygons_have_a_reason(rings, expected):
    data = bytes([len(rings)])
    for ring in rings:
        data += struct.pack(f">H{2 * len(ring)}d", len(ring), *(number for corner in ring for number in corner))
    assert reason(decode_polygon, data) == expected


@pytest.mark.parametrize(
    "attributes",
    [
        {"x": 2**63},
        {"x": -(2**63) - 1},
        {"x": math.nan},
        {"x": None},
        {"x": [1]},
        {"x": "\ud800"},
        {"x": "a" * (MAX_STRING_BYTES + 1)},
        {"": 1},
        {"n" * 256: 1},
        {3: 1},
        {"layer": 3},
        {f"a{i}": 1 for i in range(MAX_ATTRIBUTES + 1)},
        {f"a{i}": "a" * MAX_STRING_BYTES for i in range(16)},
    ],
)
def test_attributes_that_cannot_be_sent_are_refused(attributes):
    with pytest.raises(InterestError):
        encode_attributes(attributes)


def test_polygons_beyond_the_limits_are_refused():
    circle = Prism([(math.cos(i / 200), math.sin(i / 200)) for i in range(1200)])
    with pytest.raises(InterestError, match=str(MAX_VERTICES)):
        encode_interest(Interest.of(circle))


def test_patterns_from_the_network_cost_little():
    """A value full of patterns that nothing can match is decoded without looking for a match."""
    term = struct.pack(">IHH", 2, 0, 0xFFFF) + b"\x01\x02\x00\x00\x00\x01a\x01\x02\x00\x00\x00\x01a"
    data = one_set(b"\x20" + struct.pack(">I", 2000) + term * 2000)
    assert len(decode_interest(data).conjuncts) == 1


def test_the_examples_of_the_format_page():
    page = (Path(interest.__file__).parent / "FORMAT.md").read_text()
    examples = re.findall(r"^### `(\w+)`: `(.*)`\n\n((?:    [^\n]*\n)+)", page, re.MULTILINE)
    assert [kind for kind, _, _ in examples].count("interest") >= 4
    assert {kind for kind, _, _ in examples} == {"interest", "attributes", "polygon"}
    for kind, text, block in examples:
        # Two spaces end the bytes of a line; what follows explains them.
        data = bytes.fromhex("".join(line.strip().split("  ")[0] for line in block.splitlines()))
        if kind == "interest":
            assert encode_interest(Interest.of(where=text)) == data, text
            assert decode_interest(data) == Interest.of(where=text)
        elif kind == "polygon":
            (piece,) = Interest.of(where=text).conjuncts[0].region.pieces
            assert encode_polygon(piece) == data
        else:
            attributes = {"layer": "avatars", "team": 2, "speed": 1.5, "seen": True}
            assert text == ", ".join(f"{name}={value!r}" for name, value in attributes.items())
            assert encode_attributes(attributes) == data
    for name in re.findall(r"`(MAX_\w+)` = ([\d,]+)", page):
        assert getattr(interest.binary, name[0]) == int(name[1].replace(",", "")), name
