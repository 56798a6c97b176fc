"""A live router process and hosts on sockets of this process that join it: for `forward` and `updates`.

The hosts are the ordinary I/O-free endpoints with a loop around them, so that a socket that has joined can be handed to
the C load of `bench.forward`.
"""

import random
import select
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import cast

from bench.forward.harness import BenchError, process, report, udp_socket
from cbsmrp.config import Timers, parse_address
from cbsmrp.endpoint import HostEndpoint
from cbsmrp.host import Host
from cbsmrp.wire import Codec
from interest import Interest

CONFIG = """
listen = "127.0.0.1:0"
[timers]  # no host is taken for gone while the load, which says nothing but publications, has its socket
host_hold = 600.0
[limits]
pieces = 4096
publications_per_second = 1e9
"""


class Peer:
    """A host with one subscription on a socket of its own."""

    def __init__(self, router: tuple[str, int], interest: Interest, number: int) -> None:
        self.socket = udp_socket()
        codec = Codec()
        host = Host(
            generation=time.time_ns() // 1_000_000,
            timers=Timers(),
            rng=random.Random(f"peer {number}"),
            candidates=[router],
            chunk_bytes=codec.chunk_bytes,
            now=time.monotonic(),
        )
        self.host = host
        self.endpoint = HostEndpoint(host, codec, lambda subscriptions, frame: None)
        self.subscription = host.subscribe(interest, time.monotonic())
        self._done()

    def move(self, interest: Interest) -> None:
        """Want something else from now on."""
        self.host.move(self.subscription, interest, time.monotonic())
        self._done()

    @property
    def accepted(self) -> bool:
        """Does the router have the newest region?"""
        up = self.host.upstream
        return up is not None and up.joined and up.accepted >= up.newest

    def arrived(self) -> None:
        """Take in what is there, and answer."""
        try:
            while True:
                data, sender = self.socket.recvfrom(65536, socket.MSG_DONTWAIT)
                self.endpoint.datagram(data, sender, time.monotonic())
        except BlockingIOError:
            self.send()

    def due(self) -> None:
        """Do what its timers want."""
        now = time.monotonic()
        if self.endpoint.next_deadline() <= now:
            self.endpoint.expire(now)
            self.send()

    def send(self) -> None:
        """Send what is to be sent."""
        self.endpoint.flush()
        for address, data in self.endpoint.take_datagrams():
            self.socket.sendto(data, cast(tuple[str, int], address))

    def _done(self) -> None:
        self.endpoint.carry_out()
        self.send()


@contextmanager
def live_router() -> Iterator[tuple[Popen[str], tuple[str, int]]]:
    """A `cbsmrp router` that is the core, and where it listens."""
    with tempfile.TemporaryDirectory(prefix="cbsmrp-bench-") as folder:
        config = Path(folder, "router.toml")
        config.write_text(CONFIG)
        with process([sys.executable, "-m", "cbsmrp.cli.main", "router", "--config", config]) as child:
            yield child, parse_address(report(child)["address"])


@contextmanager
def joined(router: tuple[str, int], interests: Sequence[Interest]) -> Iterator[list[Peer]]:
    """One host for each interest, all in force. BenchError when that takes longer than 20 s."""
    peers = [Peer(router, interest, number) for number, interest in enumerate(interests)]
    try:
        serve(peers, lambda peer: None, lambda: all(0 < p.subscription.version <= p.host.in_force for p in peers), 20.0)
        yield peers
    finally:
        for peer in peers:
            peer.socket.close()


def serve(peers: Sequence[Peer], served: Callable[[Peer], None], done: Callable[[], bool], patience: float) -> None:
    """Be the driver of all of them until `done`; `served` is called after something has arrived for one of them.

    BenchError when it takes longer than `patience` seconds.
    """
    limit = time.monotonic() + patience
    poll = select.poll()
    by_descriptor = {peer.socket.fileno(): peer for peer in peers}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    while not done():
        if time.monotonic() > limit:
            raise BenchError(f"the router did not answer all of {len(peers)} hosts in {patience:g} s")
        for descriptor, _ in poll.poll(5):
            by_descriptor[descriptor].arrived()
            served(by_descriptor[descriptor])
        for peer in peers:
            peer.due()
