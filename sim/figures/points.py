"""What every figure of the papers needs: points that are computed once and kept, and intervals over seeds.

Called by the figures' own modules (`fig4`) and by `cbsmrp sim figures`. A point is one scenario; of each seed it gives
one row for each protocol, all of them from the same world (common random numbers). Rows are kept in a CSV file as soon
as they are there, each with configuration, seed and version, and what is there is not computed again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy import stats

from cbsmrp.settings import ConfigError
from sim.load.crossings import Layout
from sim.load.load import Load, Protocol, load
from sim.load.offered import present, traffic
from sim.runs.results import Row, identity
from sim.scenario.scenario import Scenario, World, build

CONFIDENCE = 0.95
_TEXTS = {"scenario", "digest", "version", "mode", "configuration", "protocol"}


@attrs.frozen
class Interval:
    """A mean and how far the interval of Student's t reaches to both sides of it."""

    mean: float
    half: float


def interval(values: Sequence[float]) -> Interval:
    """Of at least two independent values, with CONFIDENCE."""
    sample = np.asarray(values, float)
    error = float(sample.std(ddof=1)) / len(sample) ** 0.5
    return Interval(float(sample.mean()), float(stats.t.ppf((1 + CONFIDENCE) / 2, len(sample) - 1)) * error)


def rows(scenario: Scenario, seed: int, protocols: Mapping[str, Protocol]) -> list[Row]:
    """One row for each protocol (its name -> what it does): rates per second, after the warm-up."""
    world = build(scenario, seed)
    layout = Layout(world.tree, world.attachment)
    loads = load(
        layout,
        traffic(world, layout),
        list(protocols.values()),
        start=scenario.warm_up,
        stop=scenario.duration,
        present=present(world, layout),
    )
    outside = _outside(world, layout)
    return [
        {
            **identity(_under(scenario, protocol), seed),
            "protocol": name,
            "hosts": scenario.hosts,
            "subscribers": scenario.subscribers,
            "outside": outside,
            **_measures(found),
        }
        for (name, protocol), found in zip(protocols.items(), loads, strict=True)
    ]


def _measures(found: Load) -> Row:
    """Under the names that runs of events give them (`measures.COLUMNS`)."""
    packets, size = found.cost
    return {
        "published": found.publications / found.seconds,
        "core_data_received": found.core_in,
        "core_data_sent": found.core_out,
        "host_data_received": float(found.receiving.mean()),
        "cost_packets": float(packets),
        "cost_bytes": float(size),
        "cost_hosts_up_packets": float(found.sent[0].sum()) / found.seconds,
    }


def _under(scenario: Scenario, protocol: Protocol) -> Scenario:
    """The scenario as an event simulation of this protocol would be told it."""
    return attrs.evolve(
        scenario,
        mode="flooding" if protocol.flooding else "shared-tree",
        clipping=protocol.clipping,
        source_clipping=protocol.source_clipping,
    )


def _outside(world: World, layout: Layout) -> float:
    """How many areas are in other branches below the core than a publishing host, on average over the objects."""
    branches = np.arange(len(layout.routers))
    for router in range(1, len(layout.routers)):  # parents come first
        above = layout.parents[router]
        branches[router] = branches[above] if above else router
    of_host = {host: int(branches[home]) for host, home in zip(layout.hosts, layout.homes, strict=True)}
    areas = [of_host[area.owner] for area in world.workload.areas]
    counts = np.bincount(areas, minlength=len(layout.routers))
    return float(np.mean([len(areas) - counts[of_host[entity.owner]] for entity in world.workload.entities]))


class Kept:
    """Rows in a CSV file, as they came; those of other versions or configurations stay, but are not given back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[tuple[str, str, str], Row] = {}
        self._columns: list[str] = []
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        whole = text[: text.rfind("\n") + 1]  # the last line may have been cut off
        if whole != text:
            path.write_text(whole, encoding="utf-8")
        reader = csv.DictReader(io.StringIO(whole))
        for row in reader:
            self._rows[self._key(row)] = {name: _value(name, value) for name, value in row.items()}
        self._columns = list(reader.fieldnames or ())

    def find(self, wanted: Sequence[Row]) -> list[Row] | None:
        """The rows with these identities; None if one is missing."""
        keys = [self._key(row) for row in wanted]
        return [self._rows[key] for key in keys] if all(key in self._rows for key in keys) else None

    def add(self, found: Sequence[Row]) -> None:
        """Keep these; they are in the file when this returns. Raises ConfigError if the file has other columns."""
        columns = list(found[0])
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        if not self._columns:
            self._columns = columns
            writer.writeheader()
        elif self._columns != columns:
            raise ConfigError(f"{self.path}: has other columns than this version writes: give another directory")
        writer.writerows(found)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text.getvalue())
        for row in found:
            self._rows[self._key(row)] = dict(row)

    def _key(self, row: Mapping[str, Any]) -> tuple[str, str, str]:
        return str(row["digest"]), str(row["seed"]), str(row["version"])


def _value(name: str, text: str) -> Any:
    if name in _TEXTS:  # a digest may look like a number
        return text
    if text in ("True", "False"):
        return text == "True"
    return float(text) if "." in text or "e" in text else int(text)


def collect(
    points: Sequence[Scenario],
    seeds: int,
    protocols: Mapping[str, Protocol],
    kept: Kept,
    tell: Callable[[int, int, bool], None] = lambda done, of, computed: None,
) -> Iterator[list[list[Row]]]:
    """For each point the rows of seeds 1 to `seeds`. `tell` hears after each how many are done, of how many, and
    whether this one had to be computed."""
    done = 0
    for scenario in points:
        found = []
        for seed in range(1, seeds + 1):
            wanted = [identity(_under(scenario, protocol), seed) for protocol in protocols.values()]
            there = kept.find(wanted)
            if there is None:
                there = rows(scenario, seed, protocols)
                kept.add(there)
                computed = True
            else:
                computed = False
            found.append(there)
            done += 1
            tell(done, len(points) * seeds, computed)
        yield found
