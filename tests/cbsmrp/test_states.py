"""Every (state, message) pair, for a router and for a host: no exception, and the outcome has a name.

The outcomes are written down in `tests/transcripts/states/*.txt`, one file a state, one line a message: what is
dropped and why, what is answered, what the application is told, what it does to the VIFs. `--rewrite` writes them
anew, to be reviewed as a diff. A line that says that nothing happened, and nothing was counted, fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from small_tree import strip

from cbsmrp.config import Timers
from cbsmrp.engine import Engine
from cbsmrp.messages import (
    NOT_ATTACHED,
    PIECES,
    RATE,
    Challenge,
    Hello,
    Message,
    Quit,
    Rank,
    Refuse,
    Rejoin,
    Reply,
    Reset,
    SessionId,
    State,
    Subscribe,
    Update,
    ValuePart,
    Welcome,
)
from cbsmrp.vif import APPLICATION, UPSTREAM
from interest.binary import encode_interest
from sim.overlay import Overlay

GOLDEN = Path(__file__).parent.parent / "transcripts" / "states"
WRONG = 0xBAD
REGION = encode_interest(strip(70, 80))


@attrs.frozen
class Situation:
    overlay: Overlay
    engine: Engine


def tree(timers: Timers | None = None) -> Overlay:
    """P is the core; R stands below it, with the router C and the host H below; N has no parent yet."""
    overlay = Overlay("states", timers=timers or Timers(linger=0.0))
    overlay.router("P")
    overlay.router("R", ["P"])
    return overlay


def router_core() -> Situation:
    overlay = router_joined().overlay
    return Situation(overlay, overlay.routers["P"].router)


def router_detached() -> Situation:
    overlay = tree()
    overlay.run(1.0)
    return Situation(overlay, overlay.routers["R"].router)


def router_joining() -> Situation:
    overlay = tree(Timers(linger=5.0))
    overlay.network.cut("R", "P")
    overlay.run(0.05)
    return Situation(overlay, overlay.routers["R"].router)


def router_joined() -> Situation:
    overlay = tree()
    overlay.router("C", ["R"], keep_attached=True)
    overlay.host("H", ["R"]).subscribe(strip(0, 10))
    overlay.host("G", ["P"]).subscribe(strip(20, 30))
    overlay.run(2.5)
    return Situation(overlay, overlay.routers["R"].router)


def router_quitting() -> Situation:
    there = router_joined()
    there.engine.leave(there.overlay.clock.now)
    there.engine.take_ready()
    return there


def core_quitting() -> Situation:
    there = router_core()
    there.engine.leave(there.overlay.clock.now)
    there.engine.take_ready()
    return there


def host_detached() -> Situation:
    there = host_joined()
    there.overlay.kill("P")
    there.overlay.run(0.001)
    there.engine.receive("P", [Reset(there.engine.rib.vifs[UPSTREAM].token or 0, True)], there.overlay.clock.now)
    there.engine._retry_at = there.overlay.clock.now + 1
    there.engine.rib.vifs[UPSTREAM].session = None
    there.engine.take_ready()
    return there


def host_joining() -> Situation:
    overlay = tree()
    overlay.network.cut("H", "P")
    host = overlay.host("H", ["P"])
    host.subscribe(strip(0, 10))
    overlay.run(0.05)
    return Situation(overlay, host.host)


def host_joined() -> Situation:
    overlay = tree()
    host = overlay.host("H", ["P"], opted=True)
    host.subscribe(strip(0, 10))
    overlay.host("G", ["P"]).subscribe(strip(20, 30))
    overlay.run(1.0)
    return Situation(overlay, host.host)


def host_quitting() -> Situation:
    there = host_joined()
    there.engine.leave(there.overlay.clock.now)
    there.engine.take_ready()
    return there


STATES: list[Callable[[], Situation]] = [
    router_core, router_detached, router_joining, router_joined, router_quitting, core_quitting,
    host_detached, host_joining, host_joined, host_quitting,
]  # fmt: skip


def cases(there: Situation) -> Iterator[tuple[str, str, Message]]:
    """(what it is, from which address, message)."""
    engine = there.engine
    now = there.overlay.clock.now + 0.01

    def cookie(address: str) -> bytes:
        return engine._cookies.bake(address, now)

    def joiner(session: SessionId, address: str | None = None, **more: Any) -> Subscribe:
        host = more.pop("host", True)
        mode = more.pop("mode", engine.mode_name)
        state = State(serial=1, cookie=b"" if address is None else cookie(address), **more)
        return Subscribe(session, mode, host, False, state)

    new = SessionId(engine.generation + 50, 1)
    value = ValuePart(9_000_000, 0, 1, REGION, 1, True)
    yield "SUBSCRIBE without a cookie", "X", joiner(new)
    yield "SUBSCRIBE with a cookie for another address", "X", joiner(new, "Y")
    yield "SUBSCRIBE of a host", "X", joiner(new, "X", value=value)
    yield "SUBSCRIBE of a router that never told a child", "X", joiner(new, "X", host=False)
    yield "SUBSCRIBE of a router with fresher news", "X", joiner(new, "X", host=False, rank=Rank(2**40, 1, 1))
    yield "SUBSCRIBE of a router of another mode", "X", joiner(new, "X", host=False, mode="other")
    yield "SUBSCRIBE from the parent", "P", joiner(new, "P", host=False)

    children = engine.rib.children()
    child = next((v for v in children if v.address in ("H", "R")), None)
    token = child.token if child is not None and child.token is not None else WRONG
    address = child.address if child is not None else "H"
    if child is not None and child.session is not None:
        generation, number = child.session
        yield "SUBSCRIBE of a child, same session", address, joiner(child.session, address)
        yield "SUBSCRIBE of a child, older session", address, joiner(SessionId(generation - 1, number), address)
        yield "SUBSCRIBE of a child, newer session", address, joiner(SessionId(generation, number + 1), address)
    for kind in (Reply, Update, Hello):
        name = kind.__name__.upper()
        state = State(serial=10_000, value=value if kind is Update else None, ask=kind is Hello)
        if child is not None:
            yield f"{name} of a child", address, kind(token, False, state)
            yield f"{name} of a child from a new address", "X", kind(token, False, state)
            there_now = attrs.evolve(state, cookie=cookie("X"))
            yield f"{name} of a child from a new address with a cookie", "X", kind(token, False, there_now)
            late = attrs.evolve(there_now, serial=0)
            yield f"{name} of a child from a new address with a cookie, late", "X", kind(token, False, late)
        yield f"{name} of nobody's token", "X", kind(WRONG, False, state)

    up = engine.upstream
    mine = up.token if up is not None and up.token is not None else WRONG
    session = up.session if up is not None and up.session is not None else SessionId(1, 1)
    generation = up.parent_generation if up is not None else 5
    for kind in (Reply, Update, Hello):
        name = kind.__name__.upper()
        plain = State(serial=10_000, value=value if kind is Update else None, ask=kind is Hello, rank=Rank(2**40, 9, 0))
        yield f"{name} from the parent", "P", kind(mine, True, plain)
        yield f"{name} from the parent with another token", "P", kind(WRONG, True, plain)
        for what, welcome in {
            "a welcome": Welcome(session, generation + 1),
            "a welcome of an older parent": Welcome(session, generation - 1 if generation else 0),
            "a welcome of another session": Welcome(SessionId(session.generation, session.number + 7), generation),
        }.items():
            yield f"{name} with another token and {what}", "P", kind(WRONG, True, attrs.evolve(plain, welcome=welcome))
        yield f"{name} of a parent from elsewhere", "X", kind(mine, True, plain)

    if child is not None:
        yield "QUIT of a child", address, Quit(token)
        yield "RESET of a child", address, Reset(token, False)
    yield "QUIT of nobody's token", "X", Quit(WRONG)
    yield "RESET of nobody's token, upwards", "X", Reset(WRONG, False)
    yield "RESET from the parent", "P", Reset(mine, True)
    yield "RESET of nobody's token, downwards", "X", Reset(WRONG, True)

    other = SessionId(session.generation, session.number + 7)
    yield "REFUSE of the session", "P", Refuse(session, NOT_ATTACHED, "no")
    yield "REFUSE of a version", "P", Refuse(session, PIECES, "too many", 2**31)
    yield "REFUSE of the rate", "P", Refuse(session, RATE, "too many a second")
    yield "REFUSE of another session", "P", Refuse(other, NOT_ATTACHED, "no")
    yield "REFUSE from elsewhere", "X", Refuse(session, NOT_ATTACHED, "no")

    echo = session.generation.to_bytes(8, "big") + session.number.to_bytes(8, "big")
    yield "CHALLENGE of the session", "P", Challenge(echo, bytes(range(16)))
    yield "CHALLENGE of the token", "P", Challenge(mine.to_bytes(8, "big") + bytes(8), bytes(range(16)))
    yield "CHALLENGE of something else", "P", Challenge(bytes(16), bytes(range(16)))
    yield "CHALLENGE from elsewhere", "X", Challenge(echo, bytes(range(16)))
    yield "REJOIN from the parent", "P", Rejoin()
    yield "REJOIN from elsewhere", "X", Rejoin()


def picture(engine: Engine) -> dict[str, Any]:
    """What a line names when it changes."""
    vifs = {
        ("upstream" if vif.id == UPSTREAM else str(vif.address)): vif for vif in engine.rib if vif.id != APPLICATION
    }
    found: dict[str, Any] = {"children": sorted(str(vif.address) for vif in engine.rib.children())}
    for name, vif in vifs.items():
        found[f"{name} session"] = "stands" if vif.joined else "asked for" if vif.session else "none"
        found[f"{name} region"] = vif.in_value
        found[f"{name} heard"] = vif.heard
        found[f"{name} cookie"] = vif.cookie
    found["waiting to join"] = sorted(map(str, engine._joining))
    return found


def outcome(engine: Engine, address: str, message: Message, now: float) -> str:
    before, drops = picture(engine), Counter(engine.drops)
    engine.receive(address, [message], now)
    ready = engine.take_ready()
    after = picture(engine)
    words = [f"drops it as {reason}" for reason in engine.drops - drops]
    words += [f"answers {address} with {type(m).__name__.upper()}" for to, m in ready.messages if to == address]
    others = sorted({f"{type(m).__name__.upper()} to {to}" for to, m in ready.messages if to != address})
    words += [f"sends {other}" for other in others]
    words += [f"tells {type(notice).__name__}" for notice in ready.notices]
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new and name.endswith("session") and new is not None:
            words.append(f"{name}: {new}")
        elif old != new and name.endswith("region") and new is not None and old is not None:
            words.append(f"{name} changes")
        elif old != new and name in ("children", "waiting to join"):
            words.append(f"{name}: {', '.join(new) or 'nobody'}")
        elif old != new and name.endswith(("heard", "cookie")) and old is not None and new is not None:
            words.append(f"{name}")
    return "; ".join(dict.fromkeys(words)) or "NOTHING"


def comes_to_rest(engine: Engine) -> None:
    """What is due now is done in a few steps: no engine keeps its driver busy."""
    for _ in range(5):
        if engine.next_deadline() > engine.now:
            return
        engine.expire(engine.now)
    raise AssertionError(f"due at {engine.next_deadline()} again and again, and it is {engine.now}")


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_every_message_has_an_outcome(state: Callable[[], Situation], request: pytest.FixtureRequest) -> None:
    names = [(what, address) for what, address, _ in cases(state())]
    lines = []
    for number, (what, address) in enumerate(names):
        there = state()
        _, _, message = list(cases(there))[number]
        lines.append(f"{what:<52} {address}  {outcome(there.engine, address, message, there.overlay.clock.now + 0.01)}")
        comes_to_rest(there.engine)
    text = "\n".join(lines) + "\n"
    path = GOLDEN / f"{state.__name__}.txt"
    if request.config.getoption("--rewrite"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert [line for line in lines if line.endswith("NOTHING")] == []
    assert text == path.read_text()
