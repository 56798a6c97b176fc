"""Who must get what and which links that crosses, each by itself, against brute force and by hand; and, for a whole
scenario, against its run as events."""

import math
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.settings import ConfigError
from sim import oracle
from sim.geometry import Box, Cylinder, Prism, Sphere
from sim.load import matching
from sim.load.crossings import Layout
from sim.load.load import CLIPPING, FLOODING, SOURCE_CLIPPING, WITHOUT_CLIPPING, Protocol, entries, load
from sim.load.matching import Published, Want, gather, matches
from sim.load.offered import present, traffic
from sim.runs.events import run
from sim.scenario.scenario import build, from_mapping
from sim.topology.tree import core_tree


def tree_of(*edges):
    graph = nx.Graph()
    graph.add_node("core")
    graph.add_edges_from(edges, delay=0.01)
    return core_tree(graph, "core")


# -- matching ----------------------------------------------------------------------------------------------

places = st.integers(0, 12).map(float)
times = st.integers(0, 6).map(float)
sizes = st.integers(0, 4).map(float)
heights = st.sampled_from([(-math.inf, math.inf), (2.0, 5.0), (5.0, 5.0)])
boxes = st.builds(lambda x, y, a, b, h: Box((x, y, h[0]), (x + a, y + b, h[1])), places, places, sizes, sizes, heights)
triangles = st.builds(lambda x, y, h: Prism((((x, y), (x + 4, y + 1), (x + 1, y + 3)),), *h), places, places, heights)
pieces = st.one_of(
    boxes,
    triangles,
    st.builds(lambda x, y, z, r: Sphere((x, y, z), r), places, places, places, sizes),
    st.builds(lambda x, y, r, h: Cylinder((x, y), r, *h), places, places, sizes, heights),
)
extents = st.one_of(st.none(), st.tuples(places, places), st.tuples(places, places, places), boxes, triangles)
kinds = st.sampled_from([{}, {"layer": "ships"}, {"team": 1}, {"team": True, "layer": "ships"}])
conditions = st.sampled_from([(), (("=", "layer", "ships"),), (("=", "team", 1),)])
published = st.builds(Published, times, st.integers(0, 3), extents, st.just(50), kinds)
wants = st.builds(
    lambda host, begin, long, them, asked: Want(host, begin, begin + long, them, asked),
    st.integers(0, 3), times, st.integers(0, 4), st.none() | st.lists(pieces, max_size=3).map(tuple), conditions,
)  # fmt: skip


@given(st.lists(published, max_size=8), st.lists(wants, max_size=8), st.sampled_from([1, 7, 10**6]), st.booleans())
def test_pairs_are_those_that_the_oracle_expects(sent, wanted, pairs, rebuild):
    sent = sorted(sent, key=lambda each: each.time)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "PAIRS", pairs)  # blocks of one publication, of some, and one block
        patch.setattr(matching, "_ROWS", 0 if rebuild else 2000)
        blocks = list(matches(gather(sent, wanted)))
    assert [block.start for block in blocks] + [len(sent)] == [0] + [block.stop for block in blocks]
    found = [pair for block in blocks for pair in zip(block.publications, block.hosts, strict=True)]
    assert found == sorted(set(found))
    expected = set()
    for number, each in enumerate(sent):
        one = oracle.Publication(each.time, f"{each.host}", 1, number, each.extent, each.attributes)
        for want in wanted:
            versions = [oracle.Version(want.begin, want.begin, want.pieces, conditions=want.conditions)]
            if (
                want.begin <= each.time < want.end
                and oracle.judge([one], {f"{want.host}": [oracle.Subscription(versions)]}, {}, window=0.0).expected
            ):
                expected.add((number, want.host))
    assert set(found) == expected


# -- crossings ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_nearest_common_routers_and_sums_below(seed, count):
    draw = random.Random(seed)
    tree = tree_of(*((f"r{n}", f"r{draw.randrange(n)}" if n else "core") for n in range(count)))
    layout = Layout(tree, {})
    parents = layout.parents

    def way(router):
        return [router, *way(parents[router])] if router else [0]

    a, b = (np.array([draw.randrange(count + 1) for _ in range(20)]) for _ in range(2))
    assert list(layout.meeting(a, b)) == [max(set(way(x)) & set(way(y))) for x, y in zip(a, b, strict=True)]
    marks = np.array([draw.randrange(9) for _ in parents], float)
    assert list(layout.below(marks)) == [
        sum(marks[below] for below in range(count + 1) if router in way(below)) for router in range(count + 1)
    ]


@pytest.fixture
def small():
    """core - a - (b, c); h1 at b publishes, h2 at c wants it, h3 at the core does not, h4 is at b, where it is wanted
    the second time."""
    layout = Layout(tree_of(("core", "a"), ("a", "b"), ("a", "c")), {"h1": "b", "h2": "c", "h3": "core", "h4": "b"})
    number = layout.host_numbers
    here, there = Box((0.0, 0.0, 0.0), (9.0, 9.0, 9.0)), Box((20.0, 0.0, 0.0), (29.0, 9.0, 9.0))
    sent = [Published(1.0, number["h1"], (5.0, 5.0, 5.0), 50), Published(2.0, number["h1"], (25.0, 5.0, 5.0), 60)]
    sent.append(Published(3.0, number["h1"], (99.0, 5.0, 5.0), 70))
    wanted = [Want(number["h2"], 0.0, math.inf, (here,)), Want(number["h4"], 0.0, math.inf, (there,))]
    return layout, gather(sent, wanted)


@pytest.mark.parametrize(
    ("protocol", "links", "core"),
    [
        (CLIPPING, {"h1 b": (3, 180), "b a": (1, 50), "a c": (1, 50), "c h2": (1, 50), "b h4": (1, 60)}, 0),
        (SOURCE_CLIPPING, {"h1 b": (2, 110), "b a": (1, 50), "a c": (1, 50), "c h2": (1, 50), "b h4": (1, 60)}, 0),
        (
            WITHOUT_CLIPPING,
            {"h1 b": (3, 180), "b a": (3, 180), "a core": (3, 180), "a c": (1, 50), "c h2": (1, 50), "b h4": (1, 60)},
            3,
        ),
        (
            FLOODING,
            {"h1 b": (3, 180), "b a": (3, 180), "a core": (3, 180), "a c": (3, 180), "c h2": (1, 50), "b h4": (1, 60)},
            3,
        ),
        (Protocol(clipping=False, source_clipping=True), None, 3),  # a host is told that everything is wanted
    ],
)
def test_links_of_a_small_tree_by_hand(small, protocol, links, core):
    (found,) = load(*small, [protocol], start=0.0, stop=10.0)
    if links is not None:
        assert found.links() == {tuple(link.split()): counts for link, counts in links.items()}
        assert list(found.cost) == [sum(n for n, _ in links.values()) / 10, sum(b for _, b in links.values()) / 10]
    assert (found.core_in, found.core_out) == (core / 10, 0)
    by_name = dict(zip(found.layout.hosts, found.receiving, strict=True))
    assert by_name == {"h1": 0, "h2": 0.1, "h3": 0, "h4": 0.1}
    assert found.publications == 3


def test_only_what_is_sent_in_the_measured_time_counts(small):
    (found,) = load(*small, [CLIPPING], start=2.0, stop=3.0)
    assert found.links() == {("h1", "b"): (1, 60), ("b", "h4"): (1, 60)}


@pytest.mark.parametrize(
    ("protocol", "budget", "expected"),  # of the core, a, b, c; one piece is wanted at b and one at c
    [
        (CLIPPING, 0, [2, 2, 2, 2]),  # nothing is wanted above a
        (CLIPPING, 1, [1, 2, 2, 2]),
        (WITHOUT_CLIPPING, 0, [2, 3, 2, 2]),  # everything is, as far as routers know: one piece
        (FLOODING, 0, [1, 3, 2, 2]),
    ],
)
def test_state_of_a_small_tree_by_hand(small, protocol, budget, expected):
    assert list(entries(*small, protocol, start=0.0, stop=10.0, budget=budget)) == expected


# -- whole scenarios ---------------------------------------------------------------------------------------

SCENARIOS = {
    "still areas": {"hosts": 30, "clipping": True},
    "without clipping": {"hosts": 30, "clipping": False},
    "source clipping": {"hosts": 12, "source_clipping": True, "areas": {"smallest": 0.3}},
    "flooding": {"hosts": 30, "mode": "flooding"},
    "spheres, attributes": {
        "hosts": 20,
        "workload": {"attributes": {"team": ["red", "blue"]}, "layer": "ships", "payload": 20, "extent": [9, 9, 9]},
        "areas": {"shape": "mixed", "match": ["team"], "per_host": 2},
    },
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_gives_the_load_of_its_events(name):
    scenario = from_mapping(
        {"topology": {"tree": [3, 3]}, "seconds": 2.0, "warm_up": 0.5, "budget": 0, **SCENARIOS[name]}
    )
    events = run(scenario, 3)
    world = build(scenario, 3)
    layout = Layout(world.tree, world.attachment)
    protocol = Protocol(scenario.clipping, scenario.source_clipping, scenario.mode == "flooding")
    offered = traffic(world, layout)
    (found,) = load(layout, offered, [protocol], start=0.5, stop=2.5, present=present(world, layout))
    counted = {(row["source"], row["destination"]): (row["packets"], row["bytes"]) for row in events.links}
    assert found.links() == {link: counts for link, counts in counted.items() if counts[0]}
    assert found.core_in == pytest.approx(events.row["core_data_received"])
    assert found.receiving.mean() == pytest.approx(events.row["host_data_received"])
    state = entries(layout, offered, protocol, start=0.5, stop=2.5)
    kept = {row["router"]: row["state_pieces"] for row in events.routers}
    assert dict(zip(layout.routers, state, strict=True)) == pytest.approx(kept)
    assert (found.sent[0].sum() < found.publications) == (name == "source clipping")


def test_a_tree_too_deep_for_the_hop_limit_is_refused():
    scenario = from_mapping({"topology": {"tree": [1] * 128}, "hosts": 2})
    world = build(scenario, 1)
    with pytest.raises(ConfigError, match="128 links deep"):
        traffic(world, Layout(world.tree, world.attachment))
