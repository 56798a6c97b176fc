"""`cbsmrp bench`: load to and from a router, from many clients in this one process (one monotonic clock).

Every subscriber wants a box around the whole field, and changes it twice a second for another that is still around it;
so every publication is expected at every subscriber, and regions are in motion meanwhile.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from interest import Box

from ..config import ConfigError
from ..messages import Publication
from ..udp.client import Client, Event
from ..udp.subscription import Subscription
from .output import json_line, message
from .running import add_router_option, client, run_reactor, sleep

FIELD = 1000.0
TICK = 0.005
MOVE_EVERY = 0.5
#: How long to wait for what is still on its way.
DRAIN = 1.0
_STAMP = struct.Struct(">d")
#: Leaves room for the head, a point and the layer in a datagram of 1400 bytes.
_LONGEST = 1280


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_router_option(parser)
    parser.add_argument("--publishers", type=int, default=4, metavar="N", help="clients that publish (default 4)")
    parser.add_argument("--subscribers", type=int, default=4, metavar="M", help="clients that want it all (default 4)")
    parser.add_argument("--rate", type=float, default=50.0, help="publications a second of each publisher (default 50)")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to publish (default 5)")
    parser.add_argument("--size", type=int, default=64, metavar="BYTES", help="bytes of each payload (default 64)")
    parser.epilog = (
        "A JSON line on stdout, the same as a short table on stderr. Exit code 1 if publications were lost.\n"
        "One process carries all clients: past what one core can do, the loss is its own."
    )


@attrs.define
class _Counts:
    published: int = 0
    not_sent: int = 0
    latencies: list[float] = attrs.field(factory=list)
    in_force: list[float] = attrs.field(factory=list)
    rate_limited: int = 0


def run(args: argparse.Namespace) -> int:
    for name, least in (
        ("publishers", 1),
        ("subscribers", 0),
        ("rate", 0.001),
        ("seconds", 0.1),
        ("size", _STAMP.size),
    ):
        value = getattr(args, name)
        if not least <= value < float("inf"):
            raise ConfigError(f"--{name} {value:g}: give at least {least:g}")
    if args.size > _LONGEST:
        raise ConfigError(f"--size {args.size}: give at most {_LONGEST}, or it does not fit a datagram")
    counts = _Counts()
    rng = random.Random(0)
    layer = f"bench-{uuid.uuid4().hex[:8]}"

    def on_event(event: Event) -> None:
        if event.kind == "rate_limited":
            counts.rate_limited += 1
        if event.kind in ("detached", "rate_limited"):
            message(f"cbsmrp bench: {event.detail}")

    def around() -> Box:
        margin = rng.uniform(1.0, 100.0)
        return Box((-margin, -margin), (FIELD + margin, FIELD + margin))

    async def main(reactor: Any) -> int:
        def arrived(publication: Publication) -> None:
            counts.latencies.append(reactor.seconds() - _STAMP.unpack_from(publication.payload)[0])

        async def in_force(change: Deferred[Any]) -> Any:
            began = reactor.seconds()
            result = await change
            counts.in_force.append(reactor.seconds() - began)
            return result

        async with AsyncExitStack() as stack:
            publishers = [
                await stack.enter_async_context(client(reactor, args, on_event)) for _ in range(args.publishers)
            ]
            listeners = [
                await stack.enter_async_context(client(reactor, args, on_event)) for _ in range(args.subscribers)
            ]
            subscriptions: list[Subscription] = [
                await in_force(listener.subscribe(around(), layer=layer, on_publication=arrived))
                for listener in listeners
            ]
            began = reactor.seconds()
            moves: list[Deferred[Any]] = []
            # Each publisher and each subscriber has a phase of its own, so that nothing happens in step.
            next_at = [began + rng.random() / args.rate for _ in publishers]
            move_at = [began + rng.random() * MOVE_EVERY for _ in subscriptions]
            while (now := reactor.seconds()) < began + args.seconds:
                for i, publisher in enumerate(publishers):
                    while next_at[i] <= now:
                        next_at[i] += 1 / args.rate
                        await publish(publisher, reactor.seconds())
                for i, subscription in enumerate(subscriptions):
                    if move_at[i] <= now:
                        move_at[i] += MOVE_EVERY
                        moves.append(Deferred.fromCoroutine(in_force(subscription.move(around()))))
                await sleep(reactor, TICK)
            seconds = reactor.seconds() - began
            expected = counts.published * len(subscriptions)
            until = reactor.seconds() + DRAIN
            while len(counts.latencies) < expected and reactor.seconds() < until:
                await sleep(reactor, TICK)
            for move in moves:
                move.addErrback(lambda _: None)  # one that is not in force by now has no latency to report
            report = _report(counts, seconds, expected, publishers, listeners)
        json_line(report)
        print(_table(report), file=sys.stderr)
        return 1 if report["lost"] or counts.not_sent else 0

    async def publish(publisher: Client, now: float) -> None:
        at = (rng.uniform(0, FIELD), rng.uniform(0, FIELD), 0.0)
        payload = _STAMP.pack(now) + bytes(args.size - _STAMP.size)
        if await publisher.publish(at, layer=layer, payload=payload) is None:
            counts.not_sent += 1
        else:
            counts.published += 1

    return run_reactor(main)


def _report(
    counts: _Counts, seconds: float, expected: int, publishers: Sequence[Client], listeners: Sequence[Client]
) -> dict[str, Any]:
    received = len(counts.latencies)
    on_link = sum(up.traffic.lost_on_link for each in listeners if (up := each.host.upstream) is not None)
    return {
        "publishers": len(publishers),
        "subscribers": len(listeners),
        "seconds": round(seconds, 3),
        "published": counts.published,
        "not_sent": counts.not_sent,
        "rate_limited": counts.rate_limited,
        "published_per_second": round(counts.published / seconds, 1),
        "expected": expected,
        "received": received,
        "received_per_second": round(received / seconds, 1),
        "lost": expected - received,
        "lost_on_link": on_link,
        "latency_ms": _percentiles(counts.latencies),
        "in_force_ms": _percentiles(counts.in_force),
    }


def _percentiles(seconds: Sequence[float]) -> dict[str, float] | None:
    """p50, p90, p99 and max in milliseconds; None of nothing."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    return {
        name: round(1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)
        for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    }


def _table(report: dict[str, Any]) -> str:
    def row(name: str, values: dict[str, float] | None) -> str:
        text = "  ".join(f"{key} {value:.2f}" for key, value in values.items()) if values else "none"
        return f"{name:<14}{text}"

    return "\n".join(
        (
            f"{'published':<14}{report['published']} ({report['published_per_second']:g}/s)",
            f"{'received':<14}{report['received']} of {report['expected']} ({report['received_per_second']:g}/s), "
            f"lost {report['lost']}, datagrams lost on links to us {report['lost_on_link']}",
            row("latency ms", report["latency_ms"]),
            row("in force ms", report["in_force_ms"]),
        )
    )
