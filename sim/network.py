"""A virtual network of point-to-point links that delay, lose, duplicate, reorder and cut datagrams, from one seed.

Nodes (`node.Node`) hand it real bytes and get real bytes. What may be lost is the link's business: by default control
datagrams only, so that the tests can hold deliveries of publications to be exact while control suffers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import attrs

from cbsmrp.messages import Address
from cbsmrp.wire import PUBLICATION
from sim.clock import Clock


@attrs.frozen
class Link:
    """One direction of a link. Probabilities are per datagram; times in seconds.

    `reorder`: probability of being late by up to `lateness` more. `publication_loss`: loss of datagrams with
    publications.
    """

    delay: float = 0.01
    jitter: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    lateness: float = 0.1
    publication_loss: float = 0.0


@attrs.frozen
class Sent:
    """A datagram as the trace sees it. `lost`: it will not arrive (loss or a cut link)."""

    time: float
    source: Address
    destination: Address
    data: bytes
    lost: bool


class Attachable(Protocol):
    def arrive(self, data: bytes, source: Address) -> None: ...


class Network:
    def __init__(self, clock: Clock, seed: int | str = 0, link: Link | None = None) -> None:
        self.clock = clock
        self.link = link or Link()
        self.links: dict[tuple[Address, Address], Link] = {}
        self.counts: Counter[str] = Counter()
        self.trace: Callable[[Sent], None] | None = None
        #: Called instead of `node.arrive(data, source)`, which it has to call: (node, data, source, destination).
        self.tap: Callable[[Attachable, bytes, Address, Address], None] | None = None
        self._random = random.Random(f"network {seed}")
        self._nodes: dict[Address, Attachable] = {}
        self._cut: set[tuple[Address, Address]] = set()

    def attach(self, address: Address, node: Attachable) -> None:
        self._nodes[address] = node

    def detach(self, address: Address) -> None:
        """What is under way to this address will be lost (unless somebody attaches there again)."""
        self._nodes.pop(address, None)

    def node(self, address: Address) -> Attachable | None:
        """Who is attached there."""
        return self._nodes.get(address)

    def connect(self, a: Address, b: Address, link: Link) -> None:
        """Give this pair a link of its own, both ways."""
        self.links[a, b] = self.links[b, a] = link

    def cut(self, a: Address, b: Address) -> None:
        """Partition: nothing sent from now on crosses, in either direction."""
        self._cut |= {(a, b), (b, a)}

    def mend(self, a: Address, b: Address) -> None:
        self._cut -= {(a, b), (b, a)}

    def send(self, source: Address, destination: Address, data: bytes) -> None:
        rng, link = self._random, self.links.get((source, destination), self.link)
        control = not is_publications(data)
        self.counts["control" if control else "publications"] += 1
        loss = link.loss if control else link.publication_loss
        copies = 2 if control and link.duplicate and rng.random() < link.duplicate else 1
        for _ in range(copies):
            lost = (source, destination) in self._cut or (loss > 0 and rng.random() < loss)
            if self.trace is not None:
                self.trace(Sent(self.clock.now, source, destination, data, lost))
            if lost:
                self.counts["lost"] += 1
                continue
            delay = link.delay
            if link.jitter:
                delay += rng.uniform(0, link.jitter)
            if control and link.reorder and rng.random() < link.reorder:
                delay += rng.uniform(0, link.lateness)
            self.clock.after(delay, self._arrive, source, destination, data)

    def _arrive(self, source: Address, destination: Address, data: bytes) -> None:
        node = self._nodes.get(destination)
        if node is None:
            self.counts["nobody there"] += 1
        elif self.tap is not None:
            self.tap(node, data, source, destination)
        else:
            node.arrive(data, source)


def is_publications(data: bytes) -> bool:
    """Does this datagram carry publications? (Senders never mix them with control frames.)"""
    return len(data) > 4 and data[4] == PUBLICATION
