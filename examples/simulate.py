"""A researcher's first simulation: a seeded virtual overlay, with and without clipping regions.

    python examples/simulate.py [SEED]

The routers and hosts are the ones that run live, on virtual links and virtual time: a core, three routers below it and
nine below those, thirty hosts that want 100 m around themselves and publish ten times a second. It prints, for both
runs,
what the core handled, what every host was owed and got, and how long a subscription took to be in force everywhere.
"""

from __future__ import annotations

import random
import sys

from interest import Box, Interest, Point
from sim.network import Link
from sim.overlay import Overlay

SECONDS, SIDE, REACH = 5, 720.0, 100.0


def simulate(seed: int, clipping: bool) -> dict[str, object]:
    overlay = Overlay(seed, Link(delay=0.005, jitter=0.002))
    core = overlay.router("R0", clipping=clipping)
    names = [f"R{i}" for i in range(1, 13)]
    for i, name in enumerate(names, 1):
        overlay.router(name, ["R0"] if i <= 3 else [f"R{(i - 1) % 3 + 1}"], clipping=clipping)
    rng = random.Random(f"{seed} places")  # a stream of its own: the same places in both runs
    places = {f"H{i}": (rng.uniform(0, SIDE), rng.uniform(0, SIDE)) for i in range(30)}
    for i, (name, (x, y)) in enumerate(places.items()):
        host = overlay.host(name, [names[3 + i % 9]])
        host.subscribe(Interest.of(Box((x - REACH, y - REACH), (x + REACH, y + REACH))))
    while any(host.host.in_force < host.host.version for host in overlay.hosts.values()):
        overlay.run(0.001)
    in_force = overlay.clock.now

    owed = 0
    for _ in range(10 * SECONDS):
        for name, (x, y) in places.items():
            overlay.hosts[name].publish(Point((x, y)))
            owed += sum(
                abs(x - ox) <= REACH and abs(y - oy) <= REACH for other, (ox, oy) in places.items() if other != name
            )
        overlay.run(0.1)
    overlay.run(1)
    traffic = [vif.traffic for vif in core.router.rib]
    return {
        "core packets per second": sum(t.packets_in + t.packets_out for t in traffic) / SECONDS,
        "owed": owed,
        "delivered": sum(len(host.delivered) for host in overlay.hosts.values()),
        "unwanted": sum(host.host.unwanted for host in overlay.hosts.values()),
        "not sent": sum(host.endpoint.drops["not_joined"] for host in overlay.hosts.values()),
        "in force after s": round(in_force, 3),
        "control datagrams": overlay.network.counts["control"],
    }


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for clipping in (True, False):
        print("with clipping:" if clipping else "without:", simulate(seed, clipping))
