"""The same client for asyncio programs: coroutines instead of Deferreds, on whatever event loop is running.

    client = await connect("udp:127.0.0.1:9000")
    async with client: ...

Twisted's asyncio reactor is put on the running loop for this client alone; nothing is installed globally.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import Any

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.defer import Deferred, ensureDeferred

from interest import Expression, Value

from .config import Timers
from .messages import Publication
from .udp.arguments import Place, Wanted
from .udp.client import CONNECT_TIMEOUT, Event
from .udp.client import Client as TwistedClient
from .udp.client import connect as twisted_connect
from .udp.driver import RECEIVE_BUFFER
from .udp.subscription import Ended
from .udp.subscription import Subscription as TwistedSubscription


class LoopReactor(AsyncioSelectorReactor):
    """Twisted's reactor on the running event loop, for one driver; it needs no closing."""

    def __init__(self) -> None:
        AsyncioSelectorReactor.__init__(self, asyncio.get_running_loop())

    #: The reactor's own is the time of day, which may be set back while something waits.
    seconds = staticmethod(time.monotonic)

    def installWaker(self) -> None:
        """No pipe to wake it up: the event loop has its own, and nothing would ever close this one."""


class InForceAt:
    """Await it to know that a change is in force. Nobody need."""

    def __init__(self, deferred: Deferred[None]) -> None:
        self._deferred = deferred

    def __await__(self) -> Generator[Any, None, None]:
        return _future(self._deferred).__await__()


def _future(deferred: Deferred[Any]) -> asyncio.Future[Any]:
    return deferred.asFuture(asyncio.get_running_loop())


class Subscription:
    """One region of interest: an asynchronous iterator of publications."""

    def __init__(self, inner: TwistedSubscription) -> None:
        self.inner = inner

    @property
    def in_force(self) -> bool:
        return self.inner.in_force

    @property
    def dropped(self) -> int:
        return self.inner.dropped

    def move(self, region: Wanted) -> InForceAt:
        """Takes effect at once; await it to know that it is in force."""
        return InForceAt(self.inner.move(region))

    def stop(self) -> None:
        self.inner.stop()

    async def __aiter__(self) -> AsyncIterator[Publication]:
        while True:
            try:
                publication = await _future(self.inner.next())
            except Ended:
                return
            yield publication


class Client:
    def __init__(self, inner: TwistedClient) -> None:
        self.inner = inner

    @property
    def on_event(self) -> Callable[[Event], None]:
        """Called with an `Event` at every turn of the client's life; set it to hear."""
        return self.inner.on_event

    @on_event.setter
    def on_event(self, call: Callable[[Event], None]) -> None:
        self.inner.on_event = call

    async def subscribe(
        self, region: Wanted = None, *, layer: str | None = None, where: str | Expression | None = None
    ) -> Subscription:
        """Returns when the subscription is in force."""
        return Subscription(await _future(self.inner.subscribe(region, layer=layer, where=where)))

    def publish(
        self,
        at: Place,
        *,
        layer: str | None = None,
        attributes: Mapping[str, Value] | None = None,
        payload: bytes = b"",
    ) -> asyncio.Future[Publication | None]:
        """Takes effect at once, awaited or not."""
        return _future(self.inner.publish(at, layer=layer, attributes=attributes, payload=payload))

    async def close(self) -> None:
        await _future(self.inner.close())

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


async def connect(
    *routers: str,
    timeout: float = CONNECT_TIMEOUT,
    timers: Timers | None = None,
    source_clipping: bool = False,
    receive_buffer: int = RECEIVE_BUFFER,
    on_event: Callable[[Event], None] | None = None,
) -> Client:
    """Join the overlay; arguments and errors as of `cbsmrp.udp.client.connect`."""
    joining = twisted_connect(
        LoopReactor(),
        *routers,
        timeout=timeout,
        timers=timers,
        source_clipping=source_clipping,
        receive_buffer=receive_buffer,
        on_event=on_event,
    )
    return Client(await _future(ensureDeferred(joining)))


__all__ = ["Client", "Event", "LoopReactor", "Subscription", "connect"]
