"""The checking of the demo, on logs as a faultless overlay leaves them, and on the same logs with one thing wrong."""

import argparse
import json
from functools import cache
from pathlib import Path

import pytest

from cbsmrp.cli.scrape import Snapshot, VifRow
from cbsmrp.traces import read
from interest import Interest, Point
from sim.demo import command, plan
from sim.demo.overlay import TREE, Performed
from sim.workload.workload import oscillating, recorded, to_interest

START = 1000.0  # second 0 of the run on the machine's clock
PROMISED = 0.02  # seconds until a move is in force
UNDERWAY = 0.005


class Faultless:
    """Logs where every subscriber gets what the newest version asked for wants; `interest` decides, not the oracle."""

    def __init__(self, planned):
        self.plan = planned
        self.publishers = [
            {
                "update": number,
                "sent": START + update.time,
                "source": f"{hash_of(update.name):016x}",
                "sequence": number,
            }
            for number, update in enumerate(planned.updates)
        ]
        self.publishers.append({"client": "publisher0", "lost_on_link": 0, "drops": {}})
        self.moves = [
            {"move": number, "asked": asked, "in_force": asked + PROMISED}
            for number, move in enumerate(planned.moves)
            for asked in [START + (-1.0 if move.time is None else move.time)]
        ]
        self.arrivals = [
            {"client": client, "arrived": START + update.time + UNDERWAY, "source": sent["source"],
             "sequence": sent["sequence"], "handed": True}
            for client in planned.subscribers
            for update, sent in zip(planned.updates, self.publishers, strict=False)
            if any(matches(area[-1], update) for area in self.areas(client, until=update.time))
        ]  # fmt: skip
        self.subscribers = [{"client": "subscriber0", "lost_on_link": 0, "drops": {}}]
        self.core_packets = 100
        self.defects = {}

    def areas(self, client, until=float("inf")):
        """The versions of each area of a client up to a time."""
        found = {}
        for move in self.plan.moves:
            if move.client == client and (move.time is None or move.time <= until):
                found.setdefault(move.name, []).append(move)
        return list(found.values())

    def an_arrival(self):
        """One that had to be: the publication matches every version of an area."""
        for arrival in self.arrivals:
            update = self.plan.updates[arrival["sequence"]]
            if any(all(matches(move, update) for move in area) for area in self.areas(arrival["client"])):
                return arrival
        raise AssertionError("the plan has none")

    def performed(self, directory: Path, clipping: bool) -> Performed:
        directory.mkdir(exist_ok=True)
        files = directory / "publishers.jsonl", directory / "subscribers.jsonl"
        for file, lines in zip(files, (self.publishers, self.moves + self.arrivals + self.subscribers), strict=True):
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        routers = {name: Snapshot() for name in TREE}
        packets = self.core_packets if clipping else 200
        routers["core"].vifs.append(VifRow("2", "downstream", "", packets_in=packets))
        return Performed(clipping, START, *files, routers, 0.5, self.defects)


def hash_of(name):
    return int.from_bytes(name.encode()[-8:], "big")


@cache
def matches(move, update):
    interest = Interest.of(to_interest(move.piece), move.layer)
    return interest.matches(Point(update.extent), {} if update.layer is None else {"layer": update.layer})


@pytest.fixture
def demo(tmp_path, monkeypatch, capsys):
    """Runs the command on logs of which `doctor` has changed those of the run with clipping."""

    def run(doctor=lambda logs: None):
        def perform(planned, files, directory, clipping, show):
            logs = Faultless(planned)
            if clipping:
                doctor(logs)
            return logs.performed(directory, clipping)

        monkeypatch.setattr(command, "perform", perform)
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        code = command.run(parser.parse_args(["--seconds", "1", "--rate", "120", "--out", str(tmp_path)]))
        out = capsys.readouterr().out
        assert str(tmp_path / "summary.json") in out
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert summary["ok"] == (code == 0)
        assert all(problem in out for problem in summary["problems"])
        return code, summary

    return run


def test_faultless(demo):
    code, summary = demo()
    assert code == 0
    for run in (summary["clipping"], summary["no_clipping"]):
        assert run["publications"] == 120
        assert 0 < run["expected"] <= run["delivered"] <= run["expected"] + run["may_deliver"]
        assert (run["missed"], run["unwanted"], run["duplicates"], run["lost_on_link"]) == (0, 0, 0, 0)
        assert run["in_force_p50_seconds"] == pytest.approx(PROMISED)
    assert summary["clipping"]["core_packets_per_publication"] == pytest.approx(100 / 120)


def test_a_missed_one_by_routing(demo):
    code, summary = demo(lambda logs: logs.arrivals.remove(logs.an_arrival()))
    assert code == 1
    assert summary["clipping"]["missed"] == 1
    assert "1 missed: lost by routing" in summary["problems"][0]
    assert summary["no_clipping"]["missed"] == 0


@pytest.mark.parametrize("cause", ["lost_on_link", "drops"])
def test_a_missed_one_in_socket_buffers_is_not_excused(demo, cause):
    def doctor(logs):
        logs.arrivals.remove(logs.an_arrival())
        logs.subscribers[0][cause] = 3 if cause == "lost_on_link" else {"queue_full": 3}

    code, summary = demo(doctor)
    assert code == 1
    assert summary["clipping"]["missed"] == 1
    assert "1 missed: lost in socket buffers" in summary["problems"][0]


def test_one_that_the_client_withheld_is_missed(demo):
    code, summary = demo(lambda logs: logs.an_arrival().update(handed=False))
    assert code == 1
    assert summary["clipping"]["missed"] == 1
    assert "reached the client and were not handed on" in summary["problems"][0]


def test_an_unwanted_one(demo):
    def doctor(logs):
        for client in logs.plan.subscribers:
            for sent, update in zip(logs.publishers, logs.plan.updates, strict=False):
                if not any(matches(move, update) for area in logs.areas(client) for move in area):
                    logs.arrivals.append({"client": client, "arrived": sent["sent"] + UNDERWAY, "handed": False,
                                          "source": sent["source"], "sequence": sent["sequence"]})  # fmt: skip
                    return

    code, summary = demo(doctor)
    assert code == 1
    assert summary["clipping"]["unwanted"] == 1
    assert summary["clipping"]["missed"] == 0


def test_one_that_nobody_published_is_unwanted(demo):
    code, summary = demo(lambda logs: logs.arrivals.append({**logs.an_arrival(), "sequence": 99999}))
    assert code == 1
    assert summary["clipping"]["unwanted"] == 1


def test_a_duplicate(demo):
    code, summary = demo(lambda logs: logs.arrivals.append(logs.an_arrival()))
    assert code == 1
    assert summary["clipping"]["duplicates"] == 1
    assert summary["clipping"]["unwanted"] == 0


def test_what_was_not_handed_to_a_router_is_not_expected(demo):
    def doctor(logs):
        number = logs.an_arrival()["sequence"]
        logs.publishers[number] = {"unsent": number}
        logs.arrivals = [arrival for arrival in logs.arrivals if arrival["sequence"] != number]

    code, summary = demo(doctor)
    assert code == 0
    assert summary["clipping"]["publications"] == 119
    assert summary["clipping"]["not_sent"] == 1
    assert summary["clipping"]["missed"] == 0


def test_while_the_promise_is_taken_back_nothing_is_expected(demo):
    def doctor(logs):
        lost = logs.an_arrival()
        logs.arrivals.remove(lost)
        span = {"client": lost["client"], "in_force_lost": lost["arrived"] - 0.1, "until": lost["arrived"] + 0.1}
        logs.subscribers.append(span)

    code, summary = demo(doctor)
    assert code == 0
    assert summary["clipping"]["missed"] == 0
    assert summary["clipping"]["in_force_lost"] == 1


def test_a_run_that_proves_nothing_fails(demo):
    def doctor(logs):
        for client in logs.plan.subscribers:
            logs.subscribers.append({"client": client, "in_force_lost": START - 2, "until": None})

    code, summary = demo(doctor)
    assert code == 1
    assert "nothing had to be delivered" in summary["problems"][0]


def test_too_few_certain_deliveries_fail(demo):
    def doctor(logs):
        for client in logs.plan.subscribers[:3]:
            logs.subscribers.append({"client": client, "in_force_lost": START - 2, "until": None})

    code, summary = demo(doctor)
    assert code == 1
    assert "at least 90% are needed" in summary["problems"][0]


def test_clipping_that_does_not_relieve_the_core_fails(demo):
    code, summary = demo(lambda logs: setattr(logs, "core_packets", 200))
    assert code == 1
    assert "clipping does not relieve the core" in summary["problems"][0]


def test_an_exception_in_a_process_fails(demo):
    code, summary = demo(lambda logs: logs.defects.update(leaf0="KeyError: 7"))
    assert code == 1
    assert "leaf0 reported a defect: KeyError: 7" in summary["problems"][0]


def test_plans_survive_their_files(tmp_path):
    """Flat worlds too: their areas have no height, and infinity must come back."""
    trace = tmp_path / "flat.csv"
    rows = [f"{t},a{n % 2}.{n},{n * 10 + t},{t}" for t in range(20) for n in range(8)]
    trace.write_text("\n".join(["t,id,x,y", *rows]) + "\n")
    for made in (oscillating(7, duration=3.0, rate=50.0), recorded(read(trace), 7, duration=3.0, rate=50.0)):
        planned = plan.make(made, publishers=4)
        assert len(planned.updates) > 50 and any(move.time for move in planned.moves)
        plan.write(planned.updates, tmp_path / "updates")
        plan.write(planned.moves, tmp_path / "moves")
        assert tuple(plan.read_updates(tmp_path / "updates")) == planned.updates
        assert tuple(plan.read_moves(tmp_path / "moves")) == planned.moves
