"""A host written from PROTOCOL.md's recipe with nothing but `struct`: if this needs more, the document is wrong."""

from __future__ import annotations

import struct

from cbsmrp.config import Limits
from interest import Box, Interest, Point
from sim.network import Link
from sim.overlay import Overlay

SUBSCRIBE, REPLY, UPDATE, HELLO, QUIT, RESET, REFUSE, CHALLENGE = range(0x10, 0x18)
DOWN, ASK, WELCOME, COOKIE, RANK, VALUE, HOST = (1 << i for i in range(7))


def region(*boxes: tuple[float, ...]) -> bytes:
    """Boxes in FORMAT.md's form: version, one conjunct, with a region of so many boxes, and no attributes."""
    pieces = b"".join(struct.pack(">6d", *box) for box in boxes)
    return struct.pack(">BIBIIII", 1, 1, 1, len(boxes), 0, 0, 0) + pieces + b"\0"


class ForeignHost:
    """Steps 1 to 10 of the recipe, without its repetitions (the link here loses nothing)."""

    def __init__(self, overlay: Overlay, address: str, router: str) -> None:
        self.network, self.address, self.router = overlay.network, address, router
        self.session = struct.pack(">QQ", 1_700_000_000_000, 1 << 32 | 0xABCDEF01)
        self.serial = self.accepted = self.told_accepted = self.told_in_force = 0
        self.token = b""
        self.value, self.version = region((0, 0, 0, 10, 10, 10)), 1
        self.refused: list[tuple[int, int, str]] = []
        self.publications: list[bytes] = []
        overlay.network.attach(address, self)
        self.subscribe()

    def send(self, kind: int, flags: int, body: bytes) -> None:
        frame = struct.pack(">BBH", kind, flags, 4 + len(body)) + body
        self.network.send(self.address, self.router, b"CB\x01\x00" + frame)

    def state(self) -> bytes:
        self.serial += 1
        return struct.pack(">QQIQIQH", self.serial, self.accepted, 0, self.accepted, 0, 0, 0)

    def chunk(self) -> bytes:
        return struct.pack(">QHHHB", self.version, 0, 1, 1, 0) + self.value

    def subscribe(self, cookie: bytes = b"") -> None:
        flags = HOST | (COOKIE | VALUE if cookie else 0)
        self.send(SUBSCRIBE, flags, self.session + b"\0" + self.state() + cookie + (self.chunk() if cookie else b""))

    def want(self, value: bytes) -> None:
        self.value, self.version = value, self.version + 1
        self.send(UPDATE, VALUE, self.token + self.state() + self.chunk())

    def publish(self, sequence: int, x: float, y: float, z: float, payload: bytes) -> None:
        frame = struct.pack(">BBHBBHIIQ3d", 1, 0, 48 + len(payload), 255, 1, 0, 0, sequence, 0xF00, x, y, z) + payload
        self.network.send(self.address, self.router, b"CB\x01\x00" + frame)

    def quit(self) -> None:
        self.send(QUIT, 0, self.token)

    def arrive(self, data: bytes, source: str) -> None:
        assert data[:3] == b"CB\x01"
        at = 4
        while at < len(data):
            kind, flags, length = struct.unpack_from(">BBH", data, at)
            self.frame(kind, flags, data[at + 4 : at + length], data[at : at + length])
            at += length

    def frame(self, kind: int, flags: int, body: bytes, whole: bytes) -> None:
        if kind == 1:
            self.publications.append(whole)
        elif kind == CHALLENGE and body[:16] == self.session:
            self.subscribe(cookie=body[16:32])
        elif kind == REFUSE and body[:16] == self.session:
            version, reason = struct.unpack_from(">QB", body, 16)
            self.refused.append((version, reason, body[25:].decode()))
        elif kind in (REPLY, UPDATE, HELLO):
            self.on_state(flags, body)

    def on_state(self, flags: int, body: bytes) -> None:
        _, accepted, _, in_force, _, _, _ = struct.unpack_from(">QQIQIQH", body, 8)
        at = 8 + struct.calcsize(">QQIQIQH")
        if flags & WELCOME:
            assert body[at : at + 16] == self.session
            self.token, at = body[:8], at + 28
        assert body[:8] == self.token
        self.told_accepted, self.told_in_force = max(self.told_accepted, accepted), in_force
        if flags & VALUE:
            at += 14 if flags & RANK else 0
            (self.accepted,) = struct.unpack_from(">Q", body, at)
        if flags & (VALUE | ASK):
            self.send(REPLY, 0, self.token + self.state())


def test_a_host_written_from_the_recipe_does_all_that_a_host_does() -> None:
    overlay = Overlay(1, Link(delay=0.005))
    overlay.router("R0")
    overlay.router("R1", ["R0"], limits=Limits(pieces=4))
    ours = overlay.host("ours", ["R0"])
    ours.subscribe(Interest.of(Box((0, 0, 0), (10, 10, 10))))
    foreign = ForeignHost(overlay, "foreign", "R1")
    overlay.run(2)
    assert (foreign.told_accepted, foreign.told_in_force) == (1, 1)

    ours.publish(Point((5, 5, 5)), {"layer": "a"}, b"hello")
    ours.publish(Point((50, 5, 5)), {}, b"elsewhere")
    foreign.publish(0, 1.0, 2.0, 3.0, b"from afar")
    overlay.run(1)
    assert [p[-5:] for p in foreign.publications] == [b"hello"]
    ((_, _, frame),) = ours.delivered
    assert (frame.extent, frame.source, frame.sequence, frame.payload) == (Point((1, 2, 3)), 0xF00, 0, b"from afar")

    foreign.want(region((40, 0, 0, 60, 10, 10)))
    overlay.run(1)
    assert foreign.told_in_force == 2
    ours.publish(Point((50, 5, 5)), {}, b"here now")
    overlay.run(1)
    assert [p[-8:] for p in foreign.publications[1:]] == [b"here now"]

    foreign.want(region(*((i, 0, 0, i, 1, 1) for i in range(5))))
    overlay.run(1)
    assert foreign.refused[0] == (3, 4, "5 pieces: this router takes at most 4 from one host")

    foreign.quit()
    overlay.run(0.1)
    assert overlay.routers["R1"].router.rib.at("foreign") is None
