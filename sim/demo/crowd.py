"""What the publishers' and the subscribers' process have in common: joining with many clients, and the log.

The log is JSON lines, read back by `check`. Times are `time.monotonic()`, which all processes of a machine share.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from cbsmrp.config import Timers
from cbsmrp.udp.client import Client, connect

CONNECT_TIMEOUT = 10.0


@asynccontextmanager
async def joined(reactor: Any, routers: Mapping[str, str], timers: Timers) -> AsyncIterator[dict[str, Client]]:
    """A client for every name, joined to the router at its address. Raises `CannotConnect`."""
    clients: dict[str, Client] = {}
    try:
        for name, router in routers.items():
            clients[name] = await connect(reactor, router, timeout=CONNECT_TIMEOUT, timers=timers)
        yield clients
    finally:
        for client in clients.values():
            await client.close()


class Log:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write(self, **values: Any) -> None:
        self._file.write(json.dumps(values) + "\n")

    def links(self, clients: Mapping[str, Client]) -> None:
        """What each client knows of datagrams that its router sent and that did not arrive, and of its own drops."""
        for name, client in clients.items():
            engine = client.endpoint.engine
            lost = sum(vif.traffic.lost_on_link for vif in engine.rib)
            lost += sum(past.lost_on_link for past in engine.past_traffic.values())
            self.write(client=name, lost_on_link=lost, drops=dict(engine.drops))

    def __enter__(self) -> Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
