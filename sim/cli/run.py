"""`cbsmrp sim run`: run scenarios, one or several seeds each, and write their results. A finished run is not run again.

The last line on standard output says where the results are; progress goes to standard error. Ctrl-C ends the run at
hand, whose results until then are written as a partial run; ctrl-C again ends at once.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cbsmrp.settings import ConfigError
from sim.runs.events import Progress
from sim.runs.events import run as run_scenario
from sim.runs.results import Results, finished, gather, run_name
from sim.scenario.scenario import Scenario, load

#: How often the line of progress is written anew, seconds.
_OFTEN = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO.toml", type=Path)
    parser.add_argument("--seed", default="1", metavar="N[-M]", help="a seed, or several: 1-10, 1,3,5 (default 1)")
    parser.add_argument("--out", required=True, metavar="DIR", type=Path, help="directory for results, made if need be")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value than the file's, such as clipping=false or areas.size=[50,50,50]",
    )
    parser.add_argument("--trace", action="store_true", help="write every event too: trace.parquet")
    parser.add_argument(
        "--pcap", nargs=2, metavar=("NODE", "NODE"), help="write what crosses this link, for Wireshark: NODE-NODE.pcap"
    )
    parser.epilog = (
        "Each run has a directory of its own in DIR: run, links, routers and hosts, as .parquet and .csv;\n"
        "runs.parquet and runs.csv in DIR hold one row for each run. A finished run is not run again.\n"
        "Exit code 1 if a run was interrupted: what it had measured is there as a partial run."
    )


def run(args: argparse.Namespace) -> int:
    scenario = load(args.scenario, dict(map(_change, args.set)))
    seeds = _seeds(args.seed)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        with _interruptions() as interrupted:
            for seed in seeds:
                if not _one(scenario, seed, args, interrupted):
                    print(args.out / "runs.csv")
                    return 1
    except OSError as error:
        raise ConfigError(f"--out {args.out}: cannot be written: {error.strerror or error}") from None
    print(args.out / "runs.csv")
    return 0


def _one(scenario: Scenario, seed: int, args: argparse.Namespace, interrupted: list[bool]) -> bool:
    """Whether the run is finished."""
    capture = re.sub(r"[^\w.-]", "_", "-".join(args.pcap or ())) + ".pcap"
    extras = [name for name, asked in (("trace.parquet", args.trace), (capture, args.pcap)) if asked]
    done = finished(args.out, scenario, seed)
    if done is not None and all((done / name).exists() for name in extras):
        gather(args.out)
        _say(f"{done.name}: finished before, not run again")
        return True
    scratch = {name: args.out / f"{run_name(scenario, seed)}.{name}.new" for name in extras}
    line = _Line(f"{scenario.name} seed {seed}")

    def progress(at: Progress) -> bool:
        line.show(at)
        return not interrupted

    results: Results = run_scenario(
        scenario,
        seed,
        progress=progress,
        trace=scratch.get("trace.parquet"),
        pcap=(*args.pcap, scratch[capture]) if args.pcap else None,
    )
    if done is not None and not results.complete:
        line.end(f"{done.name}: interrupted; the finished run stays as it was")
        for path in scratch.values():
            path.unlink(missing_ok=True)
        return False
    if done is not None:  # the same run once more, for the extras alone
        where = done
    else:
        where = results.write(args.out)
    for name, path in scratch.items():
        os.replace(path, where / name)
    row = results.row
    line.end(
        f"{where.name}: {row['expected']} deliveries expected, {row['missed']} missed, {row['unwanted']} unwanted, "
        f"{row['duplicates']} twice" + ("" if results.complete else f"; interrupted after {row['seconds']:.2f} s of it")
    )
    return results.complete


class _Line:
    """One line of progress on a terminal, written over and over; elsewhere only its end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = 0.0
        self._phase, self._began = "", time.monotonic()

    def show(self, at: Progress) -> None:
        now = time.monotonic()
        if at.phase != self._phase:
            self._phase, self._began = at.phase, now
        if not sys.stderr.isatty() or now < self._shown + _OFTEN:
            return
        self._shown = now
        left = ""
        if at.phase == "running" and at.share > 0:
            left = f", {(now - self._began) * (1 / at.share - 1):.0f} s left"
        sys.stderr.write(f"\r\033[K{self._name}: {at.phase} {at.share:.0%}{left}")
        sys.stderr.flush()

    def end(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        _say(text)


@contextmanager
def _interruptions() -> Iterator[list[bool]]:
    """A list that is empty until ctrl-C; after that, ctrl-C is what it always is."""
    pressed: list[bool] = []

    def press(*_: object) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _change(text: str) -> tuple[str, Any]:
    """KEY=VALUE, the value as in TOML; a bare word is a text."""
    key, sign, value = text.partition("=")
    if not sign or not re.fullmatch(r"\w+(\.\w+)*", key):
        raise ConfigError(f"--set {text}: give KEY=VALUE, such as clipping=false or areas.shape=sphere")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        if not found or (found.group(2) and int(found.group(2)) < int(found.group(1))):
            raise ConfigError(f"--seed {text}: give a whole number, or several such as 1-10 or 1,3,5")
        seeds.extend(range(int(found.group(1)), int(found.group(2) or found.group(1)) + 1))
    return seeds


def _say(text: str) -> None:
    print(text, file=sys.stderr)
