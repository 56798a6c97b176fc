"""Runs of scenarios as events: deliveries are right, counts equal the computed load, the same seed is the same run."""

from __future__ import annotations

import math

import pytest

import sim
from cbsmrp.settings import ConfigError
from sim.load import load
from sim.load.crossings import Layout
from sim.load.offered import present, traffic
from sim.runs.events import Progress
from sim.runs.results import Results
from sim.scenario.scenario import Scenario, build, from_mapping

BASE = {"preset": "small", "seconds": 1.5, "workload": {"rate": 8}}


def scenario(**table) -> Scenario:
    return from_mapping({**BASE, **table})


def run(seed: int = 1, **table) -> Results:
    return sim.run(scenario(**table), seed)


def right(row) -> bool:
    return row["missed"] == row["unwanted"] == row["duplicates"] == row["never_in_force"] == 0 < row["expected"]


@pytest.mark.parametrize(
    "table",
    [
        {"areas": {"move_rate": 3, "shape": "mixed"}},
        {"areas": {"per_host": 3, "size": [90, 90, 90]}, "budget": 2},
        {"mode": "flooding"},
        {"clipping": False},
        {"source_clipping": True, "hosts": 12, "areas": {"subscribers": 4, "move_rate": 1, "size": [400, 400, 400]}},
        {"workload": {"kind": "hotspots", "attributes": {"team": ["a", "b"]}, "extent": [5, 5, 5]},
         "areas": {"match": ["team"], "move_rate": 2}},
        {"workload": {"kind": "flocking", "space": [300, 300], "layer": "birds", "payload": 40}},
        {"workload": {"kind": "waypoint"}, "churn": {"arriving": 0.4, "leaving": 0.4}, "areas": {"move_rate": 1}},
        {"link": {"jitter": 0.01, "loss": 0.2, "duplicate": 0.1, "reorder": 0.1}, "areas": {"move_rate": 1}},
    ],
)  # fmt: skip
def test_every_host_gets_what_it_wants_once(table):
    """T1, T2 and T3, by the oracle."""
    row = run(**table).row
    assert right(row) and row["complete"]
    assert row["unsent"] == 0 or "churn" in table  # who has just come may not have joined yet
    assert row["delivered"] >= row["expected"]


PROTOCOLS = [
    ({"clipping": True}, load.CLIPPING),
    ({"clipping": False}, load.WITHOUT_CLIPPING),
    ({"mode": "flooding"}, load.FLOODING),
    ({"source_clipping": True}, load.SOURCE_CLIPPING),
]


@pytest.mark.parametrize(("table", "protocol"), PROTOCOLS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_counts_are_the_computed_load_link_by_link(table, protocol, seed):
    """With exact regions, on a converged tree; also when a warm-up is left out."""
    table = {**table, "budget": 0, "hosts": 10, "warm_up": 0.5, "areas": {"size": [300, 300, 300], "subscribers": 6}}
    results = run(seed, **table)
    world = build(scenario(**table), seed)
    layout = Layout(world.tree, world.attachment)
    (found,) = load.load(
        layout, traffic(world, layout), [protocol], start=0.5, stop=2.0, present=present(world, layout)
    )
    counted = {(r["source"], r["destination"]): (r["packets"], r["bytes"]) for r in results.links if r["packets"]}
    assert counted == found.links() and counted
    row = results.row
    assert row["core_data_received"] == pytest.approx(found.core_in)
    assert row["core_data_sent"] == pytest.approx(found.core_out)
    assert (row["cost_packets"], row["cost_bytes"]) == pytest.approx(tuple(found.cost))
    assert row["host_data_received"] == pytest.approx(found.receiving.mean())
    assert row["published"] == pytest.approx(found.publications / 1.5)


def test_sums_are_those_of_the_tables():
    results = run(areas={"move_rate": 2})
    row = results.row
    for kind in ("routers_up", "routers_down", "hosts_up", "hosts_down"):
        own = [link for link in results.links if link["class"] == kind]
        assert row[f"cost_{kind}_packets"] == pytest.approx(sum(link["packets"] for link in own) / 1.5)
        assert row[f"cost_{kind}_control"] == pytest.approx(sum(link["control"] for link in own) / 1.5)
    assert row["cost_control"] == pytest.approx(sum(row[key] for key in row if key.startswith("control_")))
    core = next(router for router in results.routers if router["depth"] == 0)
    assert row["core_received"] == pytest.approx(core["data_received"] + core["control_received"])
    assert row["host_data_received"] == pytest.approx(sum(host["data_received"] for host in results.hosts) / 24)
    assert row["cost_hosts_up_packets"] == row["published"]  # everybody publishes everything
    assert row["control_update"] > 0 < row["before_subscribe"] and row["moves"] == 2 * 24 * 1.5


def test_what_clipping_saves():
    areas = {"subscribers": 4, "size": [150, 150, 150]}
    flooding, off, on, source = (
        run(areas=areas, **table).row
        for table in ({"mode": "flooding"}, {"clipping": False}, {}, {"source_clipping": True})
    )
    assert flooding["cost_packets"] > off["cost_packets"] > on["cost_packets"] > source["cost_packets"]
    assert off["core_data_received"] > on["core_data_received"] == source["core_data_received"]
    assert source["clipped_at_source"] > 0 == on["clipped_at_source"]
    assert flooding["expected"] == off["expected"] == on["expected"] == source["expected"]


def test_delays_are_the_tree_s():
    row = run(hosts=8, topology={"tree": [2, 1, 1], "delay": 0.01}, areas={"size": [2000, 2000, 2000]}).row
    # between leaves: none, or up and down three links; and a millisecond at each end
    assert row["delay_max"] == pytest.approx(6 * 0.01 + 0.002) and row["stretch_max"] == pytest.approx(1)


def test_stretch_of_a_ring(tmp_path):
    """Over the core, four links part the two routers farthest from it; they are neighbours."""
    links = tmp_path / "ring.csv"
    links.write_text("graph,u,v,ms,km\n" + "".join(f"ring,r{n},r{(n + 1) % 5},10,2000\n" for n in range(5)))
    table = {"topology": {"file": str(links), "graph": "ring", "core": "r0"}, "hosts": 8}
    row = run(**table, areas={"size": [2000, 2000, 2000]}).row
    assert right(row)
    assert row["stretch_max"] == pytest.approx((4 * 0.01 + 0.002) / (0.01 + 0.002))


def test_the_same_seed_is_the_same_run_and_another_is_not():
    table = {"link": {"jitter": 0.01, "loss": 0.1}, "areas": {"move_rate": 2}, "hosts": 8}
    first, again, other = run(3, **table), run(3, **table), run(4, **table)
    assert first == again and first.links != other.links
    assert {row["seed"] for row in (*first.links, *first.routers, *first.hosts)} == {3}
    assert len({row["digest"] for row in (first.row, *first.links, *other.routers)}) == 1


FAILING = {
    "topology": {"preset": "ts100", "backups": 2, "hosts_at": "leaves"},
    "timers": {"hello": 0.2, "hold": 0.5, "resend": 0.05, "resend_max": 0.2, "host_hello": 0.2, "host_hold": 0.5},
    "seconds": 6,
    "hosts": 12,
    "areas": {"size": [600, 600, 400]},
}


@pytest.mark.parametrize("what", ["router", "link"])
def test_failures_lose_something_and_mend(what):
    calm = run(**FAILING).row
    results = run(**FAILING, failures=[{what: "random", "at": 1, "until": 3}])
    row = results.row
    assert right(calm) and calm["unsent"] == 0
    assert row["never_in_force"] == row["unwanted"] == row["duplicates"] == 0
    assert row["before_subscribe"] == calm["before_subscribe"]
    assert row["control_subscribe"] > calm["control_subscribe"]  # somebody joined again
    assert row["expected"] < calm["expected"] and row["delivered"] < calm["delivered"]  # nothing is promised meanwhile


def test_losses_of_publications_are_missed():
    row = run(link={"publication_loss": 0.1}).row
    assert row["lost_packets"] > 0 < row["missed"] and row["unwanted"] == row["duplicates"] == 0
    assert row["missed"] + row["delivered"] >= row["expected"]


def test_what_cannot_come_into_force_is_told():
    with pytest.raises(
        ConfigError, match=r"after 2 s, \d+ of 24 hosts .* give a longer settle, or links with less loss"
    ):
        run(settle=2, link={"loss": 0.97})


def test_progress_rises_and_can_end_the_run():
    seen: list[Progress] = []
    sim.run(scenario(warm_up=0.5), 1, progress=seen.append)
    running = [each.share for each in seen if each.phase == "running"]
    assert running == sorted(running) and running[-1] == pytest.approx(1) and len(running) > 100
    assert seen[0].phase == "joining"

    def until(share: float):
        return lambda at: at.phase == "joining" or at.share < share

    half = sim.run(scenario(), 1, progress=until(0.5))
    assert not half.complete and half.row["seconds"] == pytest.approx(0.75)
    whole = sim.run(scenario(), 1).row
    assert half.row["missed"] == half.row["unwanted"] == 0 < half.row["expected"] < whole["expected"]
    assert math.isclose(half.row["published"], whole["published"], rel_tol=0.05)
    nothing = sim.run(scenario(), 1, progress=lambda _: False)
    assert not nothing.complete and nothing.row["seconds"] == 0 and nothing.row["published"] is None


def test_columns_are_described():
    from sim.runs.measures import COLUMNS

    row = run(hosts=3).row
    described = set(COLUMNS) | {"scenario", "digest", "seed", "version", "mode", "clipping", "source_clipping",
                                "configuration"}  # fmt: skip
    for name in row.keys() - described:
        stem = name.rpartition("_")[0]
        assert f"{stem}_mean" in described or f"{stem}_packets" in described, name
    assert COLUMNS.keys() <= row.keys()
