"""A subscription as its owner holds it: an iterator of publications, a region that moves, and when it is in force.

Made by `client.Client.subscribe`.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from interest import Expression, Interest

from ..host import Subscription as EngineSubscription
from ..messages import Publication
from .arguments import Wanted, wanted

if TYPE_CHECKING:
    from .client import Client

_log = Logger()
_T = TypeVar("_T")

#: Publications that wait for a slow reader; past that the oldest goes, and is counted.
QUEUE = 4096

Canceller = Callable[[Deferred[Any]], None]


class Refused(RuntimeError):
    """The router does not take this subscription; the message is its own."""


class Ended(Exception):
    """The client has been closed, or the subscription has."""


def call_user(user: Callable[[_T], object], what: _T) -> None:
    """What a user's function raises is the user's, and must not keep the client from going on."""
    try:
        user(what)
    except Exception:
        _log.failure("{user} of this program has failed; the client goes on", user=user)


def _listening(add: Any) -> Any:
    @functools.wraps(add)
    def method(self: InForceAt, *args: Any, **kwargs: Any) -> Any:
        added = add(self, *args, **kwargs)
        if not self.called:
            self.client._listens(self)
        return added

    return method


class InForceAt(Deferred[None]):
    """Tells when a version of a subscription is in force. Nobody need listen: a client moves many times a second, and
    what nobody listens to is neither kept for ever nor logged as an error that nobody has handled."""

    def __init__(self, client: Client, subscription: EngineSubscription, canceller: Canceller | None) -> None:
        super().__init__(canceller)
        self.client = client
        self.subscription = subscription.id
        self.version = subscription.version

    @property
    def heard(self) -> bool:
        return len(self._callbacks) > 0

    addCallbacks = _listening(Deferred.addCallbacks)
    addCallback = _listening(Deferred.addCallback)
    addErrback = _listening(Deferred.addErrback)
    addBoth = _listening(Deferred.addBoth)


class Subscription:
    """One region of interest, moving or not. Iterate over it, or give `on_publication` to `subscribe`."""

    def __init__(
        self,
        client: Client,
        engine: EngineSubscription,
        how: tuple[str | None, str | Expression | None],
        on_publication: Callable[[Publication], None] | None,
    ) -> None:
        self._client = client
        self._engine = engine
        self._how = how
        self._on_publication = on_publication
        self._queue: deque[Publication] = deque()
        self._readers: deque[Deferred[Publication]] = deque()
        self._ended = False
        #: Publications that a slow reader made us forget.
        self.dropped = 0

    @property
    def id(self) -> int:
        return self._engine.id

    @property
    def interest(self) -> Interest:
        return self._engine.interest

    @property
    def version(self) -> int:
        """Rises with every change; what `Client.in_force` is compared with."""
        return self._engine.version

    @property
    def in_force(self) -> bool:
        """Does every router that must know of the newest `move` know?"""
        return not self._ended and 0 < self._engine.version <= self._client.host.in_force

    def move(self, region: Wanted) -> Deferred[None]:
        """Want this region from now on (same layer and condition). The Deferred fires when it is in force, or fails
        with `Refused`."""
        if self._ended:
            raise Ended("this subscription has ended")
        layer, where = (None, None) if isinstance(region, Interest) else self._how
        return self._client._move(self._engine, wanted(region, layer, where))

    def stop(self) -> None:
        """Want nothing any longer; iteration ends when what has arrived is read."""
        if not self._ended:
            self._client._stop(self)
            self._end()

    def next(self) -> Deferred[Publication]:
        """The next publication. Fails with `Ended` when the subscription has ended and everything is read."""
        if self._queue:
            return succeed(self._queue.popleft())
        deferred: Deferred[Publication] = Deferred(lambda d: self._readers.remove(d))
        if self._ended:
            deferred.errback(Ended("this subscription has ended"))
        else:
            self._readers.append(deferred)
        return deferred

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Publication:
        try:
            return await self.next()
        except Ended:
            raise StopAsyncIteration from None

    def _deliver(self, publication: Publication) -> None:
        if self._on_publication is not None:
            call_user(self._on_publication, publication)
        elif self._readers:
            self._readers.popleft().callback(publication)
        else:
            if len(self._queue) >= QUEUE:
                self._queue.popleft()
                self.dropped += 1
            self._queue.append(publication)

    def _end(self) -> None:
        self._ended = True
        while self._readers:
            self._readers.popleft().errback(Ended("this subscription has ended"))
