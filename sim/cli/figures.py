"""`cbsmrp sim figures`: the data and the drawings of figures of the papers, each with one command.

What is computed is kept at once, so that ctrl-C loses nothing and the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from cbsmrp.settings import ConfigError

FIGURES = {"fig4": ("sim.figures.fig4", "CBSMRP: packets at the core, with and without clipping")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = "\n".join(f"{name}: {summary}" for name, (_, summary) in FIGURES.items())
    parser.add_argument("figure", choices=tuple(FIGURES), metavar="FIGURE", help=names)
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="seeds 1 to N of each point (default 10)")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="DIR", help="default: figures")


def run(args: argparse.Namespace) -> int:
    if args.seeds < 2:
        raise ConfigError(f"--seeds {args.seeds}: an interval needs 2 or more")
    if args.out.exists() and not args.out.is_dir():
        raise ConfigError(f"--out {args.out}: is no directory")
    try:
        import matplotlib  # noqa: F401  # before an hour of computing, not after it
    except ImportError:
        raise ConfigError("figures need matplotlib: pip install 'cbsmrp[sim]'") from None
    progress = _Progress(args.figure)
    try:
        importlib.import_module(FIGURES[args.figure][0]).make(args.out, args.seeds, tell=progress)
    except KeyboardInterrupt:
        progress.end()
        print(f"cbsmrp sim figures: stopped; {progress.done} of {progress.of} runs are kept in {args.out}, and the same"
              " command goes on from there", file=sys.stderr)  # fmt: skip
        return 1
    progress.end()
    for path in sorted(args.out.glob(f"{args.figure}*")):
        print(path)
    return 0


class _Progress:
    """On standard error: on a terminal one line that changes, elsewhere a line now and then."""

    def __init__(self, figure: str) -> None:
        self.figure, self.done, self.of = figure, 0, 0
        self._start = self._said = time.monotonic()
        self._computed = 0
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, of: int, computed: bool) -> None:
        """After each run; those that were kept from earlier cost nothing and say nothing of what the others cost."""
        self.done, self.of = done, of
        self._computed += computed
        now = time.monotonic()
        if now < self._said + (0.2 if self._terminal else 10.0):
            return
        self._said = now
        left = (now - self._start) / max(self._computed, 1) * (of - done)
        text = f"{self.figure}: {done} of {of} runs, about {_duration(left)} left"
        print(
            f"\r{text:<60}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr, flush=True
        )

    def end(self) -> None:
        """The line that changes is done with."""
        if self._terminal:
            print(f"\r{'':<60}\r", end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
