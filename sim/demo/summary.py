"""The outcome of a demo: what went wrong, if anything, as JSON and as text.

Called by `command` with both runs and their verdicts. Nothing excuses a miss; what is known of lost datagrams only says
where to look.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import attrs
import numpy as np

import cbsmrp

from .check import Checked
from .overlay import Performed
from .plan import Plan

#: The least share of what must be delivered in what must or may be.
FIRM = 0.9
#: Wrong deliveries told as text for each run; some more are in the JSON.
EXAMPLES = 2


@attrs.frozen
class Run:
    """One run and the verdict on it, as figures."""

    performed: Performed
    checked: Checked

    @property
    def title(self) -> str:
        return "with clipping" if self.performed.clipping else "without clipping"

    @property
    def lost_on_link(self) -> int:
        """Datagrams with publications lost between two processes, as far as the receivers have been told."""
        routers = self.performed.routers.values()
        return self.checked.logs.lost_on_link + sum(router.total().lost_on_link for router in routers)

    @property
    def drops(self) -> dict[str, int]:
        """Of routers and clients together, by reason."""
        total = self.checked.logs.drops.copy()
        for router in self.performed.routers.values():
            total.update(router.drops)
        return {reason: count for reason, count in sorted(total.items()) if count}

    @property
    def core_packets(self) -> float:
        """Publications in and out of the core, for each that was sent."""
        core = self.performed.routers["core"].total()
        return (core.packets_in + core.packets_out) / max(1, len(self.checked.logs.publications))

    def in_force(self, percent: float) -> float | None:
        """So many percent of the moves were in force after at most so many seconds."""
        waited = self.checked.logs.in_force
        return float(np.percentile(waited, percent)) if waited else None

    @property
    def figures(self) -> dict[str, Any]:
        verdict = self.checked.verdict
        return {
            "publications": verdict.publications,
            "not_sent": self.checked.logs.unsent,
            "expected": verdict.expected,
            "delivered": verdict.delivered,
            "missed": self.checked.missed,
            "unwanted": verdict.unwanted,
            "duplicates": verdict.duplicates,
            "may_deliver": verdict.may_deliver,
            "firm": verdict.firm,
            "slowest_delivery_seconds": self.checked.slowest,
            "lost_on_link": self.lost_on_link,
            "drops": self.drops,
            "core_packets_per_publication": self.core_packets,
            "wrong": [*verdict.misses, *verdict.unwanted_ones],
            "moves": len(self.checked.logs.in_force),
            "in_force_lost": self.checked.logs.in_force_lost,
            "in_force_p50_seconds": self.in_force(50),
            "in_force_p99_seconds": self.in_force(99),
            "cpu_seconds_per_second": self.performed.cpu,
            "routers": {
                name: {
                    "packets_in": router.total().packets_in,
                    "packets_out": router.total().packets_out,
                    "filtered": router.total().filtered,
                    "lost_on_link": router.total().lost_on_link,
                    "receive_buffer": router.receive_buffer,
                    "control_in": sum(router.received.values()),
                    "control_out": sum(router.sent.values()),
                }
                for name, router in self.performed.routers.items()
            },
        }

    def problems(self) -> list[str]:
        """What must not be, a line each."""
        verdict, found = self.checked.verdict, []
        if not verdict.expected:
            found.append("nothing had to be delivered, so nothing is shown: choose another seed, or more seconds")
        elif verdict.firm < FIRM:
            found.append(
                f"only {verdict.firm:.1%} of what might be delivered had to be (at least {FIRM:.0%} are needed): "
                f"a publication took up to {self.checked.slowest:.2f} s; is the machine very busy?"
            )
        if self.checked.missed:
            found.append(f"{self.checked.missed} missed: {self._why_missed()}")
        if verdict.unwanted:
            found.append(f"{verdict.unwanted} unwanted")
        if verdict.duplicates:
            found.append(f"{verdict.duplicates} duplicates")
        found += [f"{name} reported a defect: {what}" for name, what in self.performed.defects.items()]
        return [f"{self.title}: {each}" for each in found]

    def _why_missed(self) -> str:
        reasons = []
        if self.checked.withheld:
            reasons.append(f"{self.checked.withheld} reached the client and were not handed on by it")
        if self.checked.verdict.missed:
            unsent = sum(self.drops.get(reason, 0) for reason in ("queue_full", "send_error"))
            if self.lost_on_link or unsent:
                lost = f"{self.lost_on_link} datagrams did not arrive and {unsent} could not be sent"
                reasons.append(f"lost in socket buffers, where {lost}")
            else:
                reasons.append("lost by routing, since no datagram was lost in a socket buffer")
        return "; ".join(reasons)


def problems(runs: Sequence[Run]) -> list[str]:
    """Of both runs and of their comparison; none: the demo has shown what it is for."""
    found = [each for run in runs for each in run.problems()]
    clipped, unclipped = runs
    if clipped.core_packets >= unclipped.core_packets:
        found.append(
            f"clipping does not relieve the core: {clipped.core_packets:.3f} packets for each publication with it, "
            f"{unclipped.core_packets:.3f} without"
        )
    return found


def as_json(plan: Plan, runs: Sequence[Run], settings: dict[str, Any], found: Sequence[str]) -> dict[str, Any]:
    return {
        "ok": not found,
        "problems": list(found),
        "settings": settings,
        "notes": list(plan.notes),
        "versions": {
            "cbsmrp": cbsmrp.__version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("twisted", "shapely")},
            "system": platform.platform(),
            "cpus": os.cpu_count(),
        },
        **{key: run.figures for key, run in zip(("clipping", "no_clipping"), runs, strict=True)},
    }


def as_text(plan: Plan, runs: Sequence[Run], settings: dict[str, Any], found: Sequence[str]) -> str:
    """The two runs side by side, then what went wrong."""
    columns = [run.figures for run in runs]
    lines = [f"cbsmrp {cbsmrp.__version__}, seed {settings['seed']}, {plan.seconds:g} s each", *plan.notes, ""]
    lines.append(f"{'':<30}" + "".join(f"{run.title:>18}" for run in runs))
    for label, key, form in _ROWS:
        lines.append(f"{label:<30}" + "".join(f"{form(figures[key]):>18}" for figures in columns))
    lines.append("")
    if found:
        lines += ["FAILED", *found]
        for run in runs:
            lines += [f"{run.title}: {words}" for words in run.figures["wrong"][:EXAMPLES]]
    else:
        saved = 1 - runs[0].core_packets / runs[1].core_packets
        lines.append(f"Every delivery is as it had to be; clipping regions spare the core {saved:.0%} of its packets.")
    return "\n".join(lines) + "\n"


def _number(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


def _milliseconds(value: float | None) -> str:
    return "unknown" if value is None else f"{1000 * value:.1f} ms"


_ROWS = (
    ("publications", "publications", _number),
    ("not sent, no router", "not_sent", _number),
    ("expected", "expected", _number),
    ("delivered", "delivered", _number),
    ("missed", "missed", _number),
    ("unwanted at the socket", "unwanted", _number),
    ("duplicates", "duplicates", _number),
    ("may_deliver", "may_deliver", _number),
    ("firm (expected of all matching)", "firm", _share),
    ("lost_on_link", "lost_on_link", _number),
    ("core packets per publication", "core_packets_per_publication", _ratio),
    ("in force, p50", "in_force_p50_seconds", _milliseconds),
    ("in force, p99", "in_force_p99_seconds", _milliseconds),
    ("slowest delivery", "slowest_delivery_seconds", _milliseconds),
    ("CPU seconds per second", "cpu_seconds_per_second", _ratio),
)
