"""From a scenario's topology table to the tree of routers; which of them fail, and where those below turn then.

Called by `scenario.build`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import networkx as nx

from cbsmrp.settings import ConfigError
from sim.scenario.tables import Failure, TopologyTable
from sim.topology import files
from sim.topology.graph import Graph, TopologyError, by_name, largest_part
from sim.topology.presets import preset
from sim.topology.tree import CoreTree, core_tree
from sim.workload.workload import substream


def core_based_tree(table: TopologyTable, seed: int) -> CoreTree:
    """Raises TopologyError."""
    graph = _graph(table, seed)
    if table.largest_part:
        graph = largest_part(graph)
    elif not nx.is_connected(graph):
        left = len(graph) - len(largest_part(graph))
        raise TopologyError(
            f"{table.file or table.preset} is not connected: {left} of its {len(graph)} routers are not in the largest"
            " part; set largest_part = true to leave them out"
        )
    drawn = bool(table.preset or table.file)
    return core_tree(graph, table.core or ("degree" if drawn else "R0"))


def backups(tree: CoreTree, attachment: Mapping[str, str], most: int) -> dict[str, tuple[str, ...]]:
    """Of each router the neighbours in the graph that are no farther from the core, of each host those of its router.

    The nearest to the core come first. (Routers that know less of the network than we do may be given worse ones: the
    engine itself sees to it that nobody comes to stand below itself.)
    """
    found: dict[str, tuple[str, ...]] = {}
    for router, parent in tree.parents.items() if most else ():
        others = [each for each in tree.graph.adj[router] if each != parent and tree.depth(each) <= tree.depth(router)]
        others.sort(key=lambda each: (tree.depth(each), by_name(each)))
        found[router] = tuple(others[:most])
    for host, router in attachment.items() if most else ():
        found[host] = (tree.parents[router], *found[router])[:most] if router != tree.core else ()
    return found


def broken(
    failures: Sequence[Failure], tree: CoreTree, attachment: Mapping[str, str], seed: int
) -> tuple[Failure, ...]:
    """The failures with routers' names for "random": one that has hosts somewhere below it, and is not the core.

    Raises ConfigError for a router, or a link, that there is not.
    """
    busy = set(attachment.values())
    for router in reversed(tree.routers[1:]):
        if router in busy:
            busy.add(tree.parents[router])
    choice = [router for router in tree.routers[1:] if router in busy]
    found = []
    for number, failure in enumerate(failures):
        key, name = ("router", failure.router) if failure.router else ("link", failure.link)
        if name == "random" and choice:
            name = substream(seed, f"failure {number}").choice(choice)
        elif name not in tree.parents and name != tree.core:
            raise ConfigError(f"[[failures]] {key} = {name!r}: there is no such router")
        elif key == "link" and name == tree.core:
            raise ConfigError(f"[[failures]] link = {name!r}: there is no link above the core")
        found.append(attrs.evolve(failure, router=name) if key == "router" else attrs.evolve(failure, link=name))
    return tuple(found)


def _graph(table: TopologyTable, seed: int) -> Graph:
    if table.preset:
        return preset(table.preset, substream(seed, "topology"))
    if table.file:
        return files.read(table.file, table.graph, length=table.length or None)
    return regular_tree(table.tree or (3, 3), table.delay)


def regular_tree(children: tuple[int, ...], delay: float) -> Graph:
    """R0, and at each level so many children below every router; every link with this delay in seconds."""
    graph: Graph = nx.Graph()
    graph.add_node("R0")
    level = ["R0"]
    for number in children:
        below = []
        for parent in level:
            for _ in range(number):
                child = f"R{len(graph)}"
                graph.add_edge(parent, child, length=0.0, delay=delay)
                below.append(child)
        level = below
    return graph
