"""GT-ITM's flat random graphs: points on a grid, and a link between two with a probability of their distance.

Of these `transit_stub` builds its levels. The six methods and their numbers are those of GT-ITM's program (its manual
has 4 and 5 the other way round). Zegura, Calvert, Bhattacharjee: How to model an internetwork, INFOCOM 1996.
"""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Protocol

import attrs
import networkx as nx

from .gb_flip import LARGEST, Flip
from .graph import TopologyError

METHODS = ("rg2", "waxman", "random", "exponential", "doar-leslie", "locality")
"""GT-ITM numbers them from 1. Waxman is its RG1; rg2 draws the distance, and the length, uniformly."""
_WITH_BETA = {"rg2", "waxman", "doar-leslie"}
TRIES = 1000
"""How often a random graph, or a random link, is drawn before we say that there is none."""


@attrs.frozen
class Domain:
    """The mean number of nodes of a domain, and how its nodes are linked: alpha, beta, gamma as GT-ITM has them.

    `alpha` is a probability, not 0. Raises TopologyError for anything impossible.
    """

    nodes: int
    method: str = "random"
    alpha: float = 0.5
    beta: float = 0.0
    gamma: float = 0.0

    def __attrs_post_init__(self) -> None:
        if self.nodes < 1:
            raise TopologyError(f"a domain of {self.nodes} nodes: give at least 1")
        if self.method not in METHODS:
            raise TopologyError(f"no method {self.method!r} of placing links: there are {', '.join(METHODS)}")
        if not 0 < self.alpha <= 1:
            raise TopologyError(f"alpha is {self.alpha:g}: give more than 0 and at most 1")
        if not (0 <= self.beta < math.inf and 0 <= self.gamma < math.inf):
            raise TopologyError(f"beta {self.beta:g}, gamma {self.gamma:g}: neither may be negative")
        if self.method in _WITH_BETA and self.beta == 0:
            raise TopologyError(f"the method {self.method} needs a beta above 0")


class Draws(Protocol):
    """Where random numbers come from."""

    def below(self, n: int) -> int:
        """One of 0 to n - 1."""

    def fraction(self) -> float:
        """From 0 to 1."""


class Seeded:
    """Draws from Python's generator."""

    def __init__(self, rng: random.Random) -> None:
        self.below = rng.randrange
        self.fraction = rng.random


class Knuth:
    """Draws as GT-ITM makes them: by remainder, and with 31 bits to a fraction."""

    def __init__(self, flip: Flip) -> None:
        self._flip = flip

    def below(self, n: int) -> int:
        return self._flip.next() % n

    def fraction(self) -> float:
        return self._flip.next() / LARGEST


@attrs.frozen(eq=False)
class Flat:
    """A connected flat graph: (x, y) of each node, and links (from, to, length), from < to, in the order they came."""

    places: tuple[tuple[int, int], ...]
    links: tuple[tuple[int, int, int], ...]
    diameter: int

    def neighbours(self, node: int) -> list[int]:
        """The other ends of a node's links, in the order of the links."""
        return [v if u == node else u for u, v, _ in self.links if node in (u, v)]


def flat(domain: Domain, nodes: int, scale: int, draws: Draws) -> Flat:
    """A connected graph of so many nodes on a grid of `scale` by `scale`, drawn anew until it is connected.

    Raises TopologyError when it never is.
    """
    if nodes > scale * scale:
        raise TopologyError(f"{nodes} nodes do not fit on a grid of {scale} by {scale}: give fewer nodes")
    for _ in range(TRIES):
        places = _places(nodes, scale, draws)
        links = tuple(_links(domain, places, scale, draws))
        graph = nx.empty_graph(nodes)
        graph.add_edges_from((u, v) for u, v, _ in links)
        if nx.is_connected(graph):
            return Flat(places, links, nx.diameter(graph))
    raise TopologyError(
        f"{TRIES} random graphs of {nodes} nodes by method {domain.method} with alpha {domain.alpha:g} were not"
        " connected: give a larger alpha (or beta), or more nodes"
    )


def _places(nodes: int, scale: int, draws: Draws) -> tuple[tuple[int, int], ...]:
    taken: dict[tuple[int, int], None] = {}
    while len(taken) < nodes:
        x = draws.below(scale)
        taken.setdefault((x, draws.below(scale)))
    return tuple(taken)


def _links(domain: Domain, places: tuple[tuple[int, int], ...], scale: int, draws: Draws) -> list[tuple[int, int, int]]:
    diagonal = math.sqrt(2.0) * scale
    links = []
    for u, v in combinations(range(len(places)), 2):
        d = math.dist(places[u], places[v])
        if domain.method == "rg2":
            d = draws.fraction() * diagonal
        if draws.fraction() < _probability(domain, d, diagonal, len(places)):
            links.append((u, v, round(d)))
    return links


def _probability(domain: Domain, d: float, diagonal: float, nodes: int) -> float:
    match domain.method:
        case "rg2" | "waxman":
            return domain.alpha * math.exp(-d / (diagonal * domain.beta))
        case "random":
            return domain.alpha
        case "exponential":
            return domain.alpha * math.exp(-d / (diagonal - d))
        case "doar-leslie":
            return domain.alpha * (domain.gamma / nodes) * math.exp(-d / (diagonal * domain.beta))
        case _:
            return domain.alpha if d <= domain.gamma * diagonal else domain.beta
