"""One run of the demo: a core and six routers in three levels, the crowd on them, and what all of them say of it.

Called by `command`, once with and once without clipping. It leaves the logs of the crowd for `check`, and the last
state of every router's metrics.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from cbsmrp.cli import scrape
from cbsmrp.config import ConfigError

from .plan import Plan
from .processes import DemoError, Process, Processes

#: Every router's upstream; a router stands after its upstream.
TREE: dict[str, str | None] = {
    "core": None,
    "branch0": "core",
    "branch1": "core",
    "leaf0": "branch0",
    "leaf1": "branch0",
    "leaf2": "branch1",
    "leaf3": "branch1",
}
#: Where clients join, in turn: at the leaves and at the routers between them and the core.
PLACES = ("leaf0", "leaf1", "leaf2", "leaf3", "branch0", "branch1")
#: How long starting may take on a busy machine, seconds.
STARTING = 60.0
#: How much longer than planned the crowd may take, seconds.
OVERDUE = 30.0
#: The time between two looks at the routers' metrics, seconds.
LOOK = 1.0
#: After the last publication: every neighbour has said how many datagrams it had sent (a hello a second, and some).
SETTLE = 1.5


@attrs.define
class Progress:
    """What the live table shows: `at` and `of` are seconds of the run."""

    title: str
    of: float
    at: float = 0.0
    published: int = 0
    arrived: int = 0
    moved: int = 0
    routers: dict[str, scrape.Snapshot] = attrs.field(factory=dict)


class Show(Protocol):
    """Somebody who shows how a run goes on."""

    def say(self, text: str) -> None: ...
    def update(self, progress: Progress) -> None: ...
    def finish(self, progress: Progress) -> None: ...


@attrs.frozen
class Performed:
    """What is known after a run; times of the logs are counted from `start` (`time.monotonic()`)."""

    clipping: bool
    start: float
    publishers_log: Path
    subscribers_log: Path
    routers: dict[str, scrape.Snapshot]
    #: CPU seconds a second of all processes but the demo's own, while the crowd was at work; None: not to be had.
    cpu: float | None = None
    #: Name of a process and the exception it has reported: the demo fails.
    defects: dict[str, str] = attrs.field(factory=dict)


def perform(plan: Plan, plans: tuple[Path, Path], directory: Path, clipping: bool, show: Show) -> Performed:
    """Raises `DemoError` if a process does not start, ends too early, or never finishes."""
    title = "with clipping" if clipping else "without clipping"
    directory.mkdir(parents=True, exist_ok=True)
    with Processes(directory) as processes:
        show.say(f"{title}: starting {len(TREE)} routers and the crowd")
        routers = {name: processes.start("router", name) for name in TREE}
        crowd = [processes.start(role, role) for role in ("publishers", "subscribers")]
        addresses, pages = _build(routers, clipping)
        for process, clients, path in zip(crowd, (plan.publishers, plan.subscribers), plans, strict=True):
            places = {name: addresses[PLACES[number % len(PLACES)]] for number, name in enumerate(clients)}
            log = directory / f"{process.name}.jsonl"
            process.tell({"clients": places, "plan": os.fspath(path), "log": os.fspath(log)})
        for process in crowd:
            process.hear_of("ready", STARTING)
        done = _run(plan, directory, clipping, Progress(title, plan.seconds), processes, crowd, pages, show)
    return attrs.evolve(done, defects=processes.defects())  # those of leaving included


def _build(routers: dict[str, Process], clipping: bool) -> tuple[dict[str, str], dict[str, str]]:
    """The routers' addresses, and those of their metrics."""
    addresses: dict[str, str] = {}
    pages: dict[str, str] = {}
    for name, upstream in TREE.items():
        arguments = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
        arguments += [] if upstream is None else ["--upstream", addresses[upstream]]
        arguments += [] if clipping else ["--no-clipping"]
        routers[name].tell({"arguments": arguments})
        listening = routers[name].hear_of("address", STARTING)
        addresses[name], pages[name] = listening["address"], listening["metrics"]
    return addresses, pages


def _run(
    plan: Plan,
    directory: Path,
    clipping: bool,
    progress: Progress,
    processes: Processes,
    crowd: Sequence[Process],
    pages: dict[str, str],
    show: Show,
) -> Performed:
    publishers, subscribers = crowd
    start = time.monotonic() + 0.2
    for process in crowd:
        process.tell({"start": start})
    used_before = processes.cpu_seconds()
    done: set[str] = set()

    def watch(going_on: Callable[[], bool]) -> None:
        """Look on, and show it, as long as this holds."""
        look_at = time.monotonic()
        while going_on():
            for process in processes.all:
                while (said := process.hear(0.0)) is not None:
                    for key in said.keys() & {"published", "arrived", "moved"}:
                        setattr(progress, key, said[key])
                    if "done" in said:
                        done.add(process.name)
            if (now := time.monotonic()) >= look_at:
                look_at = now + LOOK
                progress.routers = _look(pages)
                progress.at = min(max(0.0, now - start), plan.seconds)
                show.update(progress)
            time.sleep(0.02)
            if now > start + plan.seconds + OVERDUE:
                raise DemoError(f"the crowd is not done {OVERDUE:g} s after its time: the machine is too slow for this")

    watch(lambda: progress.published < len(plan.updates))
    wall = time.monotonic() - start
    used = processes.cpu_seconds()
    subscribers.tell({"finish": True})
    settled = time.monotonic() + SETTLE
    watch(lambda: subscribers.name not in done or time.monotonic() < settled)
    publishers.tell({"finish": True})
    watch(lambda: publishers.name not in done)
    progress.routers = _look(pages)
    show.finish(progress)
    return Performed(
        clipping,
        start,
        directory / "publishers.jsonl",
        directory / "subscribers.jsonl",
        progress.routers,
        None if used is None or used_before is None else (used - used_before) / wall,
    )


def _look(pages: dict[str, str]) -> dict[str, scrape.Snapshot]:
    try:
        return {name: scrape.read(page, timeout=10.0) for name, page in pages.items()}
    except ConfigError as error:
        raise DemoError(f"a router does not show its metrics any longer: {error}") from None
