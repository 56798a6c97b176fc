"""A small language for overlays, and what happens in them as text that can be reviewed.

A transcript file holds commands, a line of four dashes, and what they made happen. One command a line:

    core NAME | router NAME PARENT [PARENT ...] | host NAME ROUTER [ROUTER ...] [opted]
    subscribe HOST AREA FROM..TO | move HOST AREA FROM..TO | unsubscribe HOST AREA
    publish HOST AT
    run SECONDS | kill NAME | leave NAME | cut NAME NAME | mend NAME NAME
    timers NAME=SECONDS ...       before the first router
    quiet | aloud                 leave out, or show again, what happens
    # a remark, repeated in the output
    ; a remark that is not

An area is an interval of x, as the box FROM <= x <= TO, 0 <= y, z <= 10. Every link takes 10 ms and loses nothing.

The output is one line an event: `time  sender > receiver  KIND  what it says`, with regions as intervals, versions as
`v7`; `fib` lines are changes of a forwarding table, `tells` lines are notices to the application. Frames of state
that repeat what was said before on that link (hellos) are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from cbsmrp.config import Timers
from cbsmrp.endpoint import RouterEndpoint
from cbsmrp.fib import FibChange
from cbsmrp.host import Subscription
from cbsmrp.messages import (
    REFUSALS,
    Challenge,
    Hello,
    Message,
    Quit,
    Refuse,
    Reply,
    Reset,
    State,
    Subscribe,
    Update,
)
from cbsmrp.ready import Notice
from cbsmrp.wire import Codec, PublicationFrame
from interest import EVERYTHING, Box, Interest, Point
from interest.binary import decode_interest
from sim.network import Sent
from sim.overlay import HostNode, Overlay, RouterNode

RULE = "----\n"


def area(text: str) -> Interest:
    """`0..10` as a box."""
    low, high = map(float, text.split(".."))
    return Interest.of(Box((low, 0.0, 0.0), (high, 10.0, 10.0)))


def short(value: Interest | None) -> str:
    """An interest as intervals of x."""
    if value is None:
        return "-"
    if not value:
        return "nothing"
    if value == EVERYTHING:
        return "everything"
    boxes = [piece for conjunct in value.conjuncts if conjunct.region for piece in conjunct.region]
    return " + ".join(f"{box.bounds[0]:g}..{box.bounds[3]:g}" for box in boxes)


def said(state: State) -> tuple[Any, ...]:
    """What of a state without a value is news."""
    return state.accepted, state.epoch, state.in_force, state.ask, state.welcome, bool(state.lease)


def describe_state(state: State) -> str:
    words = []
    if state.welcome:
        words.append(f"welcome #{state.welcome.session.number >> 32}")
    if state.cookie:
        words.append("cookie")
    if value := state.value:
        region = short(decode_interest(value.chunk)) if value.parts == 1 else f"part {value.part + 1}/{value.parts}"
        words.append(f"v{value.version} = {region}{', attached' if value.attached else ''}")
    if state.accepted:
        words.append(f"accepted v{state.accepted}")
    if state.in_force:
        words.append(f"in force v{state.in_force}")
    if state.epoch:
        words.append(f"epoch {state.epoch}")
    if state.rank:
        words.append(f"depth {state.rank.depth}")
    if state.lease:
        words.append(f"lease {state.lease_ms} ms")
    if state.ask:
        words.append("ask")
    return "; ".join(words) or "nothing new"


def describe(message: Message) -> str:
    kind = type(message).__name__.upper()
    if isinstance(message, Subscribe):
        who = ("host, opted" if message.opted else "host") if message.host else "router"
        state = describe_state(message.state)
        return f"{kind:<10} #{message.session.number >> 32}; {who}" + ("" if state == "nothing new" else f"; {state}")
    if isinstance(message, Reply | Update | Hello):
        return f"{kind:<10} {describe_state(message.state)}"
    if isinstance(message, Refuse):
        return f"{kind:<10} #{message.session.number >> 32}; {REFUSALS[message.reason]}: {message.text}"
    assert isinstance(message, Challenge | Quit | Reset) or kind == "REJOIN"
    return kind


def describe_notice(notice: Notice) -> str:
    fields = ", ".join(f"{value}" for value in attrs.astuple(notice, recurse=False))
    return f"{type(notice).__name__}{f' ({fields})' if fields else ''}"


class Recorder:
    """Runs commands on an overlay and keeps the lines of what happens."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.overlay = Overlay("transcript")
        self.overlay.network.trace = self._sent
        self._subscriptions: dict[tuple[str, str], Subscription] = {}
        self._aloud = True
        self._told: dict[tuple[Any, Any], tuple[Any, ...]] = {}
        self._repeats = 0
        self._codec = Codec()
        self._names: dict[tuple[str, int], str] = {}

    # -- commands --------------------------------------------------------------------------------------

    def do(self, line: str) -> None:
        if line.startswith("#"):
            self._fold()
            self.lines += ["", line]
        elif line and not line.startswith(";"):
            verb, *words = line.split()
            getattr(self, f"_do_{verb}")(*words)

    def _do_timers(self, *words: str) -> None:
        pairs = (word.split("=") for word in words)
        self.overlay.timers = Timers(**{name: float(value) for name, value in pairs})

    def _do_core(self, name: str) -> None:
        self._do_router(name)

    def _do_router(self, name: str, *parents: str) -> None:
        self._follow(name, self.overlay.router(name, parents))

    def _do_host(self, name: str, *routers: str) -> None:
        opted = routers[-1] == "opted"
        self._follow(name, self.overlay.host(name, routers[: len(routers) - opted], opted=opted))

    def _do_subscribe(self, host: str, name: str, text: str) -> None:
        self._line(f"{host:<4} subscribes {name} = {text}")
        self._subscriptions[host, name] = self.overlay.hosts[host].subscribe(area(text))

    def _do_move(self, host: str, name: str, text: str) -> None:
        self._line(f"{host:<4} moves {name} to {text}")
        self.overlay.hosts[host].move(self._subscriptions[host, name], area(text))

    def _do_unsubscribe(self, host: str, name: str) -> None:
        self._line(f"{host:<4} ends {name}")
        self.overlay.hosts[host].unsubscribe(self._subscriptions.pop((host, name)))

    def _do_publish(self, host: str, at: str) -> None:
        self._line(f"{host:<4} publishes at {at}")
        if self.overlay.hosts[host].publish(Point((float(at), 5.0, 5.0))) is None:
            self._line(f"{host:<4} keeps it back")

    def _do_run(self, seconds: str) -> None:
        self.overlay.run(float(seconds))
        self._fold()

    def _do_kill(self, name: str) -> None:
        self._line(f"{name:<4} is killed")
        self.overlay.kill(name)

    def _do_leave(self, name: str) -> None:
        self._line(f"{name:<4} leaves")
        self.overlay.leave(name)

    def _do_cut(self, a: str, b: str) -> None:
        self._line(f"the link {a} - {b} is cut")
        self.overlay.network.cut(a, b)

    def _do_mend(self, a: str, b: str) -> None:
        self._line(f"the link {a} - {b} is mended")
        self.overlay.network.mend(a, b)

    def _do_quiet(self) -> None:
        self._aloud = False

    def _do_aloud(self) -> None:
        self._aloud, self._repeats = True, 0

    # -- what happens ----------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        if self._aloud:
            self._fold()
            self.lines.append(f"{self.overlay.clock.now:7.3f}  {text}")

    def _fold(self) -> None:
        if self._repeats:
            self.lines.append(f"         (frames that say nothing new: {self._repeats})")
            self._repeats = 0

    def _sent(self, sent: Sent) -> None:
        for frame in self._codec.decode(sent.data):
            link = (sent.source, sent.destination)
            if isinstance(frame, PublicationFrame):
                text = f"PUBLICATION at {frame.extent.bounds[0]:g}; {frame.hop_limit} hops left"
            else:
                if isinstance(frame, Reply | Update | Hello):
                    news = (*said(frame.state), frame.token, type(frame) is Update)
                    repeated = not frame.state.value and self._told.get(link, ())[:-1] == news[:-1]
                    self._told[link] = news
                    if repeated:
                        self._repeats += self._aloud
                        continue
                text = describe(frame)
            self._line(f"{sent.source:<4} > {sent.destination:<4} {text}{'  LOST' if sent.lost else ''}")

    def _follow(self, name: str, node: RouterNode | HostNode) -> None:
        endpoint: Any = node.endpoint
        endpoint._notice = self._both(
            endpoint._notice, lambda notice: self._line(f"{name:<4} tells  {describe_notice(notice)}")
        )
        if isinstance(endpoint, RouterEndpoint):
            fib: Any = endpoint.fib
            fib.apply = self._both(fib.apply, lambda change: self._fib(name, node, change))
        else:
            endpoint._delivered = self._both2(
                endpoint._delivered, lambda _, frame: self._line(f"{name:<4} gets   what was published at "
                                                                 f"{frame.extent.bounds[0]:g}")
            )  # fmt: skip

    def _fib(self, name: str, node: RouterNode, change: FibChange) -> None:
        key = (name, change.vif)
        if (vif := node.router.rib.get(change.vif)) is not None and vif.address is not None:
            self._names[key] = vif.address
        neighbour = self._names.get(key, "-")
        self._line(f"{name:<4} fib    {neighbour}: {short(change.old)} -> {short(change.new)}")

    @staticmethod
    def _both(plain: Callable[[Any], None], ours: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(what: Any) -> None:
            ours(what)
            plain(what)

        return call

    @staticmethod
    def _both2(plain: Callable[[Any, Any], None], ours: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def call(a: Any, b: Any) -> None:
            ours(a, b)
            plain(a, b)

        return call


def commands_of(text: str) -> str:
    return text.split(RULE)[0]


def perform(text: str) -> str:
    """A transcript's text with its output as it is now."""
    commands = commands_of(text)
    recorder = Recorder()
    for line in commands.splitlines():
        recorder.do(line.strip())
    return commands + RULE + "\n".join(recorder.lines).strip("\n") + "\n"


def check(path: Path, rewrite: bool) -> None:
    """Hold a transcript file against what happens now, or write down what happens now."""
    text = path.read_text()
    now = perform(text)
    if rewrite:
        path.write_text(now)
    assert now == path.read_text()
