"""CPU µs per publication of forwarding processes beside the plain C limit, in one run, as a ratio.

Every round measures the plain C forwarder and then the others under the same load; the ratio of a forwarder is the
median over the rounds of (plain C / it), so 1.00 is the limit of one datagram in, one datagram out. JSON lines on
stdout.
"""

import argparse
import json
import random
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from statistics import median

from bench.forward.harness import (
    BenchError,
    Forwarder,
    Measurement,
    build,
    command_forwarder,
    measure,
    plain_forwarder,
)

TWISTED = [sys.executable, "-m", "bench.forward.twisted_forwarder", "{in}", "{out}"]

Start = Callable[[], AbstractContextManager[Forwarder]]


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench forward", description=__doc__)
    parser.add_argument(
        "--rate", type=float, default=100_000, help="publications per second, 0: all it can (%(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of load per run (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each forwarder (%(default)s)")
    parser.add_argument("--outs", type=int, default=1, help="sinks, each gets every publication (%(default)s)")
    parser.add_argument("--bytes", type=int, default=100, help="of one datagram (%(default)s)")
    parser.add_argument(
        "--command", action="append", default=[], help="one more forwarder; the word {in} is its port, {out} the sinks'"
    )
    options = parser.parse_args(arguments)
    datagrams = [random.Random(number).randbytes(options.bytes) for number in range(256)]
    try:
        with build() as tools:
            starts: list[Start] = [
                partial(plain_forwarder, tools, options.outs),
                partial(command_forwarder, "Twisted, no match", TWISTED, options.outs),
                *(partial(command_forwarder, text, shlex.split(text), options.outs) for text in options.command),
            ]
            compare(tools, starts, datagrams, rate=options.rate, seconds=options.seconds, rounds=options.rounds)
    except BenchError as error:
        print(f"bench forward: {error}", file=sys.stderr)
        return 2
    return 0


def compare(
    tools: Path, starts: list[Start], datagrams: list[bytes], *, rate: float, seconds: float, rounds: int
) -> dict[str, float]:
    """Measure every forwarder `rounds` times in turn; print the runs, then and also returned each name's ratio."""
    runs: dict[str, list[Measurement]] = {}
    for _ in range(rounds):
        for start in starts:
            with start() as forwarder:
                run = measure(tools, forwarder, datagrams, rate=rate, seconds=seconds)
            runs.setdefault(run.name, []).append(run)
            print(json.dumps(run.line()), flush=True)
    limit, *_ = runs.values()
    ratios = {}
    for name, measured in runs.items():
        ratios[name] = median(
            plain.us_per_publication / run.us_per_publication for plain, run in zip(limit, measured, strict=True)
        )
        cost = median(run.us_per_publication for run in measured)
        print(json.dumps({"name": name, "us_per_publication": round(cost, 3), "ratio": round(ratios[name], 3)}))
    return ratios


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
