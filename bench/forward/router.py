"""The real router as a forwarder: a `cbsmrp router` process that hosts have joined whose regions the load matches.

Twelve hosts, each with a region of many boxes, and one that publishes. Every publication is at a point that is wanted
by exactly `fan_out` of them; the sinks are the sockets of the hosts.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from bench._live import joined, live_router
from bench._measure import WORLD, random_box
from bench.forward.harness import Forwarder
from cbsmrp.endpoint import HOP_LIMIT
from cbsmrp.messages import Publication
from cbsmrp.wire import PREAMBLE, encode_publication
from interest import NOTHING, Box, Interest, Point, Region

VIFS = 12
DATAGRAM = 1400
"""The most bytes of a packed datagram."""


@attrs.frozen
class Scene:
    """What the hosts want, and publications for it: `frames` of equal length, each wanted by `fan_out` hosts."""

    fan_out: int
    interests: list[Interest]
    frames: list[bytes]

    @property
    def packed(self) -> int:
        """How many publications fit a datagram."""
        return (DATAGRAM - len(PREAMBLE)) // len(self.frames[0])

    def datagrams(self, packed: int) -> list[bytes]:
        """The frames in datagrams of so many; each frame is in as many datagrams as every other."""
        return [
            PREAMBLE + b"".join(self.frames[(at + each) % len(self.frames)] for each in range(packed))
            for at in range(0, len(self.frames) * packed, packed)
        ]


def scene(fan_out: int, boxes: int, size: int) -> Scene:
    """Boxes of 1 % of the world on each axis, disjoint in x between groups of hosts; datagrams of `size` bytes.

    The first `fan_out` hosts share their boxes, all others want something else; with a fan-out of one the load is for
    all hosts in turn, else for those that share.
    """
    rng = random.Random(f"scene {fan_out}")
    groups = [0] * fan_out + list(range(1, VIFS - fan_out + 1))
    width = WORLD / VIFS
    regions = {}
    for group in groups:
        found = []
        for _ in range(boxes):
            box = random_box(rng)
            x0 = group * width + box.low[0] / WORLD * (width - 10.0)
            found.append(Box((x0, *box.low[1:]), (x0 + 10.0, *box.high[1:])))
        regions[group] = found
    if fan_out == 1:
        shared = [box for each in regions.values() for box in each]
    else:
        shared = regions[0]
    interests = [Interest.of(Region(regions[group])) for group in groups]
    frames: list[bytes] = []
    while len(frames) < 512:
        box = rng.choice(shared)
        point = Point([rng.uniform(low, high) for low, high in zip(box.low, box.high, strict=True)])
        if sum(interest.matches(point, {}) for interest in interests) != fan_out:
            continue
        frame = encode_publication(Publication(7, len(frames), point, {}, b"", 0, HOP_LIMIT))
        padding = size - len(PREAMBLE) - len(frame)
        frames.append(encode_publication(Publication(7, len(frames), point, {}, rng.randbytes(padding), 0, HOP_LIMIT)))
    return Scene(fan_out, interests, frames)


@contextmanager
def router_forwarder(name: str, wanted: Scene) -> Iterator[Forwarder]:
    """The router with all its hosts in force."""
    length = len(wanted.frames[0])
    with live_router() as (child, address), joined(address, [NOTHING, *wanted.interests]) as (publisher, *peers):
        yield Forwarder(
            name,
            child.pid,
            address[1],
            publisher.socket,
            [peer.socket for peer in peers],
            lambda datagrams, size: (size - len(PREAMBLE) * datagrams) // length,
        )
