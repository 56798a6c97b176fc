"""BRITE's router topologies: Waxman, and Barabási and Albert, by BRITE's own procedure.

BRITE draws until every node has its m links, so their number is fixed, and alpha (which other Waxman generators take
for the density) decides only how long that takes; hence it is not asked for here, and networkx's `waxman_graph` is
something else. Called by `presets`, scenarios and `cbsmrp sim topology generate`. Medina, Lakhina, Matta, Byers: BRITE,
MASCOTS 2001.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import attrs
import networkx as nx
import numpy as np
from numpy.typing import NDArray

from .graph import Graph, TopologyError, add_link

LIGHT = 299_792.458
"""Kilometres per second. BRITE's delays are those of light in vacuum."""

GROWTHS = ("incremental", "random")
PLACEMENTS = ("random", "heavy-tailed")


@attrs.frozen
class Plane:
    """A square of `side` by `side` kilometres with nodes at whole numbers, no two in one place.

    Placement "random" is uniform; "heavy-tailed" fills squares of `square` by `square` one after the other, each with a
    number of nodes that has a Pareto distribution of shape 1, up to three quarters of its places.
    """

    side: int = 1000
    square: int = 100
    placement: str = "random"

    def __attrs_post_init__(self) -> None:
        if self.placement not in PLACEMENTS:
            raise TopologyError(f"no placement {self.placement!r}: there are {', '.join(PLACEMENTS)}")
        if self.side < 1 or not 1 < self.square <= self.side:
            raise TopologyError(
                f"a plane of side {self.side} with squares of {self.square}: squares have 2 or more, up to the side"
            )

    def places(self, nodes: int, rng: random.Random) -> list[tuple[int, int]]:
        """So many places. Raises TopologyError when there are not enough."""
        room = self.side * self.side
        if self.placement == "heavy-tailed":
            room = (self.side // self.square) ** 2 * self._most
        if nodes > room:
            raise TopologyError(f"{nodes} nodes do not fit on a plane of side {self.side}: give a longer side")
        taken: dict[tuple[int, int], None] = {}
        while len(taken) < nodes:
            if self.placement == "random":
                taken.setdefault((rng.randrange(self.side), rng.randrange(self.side)))
            else:
                for place in self._clustered(rng, taken):
                    taken[place] = None
                    if len(taken) == nodes:
                        break
        return list(taken)

    @property
    def _most(self) -> int:
        return 3 * self.square * self.square // 4

    def _clustered(self, rng: random.Random, taken: dict[tuple[int, int], None]) -> Iterator[tuple[int, int]]:
        """Free places of one pass over the squares."""
        across = self.side // self.square
        for number in range(across * across):
            row, column = divmod(number, across)
            held = sum(1 for x, y in taken if (y // self.square, x // self.square) == (row, column))
            for _ in range(min(int(rng.paretovariate(1.0)), self._most - held)):
                while True:
                    x = column * self.square + rng.randrange(self.square)
                    y = row * self.square + rng.randrange(self.square)
                    if (x, y) not in taken:
                        break
                yield x, y


def waxman(
    nodes: int,
    m: int,
    rng: random.Random,
    *,
    beta: float = 0.2,
    growth: str = "incremental",
    plane: Plane | None = None,
) -> Graph:
    """Waxman's graph: a link of length d is as likely as exp(-d / (beta L)), L being the plane's diagonal.

    Incremental growth: each node joins with m links to earlier ones, then the first m draw m links to later ones: m
    times `nodes` links, and connected. Random growth: random nodes draw m links each until none is without, which need
    not be connected. Raises TopologyError for anything impossible.
    """
    plane = plane or Plane()
    _check(nodes, m)
    if not 0 < beta < math.inf:
        raise TopologyError(f"beta is {beta:g}: give more than 0")
    if growth not in GROWTHS:
        raise TopologyError(f"no growth {growth!r}: there are {', '.join(GROWTHS)}")
    graph = _placed(nodes, plane, rng)
    drawing = _Waxman(graph, beta * math.sqrt(2.0) * plane.side, rng)
    if growth == "incremental":
        for node in range(m, nodes):
            drawing.join(node, m, 0, node)
        for node in range(m):
            drawing.join(node, m, m, nodes)
    else:
        while any(not degree for _, degree in graph.degree):
            drawing.join(rng.randrange(nodes), m, 0, nodes)
    return graph


def barabasi_albert(nodes: int, m: int, rng: random.Random, *, plane: Plane | None = None) -> Graph:
    """Barabási and Albert's graph: nodes join with m links each, to nodes as likely as they have links.

    The first m + 1 nodes are all linked to one another: m (m + 1) / 2 + m (nodes - m - 1) links. Raises TopologyError
    for anything impossible.
    """
    _check(nodes, m)
    graph = _placed(nodes, plane or Plane(), rng)
    ends = []  # every node as often as it has links
    for u in range(m + 1):
        for v in range(u + 1, m + 1):
            _add(graph, u, v)
            ends += [u, v]
    for node in range(m + 1, nodes):
        for _ in range(m):
            while graph.has_edge(str(node), str(other := rng.choice(ends))):
                pass
            _add(graph, node, other)
            ends.append(other)
        ends += [node] * m
    return graph


def _check(nodes: int, m: int) -> None:
    if m < 1 or nodes <= m:
        raise TopologyError(f"{nodes} nodes with {m} links each: give at least 1 link, and more nodes than links")


def _placed(nodes: int, plane: Plane, rng: random.Random) -> Graph:
    graph: Graph = nx.Graph()
    for node, (x, y) in enumerate(plane.places(nodes, rng)):
        graph.add_node(str(node), x=x, y=y)
    return graph


def _add(graph: Graph, u: int, v: int) -> None:
    a, b = graph.nodes[str(u)], graph.nodes[str(v)]
    length = math.dist((a["x"], a["y"]), (b["x"], b["y"]))
    add_link(graph, str(u), str(v), length, length / LIGHT)


class _Waxman:
    """Links by distance. Drawing a node uniformly until it is accepted is the same as one draw with these weights."""

    def __init__(self, graph: Graph, reach: float, rng: random.Random) -> None:
        self.graph, self.reach, self.rng = graph, reach, rng
        self.places = np.array([(at["x"], at["y"]) for at in graph.nodes.values()], dtype=np.float64)

    def join(self, node: int, m: int, first: int, end: int) -> None:
        """Draw up to m links from this node to those from `first` on and before `end`."""
        others = [n for n in range(first, end) if n != node and not self.graph.has_edge(str(node), str(n))]
        weights = self._weights(node, others)
        for _ in range(min(m, len(others))):
            total = np.cumsum(weights)
            place = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
            weights[place] = 0.0
            _add(self.graph, node, others[place])

    def _weights(self, node: int, others: Sequence[int]) -> NDArray[np.float64]:
        away = np.hypot(*(self.places[list(others)] - self.places[node]).T)
        weights: NDArray[np.float64] = np.exp((away.min(initial=math.inf) - away) / self.reach)
        return weights
