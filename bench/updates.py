"""Region updates per second through one router, CPU µs of each, and what a VIF adds to the size of its process.

*live*: a `cbsmrp router` over loopback UDP; each host moves one sphere, again as soon as the router has accepted (but
no sooner than 20 ms later, which is the engine's own rule). The hosts, in one process, are what bounds the rate; what
the router alone could take is 1e6 / (CPU µs). *in a tree*: the same in virtual time, where the router also tells a
parent and two child routers, measured alone on the recorded bytes; less what it costs when nobody moves.
"""

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench._live import Peer, joined, live_router, serve
from bench._measure import WORLD, figure, parser, publish
from bench._replay import Recording
from bench.forward.harness import BenchError, cpu_ns
from interest import Interest, Region, Sphere

PAGE = 4096
RADIUS = 0.05 * WORLD


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("updates", __doc__)
    options.add_argument("--hosts", type=int, default=100, help="below the router (%(default)s)")
    options.add_argument("--pieces", type=int, nargs="+", default=[1, 16, 64], help="of a region (%(default)s)")
    options.add_argument("--tree-pieces", type=int, nargs="+", default=[1, 4], help="the same in a tree (%(default)s)")
    options.add_argument("--seconds", type=float, default=3.0, help="of moves (%(default)s)")
    options.add_argument("--rate", type=float, default=5.0, help="moves a second of a host in a tree (%(default)s)")
    given = options.parse_args(arguments)
    try:
        alone = [live(given.hosts, pieces, given.seconds) for pieces in given.pieces]
    except BenchError as error:
        print(f"bench updates: {error}", file=sys.stderr)
        return 2
    publish(
        "updates",
        {
            f"live, {given.hosts} hosts": alone,
            f"in a tree, {given.hosts} hosts moving at {given.rate:g} Hz": [
                in_a_tree(given.hosts, pieces, given.rate) for pieces in given.tree_pieces
            ],
        },
    )
    return 0


class Mover:
    """Somebody's region: spheres, of which one moves."""

    def __init__(self, number: int, pieces: int) -> None:
        self._rng = random.Random(f"mover {number}")
        self._fixed = [self._sphere() for _ in range(pieces - 1)]

    def interest(self) -> Interest:
        """Where it is now, elsewhere with each call."""
        return Interest.of(Region([*self._fixed, self._sphere()]), layer="vehicles")

    def _sphere(self) -> Sphere:
        return Sphere([self._rng.uniform(0.0, WORLD) for _ in range(3)], RADIUS)


def live(hosts: int, pieces: int, seconds: float) -> dict[str, object]:
    """One row of the live table."""
    movers = [Mover(number, pieces) for number in range(hosts)]
    with live_router() as (child, address):
        with joined(address, [mover.interest() for mover in movers[:1]]):
            empty = resident(child.pid)
        with joined(address, [mover.interest() for mover in movers]) as peers:
            grown = resident(child.pid) - empty
            of = dict(zip(map(id, peers), movers, strict=True))
            moves = 0

            def moved(peer: Peer) -> None:
                nonlocal moves
                if peer.accepted:
                    moves += 1
                    peer.move(of[id(peer)].interest())

            start, before = time.monotonic(), cpu_ns(child.pid)
            for peer in peers:
                peer.move(of[id(peer)].interest())
            serve(peers, moved, lambda: time.monotonic() > start + seconds, seconds + 10.0)
            spent, took = cpu_ns(child.pid) - before, time.monotonic() - start
    return {
        "pieces": pieces,
        "updates/s": figure(moves / took),
        "CPU µs per update": figure(spent / 1000 / max(1, moves)),
        "KiB per VIF": figure(grown / hosts / 1024),
    }


def in_a_tree(hosts: int, pieces: int, rate: float) -> dict[str, object]:
    """One row of the table in virtual time."""
    quiet, _ = replayed(hosts, pieces, 0.0)
    busy, moves = replayed(hosts, pieces, rate)
    return {"pieces": pieces, "moves": moves, "CPU µs per update": figure((busy - quiet) / max(1, moves))}


def replayed(hosts: int, pieces: int, rate: float) -> tuple[float, int]:
    """CPU µs that a router with a parent, two child routers and hosts takes for a second, and the moves in it."""
    overlay, recording = Recording.begin(lambda overlay: overlay.router("router", ["core"], keep_attached=True))
    overlay.router("core")
    for name in ("left", "right"):
        overlay.router(name, ["router"], keep_attached=True)
    overlay.run(1.0)
    rng = random.Random("phases")
    starts = 4.0
    moves = 0
    for number in range(hosts):
        mover = Mover(number, pieces)
        host = overlay.host(f"host {number}", ["router"])
        subscription = host.subscribe(mover.interest())
        times: Sequence[float] = [starts + (rng.random() + move) / rate for move in range(int(rate))]
        for at in times:
            overlay.clock.at(at, lambda host=host, on=subscription, mover=mover: host.move(on, mover.interest()))
        moves += len(times)
    overlay.run(starts + 2.0)
    router, clock = recording.again()
    clock.run(starts)
    before = time.process_time_ns()
    clock.run(starts + 2.0)
    spent = time.process_time_ns() - before
    if len(router.router.rib.vifs) != hosts + 3:
        raise RuntimeError("the replayed router has other VIFs than the recorded one")
    return spent / 1000, moves


def resident(pid: int) -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
