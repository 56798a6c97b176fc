"""The virtual driver: an endpoint (codec, engine, forwarding table) on a virtual clock and a virtual network.

The twin of `cbsmrp.udp`: there a socket and the reactor's clock, here links and virtual time, around the same endpoint.
"""

from __future__ import annotations

from math import inf

from cbsmrp.endpoint import Endpoint
from cbsmrp.messages import Address
from sim.network import Network


class Node:
    """Attached from construction until `kill`. After calling the engine's or endpoint's verbs, call `pump`."""

    def __init__(self, network: Network, address: Address, endpoint: Endpoint) -> None:
        self.network = network
        self.clock = network.clock
        self.address = address
        self.endpoint = endpoint
        self._alarm = inf
        self._alive = True
        network.attach(address, self)
        self.pump()

    def arrive(self, data: bytes, source: Address) -> None:
        if self.endpoint.datagram(data, source, self.clock.now):
            self.pump()
        else:
            self._send()

    def pump(self) -> None:
        """Send what is to be sent, and set the one alarm."""
        self._send()
        deadline = max(self.endpoint.next_deadline(), self.clock.now)
        if deadline < self._alarm:
            self._alarm = deadline
            self.clock.at(deadline, self._wake, deadline)

    def kill(self) -> None:
        """Gone without a word (kill -9)."""
        self._alive = False
        self.network.detach(self.address)

    def leave(self) -> None:
        """Leave the tree with QUIT, then be gone."""
        self.endpoint.leave(self.clock.now)
        self.pump()
        self.kill()

    def _send(self) -> None:
        self.endpoint.flush()
        for address, data in self.endpoint.take_datagrams():
            self.network.send(self.address, address, data)

    def _wake(self, deadline: float) -> None:
        if not self._alive or deadline != self._alarm:
            return  # an alarm that was set earlier replaced this one
        self._alarm = inf
        if self.endpoint.next_deadline() <= self.clock.now:
            self.endpoint.expire(self.clock.now)
        self.pump()
