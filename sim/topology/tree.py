"""The tree of routers that a simulation runs on: shortest paths from a core, and hosts attached to them.

Called by scenarios and by `cbsmrp sim topology`. The paper's network (section 2): a core R0, routers below it, hosts
as leaves.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import attrs
import networkx as nx

from .graph import Graph, TopologyError, by_name


@attrs.frozen(eq=False)
class CoreTree:
    """A tree of routers, rooted at the core.

    `graph` is what it was taken from. `parents` and `delays` give each router but the core its upstream router, and
    the delay of the link to it in seconds.
    """

    graph: Graph
    core: str
    parents: Mapping[str, str]
    delays: Mapping[str, float]

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        children: dict[str, list[str]] = {router: [] for router in (self.core, *self.parents)}
        for router, parent in self.parents.items():
            children[parent].append(router)
        return {router: tuple(sorted(below, key=by_name)) for router, below in children.items()}

    @cached_property
    def routers(self) -> tuple[str, ...]:
        """The core first, then level by level; below one router in the order of names."""
        order = [self.core]
        for router in order:  # grows while we walk it
            order.extend(self._children[router])
        return tuple(order)

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        depths = {self.core: 0}
        for router in self.routers[1:]:
            depths[router] = depths[self.parents[router]] + 1
        return depths

    def children(self, router: str) -> tuple[str, ...]:
        """The routers whose upstream this is, in the order of names."""
        return self._children[router]

    def depth(self, router: str) -> int:
        """How many links lie between the router and the core."""
        return self._depths[router]

    def degree(self, router: str) -> int:
        """The router's links in the tree, without hosts."""
        return len(self._children[router]) + (router in self.parents)


def core_tree(graph: Graph, core: str = "degree") -> CoreTree:
    """The tree of shortest paths from `core`, by delay; of equal paths, the one of fewer links, then of first names.

    `core` is the name of a node, or "degree" (the node with the most links, of equals the first name), or "centre" (the
    node from which the farthest is nearest in links; of equals as by degree). Every edge needs a `delay`. Raises
    TopologyError when there is no such node, or when not every node can be reached (see `graph.largest_part`).
    """
    root = _core(graph, core)
    parents: dict[str, str] = {}
    delays: dict[str, float] = {}
    names = {router: by_name(router) for router in graph}
    reached: set[str] = set()
    waiting: list[tuple[float, int, tuple[str | int, ...], str, str | None]] = [(0.0, 0, (), root, None)]
    while waiting:
        total, links, _, router, parent = heapq.heappop(waiting)
        if router in reached:
            continue
        reached.add(router)
        if parent is not None:
            parents[router] = parent
            delays[router] = graph.edges[router, parent]["delay"]
        for other, attributes in graph.adj[router].items():
            if other not in reached:
                heapq.heappush(waiting, (total + attributes["delay"], links + 1, names[router], other, router))
    if len(reached) < len(graph):
        raise _cut_off(len(graph) - len(reached), len(graph), root)
    return CoreTree(graph, root, parents, delays)


def _core(graph: Graph, core: str) -> str:
    if len(graph) == 0:
        raise TopologyError("the topology has no nodes")
    if core in graph:
        return core
    if core == "degree":
        return min(graph, key=lambda router: (-graph.degree[router], by_name(router)))
    if core == "centre":
        first = min(graph, key=by_name)
        reached = len(nx.node_connected_component(graph, first))
        if reached < len(graph):
            raise _cut_off(len(graph) - reached, len(graph), first)
        farthest = {router: max(nx.single_source_shortest_path_length(graph, router).values()) for router in graph}
        return min(graph, key=lambda router: (farthest[router], -graph.degree[router], by_name(router)))
    some = ", ".join(sorted(graph, key=by_name)[:3])
    raise TopologyError(f"no node {core!r} to be the core: name one ({some}, ...), or say degree or centre")


def _cut_off(number: int, total: int, root: str) -> TopologyError:
    return TopologyError(
        f"the topology is not connected: {number} of its {total} nodes cannot be reached from {root!r};"
        " take its largest part (--largest-part, graph.largest_part), or mend it"
    )


def attach_hosts(
    tree: CoreTree,
    count: int,
    rng: random.Random,
    degree: int = 12,
    routers: Literal["leaves", "all"] = "leaves",
) -> dict[str, str]:
    """Where hosts "h0", "h1", ... are: each at a router drawn from those that still have room.

    No router gets more than `degree` links, counting those of the tree and its hosts; only routers without routers
    below them take hosts, or "all". With the same `rng` the first hosts stay where they are when there are more. Raises
    TopologyError when they do not fit.
    """
    room: dict[str, int] = {}
    for router in tree.routers:
        if routers == "all" or not tree.children(router):
            room[router] = max(degree - tree.degree(router), 0)
    if count > sum(room.values()):
        raise TopologyError(
            f"{count} hosts do not fit: {len(room)} routers ({routers}) have room for {sum(room.values())} with at most"
            f" {degree} links each; allow more links, or fewer hosts" + _or_all(routers)
        )
    free = [router for router, places in room.items() if places]
    hosts = {}
    for number in range(count):
        index = rng.randrange(len(free))
        router = free[index]
        hosts[f"h{number}"] = router
        room[router] -= 1
        if not room[router]:
            free[index] = free[-1]
            free.pop()
    return hosts


def _or_all(routers: str) -> str:
    return "" if routers == "all" else ", or hosts at all routers"
