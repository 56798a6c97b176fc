"""Every benchmark runs at a tiny size and its figures hang together; how large they are is no test's business."""

import json
import shutil

import pytest

from bench import algebra, control, load, matching, simulator, state, updates
from bench.forward import __main__ as forward
from bench.forward.router import scene


@pytest.fixture
def tables(capsys):
    """Runs a benchmark and returns its tables."""

    def run(main, text):
        assert main(text.split()) == 0
        (line,) = capsys.readouterr().out.splitlines()
        _name, *tables = json.loads(line).values()
        assert all(table for table in tables)
        return tables

    return run


def test_matching(tables):
    find, replace, threshold = tables(matching.main, "--sizes 30 --scanned 16 --seconds 0.005")
    assert [row["attributes"] for row in find] == [False, True]
    assert replace[0]["interests"] == 30 and threshold[0]["entries"] == 16


def test_algebra(tables):
    (rows,) = tables(algebra.main, "--sizes 10 --seconds 0.005")
    assert [row["shapes"] for row in rows] == ["boxes", "mixed"]


def test_state_grows_with_the_pieces(tables):
    kept, sent = tables(state.main, "--pieces 1 64 --vifs 3")
    assert kept[0]["box"] < kept[1]["box"] and kept[1]["box"] > 64 * 48
    assert all(row["bytes"] > row["region"] for row in sent)
    assert {row["datagrams"] for row in sent if row["pieces"] == 1} == {1}


def test_control_reaches_every_router_and_takes_a_round_trip_at_least(tables):
    together, crowd = tables(control.main, "--routers 5 --hosts 6 --at-once 1 3 --trials 2 --seconds 0.5 --period 0.25")
    single, trips, *_ = together
    # five routers and the host: an UPDATE over each of five links, and an answer to each
    assert single["UPDATE"] == 5 and single["REPLY"] >= 5
    assert trips["n"] == 2 and trips["p50"] >= 0.99
    assert crowd[0]["n"] == 12


def test_simulator_counts_hops(tables):
    (rows,) = tables(simulator.main, "--hosts 4 --publications 20 --rounds 1")
    # to its router, and as often as not on to the core and down again to whoever wants it
    assert rows[0]["routers"] == 13 and 1 <= rows[0]["hops per publication"] <= 12
    assert rows[0]["hops/s"] > 0 and rows[0]["SimPy timeouts/s"] > 0


def test_load_of_every_world(tables):
    (rows,) = tables(load.main, "--hosts 20 800 --publications 50 --routers 40")
    assert [(row["world"], row["areas"], row["hosts"]) for row in rows] == [
        (world, areas, hosts)
        for world in ("one space", "equal density")
        for areas in ("still", "moving")
        for hosts in (20, 800)
    ]
    wanted = {(row["world"], row["areas"], row["hosts"]): row["wanted by"] for row in rows}
    assert wanted["one space", "still", 800] > 3 * wanted["equal density", "still", 800]


@pytest.mark.udp
def test_updates(tables):
    live, tree = tables(updates.main, "--hosts 3 --pieces 2 --tree-pieces 1 --seconds 0.3")
    assert live[0]["updates/s"] > 0 and live[0]["CPU µs per update"] > 0
    assert tree[0]["moves"] == 15


@pytest.mark.udp
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_router_delivers_what_it_forwards(tables):
    one, more = tables(forward.main, "--rounds 1 --seconds 0.2 --rate 3000 --outs 3 --boxes 5")
    assert [row["name"].split(",")[0] for row in one] == ["plain C", "Twisted", "router", "router"]
    assert [row["name"].split(",")[0] for row in more] == ["plain C", "router"]
    assert all(row["lost"] == 0 and row["delivered"] > 0 for row in one + more)


def test_a_publication_is_wanted_by_as_many_as_the_fan_out_says():
    for fan_out in (1, 4):
        packed = scene(fan_out, 5, 100).datagrams(14)
        assert {len(datagram) for datagram in packed} == {4 + 14 * 96}
