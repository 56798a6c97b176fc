"""Graphs in which no node has too many links: links are dropped that nothing depends on, or the graph is drawn anew.

The paper's network has at most 12 links a router, and neither GT-ITM nor BRITE knows such a limit. Called by `presets`
and by `cbsmrp sim topology generate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import networkx as nx

from .graph import Graph, TopologyError, by_name

_TRIES = 100


def limit_degree(graph: Graph, most: int, spared: Collection[str] = ()) -> None:
    """Drop links until no node has more than `most`, and the graph is as connected as before.

    Of a node's links, those go first whose other end has the most links, then the longest; none of the nodes `spared`,
    to which no limit applies. Raises TopologyError when a node has too many links on which others depend.
    """
    for node in sorted(graph, key=lambda node: (-graph.degree[node], by_name(node))):
        if node in spared or graph.degree[node] <= most:
            continue
        others = [other for other in graph.adj[node] if other not in spared]
        others.sort(key=lambda other: (-graph.degree[other], -graph.edges[node, other]["length"], by_name(other)))
        for other in others:
            if graph.degree[node] <= most:
                break
            attributes = dict(graph.edges[node, other])
            graph.remove_edge(node, other)
            if not nx.has_path(graph, node, other):
                graph.add_edge(node, other, **attributes)
        if graph.degree[node] > most:
            raise TopologyError(
                f"node {node} has {graph.degree[node]} links on which other nodes depend, and {most} are allowed:"
                " allow more"
            )


def limited(draw: Callable[[], Graph], most: int, spared: Collection[str] = ()) -> Graph:
    """A graph as drawn, with links dropped; drawn anew where too many links are needed.

    Raises TopologyError when 100 graphs were of no use.
    """
    for _ in range(_TRIES):
        graph = draw()
        try:
            limit_degree(graph, most, spared)
        except TopologyError:
            continue
        return graph
    raise TopologyError(
        f"{_TRIES} graphs drawn, and in each a node needs more than {most} links: allow more, or ask for fewer links"
    )
