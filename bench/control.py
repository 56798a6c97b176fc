"""Control datagrams per move on a virtual tree of 50 routers, and how long moves take to be in force, in round trips.

No loss, 10 ms per link, every host's area a sphere of 10 % of the world's side. A move is counted with all UPDATEs,
REPLYs and questions that it causes anywhere in the tree until it is in force; the beat of HELLOs, which is there at
rest too, is not. A round trip is the way from a host to the router that is farthest from it, and back. The last table
is of all moves of all hosts while every one of them moves several times a second: nobody may starve.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench._measure import WORLD, figure, parser, publish, spread
from cbsmrp.host import Subscription
from cbsmrp.wire import ASK, HELLO, REPLY, UPDATE
from interest import Interest, Sphere
from sim.network import Link, Sent
from sim.overlay import HostNode, Overlay

BRANCHING = 3
DELAY = 0.01
"""Seconds per link and direction."""
RADIUS = 0.05 * WORLD
STEP = 0.01 * WORLD
"""How far an area goes in one move, metres."""
PATIENCE = 60.0
NAMES = {UPDATE: "UPDATE", REPLY: "REPLY", HELLO: "question"}


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("control", __doc__)
    options.add_argument("--routers", type=int, default=50, help="in the tree (%(default)s)")
    options.add_argument("--hosts", type=int, default=200, help="all over the tree (%(default)s)")
    options.add_argument("--at-once", type=int, nargs="+", default=[1, 8, 64], help="hosts that move together")
    options.add_argument("--trials", type=int, default=4, help="for each number of hosts (%(default)s)")
    options.add_argument("--period", type=float, default=0.5, help="between two moves of all hosts, s (%(default)s)")
    options.add_argument("--seconds", type=float, default=1.0, help="(virtual) of all hosts moving (%(default)s)")
    given = options.parse_args(arguments)
    tree = Tree(given.routers, given.hosts)
    publish(
        "control",
        {
            f"control datagrams per move, {given.routers} routers, {given.hosts} hosts": [
                row for count in given.at_once for row in tree.together(min(count, given.hosts), given.trials)
            ],
            f"in force after, round trips; every host moves each {given.period:g} s": tree.crowd(
                given.period, given.seconds
            ),
        },
    )
    return 0


class Tree:
    """The routers in a tree of BRANCHING children each, and hosts on random routers, all in force."""

    def __init__(self, routers: int, hosts: int) -> None:
        self.rng = random.Random("control")
        self.overlay = Overlay("control", Link(delay=DELAY))
        self.parents = [None, *((child - 1) // BRANCHING for child in range(1, routers))]
        for number, parent in enumerate(self.parents):
            self.overlay.router(f"r{number}", [] if parent is None else [f"r{parent}"], keep_attached=True)
        self.hosts: list[tuple[HostNode, Subscription]] = []
        self.round_trips: list[float] = []
        self.counts: Counter[str] = Counter()
        """Control datagrams that moves have caused, by kind."""
        for number in range(hosts):
            at = self.rng.randrange(routers)
            host = self.overlay.host(f"h{number}", [f"r{at}"])
            self.hosts.append((host, host.subscribe(self._sphere([self.rng.uniform(0, WORLD) for _ in range(3)]))))
            self.round_trips.append(2 * DELAY * (1 + self._farthest(at)))
        self._settle(range(hosts))
        self.overlay.run(1.0)
        self.overlay.network.trace = self._count

    def together(self, count: int, trials: int) -> list[dict[str, Any]]:
        """`count` hosts move at the same time, again and again: datagrams per move, and how long it took."""
        datagrams: list[float] = []
        trips: list[float] = []
        kinds = Counter(self.counts)
        for _ in range(trials):
            movers = self.rng.sample(range(len(self.hosts)), count)
            before, start = Counter(self.counts), self.overlay.clock.now
            for number in movers:
                self._move(number)
            self._settle(movers)
            trips += [(self._in_force_at(number, start) - start) / self.round_trips[number] for number in movers]
            self.overlay.run(0.5)  # what is not waited for by anybody is counted too
            datagrams.append((self.counts.total() - before.total()) / count)
        shares = {name: figure((total - kinds[name]) / trials / count) for name, total in self.counts.items()}
        return [
            {"moving at once": count, "figure": "datagrams per move", **spread(datagrams), **shares},
            {"moving at once": count, "figure": "round trips to in force", **spread(trips)},
        ]

    def crowd(self, period: float, seconds: float) -> list[dict[str, Any]]:
        """Every host moves each `period` seconds, each at its own phase."""
        overlay, moves = self.overlay, list[tuple[int, float, int]]()
        start, before = overlay.clock.now, self.counts.total()
        for number in range(len(self.hosts)):
            at = start + self.rng.uniform(0, period)
            while at < start + seconds:
                overlay.clock.at(
                    at, lambda number=number: moves.append((number, overlay.clock.now, self._move(number)))
                )
                at += period
        overlay.run(seconds)
        self._settle(range(len(self.hosts)))
        latencies = []
        for number, moved_at, version in moves:
            log = self.hosts[number][0].in_force_log
            first = next(time for time, in_force in log if time >= moved_at and in_force >= version)
            latencies.append((first - moved_at, self.round_trips[number]))
        datagrams = (self.counts.total() - before) / len(moves)
        return [
            {"figure": "round trips", **spread([took / trip for took, trip in latencies])},
            {"figure": "milliseconds", **spread([took * 1000 for took, _ in latencies])},
            {"figure": "datagrams per move", "n": len(moves), "p50": figure(datagrams)},
        ]

    def _sphere(self, centre: Sequence[float]) -> Interest:
        return Interest.of(Sphere(centre, RADIUS), layer="vehicles")

    def _move(self, number: int) -> int:
        host, subscription = self.hosts[number]
        region = subscription.interest.conjuncts[0].region
        assert region is not None
        (sphere,) = region.pieces
        assert isinstance(sphere, Sphere)
        centre = [min(max(value + self.rng.uniform(-STEP, STEP), 0.0), WORLD) for value in sphere.centre]
        return host.move(subscription, self._sphere(centre))

    def _settle(self, numbers: Sequence[int]) -> None:
        """Until the newest versions of these hosts are in force. RuntimeError if one of them starves."""
        limit = self.overlay.clock.now + PATIENCE
        while not all(self.hosts[number][0].in_force(self.hosts[number][1]) for number in numbers):
            if self.overlay.clock.now > limit:
                raise RuntimeError(f"not in force after {PATIENCE:g} s")
            self.overlay.run(DELAY)

    def _in_force_at(self, number: int, since: float) -> float:
        host, subscription = self.hosts[number]
        return next(t for t, version in host.in_force_log if t >= since and version >= subscription.version)

    def _farthest(self, router: int) -> int:
        """Links from this router to the one that is farthest away."""
        return max(self._links(router, other) for other in range(len(self.parents)))

    def _links(self, a: int, b: int) -> int:
        links = 0
        while a != b:
            if a > b:  # children have greater numbers than their parents
                a, b = b, a
            b, links = (b - 1) // BRANCHING, links + 1
        return links

    def _count(self, sent: Sent) -> None:
        kind, flags = sent.data[4], sent.data[5]
        if kind in NAMES and (kind != HELLO or flags & ASK):
            self.counts[NAMES[kind]] += 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
