"""Results of runs as tidy rows, written as Parquet and CSV: one row a run, and tables of its links, routers and hosts.

Made by `measures`; written by `cbsmrp sim run`. Every row of every table says which scenario, seed and version it is
from: `scenario` (name), `digest` (of all that the scenario holds), `seed`, `version`, `configuration` (what differs
from the defaults, as JSON). A directory of results holds one directory a run, and `runs`, the rows of all of them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pyarrow as pa
from pyarrow import csv, parquet

from cbsmrp import __version__
from sim.scenario.scenario import Scenario

Row: TypeAlias = dict[str, Any]
_TABLES = ("run", "links", "routers", "hosts")


@attrs.frozen
class Results:
    """What was measured. `row`: the run; `links`: one row for each direction of every link that carried anything."""

    row: Row
    links: list[Row]
    routers: list[Row]
    hosts: list[Row]

    @property
    def complete(self) -> bool:
        """Did it run to its end?"""
        return bool(self.row["complete"])

    def write(self, directory: str | Path) -> Path:
        """Write the run into a directory of its own in `directory`, and `runs` anew. Returns the run's own.

        A finished run's directory is `NAME-DIGEST-seedN`; while a run is not finished, `-partial` stands behind it.
        """
        directory = Path(directory)
        own = directory / _name(str(self.row["scenario"]), str(self.row["digest"]), int(self.row["seed"]))
        partial = own.with_name(own.name + "-partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name in _TABLES:
            _write(pa.Table.from_pylist([self.row] if name == "run" else getattr(self, name)), partial / name)
        if self.complete:
            shutil.rmtree(own, ignore_errors=True)
            os.replace(partial, own)
        gather(directory)
        return own if self.complete else partial


def identity(scenario: Scenario, seed: int) -> Row:
    """What every row begins with."""
    return {
        "scenario": scenario.name,
        "digest": scenario.digest(),
        "seed": seed,
        "version": __version__,
        "mode": scenario.mode,
        "clipping": scenario.clipping,
        "source_clipping": scenario.source_clipping,
        "configuration": scenario.configuration(),
    }


def run_name(scenario: Scenario, seed: int) -> str:
    """The name of a finished run's own directory."""
    return _name(scenario.name, scenario.digest(), seed)


def _name(scenario: str, digest: str, seed: int) -> str:
    return f"{scenario}-{digest[:8]}-seed{seed}"


def finished(directory: str | Path, scenario: Scenario, seed: int) -> Path | None:
    """The directory of the same scenario's finished run with this seed by this version, if it is there."""
    own = Path(directory) / run_name(scenario, seed)
    try:
        rows = parquet.read_table(own / "run.parquet", columns=["digest", "seed", "version", "complete"]).to_pylist()
    except (OSError, pa.ArrowException):
        return None
    same = {"digest": scenario.digest(), "seed": seed, "version": __version__, "complete": True}
    return own if rows == [same] else None


def gather(directory: str | Path) -> None:
    """Write `runs.parquet` and `runs.csv`: the rows of all runs in this directory, by scenario and seed."""
    paths = sorted(Path(directory).glob("*-seed*/run.parquet"))
    if paths:
        runs = pa.concat_tables([parquet.read_table(path) for path in paths], promote_options="permissive")
        _write(runs.sort_by([("scenario", "ascending"), ("digest", "ascending"), ("seed", "ascending")]),
               Path(directory) / "runs")  # fmt: skip


def _write(table: pa.Table, path: Path) -> None:
    """As `path`.parquet and `path`.csv, each of them whole or not at all."""
    for suffix, write in ((".parquet", parquet.write_table), (".csv", csv.write_csv)):
        scratch = path.with_suffix(suffix + ".new")
        write(table, scratch)
        os.replace(scratch, path.with_suffix(suffix))
