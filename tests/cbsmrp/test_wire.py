"""The codec: every message survives the bytes, datagrams stay within bounds, and broken bytes have a named reason.

PROTOCOL.md sections 1 to 3; the reasons are those of section 8.
"""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.messages import (
    REFUSALS,
    Challenge,
    Hello,
    Message,
    Publication,
    Quit,
    Rank,
    Refuse,
    Rejoin,
    Reply,
    Reset,
    SessionId,
    State,
    Subscribe,
    Update,
    ValuePart,
    Welcome,
)
from cbsmrp.wire import (
    HEAD_BYTES,
    MAX_PARTS,
    PREAMBLE,
    VALUE_OVERHEAD,
    BadVersion,
    Codec,
    PublicationFrame,
    encode_publication,
)
from interest import Box, DecodeError, Point, Prism

CODEC = Codec()
u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
sessions = st.builds(SessionId, u64, u64)


@st.composite
def parts(draw: st.DrawFn) -> ValuePart:
    count = draw(st.integers(1, MAX_PARTS))
    return ValuePart(
        draw(st.integers(1, 2**32 - 1)),
        draw(st.integers(0, count - 1)),
        count,
        draw(st.binary(max_size=1200)),
        draw(u16),
        draw(st.booleans()),
    )


states = st.builds(
    State, u64, u64, u32, u64, st.booleans(), u32, u64, u16,
    st.none() | st.builds(Welcome, sessions, u64, u32),
    st.just(b"") | st.binary(min_size=16, max_size=16),
    st.none() | st.builds(Rank, u64, u32, u16),
    st.none() | parts(),
)  # fmt: skip
ascii_names = st.text(st.characters(min_codepoint=0, max_codepoint=127), max_size=32)
messages = st.one_of(
    st.builds(Subscribe, sessions, ascii_names, st.booleans(), st.booleans(), states),
    *(st.builds(kind, u64, st.booleans(), states) for kind in (Reply, Update, Hello)),
    *(st.builds(kind, u64, st.booleans()) for kind in (Quit, Reset)),
    st.builds(Refuse, sessions, st.sampled_from(sorted(REFUSALS)), st.text(max_size=50), u64),
    st.builds(Challenge, st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16)),
    st.just(Rejoin()),
)

metres = st.floats(-1e6, 1e6)
lows = st.tuples(metres, metres, metres | st.just(-math.inf))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x, y, z = draw(lows)
    width, depth, height = (draw(st.floats(0, 1e4)) for _ in range(3))
    return Box((x, y, z), (x + width, y + depth, math.inf if z == -math.inf else z + height))


@st.composite
def prisms(draw: st.DrawFn) -> Prism:
    x, y = draw(st.integers(-1000, 1000)), draw(st.integers(-1000, 1000))
    w, h = draw(st.integers(1, 50)), draw(st.integers(1, 50))
    footprint = [(x, y), (x + w, y), (x + w, y + h), (x - 1, y + h + 1)]
    return Prism(footprint, draw(st.floats(-50, 0)), draw(st.floats(1, 50)))


extents = (
    st.none()
    | st.builds(Point, st.tuples(metres, metres) | st.tuples(metres, metres, metres))
    | boxes()
    | prisms()
)
values = (
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=12)
)
names = st.text(min_size=1, max_size=8).filter(lambda name: name != "layer")
publications = st.builds(
    Publication,
    u64,
    u32,
    extents,
    st.dictionaries(names, values, max_size=4),
    st.binary(max_size=200),
    u32,
    u8,
)


@given(st.lists(messages, min_size=1, max_size=3))
def test_control_messages_survive_the_bytes(sent: list[Message]) -> None:
    data = PREAMBLE + b"".join(CODEC.encode(message) for message in sent)
    assert CODEC.decode(data) == sent


@given(publications)
def test_a_publication_survives_the_bytes(publication: Publication) -> None:
    (frame,) = CODEC.decode(PREAMBLE + encode_publication(publication))
    assert isinstance(frame, PublicationFrame)
    assert frame.publication() == publication
    assert {k: type(v) for k, v in frame.attributes.items()} == {k: type(v) for k, v in publication.attributes.items()}


@given(publications.filter(lambda p: p.hop_limit > 0), u32)
def test_a_forwarder_changes_hop_limit_and_label_and_nothing_else(publication: Publication, label: int) -> None:
    data = encode_publication(publication)
    next_hop = PublicationFrame(data).next_hop(label)
    assert len(next_hop) == len(data)
    assert {i for i, (a, b) in enumerate(zip(data, next_hop, strict=True)) if a != b} <= {4, 8, 9, 10, 11}
    assert next_hop[4] == data[4] - 1
    assert PublicationFrame(next_hop).label == label


@given(messages, st.data())
def test_a_datagram_cut_short_is_refused_whole(message: Message, data: st.DataObject) -> None:
    """With a good frame before the broken one: nothing of the datagram comes out."""
    whole = PREAMBLE + CODEC.encode(Rejoin()) + CODEC.encode(message)
    cut = data.draw(st.integers(9, len(whole) - 1))
    with pytest.raises(DecodeError):
        CODEC.decode(whole[:cut])


@given(sessions, states)
def test_a_full_chunk_fits_a_datagram_with_all_that_may_stand_before_it(session: SessionId, state: State) -> None:
    part = ValuePart(1, 0, 1, bytes(CODEC.chunk_bytes))
    full = State(1, 1, 1, 1, True, 1, 1, 1, Welcome(session, 1, 1), bytes(16), Rank(1, 1, 1), part)
    frame = CODEC.encode(Subscribe(session, "m" * 32, True, True, full))
    assert len(PREAMBLE + frame) <= CODEC.datagram_bytes
    assert VALUE_OVERHEAD < 200


def frame(kind: int, body: bytes, flags: int = 0) -> bytes:
    return PREAMBLE + struct.pack(">BBH", kind, flags, 4 + len(body)) + body


def publication(kind: int, body: bytes, attributes: int = 0) -> bytes:
    head = struct.pack(">BBHBBHIIQ", 1, 0, HEAD_BYTES + len(body), 32, kind, attributes, 0, 1, 2)
    return PREAMBLE + head + body


def polygon(*corners: tuple[float, float]) -> bytes:
    return b"\x01" + struct.pack(">H", len(corners)) + b"".join(struct.pack(">2d", *corner) for corner in corners)


def prism(box: tuple[float, ...], body: bytes) -> bytes:
    return struct.pack(">6d", *box) + struct.pack(">H", len(body)) + body


NAN, INF = math.nan, math.inf
STATE = bytes(42)
TOKEN = bytes(8)
TRIANGLE = polygon((0, 0), (9, 0), (0, 9))
WHOLE = prism((0, 0, 0, 9, 9, 9), TRIANGLE)
BROKEN = {
    "nothing": (b"", "truncated"),
    "half a preamble": (b"CB\x01", "truncated"),
    "another magic": (b"XY\x01\x00", "bad_magic"),
    "another version": (b"CB\x02\x00", "bad_version"),
    "half a header": (PREAMBLE + b"\x10\x00", "truncated"),
    "a length below the header": (PREAMBLE + b"\x18\x00\x00\x03", "bad_length"),
    "a length beyond the datagram": (PREAMBLE + b"\x18\x00\x00\x05", "bad_length"),
    "a frame of no known type": (frame(0x19, b""), "unknown_frame"),
    "a frame of type 0": (frame(0, b""), "unknown_frame"),
    "a short SUBSCRIBE": (frame(0x10, bytes(15)), "truncated"),
    "a SUBSCRIBE without a mode": (frame(0x10, bytes(16)), "truncated"),
    "a mode beyond the frame": (frame(0x10, bytes(16) + b"\x09abc"), "bad_frame"),
    "a mode that is too long": (frame(0x10, bytes(16) + b"\x21" + b"m" * 33 + STATE), "bad_frame"),
    "a mode that is not ASCII": (frame(0x10, bytes(16) + b"\x01\xff" + STATE), "bad_frame"),
    "a state that is short": (frame(0x11, TOKEN + bytes(41)), "truncated"),
    "a state with more behind it": (frame(0x11, TOKEN + bytes(43)), "bad_length"),
    "a welcome that is short": (frame(0x11, TOKEN + STATE + bytes(27), 4), "truncated"),
    "a cookie that is short": (frame(0x11, TOKEN + STATE + bytes(15), 8), "truncated"),
    "a rank that is short": (frame(0x11, TOKEN + STATE + bytes(13), 16), "truncated"),
    "a value that is short": (frame(0x12, TOKEN + STATE + bytes(14), 32), "truncated"),
    "version 0": (frame(0x12, TOKEN + STATE + struct.pack(">QHHHB", 0, 0, 1, 0, 0), 32), "bad_part"),
    "part 1 of 1": (frame(0x12, TOKEN + STATE + struct.pack(">QHHHB", 1, 1, 1, 0, 0), 32), "bad_part"),
    "part 0 of 0": (frame(0x12, TOKEN + STATE + struct.pack(">QHHHB", 1, 0, 0, 0, 0), 32), "bad_part"),
    "attached twice": (frame(0x12, TOKEN + STATE + struct.pack(">QHHHB", 1, 0, 1, 0, 2), 32), "bad_part"),
    "too many parts": (frame(0x12, TOKEN + STATE + struct.pack(">QHHHB", 1, 0, MAX_PARTS + 1, 0, 0), 32), "bad_part"),
    "a short QUIT": (frame(0x14, bytes(7)), "truncated"),
    "a long QUIT": (frame(0x14, bytes(9)), "bad_length"),
    "a long RESET": (frame(0x15, bytes(9)), "bad_length"),
    "a REFUSE with no known reason": (frame(0x16, bytes(24) + b"\x63"), "bad_frame"),
    "a short CHALLENGE": (frame(0x17, bytes(31)), "bad_length"),
    "a REJOIN that carries something": (frame(0x18, b"!"), "bad_length"),
    "a publication without a head": (PREAMBLE + b"\x01\x00\x00\x10" + bytes(12), "truncated"),
    "an extent of no known kind": (publication(4, b""), "bad_extent"),
    "half a point": (publication(1, bytes(20)), "truncated"),
    "a point at NaN": (publication(1, struct.pack(">3d", NAN, 0, 0)), "bad_extent"),
    "a point at infinity": (publication(1, struct.pack(">3d", 0, INF, 0)), "bad_extent"),
    "half a box": (publication(2, bytes(40)), "truncated"),
    "a box inside out": (publication(2, struct.pack(">6d", 1, 0, 0, 0, 1, 1)), "bad_extent"),
    "a box with a corner at NaN": (publication(2, struct.pack(">6d", 0, 0, NAN, 1, 1, 1)), "bad_extent"),
    "a polygon beyond the frame": (publication(3, WHOLE[:-1]), "bad_extent"),
    "a polygon that is a line": (publication(3, prism((0, 0, 0, 9, 9, 9), polygon((0, 0), (9, 9)))), "bad_extent"),
    "a polygon outside its box": (publication(3, prism((0, 0, 0, 5, 9, 9), TRIANGLE)), "bad_extent"),
    "attributes beyond the frame": (publication(0, b"abc", attributes=4), "bad_attributes"),
    "attributes that end too early": (publication(0, b"\x01a", attributes=2), "bad_attributes"),
    "an attribute of no known type": (publication(0, b"\x01a\x09", attributes=3), "bad_attributes"),
    "an attribute twice": (publication(0, b"\x01a\x00\x01a\x00", attributes=6), "bad_attributes"),
    "an attribute without a name": (publication(0, b"\x00\x00", attributes=2), "bad_attributes"),
    "a layer that is a number": (publication(0, b"\x05layer\x02" + bytes(8), attributes=15), "bad_attributes"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_has_a_reason(what: str) -> None:
    data, reason = BROKEN[what]
    with pytest.raises(DecodeError) as caught:
        CODEC.decode(data)
    assert caught.value.reason == reason
    if data[:2] == b"CB" and data[2:3] == b"\x01" and len(data) > 4:  # behind a good frame it is refused as well
        with pytest.raises(DecodeError) as caught:
            CODEC.decode(PREAMBLE + CODEC.encode(Rejoin()) + data[4:])
        assert caught.value.reason == reason


def test_what_was_broken_is_whole_without_the_flaw() -> None:
    assert len(CODEC.decode(publication(3, WHOLE))) == 1
    assert len(CODEC.decode(publication(0, b"\x01a\x00", attributes=3))) == 1
    assert len(CODEC.decode(frame(0x11, TOKEN + STATE))) == 1


def test_another_version_is_told_apart_before_anything_is_decoded() -> None:
    with pytest.raises(BadVersion) as caught:
        CODEC.decode(b"CB\x07\x00 whatever this may be")
    assert caught.value.version == 7


def test_a_publication_too_long_for_a_frame_is_a_programmers_error() -> None:
    with pytest.raises(ValueError, match="65535 fit one frame"):
        encode_publication(Publication(1, 1, None, payload=bytes(65535)))


def test_a_point_without_height_has_no_z() -> None:
    (found,) = CODEC.decode(PREAMBLE + encode_publication(Publication(1, 1, Point((1.0, 2.0)))))
    assert isinstance(found, PublicationFrame)
    assert found.extent == Point((1.0, 2.0))
    assert math.isnan(struct.unpack(">d", found.data[HEAD_BYTES + 16 : HEAD_BYTES + 24])[0])
