"""Small overlays on the virtual network, written down by hand, with a log of what is said in them.

A region here is an interval of x: `strip(0, 10)` is the box 0 <= x <= 10, 0 <= y, z <= 10; `at(5)` is a point in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from cbsmrp.config import Timers
from cbsmrp.messages import Message, Update
from cbsmrp.vif import UPSTREAM, Vif
from cbsmrp.wire import Codec, PublicationFrame
from interest import NOTHING, Box, Interest, Point, Region
from interest.binary import decode_interest
from sim.network import Link, Sent
from sim.overlay import HostNode, Overlay


def strip(*ends: float) -> Interest:
    """`strip(0, 10)`, or several intervals: `strip(0, 10, 20, 30)`."""
    boxes = [Box((low, 0, 0), (high, 10, 10)) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    return Interest.of(Region(boxes)) if boxes else NOTHING


def at(x: float) -> Point:
    return Point((x, 5.0, 5.0))


@attrs.frozen
class Said:
    """One frame on its way."""

    time: float
    source: Any
    destination: Any
    frame: Message | PublicationFrame

    @property
    def kind(self) -> str:
        return type(self.frame).__name__


class Tree:
    """`Tree({"R1": "R0"}, {"H1": "R1"})`: routers with their parents (R0 is the core), hosts with their routers."""

    def __init__(
        self,
        routers: dict[str, str] | None = None,
        hosts: dict[str, str] | None = None,
        *,
        link: Link | None = None,
        timers: Timers | None = None,
        seed: int | str = "small tree",
        **options: Any,
    ) -> None:
        self.overlay = Overlay(seed, link or Link(delay=0.01), timers or Timers(linger=0.2))
        self.log: list[Said] = []
        self.overlay.network.trace = self._sent
        self._codec = Codec()
        self.options = {"budget": 0, **options}
        for name in ("R0", *(routers or {})):
            parent = (routers or {}).get(name)
            self.overlay.router(name, [parent] if parent else [], **self.options)
        for name, router in (hosts or {}).items():
            self.overlay.host(name, [router])

    # -- acting ----------------------------------------------------------------------------------------

    def host(self, name: str) -> HostNode:
        return self.overlay.hosts[name]

    def wants(self, name: str, *ends: float) -> Any:
        """Subscribe."""
        return self.host(name).subscribe(strip(*ends))

    def settle(self, seconds: float = 1.0) -> Tree:
        self.overlay.run(seconds)
        return self

    def watch(self, act: Callable[[], Any] | None = None, seconds: float = 1.0) -> list[Said]:
        """What is said while something is done and settles."""
        before = len(self.log)
        if act is not None:
            act()
        self.settle(seconds)
        return self.log[before:]

    def heard_by(self, x: float, publisher: str) -> dict[str, int]:
        """Publish at x: how often it reached each host's socket (those it did not reach are left out)."""
        before = {name: len(host.arrived) for name, host in self.overlay.hosts.items()}
        assert self.host(publisher).publish(at(x)) is not None
        self.settle(0.5)
        counts = {name: len(host.arrived) - before[name] for name, host in self.overlay.hosts.items()}
        return {name: count for name, count in counts.items() if count}

    # -- looking ---------------------------------------------------------------------------------------

    def vif(self, router: str, neighbour: str) -> Vif:
        found = self.overlay.routers[router].router.rib.at(neighbour)
        assert found is not None, f"{router} has no VIF to {neighbour}"
        return found

    def sr(self, router: str, neighbour: str | None = None) -> Interest:
        """SR(VIF) of a downstream VIF, or SR(R): what the router tells its upstream router."""
        if neighbour is not None:
            return self.vif(router, neighbour).in_value
        return self.overlay.routers[router].router.rib.vifs[UPSTREAM].out_value or NOTHING

    def cr(self, router: str) -> Interest:
        return self.overlay.routers[router].router.rib.vifs[UPSTREAM].in_value

    def _sent(self, sent: Sent) -> None:
        for frame in self._codec.decode(sent.data):
            self.log.append(Said(sent.time, sent.source, sent.destination, frame))


def updates(said: list[Said]) -> list[tuple[str, str, Interest]]:
    """(sender, receiver, region) of every UPDATE in a log."""
    return [
        (s.source, s.destination, decode_interest(s.frame.state.value.chunk))
        for s in said
        if isinstance(s.frame, Update) and s.frame.state.value is not None
    ]


def between(said: list[Said], source: str, destination: str) -> list[Said]:
    return [s for s in said if (s.source, s.destination) == (source, destination)]
