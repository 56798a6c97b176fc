"""CPU µs per publication of forwarding processes, the router among them, beside the plain C limit, as a ratio.

Every round measures the plain C forwarder and then the others under the same load; the ratio of a forwarder is the
median over the rounds of (plain C / it), so 1.00 is the limit of one datagram in, one datagram out. The router matches
each publication against 12 hosts of 50 boxes. With a fan-out each publication goes to so many sinks, also those of the
plain C forwarder. JSON lines on stdout: each run, and at the end one of all ratios.
"""

import argparse
import random
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from statistics import median

import attrs

from bench._measure import figure, publish
from bench.forward.harness import (
    BenchError,
    Forwarder,
    Measurement,
    build,
    command_forwarder,
    measure,
    plain_forwarder,
)
from bench.forward.router import router_forwarder, scene

TWISTED = [sys.executable, "-m", "bench.forward.twisted_forwarder", "{in}", "{out}"]


@attrs.frozen
class Contender:
    """One forwarder and the load for it: `datagrams` of `packed` publications each, `copies` of each delivered."""

    start: Callable[[], AbstractContextManager[Forwarder]]
    datagrams: Sequence[bytes]
    packed: int = 1
    copies: int = 1


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench forward", description=__doc__)
    parser.add_argument(
        "--rate", type=float, default=100_000, help="publications per second, 0: all it can (%(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of load per run (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each forwarder (%(default)s)")
    parser.add_argument("--outs", type=int, default=10, help="the greater fan-out (%(default)s)")
    parser.add_argument("--boxes", type=int, default=50, help="of each of the router's 12 hosts (%(default)s)")
    parser.add_argument("--bytes", type=int, default=100, help="of a datagram with one publication (%(default)s)")
    parser.add_argument(
        "--command", action="append", default=[], help="one more forwarder; the word {in} is its port, {out} the sink's"
    )
    options = parser.parse_args(arguments)
    datagrams = [random.Random(number).randbytes(options.bytes) for number in range(256)]
    single, many = (scene(fan_out, options.boxes, options.bytes) for fan_out in (1, options.outs))
    try:
        with build() as tools:
            race = partial(race_in, tools, rate=options.rate, seconds=options.seconds, rounds=options.rounds)
            one = [
                Contender(partial(plain_forwarder, tools, 1), datagrams),
                Contender(partial(command_forwarder, "Twisted, no match", TWISTED, 1), datagrams),
                Contender(partial(router_forwarder, "router", single), single.datagrams(1)),
                Contender(
                    partial(router_forwarder, f"router, {single.packed} a datagram", single),
                    single.datagrams(single.packed),
                    single.packed,
                ),
                *(
                    Contender(partial(command_forwarder, text, shlex.split(text), 1), datagrams)
                    for text in options.command
                ),
            ]
            more = [
                Contender(partial(plain_forwarder, tools, options.outs), datagrams, copies=options.outs),
                Contender(
                    partial(router_forwarder, f"router, {many.packed} a datagram", many),
                    many.datagrams(many.packed),
                    many.packed,
                    options.outs,
                ),
            ]
            publish("forward", {"fan-out 1": race(one), f"fan-out {options.outs}": race(more)})
    except BenchError as error:
        print(f"bench forward: {error}", file=sys.stderr)
        return 2
    return 0


def race_in(
    tools: Path, contenders: Sequence[Contender], *, rate: float, seconds: float, rounds: int
) -> list[dict[str, object]]:
    """Measure every contender `rounds` times in turn; a row for each, the first of them being the limit."""
    runs: list[list[Measurement]] = [[] for _ in contenders]
    for _ in range(rounds):
        for measured, each in zip(runs, contenders, strict=True):
            with each.start() as forwarder:
                measured.append(
                    measure(tools, forwarder, each.datagrams, rate=rate, seconds=seconds, packed=each.packed)
                )
    return [_row(runs[0], measured, each.copies) for measured, each in zip(runs, contenders, strict=True)]


def _row(limit: Sequence[Measurement], runs: Sequence[Measurement], copies: int) -> dict[str, object]:
    cost = median(run.us_per_publication for run in runs)
    ratio = median(plain.us_per_publication / run.us_per_publication for plain, run in zip(limit, runs, strict=True))
    due = sum(run.handled for run in runs) * copies - sum(run.dropped_at_sinks for run in runs)
    return {
        "name": runs[0].name,
        "µs per publication": figure(cost),
        "µs per copy": figure(cost / copies),
        "ratio": figure(ratio),
        "handled per s": round(sum(run.handled for run in runs) / sum(run.seconds for run in runs)),
        "delivered": sum(run.delivered for run in runs),
        "lost": due - sum(run.delivered for run in runs),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
