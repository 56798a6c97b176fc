"""Bytes of state that a router keeps per VIF, and bytes on the wire per region, by the number of pieces.

State is what tracemalloc counts while a router takes in its hosts: VIF, region, rows of the forwarding table. The
R-tree's own memory, outside of Python, is not in it; `updates` shows the resident size of a live process. Wire is what
one move of a region takes from a host to its router: all datagrams, without UDP and IP headers.
"""

import gc
import math
import random
import sys
import tracemalloc
from collections.abc import Callable

from bench._measure import parser, publish, random_box
from bench._replay import LINK, Recording
from cbsmrp.wire import UPDATE
from interest import Interest, Piece, Prism, Region, Sphere
from interest.binary import encode_interest
from sim.network import Sent
from sim.overlay import Overlay

SETTLED = 2.0
"""Seconds (virtual) after which all who joined have been answered."""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("state", __doc__)
    options.add_argument("--pieces", type=int, nargs="+", default=[1, 10, 64], help="of a region (%(default)s)")
    options.add_argument("--vifs", type=int, default=100, help="hosts below the router (%(default)s)")
    given = options.parse_args(arguments)
    shapes: dict[str, Callable[[random.Random], Piece]] = {
        "box": random_box,
        "sphere": lambda rng: Sphere(random_box(rng).low, 5.0),
        "hexagon": hexagon,
    }
    publish(
        "state",
        {
            f"bytes of state per VIF, {given.vifs} VIFs": [
                {"pieces": pieces} | {name: state(shape, pieces, given.vifs) for name, shape in shapes.items()}
                for pieces in given.pieces
            ],
            "bytes on the wire per move": [
                {"pieces": pieces, "shape": name} | wire(shape, pieces)
                for pieces in given.pieces
                for name, shape in shapes.items()
            ],
        },
    )
    return 0


def hexagon(rng: random.Random) -> Prism:
    """A prism of six corners."""
    box = random_box(rng)
    (x, y, z0), z1 = box.low, box.high[2]
    corners = [(x + 5 * math.cos(corner * math.pi / 3), y + 5 * math.sin(corner * math.pi / 3)) for corner in range(6)]
    return Prism(corners, z0, z1)


def interest(rng: random.Random, shape: Callable[[random.Random], Piece], pieces: int) -> Interest:
    """So many pieces, on a layer."""
    return Interest.of(Region([shape(rng) for _ in range(pieces)]), layer="vehicles")


def state(shape: Callable[[random.Random], Piece], pieces: int, vifs: int) -> int:
    """Bytes per VIF of a core with so many hosts, each of which wants so many pieces."""
    overlay, recording = Recording.begin(lambda overlay: overlay.router("core"))
    rng = random.Random(pieces)
    for number in range(vifs):
        overlay.host(f"host {number}", ["core"]).subscribe(interest(rng, shape, pieces))
    overlay.run(SETTLED)
    router, clock = recording.again()
    gc.collect()
    tracemalloc.start()
    try:
        clock.run(SETTLED)
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    wanted = [vif.in_value.piece_count for vif in router.router.rib.children()]
    assert wanted == [pieces] * vifs, "the replayed router has other VIFs than the recorded one"
    return used // vifs


def wire(shape: Callable[[random.Random], Piece], pieces: int) -> dict[str, int]:
    """The binary form of a region, and the datagrams that carry it when a host moves to it."""
    rng = random.Random(pieces)
    overlay = Overlay("wire", LINK)
    overlay.router("core")
    host = overlay.host("host", ["core"])
    subscription = host.subscribe(interest(rng, shape, pieces))
    overlay.run(SETTLED)
    updates: list[bytes] = []

    def note(sent: Sent) -> None:
        if sent.source == "host" and sent.data[4] == UPDATE:
            updates.append(sent.data)

    overlay.network.trace = note
    moved = interest(rng, shape, pieces)
    host.move(subscription, moved)
    overlay.run(SETTLED)
    assert host.in_force(subscription)
    return {"region": len(encode_interest(moved)), "datagrams": len(updates), "bytes": sum(map(len, updates))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
