"""The metrics page against what really happened: counted by the clients, read back by `cli.scrape`."""

import asyncio
import urllib.request

import pytest

from cbsmrp.cli.scrape import parse, read
from cbsmrp.cli.top import table
from cbsmrp.config import ConfigError, Limits, RouterConfig
from cbsmrp.metrics import serve
from cbsmrp.service import RouterService
from cbsmrp.wire import PREAMBLE
from interest import Box, Region

pytestmark = pytest.mark.udp


async def scraped(driver, port):
    host = port.getHost()
    return await asyncio.get_running_loop().run_in_executor(None, read, f"{host.host}:{host.port}")


def test_a_router_in_numbers(overlay, until):
    async def scenario(overlay):
        core = overlay.router(limits=Limits(publications_per_second=40.0))
        leaf = overlay.router(core.address)
        port = serve(core.reactor, core, "127.0.0.1:0")
        try:
            here, there = await overlay.client(core), await overlay.client(leaf)
            await here.client.subscribe(Region([Box((0, 0), (1, 1)), Box((5, 0), (6, 1))]))
            await there.client.subscribe(Box((0, 0), (1, 1)))
            leaving, publisher = await overlay.client(core), await overlay.client(core)
            await leaving.client.subscribe(Box((0, 0), (1, 1)))
            for x in (0.5, 5.5, 9.0):  # wanted by three, by one, by nobody
                for _ in range(10):
                    await publisher.client.publish((x, 0.5), payload=b"0123456789")
            await until(lambda: (len(here.socket), len(there.socket), len(leaving.socket)) == (20, 10, 10), "delivery")
            shown = await scraped(core, port)
            by_neighbour = {row.neighbour: row for row in shown.vifs}
            assert (shown.address, shown.mode, shown.clipping, shown.attached) == (
                core.address, "shared-tree", True, True,
            )  # fmt: skip
            assert shown.receive_buffer == core.receive_buffer_granted > 0

            def row(client):
                return by_neighbour[f"127.0.0.1:{client.client.inner._port.getHost().port}"]

            down = by_neighbour[leaf.address]
            assert [r.kind for r in shown.vifs].count("host") == 3 and down.kind == "downstream"
            assert (row(here).regions, row(leaving).regions, row(publisher).regions, down.regions) == (2, 1, 0, 1)
            assert (row(publisher).packets_in, row(publisher).packets_out) == (30, 0)
            assert row(publisher).bytes_in == publisher.client.inner.host.upstream.traffic.bytes_out > 0
            rows = row(here), row(leaving), down
            assert [(r.packets_out, r.filtered) for r in rows] == [(20, 10), (10, 20), (10, 20)]
            assert row(publisher).filtered == 0
            assert (shown.publications, shown.delivered) == (30, 30)
            assert shown.received["subscribe"] >= 8 and shown.sent["challenge"] >= 4
            assert shown.in_force.count >= 4
            assert shown.in_force.below[10.0] == shown.in_force.count

            # A client that leaves takes nothing out of the sums; drops have their reasons.
            await leaving.client.close()
            for _ in range(100):
                await publisher.client.publish((9.0, 9.0))
            await until(lambda: core.endpoint.drops["rate_limited"] >= 50, "publications above the rate")
            core.endpoint.datagram(b"nonsense", ("127.0.0.1", 9), core.reactor.seconds())
            core.endpoint.datagram(PREAMBLE + b"\x99\x00\x00\x04", ("127.0.0.1", 9), core.reactor.seconds())
            await until(lambda: core.router.publications + core.endpoint.drops["rate_limited"] == 130, "all counted")
            later = await scraped(core, port)
            (ended,) = (row for row in later.vifs if row.vif == "ended")
            assert (ended.kind, ended.packets_out, ended.filtered) == ("host", 10, 20)
            assert later.delivered == 30
            assert later.total().packets_in == 130 and later.total().packets_out == shown.total().packets_out
            assert later.drops["bad_magic"] == later.drops["unknown_frame"] == 1
            limited = later.drops["rate_limited"]
            assert later.total().rate_limited == limited
            assert later.publications == 130 - limited
            lines = table(later, shown, 2.0).splitlines()
            assert f"rate_limited {limited}" in lines[-2]
            assert lines[1].split()[-2:] == ["IN/s", "OUT/s"] and lines[-3].split()[-2:] == ["50", "0"]
        finally:
            await port.stopListening().asFuture(asyncio.get_running_loop())

    overlay(scenario)


def test_a_service_shows_its_metrics_where_the_configuration_says(overlay):
    async def scenario(overlay):
        reactor = overlay.router().reactor
        service = RouterService(reactor, RouterConfig(listen="127.0.0.1:0", metrics="127.0.0.1:0"))
        service.startService()
        try:
            address = service.metrics_address

            def get(path):
                with urllib.request.urlopen(f"http://{address}{path}") as page:
                    return page.headers["Content-Type"], page.read().decode()

            kind, text = await asyncio.get_running_loop().run_in_executor(None, get, "/metrics")
            assert kind.startswith("text/plain") and parse(text).address == service.driver.address
            with pytest.raises(ConfigError, match=f"metrics = '{address}': Address already in use"):
                RouterService(reactor, RouterConfig(listen="127.0.0.1:0", metrics=address)).startService()
        finally:
            await service.stopService().asFuture(asyncio.get_running_loop())

    overlay(scenario)


def test_what_is_no_router_is_refused(overlay):
    async def scenario(overlay):
        async def other(reader, writer):
            await reader.readline()
            writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello\n")
            writer.close()

        server = await asyncio.start_server(other, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(ConfigError, match=f"what answers at 127.0.0.1:{port} is no router"):
                await asyncio.get_running_loop().run_in_executor(None, read, f"127.0.0.1:{port}")

    overlay(scenario)
