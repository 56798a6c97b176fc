"""An overlay of virtual routers and hosts by name: started, killed, restarted, moved about on one virtual network.

Scenarios and tests are written with it. Every random stream has a name and comes from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs

from cbsmrp.config import Limits, Timers
from cbsmrp.endpoint import HostEndpoint, RouterEndpoint
from cbsmrp.host import Host, Subscription
from cbsmrp.messages import Publication
from cbsmrp.mode import RoutingMode
from cbsmrp.modes.shared_tree import SharedTree
from cbsmrp.ready import InForce, InForceLost, Notice
from cbsmrp.router import Router
from cbsmrp.wire import Codec, PublicationFrame
from interest import Extent, Interest, Value
from sim.clock import Clock
from sim.network import Link, Network
from sim.node import Node


@attrs.define(eq=False)
class RouterNode:
    name: str
    router: Router
    node: Node
    notices: list[tuple[float, Notice]]

    @property
    def endpoint(self) -> RouterEndpoint:
        endpoint = self.node.endpoint
        assert isinstance(endpoint, RouterEndpoint)
        return endpoint


class HostNode:
    """A host with an application that keeps a log of all that happens to it, with times."""

    def __init__(self, overlay: Overlay, name: str, host: Host, codec: Codec) -> None:
        self.name = name
        self.host = host
        self.clock = overlay.clock
        self.notices: list[tuple[float, Notice]] = []
        self.arrived: list[tuple[float, PublicationFrame]] = []
        self.delivered: list[tuple[float, list[int], PublicationFrame]] = []
        self.endpoint = HostEndpoint(host, codec, self._deliver, self._notice, self._arrive)
        self.node = Node(overlay.network, name, self.endpoint)

    def _notice(self, notice: Notice) -> None:
        self.notices.append((self.clock.now, notice))

    def _arrive(self, frame: PublicationFrame) -> None:
        self.arrived.append((self.clock.now, frame))

    def _deliver(self, subscriptions: list[int], frame: PublicationFrame) -> None:
        self.delivered.append((self.clock.now, subscriptions, frame))

    def subscribe(self, interest: Interest) -> Subscription:
        subscription = self.host.subscribe(interest, self.clock.now)
        self._done()
        return subscription

    def move(self, subscription: Subscription, interest: Interest) -> int:
        version = self.host.move(subscription, interest, self.clock.now)
        self._done()
        return version

    def unsubscribe(self, subscription: Subscription) -> None:
        self.host.unsubscribe(subscription, self.clock.now)
        self._done()

    def publish(
        self, extent: Extent, attributes: dict[str, Value] | None = None, payload: bytes = b""
    ) -> Publication | None:
        publication = self.endpoint.publish(extent, attributes or {}, payload, self.clock.now)
        self.node.pump()
        return publication

    def in_force(self, subscription: Subscription) -> bool:
        return 0 < subscription.version <= self.host.in_force

    @property
    def in_force_log(self) -> list[tuple[float, int]]:
        """(time, version in force), 0 when it was taken back."""
        return [
            (t, n.version if isinstance(n, InForce) else 0)
            for t, n in self.notices
            if isinstance(n, InForce | InForceLost)
        ]

    def _done(self) -> None:
        self.endpoint.carry_out()
        self.node.pump()


class Overlay:
    """`link`: the default link. Start times rise by one with every start, as a real clock's would."""

    def __init__(
        self,
        seed: int | str = 0,
        link: Link | None = None,
        timers: Timers | None = None,
        datagram_bytes: int = 1400,
    ) -> None:
        self.seed = seed
        self.clock = Clock()
        self.network = Network(self.clock, seed, link)
        self.timers = timers or Timers()
        self.routers: dict[str, RouterNode] = {}
        self.hosts: dict[str, HostNode] = {}
        self._datagram_bytes = datagram_bytes
        self._starts = 0

    def _next_start(self, name: str) -> tuple[int, random.Random]:
        self._starts += 1
        return 1_000_000 + self._starts, random.Random(f"{self.seed} {name} {self._starts}")

    def router(
        self,
        name: str,
        upstreams: Sequence[str] = (),
        *,
        mode: type[RoutingMode] = SharedTree,
        limits: Limits | None = None,
        **options: Any,
    ) -> RouterNode:
        """Start a router (again): without upstreams it is the core. `options` as of `Router`."""
        generation, rng = self._next_start(name)
        codec = Codec(self._datagram_bytes)
        router = Router(
            generation=generation,
            timers=options.pop("timers", self.timers),
            rng=rng,
            candidates=upstreams,
            mode=mode,
            limits=limits,
            chunk_bytes=codec.chunk_bytes,
            now=self.clock.now,
            **options,
        )
        notices: list[tuple[float, Notice]] = []
        endpoint = RouterEndpoint(router, codec, lambda notice: notices.append((self.clock.now, notice)))
        self.routers[name] = RouterNode(name, router, Node(self.network, name, endpoint), notices)
        return self.routers[name]

    def host(
        self,
        name: str,
        routers: Sequence[str],
        *,
        opted: bool = False,
        timers: Timers | None = None,
        node: type[HostNode] = HostNode,
    ) -> HostNode:
        """Start a host (again); `node` may be a class that keeps other logs."""
        generation, rng = self._next_start(name)
        codec = Codec(self._datagram_bytes)
        host = Host(
            generation=generation,
            timers=timers or self.timers,
            rng=rng,
            candidates=routers,
            opted=opted,
            chunk_bytes=codec.chunk_bytes,
            now=self.clock.now,
        )
        self.hosts[name] = node(self, name, host, codec)
        return self.hosts[name]

    def kill(self, name: str) -> None:
        """Gone without a word."""
        self._remove(name).kill()

    def leave(self, name: str) -> None:
        """Gone with QUIT."""
        self._remove(name).leave()

    def run(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _remove(self, name: str) -> Node:
        found: RouterNode | HostNode = self.routers.pop(name) if name in self.routers else self.hosts.pop(name)
        return found.node
