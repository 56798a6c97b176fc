"""The load computation: publications x hosts per CPU second, and how it grows from a hundred hosts to ten thousand.

Two worlds. In "one space" all hosts are in the paper's 720 x 720 x 400 m, so that each publication is wanted by the
same share of all hosts and the work is quadratic whatever one does. In "equal density" the ground grows with the
hosts, so that each publication is wanted by as many as before: there the search must not look at everybody. Making
the arrays is not counted, finding who wants what and counting links under three protocols is.
"""

import random
import resource
import sys
from time import process_time_ns

import networkx as nx
import numpy as np

from bench._measure import figure, parser, publish
from sim.geometry import Extents
from sim.load.crossings import Layout
from sim.load.load import CLIPPING, SOURCE_CLIPPING, WITHOUT_CLIPPING, load
from sim.load.matching import Publications, Traffic, Wants
from sim.topology.tree import attach_hosts, core_tree
from sim.workload.workload import BOX, SPACE

SECONDS = 10.0
MOVES = 5
"""A moving area moves so often in the measured time."""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("load", __doc__)
    options.add_argument("--hosts", type=int, nargs="+", default=[100, 1_000, 10_000], help="(%(default)s)")
    options.add_argument("--publications", type=int, default=20_000, help="(%(default)s)")
    options.add_argument("--routers", type=int, default=1051, help="(%(default)s)")
    given = options.parse_args(arguments)
    rows = [
        row(hosts, given.publications, given.routers, space, moving)
        for space in ("one space", "equal density")
        for moving in (False, True)
        for hosts in given.hosts
    ]
    publish("load", {"publications x hosts per CPU second": rows})
    return 0


def row(hosts: int, publications: int, routers: int, space: str, moving: bool) -> dict[str, object]:
    """One world of this many hosts."""
    layout = tree(routers, hosts)
    side = 1.0 if space == "one space" else (hosts / 100) ** 0.5
    traffic = world(hosts, publications, (SPACE[0] * side, SPACE[1] * side, SPACE[2]), moving)
    start = process_time_ns()
    found = load(layout, traffic, [CLIPPING, WITHOUT_CLIPPING, SOURCE_CLIPPING], start=0.0, stop=SECONDS)
    spent = (process_time_ns() - start) / 1e9
    assert found[0].publications == publications
    return {
        "world": space,
        "areas": "moving" if moving else "still",
        "hosts": hosts,
        "wanted by": figure(found[0].received[0].sum() / publications),
        "CPU s": figure(spent),
        "µs a publication": figure(spent / publications * 1e6),
        "publications x hosts/s": figure(publications * hosts / spent),
        "peak MB so far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def tree(routers: int, hosts: int) -> Layout:
    """Three routers below each router, and hosts at the leaves."""
    graph = nx.Graph()
    graph.add_node("R0")
    graph.add_edges_from(((f"R{n}", f"R{(n - 1) // 3}") for n in range(1, routers)), delay=0.005)
    rooted = core_tree(graph, "R0")
    return Layout(rooted, attach_hosts(rooted, hosts, random.Random(hosts), degree=12 + 2 * hosts // routers))


def world(hosts: int, publications: int, space: tuple[float, float, float], moving: bool) -> Traffic:
    """Every host wants the paper's largest box about itself, which moves a metre at a time or not at all."""
    draw = np.random.default_rng(hosts)
    places = draw.random((3, hosts)) * np.array(space)[:, None]
    sources = draw.integers(0, hosts, publications)
    extents = Extents([tuple(place) for place in places[:, sources].T])
    steps = MOVES if moving else 1
    begins = np.repeat(np.arange(steps) * SECONDS / steps, hosts)
    owners = np.tile(np.arange(hosts), steps)
    half = np.array(BOX)[:, None] / 2
    centres = places[:, owners] + begins[None, :] / SECONDS * MOVES
    return Traffic(
        Publications(
            np.sort(draw.random(publications)) * SECONDS,
            sources,
            extents,
            np.full(publications, 60),
            np.zeros(publications, np.int64),
        ),
        Wants(
            begins,
            begins + SECONDS / steps,
            owners,
            np.vstack((centres - half, centres + half)),
            {},
            np.zeros(len(owners), bool),
            np.zeros(len(owners), np.int64),
        ),
        np.ones((1, 1), bool),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
