"""Packet hops per CPU second of the event simulation, matching included, beside SimPy's bare timeouts.

A hop is a publication that crosses a link and is decoded, matched against a forwarding table and sent on, or decoded
and matched against a host's subscriptions, by the very engines that run live. SimPy's timeouts do nothing at all: they
are the yardstick for this machine, and both take turns. Publications that each have a datagram of their own are the
slowest case; that is the first row. Needs simpy (extra test).
"""

import random
import sys
from collections.abc import Callable
from time import process_time_ns

import simpy

from bench._measure import figure, parser, publish
from cbsmrp.config import Timers
from interest import Box, Interest, Point
from sim.network import Link
from sim.overlay import Overlay

SIDE = 720.0
"""The paper's world, on the ground."""
HIGH = 400.0
BOX = (110.0, 110.0, 100.0)
"""Half of the paper's largest box."""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("simulator", __doc__)
    options.add_argument("--hosts", type=int, nargs="+", default=[30, 100, 300], help="numbers of hosts (%(default)s)")
    options.add_argument("--publications", type=int, default=2000, help="per turn (%(default)s)")
    options.add_argument("--rounds", type=int, default=5, help="turns that each takes (%(default)s)")
    given = options.parse_args(arguments)
    rows = [row(hosts, given.publications, given.rounds) for hosts in given.hosts]
    publish("simulator", {"hops per CPU second": rows})
    return 0


def row(hosts: int, publications: int, rounds: int) -> dict[str, object]:
    """Both, turn by turn; the best turn of each counts, for other work on the machine only ever slows down."""
    world = World(hosts)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(rate(lambda: world.publish(publications)))
        theirs.append(rate(lambda: timeouts(20 * publications)))
    return {
        "hosts": hosts,
        "routers": len(world.overlay.routers),
        "hops per publication": figure(world.hops / (rounds * publications)),
        "hops/s": figure(max(ours)),
        "SimPy timeouts/s": figure(max(theirs)),
        "ratio": figure(max(ours) / max(theirs)),
    }


def rate(work: Callable[[], int]) -> float:
    """How many of what it says it did, per CPU second."""
    start = process_time_ns()
    done = work()
    return done / (process_time_ns() - start) * 1e9


class World:
    """A core, three routers below it and nine below those, and hosts that want the paper's box around themselves."""

    def __init__(self, hosts: int) -> None:
        quiet = Timers(hello=30.0, hold=105.0, host_hello=30.0, host_hold=105.0)
        self.overlay = Overlay("bench", Link(delay=0.005), quiet)
        self.overlay.router("R0")
        for number in range(1, 13):
            self.overlay.router(f"R{number}", ["R0" if number <= 3 else f"R{(number - 1) % 3 + 1}"])
        self.draw = random.Random(hosts)
        self.hosts, wanted = [], []
        for number in range(hosts):
            place = (self.draw.uniform(0, SIDE), self.draw.uniform(0, SIDE), self.draw.uniform(0, HIGH))
            host = self.overlay.host(f"H{number}", [f"R{number % 9 + 4}"])
            low, high = zip(*((at - half, at + half) for at, half in zip(place, BOX, strict=True)), strict=True)
            self.hosts.append((host, Point(place)))
            wanted.append((host, host.subscribe(Interest.of(Box(low, high)))))
        self.overlay.run(20.0)
        assert all(host.in_force(subscription) for host, subscription in wanted)
        self.hops = 0

    def publish(self, publications: int) -> int:
        """So many publications, a millisecond apart, of hosts drawn by lot; the hops that they made."""
        counts = self.overlay.network.counts
        before = counts["publications"]
        for host, place in self.draw.choices(self.hosts, k=publications):
            host.publish(place)
            self.overlay.run(0.001)
        self.overlay.run(0.1)
        hops = counts["publications"] - before
        self.hops += hops
        for host, _ in self.hosts:
            host.arrived.clear()
            host.delivered.clear()
        return hops


def timeouts(number: int) -> int:
    """One process that waits again and again."""
    environment = simpy.Environment()

    def process():
        for _ in range(number):
            yield environment.timeout(1.0)

    environment.process(process())
    environment.run()
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
