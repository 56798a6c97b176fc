"""One test per sentence of the paper that states a rule or a theorem.

"A Content-Based Bi-Directional Shared Multicast Routing Protocol" (Journal of Software 20(11), 2009): definitions 1 to
5, equations 1 to 3, rules 1 to 4, algorithms 1 and 2, joining and leaving (section 3), theorems 1 to 3 (section 4.2.1).
Trees are small, regions are intervals, and what is expected was worked out by hand from the paper's text. Where the
protocol differs on purpose the test says so, and holds the difference.
"""

from __future__ import annotations

import pytest
from small_tree import Tree, at, between, strip, updates

from cbsmrp.config import Timers
from cbsmrp.messages import Challenge, Quit, Reply, Subscribe, Update
from cbsmrp.ready import Attached
from cbsmrp.vif import UPSTREAM, VifKind
from interest import EVERYTHING, NOTHING


@pytest.fixture
def figure_1() -> Tree:
    """The tree of figure 1, before H5 joins:

            R0
           /  \\
         R1    R6        H1 on R4: 0..10     H2 on R5: 20..30
        /  \\              H3 on R3: 40..50    H6 on R6: 60..70
      R2    R3
     /  \\
    R4    R5
    """
    tree = Tree(
        {"R1": "R0", "R6": "R0", "R2": "R1", "R3": "R1", "R4": "R2", "R5": "R2"},
        {"H1": "R4", "H2": "R5", "H3": "R3", "H6": "R6"},
    )
    for host, ends in {"H1": (0, 10), "H2": (20, 30), "H3": (40, 50), "H6": (60, 70)}.items():
        tree.wants(host, *ends)
    return tree.settle(2.0)


# -- 2.1 definitions -------------------------------------------------------------------------------


def test_2_1_definition_1_routers_are_a_tree_below_the_core_and_hosts_are_its_leaves(figure_1: Tree) -> None:
    """Definition 1: V = R ∪ H; R0 is the root, the other routers inner nodes, hosts leaves."""
    kinds = {
        name: sorted(vif.kind.name for vif in node.router.rib) for name, node in figure_1.overlay.routers.items()
    }
    assert kinds == {
        "R0": ["DOWNSTREAM", "DOWNSTREAM"],
        "R1": ["DOWNSTREAM", "DOWNSTREAM", "UPSTREAM"],
        "R2": ["DOWNSTREAM", "DOWNSTREAM", "UPSTREAM"],
        "R3": ["HOST", "UPSTREAM"],
        "R4": ["HOST", "UPSTREAM"],
        "R5": ["HOST", "UPSTREAM"],
        "R6": ["HOST", "UPSTREAM"],
    }
    for host in figure_1.overlay.hosts.values():
        assert {vif.kind for vif in host.host.rib} == {VifKind.UPSTREAM, VifKind.APPLICATION}


def test_2_1_definition_2_a_vif_is_a_number_and_the_neighbours_address(figure_1: Tree) -> None:
    """Definition 2: (VIFid, RHid); no two VIFs of a router share a number or a neighbour."""
    for node in figure_1.overlay.routers.values():
        vifs = list(node.router.rib)
        assert len({vif.id for vif in vifs}) == len({vif.address for vif in vifs}) == len(vifs)
    assert {vif.address for vif in figure_1.overlay.routers["R2"].router.rib} == {"R1", "R4", "R5"}


def test_2_1_definition_2_the_upstream_vif_is_on_the_path_to_the_core_and_the_others_have_us_on_theirs(
    figure_1: Tree,
) -> None:
    """UVIF: n_k on path(R_i, R0); DVIF: R_i on path(n_k, R0)."""
    rib = figure_1.overlay.routers["R2"].router.rib
    assert rib.vifs[UPSTREAM].address == "R1"
    assert {vif.address for vif in rib.children()} == {"R4", "R5"}
    assert UPSTREAM not in figure_1.overlay.routers["R0"].router.rib.vifs, "the core has no upstream VIF"


def test_2_1_definition_3_a_routers_subscription_region_is_the_union_over_its_downstream_vifs(figure_1: Tree) -> None:
    """Equation (1), by hand for every router of figure 1."""
    assert figure_1.sr("R4") == strip(0, 10)
    assert figure_1.sr("R5") == strip(20, 30)
    assert figure_1.sr("R2") == strip(0, 10, 20, 30)
    assert figure_1.sr("R3") == strip(40, 50)
    assert figure_1.sr("R1") == strip(0, 10, 20, 30, 40, 50)
    assert figure_1.sr("R6") == strip(60, 70)
    assert figure_1.sr("R1", "R2") == strip(0, 10, 20, 30), "SR(VIF) is what the neighbour beyond it told"
    assert figure_1.sr("R0", "R1") == strip(0, 10, 20, 30, 40, 50)


def test_2_1_definition_4_below_the_core_a_clipping_region_is_the_union_of_the_siblings(figure_1: Tree) -> None:
    """Equation (2), j = 0: without a CR of the core."""
    assert figure_1.cr("R1") == strip(60, 70)
    assert figure_1.cr("R6") == strip(0, 10, 20, 30, 40, 50)


def test_2_1_definition_4_further_down_the_upstream_routers_own_clipping_region_is_added(figure_1: Tree) -> None:
    """Equation (2), j ≠ 0."""
    assert figure_1.cr("R2") == strip(40, 50, 60, 70)
    assert figure_1.cr("R3") == strip(0, 10, 20, 30, 60, 70)
    assert figure_1.cr("R4") == strip(20, 30, 40, 50, 60, 70)
    assert figure_1.cr("R5") == strip(0, 10, 40, 50, 60, 70)


def forwarded(tree: Tree, router: str, x: float, came_from: str) -> set[str]:
    """The neighbours that match() says yes for."""
    node = tree.overlay.routers[router]
    rib = node.router.rib

    class Data:
        extent, attributes, source, label = at(x), {}, 1, 0

    return {rib.vifs[hop.vif].address for hop in node.endpoint.fib.lookup(Data, tree.vif(router, came_from).id)}


def test_2_3_definition_5_downstream_iff_the_publication_touches_its_subscription_region(figure_1: Tree) -> None:
    """Equation (3), lines 1 and 2."""
    assert forwarded(figure_1, "R2", 5, came_from="R1") == {"R4"}
    assert forwarded(figure_1, "R2", 25, came_from="R1") == {"R5"}
    assert forwarded(figure_1, "R2", 15, came_from="R1") == set()


def test_2_3_definition_5_never_back_through_the_vif_it_came_by(figure_1: Tree) -> None:
    """Equation (3), line 2 and 4, j = k: H1 publishes into what H1 itself wants."""
    assert forwarded(figure_1, "R4", 5, came_from="H1") == set()
    assert forwarded(figure_1, "R2", 5, came_from="R4") == set()
    assert forwarded(figure_1, "R2", 45, came_from="R1") == set(), "the upstream VIF is no exception"


def test_2_3_definition_5_upstream_iff_the_publication_touches_the_clipping_region(figure_1: Tree) -> None:
    """Equation (3), lines 3 and 4."""
    assert forwarded(figure_1, "R2", 45, came_from="R4") == {"R1"}
    assert forwarded(figure_1, "R2", 65, came_from="R4") == {"R1"}
    assert forwarded(figure_1, "R2", 25, came_from="R4") == {"R5"}, "wanted below, and nowhere above"
    assert forwarded(figure_1, "R2", 99, came_from="R4") == set(), "wanted nowhere: filtered at the first router"


# -- 2.2 the four rules ----------------------------------------------------------------------------


def test_2_2_rule_1_receivers_start_with_subscribe_and_are_answered_by_reply() -> None:
    """"Routing information is set up from the receiver, by SUBSCRIBE and REPLY." Routers do nothing by themselves."""
    tree = Tree({"R1": "R0"}, timers=Timers(linger=0.0))
    assert tree.log == []
    said = tree.watch(lambda: tree.overlay.host("H1", ["R1"]).subscribe(strip(0, 10)), 1.0)
    first = between(said, "H1", "R1")[0]
    assert isinstance(first.frame, Subscribe)
    assert said[0] == first
    answers = [s for s in between(said, "R1", "H1") if not isinstance(s.frame, Challenge)]
    assert isinstance(answers[0].frame, Update | Reply) and answers[0].frame.state.welcome is not None


def test_2_2_rule_1_a_host_is_not_joined_before_the_reply() -> None:
    """"It must wait until REPLY; otherwise it cannot tell that it is connected." """
    tree = Tree(hosts={"H1": "R0"})
    host = tree.host("H1")
    tree.wants("H1", 0, 10)
    tree.settle(0.035)  # SUBSCRIBE, CHALLENGE, SUBSCRIBE are over; the answer is on its way
    assert not host.host.joined and not any(isinstance(n, Attached) for _, n in host.notices)
    assert host.publish(at(5)) is None, "a publisher, too, publishes only after REPLY"
    assert host.endpoint.drops["not_joined"] == 1
    tree.settle(0.01)
    assert host.host.joined and host.publish(at(5)) is not None


def test_2_2_rule_1_a_publisher_joins_the_same_way_and_may_want_nothing(figure_1: Tree) -> None:
    figure_1.overlay.host("P", ["R4"])
    figure_1.settle()
    assert figure_1.sr("R4", "P") == NOTHING
    assert figure_1.heard_by(65, "P") == {"H6": 1}


def test_2_2_rule_2_a_router_off_the_tree_sends_its_first_subscribe_upstream() -> None:
    tree = Tree({"R1": "R0", "R2": "R1"}, timers=Timers(linger=0.0))
    said = tree.watch(lambda: tree.overlay.host("H1", ["R2"]).subscribe(strip(0, 10)), 2.0)
    order = [(s.source, s.destination) for s in said if isinstance(s.frame, Subscribe)]
    assert order.index(("H1", "R2")) < order.index(("R2", "R1")) < order.index(("R1", "R0"))
    answers = [s for s in said if isinstance(s.frame, Update | Reply) and s.frame.state.welcome]
    admitted = [(s.source, s.destination) for s in answers]
    first = [admitted.index(link) for link in (("R0", "R1"), ("R1", "R2"), ("R2", "H1"))]
    assert first == sorted(first), "and answers only when it has been answered itself"


def test_2_2_rule_2_a_subscription_that_leaves_the_union_as_it_was_is_not_sent_upwards(figure_1: Tree) -> None:
    def join() -> None:
        figure_1.overlay.host("H9", ["R4"]).subscribe(strip(0, 10))

    said = figure_1.watch(join)
    assert [u for u in updates(said) if u[0] != "R4" or u[1] != "H9"] == []
    assert figure_1.host("H9").host.in_force == figure_1.host("H9").host.version


def test_2_2_rule_2_a_subscription_inside_the_union_is_not_sent_upwards(figure_1: Tree) -> None:
    """The union is the same set, though it could be written with one piece more."""

    def join() -> None:
        figure_1.overlay.host("H9", ["R4"]).subscribe(strip(3, 4))

    said = figure_1.watch(join)
    assert [u for u in updates(said) if u[1] != "H9" and u[0] != "H9"] == []
    assert figure_1.heard_by(3.5, "H6") == {"H1": 1, "H9": 1}


def test_2_2_rule_2_a_subscription_that_changes_the_union_is_sent_upwards(figure_1: Tree) -> None:
    def join() -> None:
        figure_1.overlay.host("H9", ["R4"]).subscribe(strip(5, 15))

    said = figure_1.watch(join)
    assert ("R4", "R2", strip(0, 10, 5, 15)) in updates(said)
    assert ("R2", "R1", strip(0, 10, 5, 15, 20, 30)) in updates(said)


def test_2_2_rule_3_the_first_reply_puts_a_router_on_the_tree_and_it_answers_those_that_wait() -> None:
    """Two hosts wait at a router that is not on the tree; its own first REPLY lets it answer both at once."""
    tree = Tree({"R1": "R0"}, timers=Timers(linger=0.0))

    def join() -> None:
        for name, ends in (("H1", (0, 10)), ("H2", (20, 30))):
            tree.overlay.host(name, ["R1"]).subscribe(strip(*ends))

    said = tree.watch(join)
    welcome = {
        (s.source, s.destination): s.time
        for s in reversed(said)
        if isinstance(s.frame, Update | Reply) and s.frame.state.welcome
    }
    assert welcome["R1", "H1"] == welcome["R1", "H2"] == pytest.approx(welcome["R0", "R1"] + 0.01)


def test_2_2_rule_3_on_the_tree_a_changed_region_gives_update_upwards_and_reply_downwards(figure_1: Tree) -> None:
    host = figure_1.host("H1")
    (subscription,) = host.host.subscriptions.values()
    said = figure_1.watch(lambda: host.move(subscription, strip(2, 12)))
    at_once = [s for s in said if s.source == "R4" and s.time == pytest.approx(said[0].time + 0.01)]
    assert [(s.destination, type(s.frame)) for s in at_once] == [("R2", Update), ("H1", Reply)]
    (to_host,) = [s.frame for s in at_once if s.destination == "H1"]
    assert isinstance(to_host, Reply) and to_host.state.accepted == 2, "the paper's REPLY: my router has it"
    assert to_host.state.in_force == 1, "not more: on purpose, REPLY says `in force` only when everybody knows"


def test_2_2_rule_4_clipping_regions_of_the_other_downstream_vifs_are_computed_again(figure_1: Tree) -> None:
    host = figure_1.host("H3")
    (subscription,) = host.host.subscriptions.values()
    said = figure_1.watch(lambda: host.move(subscription, strip(80, 90)))
    assert ("R1", "R2", strip(60, 70, 80, 90)) in updates(said)
    assert ("R2", "R4", strip(20, 30, 60, 70, 80, 90)) in updates(said)
    assert ("R0", "R6", strip(0, 10, 20, 30, 80, 90)) in updates(said)
    assert figure_1.cr("R5") == strip(0, 10, 60, 70, 80, 90)


def test_2_2_rule_4_update_goes_only_to_the_vifs_whose_clipping_region_changed(figure_1: Tree) -> None:
    """H1 adds what H3 wants already: of R1's children only R3, which did not know of it from elsewhere, is told."""
    said = figure_1.watch(lambda: figure_1.host("H1").subscribe(strip(40, 50)))
    told = {(sender, receiver) for sender, receiver, _ in updates(said)}
    assert ("R1", "R3") in told, "for R3 it is news: H3's own region is not in CR(R3)"
    assert ("R1", "R0") not in told, "SR(R1) is what it was"
    assert not told & {("R0", "R6"), ("R1", "R2")}
    assert ("R2", "R5") not in told, "CR(R5) had it from H3 already"


# -- 2.2 algorithm 1 -------------------------------------------------------------------------------


def test_2_2_algorithm_1_an_inactive_router_waits_and_asks_upstream() -> None:
    """if active == false: wait, and send SUBSCRIBE to the UVIF."""
    tree = Tree({"R1": "R0"}, {"H1": "R1"}, timers=Timers(linger=0.0))
    tree.overlay.network.cut("R1", "R0")
    tree.wants("H1", 0, 10)
    tree.settle(1.0)
    assert not tree.host("H1").host.joined
    assert not tree.overlay.routers["R1"].router.rib.has_children
    assert any(isinstance(s.frame, Subscribe) for s in between(tree.log, "R1", "R0"))
    tree.overlay.network.mend("R1", "R0")
    tree.settle(4.0)
    assert tree.host("H1").host.joined


def test_2_2_algorithm_1_case_1_a_region_known_from_this_vif_is_answered_directly(figure_1: Tree) -> None:
    """SR(X) ⊆ SR(VIF_k) and ⊆ SR(R): REPLY, and nothing to anybody else. (Here: the same region in other words.)"""
    host = figure_1.host("H1")
    said = figure_1.watch(lambda: host.subscribe(strip(3, 4)))
    others = [s for s in said if isinstance(s.frame, Update) and s.destination != "R4"]
    assert [(s.source, s.destination) for s in others] == []
    assert host.host.in_force == host.host.version


def test_2_2_algorithm_1_case_1_deviation_a_smaller_region_replaces_the_larger(figure_1: Tree) -> None:
    """Followed literally the old, larger region would stay for ever. Here the new one replaces it, everywhere."""
    host = figure_1.host("H1")
    (subscription,) = host.host.subscriptions.values()
    said = figure_1.watch(lambda: host.move(subscription, strip(3, 4)))
    assert ("R4", "R2", strip(3, 4)) in updates(said)
    assert figure_1.sr("R0", "R1") == strip(3, 4, 20, 30, 40, 50)
    assert figure_1.cr("R6") == strip(3, 4, 20, 30, 40, 50)
    assert figure_1.heard_by(8, "H6") == {}


def test_2_2_algorithm_1_case_2_new_for_this_vif_but_not_for_the_router_no_update_upwards(figure_1: Tree) -> None:
    """SR(X) ⊄ SR(VIF_k), SR(X) ⊆ SR(R): SR(VIF_k) and the CRs downwards change, SR(R) does not."""
    said = figure_1.watch(lambda: figure_1.host("H1").subscribe(strip(20, 30)))
    told = {(sender, receiver) for sender, receiver, _ in updates(said)}
    assert told == {("H1", "R4"), ("R4", "R2"), ("R2", "R5")}
    assert figure_1.sr("R2", "R4") == strip(0, 10, 20, 30)
    assert figure_1.cr("R5") == strip(0, 10, 20, 30, 40, 50, 60, 70)


def test_2_2_algorithm_1_case_3_new_for_the_router_updates_both_ways(figure_1: Tree) -> None:
    """SR(X) ⊄ SR(R): UPDATE to the UVIF, UPDATE to the DVIFs, REPLY."""
    said = figure_1.watch(lambda: figure_1.host("H1").subscribe(strip(80, 90)))
    told = {(sender, receiver) for sender, receiver, _ in updates(said)}
    up = {("H1", "R4"), ("R4", "R2"), ("R2", "R1"), ("R1", "R0")}
    down = {("R2", "R5"), ("R1", "R3"), ("R0", "R6")}
    assert told == up | down
    assert between(said, "R4", "H1")[0].kind == "Reply"


def test_2_2_deviation_state_not_deltas(figure_1: Tree) -> None:
    """Every UPDATE carries the whole region, so that a lost or late one leaves nothing wrong behind."""
    said = figure_1.watch(lambda: figure_1.host("H1").subscribe(strip(80, 90)))
    assert [u for u in updates(said) if u[:2] == ("R1", "R0")] == [
        ("R1", "R0", strip(0, 10, 20, 30, 40, 50, 80, 90))
    ]


# -- 2.3 algorithm 2 -------------------------------------------------------------------------------


def test_2_3_algorithm_2_from_upstream_only_to_downstream_vifs_that_match(figure_1: Tree) -> None:
    """H6 publishes where H1 is: down over R0, R1, R2, R4, and nowhere else."""
    said = figure_1.watch(lambda: figure_1.host("H6").publish(at(5)), 0.5)
    ways = [(s.source, s.destination) for s in said if s.kind == "PublicationFrame"]
    assert ways == [("H6", "R6"), ("R6", "R0"), ("R0", "R1"), ("R1", "R2"), ("R2", "R4"), ("R4", "H1")]


def test_2_3_algorithm_2_from_downstream_to_upstream_and_downstream_vifs_that_match(figure_1: Tree) -> None:
    """H1 publishes where H2 and H6 want it: R2 sends it both ways."""
    figure_1.host("H6").subscribe(strip(25, 26))
    figure_1.settle()
    said = figure_1.watch(lambda: figure_1.host("H1").publish(at(25)), 0.5)
    ways = {(s.source, s.destination) for s in said if s.kind == "PublicationFrame"}
    assert ways == {
        ("H1", "R4"), ("R4", "R2"), ("R2", "R5"), ("R5", "H2"), ("R2", "R1"), ("R1", "R0"), ("R0", "R6"), ("R6", "H6"),
    }  # fmt: skip


def test_2_3_algorithm_2_what_matches_nothing_is_filtered_at_the_first_router(figure_1: Tree) -> None:
    said = figure_1.watch(lambda: figure_1.host("H1").publish(at(99)), 0.5)
    assert [(s.source, s.destination) for s in said if s.kind == "PublicationFrame"] == [("H1", "R4")]
    assert figure_1.vif("R4", "R2").filtered(figure_1.overlay.routers["R4"].router.publications) == 1


def test_4_2_3_without_clipping_regions_the_core_receives_everything() -> None:
    """Section 4.2.3, the comparison of figure 4."""
    for clipping, ways in ((True, 1), (False, 2)):
        tree = Tree({"R1": "R0"}, {"H1": "R1", "H2": "R0"}, clipping=clipping)
        tree.wants("H2", 20, 30)
        tree.settle()
        assert tree.cr("R1") == (strip(20, 30) if clipping else EVERYTHING)
        said = tree.watch(lambda tree=tree: tree.host("H1").publish(at(99)), 0.5)
        assert len([s for s in said if s.kind == "PublicationFrame"]) == ways


# -- 3 joining and leaving -------------------------------------------------------------------------


def test_3_figure_1_a_new_host_and_every_update_it_causes(figure_1: Tree) -> None:
    """H5 joins R3 with S5 = 80..90: SUBSCRIBE(S5) to R3; R3 tells R1 and answers H5; R1 tells R0 and R2; R0 its other
    branch; R2 passes it on to R4 and R5."""
    said = figure_1.watch(lambda: figure_1.overlay.host("H5", ["R3"]).subscribe(strip(80, 90)))
    s5 = (80, 90)
    assert set(updates(said)) == {
        ("R3", "R1", strip(40, 50, *s5)),
        ("R1", "R0", strip(0, 10, 20, 30, 40, 50, *s5)),
        ("R1", "R2", strip(40, 50, 60, 70, *s5)),
        ("R0", "R6", strip(0, 10, 20, 30, 40, 50, *s5)),
        ("R2", "R4", strip(20, 30, 40, 50, 60, 70, *s5)),
        ("R2", "R5", strip(0, 10, 40, 50, 60, 70, *s5)),
        ("R3", "H5", EVERYTHING),  # the answer with the welcome: a host that has not opted in may send everything
    }


def test_3_after_it_every_router_knows_and_the_new_host_may_publish(figure_1: Tree) -> None:
    """"Then not only does every active router hold H5's subscription, H5 has its REPLY and can publish." """
    host = figure_1.overlay.host("H5", ["R3"])
    host.subscribe(strip(80, 90))
    figure_1.settle()
    assert host.host.in_force == host.host.version
    for publisher in ("H1", "H2", "H3", "H6"):
        assert figure_1.heard_by(85, publisher) == {"H5": 1}
    assert figure_1.heard_by(5, "H5") == {"H1": 1}


def test_3_a_router_may_be_added_below_any_router_of_the_tree(figure_1: Tree) -> None:
    """Section 4.2.2: "set its upstream address to a router in the tree; when a host subscribes, it tries to join"."""
    figure_1.overlay.router("R7", ["R5"], budget=0)
    figure_1.overlay.host("H7", ["R7"]).subscribe(strip(70, 75))
    figure_1.settle(2.0)
    assert figure_1.sr("R0", "R1") == strip(0, 10, 20, 30, 40, 50, 70, 75)
    assert figure_1.cr("R7") == strip(0, 10, 20, 30, 40, 50, 60, 70)


def test_3_quit_deletes_the_vif_and_updates_the_others_regions(figure_1: Tree) -> None:
    said = figure_1.watch(lambda: figure_1.overlay.leave("H3"))
    (quit_frame,) = [s for s in said if isinstance(s.frame, Quit) and s.source == "H3"]
    assert quit_frame.destination == "R3"
    assert figure_1.cr("R2") == strip(60, 70)
    assert figure_1.cr("R6") == strip(0, 10, 20, 30)
    assert figure_1.sr("R1") == strip(0, 10, 20, 30)


def test_3_a_router_whose_last_downstream_vif_is_gone_quits_too(figure_1: Tree) -> None:
    """R3 has no host but H3. (It lingers before it goes, so that a host that changes costs no new join.)"""
    figure_1.overlay.leave("H3")
    figure_1.settle(0.1)
    assert figure_1.overlay.routers["R1"].router.rib.at("R3") is not None
    said = figure_1.watch(seconds=1.0)
    assert [(s.source, s.destination) for s in said if isinstance(s.frame, Quit)] == [("R3", "R1")]
    assert figure_1.overlay.routers["R1"].router.rib.at("R3") is None
    assert not figure_1.overlay.routers["R3"].router.attached


def test_3_the_quit_goes_up_the_whole_branch_when_nobody_is_left(figure_1: Tree) -> None:
    for host in ("H1", "H2", "H3"):
        figure_1.overlay.leave(host)
    said = figure_1.watch(seconds=3.0)
    quits = [(s.source, s.destination) for s in said if isinstance(s.frame, Quit)]
    assert set(quits) >= {("R4", "R2"), ("R5", "R2"), ("R3", "R1"), ("R2", "R1"), ("R1", "R0")}
    assert figure_1.cr("R6") == NOTHING


# -- 4.2.1 theorems --------------------------------------------------------------------------------


def test_4_2_1_theorem_1_a_subscriber_receives_only_what_matches(figure_1: Tree) -> None:
    for x in range(0, 80, 3):
        for publisher in ("H1", "H6"):
            for name in figure_1.heard_by(x, publisher):
                (subscription,) = figure_1.host(name).host.subscriptions.values()
                assert subscription.interest.matches(at(x), {}), (name, x)


def test_4_2_1_theorem_1_holds_at_the_socket_although_routers_widen() -> None:
    """Between routers a region may be replaced by a larger one (budget); the last hop filters exactly."""
    tree = Tree({"R1": "R0"}, {"H1": "R1", "H2": "R0"}, budget=1)
    tree.wants("H1", 0, 10, 20, 30)
    tree.settle()
    assert tree.sr("R0", "R1").matches(at(15), {}), "R0 has been told one box around both"
    said = tree.watch(lambda: tree.host("H2").publish(at(15)), 0.5)
    assert [(s.source, s.destination) for s in said if s.kind == "PublicationFrame"] == [("H2", "R0"), ("R0", "R1")]
    assert tree.heard_by(25, "H2") == {"H1": 1}


def test_4_2_1_theorem_2_every_matching_publication_reaches_its_subscriber(figure_1: Tree) -> None:
    wanted = {"H1": (0, 10), "H2": (20, 30), "H3": (40, 50), "H6": (60, 70)}
    for publisher in wanted:
        for name, (low, high) in wanted.items():
            for x in (low, (low + high) / 2, high):  # edges touch
                expected = {name: 1} if name != publisher else {}
                assert figure_1.heard_by(x, publisher) == expected, (publisher, name, x)


def test_4_2_1_theorem_2_on_the_path_every_router_has_it_in_its_sr_or_its_cr(figure_1: Tree) -> None:
    """The proof's step: on the way from H6 to H1, SR(H1) ⊆ CR(R) going up and ⊆ SR(R) going down."""
    assert figure_1.cr("R6").covers(strip(0, 10))
    for router, neighbour in (("R0", "R1"), ("R1", "R2"), ("R2", "R4"), ("R4", "H1")):
        assert figure_1.sr(router, neighbour).covers(strip(0, 10))


def test_4_2_1_theorem_3_at_most_once(figure_1: Tree) -> None:
    """Also where a host has several subscriptions that match."""
    for _ in range(3):
        figure_1.host("H1").subscribe(strip(0, 100))
    figure_1.settle()
    for publisher in ("H2", "H3", "H6"):
        assert figure_1.heard_by(5, publisher) == {"H1": 1}
