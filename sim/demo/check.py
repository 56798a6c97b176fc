"""Holds the logs of a run against the oracle: what had to be delivered, what was, and what should not have been.

Called by `command` after each run. Where things are comes from the plan; the logs only say when what of it was asked,
promised, sent and received. A publication counts only if it was handed to a router.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import attrs

from sim.oracle import Delivery, Publication, Subscription, Verdict, Version, judge

from .plan import Plan

#: The least time that a publication is given from being sent to the last router that decides on it, seconds; where
#: some that were sent within NEIGHBOURHOOD seconds took longer to arrive, it is given as long as the slowest of them,
#: and MARGIN seconds. The longer it is given, the fewer deliveries are certain, and `Verdict.firm` shows that.
WINDOW, NEIGHBOURHOOD, MARGIN = 0.1, 0.5, 0.05


@attrs.define
class Logs:
    """What the logs of a run hold; times are seconds of the run."""

    publications: list[Publication] = attrs.field(factory=list)
    unsent: int = 0
    """Publications not handed to a router, because there was none at the moment."""
    subscriptions: dict[str, list[Subscription]] = attrs.field(factory=dict)
    arrived: dict[str, list[Delivery]] = attrs.field(factory=dict)
    """At the clients' sockets."""
    handed: dict[str, list[Delivery]] = attrs.field(factory=dict)
    """From the clients to their users."""
    in_force: list[float] = attrs.field(factory=list)
    """From each move's being asked for to its being in force."""
    in_force_lost: int = 0
    """How often a client was told that what it wants is not in force any longer."""
    lost_on_link: int = 0
    """Datagrams with publications that routers sent and clients did not get."""
    drops: Counter[str] = attrs.field(factory=Counter)
    """Of the clients, by reason."""


@attrs.frozen
class Checked:
    """The verdict on what arrived at the sockets; `withheld`: arrived there, but was not handed to the user who had to
    get it."""

    verdict: Verdict
    withheld: int
    slowest: float
    """The longest that a publication took to a client's socket, seconds."""
    logs: Logs

    @property
    def missed(self) -> int:
        return self.verdict.missed + self.withheld


def check(plan: Plan, start: float, publishers_log: Path, subscribers_log: Path) -> Checked:
    """`start` is the time of second 0. Raises `ValueError` for two publications of one name."""
    logs = Logs()
    _read_publishers(plan, start, publishers_log, logs)
    _read_subscribers(plan, start, subscribers_log, logs)
    delays = _delays(logs)
    window = _window(delays)
    verdict = judge(logs.publications, logs.subscriptions, logs.arrived, window=window)
    handed = judge(logs.publications, logs.subscriptions, logs.handed, window=window, examples=0)
    return Checked(verdict, handed.missed - verdict.missed, max(delays.values(), default=0.0), logs)


def _read_publishers(plan: Plan, start: float, path: Path, logs: Logs) -> None:
    for line in _lines(path):
        if "update" in line:
            update = plan.updates[line["update"]]
            logs.publications.append(
                Publication(
                    line["sent"] - start,
                    update.client,
                    int(line["source"], 16),
                    line["sequence"],
                    update.extent,
                    layer=update.layer,
                )
            )
        elif "unsent" in line:
            logs.unsent += 1
        else:
            _read_link(line, logs)


def _read_subscribers(plan: Plan, start: float, path: Path, logs: Logs) -> None:
    versions: dict[tuple[str, str], list[Version]] = {}
    unpromised: dict[str, list[tuple[float, float]]] = {}
    for line in _lines(path):
        if "move" in line:
            move = plan.moves[line["move"]]
            asked, promised = line["asked"] - start, line["in_force"]
            in_force = None if promised is None else promised - start
            if move.time is not None and in_force is not None:
                logs.in_force.append(in_force - asked)
            versions.setdefault((move.client, move.name), []).append(
                Version(asked, in_force, (move.piece,), layer=move.layer)
            )
        elif "in_force_lost" in line:
            logs.in_force_lost += 1
            until = float("inf") if line["until"] is None else line["until"] - start
            unpromised.setdefault(line["client"], []).append((line["in_force_lost"] - start, until))
        elif "arrived" in line:
            delivery = Delivery(int(line["source"], 16), line["sequence"], line["arrived"] - start)
            logs.arrived.setdefault(line["client"], []).append(delivery)
            if line["handed"]:
                logs.handed.setdefault(line["client"], []).append(delivery)
        else:
            _read_link(line, logs)
    for (client, _), found in versions.items():
        found.sort(key=lambda version: version.asked)
        logs.subscriptions.setdefault(client, []).append(Subscription(found, unpromised.get(client, ())))


def _read_link(line: dict[str, Any], logs: Logs) -> None:
    logs.lost_on_link += line["lost_on_link"]
    logs.drops.update(line["drops"])


def _delays(logs: Logs) -> dict[int, float]:
    """The longest that a publication took to a client's socket, by the time of sending in steps of NEIGHBOURHOOD."""
    sent = {(each.source, each.sequence): each.time for each in logs.publications}
    found: dict[int, float] = {}
    for each in chain.from_iterable(logs.arrived.values()):
        if (time := sent.get((each.source, each.sequence))) is not None:
            step = math.floor(time / NEIGHBOURHOOD)
            found[step] = max(found.get(step, 0.0), each.time - time)
    return found


def _window(delays: dict[int, float]) -> Callable[[float], float]:
    def window(time: float) -> float:
        step = math.floor(time / NEIGHBOURHOOD)
        return max(WINDOW, MARGIN + max(delays.get(near, 0.0) for near in (step - 1, step, step + 1)))

    return window


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
