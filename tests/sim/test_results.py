"""Results in files, and `cbsmrp sim run`: rows say what they are, nothing runs twice, nothing is lost to ctrl-C."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import pytest
from pyarrow import parquet

import sim
from cbsmrp import __version__
from cbsmrp.cli.main import main
from sim.cli import run as verb
from sim.runs.results import finished
from sim.scenario.scenario import from_mapping, load

TOML = 'preset = "small"\nhosts = 5\nseconds = 0.5\n'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(TOML)
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_carry_configuration_seed_and_version(scenario, tmp_path):
    results = sim.run(load(scenario, {"clipping": False}), 9)
    own = results.write(tmp_path / "out")
    for name, expected in (("run", [results.row]), ("links", results.links), ("routers", results.routers),
                           ("hosts", results.hosts)):  # fmt: skip
        assert parquet.read_table(own / f"{name}.parquet").to_pylist() == expected
        found = rows(own / f"{name}.csv")
        assert len(found) == len(expected) > 0
        for row in found:
            assert (row["scenario"], row["seed"], row["version"]) == ("mine", "9", __version__)
            assert from_mapping(json.loads(row["configuration"])).digest() == row["digest"]
            assert row["clipping"] == "false"


def test_runs_of_a_directory_are_gathered_and_a_finished_one_is_found(scenario, tmp_path):
    out = tmp_path / "out"
    mine, other = load(scenario), load(scenario, {"clipping": False})
    for each, seed in ((other, 1), (mine, 2), (mine, 1)):
        assert finished(out, each, seed) is None
        own = sim.run(each, seed).write(out)
        assert finished(out, each, seed) == own
    assert finished(out, mine, 3) is None
    assert len(rows(out / "runs.csv")) == 3 == parquet.read_table(out / "runs.parquet").num_rows
    table = parquet.read_table(own / "run.parquet")
    place = table.schema.get_field_index("version")
    parquet.write_table(table.set_column(place, "version", [["0.0.1"]]), own / "run.parquet")
    assert finished(out, mine, 1) is None


def test_the_command(scenario, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["sim", "run", str(scenario), "--out", str(out), "--seed", "1-2,5", "--set", "areas.shape=sphere"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == str(out / "runs.csv") and said.err.count("0 missed") == 3
    assert [row["seed"] for row in rows(out / "runs.csv")] == ["1", "2", "5"]
    assert {json.loads(row["configuration"])["areas"]["shape"] for row in rows(out / "runs.csv")} == {"sphere"}
    before = {path: path.stat().st_mtime_ns for path in out.glob("*-seed*/*")}
    assert main([*command[:-2], "--set", "areas.shape=sphere", "--pcap", "R0", "R1"]) == 0
    assert "finished before" not in capsys.readouterr().err  # it has no capture
    assert main(command) == 0
    assert capsys.readouterr().err.count("finished before, not run again") == 3
    after = {path: path.stat().st_mtime_ns for path in out.glob("*-seed*/*")}
    assert len(list(out.glob("*/R0-R1.pcap"))) == 3 and after.keys() > before.keys()
    assert before.items() <= after.items()  # what was there is what it was
    assert main([*command, "--pcap", "R0", "R2"]) == 0
    assert len(list(out.glob("*/R0-R1.pcap"))) == len(list(out.glob("*/R0-R2.pcap"))) == 3
    assert not list(out.rglob("*.new")) and not list(out.glob("*-partial"))


@pytest.mark.parametrize("change", ["name=../evil", "name=", "name=a/b", "workload.payload=100000", "hosts=true"])
def test_values_that_cannot_be_meant(scenario, tmp_path, capsys, change):
    assert main(["sim", "run", str(scenario), "--out", str(tmp_path / "out"), "--set", change]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_figure_where_nothing_can_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["sim", "figures", "fig4", "--seeds", "2", "--out", str(tmp_path / "file" / "x")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_a_file_named_on_the_command_line_is_where_the_user_stands(scenario, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["sim", "topology", "generate", "ts100", "mine.graphml", "--seed", "1"]) == 0
    assert load(scenario, {"topology.file": "mine.graphml"}).topology.file == "mine.graphml"


def test_ctrl_c_keeps_what_was_measured(scenario, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    pressed = []

    def show(self, at):
        if at.phase == "running" and at.share > 0.4 and not pressed:
            pressed.append(at.share)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(verb._Line, "show", show)
    command = ["sim", "run", str(scenario), "--out", str(out), "--seed", "1-3", "--trace"]
    assert main(command) == 1
    assert "interrupted after 0.2" in capsys.readouterr().err
    (partial,) = out.glob("*-partial")
    (row,) = rows(out / "runs.csv")
    assert row["complete"] == "false" and 0.2 <= float(row["seconds"]) < 0.3 and row["missed"] == "0"
    assert parquet.read_table(partial / "trace.parquet").num_rows > 0
    assert main(command) == 0  # again, and now to the end
    assert [row["complete"] for row in rows(out / "runs.csv")] == ["true"] * 3
    assert not list(out.glob("*-partial")) and signal.getsignal(signal.SIGINT) is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", "0x1"], "--seed 0x1: give a whole number, or several such as 1-10 or 1,3,5"),
        (["--seed", "5-2"], "--seed 5-2: give a whole number"),
        (["--set", "clipping"], "--set clipping: give KEY=VALUE"),
        (["--set", "cliping=false"], "unknown key 'cliping': did you mean 'clipping'?"),
        (["--set", "hosts=many"], "hosts = 'many': give a whole number, at least 1"),
        (["--pcap", "R0", "R99"], "no router and no host is called 'R99'"),
        (["--set", "topology.file=nowhere.csv"], "nowhere.csv"),
        (["--set", "topology.tree=[1]", "--set", "hosts=50"], "50 hosts do not fit"),
    ],
)
def test_errors_are_one_line(scenario, tmp_path, capsys, words, message):
    assert main(["sim", "run", str(scenario), "--out", str(tmp_path / "out"), *words]) == 2
    said = capsys.readouterr().err
    assert message in said and said.startswith("cbsmrp sim run: ") and said.count("\n") == 1


def test_a_directory_that_cannot_be_made(scenario, tmp_path, capsys):
    assert main(["sim", "run", str(scenario), "--out", str(scenario)]) == 2
    assert "cannot be written" in capsys.readouterr().err
