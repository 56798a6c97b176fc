"""Numbers that describe a topology, and the tree of routers in it. Called by `cbsmrp sim topology describe`."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import networkx as nx

from .graph import Graph, largest_part
from .tree import CoreTree, core_tree


def describe(graph: Graph, core: str = "degree") -> dict[str, Any]:
    """Numbers of the graph, and of the tree from this core; of a graph in parts, the largest part's.

    `diameter` and `depth` are in links, delays in seconds, lengths in kilometres. Raises TopologyError when there is
    no such core.
    """
    part = largest_part(graph)
    degrees = [degree for _, degree in graph.degree]
    lengths = [at["length"] for *_, at in graph.edges(data=True)]
    return {
        "nodes": len(graph),
        "links": graph.number_of_edges(),
        "parts": nx.number_connected_components(graph),
        "nodes_of_largest_part": len(part),
        "degree": {"least": min(degrees), "mean": fmean(degrees), "most": max(degrees)},
        "length": {"mean": fmean(lengths), "most": max(lengths)} if lengths else None,
        "diameter": max(max(nx.single_source_shortest_path_length(part, node).values()) for node in part),
        "tree": _describe_tree(core_tree(part, core)),
    }


def _describe_tree(tree: CoreTree) -> dict[str, Any]:
    delays = {tree.core: 0.0}
    for router in tree.routers[1:]:
        delays[router] = delays[tree.parents[router]] + tree.delays[router]
    depths = [tree.depth(router) for router in tree.routers]
    return {
        "core": tree.core,
        "branches": len(tree.children(tree.core)),
        "leaves": sum(1 for router in tree.routers if not tree.children(router)),
        "degree_most": max(tree.degree(router) for router in tree.routers),
        "depth": {"mean": fmean(depths), "most": max(depths)},
        "delay_to_core": {"mean": fmean(delays.values()), "most": max(delays.values())},
    }
