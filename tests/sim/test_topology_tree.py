"""The tree of routers from a core, and hosts attached to it."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.topology.graph import TopologyError, add_link, by_name, largest_part
from sim.topology.tree import attach_hosts, core_tree


def build(links):
    graph = nx.Graph()
    for u, v, length in links:
        add_link(graph, str(u), str(v), float(length))
    return graph


@st.composite
def connected(draw):
    """A connected graph whose links have few different lengths, so that paths are often equally long."""
    size = draw(st.integers(1, 12))
    links = [(node, draw(st.integers(0, node - 1)), draw(st.integers(0, 2))) for node in range(1, size)]
    pairs = [(u, v) for u in range(size) for v in range(u)]
    more = draw(st.lists(st.sampled_from(pairs), max_size=12)) if pairs else []
    graph = build([*links, *((u, v, draw(st.integers(0, 2))) for u, v in more)])
    graph.add_node("0")
    return graph


def to_core(tree, router):
    total = 0.0
    while router != tree.core:
        total += tree.delays[router]
        router = tree.parents[router]
    return total


@given(connected(), st.data())
def test_the_tree_has_every_router_by_a_shortest_path(graph, data):
    core = data.draw(st.sampled_from(sorted(graph)))
    tree = core_tree(graph, core)
    shortest = nx.single_source_dijkstra_path_length(graph, core, weight="delay")
    assert tree.routers[0] == tree.core == core
    assert sorted(tree.routers) == sorted(graph)
    assert set(tree.parents) == set(tree.delays) == set(graph) - {core}
    for router in graph:
        assert to_core(tree, router) == pytest.approx(shortest[router])
        assert tree.depth(router) == (tree.depth(tree.parents[router]) + 1 if router != core else 0)
        assert all(tree.parents[child] == router for child in tree.children(router))
        assert tree.degree(router) <= graph.degree[router]
    assert [tree.depth(router) for router in tree.routers] == sorted(tree.depth(router) for router in tree.routers)


@given(connected(), st.randoms(use_true_random=False))
def test_the_tree_does_not_depend_on_the_order_of_a_file(graph, rng):
    nodes, links = list(graph), list(graph.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(links)
    other = nx.Graph()
    other.add_nodes_from(nodes)
    for u, v, at in links:
        other.add_edge(*rng.sample((u, v), 2), **at)
    for core in ("degree", "centre"):
        ours, theirs = core_tree(graph, core), core_tree(other, core)
        assert (ours.core, ours.routers, ours.parents) == (theirs.core, theirs.routers, theirs.parents)


def test_of_equal_paths_the_shorter_and_then_the_first_by_name():
    tree = core_tree(build([(0, 10, 1), (0, 9, 1), (9, 4, 1), (10, 4, 1), (0, 7, 2), (0, 5, 1), (5, 7, 1)]), "0")
    assert tree.parents["4"] == "9"
    assert tree.parents["7"] == "0"


@given(connected())
def test_the_core_by_degree_and_centre(graph):
    degrees = dict(graph.degree)
    by_degree = core_tree(graph, "degree").core
    assert degrees[by_degree] == max(degrees.values())
    assert by_degree == min((node for node in graph if degrees[node] == degrees[by_degree]), key=int)
    assert core_tree(graph, "centre").core in nx.center(graph)


def test_names_are_ordered_as_people_do():
    names = ["T:0.2", "9", "T:0.11", "core", "10", "S:0.2/1.10", "S:0.2/1.9"]
    assert sorted(names, key=by_name) == ["9", "10", "S:0.2/1.9", "S:0.2/1.10", "T:0.2", "T:0.11", "core"]


@pytest.mark.parametrize("core", ["0", "degree", "centre"])
def test_a_topology_in_parts_is_refused_and_its_largest_part_taken(core):
    graph = build([(0, 1, 1), (1, 2, 1), (7, 8, 1)])
    with pytest.raises(TopologyError, match=r"2 of its 5 nodes cannot be reached.*largest part"):
        core_tree(graph, core)
    assert sorted(core_tree(largest_part(graph), core).routers) == ["0", "1", "2"]


def test_a_core_that_is_not_there_is_refused():
    with pytest.raises(TopologyError, match=r"no node 'nine' to be the core: name one \(0, 1, 2, ...\)"):
        core_tree(build([(0, 1, 1), (1, 2, 1), (2, 3, 1)]), "nine")
    with pytest.raises(TopologyError, match="no nodes"):
        core_tree(nx.Graph())


def test_of_several_links_the_fastest_counts_and_none_to_oneself():
    graph = build([(0, 1, 5), (1, 0, 2), (0, 1, 9), (1, 1, 1)])
    assert list(graph.edges(data="length")) == [("0", "1", 2.0)]


# Hosts -----------------------------------------------------------------------------------------------------------


@given(connected(), st.integers(0, 30), st.integers(0, 6), st.sampled_from(["leaves", "all"]), st.integers(0, 99))
def test_hosts_keep_to_the_degree(graph, count, degree, where, seed):
    tree = core_tree(graph)
    allowed = [router for router in tree.routers if where == "all" or not tree.children(router)]
    room = sum(max(degree - tree.degree(router), 0) for router in allowed)
    if count > room:
        with pytest.raises(TopologyError, match=f"{count} hosts do not fit"):
            attach_hosts(tree, count, random.Random(seed), degree, where)
        return
    hosts = attach_hosts(tree, count, random.Random(seed), degree, where)
    assert list(hosts) == [f"h{number}" for number in range(count)]
    assert set(hosts.values()) <= set(allowed)
    for router, number in Counter(hosts.values()).items():
        assert tree.degree(router) + number <= degree
    if count:
        fewer = attach_hosts(tree, count - 1, random.Random(seed), degree, where)
        assert list(fewer.items()) == list(hosts.items())[:-1]
