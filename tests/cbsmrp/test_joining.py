"""Which parent a child stands below, and how it learns that it is gone: what users notice of PROTOCOL.md section 4."""

from __future__ import annotations

import pytest

from cbsmrp.modes import MODES
from cbsmrp.ready import Attached, Detached, InForceLost, NoAnswer
from interest import Box, Interest, Point
from sim.network import Link
from sim.overlay import HostNode, Overlay

SOMEWHERE = Interest.of(Box((0, 0, 0), (10, 10, 10)))


@pytest.fixture
def overlay() -> Overlay:
    overlay = Overlay(1, Link(delay=0.005))
    overlay.router("R0")
    overlay.router("R1", ["R0"])
    overlay.router("R2", ["R1", "R0"])
    return overlay


def noticed(host: HostNode, killed: float) -> float:
    """Seconds from the kill to the host's application knowing that nothing is in force."""
    return next(t for t, n in host.notices if t > killed and isinstance(n, InForceLost)) - killed


def test_a_moving_host_learns_within_seconds_that_its_router_is_dead(overlay: Overlay) -> None:
    host = overlay.host("H", ["R1", "R2"])
    subscription = host.subscribe(SOMEWHERE)
    overlay.run(5)
    overlay.kill("R1")
    killed = overlay.clock.now
    host.move(subscription, Interest.of(Box((0, 0, 0), (20, 20, 20))))
    overlay.run(10)
    assert noticed(host, killed) < 2 * host.host.timers.hold
    assert host.in_force(subscription)


def test_an_idle_host_learns_it_soon_after_its_hello(overlay: Overlay) -> None:
    host = overlay.host("H", ["R1", "R2"])
    subscription = host.subscribe(SOMEWHERE)
    overlay.run(5)
    overlay.kill("R1")
    killed = overlay.clock.now
    overlay.run(30)
    assert noticed(host, killed) < host.host.timers.host_hello + 2 * host.host.timers.hold
    assert host.in_force(subscription)


def test_a_slow_answer_is_not_a_dead_router(overlay: Overlay) -> None:
    overlay.network.connect("H", "R1", Link(delay=1.2))
    host = overlay.host("H", ["R1"])
    subscription = host.subscribe(SOMEWHERE)
    overlay.run(120)
    assert host.in_force(subscription)
    assert not any(isinstance(n, Detached) for _, n in host.notices)


def test_a_router_that_nobody_needed_joins_its_first_choice_again(overlay: Overlay) -> None:
    parents = []
    for i in range(3):
        overlay.host(f"H{i}", ["R2"])
        overlay.run(3)
        parents.append(overlay.routers["R2"].router.upstream.address)
        overlay.leave(f"H{i}")
        overlay.run(10)
        assert not overlay.routers["R2"].router.attached
    assert parents == ["R1", "R1", "R1"]


def test_a_router_without_a_way_up_is_told_from_one_that_is_not_there(overlay: Overlay) -> None:
    overlay.router("S1", ["S2"])
    overlay.router("S2", ["S1"])
    lost, nobody = overlay.host("H1", ["S1"]), overlay.host("H2", ["nowhere"])
    overlay.run(5)
    assert {n.why for _, n in lost.notices if isinstance(n, NoAnswer)} == {
        "it answers, but has no way to the core: check its upstreams"
    }
    assert {n.why for _, n in nobody.notices if isinstance(n, NoAnswer)} == {"no answer"}
    assert not any(isinstance(n, Attached) for _, n in lost.notices)


class Foreigner:
    """A router of another release: to whatever it cannot read it says which version it speaks."""

    def __init__(self, overlay: Overlay, address: str) -> None:
        self.network, self.address = overlay.network, address
        self.heard: list[bytes] = []
        overlay.network.attach(address, self)

    def arrive(self, data: bytes, source: str) -> None:
        self.heard.append(data)
        if len(data) > 4:
            self.network.send(self.address, source, b"CB\x02\x00")


def test_another_version_is_told_and_the_next_router_tried(overlay: Overlay) -> None:
    Foreigner(overlay, "F")
    host = overlay.host("H", ["F", "R1"])
    overlay.run(3)
    why = {n.why for _, n in host.notices if isinstance(n, NoAnswer)}
    assert len(why) == 1 and "protocol version 2" in why.pop()
    assert host.host.upstream is not None and host.host.upstream.address == "R1" and host.host.joined


def test_a_stranger_of_another_version_gets_an_empty_datagram_of_ours_and_no_more(overlay: Overlay) -> None:
    stranger = Foreigner(overlay, "F")
    overlay.network.send("F", "R0", b"CB\x02\x00" + bytes(50))
    overlay.run(1)
    assert stranger.heard == [b"CB\x01\x00"]
    overlay.network.send("F", "R0", b"CB\x02\x00")  # an empty one is not answered, so two releases do not chat for ever
    overlay.run(1)
    assert len(stranger.heard) == 1
    assert overlay.routers["R0"].router.drops["bad_version"] == 2


def test_a_mixed_overlay_is_refused_clearly(overlay: Overlay) -> None:
    flooding = overlay.router("R9", ["R0"], mode=MODES["flooding"])
    overlay.run(2)
    (why,) = {n.why for _, n in flooding.notices if isinstance(n, NoAnswer)}
    assert why == "mode: this overlay runs mode shared-tree, you asked for flooding"
    assert not flooding.router.attached


def test_a_deep_tree_delivers_from_end_to_end() -> None:
    """No hop limit stands between the two ends of a chain of sixty routers."""
    overlay = Overlay(1, Link(delay=0.001))
    for i in range(60):
        overlay.router(f"R{i}", [f"R{i - 1}"] if i else [])
    first, last = overlay.host("first", ["R0"]), overlay.host("last", ["R59"])
    first.subscribe(SOMEWHERE)
    last.subscribe(SOMEWHERE)
    overlay.run(15)
    first.publish(Point((5, 5, 5)))
    last.publish(Point((5, 5, 5)))
    overlay.run(1)
    assert (len(first.delivered), len(last.delivered)) == (1, 1)
