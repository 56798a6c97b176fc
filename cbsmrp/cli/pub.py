"""`cbsmrp pub`: publish one update, or one for each JSON line of standard input."""

from __future__ import annotations

import argparse
import base64
import binascii
import json
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from twisted.internet.defer import DeferredQueue

from interest import Extent, Point, Value
from interest.errors import InterestError
from interest.value import check_name, check_value

from ..udp.arguments import place
from ..udp.client import Client, Event
from .output import message
from .running import add_router_option, client, run_reactor
from .shapes import attribute, point

_KEYS = ("at", "layer", "attributes", "payload")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_router_option(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--at", metavar="X,Y[,Z]", help="place in metres; an omitted Z is unbounded")
    where.add_argument("--stdin", action="store_true", help="read JSON lines, see below")
    parser.add_argument("--layer", help="layer to publish on")
    parser.add_argument(
        "--attr",
        action="append",
        metavar="NAME=VALUE",
        default=[],
        help="attribute: team=2, speed=3.5, alive=true, name=joe; quotes make a string in any case: team='\"2\"'",
    )
    parser.add_argument("--payload", default="", metavar="TEXT", help="what the update carries")
    parser.epilog = (
        'Lines of --stdin: {"at": [x, y, z], "layer": "...", "attributes": {...}, "payload": "..."}.\n'
        'z may be left out, and every key may: without "at" the update has no place; for the others --layer,\n'
        "--attr and --payload stand in. "
        'A payload that is not text: {"base64": "..."}. Exit code 1 if something could not be sent.'
    )


@attrs.frozen
class Update:
    """What one publication says."""

    at: Extent = None
    layer: str | None = None
    attributes: Mapping[str, Value] = attrs.field(factory=dict)
    payload: bytes = b""


def run(args: argparse.Namespace) -> int:
    attributes = dict(_checked(*attribute(text)) for text in args.attr)
    if args.layer is not None:
        check_value(args.layer)
    default = Update(None, args.layer, attributes, args.payload.encode(errors="surrogateescape"))
    one = None if args.at is None else attrs.evolve(default, at=place(point(args.at)))

    async def main(reactor: Any) -> int:
        lost = 0

        def on_event(event: Event) -> None:
            nonlocal lost
            if event.kind == "rate_limited":
                lost += 1
            if event.kind in ("detached", "rate_limited"):
                message(f"cbsmrp pub: {event.detail}")

        async with client(reactor, args, on_event) as joined:
            if one is not None:
                lost += not await _publish(joined, one, "")
                return 1 if lost else 0
            number = 0
            chunks = _stdin(reactor)
            rest = b""
            while True:
                chunk = await chunks.get()
                *lines, rest = (rest + chunk).split(b"\n") if chunk else (rest, b"")
                for line in lines:
                    number += 1
                    if line.strip():
                        lost += not await _publish(joined, parse(line, default, number), f"line {number}: ")
                if not chunk:
                    return 1 if lost else 0

    return run_reactor(main)


async def _publish(client: Client, update: Update, where: str) -> bool:
    try:
        sent = await client.publish(
            update.at, layer=update.layer, attributes=dict(update.attributes), payload=update.payload
        )
    except ValueError as error:
        raise InterestError(f"{where}{error}") from None
    if sent is None:
        message(f"cbsmrp pub: {where}not sent: no router at the moment")
    return sent is not None


def parse(line: bytes, default: Update, number: int) -> Update:
    """One line of standard input. Raises `InterestError` naming the line and what is wrong there."""
    where = f"line {number}"
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        raise InterestError(f"{where}, character {error.colno}: not JSON: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError):
        raise InterestError(f"{where}: not JSON in UTF-8") from None
    if not isinstance(given, dict):
        raise InterestError(f'{where}: {_short(given)} is not an object such as {{"at": [1, 2, 3]}}')
    for key in given:
        if key not in _KEYS:
            raise InterestError(f"{where}: unknown key {_short(key)}: the keys are {', '.join(_KEYS)}")
    try:
        return Update(*_values(given, default))
    except InterestError as error:
        raise InterestError(f"{where}: {error}") from None


def _values(given: dict[str, Any], default: Update) -> Iterator[Any]:
    at = given.get("at")
    if at is None:
        yield None
    elif isinstance(at, list) and len(at) in (2, 3) and all(type(n) in (int, float) for n in at):
        yield Point(tuple(at))
    else:
        raise InterestError(f'"at" is {_short(at)}: give [x, y] or [x, y, z]')
    layer = given.get("layer", default.layer)
    if layer is not None and not isinstance(layer, str):
        raise InterestError(f'"layer" is {_short(layer)}: give a string')
    yield layer
    attributes = given.get("attributes", default.attributes)
    if not isinstance(attributes, Mapping):
        raise InterestError(f'"attributes" is {_short(attributes)}: give an object of names and values')
    yield dict(_checked(name, value) for name, value in attributes.items())
    payload = given.get("payload")
    if payload is None:
        yield default.payload
    elif isinstance(payload, str):
        yield payload.encode(errors="surrogatepass")
    elif isinstance(payload, dict) and list(payload) == ["base64"] and isinstance(payload["base64"], str):
        try:
            yield base64.b64decode(payload["base64"], validate=True)
        except binascii.Error as error:
            raise InterestError(f'"payload" is not base64: {error}') from None
    else:
        raise InterestError(f'"payload" is {_short(payload)}: give a string, or {{"base64": "..."}}')


def _checked(name: str, value: Any) -> tuple[str, Value]:
    """Refused here, where the line is known, rather than by the encoder."""
    if name == "layer":
        raise InterestError('the attribute "layer" has a key and an option of its own')
    if value is None or isinstance(value, list | dict):
        raise InterestError(f"attribute {name!r} is {_short(value)}: give a string, a number, true or false")
    return check_name(name), check_value(value)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _stdin(reactor: Any) -> DeferredQueue[bytes]:
    """Standard input in chunks, b"" at its end. (A thread: a reactor can wait for pipes, but not for plain files.)"""
    chunks: DeferredQueue[bytes] = DeferredQueue()
    handled = threading.Semaphore(0)

    def hand_over(chunk: bytes) -> None:
        chunks.put(chunk)
        reactor.callLater(0, handled.release)  # after what the chunk has caused

    def read() -> None:
        chunk = b"?"
        while chunk:
            try:
                chunk = os.read(0, 16384)
            except OSError:
                chunk = b""
            reactor.callFromThread(hand_over, chunk)
            handled.acquire()

    threading.Thread(target=read, daemon=True).start()
    return chunks
