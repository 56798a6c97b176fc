"""The live client: what a DVE server or a game client holds. `connect`, `subscribe`, `move`, `publish`.

    client = await connect(reactor, "udp:127.0.0.1:9000")
    sub = await client.subscribe(Sphere((x, y, z), 50), layer="avatars", where="team = 2")   # in force
    sub.move(Sphere(there, 50))
    client.publish((x, y, z), layer="avatars", attributes={"team": 2}, payload=b"...")
    async for publication in sub: ...

Everything takes effect when it is called; the Deferreds only tell when it is done. For asyncio programs: `cbsmrp.aio`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import CannotListenError

from interest import Expression, Interest, InterestError, Value

from ..config import ConfigError, Timers
from ..endpoint import HostEndpoint
from ..host import Host, Source
from ..host import Subscription as EngineSubscription
from ..messages import Publication
from ..ready import Attached, Detached, InForce, InForceLost, NoAnswer, Notice, RateRefused, SubscriptionRefused
from ..wire import Codec, PublicationFrame
from .address import any_interface, format_address, resolve
from .arguments import Place, Wanted, named, place, wanted
from .driver import RECEIVE_BUFFER, Driver, Reactor
from .subscription import QUEUE, Canceller, Ended, InForceAt, Refused, Subscription, call_user

CONNECT_TIMEOUT = 3.0


class CannotConnect(ConnectionError):
    """No router would have us in time; the message says which and why."""


@attrs.frozen
class Event:
    """A turn in the client's life. `kind`, and what `detail` says:

    attached: there is a way to the core; the router's address (again when the router has found another way).
    detached: the router is lost; its address and why. The client is looking for one.
    in_force: all subscriptions up to this version are in force. in_force_lost: none is, until the next in_force.
    refused: a subscription, or a change of one; the router's reason. rate_limited: publications are dropped; the limit.
    """

    kind: str
    detail: str = ""


class Publisher:
    """Publishes as one source of its own (64 random bits): a replay has one for each object."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._source = Source(random.SystemRandom().getrandbits(64))

    @property
    def source(self) -> int:
        return self._source.id

    def publish(
        self,
        at: Place,
        *,
        layer: str | None = None,
        attributes: Mapping[str, Value] | None = None,
        payload: bytes = b"",
    ) -> Publication | None:
        """As `Client.publish`, at once."""
        return self._client._publish(at, layer, attributes, payload, self._source)


class Client(Driver):
    """One link to the overlay. Built by `connect`.

    `on_event` (an attribute) is called with an `Event` at every turn; `arrived` with every publication frame that
    reaches the socket, before the client's own filter.
    """

    endpoint: HostEndpoint

    def __init__(
        self, reactor: Reactor, routers: Sequence[str], timers: Timers, source_clipping: bool, receive_buffer: int
    ) -> None:
        super().__init__(reactor, receive_buffer)
        self.candidates = [resolve(router) for router in routers]
        for router, (_, port) in zip(routers, self.candidates, strict=True):
            if port == 0:
                raise ConfigError(f"router {router!r} has port 0: give the port that it listens on")
        if len({any_interface(candidate) for candidate in self.candidates}) != 1:
            raise ConfigError(f"routers {', '.join(routers)}: give at least one, and all of them either IPv4 or IPv6")
        codec = Codec()
        self.host = Host(
            generation=time.time_ns() // 1_000_000,
            timers=timers,
            rng=random.Random(random.SystemRandom().getrandbits(128)),
            candidates=self.candidates,
            opted=source_clipping,
            chunk_bytes=codec.chunk_bytes,
            now=self.now(),
        )
        self.on_event: Callable[[Event], None] = lambda event: None
        self.arrived: Callable[[PublicationFrame], None] | None = None
        self.parent = ""
        self._why = "no answer"
        self._attached: Deferred[None] = Deferred()
        self._subscriptions: dict[int, Subscription] = {}
        self._waiters: dict[InForceAt, None] = {}
        self._many_waiters = QUEUE
        #: The newest version that was refused, of each subscription, and why.
        self._refusals: dict[int, tuple[int, str]] = {}
        self._closed = False
        self.endpoint = HostEndpoint(self.host, codec, self._delivered, self._notice, self._arrived)
        self._port: Any = None

    def open(self) -> Deferred[None]:
        """Bind a socket and join; fires when a router has answered."""
        try:
            self._port = self.reactor.listenUDP(0, self, any_interface(self.candidates[0]), 65536)
        except CannotListenError as error:
            raise CannotConnect(f"no socket to be had: {error.socketError}") from None
        return self._attached

    # -- what users call ---------------------------------------------------------------------------

    def subscribe(
        self,
        region: Wanted = None,
        *,
        layer: str | None = None,
        where: str | Expression | None = None,
        on_publication: Callable[[Publication], None] | None = None,
    ) -> Deferred[Subscription]:
        """Want what happens in a region (metres; None: anywhere, publications without a place included).

        `layer` is the reserved attribute of that name, `where` CQL2 text or an expression. Fires with the
        `Subscription` when it is in force: every matching publication sent anywhere from then on arrives. Fails with
        `Refused`. Cancelling it ends the subscription. Raises `InterestError`.
        """
        self._check_open()
        engine = self.host.subscribe(wanted(region, layer, where), self.now())
        subscription = Subscription(self, engine, (layer, where), on_publication)
        self._subscriptions[engine.id] = subscription
        waiting = self._wait(engine, lambda _: subscription.stop())
        self._done()
        result: Deferred[Subscription] = waiting.addCallback(lambda _: subscription)
        return result

    def publish(
        self,
        at: Place,
        *,
        layer: str | None = None,
        attributes: Mapping[str, Value] | None = None,
        payload: bytes = b"",
    ) -> Deferred[Publication | None]:
        """Tell everybody who wants it what happened at a place: (x, y), (x, y, z), Box, Prism or None (metres).

        Fires at once: with the publication as sent, or None if it was not (nobody wants it, or no router at the
        moment). Raises `InterestError` for what cannot be published, `ValueError` if it does not fit a datagram.
        """
        return succeed(self._publish(at, layer, attributes, payload, self.host.publishing))

    def publisher(self) -> Publisher:
        """A source of its own on this link."""
        return Publisher(self)

    def close(self) -> Deferred[None]:
        """Leave the overlay (QUIT) and close the socket."""
        if self._closed:
            return succeed(None)
        self._closed = True
        self.endpoint.leave(self.now())
        self.pump()
        for subscription in self._subscriptions.values():
            subscription._end()
        self._tell_waiters()
        closing: Deferred[None] = Deferred()
        stopped = self._port.stopListening()
        if isinstance(stopped, Deferred):
            stopped.addBoth(lambda _: closing.callback(None))
        else:
            closing.callback(None)
        return closing

    # -- inside ----------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise Ended("the client has been closed")

    def _publish(
        self, at: Place, layer: str | None, attributes: Mapping[str, Value] | None, payload: bytes, source: Source
    ) -> Publication | None:
        self._check_open()
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise InterestError(f"payload {payload!r}: give bytes")
        publication = self.endpoint.publish(place(at), named(attributes, layer), bytes(payload), self.now(), source)
        self.pump_soon()
        return publication

    def _move(self, engine: EngineSubscription, value: Interest) -> Deferred[None]:
        self._check_open()
        self.host.move(engine, value, self.now())
        waiting = self._wait(engine)
        self._done()
        return waiting

    def _stop(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription.id, None)
        self.host.unsubscribe(subscription._engine, self.now())
        self._done()

    def _done(self) -> None:
        self.endpoint.carry_out()
        self.pump_soon()

    def _wait(self, engine: EngineSubscription, canceller: Canceller | None = None) -> InForceAt:
        waiter = InForceAt(self, engine, canceller)
        if len(self._waiters) >= self._many_waiters:
            self._waiters = {waiter: None for waiter in self._waiters if waiter.heard}
            self._many_waiters = 2 * len(self._waiters) + QUEUE
        self._waiters[waiter] = None
        return waiter

    def _listens(self, waiter: InForceAt) -> None:
        self._waiters[waiter] = None
        if (outcome := self._outcome(waiter)) is not None:
            self._tell(waiter, outcome)

    def _outcome(self, waiter: InForceAt) -> bool | Exception | None:
        """True: in force; None: not known yet."""
        if self._closed:
            return Ended("the client has been closed")
        refused, text = self._refusals.get(waiter.subscription, (0, ""))
        if waiter.version <= refused:
            return Refused(text)
        if waiter.version <= self.host.in_force:
            return True
        return None if waiter.subscription in self._subscriptions else Ended("this subscription has ended")

    def _tell_waiters(self) -> None:
        for waiter in list(self._waiters):
            if waiter.heard and (outcome := self._outcome(waiter)) is not None:
                self._tell(waiter, outcome)

    def _tell(self, waiter: InForceAt, outcome: bool | Exception) -> None:
        self._waiters.pop(waiter, None)
        if waiter.called:  # or cancelled
            return
        if isinstance(outcome, Exception):
            waiter.errback(outcome)
        else:
            waiter.callback(None)

    def _arrived(self, frame: PublicationFrame) -> None:
        if self.arrived is not None:
            call_user(self.arrived, frame)

    def _delivered(self, ids: list[int], frame: PublicationFrame) -> None:
        publication = frame.publication()
        for key in ids:
            if (subscription := self._subscriptions.get(key)) is not None:
                subscription._deliver(publication)

    def _notice(self, notice: Notice) -> None:
        if self._closed:
            return
        if isinstance(notice, Attached):
            self.parent = format_address(notice.parent)
            self._tell_user(Event("attached", self.parent))
            if not self._attached.called:
                self._attached.callback(None)
        elif isinstance(notice, Detached):
            self._tell_user(Event("detached", f"{self.parent}: {notice.why}"))
        elif isinstance(notice, NoAnswer):
            self._why = f"{format_address(notice.candidate)}: {notice.why}"
        elif isinstance(notice, InForce):
            self._tell_user(Event("in_force", str(notice.version)))
            self._tell_waiters()
        elif isinstance(notice, InForceLost):
            self._tell_user(Event("in_force_lost"))
        elif isinstance(notice, SubscriptionRefused):
            self._refused(notice)
        elif isinstance(notice, RateRefused):
            self._tell_user(Event("rate_limited", notice.text))

    def _tell_user(self, event: Event) -> None:
        call_user(self.on_event, event)

    def _refused(self, notice: SubscriptionRefused) -> None:
        self._tell_user(Event("refused", notice.text))
        self._refusals[notice.subscription] = (notice.version, notice.text)
        if notice.interest is None and (ended := self._subscriptions.pop(notice.subscription, None)) is not None:
            ended._end()
        self._tell_waiters()


async def connect(
    reactor: Any,
    *routers: str,
    timeout: float = CONNECT_TIMEOUT,
    timers: Timers | None = None,
    source_clipping: bool = False,
    receive_buffer: int = RECEIVE_BUFFER,
    on_event: Callable[[Event], None] | None = None,
) -> Client:
    """Join the overlay through the first of these routers that will have us (`"udp:HOST:PORT"`), and stay, whatever
    happens to it.

    `source_clipping`: hold back publications that nobody wants (at the price of a message per second). `on_event` is
    called with an `Event` at every turn, from the first on. Raises `CannotConnect` when no router has answered within
    `timeout` seconds, `ConfigError` for an argument that cannot be meant.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise ConfigError(f"timeout {timeout!r}: give seconds, more than 0")
    if timers is not None and not isinstance(timers, Timers):
        raise ConfigError(f"timers {timers!r}: give cbsmrp.config.Timers(...)")
    client = Client(reactor, routers, timers or Timers(), source_clipping, receive_buffer)
    if on_event is not None:
        client.on_event = on_event
    attached = client.open()
    alarm = reactor.callLater(timeout, attached.cancel)
    try:
        await attached
    except Exception:
        await client.close()
        raise CannotConnect(
            f"no router at {', '.join(routers)} within {timeout:g} s ({client._why}): start it, or give another"
        ) from None
    finally:
        if alarm.active():
            alarm.cancel()
    return client
