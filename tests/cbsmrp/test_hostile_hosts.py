"""What an admitted host may do out of malice or by mistake, and that neither the router nor the others suffer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from small_tree import Tree, at, strip

from cbsmrp.config import ConfigError, Limits, Timers
from cbsmrp.messages import Hello, Publication, Quit, Rank, SessionId, State, Subscribe, ValuePart
from cbsmrp.ready import Detached, NoAnswer
from cbsmrp.vif import UPSTREAM
from cbsmrp.wire import PREAMBLE, Codec, encode_publication

CODEC = Codec()


def admit(tree: Tree, address: str, number: int = 1) -> Any:
    """A session of somebody who speaks for himself, without an engine. Returns the router's VIF."""
    endpoint = tree.overlay.routers["R0"].endpoint
    now = tree.overlay.clock.now
    cookie = endpoint.router._cookies.bake(address, now)
    subscribe = Subscribe(SessionId(5, number), "", True, False, State(serial=1, cookie=cookie))
    endpoint.datagram(PREAMBLE + CODEC.encode(subscribe), address, now)
    return endpoint.router.rib.at(address)


def test_a_host_that_never_reports_in_force_holds_nobody_up_for_longer_than_its_lease() -> None:
    """It would be granted lease after lease, and everybody else would wait for it for ever."""
    tree = Tree({"R1": "R0"}, {"H": "R0"}, timers=Timers(lease=0.5, linger=0.2))
    liar = tree.overlay.host("P", ["R1"], opted=True).host
    tree.settle()
    plain = liar._state
    liar._state = lambda vif, **how: attrs.evolve(plain(vif, **how), in_force=0)  # type: ignore[method-assign]
    subscription = tree.wants("H", 0, 10)
    for x in range(20):
        tree.settle(0.1)
        tree.host("H").move(subscription, strip(0, 10 + x))
    tree.settle(0.7)
    assert tree.host("H").in_force(subscription)


def test_what_is_remembered_of_a_host_ends_with_its_session() -> None:
    tree = Tree().settle(0.1)
    router = tree.overlay.routers["R0"]
    now = tree.overlay.clock.now
    for number in range(1, 200):
        vif = admit(tree, "X", number)
        router.endpoint.datagram(PREAMBLE + encode_publication(Publication(7, number, at(1))), "X", now)
        router.endpoint.datagram(PREAMBLE + CODEC.encode(Quit(vif.token)), "X", now)
    rib = router.router.rib
    kept = {
        name: len(value)
        for things in (vars(router.endpoint), vars(router.router), attrs.asdict(rib, recurse=False))
        for name, value in things.items()
        if isinstance(value, dict) and name not in ("sent", "received", "drops", "past_traffic")
    }
    assert max(kept.values()) <= 1, kept
    tree.settle(70)
    assert router.router._ended == {}


def test_ended_sessions_are_forgotten_in_time_though_others_end_later() -> None:
    tree = Tree().settle(0.1)
    router = tree.overlay.routers["R0"].router
    for number in range(1, 20):
        for address in ("X", f"X{number}"):
            tree.overlay.routers["R0"].endpoint.datagram(
                PREAMBLE + CODEC.encode(Quit(admit(tree, address, number).token)), address, tree.overlay.clock.now
            )
        tree.settle(10)
        times = [until for _, until in router._ended.values()]
        assert times == sorted(times) and min(times) > tree.overlay.clock.now - 1.0 and len(times) <= 8


def test_the_deepest_rank_still_fits_a_frame() -> None:
    tree = Tree({"R1": "R0", "R2": "R1"}, {"H": "R2"}).settle()
    router = tree.overlay.routers["R1"]
    up = router.router.rib.vifs[UPSTREAM]
    deep = Hello(up.token or 0, True, State(serial=10**6, rank=Rank(10**12, 1, 0xFFFF)))
    router.node.arrive(PREAMBLE + CODEC.encode(deep), "R0")
    tree.settle(0.5)
    assert tree.overlay.routers["R2"].router._parent_rank == Rank(10**12, 1, 0xFFFF)


def test_versions_go_on_past_32_bits() -> None:
    """A busy router with a thousand hosts that hold publications back makes so many in a day."""
    tree = Tree({"R1": "R0"}, {"H1": "R1", "H2": "R0"})
    for node in (*tree.overlay.routers.values(),):
        node.router._version = 2**32 - 5
    tree.host("H1").host._version = 2**32 - 5
    subscription = tree.wants("H1", 0, 10)
    for x in range(20):
        tree.settle(0.2)
        tree.host("H1").move(subscription, strip(x, x + 10))
    tree.settle()
    assert tree.vif("R1", "H1").in_version > 2**32 and tree.host("H1").in_force(subscription)
    assert tree.heard_by(25, "H2") == {"H1": 1}


@pytest.mark.parametrize("timer", ["lease", "hold", "host_hold"])
def test_a_time_that_fits_no_frame_is_a_configuration_error(timer: str) -> None:
    with pytest.raises(ConfigError, match=rf"{timer} = 10000000.0: give a number above 0, at most"):
        Timers(**{timer: 1e7})


def test_parts_without_end_cost_a_router_nothing() -> None:
    tree = Tree().settle(0.1)
    vif = admit(tree, "X")
    for part in range(2**16 - 1):
        update = CODEC.encode(Hello(vif.token, False, State(serial=2, value=ValuePart(9, part, 2**16 - 1, b""))))
        tree.overlay.routers["R0"].endpoint.datagram(PREAMBLE + update, "X", tree.overlay.clock.now)
        if part > 300:
            break
    assert vif.parts == {} and tree.overlay.routers["R0"].router.drops["bad_part"] > 300


# -- a stricter router than the one before ---------------------------------------------------------


def test_a_router_that_refuses_what_stood_below_another_is_left_for_the_next() -> None:
    """Nothing can be undone: all of it was in force. The host must not stay where it is not served."""
    tree = Tree({"R1": "R0"})
    tree.overlay.router("R2", ["R0"], keep_attached=True, limits=Limits(pieces=3))
    tree.overlay.router("R3", ["R0"], keep_attached=True, budget=0)
    host = tree.overlay.host("H", ["R1", "R2", "R3"])
    publisher = tree.overlay.host("P", ["R0"])
    tree.settle()
    subscription = tree.wants("H", *range(10))
    tree.settle()
    assert host.in_force(subscription)
    tree.overlay.leave("R1")
    tree.settle(8.0)
    reasons = [n.why for _, n in host.notices if isinstance(n, NoAnswer | Detached)]
    assert "5 pieces: this router takes at most 3 from one host" in reasons
    assert host.host.rib.vifs[UPSTREAM].address == "R3" and host.in_force(subscription)
    assert publisher.publish(at(0.5)) is not None
    tree.settle(0.5)
    assert len(host.arrived) == 1


def test_the_only_router_is_asked_again_but_not_in_a_hurry() -> None:
    tree = Tree()
    tree.settle()
    host = tree.overlay.host("H", ["R0"])
    subscription = host.subscribe(strip(*range(10)))
    tree.settle()
    assert host.in_force(subscription)
    tree.overlay.kill("R0")
    tree.overlay.router("R0", limits=Limits(pieces=3))
    tree.settle(15.0)
    before = len(tree.log)
    said = tree.watch(seconds=10.0)
    assert len(tree.log) > before and sum(s.kind == "Refuse" for s in said) <= 12
    assert not host.in_force(subscription) and list(host.host.subscriptions) == [subscription.id]
    tree.overlay.kill("R0")
    tree.overlay.router("R0")
    tree.settle(60.0)
    assert host.in_force(subscription), "it is served again as soon as the router takes it"
