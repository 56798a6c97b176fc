"""Reads a router's metrics page back into a value: for `cbsmrp top`, the demo, and tests.

The other side is `metrics`. Only Prometheus's own parser and an HTTP request; no reactor.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections import defaultdict

import attrs
from prometheus_client.parser import text_string_to_metric_families

from ..config import ConfigError, parse_address


@attrs.define
class VifRow:
    """One VIF, or (with the VIF "ended") all ended sessions with one kind of neighbour."""

    vif: str
    kind: str
    neighbour: str
    regions: int = 0
    packets_in: int = 0
    packets_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    datagrams_in: int = 0
    datagrams_out: int = 0
    control_frames_in: int = 0
    control_frames_out: int = 0
    filtered: int = 0
    rate_limited: int = 0
    lost_on_link: int = 0


@attrs.define
class InForce:
    """How long regions took to be in force: `below` maps a bound in seconds to how many took at most so long."""

    count: int = 0
    seconds: float = 0.0
    below: dict[float, int] = attrs.field(factory=lambda: defaultdict(int))


@attrs.define
class Snapshot:
    """A router as its metrics page shows it. `vifs` are in the order of their numbers, ended sessions last."""

    address: str = ""
    mode: str = ""
    clipping: bool = True
    attached: bool = False
    receive_buffer: int = 0
    unsent: int = 0
    publications: int = 0
    delivered: int = 0
    vifs: list[VifRow] = attrs.field(factory=list)
    drops: dict[str, int] = attrs.field(factory=dict)
    sent: dict[str, int] = attrs.field(factory=dict)
    received: dict[str, int] = attrs.field(factory=dict)
    in_force: InForce = attrs.field(factory=InForce)

    def total(self) -> VifRow:
        """All VIFs together, ended ones included."""
        total = VifRow("total", "", "")
        for row in self.vifs:
            for field in _COUNTS:
                setattr(total, field, getattr(total, field) + getattr(row, field))
        return total


_COUNTS = tuple(field.name for field in attrs.fields(VifRow))[3:]
_SINGLE = {
    "cbsmrp_attached": "attached",
    "cbsmrp_receive_buffer_bytes": "receive_buffer",
    "cbsmrp_unsent_datagrams": "unsent",
    "cbsmrp_publications_total": "publications",
    "cbsmrp_delivered_total": "delivered",
}


#: Routers are not asked through a proxy that the environment names.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def read(address: str, timeout: float = 2.0) -> Snapshot:
    """The router whose metrics are at `HOST:PORT`. Raises `ConfigError` if there is none."""
    parse_address(address)
    try:
        with _DIRECT.open(f"http://{address}/metrics", timeout=timeout) as page:
            text = page.read().decode()
    except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ConfigError(
            f"no metrics at {address} ({reason}): give the address a router was started with as --metrics"
        ) from None
    try:
        snapshot = parse(text)
    except ValueError:
        snapshot = Snapshot()
    if not snapshot.address:
        raise ConfigError(f"what answers at {address} is no router: give the address of a router's --metrics")
    return snapshot


def parse(text: str) -> Snapshot:
    """A metrics page. Raises `ValueError` for text that is none."""
    snapshot = Snapshot()
    rows: dict[tuple[str, str], VifRow] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels, name = sample.labels, sample.name.removesuffix("_total").removeprefix("cbsmrp_")
            if sample.name in _SINGLE:
                kind = bool if sample.name == "cbsmrp_attached" else int
                setattr(snapshot, _SINGLE[sample.name], kind(sample.value))
            elif sample.name == "cbsmrp_router_info":
                snapshot.address, snapshot.mode = labels["address"], labels["mode"]
                snapshot.clipping = labels["clipping"] == "true"
            elif name == "drops":
                snapshot.drops[labels["reason"]] = int(sample.value)
            elif name == "control_messages":
                counts = snapshot.received if labels["direction"] == "in" else snapshot.sent
                counts[labels["kind"]] = int(sample.value)
            elif name == "in_force_seconds_bucket" and labels["le"] != "+Inf":
                snapshot.in_force.below[float(labels["le"])] += int(sample.value)
            elif name == "in_force_seconds_count":
                snapshot.in_force.count += int(sample.value)
            elif name == "in_force_seconds_sum":
                snapshot.in_force.seconds += sample.value
            elif "vif" in labels:
                key = labels["vif"], labels["kind"]
                row = rows.setdefault(key, VifRow(*key, labels["neighbour"]))
                field = "regions" if name == "region_pieces" else name
                setattr(row, field + ("_" + labels["direction"] if "direction" in labels else ""), int(sample.value))
    snapshot.vifs = sorted(rows.values(), key=lambda row: (row.vif == "ended", row.vif.zfill(9), row.kind))
    return snapshot
