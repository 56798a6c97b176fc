"""Bytes to messages and back: datagrams, frames, control messages, publications (PROTOCOL.md sections 1 to 3).

Called by `endpoint`, which both drivers share; the engine never sees bytes. A datagram is decoded whole or not at all:
`decode` raises `DecodeError` with one of the named reasons of PROTOCOL.md section 8. Publications are not turned into
objects where only their frame is forwarded: `PublicationFrame` holds its bytes, and what the table matches.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

from interest import Box, DecodeError, Extent, Point, Prism, Value
from interest.binary import decode_attributes, decode_polygon, encode_attributes, encode_polygon

from .messages import (
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

VERSION = 1
PREAMBLE = bytes((0x43, 0x42, VERSION, 0))
MAX_FRAME = 0xFFFF
#: Chunks of one region: more than 64 KiB make in the smallest datagrams that a router may be configured to send.
MAX_PARTS = 256
#: Room for everything but the chunk in the longest frame that carries a value: SUBSCRIBE with all blocks.
VALUE_OVERHEAD = 4 + 4 + 16 + 1 + 32 + 42 + 28 + 16 + 14 + 15

PUBLICATION, SUBSCRIBE, REPLY, UPDATE, HELLO, QUIT, RESET, REFUSE, CHALLENGE, REJOIN = 0x01, *range(0x10, 0x19)
DOWN, ASK, WELCOME, COOKIE, RANK, VALUE, HOST, OPTED = (1 << bit for bit in range(8))

_HEADER = struct.Struct(">BBH")
_PUBLICATION = struct.Struct(">BBHBBHIIQ")
_STATE = struct.Struct(">QQIQIQH")
_SESSION = struct.Struct(">QQ")
_WELCOME = struct.Struct(">QQQI")
_RANK = struct.Struct(">QIH")
_VALUE = struct.Struct(">QHHHB")
_TOKEN = struct.Struct(">Q")
_REFUSE = struct.Struct(">QQQB")
_POINT = struct.Struct(">3d")
_BOX = struct.Struct(">6d")
_LENGTH = struct.Struct(">H")

NO_EXTENT, POINT, BOX, PRISM = range(4)
HEAD_BYTES = _PUBLICATION.size
_TOKENED_TYPES = {Reply: REPLY, Update: UPDATE, Hello: HELLO}


class BadVersion(DecodeError):
    """A datagram of another protocol version; `version` is what it speaks."""

    def __init__(self, version: int) -> None:
        super().__init__("bad_version", f"protocol version {version}, this is {VERSION}")
        self.version = version


# -- publications ----------------------------------------------------------------------------------


class PublicationFrame:
    """A publication as it came: the bytes to forward, and decoded what is matched. Raises `DecodeError`: a broken frame
    is refused before anything of its datagram is handled.
    """

    __slots__ = ("_payload_at", "attributes", "data", "extent", "hop_limit", "label", "sequence", "source")

    def __init__(self, data: bytes) -> None:
        self.data = data
        if len(data) < HEAD_BYTES:
            raise DecodeError("truncated", f"publication of {len(data)} bytes")
        head = _PUBLICATION.unpack_from(data)
        _, _, _, self.hop_limit, kind, attributes, self.label, self.sequence, self.source = head
        self.extent, at = _read_extent(data, kind)
        self._payload_at = end = at + attributes
        if end > len(data):
            raise DecodeError("bad_attributes", f"{attributes} bytes of attributes in a frame of {len(data)}")
        self.attributes: dict[str, Value] = {}
        if attributes:
            try:
                self.attributes = decode_attributes(data[at:end])
            except DecodeError as error:
                raise DecodeError("bad_attributes", str(error)) from None

    @property
    def payload(self) -> bytes:
        return self.data[self._payload_at :]

    def publication(self) -> Publication:
        return Publication(
            self.source, self.sequence, self.extent, self.attributes, self.payload, self.label, self.hop_limit
        )

    def next_hop(self, label: int) -> bytes:
        """The same bytes with the hop limit lowered by one, and the label that the forwarding table gives."""
        data = bytearray(self.data)
        data[4] -= 1
        if label != self.label:
            data[8:12] = label.to_bytes(4, "big")
        return bytes(data)


def _read_extent(data: bytes, kind: int) -> tuple[Extent, int]:
    at = HEAD_BYTES
    try:
        if kind == POINT:
            x, y, z = _POINT.unpack_from(data, at)
            return Point((x, y) if math.isnan(z) else (x, y, z)), at + _POINT.size
        if kind == NO_EXTENT:
            return None, at
        if kind in (BOX, PRISM):
            x0, y0, z0, x1, y1, z1 = _BOX.unpack_from(data, at)
            box = Box((x0, y0, z0), (x1, y1, z1))
            at += _BOX.size
            if kind == BOX:
                return box, at
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            if at + length > len(data):
                raise DecodeError("bad_extent", f"polygon of {length} bytes in a frame of {len(data)}")
            prism = Prism(decode_polygon(data[at : at + length]), z0, z1)
            # A table that looks only at the box must not miss what the polygon touches.
            if not all(a <= b for a, b in zip((x0, y0), prism.footprint.bounds[:2], strict=True)) or not all(
                a >= b for a, b in zip((x1, y1), prism.footprint.bounds[2:], strict=True)
            ):
                raise DecodeError("bad_extent", "polygon outside its box")
            return prism, at + length
    except struct.error as error:
        raise DecodeError("truncated", f"extent of kind {kind}: {error}") from None
    except DecodeError as error:
        raise DecodeError("bad_extent", str(error)) from None
    except ValueError as error:
        raise DecodeError("bad_extent", str(error)) from None
    raise DecodeError("bad_extent", f"extent kind {kind}")


def encode_publication(publication: Publication) -> bytes:
    """The frame of a publication. Raises `ValueError` if it does not fit one frame (65,535 bytes)."""
    extent = publication.extent
    if isinstance(extent, Point):
        x, y, *z = extent.position
        kind, body = POINT, _POINT.pack(x, y, z[0] if z else math.nan)
    elif isinstance(extent, Box):
        kind, body = BOX, _BOX.pack(*extent.low, *extent.high)
    elif isinstance(extent, Prism):
        polygon = encode_polygon(extent)
        kind, body = PRISM, _BOX.pack(*extent.bounds) + _LENGTH.pack(len(polygon)) + polygon
    else:
        kind, body = NO_EXTENT, b""
    attributes = encode_attributes(publication.attributes) if publication.attributes else b""
    length = HEAD_BYTES + len(body) + len(attributes) + len(publication.payload)
    if length > MAX_FRAME:
        raise ValueError(f"publication of {length} bytes: at most {MAX_FRAME} fit one frame; send a shorter payload")
    head = _PUBLICATION.pack(
        PUBLICATION, 0, length, publication.hop_limit, kind, len(attributes), publication.label,
        publication.sequence, publication.source,
    )  # fmt: skip
    return head + body + attributes + publication.payload


def heads(datagram: bytes) -> Iterator[tuple[int, int, int]]:
    """(source, sequence, bytes) of every publication in a datagram that one of us made, for those who only count."""
    at = len(PREAMBLE)
    while at < len(datagram):
        _, _, length, _, _, _, _, sequence, source = _PUBLICATION.unpack_from(datagram, at)
        yield source, sequence, length
        at += length


# -- control ---------------------------------------------------------------------------------------


def _frame(kind: int, flags: int, body: bytes) -> bytes:
    return _HEADER.pack(kind, flags, _HEADER.size + len(body)) + body


def _write_state(state: State) -> tuple[int, bytes]:
    flags = ASK if state.ask else 0
    body = _STATE.pack(
        state.serial, state.accepted, state.epoch, state.in_force, state.datagrams, state.lease, state.lease_ms
    )
    if state.welcome:
        flags |= WELCOME
        welcome = state.welcome
        body += _WELCOME.pack(*welcome.session, welcome.parent_generation, welcome.hold_ms)
    if state.cookie:
        flags |= COOKIE
        body += state.cookie
    if state.rank:
        flags |= RANK
        body += _RANK.pack(*state.rank)
    if value := state.value:
        flags |= VALUE
        body += _VALUE.pack(value.version, value.part, value.parts, value.subscriptions, value.attached) + value.chunk
    return flags, body


def _read_state(flags: int, body: bytes, at: int) -> State:
    serial, accepted, epoch, in_force, datagrams, lease, lease_ms = _STATE.unpack_from(body, at)
    at += _STATE.size
    welcome, cookie, rank, value = None, b"", None, None
    if flags & WELCOME:
        generation, number, parent, hold_ms = _WELCOME.unpack_from(body, at)
        welcome = Welcome(SessionId(generation, number), parent, hold_ms)
        at += _WELCOME.size
    if flags & COOKIE:
        cookie, at = body[at : at + 16], at + 16
        if len(cookie) < 16:
            raise DecodeError("truncated", "cookie")
    if flags & RANK:
        rank = Rank(*_RANK.unpack_from(body, at))
        at += _RANK.size
    if flags & VALUE:
        version, part, parts, subscriptions, attached = _VALUE.unpack_from(body, at)
        if not version or part >= parts or parts > MAX_PARTS or attached > 1:
            raise DecodeError("bad_part", f"version {version}, part {part} of {parts}, attached {attached}")
        value = ValuePart(version, part, parts, body[at + _VALUE.size :], subscriptions, bool(attached))
    elif at != len(body):
        raise DecodeError("bad_length", f"{len(body) - at} bytes behind a frame")
    return State(
        serial, accepted, epoch, in_force, bool(flags & ASK), datagrams, lease, lease_ms, welcome, cookie, rank, value
    )


def _write_subscribe(message: Subscribe) -> bytes:
    flags, state = _write_state(message.state)
    mode = message.mode.encode("ascii")
    flags |= (HOST if message.host else 0) | (OPTED if message.opted else 0)
    return _frame(SUBSCRIBE, flags, _SESSION.pack(*message.session) + bytes((len(mode),)) + mode + state)


def _read_subscribe(flags: int, body: bytes) -> Subscribe:
    session = SessionId(*_SESSION.unpack_from(body))
    at = _SESSION.size
    if len(body) <= at:
        raise DecodeError("truncated", "mode")
    end = at + 1 + body[at]
    mode = body[at + 1 : end]
    if len(mode) != body[at] or len(mode) > 32 or not mode.isascii():
        raise DecodeError("bad_frame", f"mode {mode!r}")
    return Subscribe(
        session, mode.decode("ascii"), bool(flags & HOST), bool(flags & OPTED), _read_state(flags, body, end)
    )


def _write_tokened(message: Reply | Update | Hello) -> bytes:
    flags, state = _write_state(message.state)
    return _frame(_TOKENED_TYPES[type(message)], flags | message.down, _TOKEN.pack(message.token) + state)


def _tokened_reader(cls: type[Reply] | type[Update] | type[Hello]) -> Callable[[int, bytes], Message]:
    def read(flags: int, body: bytes) -> Message:
        (token,) = _TOKEN.unpack_from(body)
        return cls(token, bool(flags & DOWN), _read_state(flags, body, _TOKEN.size))

    return read


def _write_quit(message: Quit) -> bytes:
    return _frame(QUIT, message.down, _TOKEN.pack(message.token))


def _read_quit(flags: int, body: bytes) -> Quit:
    return Quit(_only_token(body), bool(flags & DOWN))


def _write_reset(message: Reset) -> bytes:
    return _frame(RESET, message.down, _TOKEN.pack(message.token))


def _read_reset(flags: int, body: bytes) -> Reset:
    return Reset(_only_token(body), bool(flags & DOWN))


def _only_token(body: bytes) -> int:
    (token,) = _TOKEN.unpack_from(body)
    if len(body) > _TOKEN.size:
        raise DecodeError("bad_length", f"{len(body) - _TOKEN.size} bytes behind a token")
    return int(token)


def _write_refuse(message: Refuse) -> bytes:
    text = message.text.encode()[:200].decode(errors="ignore").encode()
    return _frame(REFUSE, DOWN, _REFUSE.pack(*message.session, message.version, message.reason) + text)


def _read_refuse(flags: int, body: bytes) -> Refuse:
    generation, number, version, reason = _REFUSE.unpack_from(body)
    if reason not in REFUSALS:
        raise DecodeError("bad_frame", f"REFUSE with reason {reason}")
    text = body[_REFUSE.size :].decode(errors="replace")
    return Refuse(SessionId(generation, number), reason, text, version)


def _write_challenge(message: Challenge) -> bytes:
    return _frame(CHALLENGE, DOWN, message.echo + message.cookie)


def _read_challenge(flags: int, body: bytes) -> Challenge:
    if len(body) != 32:
        raise DecodeError("bad_length", f"CHALLENGE of {len(body)} bytes")
    return Challenge(body[:16], body[16:])


def _write_rejoin(message: Rejoin) -> bytes:
    return _frame(REJOIN, DOWN, b"")


def _read_rejoin(flags: int, body: bytes) -> Rejoin:
    if body:
        raise DecodeError("bad_length", f"REJOIN of {len(body)} bytes")
    return Rejoin()


_READERS: dict[int, Callable[[int, bytes], Message]] = {
    SUBSCRIBE: _read_subscribe,
    REPLY: _tokened_reader(Reply),
    UPDATE: _tokened_reader(Update),
    HELLO: _tokened_reader(Hello),
    QUIT: _read_quit,
    RESET: _read_reset,
    REFUSE: _read_refuse,
    CHALLENGE: _read_challenge,
    REJOIN: _read_rejoin,
}
_WRITERS: dict[type, Callable[..., bytes]] = {
    Subscribe: _write_subscribe,
    Reply: _write_tokened,
    Update: _write_tokened,
    Hello: _write_tokened,
    Quit: _write_quit,
    Reset: _write_reset,
    Refuse: _write_refuse,
    Challenge: _write_challenge,
    Rejoin: _write_rejoin,
}


class Codec:
    """Datagrams to frames and back. `datagram_bytes` bounds what is packed together, not what is read."""

    def __init__(self, datagram_bytes: int = 1400) -> None:
        self.datagram_bytes = datagram_bytes
        #: Longest chunk of a region that fits one datagram with everything that may stand before it.
        self.chunk_bytes = datagram_bytes - VALUE_OVERHEAD

    def encode(self, message: Message) -> bytes:
        """One control message as a frame (no preamble)."""
        return _WRITERS[type(message)](message)

    def decode(self, datagram: bytes) -> list[Message | PublicationFrame]:
        """Every frame of a datagram. Raises `DecodeError` (or `BadVersion`) and then nothing of it counts."""
        if len(datagram) < 4:
            raise DecodeError("truncated", f"datagram of {len(datagram)} bytes")
        if datagram[:2] != b"CB":
            raise DecodeError("bad_magic", datagram[:2].hex())
        if datagram[2] != VERSION:
            raise BadVersion(datagram[2])
        frames: list[Message | PublicationFrame] = []
        at, size = 4, len(datagram)
        while at < size:
            if size - at < 4:
                raise DecodeError("truncated", f"{size - at} bytes where a frame should begin")
            kind, flags, length = _HEADER.unpack_from(datagram, at)
            if length < 4 or at + length > size:
                raise DecodeError("bad_length", f"frame of {length} bytes with {size - at} left")
            if kind == PUBLICATION:
                frames.append(PublicationFrame(datagram[at : at + length]))
            elif (read := _READERS.get(kind)) is not None:
                try:
                    frames.append(read(flags, datagram[at + 4 : at + length]))
                except struct.error as error:
                    raise DecodeError("truncated", f"frame of type {kind:#04x}: {error}") from None
            else:
                raise DecodeError("unknown_frame", f"frame type {kind:#04x}")
            at += length
        return frames


def is_empty(datagram: bytes) -> bool:
    """A preamble alone, of any version: never answered."""
    return len(datagram) <= 4
