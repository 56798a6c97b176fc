"""Runs a verb's coroutine on the Twisted reactor, from its start to its exit code; and the options that clients share.

Called by the verbs that open sockets. Ctrl-C and SIGTERM cancel the coroutine, which leaves the overlay as it ends.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import deferLater
from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogBeginner
from twisted.python.failure import Failure
from zope.interface import implementer

from ..udp.client import Client, Event, connect
from .output import message

DEFAULT_ROUTER = "udp:127.0.0.1:9000"


def run_reactor(main: Callable[[Any], Coroutine[Any, Any, int]], interrupted: int = 1) -> int:
    """The coroutine's result, or `interrupted` if a signal ended it. What it raises is raised here."""
    from twisted.internet import reactor  # installs the reactor: only where one is wanted

    loop: Any = reactor
    globalLogBeginner.beginLoggingTo([_Log()], redirectStandardIO=False, discardBuffer=True)
    outcome: list[int | Failure] = []
    stopped = False

    def start() -> None:
        running: Deferred[int] = ensureDeferred(main(loop))

        def stop() -> None:
            nonlocal stopped
            stopped = True
            running.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: loop.callFromThread(stop))
        running.addBoth(finish)

    def finish(result: int | Failure) -> None:
        outcome.append(result)
        loop.stop()

    loop.callWhenRunning(start)
    loop.run(installSignalHandlers=False)
    (result,) = outcome
    if stopped:
        return interrupted
    if isinstance(result, Failure):
        result.raiseException()
    assert isinstance(result, int)
    return result


@implementer(ILogObserver)
class _Log:
    """Our own messages as short lines; of Twisted's only what is a defect, with its traceback."""

    def __call__(self, event: LogEvent) -> None:
        if str(event.get("log_namespace", "")).startswith("cbsmrp."):
            message(formatEvent(event))
        elif (failure := event.get("log_failure")) is not None:
            print(failure.getTraceback(), file=sys.stderr, flush=True)
        elif event.get("log_level") == LogLevel.critical:
            message(formatEvent(event))


def sleep(reactor: Any, seconds: float) -> Deferred[None]:
    return deferLater(reactor, max(0.0, seconds), lambda: None)


def add_router_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--router",
        action="append",
        metavar="HOST:PORT",
        help=f"router to join; repeat it to give others to fall back on (default {DEFAULT_ROUTER})",
    )


@asynccontextmanager
async def client(
    reactor: Any, args: argparse.Namespace, on_event: Callable[[Event], None] | None = None
) -> AsyncIterator[Client]:
    """The client that `--router` asks for; what it has to say goes to `on_event`, or what matters of it to stderr."""
    joined = await connect(reactor, *(args.router or [DEFAULT_ROUTER]))
    joined.on_event = on_event or _tell
    try:
        yield joined
    finally:
        while joined.unsent and joined.endpoint.engine.attached:
            await sleep(reactor, 0.002)
        joined.on_event = lambda event: None  # that it is detached now is no news
        await joined.close()


def _tell(event: Event) -> None:
    if event.kind in ("detached", "refused", "rate_limited"):
        message(f"{event.kind}: {event.detail}")
