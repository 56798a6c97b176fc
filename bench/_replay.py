"""One router of a virtual overlay, run again alone on the bytes that it got: what it costs without anybody else's work.

Same seed, same name, same start: the router draws the same tokens, so that the recorded datagrams of its neighbours
are valid for the second life too. `state` and `updates` measure with it.
"""

from collections.abc import Callable

import attrs

from cbsmrp.messages import Address
from sim.clock import Clock
from sim.network import Link, Network, Sent
from sim.overlay import Overlay, RouterNode

LINK = Link(delay=0.005)


class _Nowhere(Network):
    """Takes what the router sends, and is done with it."""

    def send(self, source: Address, destination: Address, data: bytes) -> None:
        pass


@attrs.frozen
class Recording:
    """What reached one router: (time of arrival, sender, bytes). `start` starts it in an overlay; it must be the
    overlay's first node."""

    start: Callable[[Overlay], RouterNode]
    seed: str
    arrivals: list[tuple[float, Address, bytes]]

    @staticmethod
    def begin(start: Callable[[Overlay], RouterNode], seed: str = "replay") -> "tuple[Overlay, Recording]":
        """An overlay with the router; it is recorded what reaches it from now on."""
        overlay = Overlay(seed, LINK)
        name = start(overlay).name
        recording = Recording(start, seed, [])

        def note(sent: Sent) -> None:
            if sent.destination == name:
                recording.arrivals.append((sent.time + LINK.delay, sent.source, sent.data))

        overlay.network.trace = note
        return overlay, recording

    def again(self) -> "tuple[RouterNode, Clock]":
        """The router started again, and a clock that lets everything arrive once more when it is run."""
        overlay = Overlay(self.seed, LINK)
        overlay.network = _Nowhere(overlay.clock)
        router = self.start(overlay)
        for time, sender, data in self.arrivals:
            overlay.clock.at(time, router.node.arrive, data, sender)
        return router, overlay.clock
