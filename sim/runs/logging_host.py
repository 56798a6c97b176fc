"""A host that logs what reaches it as bare numbers. Used by `play`; `event_trace` listens to what it is handed."""

from __future__ import annotations

from array import array

from cbsmrp.host import Host
from cbsmrp.wire import Codec, PublicationFrame
from sim.overlay import HostNode, Overlay


class LoggingHost(HostNode):
    """Logs what reaches the host's socket as bare numbers: a long run has millions of arrivals."""

    def __init__(self, overlay: Overlay, name: str, host: Host, codec: Codec) -> None:
        self.times = array("d")
        self.sources, self.sequences = array("Q"), array("L")
        #: If somebody listens: (source, sequence) of what is handed to the application.
        self.heard: set[tuple[int, int]] | None = None
        super().__init__(overlay, name, host, codec)

    def _arrive(self, frame: PublicationFrame) -> None:
        self.times.append(self.clock.now)
        self.sources.append(frame.source)
        self.sequences.append(frame.sequence)

    def _deliver(self, subscriptions: list[int], frame: PublicationFrame) -> None:
        if self.heard is not None:
            self.heard.add((frame.source, frame.sequence))
