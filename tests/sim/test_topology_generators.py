"""GT-ITM's transit-stub graphs, as its program drew them and without its faults, and BRITE's two models."""

from __future__ import annotations

import math
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sim.topology import brite, files, transit_stub
from sim.topology.degree import limit_degree, limited
from sim.topology.flat import METHODS, Domain
from sim.topology.gb_flip import Flip
from sim.topology.graph import FIBRE, TopologyError, add_link
from sim.topology.presets import PAPER, PRESETS, TS100, TS600, preset
from sim.topology.transit_stub import TransitStub

DATA = Path(__file__).parents[2] / "../shared/data/topologies"
#: Of GT-ITM's sample graphs: the seed of their program, which graph of its run, and a hash of the names of the edges.
GOLDEN = {
    ("ts100", 47): ["be5fd799a98bdf11", "e70747f124a825f9", "dd83c20394fc0e57"],
    ("ts600", 1011): ["63480e35a1f752e9", "e04338556ee67c67", "cb56998c4895958b"],
}
SHAPES = {"ts100": TS100, "ts600": TS600}


def edges(graph):
    return sorted(sorted(edge) for edge in graph.edges)


def fingerprint(graph):
    return sha256(repr(edges(graph)).encode()).hexdigest()[:16]


def as_1996(name, seed, rng=None):
    """GT-ITM's graphs of this sample, one after the other."""
    flip = Flip(seed)
    while True:
        yield transit_stub.generate_as_1996(SHAPES[name], flip, rng or random.Random(1))


# Knuth's numbers -----------------------------------------------------------------------------------------------------


def test_knuths_own_check_of_his_numbers():
    """The values with which The Stanford GraphBase says that an implementation is right."""
    flip = Flip(-314159)
    assert flip.next() == 119318998
    for _ in range(133):
        flip.next()
    limit = 2**31 - 2**31 % 0x55555555
    while (number := flip.next()) >= limit:
        pass
    assert number % 0x55555555 == 748103812


# GT-ITM --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), GOLDEN)
def test_the_edges_of_gt_itms_samples(name, seed):
    drawn = as_1996(name, seed)
    assert [fingerprint(next(drawn)) for _ in range(3)] == GOLDEN[name, seed]


@pytest.mark.parametrize(("name", "seed"), GOLDEN)
def test_gt_itms_samples_edge_by_edge(name, seed):
    """Policy weights too, lengths inside domains, and where the transit nodes are: all that its seed decides."""
    if not DATA.exists():
        pytest.skip("no recorded topologies here")
    for number, mine in zip(range(3), as_1996(name, seed), strict=False):
        theirs = files.read(DATA / f"gt-itm/{name}-{number}.alt")
        assert list(mine) == list(theirs)
        assert edges(mine) == edges(theirs)
        assert fingerprint(theirs) == GOLDEN[name, seed][number]
        for u, v, at in theirs.edges(data=True):
            assert mine.edges[u, v]["policy"] == at["policy"]
            if at["policy"] == 1:
                assert mine.edges[u, v]["length"] == at["length"]
        for node, at in theirs.nodes(data=True):
            if node.startswith("T"):
                assert (mine.nodes[node]["x"], mine.nodes[node]["y"]) == (at["x"], at["y"])


def links_between_domains(graph):
    transit = [(u[2:].split(".")[0], v[2:].split(".")[0]) for u, v in graph.edges if u[0] == v[0] == "T"]
    return [tuple(sorted(pair)) for pair in transit if pair[0] != pair[1]]


def width(graph, domain):
    xs = [at["x"] for node, at in graph.nodes(data=True) if node.startswith(f"T:{domain}.")]
    return max(xs) - min(xs)


def test_the_faults_are_there_as_1996_and_gone_otherwise():
    old = next(as_1996("ts600", 1011))
    assert len(links_between_domains(old)) == 6
    assert max(width(old, 1), width(old, 2)) <= 52  # the scale of a stub, not the 110 of a transit domain
    widest = Counter()
    for seed in range(10):
        new = transit_stub.generate(TS600, random.Random(seed))
        assert sorted(links_between_domains(new)) == [("0", "1"), ("0", "2"), ("1", "2")]
        widest.update({domain: width(new, domain) > 52 for domain in range(3)})
    assert all(widest[domain] >= 8 for domain in range(3))


def test_extra_stub_links_are_all_there_only_without_the_faults():
    shape = TransitStub(TS100.top, TS100.transit, TS100.stub, 3, extra_stub_stub=40)
    old = transit_stub.generate_as_1996(shape, Flip(47), random.Random(1))
    bare = next(as_1996("ts100", 47))
    assert 10 <= old.number_of_edges() - bare.number_of_edges() <= 30  # about half led back to their own node


domains = st.builds(
    Domain,
    st.integers(1, 6),
    st.sampled_from(METHODS),
    st.floats(0.5, 1),
    st.floats(0.5, 3),
    st.floats(3, 6),
)
shapes = st.builds(TransitStub, domains, domains, domains, st.integers(0, 3), st.integers(0, 4), st.integers(0, 4))


@settings(max_examples=60)
@given(shapes, st.integers(0, 10**6))
def test_a_transit_stub_graph_is_what_was_asked_for(shape, seed):
    try:
        graph = transit_stub.generate(shape, random.Random(seed))
    except TopologyError as error:
        assume("connected" not in str(error))  # too thin a domain, and said so
        assert "extra" in str(error) and shape.extra_transit_stub + shape.extra_stub_stub
        return
    assert len(graph) == shape.nodes == shape.top.nodes * shape.transit.nodes * (1 + shape.stubs * shape.stub.nodes)
    assert nx.is_connected(graph)
    scale = graph.graph["scale"]
    assert all(0 <= at["x"] < scale and 0 <= at["y"] < scale for at in graph.nodes.values())
    assert all(at["delay"] == at["length"] / FIBRE for *_, at in graph.edges(data=True))
    hung = Counter()
    across = 0
    for u, v in graph.edges:
        assert u != v
        kinds = {u[0], v[0]}
        if kinds == {"T", "S"}:
            stub = u if u[0] == "S" else v
            hung[stub.rpartition(".")[0]] += 1
        elif kinds == {"S"} and u.rpartition(".")[0] != v.rpartition(".")[0]:
            across += 1
    stubs = {node.rpartition(".")[0] for node in graph if node[0] == "S"}
    assert set(hung) == stubs
    assert sum(hung.values()) == len(stubs) + shape.extra_transit_stub
    assert across == shape.extra_stub_stub
    assert edges(transit_stub.generate(shape, random.Random(seed))) == edges(graph)


def test_extra_links_that_cannot_be_are_refused():
    """A single transit node has all stubs under it."""
    with pytest.raises(TopologyError, match="extra links"):
        transit_stub.generate(TransitStub(Domain(1), Domain(1), Domain(4), 2, 1), random.Random(1))
    with pytest.raises(TopologyError, match="extra links"):
        transit_stub.generate(TransitStub(Domain(1), Domain(3), Domain(4), 0, 0, 1), random.Random(1))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: Domain(0), "0 nodes"),
        (lambda: Domain(3, "waxmann"), "waxmann"),
        (lambda: Domain(3, "waxman", 0.5), "beta above 0"),
        (lambda: Domain(3, alpha=0), "alpha is 0"),
        (lambda: TransitStub(Domain(1), Domain(1), Domain(1), -1), "stubs is -1"),
        (
            lambda: transit_stub.generate(
                TransitStub(Domain(9, alpha=0.01), Domain(1), Domain(1), 1), random.Random(1)
            ),
            "not connected",
        ),
        (
            lambda: transit_stub.generate_as_1996(
                TransitStub(Domain(1), Domain(1), Domain(1), 1), Flip(1), random.Random(1)
            ),
            "GT-ITM",
        ),
        (lambda: brite.waxman(2, 2, random.Random(1)), "2 nodes with 2 links"),
        (lambda: brite.waxman(9, 2, random.Random(1), beta=0), "beta is 0"),
        (lambda: brite.waxman(9, 2, random.Random(1), growth="slow"), "'slow'"),
        (lambda: brite.Plane(placement="best"), "'best'"),
        (lambda: brite.barabasi_albert(30, 2, random.Random(1), plane=brite.Plane(5, 5)), "do not fit"),
        (lambda: preset("papers", random.Random(1)), "papers"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(wrong, named):
    with pytest.raises(TopologyError) as refused:
        wrong()
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


# BRITE ---------------------------------------------------------------------------------------------------------------

planes = st.builds(brite.Plane, st.integers(40, 400), st.integers(8, 20), st.sampled_from(brite.PLACEMENTS))


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(24, 60), planes, st.floats(0.02, 2), st.integers(0, 10**6))
def test_waxman_has_m_links_a_node_and_is_connected(m, nodes, plane, beta, seed):
    graph = brite.waxman(nodes, m, random.Random(seed), beta=beta, plane=plane)
    assert len(graph) == nodes
    # The very first nodes may run out of others to be linked to, as in BRITE; only where nearly all have chosen them.
    assert m * nodes - m * m <= graph.number_of_edges() <= m * nodes
    assert nx.is_connected(graph)
    check_places(graph, plane)


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(6, 60), planes, st.integers(0, 10**6))
def test_barabasi_and_alberts_links(m, nodes, plane, seed):
    graph = brite.barabasi_albert(nodes, m, random.Random(seed), plane=plane)
    assert graph.number_of_edges() == m * (m + 1) // 2 + m * (nodes - m - 1)
    assert nx.is_connected(graph)
    check_places(graph, plane)


def check_places(graph, plane):
    places = [(at["x"], at["y"]) for at in graph.nodes.values()]
    assert len(set(places)) == len(places)
    assert all(type(x) is int and 0 <= x < plane.side and 0 <= y < plane.side for x, y in places)
    for u, v, at in graph.edges(data=True):
        assert at["length"] == math.dist(places[int(u)], places[int(v)])
        assert at["delay"] == pytest.approx(at["length"] * 1000 / 299792458)


def test_random_growth_leaves_no_node_without_a_link():
    graph = brite.waxman(80, 2, random.Random(3), growth="random")
    assert min(degree for _, degree in graph.degree) >= 1


def test_waxmans_links_are_drawn_as_brite_does():
    """Against the procedure word for word: draw a node uniformly, and accept it with Waxman's probability."""
    beta, side, m, nodes = 0.1, 300, 2, 50
    diagonal = math.sqrt(2) * side

    def by_rejection(rng):
        places = brite.Plane(side).places(nodes, rng)
        found = set()
        for node in range(m, nodes):
            added = 0
            while added < m:
                other = rng.randrange(node)
                p = 0.15 * math.exp(-math.dist(places[node], places[other]) / (beta * diagonal))
                if (other, node) not in found and rng.random() < p:
                    found.add((other, node))
                    added += 1
        return fmean(math.dist(places[u], places[v]) for u, v in found)

    def ours(rng):
        graph = brite.waxman(nodes, m, rng, beta=beta, plane=brite.Plane(side))
        lengths = [at["length"] for u, v, at in graph.edges(data=True)]
        return fmean(lengths[: m * (nodes - m)])  # without those of the first m, which choose last

    theirs = fmean(by_rejection(random.Random(seed)) for seed in range(40))
    mine = fmean(ours(random.Random(1000 + seed)) for seed in range(40))
    assert mine == pytest.approx(theirs, rel=0.06)


def test_barabasi_and_alberts_links_go_where_links_are():
    """Against the model word for word: a node is drawn as often as it has links, until there are m different ones."""
    m, nodes = 2, 60

    def word_for_word(rng):
        degrees = [m] * (m + 1)
        for node in range(m + 1, nodes):
            chosen = set()
            while len(chosen) < m:
                (other,) = rng.choices(range(node), degrees)
                if other not in chosen:
                    chosen.add(other)
                    degrees[other] += 1
            degrees.append(m)
        return sum(degrees[: m + 1])

    def ours(rng):
        graph = brite.barabasi_albert(nodes, m, rng)
        return sum(graph.degree[str(node)] for node in range(m + 1))

    theirs = fmean(word_for_word(random.Random(seed)) for seed in range(200))
    mine = fmean(ours(random.Random(1000 + seed)) for seed in range(200))
    assert mine == pytest.approx(theirs, rel=0.06)


def test_heavy_tailed_places_are_clustered():
    def fullest(placement):
        plane = brite.Plane(placement=placement)
        squares = Counter((x // 100, y // 100) for x, y in plane.places(300, random.Random(5)))
        return max(squares.values())

    assert fullest("heavy-tailed") > 2 * fullest("random")


# The limit of the degree, and the presets ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(3, 30), st.integers(1, 3), st.integers(2, 8), st.integers(0, 10**6))
def test_dropping_links_keeps_a_graph_together(nodes, m, most, seed):
    assume(nodes > m)
    before = brite.barabasi_albert(nodes, m, random.Random(seed))
    after = before.copy()
    try:
        limit_degree(after, most)
    except TopologyError as error:
        assert "links on which other nodes depend" in str(error)
        return
    assert max(degree for _, degree in after.degree) <= most
    assert nx.is_connected(after)
    assert set(after) == set(before)
    assert all(before.edges[edge] == at for *edge, at in ((u, v, at) for u, v, at in after.edges(data=True)))


def test_a_star_cannot_be_limited():
    def star():
        graph = nx.Graph()
        for number in range(9):
            add_link(graph, "hub", f"n{number}", 1.0)
        return graph

    with pytest.raises(TopologyError, match="more than 4 links"):
        limited(star, 4)
    graph = star()
    limit_degree(graph, 4, spared=["hub"])
    assert graph.degree["hub"] == 9


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_network(seed):
    graph = preset("paper", random.Random(seed))
    assert len(graph) == 1 + 1050 == 1 + PAPER.nodes
    assert nx.is_connected(graph)
    assert graph.degree["core"] == 12
    assert max(degree for node, degree in graph.degree if node != "core") <= 11
    assert {node[2] for node in graph.adj["core"]} == set("012345")


def test_presets_depend_on_their_seed_only():
    for draw in PRESETS.values():
        assert edges(draw(random.Random(4))) == edges(draw(random.Random(4))) != edges(draw(random.Random(5)))
