"""The computed load equals what the events count, packet by packet and byte by byte, on every direction of every link.

Random trees with routers that have nobody below them, hosts that come and go, subscriptions of every shape that move
between rounds of publications, attributes, publications with and without extents: real engines on the virtual network
on one side, arrays on the other.
"""

from __future__ import annotations

import random
from collections import defaultdict
from math import inf

import networkx as nx
import numpy as np
import pytest

from cbsmrp.config import Timers
from cbsmrp.modes import MODES
from cbsmrp.wire import PREAMBLE, Codec, PublicationFrame, encode_publication
from interest import Box as InterestBox
from interest import Interest, Point, Region
from interest import Prism as InterestPrism
from sim.geometry import Box, Cylinder, Prism, Sphere
from sim.load.crossings import Layout
from sim.load.load import CLIPPING, FLOODING, SOURCE_CLIPPING, WITHOUT_CLIPPING, load
from sim.load.matching import Published, Want, gather
from sim.network import Link
from sim.overlay import Overlay
from sim.topology.tree import CoreTree, core_tree
from sim.workload.workload import to_interest

SIDE = 30
PROTOCOLS = {"clipping": CLIPPING, "without": WITHOUT_CLIPPING, "source": SOURCE_CLIPPING, "flooding": FLOODING}


def random_tree(draw: random.Random) -> CoreTree:
    graph = nx.Graph()
    graph.add_node("r0")
    for number in range(1, draw.randint(1, 14)):
        # sometimes a chain, sometimes a star
        near = draw.choice((0, max(0, number - 2)))
        graph.add_edge(f"r{number}", f"r{draw.randint(near, number - 1)}", delay=0.01)
    return core_tree(graph, "r0")


def random_piece(draw: random.Random) -> Box | Sphere | Cylinder | Prism:
    """Whole numbers, so that touching is common."""
    x, y, z = (draw.randint(0, SIDE) for _ in range(3))
    size = draw.randint(0, 12)
    match draw.randrange(5):
        case 0:
            return Sphere((x, y, z), size)
        case 1:
            return Cylinder((x, y), size, *draw.choice(((-inf, inf), (z, z + 9))))
        case 2:
            return Prism((((x, y), (x + 9, y + 1), (x + 4, y + 8)),), z, z + 9)
        case _:
            return Box((x, y, z), (x + size, y + draw.randint(0, 12), z + draw.choice((3, inf))))


def random_want(draw: random.Random) -> tuple[tuple[object, ...] | None, tuple, Interest]:
    """Pieces and conditions as the load computation takes them, and the same as an interest."""
    layer = draw.choice((None, None, "ships"))
    conditions = [("=", "layer", layer)] if layer else []
    where = ""
    if draw.random() < 0.3:
        conditions.append(("<", "team", 2))
        where = "team < 2"
    options = {key: value for key, value in (("layer", layer), ("where", where)) if value}
    if draw.random() < 0.1:
        return None, tuple(conditions), Interest.of(None, **options)
    pieces = tuple(random_piece(draw) for _ in range(draw.randint(1, 3)))
    return pieces, tuple(conditions), Interest.of(Region([to_interest(piece) for piece in pieces]), **options)


def random_extent(draw: random.Random):
    x, y, z = (draw.randint(0, SIDE) for _ in range(3))
    match draw.randrange(8):
        case 0:
            return None, None
        case 1:
            return (x, y), Point((x, y))
        case 2:
            return Box((x, y, z), (x + 3, y + 2, z)), InterestBox((x, y, z), (x + 3, y + 2, z))
        case 3:
            prism = Prism((((x, y), (x + 4, y), (x, y + 4)),), z, z + 1)
            return prism, InterestPrism(prism.polygon(), z, z + 1)
        case _:
            return (x, y, z), Point((x, y, z))


class World:
    """One overlay under one protocol; what is done to it is noted for the computation."""

    def __init__(self, draw: random.Random, name: str) -> None:
        self.draw, self.tree = draw, random_tree(draw)
        protocol = PROTOCOLS[name]
        timers = Timers(hello=0.2, hold=0.7, host_hello=0.2, host_hold=0.7, linger=0.2)
        self.overlay = Overlay(str(draw.random()), Link(delay=0.001), timers)
        for router in self.tree.routers:
            up = self.tree.parents.get(router)
            mode = MODES["flooding" if protocol.flooding else "shared-tree"]
            self.overlay.router(router, [up] if up else [], mode=mode, clipping=protocol.clipping, budget=0)
        self.attachment = {f"h{n}": draw.choice(self.tree.routers) for n in range(draw.randint(1, 10))}
        self.layout = Layout(self.tree, self.attachment)
        self.present = np.full((2, len(self.attachment)), inf)
        self.opted = protocol.source_clipping
        self.sent: list[Published] = []
        self.asked: dict[tuple[str, int], tuple[float, object, object]] = {}
        self.wants: list[Want] = []
        self.subscriptions: dict[tuple[str, int], object] = {}
        self.counted: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self.codec = Codec()
        self.overlay.network.trace = self._count

    def _count(self, sent) -> None:
        frames = [each for each in self.codec.decode(sent.data) if isinstance(each, PublicationFrame)]
        if frames:
            self.counted[sent.source, sent.destination][0] += len(frames)
            self.counted[sent.source, sent.destination][1] += len(sent.data)

    @property
    def now(self) -> float:
        return self.overlay.clock.now

    def join(self, host: str) -> None:
        self.overlay.host(host, [self.attachment[host]], opted=self.opted)
        self.present[0, self.layout.host_numbers[host]] = self.now
        for number in range(self.draw.choice((0, 1, 1, 2))):
            self.ask(host, number)

    def leave(self, host: str) -> None:
        self.present[1, self.layout.host_numbers[host]] = self.now
        self.overlay.leave(host)
        for key in [key for key in self.asked if key[0] == host]:
            self.end(key)

    def ask(self, host: str, number: int) -> None:
        pieces, conditions, interest = random_want(self.draw)
        key = (host, number)
        if key in self.asked:
            self.end(key)
            self.overlay.hosts[host].move(self.subscriptions[key], interest)
        else:
            self.subscriptions[key] = self.overlay.hosts[host].subscribe(interest)
        self.asked[key] = (self.now, pieces, conditions)

    def end(self, key: tuple[str, int]) -> None:
        begin, pieces, conditions = self.asked.pop(key)
        self.wants.append(Want(self.layout.host_numbers[key[0]], begin, self.now, pieces, conditions))

    def publish(self, host: str) -> None:
        plain, extent = random_extent(self.draw)
        attributes = self.draw.choice(({}, {"layer": "ships"}, {"team": 1}, {"team": 2.5, "layer": "ships"}))
        payload = b"x" * self.draw.randint(0, 20)
        publication = self.overlay.hosts[host].publish(extent, dict(attributes), payload)
        if publication is None:
            assert self.opted
            size = 0  # not sent: nothing may count its bytes
        else:
            size = len(PREAMBLE) + len(encode_publication(publication))
        self.sent.append(Published(self.now, self.layout.host_numbers[host], plain, size, attributes))

    def play(self) -> None:
        draw = self.draw
        away = list(self.attachment)
        for _ in range(3):
            for host in list(self.overlay.hosts):
                if draw.random() < 0.15:
                    self.leave(host)
                elif draw.random() < 0.4 and (host, 0) in self.asked:
                    self.ask(host, 0)
            for host in list(away):
                if draw.random() < 0.8:
                    away.remove(host)
                    self.join(host)
            self.overlay.run(4.0)
            for host in list(self.overlay.hosts) * 4:
                self.publish(host)
                self.overlay.run(0.001)
            self.overlay.run(0.5)
        for key in list(self.asked):
            self.end(key)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_computed_load_equals_the_events_on_every_link(name: str) -> None:
    crossed = published = silent = 0
    for seed in range(20):
        world = World(random.Random(f"{seed} load"), name)
        world.play()
        traffic = gather(world.sent, world.wants)
        (found,) = load(world.layout, traffic, [PROTOCOLS[name]], start=0, stop=world.now, present=world.present)
        assert found.links() == {link: tuple(counts) for link, counts in world.counted.items()}, seed
        core = world.overlay.routers["r0"].router
        past = list(core.past_traffic.values())
        arrived = sum(t.packets_in for t in [*past, *(vif.traffic for vif in core.rib)])
        assert found.core_in * world.now == pytest.approx(arrived)
        assert found.cost[0] * world.now == pytest.approx(sum(n for n, _ in world.counted.values()))
        crossed += len(world.counted)
        published += found.publications
        silent += found.publications - int(found.sent[0].sum())
    assert crossed > 100 and published > 300
    assert (silent > 0) == (name == "source")
