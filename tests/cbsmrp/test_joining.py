"""Which parent a child stands below, and how it learns that it is gone: what users notice of PROTOCOL.md section 4."""

from __future__ import annotations

import pytest

from cbsmrp.ready import Attached, Detached, InForceLost, NoAnswer
from interest import Box, Interest
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
