"""The client's engine on the virtual network: subscriptions, filter, duplicates, refusals, leases, addresses, parts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tree import Tree, at, strip

from cbsmrp.config import Limits, Timers
from cbsmrp.cookie import WINDOW as COOKIE_WINDOW
from cbsmrp.cookie import CookieJar
from cbsmrp.duplicates import MAX_SOURCES, WINDOW, Duplicates
from cbsmrp.messages import Challenge, Hello, Publication, Refuse, Reply, SessionId, State, Subscribe, Update
from cbsmrp.modes.flooding import Flooding
from cbsmrp.modes.shared_tree import SharedTree
from cbsmrp.ready import InForce, InForceLost, RateRefused, SubscriptionRefused
from cbsmrp.vif import UPSTREAM
from cbsmrp.wire import PREAMBLE, Codec, encode_publication
from interest import NOTHING, Box, Interest, Region, attr
from sim.network import Link
from sim.node import Node
from sim.overlay import HostNode

CODEC = Codec()


def pair(**options: Any) -> Tree:
    """Two hosts at one router below the core."""
    return Tree({"R1": "R0"}, {"H1": "R1", "H2": "R1"}, **options)


def notices(host: HostNode, kind: type) -> list[Any]:
    return [notice for _, notice in host.notices if isinstance(notice, kind)]


def delivered(host: HostNode) -> list[tuple[list[int], float]]:
    return [(ids, frame.extent.bounds[0]) for _, ids, frame in host.delivered]


# -- several subscriptions over one link -----------------------------------------------------------


def test_a_publication_is_handed_to_every_subscription_that_wants_it_and_sent_once() -> None:
    tree = pair()
    a, b, c = (tree.wants("H1", *ends) for ends in ((0, 10), (5, 15), (20, 30)))
    tree.settle()
    for x, wanted in ((2, [a]), (7, [a, b]), (12, [b]), (25, [c])):
        assert tree.heard_by(x, "H2") == {"H1": 1}
        assert delivered(tree.host("H1"))[-1] == ([s.id for s in wanted], x)


def test_a_subscription_that_moves_or_ends_leaves_the_others_alone() -> None:
    tree = pair()
    a, b = tree.wants("H1", 0, 10), tree.wants("H1", 20, 30)
    tree.settle()
    tree.host("H1").move(a, strip(40, 50))
    tree.settle()
    assert [bool(tree.heard_by(x, "H2")) for x in (5, 25, 45)] == [False, True, True]
    tree.host("H1").unsubscribe(b)
    tree.settle()
    assert [bool(tree.heard_by(x, "H2")) for x in (5, 25, 45)] == [False, False, True]
    with pytest.raises(KeyError):
        tree.host("H1").move(b, strip(0, 1))
    tree.host("H1").unsubscribe(b)  # ending it again is harmless


def test_in_force_counts_versions_of_all_subscriptions_together() -> None:
    tree = pair()
    host = tree.host("H1")
    a = tree.wants("H1", 0, 10)
    tree.settle()
    assert host.in_force(a)
    version = host.move(a, strip(5, 15))
    b = host.subscribe(strip(40, 50))
    assert not host.in_force(a) and not host.in_force(b)
    tree.settle()
    assert host.host.in_force >= b.version > version == a.version
    assert notices(host, InForce)[-1].version == b.version


def test_the_filter_at_the_client_is_exact() -> None:
    """The router's row for a host is what the host wants, so nothing else arrives; the client checks all the same."""
    tree = pair()
    ship = Interest.of(Box((0, 0, 0), (10, 10, 10)), layer="ships", where=attr("speed") > 3)
    subscription = tree.host("H1").subscribe(ship)
    tree.settle()
    publisher = tree.host("H2")
    ships = [{"layer": "ships", "speed": speed} for speed in (4, 3)]
    for attributes in (*ships, {"speed": 4}, {"layer": "planes"}):
        publisher.publish(at(5), attributes)
    tree.settle()
    host = tree.host("H1")
    assert [frame.attributes for _, frame in host.arrived] == [{"layer": "ships", "speed": 4}]
    assert host.host.deliver(at(5), {"layer": "ships", "speed": 3}, 77, 1) == []
    assert host.host.unwanted == 1
    assert host.host.deliver(at(5), {"layer": "ships", "speed": 3.5}, 77, 2) == [subscription.id]


def test_a_client_never_receives_its_own_publications() -> None:
    tree = pair()
    tree.wants("H1", 0, 10)
    tree.wants("H2", 0, 10)
    tree.settle()
    assert tree.heard_by(5, "H1") == {"H2": 1}
    host = tree.host("H1").host
    assert host.deliver(at(5), {}, host.source, 3) == [] and host.own == 1, "nor one that comes back on a new way"


# -- duplicates ------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(-WINDOW + 1, WINDOW), min_size=1, max_size=60))
def test_duplicates_are_known_within_the_window_whatever_the_order(start: int, steps: list[int]) -> None:
    """Against a set, for sequences that never leave the window below the highest; they may wrap at 2^32."""
    heard, model, highest = Duplicates(), set(), start
    assert not heard.seen(1, start)
    model.add(start)
    for step in steps:
        absolute = highest + step
        sequence = absolute % 2**32
        assert heard.seen(1, sequence) == (absolute in model), (absolute, highest)
        model.add(absolute)
        highest = max(highest, absolute)


def test_the_window_is_1024_sequence_numbers_of_a_source() -> None:
    heard = Duplicates()
    assert not heard.seen(1, 0)
    assert not heard.seen(1, WINDOW - 1)
    assert heard.seen(1, 0), "1023 behind: still known"
    assert not heard.seen(1, WINDOW)
    assert not heard.seen(1, 0), "1024 behind: older than anybody remembers"
    assert not heard.seen(2, WINDOW), "another source has its own"


def test_the_sources_heard_longest_ago_are_forgotten() -> None:
    heard = Duplicates()
    for source in range(MAX_SOURCES):
        heard.seen(source, 1)
    heard.seen(0, 2)  # heard again: not the oldest any longer
    heard.seen(MAX_SOURCES, 1)
    assert heard.seen(0, 2) and heard.seen(2, 1)
    assert not heard.seen(1, 1), "source 1 gave way"


def test_a_publication_that_arrives_twice_is_delivered_once() -> None:
    tree = pair()
    tree.wants("H1", 0, 10)
    tree.settle()
    host = tree.host("H1")
    data = PREAMBLE + encode_publication(Publication(99, 5, at(5)))
    for _ in range(3):
        host.node.arrive(data, "R1")
    assert len(host.delivered) == 1 and host.host.duplicates == 2


# -- refusals --------------------------------------------------------------------------------------

FEW = Limits(pieces=3, subscriptions=2)


def test_a_subscription_beyond_the_limit_is_undone_and_the_rest_stands() -> None:
    tree = pair(limits=FEW)
    a = tree.wants("H1", 0, 10)
    tree.settle()
    b = tree.wants("H1", 20, 21, 22, 23, 24, 25)
    tree.settle()
    host = tree.host("H1")
    (refused,) = notices(host, SubscriptionRefused)
    assert (refused.subscription, refused.interest) == (b.id, None)
    assert refused.text == "4 pieces: this router takes at most 3 from one host"
    assert list(host.host.subscriptions) == [a.id]
    assert host.in_force(a) and host.host.in_force == host.host.version
    assert tree.heard_by(5, "H2") == {"H1": 1} and tree.heard_by(20.5, "H2") == {}


def test_a_move_beyond_the_limit_goes_back_to_what_was_accepted() -> None:
    tree = pair(limits=FEW)
    a = tree.wants("H1", 0, 10)
    tree.settle()
    host = tree.host("H1")
    host.move(a, strip(*range(20, 28)))
    tree.settle()
    (refused,) = notices(host, SubscriptionRefused)
    assert (refused.subscription, refused.interest) == (a.id, strip(0, 10))
    assert a.interest == strip(0, 10) and host.in_force(a)
    assert tree.heard_by(5, "H2") == {"H1": 1}


def test_too_many_subscriptions_are_refused_by_number() -> None:
    tree = pair(limits=FEW)
    for x in (0, 20, 0.5):
        tree.wants("H1", x, x + 1)
        tree.settle()
    host = tree.host("H1")
    assert [n.text for n in notices(host, SubscriptionRefused)] == [
        "3 subscriptions: this router takes at most 2 from one host"
    ]
    assert sorted(host.host.subscriptions) == [1, 2] and host.host.in_force == host.host.version


def test_the_first_subscribe_may_be_refused_and_the_host_is_joined_all_the_same() -> None:
    tree = pair(limits=FEW)
    tree.wants("H1", *range(8))
    tree.settle()
    host = tree.host("H1")
    assert [n.interest for n in notices(host, SubscriptionRefused)] == [None]
    assert host.host.joined and tree.sr("R1", "H1") == NOTHING
    assert host.host.in_force == host.host.version


def test_two_changes_in_one_version_are_undone_one_by_one_until_it_fits() -> None:
    tree = pair(limits=FEW)
    tree.settle()
    host = tree.host("H1")
    tree.overlay.network.cut("H1", "R1")
    small, large = tree.wants("H1", 0, 10), tree.wants("H1", *range(20, 28))
    tree.settle(0.02)
    tree.overlay.network.mend("H1", "R1")
    tree.settle(3.0)
    assert [n.subscription for n in notices(host, SubscriptionRefused)] == [large.id]
    assert list(host.host.subscriptions) == [small.id] and host.in_force(small)


def lose_first(tree: Tree, kind: type) -> list[int]:
    """Lose the first frame of a kind; returns a counter of how many were seen."""
    network, seen = tree.overlay.network, [0]
    plain = network.send

    def send(source: Any, destination: Any, data: bytes) -> None:
        if any(isinstance(frame, kind) for frame in CODEC.decode(data)):
            seen[0] += 1
            if seen[0] == 1:
                return
        plain(source, destination, data)

    network.send = send  # type: ignore[method-assign]
    return seen


def test_a_lost_refusal_is_said_again() -> None:
    tree = pair(limits=FEW)
    tree.wants("H1", 0, 10)
    tree.settle()
    seen = lose_first(tree, Refuse)
    tree.wants("H1", *range(20, 28))
    tree.settle(3.0)
    host = tree.host("H1")
    assert seen[0] >= 2
    assert len(notices(host, SubscriptionRefused)) == 1
    assert host.host.in_force == host.host.version


def test_a_refusal_that_comes_twice_undoes_one_change_only() -> None:
    tree = pair(limits=FEW)
    tree.settle()
    host = tree.host("H1")
    network = tree.overlay.network
    plain = network.send

    def send(source: Any, destination: Any, data: bytes) -> None:
        for _ in range(1 + any(isinstance(frame, Refuse) for frame in CODEC.decode(data))):
            plain(source, destination, data)

    network.send = send  # type: ignore[method-assign]
    network.cut("H1", "R1")
    small, large = tree.wants("H1", 0, 10), tree.wants("H1", *range(20, 28))
    tree.settle(0.02)
    network.mend("H1", "R1")
    tree.settle(3.0)
    assert [n.subscription for n in notices(host, SubscriptionRefused)] == [large.id]
    assert list(host.host.subscriptions) == [small.id]


def test_publications_above_the_rate_are_dropped_and_said_so() -> None:
    tree = pair(limits=Limits(publications_per_second=10.0))
    tree.wants("H1", 0, 10)
    tree.settle()
    for _ in range(30):
        tree.host("H2").publish(at(5))
    tree.settle(0.5)
    router = tree.overlay.routers["R1"].router
    assert len(tree.host("H1").arrived) == 10
    assert router.drops["rate_limited"] == 20
    (refused,) = notices(tree.host("H2"), RateRefused)
    assert refused.text.startswith("more than 10 publications a second")
    tree.settle(0.5)
    assert tree.heard_by(5, "H2") == {"H1": 1}, "the allowance fills again"


def test_a_refusal_that_is_not_about_the_rate_is_not_told_as_one() -> None:
    tree = pair()
    tree.settle()
    host = tree.host("H1").host
    up = host.rib.vifs[UPSTREAM]
    assert up.session is not None
    host.receive("R1", [Refuse(up.session, 1, "late")], tree.overlay.clock.now)
    assert host.take_ready().notices == [] and host.drops["stale_session"] == 1 and host.joined


# -- source clipping -------------------------------------------------------------------------------

LEASES = Timers(lease=0.6, host_shrink_delay=0.1, linger=0.2)


def opted(**options: Any) -> Tree:
    tree = Tree({"R1": "R0"}, {"H2": "R0"}, timers=LEASES, **options)
    tree.overlay.host("P", ["R1"], opted=True)
    return tree.settle(1.5)


def test_a_publisher_that_nobody_wants_is_silent() -> None:
    tree = opted()
    publisher = tree.host("P")
    for _ in range(50):
        assert publisher.publish(at(5)) is None
    assert publisher.host.clipped == 50
    assert not [s for s in tree.log if s.source == "P" and s.kind == "PublicationFrame"]


def test_it_speaks_before_anybody_relies_on_it() -> None:
    tree = opted()
    subscription = tree.wants("H2", 0, 10)
    while not tree.host("H2").in_force(subscription):
        tree.settle(0.001)
    assert tree.heard_by(5, "P") == {"H2": 1}, "at the very moment in which H2 heard that it is in force"
    assert tree.host("P").publish(at(50)) is None


def test_an_expired_lease_means_everything() -> None:
    tree = opted()
    publisher = tree.host("P")
    tree.overlay.network.cut("P", "R1")
    tree.settle(0.1)
    assert publisher.publish(at(5)) is None, "the lease still runs"
    tree.settle(LEASES.lease)
    assert publisher.publish(at(5)) is not None


def test_in_force_waits_for_a_publisher_that_is_cut_off_no_longer_than_its_lease() -> None:
    tree = opted()
    tree.overlay.network.cut("P", "R1")
    subscription = tree.wants("H2", 0, 10)
    tree.settle(0.1)
    assert not tree.host("H2").in_force(subscription), "P may still hold back what H2 wants"
    tree.settle(LEASES.lease + 0.1)
    assert tree.host("H2").in_force(subscription)


def test_a_host_that_has_not_opted_in_is_never_silenced_and_never_waited_for() -> None:
    tree = Tree({"R1": "R0"}, {"P": "R1", "H2": "R0"}, timers=LEASES)
    tree.settle(1.5)
    assert tree.host("P").publish(at(5)) is not None
    tree.overlay.network.cut("P", "R1")
    subscription = tree.wants("H2", 0, 10)
    tree.settle(0.1)
    assert tree.host("H2").in_force(subscription)


def test_no_lease_is_given_before_the_newest_clipping_region_is_accepted() -> None:
    tree = opted()
    grants = [s for s in tree.log if s.destination == "P" and isinstance(s.frame, Reply | Update | Hello)]
    accepted: set[int] = set()
    told = 0
    for said in tree.log:
        frame = said.frame
        if said.source == "P" and isinstance(frame, Reply | Update | Hello):
            accepted.add(frame.state.accepted)
        if said.destination == "P" and isinstance(frame, Update) and frame.state.value:
            told = frame.state.value.version
        if said in grants and frame.state.lease:  # type: ignore[union-attr]
            assert told in accepted
    assert any(s.frame.state.lease for s in grants)  # type: ignore[union-attr]


# -- addresses -------------------------------------------------------------------------------------


def test_a_client_survives_a_change_of_its_address() -> None:
    """A NAT gives it another address: a challenge there, the cookie back, and the VIF moves; nothing is lost of what it
    wants."""
    tree = pair()
    subscription = tree.wants("H1", 0, 10)
    tree.settle()
    host, router = tree.host("H1"), tree.overlay.routers["R1"].router
    vif = router.rib.at("H1")
    tree.overlay.network.detach("H1")
    host.node.address = "H1'"
    tree.overlay.network.attach("H1'", host.node)
    before = len(tree.log)
    host.move(subscription, strip(0, 20))
    tree.settle()
    kinds = [s.kind for s in tree.log[before:] if "H1'" in (s.source, s.destination)][:3]
    assert kinds == ["Update", "Challenge", "Hello"]
    assert router.rib.at("H1'") is vif and router.rib.at("H1") is None
    assert host.in_force(subscription) and not notices(host, InForceLost)
    assert tree.heard_by(15, "H2") == {"H1": 1}
    assert host.publish(at(5)) is not None and router.drops["unknown_vif"] == 0


def test_an_old_frame_from_the_new_address_does_not_move_the_vif() -> None:
    tree = pair()
    tree.wants("H1", 0, 10)
    tree.settle()
    router = tree.overlay.routers["R1"].router
    vif = router.rib.at("H1")
    assert vif is not None and vif.token is not None
    cookie = router._cookies.bake("X", tree.overlay.clock.now)
    late = Hello(vif.token, False, State(serial=vif.serial_in, cookie=cookie))
    router.receive("X", [late], tree.overlay.clock.now)
    assert vif.address == "H1" and router.drops["stale_session"] == 1


def test_a_cookie_holds_for_its_half_minute_and_the_next() -> None:
    jar = CookieJar(b"secret")
    for start in (0.0, 29.0, 45.0):
        cookie = jar.bake("H1", start)
        end = (start // COOKIE_WINDOW + 2) * COOKIE_WINDOW
        assert jar.accepts("H1", cookie, start) and jar.accepts("H1", cookie, end - 0.001)
        assert not jar.accepts("H1", cookie, end)
        assert not jar.accepts("H2", cookie, start), "made for another address"
        assert not CookieJar(b"another").accepts("H1", cookie, start)


def test_a_subscribe_with_an_expired_cookie_is_challenged_again() -> None:
    tree = pair()
    tree.settle()
    router = tree.overlay.routers["R1"].router
    old = router._cookies.bake("X", tree.overlay.clock.now)
    tree.settle(61.0)
    before = router.drops["bad_cookie"]
    ask = Subscribe(SessionId(10**9, 1), "shared-tree", True, False, State(cookie=old))
    router.receive("X", [ask], tree.overlay.clock.now)
    assert [type(m) for _, m in router.take_ready().messages] == [Challenge]
    assert router.drops["bad_cookie"] == before + 1 and router.rib.at("X") is None


# -- regions in many parts -------------------------------------------------------------------------


def boxes(count: int, rng: random.Random) -> Interest:
    pieces = []
    for _ in range(count):
        x, y = rng.uniform(0, 1000), rng.uniform(0, 1000)
        pieces.append(Box((x, y, 0), (x + 5, y + 5, 9)))
    return Interest.of(Region(pieces))


@pytest.mark.parametrize("seed", range(3))
def test_three_hundred_boxes_arrive_in_parts_under_loss(seed: int) -> None:
    rng = random.Random(seed)
    link = Link(delay=0.005, jitter=0.01, loss=0.25, duplicate=0.2, reorder=0.3)
    tree = Tree(
        {"R1": "R0"}, {"H1": "R1"}, link=link, seed=seed, limits=Limits(pieces=1000),
        timers=Timers(resend=0.05, resend_max=0.2),
    )  # fmt: skip
    host = tree.host("H1")
    subscription = host.subscribe(boxes(300, rng))
    parts = set()
    for _ in range(3):
        while not host.in_force(subscription):
            tree.settle(0.5)
            assert tree.overlay.clock.now < 120
        assert tree.sr("R1", "H1") == subscription.interest
        assert tree.sr("R0", "R1").covers(subscription.interest)
        host.move(subscription, boxes(300, rng))
    for said in tree.log:
        value = getattr(getattr(said.frame, "state", None), "value", None)
        if said.source == "H1" and value is not None:
            parts.add((value.part, value.parts))
    count = max(parts for _, parts in parts)
    assert count > 10 and {part for part, of in parts if of == count} == set(range(count))
    sent = [s.frame for s in tree.log if s.source == "H1" and isinstance(s.frame, Update)]
    assert all(len(PREAMBLE + CODEC.encode(frame)) <= 1400 for frame in sent)


def test_parts_of_two_versions_are_never_put_together() -> None:
    """Only the newest version's parts are kept, whichever order they come in."""
    tree = pair(limits=Limits(pieces=1000))
    tree.settle()
    router = tree.overlay.routers["R1"].router
    vif = router.rib.at("H1")
    assert vif is not None
    rng = random.Random(5)
    frames: dict[int, list[Any]] = {}
    host = tree.host("H1")
    tree.overlay.network.cut("H1", "R1")
    subscription = host.subscribe(boxes(60, rng))
    tree.settle(0.05)
    host.move(subscription, boxes(60, rng))
    tree.settle(3.0)
    for said in tree.log:
        if said.source == "H1" and isinstance(said.frame, Update) and said.frame.state.value:
            frames.setdefault(said.frame.state.value.version, []).append(said.frame)
    old, new = (frames[version] for version in sorted(frames)[:2])
    now = tree.overlay.clock.now
    old, new = old[: old[0].state.value.parts], new[: new[0].state.value.parts]
    assert len(old) == len(new) > 1
    before = vif.in_version
    for frame in [*old[:-1], new[-1], old[-1]]:
        router.receive("H1", [frame], now)
    assert vif.in_version == before and router.drops["bad_region"] == 0, "neither version is whole"
    for frame in new[:-1]:
        router.receive("H1", [frame], now)
    assert vif.in_version == max(frames) and vif.in_value == subscription.interest


# -- modes -----------------------------------------------------------------------------------------


def crowd(mode: type, clipping: bool = True) -> tuple[set[tuple[str, int, int]], Counter[str], Tree]:
    """The same publications and subscriptions under a mode: what was delivered, and how many packets links carried."""
    routers = {"R1": "R0", "R2": "R0", "R3": "R1", "R4": "R1", "R5": "R2"}
    hosts = {f"H{i}": f"R{i % 6}" for i in range(12)}
    tree = Tree(routers, hosts, mode=mode, clipping=clipping)
    rng = random.Random(3)
    for name in hosts:
        x = rng.uniform(0, 100)
        tree.wants(name, x, x + 15)
    tree.settle(2.0)
    before = len(tree.log)
    for _ in range(60):
        tree.host(rng.choice(sorted(hosts))).publish(at(rng.uniform(0, 115)))
        tree.settle(0.05)
    tree.settle(1.0)
    names = {host.host.source: i for i, host in enumerate(tree.overlay.hosts.values())}
    got = {
        (name, names[frame.source], frame.sequence)
        for name, host in tree.overlay.hosts.items()
        for _, _, frame in host.delivered
    }
    packets = Counter(
        "to hosts" if str(s.destination).startswith("H") else "to the core" if s.destination == "R0" else "between"
        for s in tree.log[before:]
        if s.kind == "PublicationFrame"
    )
    assert all(host.host.unwanted == host.host.duplicates == 0 for host in tree.overlay.hosts.values())
    return got, packets, tree


def test_flooding_and_no_clipping_deliver_the_same_with_more_packets() -> None:
    filtered, few, _ = crowd(SharedTree)
    unclipped, more, tree = crowd(SharedTree, clipping=False)
    flooded, most, _ = crowd(Flooding)
    assert len(filtered) > 50
    assert filtered == unclipped == flooded
    assert few["to hosts"] == more["to hosts"] == most["to hosts"] == len(filtered), "the last hop is exact in all"
    assert few["to the core"] < more["to the core"] <= most["to the core"]
    assert few["between"] <= more["between"] < most["between"]
    assert few.total() < more.total() < most.total()
    assert tree.cr("R1").matches(at(-1000), {}), "without clipping every router may send everything up"


def test_a_router_of_another_mode_is_refused_clearly() -> None:
    tree = Tree()
    tree.overlay.router("R1", ["R0"], mode=Flooding, keep_attached=True)
    tree.settle()
    refusals = [s.frame for s in tree.log if isinstance(s.frame, Refuse)]
    assert refusals and refusals[0].text == "this overlay runs mode shared-tree, you asked for flooding"
    assert not tree.overlay.routers["R1"].router.attached


def test_a_core_that_has_left_admits_nobody() -> None:
    tree = Tree(hosts={"H1": "R0"})
    tree.wants("H1", 0, 10)
    tree.settle()
    node: Node = tree.overlay.routers["R0"].node
    node.endpoint.leave(tree.overlay.clock.now)
    node.pump()
    tree.settle(2.0)
    assert not tree.host("H1").host.joined
    assert any(isinstance(s.frame, Refuse) and s.frame.text == "no way to the core" for s in tree.log)
