"""How a run goes on, on standard error: a live table on a terminal, else a plain line now and then.

Used by `command` and `overlay`. On standard output stands only the summary.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import TextIO

from .overlay import TREE, Progress

#: Seconds between two plain lines.
PLAIN = 3.0


class Screen:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = 0
        self._plain_at = 0.0

    def say(self, text: str) -> None:
        """One line that stays."""
        self._stream.write(text + "\n")
        self._stream.flush()
        self._drawn = 0

    def update(self, progress: Progress) -> None:
        if self._live:
            self._draw([status(progress), *table(progress)])
        elif time.monotonic() >= self._plain_at:
            self._plain_at = time.monotonic() + PLAIN
            self.say(status(progress))

    def finish(self, progress: Progress) -> None:
        """The last state, which stays."""
        self._draw([status(progress), *table(progress)])
        self._drawn = 0

    def _draw(self, lines: list[str]) -> None:
        width = shutil.get_terminal_size().columns - 1 if self._live else None  # a wrapped line would count for two
        back = f"\x1b[{self._drawn}A\x1b[J" if self._live and self._drawn else ""
        self._stream.write(back + "".join(line[:width] + "\n" for line in lines))
        self._stream.flush()
        self._drawn = len(lines)


def status(progress: Progress) -> str:
    """How far it is, in one line."""
    return (
        f"{progress.title}: {progress.at:.0f} of {progress.of:.0f} s, published {progress.published}, "
        f"arrived {progress.arrived}, moves {progress.moved}"
    )


def table(progress: Progress) -> list[str]:
    """Totals of each router so far, in the shape of the tree."""
    lines = [
        f"  {'router':<14}{'packets in':>12}{'packets out':>13}{'filtered':>10}{'control in':>12}{'lost on link':>14}"
    ]
    for name, snapshot in progress.routers.items():
        total = snapshot.total()
        lines.append(
            f"  {'  ' * _depth(name) + name:<14}{total.packets_in:>12}{total.packets_out:>13}{total.filtered:>10}"
            f"{sum(snapshot.received.values()):>12}{total.lost_on_link:>14}"
        )
    return lines


def _depth(name: str) -> int:
    upstream = TREE[name]
    return 0 if upstream is None else 1 + _depth(upstream)
