"""Counts what crosses every link, by listening to the network: publications, bytes, control messages by kind.

Used by `events.run`; the engines know nothing of it. A publication is counted if it was published while measuring
(wherever it is by the time), a control message if it is sent while measuring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import attrs

from cbsmrp import wire
from cbsmrp.messages import Address
from sim.network import Sent, is_publications

KINDS = {
    getattr(wire, name): name.lower()
    for name in ("SUBSCRIBE", "REPLY", "UPDATE", "HELLO", "QUIT", "RESET", "REFUSE", "CHALLENGE", "REJOIN")
}
"""Control messages by the first byte of their frame."""


def kind_of(data: bytes) -> str:
    """What a datagram that one of us made carries."""
    if is_publications(data):
        return "publication"
    return KINDS[data[len(wire.PREAMBLE)]] if len(data) > len(wire.PREAMBLE) else "empty"


@attrs.define
class Crossed:
    """One direction of a link. Bytes are those of the datagrams, without the headers of UDP and IP; what was lost is
    counted as sent too."""

    packets: int = 0
    """Publications."""
    datagrams: int = 0
    """With publications."""
    bytes: int = 0
    lost_packets: int = 0
    control: int = 0
    """Control messages; each has a datagram of its own."""
    control_bytes: int = 0
    lost_control: int = 0


class Counting:
    """A listener for `Network.trace`."""

    def __init__(self) -> None:
        self.links: dict[tuple[Address, Address], Crossed] = {}
        self.kinds: Counter[str] = Counter()
        """Control messages by kind, while measuring."""
        self.kinds_before: Counter[str] = Counter()
        """Until then."""
        self.control_bytes_before = 0
        self._measured: Callable[[int, int], bool] | None = None
        self._control = False

    def begin(self, published_before: dict[int, int]) -> None:
        """Measure from now on: publications whose sequence is not below the one given for their source."""
        least = dict(published_before)
        self._measured = (lambda source, sequence: sequence >= least.get(source, 0)) if least else None
        self._control = True
        self.links.clear()

    def end(self) -> None:
        """Count no more control messages; publications are still counted until they have arrived."""
        self._control = False

    def __call__(self, sent: Sent) -> None:
        data = sent.data
        crossed = self.links.get((sent.source, sent.destination))
        if crossed is None:
            crossed = self.links[sent.source, sent.destination] = Crossed()
        if is_publications(data):
            packets, size = self._publications(data)
            if packets:
                crossed.datagrams += 1
                crossed.packets += packets
                crossed.bytes += size
                crossed.lost_packets += packets if sent.lost else 0
            return
        kind = kind_of(data)
        if self._control:
            self.kinds[kind] += 1
            crossed.control += 1
            crossed.control_bytes += len(data)
            crossed.lost_control += sent.lost
        else:
            self.kinds_before[kind] += 1
            self.control_bytes_before += len(data)

    def _publications(self, data: bytes) -> tuple[int, int]:
        """How many measured publications are in a datagram, and its bytes without the others."""
        measured = self._measured
        sizes = [size for source, sequence, size in wire.heads(data) if measured is None or measured(source, sequence)]
        return len(sizes), len(wire.PREAMBLE) + sum(sizes)


def all_of(listeners: Iterable[Callable[[Sent], None]]) -> Callable[[Sent], None]:
    """One listener that tells all of them."""
    every = tuple(listeners)
    if len(every) == 1:
        return every[0]

    def tell(sent: Sent) -> None:
        for each in every:
            each(sent)

    return tell
