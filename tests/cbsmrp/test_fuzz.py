"""100,000 mutated and random datagrams against a router and a host in the middle of their sessions.

Nothing may raise; what does not decode changes nothing and is counted under a reason of PROTOCOL.md section 8; an
address that has not proved itself is never sent more bytes than came from it. What decodes is taken as sent: a
mutated QUIT with the right token ends a session, and the overlay mends that by itself.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import attrs
import pytest
from small_tree import at, strip

import cbsmrp
from cbsmrp.config import Timers
from cbsmrp.engine import Engine
from cbsmrp.messages import Hello, SessionId, State, Subscribe
from cbsmrp.wire import PREAMBLE, Codec
from interest import DecodeError, Prism
from sim.network import Sent
from sim.overlay import Overlay

TIMERS = Timers(
    hello=0.2, hold=1.0, host_hello=0.2, host_hold=1.0, resend=0.05, resend_max=0.2, lifetime=1.0, linger=0.2, lease=0.5
)
CODEC = Codec()
DECODING = {
    "bad_magic", "bad_version", "truncated", "bad_length", "unknown_frame", "bad_frame", "bad_part", "bad_extent",
    "bad_attributes", "bad_token", "bad_cookie",
}  # fmt: skip
SECTION_8 = (Path(cbsmrp.__file__).parent / "PROTOCOL.md").read_text().split("## 8. Reasons")[1].split("## 9.")[0]
REASONS = set(re.findall(r"`(\w+)`", SECTION_8.split("Dropped datagrams and frames")[1]))


class Attack:
    """R0 - R1 - R2 with hosts at R1 and R2; R1 and H1 are the victims."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.overlay = Overlay(f"fuzz {seed}", timers=TIMERS, datagram_bytes=600)
        self.captured: list[bytes] = []
        self.sent_to: Counter[Any] = Counter()
        self.got_from: Counter[Any] = Counter()
        self.overlay.network.trace = self._seen
        self.overlay.router("R0")
        self.overlay.router("R1", ["R0"])
        self.overlay.router("R2", ["R1"])
        self.h1 = self.overlay.host("H1", ["R1"])
        self.h2 = self.overlay.host("H2", ["R2"], opted=True)
        self.s1 = self.h1.subscribe(strip(0, 10))
        self.s2 = self.h2.subscribe(strip(*range(60)))  # in several parts
        self.overlay.run(1.0)
        self.life(1.0)
        self.strangers = [f"X{i}" for i in range(5)]
        #: Bytes from and to each stranger, over all time.
        self.came: defaultdict[str, int] = defaultdict(int)
        self.went: defaultdict[str, int] = defaultdict(int)

    def _seen(self, sent: Sent) -> None:
        if len(self.captured) < 4000:
            self.captured.append(sent.data)
        else:
            self.captured[self.rng.randrange(4000)] = sent.data
        if isinstance(sent.destination, str) and sent.destination.startswith("X"):
            self.went[sent.destination] += len(sent.data)

    def life(self, seconds: float) -> None:
        """Time goes by: moves, publications of every shape, hellos."""
        x = self.rng.uniform(0, 50)
        self.h1.move(self.s1, strip(x, x + 5))
        if self.rng.random() < 0.1:
            self.h2.move(self.s2, strip(*(x + i for i in range(60))))
        self.h1.publish(at(x), {"layer": "a", "n": 3}, b"payload")
        self.h2.publish(Prism([(x, 0), (x + 3, 0), (x, 3)], 0, 5), {"speed": 1.5, "on": True})
        self.h2.publish(None, {"text": "chat"})
        self.overlay.run(seconds)

    # -- mutations -------------------------------------------------------------------------------------

    def datagram(self) -> bytes:
        r = self.rng
        kind = r.random()
        if kind < 0.04:
            return r.randbytes(r.randrange(0, 80))
        if kind < 0.08:
            return PREAMBLE + r.randbytes(r.randrange(0, 80))
        data = bytearray(r.choice(self.captured))
        if kind < 0.14:
            return bytes(data)  # replayed as it was
        if kind < 0.40:
            for _ in range(r.choice((1, 1, 2, 8))):
                if data:
                    data[r.randrange(len(data))] ^= 1 << r.randrange(8)
        elif kind < 0.55:
            del data[r.randrange(len(data) + 1) :]
        elif kind < 0.70:
            other = r.choice(self.captured)
            data = data[: r.randrange(len(data) + 1)] + other[r.randrange(len(other) + 1) :]
        elif kind < 0.82 and len(data) >= 8:
            lengths = (0, 3, 4, 5, len(data) - 4, len(data) - 3, 65535, r.randrange(65536))
            data[6:8] = r.choice(lengths).to_bytes(2, "big")
        elif kind < 0.92:
            data = data + data[4:] * r.randrange(1, 4)  # the same frames again, in one datagram
        elif data:
            i = r.randrange(len(data))
            data[i : i + r.randrange(9)] = r.choice((b"\0", b"\xff")) * r.randrange(9)
        return bytes(data)


def snapshot(engine: Engine) -> Any:
    """Everything that a datagram may change: table, versions, timers, what is remembered."""
    vifs = tuple(
        (*(getattr(vif, name) for name in VIF_FIELDS), tuple(vif.parts), len(vif.waits), vif.traffic.datagrams_in)
        for vif in engine.rib
    )
    return (
        vifs, engine._version, engine._epoch, engine._best_told, engine._parent_rank, engine._session_number,
        engine.publications, len(engine._joining), len(engine._ended), engine.next_deadline(),
    )  # fmt: skip


VIF_FIELDS = (
    "id", "address", "session", "token", "token_seen", "in_version", "in_value", "attached", "parts_version",
    "confirmed", "dirty", "out_version", "out_value", "accepted", "in_force", "peer_epoch", "resend_at", "cookie",
    "heard", "hello_at",
    "reply", "serial_out", "serial_in", "lease_until",
)  # fmt: skip


class Victim:
    """The router R1 or the host H1, and its next life where what decoded has made it believe something absurd."""

    def __init__(self, attack: Attack, name: str) -> None:
        self.attack, self.name = attack, name
        self.drops: Counter[str] = Counter()
        self.lives = 0
        self._meet()

    def _meet(self) -> None:
        overlay = self.attack.overlay
        self.node = (overlay.routers.get(self.name) or overlay.hosts[self.name]).node
        self.engine = self.node.endpoint.engine
        self.table_changes = 0
        self.lives += 1
        if self.name in overlay.routers:
            fib = overlay.routers[self.name].endpoint.fib
            plain = fib.apply

            def apply(change: Any) -> None:
                self.table_changes += 1
                plain(change)

            fib.apply = apply  # type: ignore[method-assign]

    def restart(self) -> None:
        attack, overlay = self.attack, self.attack.overlay
        self.drops += self.engine.drops
        overlay.kill(self.name)
        if self.name == "R1":
            overlay.router("R1", ["R0"])
        else:
            attack.h1 = overlay.host("H1", ["R1"])
            attack.s1 = attack.h1.subscribe(strip(0, 10))
        self._meet()


@pytest.mark.parametrize(("name", "count"), [("R1", 70_000), ("H1", 30_000)])
def test_mutated_and_random_datagrams(name: str, count: int) -> None:
    attack = Attack(7)
    overlay, rng = attack.overlay, attack.rng
    victim = Victim(attack, name)
    neighbours = ["R0", "R1", "R2", "H1", "H2"]
    broken = whole = joined = 0
    for i in range(count):
        if i % 100 == 0:
            attack.life(0.02)
            if not victim.engine.attached:
                overlay.run(0.3)
                if not victim.engine.attached:
                    victim.restart()
                    overlay.run(0.5)
        joined += victim.engine.attached
        data = attack.datagram()
        address = rng.choice(attack.strangers) if rng.random() < 0.4 else rng.choice(neighbours)
        try:
            CODEC.decode(data)
            reason = None
        except DecodeError as error:
            reason = error.reason
        if address in attack.strangers:
            attack.came[address] += len(data)
        if reason is None or reason == "bad_version":
            whole += 1
            victim.node.arrive(data, address)
        else:
            broken += 1
            engine, changes = victim.engine, victim.table_changes
            before, drops = snapshot(engine), engine.drops[reason]
            victim.node.arrive(data, address)
            assert engine.drops[reason] == drops + 1, reason
            assert snapshot(engine) == before, (reason, data.hex())
            assert victim.table_changes == changes
        if address in attack.strangers:
            assert attack.went[address] <= attack.came[address], (address, data.hex())
    # What decoded was taken as sent, so the victim may believe anything. Nobody else does: with a new life all is well.
    victim.restart()
    overlay.run(4.0)
    for host in (attack.h1.host, attack.h2.host):
        assert host.in_force == host.version
    assert set(victim.drops) <= REASONS, "every drop has a documented name"
    assert set(victim.drops) >= DECODING, "the mutations reach every part of the decoder"
    assert broken > count / 4 and whole > count / 4
    assert joined > count / 2, "it was in the middle of its sessions"
    assert all(attack.went.values()) and attack.went, "strangers are answered: challenges, hints, versions"


def told(overlay: Overlay) -> defaultdict[Any, list[bytes]]:
    """What is sent from now on, by receiver."""
    log: defaultdict[Any, list[bytes]] = defaultdict(list)

    def seen(sent: Sent) -> None:
        log[sent.destination].append(sent.data)

    overlay.network.trace = seen
    return log


def test_a_captured_subscribe_replayed_from_elsewhere_gets_no_more_than_it_brings() -> None:
    """The cookie in it was made for another address. Each replay is answered by a challenge, and nothing is kept."""
    attack = Attack(1)
    subscribes = [
        data for data in attack.captured if any(isinstance(m, Subscribe) and m.state.cookie for m in CODEC.decode(data))
    ]
    assert len(subscribes) >= 3
    victim = attack.overlay.routers["R1"]
    for address in ("X1", "X2"):
        came = 0
        log = told(attack.overlay)
        for data in subscribes * 3:
            before = snapshot(victim.router)
            came += len(data)
            victim.node.arrive(data, address)
            assert snapshot(victim.router) == before
            assert sum(map(len, log[address])) <= came
        assert victim.router.rib.at(address) is None
    assert victim.router.drops["bad_cookie"] == 2 * 3 * len(subscribes)


def test_a_short_subscribe_is_not_answered_by_something_longer() -> None:
    """The shortest SUBSCRIBE there is (a mode without letters) is still longer than a CHALLENGE."""
    attack = Attack(2)
    data = PREAMBLE + CODEC.encode(Subscribe(SessionId(1, 1), "", True, False, State()))
    log = told(attack.overlay)
    attack.overlay.routers["R1"].node.arrive(data, "X1")
    (answer,) = log["X1"]
    assert len(answer) <= len(data)


def test_a_client_with_a_token_cannot_turn_the_flow_on_somebody_else() -> None:
    """H1 knows its token and pretends to be at X1: X1 gets one challenge a datagram, H1's VIF stays where it is."""
    attack = Attack(3)
    router = attack.overlay.routers["R1"]
    vif = router.router.rib.at("H1")
    assert vif is not None and vif.token is not None
    log, came = told(attack.overlay), 0
    for serial in range(1000, 1100):
        data = PREAMBLE + CODEC.encode(Hello(vif.token, False, State(serial=serial, ask=True))) * 4
        came += len(data)
        router.node.arrive(data, "X1")
        attack.h1.publish(at(5))
    attack.overlay.run(0.5)
    assert vif.address == "H1" and router.router.rib.at("H1") is vif
    assert sum(map(len, log["X1"])) <= came
    assert len(log["X1"]) == 100
    assert attack.h1.host.joined


def test_a_cookie_is_good_for_its_own_address_only() -> None:
    """An attacker that can receive at X1 gets a cookie there; it does not open X2."""
    attack = Attack(4)
    router = attack.overlay.routers["R1"]
    ask = Subscribe(SessionId(5, 1), "shared-tree", True, False, State(serial=1))
    log = told(attack.overlay)
    router.node.arrive(PREAMBLE + CODEC.encode(ask), "X1")
    (challenge,) = CODEC.decode(log["X1"][0])
    with_cookie = attrs.evolve(ask, state=State(serial=2, cookie=challenge.cookie))  # type: ignore[union-attr]
    router.node.arrive(PREAMBLE + CODEC.encode(with_cookie), "X2")
    assert router.router.rib.at("X2") is None
    assert router.router.drops["bad_cookie"] == 1
    router.node.arrive(PREAMBLE + CODEC.encode(with_cookie), "X1")
    assert router.router.rib.at("X1") is not None


def test_strangers_are_hinted_at_a_limited_rate() -> None:
    """Publications from addresses without a VIF: at most 50 REJOINs a second in all, each shorter than what came."""
    attack = Attack(5)
    router = attack.overlay.routers["R1"]
    publication = next(data for data in attack.captured if data[4] == 1)
    log = told(attack.overlay)
    for i in range(500):
        router.node.arrive(publication, f"X{i}")
    answers = [data for address, all_of in log.items() if str(address).startswith("X") for data in all_of]
    assert 1 < len(answers) <= 50
    assert all(len(answer) < len(publication) for answer in answers)
    assert router.router.drops["unknown_vif"] >= 500
    attack.overlay.run(0.1)
    router.node.arrive(publication, "X999")
    assert len(log["X999"]) == 1


def test_an_empty_datagram_is_never_answered() -> None:
    attack = Attack(6)
    router = attack.overlay.routers["R1"]
    log = told(attack.overlay)
    for data in (b"", b"C", b"CB\x09", b"CB\x09\x00", PREAMBLE):
        router.node.arrive(data, "X1")
    assert not log["X1"]
    router.node.arrive(b"CB\x09\x00!", "X1")
    assert log["X1"] == [PREAMBLE], "another version, with something in it: told which one is spoken here"
