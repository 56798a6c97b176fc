"""Topologies by name: the paper's network, and GT-ITM's two samples. Used by scenarios and `cbsmrp sim topology`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from . import transit_stub
from .degree import limited
from .flat import Domain
from .graph import Graph, TopologyError, add_link, by_name
from .transit_stub import TransitStub

TS100 = TransitStub(Domain(1), Domain(4, alpha=0.6), Domain(8, alpha=0.42), stubs=3)
TS600 = TransitStub(Domain(3, alpha=1.0), Domain(8), Domain(8), stubs=3)
PAPER = TransitStub(Domain(6, alpha=1.0), Domain(7, alpha=0.6), Domain(8, alpha=0.42), stubs=3)


def paper(rng: random.Random) -> Graph:
    """The paper's network: a core and 1050 routers, none with more than 12 links.

    The paper says no more than that it comes from GT-ITM. 1051 is a prime, so a transit-stub graph of 1051 nodes would
    have a single transit node; the core is therefore a node of its own, "core", beside a graph of 6 transit domains
    of 7 nodes with 3 stubs of 8 nodes each (on average, as in GT-ITM's samples): 6 * 7 * (1 + 3 * 8) = 1050. It stands
    in the middle of the plane and is linked to the two nearest nodes of each transit domain: 12 links. Every other
    router has at most 11, so that the core is the node with the most links; see `degree` for how that is reached.
    """

    def draw() -> Graph:
        graph = transit_stub.generate(PAPER, rng)
        middle = graph.graph["scale"] / 2

        def away(name: str) -> float:
            return math.dist((graph.nodes[name]["x"], graph.nodes[name]["y"]), (middle, middle))

        graph.add_node("core", x=middle, y=middle)
        for domain in range(PAPER.top.nodes):
            transit = [name for name in graph if name.startswith(f"T:{domain}.")]
            for name in sorted(transit, key=lambda name: (away(name), by_name(name)))[:2]:
                add_link(graph, "core", name, away(name))
        return graph

    return limited(draw, 11, spared=["core"])


def ts100(rng: random.Random) -> Graph:
    """GT-ITM's sample of 1 * 4 * (1 + 3 * 8) = 100 nodes."""
    return transit_stub.generate(TS100, rng)


def ts600(rng: random.Random) -> Graph:
    """GT-ITM's sample of 3 * 8 * (1 + 3 * 8) = 600 nodes."""
    return transit_stub.generate(TS600, rng)


PRESETS: Mapping[str, Callable[[random.Random], Graph]] = {"paper": paper, "ts100": ts100, "ts600": ts600}


def preset(name: str, rng: random.Random) -> Graph:
    """The topology of this name. Raises TopologyError when there is none."""
    if name not in PRESETS:
        raise TopologyError(f"no preset {name!r}: there are {', '.join(PRESETS)}")
    return PRESETS[name](rng)
