"""GT-ITM's transit-stub graphs: transit domains linked to one another, and stub domains hanging from their nodes.

`generate` draws them without the faults of GT-ITM's program of 1996; `generate_as_1996` draws the same edges as that
program does from the same seed. Called by `presets`, scenarios and `cbsmrp sim topology generate`. Zegura, Calvert,
Bhattacharjee: How to model an internetwork, INFOCOM 1996.

What `generate` does otherwise than the program: every transit domain is drawn with the transit parameters (there, all
but the first with those of the stubs); each link between domains is there once (there, twice, with other ends); extra
stub links are between stubs and none leads back to its own node (there, about half did); everything comes from the
seed (there, the places of the stubs did not); and the plane is never smaller than two stubs, so that small graphs can
be drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import attrs
import networkx as nx

from .flat import TRIES, Domain, Draws, Flat, Knuth, Seeded, flat
from .gb_flip import Flip
from .graph import Graph, TopologyError, add_link

_T = TypeVar("_T")
_Place: TypeAlias = tuple[int, int]

_SPREAD = 3  # swaps a node when numbers are spread about their mean; so also the furthest from it


@attrs.frozen
class TransitStub:
    """The shape of a transit-stub graph. Numbers of nodes and stubs are means; their total is exact all the same.

    `top` links whole transit domains, as many as it has nodes; `stubs` is the mean number at each transit node;
    `extra_transit_stub` and `extra_stub_stub` are links added at random.
    """

    top: Domain
    transit: Domain
    stub: Domain
    stubs: int
    extra_transit_stub: int = 0
    extra_stub_stub: int = 0

    def __attrs_post_init__(self) -> None:
        for name in ("stubs", "extra_transit_stub", "extra_stub_stub"):
            if getattr(self, name) < 0:
                raise TopologyError(f"{name} is {getattr(self, name)}: give 0 or more")

    @property
    def nodes(self) -> int:
        """How many nodes every such graph has."""
        return self.top.nodes * self.transit.nodes * (1 + self.stubs * self.stub.nodes)


def generate(shape: TransitStub, rng: random.Random) -> Graph:
    """A connected graph of `shape.nodes` nodes, T:domain.node and S:domain.node/stub.node.

    A unit of its plane is a kilometre. Edges also have GT-ITM's `policy` weight. Raises TopologyError when no such
    graph is found.
    """
    draws = Seeded(rng)
    return _Drawing(shape, draws, draws.below, faithful=False).graph()


def generate_as_1996(shape: TransitStub, flip: Flip, rng: random.Random) -> Graph:
    """The same edges, lengths inside domains and policy weights as GT-ITM's program, faults included.

    Its program makes the n-th graph of a specification from where the one before left `flip`. A 32-bit build is meant
    (others draw complete graphs). `rng` places the stubs, which there is never seeded; lengths of links between
    transit nodes and stubs follow from that. Links that lead back to their own node, and second ones between the same
    two, are left out. Raises TopologyError when no such graph is found.
    """
    return _Drawing(shape, Knuth(flip), rng.randrange, faithful=True).graph()


@attrs.frozen(eq=False)
class _Domain:
    """A transit domain, the corner of its grid in the plane, and the stubs (with corners) at each of its nodes."""

    transit: Flat
    corner: _Place
    stubs: tuple[tuple[tuple[Flat, _Place], ...], ...]


class _Drawing:
    """One graph being drawn. The order of the draws is GT-ITM's."""

    def __init__(self, shape: TransitStub, draws: Draws, offset: Callable[[int], int], *, faithful: bool) -> None:
        self.shape, self.draws, self.offset, self.faithful = shape, draws, offset, faithful
        most_transit = shape.transit.nodes + _SPREAD * shape.top.nodes
        most_stubs = shape.stubs + _SPREAD * most_transit
        self.stub_scale = round(math.sqrt(16.0 * (shape.stub.nodes + _SPREAD * most_stubs)))
        self.scale = round(math.sqrt(80.0 * shape.nodes))
        if not faithful:
            self.scale = max(self.scale, 2 * self.stub_scale)
        elif self.stub_scale >= self.scale:
            raise TopologyError(f"GT-ITM cannot place {shape.nodes} nodes: give more nodes, or draw without its faults")
        self.transit_scale = round(self.scale * 0.5)
        self.transit_scale += self.transit_scale % 2

    def graph(self) -> Graph:
        shape, draws = self.shape, self.draws
        top = flat(shape.top, shape.top.nodes, self.scale, draws)
        sizes = self._spread(shape.top.nodes, shape.transit.nodes)
        domains = [self._domain(number, sizes[number], place) for number, place in enumerate(top.places)]

        transit_diameter = max(domain.transit.diameter for domain in domains)
        stub_diameter = max((stub.diameter for domain in domains for at in domain.stubs for stub, _ in at), default=0)
        between = _over_half(transit_diameter)
        down = _over_half(top.diameter * between) + _over_half((top.diameter + 1) * transit_diameter)

        self.result: Graph = nx.Graph()
        self.result.graph["scale"] = self.scale
        transit = [self._flatten(number, domain, down) for number, domain in enumerate(domains)]
        for a, b in self._domain_links(top):
            self._link(self._one(transit[a]), self._one(transit[b]), between)
        self._extra(transit, down, stub_diameter + 2 * down)
        return self.result

    def _spread(self, size: int, mean: int) -> list[int]:
        """So many numbers of this mean, none below 1 (unless that is the mean)."""
        numbers = [mean] * size
        if size > 1:
            for _ in range(_SPREAD * size):
                n = self.draws.below(size)
                if numbers[n] > 1:
                    numbers[n] -= 1
                    numbers[self.draws.below(size)] += 1
        return numbers

    def _domain(self, number: int, nodes: int, place: _Place) -> _Domain:
        """The transit domain about this place of the plane."""
        shape = self.shape
        x, y = (min(max(at - self.transit_scale // 2, 0), self.scale - self.transit_scale) for at in place)
        if self.faithful and number > 0:
            transit = flat(shape.stub, nodes, self.stub_scale, self.draws)
        else:
            transit = flat(shape.transit, nodes, self.transit_scale, self.draws)
        counts = self._spread(nodes, shape.stubs)
        stubs = (self._stubs(count, (x + dx, y + dy)) for count, (dx, dy) in zip(counts, transit.places, strict=True))
        return _Domain(transit, (x, y), tuple(stubs))

    def _stubs(self, count: int, place: _Place) -> tuple[tuple[Flat, _Place], ...]:
        """The stubs of a transit node at this place, the last drawn first; each with its corner in the plane."""
        stubs = []
        for nodes in self._spread(count, self.shape.stub.nodes):
            stub = flat(self.shape.stub, nodes, self.stub_scale, self.draws)
            x, y = (self._corner(at) for at in place)
            stubs.append((stub, (x, y)))
        return tuple(reversed(stubs))

    def _corner(self, at: int) -> int:
        """Where a stub's corner may be, so that its transit node is at most one stub away."""
        low, high = max(at - self.stub_scale, 0), min(at, self.scale - self.stub_scale)
        return low + self.offset(high - low) if high > low else low

    def _flatten(self, number: int, domain: _Domain, down: int) -> list[str]:
        """Put a transit domain and its stubs into the graph; the names of its transit nodes."""
        names = [f"T:{number}.{node}" for node in range(len(domain.transit.places))]
        self._place(names, domain.transit, domain.corner)
        for name, stubs in zip(names, domain.stubs, strict=True):
            for place, (stub, stub_corner) in enumerate(stubs):
                stub_names = [f"S{name[1:]}/{place}.{node}" for node in range(len(stub.places))]
                self._place(stub_names, stub, stub_corner)
                self._link(name, self._one(stub_names), down)
        return names

    def _place(self, names: list[str], part: Flat, corner: _Place) -> None:
        for name, (x, y) in zip(names, part.places, strict=True):
            self.result.add_node(name, x=corner[0] + x, y=corner[1] + y)
        for u, v, length in part.links:
            add_link(self.result, names[u], names[v], length, policy=1)

    def _domain_links(self, top: Flat) -> Iterator[tuple[int, int]]:
        if self.faithful:  # from both ends of every link, the last first
            yield from ((a, b) for a in range(len(top.places)) for b in reversed(top.neighbours(a)))
        else:
            yield from ((a, b) for a, b, _ in top.links)

    def _extra(self, transit: list[list[str]], down: int, across: int) -> None:
        names = list(self.result)
        order = {name: number for number, name in enumerate(names)}
        ends = names if self.faithful else [name for name in names if name[0] == "S"]
        for _ in range(self.shape.extra_transit_stub):
            node = self._one(self._one(transit))
            self._link(*self._pair([node], ends, _may_hang), down)
        for _ in range(self.shape.extra_stub_stub):
            u, v = self._pair(ends, ends, _in_other_domains)
            # Where the second comes first, the program swaps the two so that both become the first.
            if not self.faithful or order[u] < order[v]:
                self._link(u, v, across)

    def _pair(self, first: list[str], second: list[str], may: Callable[[str, str], bool]) -> tuple[str, str]:
        """Two nodes that may be linked, and are not."""
        for _ in range(TRIES if second else 0):
            u = first[0] if len(first) == 1 else self._one(first)
            v = self._one(second)
            if may(u, v) and (self.faithful or not self.result.has_edge(u, v)):
                return u, v
        raise TopologyError("no room for another extra link: give fewer extra links, or more stubs")

    def _one(self, choices: Sequence[_T]) -> _T:
        return choices[self.draws.below(len(choices))]

    def _link(self, u: str, v: str, policy: int) -> None:
        if not self.result.has_edge(u, v):
            a, b = self.result.nodes[u], self.result.nodes[v]
            add_link(self.result, u, v, round(math.dist((a["x"], a["y"]), (b["x"], b["y"]))), policy=policy)


def _over_half(number: int) -> int:
    return (number >> 1) + 1


def _may_hang(transit: str, stub: str) -> bool:
    """Whether the second is a node of a stub that does not hang from the first."""
    return stub[0] == "S" and stub[2:].partition("/")[0] != transit[2:]


def _in_other_domains(u: str, v: str) -> bool:
    return u.rpartition(".")[0] != v.rpartition(".")[0]
