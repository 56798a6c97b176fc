"""Figures: what is computed is kept and not computed again, a stopped run goes on, and the drawing shows the data."""

import csv

import pytest

from cbsmrp.cli.main import main
from sim.figures import fig4
from sim.figures import points as figures
from sim.figures.points import Kept, interval
from sim.scenario.scenario import from_mapping


def small(reading, hosts, smallest=1.0):
    return from_mapping(
        {
            "name": f"fig4-{reading}",
            "hosts": hosts,
            "topology": {"tree": [3, 4], "degree": 40},
            "warm_up": 0.5,
            "seconds": 1.0,
            "workload": {"rate": 300 / hosts},
            "areas": {"smallest": smallest},
        }
    )


POINTS = [small("largest", 4), small("largest", 40), small("up-to-largest", 20, 0.0)]


@pytest.fixture
def computed(monkeypatch):
    """Which (hosts, seed) were computed."""
    calls = []
    rows = figures.rows

    def counted(scenario, seed, protocols):
        calls.append((scenario.hosts, seed))
        return rows(scenario, seed, protocols)

    monkeypatch.setattr(figures, "rows", counted)
    return calls


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_interval_of_a_sample_by_hand():
    # mean 2, standard deviation 1, error 1/sqrt(3), t for 2 degrees of freedom 4.3027
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.half) == (2.0, pytest.approx(2.4841, abs=1e-4))


def test_a_figure_has_data_drawings_and_a_table(tmp_path, computed):
    told = []
    summary = fig4.make(tmp_path, 3, POINTS, tell=lambda done, of, anew: told.append((done, of, anew)))
    assert told == [(n, 9, True) for n in range(1, 10)]
    runs = table(tmp_path / "fig4-runs.csv")
    assert len(runs) == 27 and len(summary) == 9
    assert {row["version"] for row in runs} and all(row["configuration"].startswith("{") for row in runs)
    for without, clipping, source in zip(*[iter(runs)] * 3, strict=True):
        assert {without["digest"], clipping["digest"], source["digest"]} != {without["digest"]}
        assert float(without["published"]) == float(without["core_data_received"]) == pytest.approx(300, rel=0.05)
        assert float(clipping["core_data_received"]) < 300
        assert float(clipping["cost_packets"]) < float(without["cost_packets"])
        # who is silenced would have gone no further than to the router
        saved = float(clipping["cost_hosts_up_packets"]) - float(source["cost_hosts_up_packets"])
        assert saved == pytest.approx(float(clipping["cost_packets"]) - float(source["cost_packets"]))
    of_40 = [row for row in summary if row["hosts"] == 40 and row["protocol"] == "with clipping"]
    ratios = [
        float(b["core_data_received"]) / float(a["core_data_received"])
        for a, b, _ in zip(*[iter(runs)] * 3, strict=True)
    ]
    assert of_40[0]["ratio"] == pytest.approx(interval(ratios[3:6]).mean, rel=1e-5)
    assert of_40[0]["ratio_half"] == pytest.approx(interval(ratios[3:6]).half, rel=1e-2)
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "fig4.svg").read_text(encoding="utf-8")
    assert all(text in svg for text in (*fig4.PROTOCOLS, "packets received by the core [1/s]", "3 seeds"))
    assert len((tmp_path / "fig4.md").read_text(encoding="utf-8").splitlines()) > len(POINTS)
    assert len(table(tmp_path / "fig4.csv")) == 9


def test_the_same_command_computes_nothing_and_writes_the_same(tmp_path, computed):
    fig4.make(tmp_path, 2, POINTS[:1])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    computed.clear()
    fig4.make(tmp_path, 2, POINTS[:1])
    assert computed == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    fig4.make(tmp_path, 3, POINTS[:2])
    assert computed == [(4, 3), (40, 1), (40, 2), (40, 3)]


def test_a_stopped_run_goes_on_where_it_was(tmp_path, computed):
    def stop(done, of, anew):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fig4.make(tmp_path, 2, POINTS[:2], tell=stop)
    file = tmp_path / "fig4-runs.csv"
    file.write_text(file.read_text(encoding="utf-8")[:-30], encoding="utf-8")  # killed while writing the last line
    computed.clear()
    fig4.make(tmp_path, 2, POINTS[:2])
    assert computed == [(40, 1), (40, 2)]
    whole = {(row["digest"], row["seed"]) for row in table(file)}
    assert len(whole) == 12


def test_rows_of_another_version_or_scenario_do_not_count(tmp_path, computed, monkeypatch):
    fig4.make(tmp_path, 2, POINTS[:1])
    monkeypatch.setattr("sim.runs.results.__version__", "99")
    computed.clear()
    fig4.make(tmp_path, 2, POINTS[:1])
    assert computed == [(4, 1), (4, 2)]
    assert {row["version"] for row in table(tmp_path / "fig4.csv")} == {"99"}


def test_kept_values_come_back_as_they_were(tmp_path):
    row = {"digest": "12e4567890123456", "seed": 1, "version": "1", "clipping": True, "outside": 0.1 + 0.2, "hosts": 5}
    Kept(tmp_path / "rows.csv").add([row])
    assert Kept(tmp_path / "rows.csv").find([row]) == [row]


def test_regions_outside_are_those_of_other_branches():
    """Four leaves in two branches, a host at each: of the four regions, two are in the other branch."""
    scenario = from_mapping({"hosts": 4, "topology": {"tree": [2, 2], "degree": 2}})
    (row,) = figures.rows(scenario, 1, {"clipping": fig4.PROTOCOLS["with clipping"]})
    assert row["outside"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["fig4", "--seeds", "1"], "--seeds 1: an interval needs 2 or more"),
        (["fig4", "--out", "FILE"], "is no directory"),
        (["fig5"], "fig5"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, line, tmp_path, capsys):
    (tmp_path / "FILE").write_text("")
    given = [str(tmp_path / each) if each == "FILE" else each for each in arguments]
    try:
        code = main(["sim", "figures", *given])
    except SystemExit as error:
        code = error.code
    assert code == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1


def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path, capsys, monkeypatch):
    def make(directory, seeds, tell):
        tell(3, 220, True)
        raise KeyboardInterrupt

    monkeypatch.setattr(fig4, "make", make)
    assert main(["sim", "figures", "fig4", "--out", str(tmp_path)]) == 1
    assert "3 of 220 runs are kept" in capsys.readouterr().err
