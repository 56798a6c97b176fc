"""`cbsmrp replay`: publish a recorded trace of moving objects, each object as a source of its own, in its own time.

Every arena of a trace has a clock of its own, which starts when its first row is due; so arenas that stand one after
the other in a file follow each other at once, and arenas that are interleaved keep their step.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from ..config import ConfigError
from ..traces import Sample, arena, read
from ..udp.client import Client, Event, Publisher
from .output import json_line, message
from .running import add_router_option, client, run_reactor, sleep

#: A row that is sent so many seconds after its time counts as late.
LATE = 0.05
#: Let the socket be served after so many rows without a pause.
_BATCH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_router_option(parser)
    parser.add_argument(
        "--trace",
        required=True,
        metavar="FILE",
        help="CSV, CSV.gz or Parquet with columns t,id,x,y[,z] (seconds, metres)",
    )
    parser.add_argument("--speed", type=float, default=1.0, help="times as fast as recorded (default 1)")
    parser.add_argument("--layer", help="layer to publish on (default: the arena, an id's part before its first dot)")
    parser.add_argument("--loop", action="store_true", help="start again at the end")
    parser.epilog = (
        "Each id is a source of its own and is published as the attribute id. At the end one JSON line says rows,\n"
        "published, not_sent, seconds, late (rows sent more than 0.05 s after their time) and latest (seconds).\n"
        "Exit code 1 if rows could not be sent."
    )


@attrs.define
class _Summary:
    rows: int = 0
    published: int = 0
    not_sent: int = 0
    late: int = 0
    latest: float = 0.0


def schedule(samples: Iterable[Sample], at: float, speed: float) -> Iterator[tuple[float, Sample]]:
    """When each sample is due (seconds), the first at `at`."""
    zero: dict[str, float] = {}
    for sample in samples:
        at = zero.setdefault(arena(sample.id), at - sample.t / speed) + sample.t / speed
        yield at, sample


def run(args: argparse.Namespace) -> int:
    if not (args.speed > 0 and math.isfinite(args.speed)):
        raise ConfigError(f"--speed {args.speed:g}: give a number above 0")
    # A file that cannot be read is told of before any router is asked.
    samples = read(args.trace)
    first = next(samples)
    summary = _Summary()
    seconds = 0.0

    async def main(reactor: Any) -> int:
        nonlocal seconds
        async with client(reactor, args, _tell) as joined:
            began = reactor.seconds()
            try:
                rows: Iterator[Sample] = itertools.chain([first], samples)
                due = 0.0
                publishers: dict[str, Publisher] = {}
                while True:
                    due = await _play(reactor, joined, rows, publishers, due, began)
                    if not args.loop:
                        break
                    await sleep(reactor, 0.0)
                    rows = read(args.trace)
            finally:
                seconds = reactor.seconds() - began
        return 1 if summary.not_sent else 0

    async def _play(
        reactor: Any, joined: Client, rows: Iterator[Sample], publishers: dict[str, Publisher], due: float, began: float
    ) -> float:
        """Play the rows once, from time `due` on; returns when the last was due."""
        unpaused = 0
        for at, sample in schedule(rows, due, args.speed):
            due = at
            wait = began + due - reactor.seconds()
            if wait > 0.001 or unpaused == _BATCH:
                await sleep(reactor, wait)
                unpaused = 0
            unpaused += 1
            behind = reactor.seconds() - began - due
            summary.late += behind > LATE
            summary.latest = max(summary.latest, behind)
            if (publisher := publishers.get(sample.id)) is None:
                publisher = publishers[sample.id] = joined.publisher()
            place = (sample.x, sample.y) if sample.z is None else (sample.x, sample.y, sample.z)
            layer = args.layer if args.layer is not None else arena(sample.id) or None
            summary.rows += 1
            if publisher.publish(place, layer=layer, attributes={"id": sample.id}) is None:
                summary.not_sent += 1
            else:
                summary.published += 1
        return due

    try:
        return run_reactor(main)
    finally:
        if summary.rows:
            json_line(attrs.asdict(summary) | {"latest": round(summary.latest, 4), "seconds": round(seconds, 3)})


def _tell(event: Event) -> None:
    if event.kind in ("detached", "rate_limited"):
        message(f"cbsmrp replay: {event.detail}")
