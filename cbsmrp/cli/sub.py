"""`cbsmrp sub`: print what is published in a region, one JSON object a line."""

from __future__ import annotations

import argparse
from typing import Any

from twisted.internet.defer import DeferredQueue

from interest import Region

from ..udp.arguments import wanted
from ..udp.client import Event
from .output import PUBLICATION_FORM, json_line, message, publication_json
from .running import add_router_option, client, run_reactor
from .shapes import piece


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_router_option(parser)
    parser.add_argument(
        "--region",
        action="append",
        metavar="SHAPE",
        default=[],
        help="box(x0,y0,x1,y1), box(x0,y0,z0,x1,y1,z1), sphere(x,y,z,r), cylinder(x,y,r), cylinder(x,y,r,z0,z1)\n"
        "or POLYGON((x y, ...)) z0..z1; an omitted height is unbounded. Repeat it for a union.\n"
        "Without any: everywhere, and what is published without a place",
    )
    parser.add_argument("--layer", help="only what is published on this layer")
    parser.add_argument(
        "--where", metavar="CQL2", help="only what fulfils this condition, as in 'team = 2 AND speed > 3'"
    )
    parser.add_argument("-C", dest="count", type=_positive(int), metavar="COUNT", help="end after so many publications")
    parser.add_argument(
        "-W",
        dest="seconds",
        type=_positive(float),
        metavar="SECONDS",
        help="end so long after the subscription is in force",
    )
    parser.add_argument(
        "--events", action="store_true", help='print lines such as {"event": "in_force"} too: ' + ", ".join(EVENTS)
    )
    parser.epilog = PUBLICATION_FORM + "\nExit code 1 if -W ended it before -C COUNT publications had come."


#: The events that have a meaning for a subscriber, as printed.
EVENTS = ("attached", "in_force", "in_force_lost", "detached", "refused")


def _positive(kind: type[int] | type[float]) -> Any:
    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(0)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r}: give a {'whole ' if kind is int else ''}number above 0")
        return value

    return convert


def run(args: argparse.Namespace) -> int:
    pieces = [piece(text) for text in args.region]
    interest = wanted(Region(pieces) if pieces else None, args.layer, args.where)

    async def main(reactor: Any) -> int:
        # Publications and events in the order in which they came; None: the time is over.
        lines: DeferredQueue[dict[str, Any] | None] = DeferredQueue()
        in_force = False

        def on_event(event: Event) -> None:
            nonlocal in_force
            if event.kind == "in_force":
                if in_force or subscription is None or not subscription.in_force:
                    return
                in_force = True
            elif event.kind == "in_force_lost":
                if not in_force:
                    return
                in_force = False
            elif event.kind in ("detached", "refused"):
                message(f"{event.kind}: {event.detail}")
            if args.events and event.kind in EVENTS:
                detail = {"router": event.detail} if event.kind == "attached" else {"why": event.detail}
                lines.put({"event": event.kind} | (detail if event.detail and event.kind != "in_force" else {}))

        subscription = None
        received = 0
        async with client(reactor, args, on_event) as joined:
            on_event(Event("attached", joined.parent))
            subscription = await joined.subscribe(
                interest, on_publication=lambda publication: lines.put(publication_json(publication))
            )
            on_event(Event("in_force"))
            alarm = None if args.seconds is None else reactor.callLater(args.seconds, lines.put, None)
            while (line := await lines.get()) is not None:
                json_line(line)
                received += "event" not in line
                if received == args.count:
                    break
            if alarm is not None and alarm.active():
                alarm.cancel()
        return 0 if args.count is None or received >= args.count else 1

    return run_reactor(main, interrupted=0 if args.count is None else 1)
