"""What the benchmarks share: CPU time per call, boxes to match against, and how figures are printed.

Figures are CPU microseconds, for other processes share these machines; what is to be compared takes turns in one run.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from interest import Box, Point

WORLD = 1000.0
"""Side of the space in metres, on each axis."""
ROUNDS = 5


def cpu_us(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """CPU µs of one call of each: the median over rounds in which they take turns, `seconds` of CPU each in all."""
    costs: dict[str, list[float]] = {name: [] for name in calls}
    share = int(seconds / ROUNDS * 1e9)
    for call in calls.values():
        call()  # caches are filled
    for _ in range(ROUNDS):
        for name, call in calls.items():
            done, start = 0, time.process_time_ns()
            while (spent := time.process_time_ns() - start) < share or not done:
                call()
                done += 1
            costs[name].append(spent / done / 1000)
    return {name: median(measured) for name, measured in costs.items()}


def random_box(rng: random.Random, share: float = 0.01) -> Box:
    """A box of this share of the world on each axis."""
    size = share * WORLD
    low = [rng.uniform(0.0, WORLD - size) for _ in range(3)]
    return Box(low, [value + size for value in low])


def random_point(rng: random.Random) -> Point:
    """Anywhere in the world."""
    return Point([rng.uniform(0.0, WORLD) for _ in range(3)])


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least this share of the values does not exceed; NaN where there is none."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else float("nan")


def spread(values: Sequence[float]) -> dict[str, float]:
    """How values are distributed, for printing."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {"n": len(values)} | {name: figure(percentile(values, share)) for name, share in shares.items()}


def figure(value: float) -> float:
    """Three significant digits: more is noise."""
    return float(f"{value:.3g}")


def parser(name: str, text: str | None) -> argparse.ArgumentParser:
    """The options of one benchmark."""
    return argparse.ArgumentParser(prog=f"python -m bench {name}", description=text)


def publish(name: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print each list of rows as a table on standard error for people, and all as one JSON line on standard output."""
    for title, rows in tables.items():
        if rows:
            _print_table(title, rows)
    print(json.dumps({"bench": name, **tables}), flush=True)


def _print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    texts = [columns, *([f"{row.get(column, '')}" for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    print(f"\n{title}", file=sys.stderr)
    for text in texts:
        print("  ".join(each.rjust(width) for each, width in zip(text, widths, strict=True)), file=sys.stderr)
