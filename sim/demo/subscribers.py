"""The subscribers' process: several clients of the overlay, each with some areas of interest that move by the plan.

Started by `overlay` through `child`. It logs when each version of an area was asked for and when it was in force, when
that promise was taken back and given again, and every publication that reached a client's socket, before the client's
own filter, with whether the client handed it on to a subscription.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from cbsmrp.cli.output import json_line
from cbsmrp.cli.running import run_reactor, sleep
from cbsmrp.config import Timers
from cbsmrp.messages import Publication
from cbsmrp.udp.client import Client, Event
from cbsmrp.udp.subscription import Subscription
from cbsmrp.wire import PublicationFrame
from interest import NOTHING
from sim.workload.workload import to_interest

from . import plan
from .child import Commands
from .crowd import Log, joined

PROGRESS = 0.5
#: When nothing has arrived for so long after the last publication, seconds, everything that was on its way has.
QUIET = 0.5


class Watch:
    """Everything that is to be logged, kept in memory until the run is over."""

    def __init__(self) -> None:
        #: By client: [time, source, sequence, handed on].
        self.arrived: dict[str, list[list[Any]]] = {}
        #: By client: [when the promise was taken back, when it held again or None].
        self.lost: dict[str, list[list[float | None]]] = {}
        self.asked: dict[int, float] = {}
        self.in_force: dict[int, float] = {}
        self.last = 0.0
        self.count = 0

    def follow(self, name: str, client: Client) -> None:
        arrived = self.arrived[name] = []
        lost = self.lost[name] = []

        def on_arrival(frame: PublicationFrame) -> None:
            self.last = time.monotonic()
            self.count += 1
            arrived.append([self.last, frame.source, frame.sequence, False])

        def on_event(event: Event) -> None:
            waiting = bool(lost) and lost[-1][1] is None
            if event.kind == "in_force" and waiting:
                lost[-1][1] = time.monotonic()
            elif event.kind == "in_force_lost" and not waiting:
                lost.append([time.monotonic(), None])

        client.arrived = on_arrival
        client.on_event = on_event

    def handed_on(self, name: str, publication: Publication) -> None:
        """Called by the client right after the arrival, for each subscription that wants the publication."""
        row = self.arrived[name][-1]
        assert row[1:3] == [publication.source, publication.sequence]
        row[3] = True

    def wait_for(self, number: int, promised: Deferred[None]) -> None:
        def stamp(_: None) -> None:
            self.in_force[number] = time.monotonic()

        promised.addCallbacks(stamp, _never)

    def tell(self) -> None:
        """Progress, for the demo's table."""
        json_line({"moved": len(self.asked), "arrived": self.count})

    def write(self, log: Log) -> None:
        for number, asked in self.asked.items():
            log.write(move=number, asked=asked, in_force=self.in_force.get(number))
        for name, spans in self.lost.items():
            for since, until in spans:
                log.write(client=name, in_force_lost=since, until=until)
        for name, rows in self.arrived.items():
            for at, source, sequence, handed in rows:
                log.write(client=name, arrived=at, source=f"{source:016x}", sequence=sequence, handed=handed)


def _never(failure: Failure) -> None:
    """A region was refused, or the process is ending: it never was in force, which the log shows."""


def run(job: Any, commands: Commands) -> int:
    moves = plan.read_moves(Path(job["plan"]))

    async def main(reactor: Any) -> int:
        orders = commands.deferred(reactor)
        async with joined(reactor, job["clients"], Timers()) as clients:
            watch = Watch()
            for name, client in clients.items():
                watch.follow(name, client)
            subscriptions: dict[str, Subscription] = {}
            for number, move in enumerate(moves):
                if move.time is None:
                    subscriptions[move.name] = await _subscribe(watch, clients[move.client], number, move)
            json_line({"ready": True})
            start = (await orders.get())["start"]
            await _move(reactor, start, moves, subscriptions, watch)
            await orders.get()  # the publishers are done
            while time.monotonic() < watch.last + QUIET:
                await sleep(reactor, QUIET / 5)
            watch.tell()
            for subscription in subscriptions.values():
                # The router's answer says how many datagrams it has sent here.
                await subscription.move(NOTHING)
            with Log(Path(job["log"])) as log:
                watch.write(log)
                log.links(clients)
            json_line({"done": True})
            await orders.get()
        return 0

    return run_reactor(main, interrupted=0)


async def _subscribe(watch: Watch, client: Client, number: int, move: plan.Move) -> Subscription:
    watch.asked[number] = time.monotonic()
    asking = client.subscribe(
        to_interest(move.piece),
        layer=move.layer,
        on_publication=lambda publication: watch.handed_on(move.client, publication),
    )
    subscription = await asking
    watch.in_force[number] = time.monotonic()
    return subscription


async def _move(
    reactor: Any, start: float, moves: list[plan.Move], subscriptions: dict[str, Subscription], watch: Watch
) -> None:
    """Every move at its time. When the process was kept from running, only the newest of each area is made up for."""
    due: dict[str, tuple[int, plan.Move]] = {}
    tell_at = start
    for number, move in enumerate(moves):
        if move.time is None:
            continue
        if (wait := start + move.time - time.monotonic()) > 0:
            _carry_out(due, subscriptions, watch)
            await sleep(reactor, wait)
        due[move.name] = number, move
        if (now := time.monotonic()) >= tell_at:
            tell_at = now + PROGRESS
            watch.tell()
    _carry_out(due, subscriptions, watch)


def _carry_out(due: dict[str, tuple[int, plan.Move]], subscriptions: dict[str, Subscription], watch: Watch) -> None:
    for number, move in due.values():
        watch.asked[number] = time.monotonic()
        watch.wait_for(number, subscriptions[move.name].move(to_interest(move.piece)))
    due.clear()
