"""Every event of a run as rows of a Parquet file, for whoever wants to know why something went where it did.

Used by `events.run`, on request: a listener, of which the engines know nothing. One row for every frame that a node
sends, and one for every frame that reaches a node, in the order of time:

    time      seconds on the virtual clock (the workload begins at `workload_start` of the run's row)
    node      router or host at which this happens
    vif       number of the node's VIF towards the other end; null before there is one
    peer      the router or host at the other end
    kind      publication, or the control message: subscribe, reply, update, hello, quit, reset, refuse, challenge,
              rejoin
    source, sequence, extent    of a publication; extent is [x0, y0, z0, x1, y1, z1], null for one without
    bytes     of the frame (of a control message: of its datagram)
    decision  sent, lost (on the way from here); of what reaches a router: forwarded, filtered (nobody beyond its other
              links wants it) or the named reason of a drop; of what reaches a host: delivered, unwanted, duplicate or
              own; of control messages: handled, or the reason of a drop
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from cbsmrp.messages import Address
from cbsmrp.wire import PREAMBLE, PublicationFrame, heads
from sim.network import Attachable, Network, Sent
from sim.node import Node
from sim.runs.counting import kind_of
from sim.runs.logging_host import LoggingHost

SCHEMA = pa.schema(
    {
        "time": pa.float64(),
        "node": pa.dictionary(pa.int32(), pa.string()),
        "vif": pa.int32(),
        "peer": pa.dictionary(pa.int32(), pa.string()),
        "kind": pa.dictionary(pa.int32(), pa.string()),
        "source": pa.uint64(),
        "sequence": pa.uint32(),
        "extent": pa.list_(pa.float64()),
        "bytes": pa.int32(),
        "decision": pa.dictionary(pa.int32(), pa.string()),
    }
)
_BATCH = 50_000


class EventTrace:
    """Listens at a network: `sent` to its trace, `arriving` as its tap."""

    def __init__(self, writer: parquet.ParquetWriter, network: Network, hosts: Mapping[str, LoggingHost]) -> None:
        self._writer = writer
        self._network = network
        self._hosts = hosts
        self._rows: list[dict[str, Any]] = []
        #: What is being sent while something arrives: the row that has arrived comes first.
        self._answers: list[dict[str, Any]] | None = None

    @staticmethod
    @contextmanager
    def open(path: str | Path, network: Network, hosts: Mapping[str, LoggingHost]) -> Iterator[EventTrace]:
        """Listen from now on, into a new file; it is complete when the context ends. Raises OSError.

        `hosts` are those of the network by their addresses, as far as there are any yet.
        """
        with parquet.ParquetWriter(path, SCHEMA) as writer:
            trace = EventTrace(writer, network, hosts)
            network.tap = trace.arriving
            try:
                yield trace
            finally:
                network.tap = None
                trace.flush()

    def sent(self, sent: Sent) -> None:
        rows = self._frames(sent.time, sent.source, sent.destination, sent.data)
        for row in rows:
            row["decision"] = "lost" if sent.lost else "sent"
        (self._rows if self._answers is None else self._answers).extend(rows)
        if len(self._rows) > _BATCH:
            self.flush()

    def arriving(self, node: Attachable, data: bytes, source: Address, destination: Address) -> None:
        rows = self._frames(self._network.clock.now, destination, source, data)
        self._rows.extend(rows)
        self._answers = []
        host = self._hosts.get(str(destination))
        if host is not None:
            self._reach_host(host, data, source, rows)
        elif isinstance(node, Node):
            self._reach_router(node, data, source, rows)
        self._rows.extend(self._answers)
        self._answers = None

    def flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, SCHEMA))
        self._rows.clear()

    def _reach_router(self, node: Node, data: bytes, source: Address, rows: list[dict[str, Any]]) -> None:
        drops = node.endpoint.drops.copy()
        node.arrive(data, source)
        reasons = list(node.endpoint.drops - drops)
        forwarded = {(row["source"], row["sequence"]) for row in self._answers or () if row["kind"] == "publication"}
        for row in rows:
            if row["kind"] != "publication":
                row["decision"] = reasons[0] if reasons else "handled"
            elif (row["source"], row["sequence"]) in forwarded:
                row["decision"] = "forwarded"
            else:
                row["decision"] = reasons[0] if reasons else "filtered"

    def _reach_host(self, host: LoggingHost, data: bytes, source: Address, rows: list[dict[str, Any]]) -> None:
        endpoint = host.endpoint
        drops, duplicates = endpoint.drops.copy(), endpoint.host.duplicates
        delivered: set[tuple[int, int]] = set()
        host.heard = delivered
        host.node.arrive(data, source)
        host.heard = None
        reasons = list(endpoint.drops - drops)
        for row in rows:
            if row["kind"] != "publication" or reasons:
                row["decision"] = reasons[0] if reasons else "handled"
            elif (row["source"], row["sequence"]) in delivered:
                row["decision"] = "delivered"
            elif row["source"] in endpoint.host.own_sources:
                row["decision"] = "own"
            else:
                row["decision"] = "duplicate" if endpoint.host.duplicates > duplicates else "unwanted"

    def _frames(self, time: float, node: Address, peer: Address, data: bytes) -> list[dict[str, Any]]:
        """A row for every frame of a datagram, without a decision."""
        vif = self._vif(node, peer)
        common = {"time": time, "node": str(node), "vif": vif, "peer": str(peer)}
        kind = kind_of(data)
        if kind != "publication":
            return [{**common, "kind": kind, "bytes": len(data)}]
        rows = []
        at = len(PREAMBLE)
        for source, sequence, length in heads(data):
            extent = PublicationFrame(data[at : at + length]).extent
            bounds = None if extent is None else list(extent.bounds)
            rows.append(
                {**common, "kind": kind, "source": source, "sequence": sequence, "extent": bounds, "bytes": length}
            )
            at += length
        return rows

    def _vif(self, node: Address, peer: Address) -> int | None:
        attached = self._network.node(node)
        vif = attached.endpoint.engine.rib.at(peer) if isinstance(attached, Node) else None
        return None if vif is None else vif.id
