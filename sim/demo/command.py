"""`cbsmrp demo`: a tree of routers carries a crowd's updates to moving areas of interest; every delivery is checked.

Two runs of one plan, with and without clipping regions (the paper's comparison), each performed by `overlay`, judged by
`check`, and told by `summary`. Loaded by `cbsmrp.cli.main`.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from pathlib import Path
from typing import Any

from cbsmrp import traces
from cbsmrp.cli.output import message
from cbsmrp.config import ConfigError
from sim.workload import workload

from . import plan as plans
from .check import check
from .overlay import PLACES, perform
from .processes import DemoError
from .show import Screen
from .summary import Run, as_json, as_text, problems

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="recorded movement: CSV, CSV.gz or Parquet with columns t,id,x,y[,z];\n"
        "arenas (id up to the first dot) are kept apart as layers.\n"
        "Without it: the paper's oscillating objects",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of everything drawn (default 1)")
    parser.add_argument(
        "--seconds", type=_positive, default=10.0, metavar="S", help="length of each of the two runs (default 10)"
    )
    parser.add_argument(
        "--rate", type=_positive, default=600.0, metavar="R", help="publications per second, at most (default 600)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("demo-out"), metavar="DIR", help="for logs and summary (default demo-out)"
    )
    parser.epilog = (
        "Seven routers in three levels, publishers and subscribers are processes on loopback. Exit code 1 if anything\n"
        "was missed, unwanted or delivered twice, or if clipping does not relieve the core; 130 after Ctrl-C."
    )


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number above 0")
    return number


def run(args: argparse.Namespace) -> int:
    """Raises `TraceError` and `ConfigError` for what the user has to change."""
    screen = Screen(sys.stderr)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(args, screen)
    except DemoError as error:
        message(f"cbsmrp demo: {error}")
        return 1
    except KeyboardInterrupt:
        message("cbsmrp demo: interrupted, all processes have ended")
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(args: argparse.Namespace, screen: Screen) -> int:
    out: Path = args.out
    try:
        out.mkdir(parents=True, exist_ok=True)
        plan, files = _plan(args, screen)
        runs = []
        for clipping in (True, False):
            performed = perform(plan, files, out / ("clipping" if clipping else "no-clipping"), clipping, screen)
            checked = check(plan, performed.start, performed.publishers_log, performed.subscribers_log)
            runs.append(Run(performed, checked))
        found = problems(runs)
        settings = {"trace": args.trace, "seed": args.seed, "seconds": args.seconds, "rate": args.rate}
        summary = out / "summary.json"
        summary.write_text(json.dumps(as_json(plan, runs, settings, found), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror or error} ({error.filename}): choose another place") from None
    print(as_text(plan, runs, settings, found) + f"Summary as JSON: {summary}", flush=True)
    return 1 if found else 0


def _plan(args: argparse.Namespace, screen: Screen) -> tuple[plans.Plan, tuple[Path, Path]]:
    """The plan, and the files that hold its two parts for the processes."""
    options: dict[str, Any] = {"duration": args.seconds, "rate": args.rate, "subscribers": len(PLACES)}
    if args.trace is None:
        made = workload.oscillating(args.seed, **options)
    else:
        screen.say(f"reading {args.trace}")
        made = workload.recorded(traces.read(args.trace), args.seed, **options)
    plan = plans.make(made, publishers=len(PLACES))
    files = args.out / "updates.jsonl", args.out / "moves.jsonl"
    plans.write(plan.updates, files[0])
    plans.write(plan.moves, files[1])
    return plan, files
