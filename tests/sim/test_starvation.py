"""In force must not starve: latencies in tree round trips while hundreds of other hosts keep moving (decision 3)."""

from __future__ import annotations

import random
from collections.abc import Callable

from cbsmrp.config import Timers
from cbsmrp.host import Subscription
from interest import Box, Interest, Point
from sim.network import Link
from sim.overlay import HostNode, Overlay

DELAY = 0.005
DEPTH = 3
#: From a host to the core and back down to the farthest host and back: what one round of confirmation must take.
ROUND_TRIP = 2 * 2 * (DEPTH + 1) * DELAY


def area(rng: random.Random) -> Interest:
    x, y = rng.uniform(0, 700), rng.uniform(0, 700)
    return Interest.of(Box((x, y, 0), (x + 60, y + 60, 60)))


def test_hundreds_of_moving_hosts_do_not_starve_a_subscription(record_property: Callable[[str, object], None]) -> None:
    rng = random.Random("starvation")
    overlay = Overlay("starvation", Link(delay=DELAY), Timers(host_hello=30.0, host_hold=70.0))
    overlay.router("R0")
    names = ["R0"]
    for i in range(1, 1 + 3 + 9):
        names.append(overlay.router(f"R{i}", [names[(i - 1) // 3]]).name)
    movers = []
    for i in range(200):
        host = overlay.host(f"H{i}", [names[4 + i % 9]], opted=i % 4 == 0)
        movers.append((host, host.subscribe(area(rng))))
    probe = overlay.host("probe", ["R12"])
    subscription = probe.subscribe(area(rng))
    publisher = overlay.host("publisher", ["R4"])
    overlay.run(3)

    latencies, missed = [], 0
    for _ in range(5):
        x, y = rng.uniform(0, 700), rng.uniform(0, 700)
        asked = overlay.clock.now
        version = probe.move(subscription, Interest.of(Box((x, y, 0), (x + 5, y + 5, 5))))
        while probe.host.in_force < version:
            assert overlay.clock.now < asked + 20 * ROUND_TRIP, "starved"
            move_some(overlay, movers, rng)
        latencies.append((overlay.clock.now - asked) / ROUND_TRIP)
        publisher.publish(Point((x + 1, y + 1, 1)))
        before = len(probe.delivered)
        move_some(overlay, movers, rng)
        overlay.run(2 * (DEPTH + 1) * DELAY)
        missed += len(probe.delivered) == before
    assert missed == 0
    record_property("in force, tree round trips, sorted", sorted(round(x, 2) for x in latencies))


def move_some(overlay: Overlay, movers: list[tuple[HostNode, Subscription]], rng: random.Random) -> None:
    """Ten of the two hundred move in five milliseconds: each ten times a second."""
    for host, subscription in rng.sample(movers, 10):
        host.move(subscription, area(rng))
    overlay.run(0.005)
