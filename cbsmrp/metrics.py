"""What a router shows to Prometheus: read off its endpoint when somebody asks, nothing counted for it in the logic.

`service` serves the page; `cbsmrp top` and the demo read it back (`cli.scrape`). Counters of ended sessions stay in the
sums: they are the series with the VIF "ended". Region pieces are what the neighbour wants: SR downstream, CR upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from twisted.internet.error import CannotListenError
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from . import __version__
from .config import ConfigError
from .udp.address import format_address, resolve
from .udp.router import RouterDriver
from .vif import Traffic, Vif, VifKind

_LABELS = ("vif", "kind", "neighbour")
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

#: Counters of one VIF: the name, the field of `Traffic`, the direction, and the help text.
_PER_VIF = (
    ("packets", "packets_in", "in", "Publications"),
    ("packets", "packets_out", "out", "Publications"),
    ("bytes", "bytes_in", "in", "Bytes of datagrams with publications"),
    ("bytes", "bytes_out", "out", "Bytes of datagrams with publications"),
    ("datagrams", "datagrams_in", "in", "Datagrams with publications"),
    ("datagrams", "datagrams_out", "out", "Datagrams with publications"),
    ("control_frames", "control_in", "in", "Control frames of the session"),
    ("control_frames", "control_out", "out", "Control frames of the session"),
    ("filtered", "filtered", "", "Publications handled here that this neighbour neither sent nor got"),
    ("rate_limited", "dropped", "", "Publications of this host above its rate"),
    ("lost_on_link", "lost_on_link", "", "Datagrams with publications that the neighbour sent and that did not arrive"),
)


class RouterCollector(Collector):
    """The state of one router as metric families. `describe` is left to Prometheus's default: it collects once."""

    def __init__(self, driver: RouterDriver, registry: CollectorRegistry) -> None:
        self._driver = driver
        self._in_force = Histogram(
            "cbsmrp_in_force_seconds",
            "From the arrival of a neighbour's region to its being in force everywhere",
            ["kind"],
            buckets=_SECONDS,
            registry=registry,
        )
        driver.router.observe_in_force(lambda kind, seconds: self._in_force.labels(kind.value).observe(seconds))
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        yield from self._traffic()
        driver, router = self._driver, self._driver.router
        pieces = GaugeMetricFamily("cbsmrp_region_pieces", "Pieces of what the neighbour wants", labels=_LABELS)
        for vif in router.rib:
            pieces.add_metric(_name(vif), vif.in_value.piece_count)
        yield pieces
        yield CounterMetricFamily("cbsmrp_publications", "Publications handled", value=router.publications)
        hosts = [vif.traffic for vif in router.rib if vif.kind is VifKind.HOST] + [router.past_traffic[VifKind.HOST]]
        yield CounterMetricFamily(
            "cbsmrp_delivered", "Publications sent to hosts", value=sum(traffic.packets_out for traffic in hosts)
        )
        drops = CounterMetricFamily("cbsmrp_drops", "Frames and datagrams dropped, by reason", labels=["reason"])
        for reason, count in sorted(driver.endpoint.drops.items()):
            drops.add_metric([reason], count)
        yield drops
        messages = CounterMetricFamily(
            "cbsmrp_control_messages", "Control messages by kind, joining included", labels=["kind", "direction"]
        )
        for direction, counter in (("in", router.received), ("out", router.sent)):
            for kind, count in sorted(counter.items()):
                messages.add_metric([kind.lower(), direction], count)
        yield messages
        yield GaugeMetricFamily("cbsmrp_attached", "1: there is a way to the core", value=router.attached)
        yield GaugeMetricFamily(
            "cbsmrp_receive_buffer_bytes", "Granted by the system", value=driver.receive_buffer_granted
        )
        yield GaugeMetricFamily("cbsmrp_unsent_datagrams", "Waiting for room in the socket", value=driver.unsent)
        yield InfoMetricFamily(
            "cbsmrp_router",
            "What this router is",
            value={
                "address": driver.address,
                "mode": driver.config.mode,
                "clipping": str(driver.config.clipping).lower(),
                "version": __version__,
            },
        )

    def _traffic(self) -> Iterable[Metric]:
        router = self._driver.router
        rows = [(_name(vif), vif.traffic, vif.filtered(router.publications) if vif.joined else 0) for vif in router.rib]
        for kind, past in router.past_traffic.items():
            if past != Traffic():
                rows.append((("ended", kind.value, ""), past, past.filtered))
        families: dict[str, CounterMetricFamily] = {}
        for name, field, direction, text in _PER_VIF:
            labels = (*_LABELS, "direction") if direction else _LABELS
            family = families.setdefault(name, CounterMetricFamily(f"cbsmrp_{name}", text, labels=labels))
            for label, traffic, filtered in rows:
                value = filtered if field == "filtered" else getattr(traffic, field)
                family.add_metric((*label, direction) if direction else label, value)
        return families.values()


def _name(vif: Vif) -> tuple[str, str, str]:
    return str(vif.id), vif.kind.value, "" if vif.address is None else format_address(vif.address)


class _Page(Resource):
    """Answers in the reactor's thread. (Prometheus's own Twisted page uses a pool of threads, but the tables that are
    read here change in the reactor's thread.)"""

    isLeaf = True

    def __init__(self, registry: CollectorRegistry) -> None:
        Resource.__init__(self)
        self._registry = registry

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"Content-Type", CONTENT_TYPE_LATEST.encode())
        return generate_latest(self._registry)


def serve(reactor: Any, driver: RouterDriver, address: str) -> Any:
    """Serve `http://ADDRESS/metrics`; returns the listening port. Raises `ConfigError` if the address is taken."""
    registry = CollectorRegistry(auto_describe=False)
    RouterCollector(driver, registry)
    root = Resource()
    root.putChild(b"metrics", _Page(registry))
    site = Site(root)
    site.noisy = False
    site.displayTracebacks = False
    host, port = resolve(address)
    try:
        return reactor.listenTCP(port, site, interface=host)
    except CannotListenError as error:
        reason = getattr(error.socketError, "strerror", None) or error.socketError
        raise ConfigError(f"metrics = {address!r}: {reason}: choose another port, or 0 for any") from None
