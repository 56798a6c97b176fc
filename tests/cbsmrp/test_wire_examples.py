"""PROTOCOL.md read by a test: section 9's example bytes against the codec, section 8's reasons against the code."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path
from typing import Any

import pytest

import cbsmrp
from cbsmrp.messages import (
    PIECES,
    REFUSALS,
    Challenge,
    Hello,
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
from cbsmrp.wire import PREAMBLE, Codec, PublicationFrame, encode_publication
from interest import EVERYTHING, Box, Interest, Point
from interest.binary import encode_interest

PACKAGE = Path(cbsmrp.__file__).parent
TEXT = (PACKAGE / "PROTOCOL.md").read_text()
INF = float("inf")

SESSION = SessionId(1_700_000_000_000, 1 << 32 | 0x5EED5EED)
TOKEN = 0x1122334455667788
COOKIE = bytes(range(0xA0, 0xB0))
BOX = encode_interest(Interest.of(Box((0, 0, 0), (50, 50, 20))))
TOO_MANY = "300 pieces: this router takes at most 256 from one host"

#: What each example of section 9 means, written from its words and not from its bytes.
MEANT: dict[str, Any] = {
    "SUBSCRIBE without a cookie": Subscribe(SESSION, "shared-tree", True, False, State(serial=1)),
    "CHALLENGE": Challenge(bytes.fromhex("0000018bcfe56800 00000001 5eed5eed"), COOKIE),
    "SUBSCRIBE with the cookie and a region": Subscribe(
        SESSION, "shared-tree", True, False, State(serial=2, cookie=COOKIE, value=ValuePart(1, 0, 1, BOX, 1, False))
    ),
    "REPLY with a welcome": Reply(
        TOKEN,
        True,
        State(
            serial=1,
            accepted=3,
            welcome=Welcome(SESSION, 1_690_000_000_005, 3500),
            rank=Rank(1_690_000_000_000, 4711, 2),
        ),
    ),
    "UPDATE with a welcome": Update(
        TOKEN,
        True,
        State(
            serial=1,
            accepted=1,
            welcome=Welcome(SESSION, 1_690_000_000_009, 35000),
            value=ValuePart(7, 0, 1, encode_interest(EVERYTHING), 0, True),
        ),
    ),
    "HELLO": Hello(TOKEN, False, State(serial=4, accepted=7, in_force=7, ask=True, datagrams=12)),
    "REPLY": Reply(TOKEN, True, State(serial=5, accepted=1, in_force=1, lease=4, lease_ms=2000)),
    "PUBLICATION": Publication(
        0xFEEDFACECAFEBEEF,
        41,
        Point((1.0, 2.5, -3.0)),
        {"layer": "avatars", "team": 2, "speed": 1.5, "alive": True},
        b"hello",
    ),
    "PUBLICATION in a box": Publication(
        0xFEEDFACECAFEBEEF, 42, Box((0, 0, -INF), (10, 10, INF)), hop_limit=254
    ),
    "REFUSE": Refuse(SESSION, PIECES, TOO_MANY, 2),
    "QUIT": Quit(TOKEN),
    "RESET": Reset(TOKEN, True),
    "REJOIN": Rejoin(),
}  # fmt: skip

Field = tuple[str, bytes, Any]


def parse_value(text: str) -> Any:
    if text.startswith('"'):
        return text.strip('"')
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    return float(text) if re.search(r"[.i]", text) else int(text)


def examples() -> dict[str, list[Field]]:
    """Section 9: title -> [(name, bytes, value)], one entry a line (or a line and the lines it continues)."""
    found: dict[str, list[Field]] = {}
    for part in TEXT.split("## 9. Examples")[1].split("\n### ")[1:]:
        title, _, body = part.partition("\n")
        fields, pending = [], b""
        for line in body.splitlines():
            if match := re.fullmatch(r"    ([0-9a-f]+)(?:\s+([a-z0-9_.]+) = (.*))?", line):
                data, name, value = match.groups()
                pending += bytes.fromhex(data)
                if name:
                    fields.append((name, pending, parse_value(value)))
                    pending = b""
        assert not pending, title
        found[title] = fields
    return found


EXAMPLES = examples()


def as_bytes(value: Any, size: int) -> bytes:
    """What a documented value is on the wire, by the rules of section 1."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        return struct.pack(">d", value)
    return int(value).to_bytes(size, "big")


def fields_of(frame: Any) -> dict[str, Any]:
    """The names that section 3 gives to what a decoded frame holds."""
    if isinstance(frame, PublicationFrame):
        extent = frame.extent
        names = ("x", "y", "z") if isinstance(extent, Point) else ("x0", "y0", "z0", "x1", "y1", "z1")
        numbers = extent.position if isinstance(extent, Point) else extent.bounds
        return {
            "hop_limit": frame.hop_limit,
            "label": frame.label,
            "sequence": frame.sequence,
            "source": frame.source.to_bytes(8, "big"),
            "payload": frame.payload.decode(),
            **dict(zip(names, numbers, strict=True)),
        }
    fields: dict[str, Any] = {}
    if isinstance(frame, Subscribe | Refuse):
        fields |= {"generation": frame.session.generation, "number": frame.session.number}
    if isinstance(frame, Subscribe):
        fields |= {"mode": frame.mode, "mode_length": len(frame.mode)}
    if isinstance(frame, Refuse):
        fields |= {"reason": frame.reason, "text": frame.text, "version": frame.version}
    if isinstance(frame, Challenge):
        fields |= {"echo": frame.echo, "cookie": frame.cookie}
    if isinstance(frame, Reply | Update | Hello | Quit | Reset):
        fields["token"] = frame.token.to_bytes(8, "big")
    if state := getattr(frame, "state", None):
        for name in ("serial", "accepted", "epoch", "in_force", "datagrams", "lease", "lease_ms"):
            fields[name] = getattr(state, name)
        if state.cookie:
            fields["cookie"] = state.cookie
        if welcome := state.welcome:
            fields |= {"welcome_generation": welcome.session.generation, "welcome_number": welcome.session.number}
            fields |= {"parent_generation": welcome.parent_generation, "hold_ms": welcome.hold_ms}
        if rank := state.rank:
            fields |= {"core_generation": rank.generation, "core_sequence": rank.sequence, "depth": rank.depth}
        if value := state.value:
            fields |= {name: getattr(value, name) for name in ("version", "part", "parts", "subscriptions", "attached")}
    return fields


def datagram(title: str) -> bytes:
    return b"".join(data for _, data, _ in EXAMPLES[title])


def test_section_9_holds_one_example_of_every_frame() -> None:
    assert list(EXAMPLES) == list(MEANT)
    documented = set(re.findall(r"^\| ([0-9]{2}) \| [A-Z]+ \|", TEXT, re.M))
    assert {datagram(title)[4:5].hex() for title in EXAMPLES} == documented


@pytest.mark.parametrize("title", EXAMPLES)
def test_every_line_is_the_bytes_of_what_it_says(title: str) -> None:
    for name, data, value in EXAMPLES[title]:
        assert data == as_bytes(value, len(data)), (name, data.hex(), value)


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_codec_reads_an_example_as_what_it_means(title: str) -> None:
    data = datagram(title)
    (frame,) = Codec().decode(data)
    assert (frame.publication() if isinstance(frame, PublicationFrame) else frame) == MEANT[title]
    fields = EXAMPLES[title]
    assert [(name, value) for name, _, value in fields[:3]] == [("magic", "CB"), ("version", 1), ("flags", b"\0")]
    header = {name: value for name, _, value in fields[3:6]}
    assert header["length"] == len(data) - 4
    decoded = fields_of(frame)
    said = {name: value for name, _, value in fields[6:] if "." not in name}
    for name in ("extent_kind", "attributes_length"):
        said.pop(name, None)
    assert {name: decoded[name] for name in said} == said
    assert {name for name, value in decoded.items() if value not in (0, "") or name not in said} <= said.keys() | {
        "payload"
    }


@pytest.mark.parametrize("title", MEANT)
def test_the_codec_writes_an_example_as_it_stands(title: str) -> None:
    meant = MEANT[title]
    frame = encode_publication(meant) if isinstance(meant, Publication) else Codec().encode(meant)
    assert (PREAMBLE + frame).hex() == datagram(title).hex()


def test_the_refuse_table_of_section_8_is_the_codes() -> None:
    line = re.search(r"^REFUSE: (.*)$", TEXT, re.M)
    assert line is not None
    assert {int(n): name for n, name in re.findall(r"(\d+) `(\w+)`", line[1])} == REFUSALS


def countable() -> set[str]:
    """Every name under which the code can count a drop: what it adds to `drops`, and what its decoders raise."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                owner, key = node.target.value, node.target.slice
                name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                if name == "drops" and isinstance(key, ast.Constant):
                    names.add(key.value)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DecodeError":
                assert isinstance(node.args[0], ast.Constant), ast.unparse(node)
                names.add(node.args[0].value)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
                names |= {a.value for a in node.args[:1] if isinstance(a, ast.Constant) and a.value == "bad_version"}
    return names


def documented_drops() -> set[str]:
    section = TEXT.split("## 8. Reasons")[1].split("## 9.")[0]
    return set(re.findall(r"`(\w+)`", section.split("Dropped datagrams and frames")[1]))


def test_the_drop_reasons_of_section_8_are_those_the_code_can_count() -> None:
    assert documented_drops() == countable()
