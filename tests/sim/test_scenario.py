"""Scenarios: what a file says is built, what cannot be meant is one clear line, and seeds are common numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.settings import ConfigError
from sim.scenario.presets import PRESETS
from sim.scenario.scenario import build, from_mapping, load

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.toml"))
SMALL = {"preset": "small"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"host": 3}, "unknown key 'host': did you mean 'hosts'?"),
        ({"areas": {"sise": [1, 1, 1]}}, r"unknown key 'sise' in \[areas\]: did you mean 'size'?"),
        ({"hosts": 0}, "hosts = 0: give a whole number, at least 1"),
        ({"hosts": True}, "hosts = True: give a whole number"),
        ({"seconds": -1}, "seconds = -1.0: give a number above 0"),
        ({"mode": "shared_tree"}, "mode = 'shared_tree': give 'shared-tree', or one of"),
        ({"preset": "papers"}, "preset = 'papers': give one of paper, paper-fig4, small"),
        ({"topology": 3}, r"topology = 3: give a table, \[topology\]"),
        ({"topology": {"preset": "paper", "tree": [3]}}, r"\[topology\] preset and tree are given: give one of them"),
        ({"topology": {"tree": [3, 0]}}, r"\[topology\] tree = \(3, 0\): give the children"),
        ({"topology": {"graph": "x"}}, "graph = 'x': give the file too"),
        ({"workload": {"kind": "swinging"}}, r"\[workload\] kind = 'swinging': give one of 'oscillating'"),
        ({"workload": {"kind": "recorded"}}, "kind = 'recorded': give the file of the trace"),
        ({"workload": {"file": "x.csv"}}, "file is for recorded movement"),
        ({"workload": {"rate": 0}}, "rate = 0.0: give a number above 0"),
        ({"workload": {"speed": [5, 1]}}, r"speed = \[5.0, 1.0\]: give a list of two numbers, from and to, above 0"),
        ({"workload": {"amplitude": [1, 300]}}, "the space is only 400 m high"),
        ({"workload": {"space": [720, 720]}}, "oscillation is vertical, give a height too"),
        ({"workload": {"kind": "flocking", "spread": 500}}, "a flock of this size does not fit the space"),
        ({"workload": {"attributes": {"team": []}}}, r"attributes.team = \[\]: give a list of the values"),
        ({"areas": {"size": [1, 2]}}, r"size = \[1.0, 2.0\]: give three lengths above 0"),
        ({"areas": {"smallest": 1.5}}, "smallest = 1.5: give a number at least 0, at most 1"),
        ({"areas": {"move_rate": 6}}, "move_rate = 6.0: give a number at least 0, at most 5"),
        ({"areas": {"move_rate": 1, "centre": "anywhere"}}, "areas that are anywhere do not move"),
        ({"areas": {"match": ["team"]}}, "match = 'team': publications have no such attribute"),
        ({"areas": {"subscribers": 99}}, r"\[areas\] subscribers = 99: there are 24 hosts"),
        ({"link": {"loss": 1.1}}, r"\[link\] loss = 1.1: give a number at least 0, at most 1"),
        ({"timers": {"hello": 4}}, r"\[timers\] hold = 3.5: give more than twice hello"),
        ({"failures": [{"at": 1}]}, r"\[\[failures\]\] a failure is of one thing: give router or link"),
        ({"failures": [{"at": 9, "router": "R1"}]}, r"at = 9: the run is over after 5 s"),
        ({"failures": [{"at": 1, "until": 1, "router": "R1"}]}, "until = 1.0: give a time after at"),
    ],
)
def test_what_cannot_be_meant_is_one_line(table, message):
    with pytest.raises(ConfigError, match=message) as error:
        from_mapping({**SMALL, **table})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"topology": {"preset": "papier"}}, r"\[topology\] no preset 'papier': there are paper"),
        ({"topology": {"tree": [2]}, "hosts": 100}, r"\[topology\] 100 hosts do not fit"),
        ({"topology": {"tree": [2], "core": "R9"}}, r"\[topology\] no node 'R9' to be the core"),
        ({"failures": [{"router": "R99"}]}, r"\[\[failures\]\] router = 'R99': there is no such router"),
        ({"failures": [{"link": "R0"}]}, r"\[\[failures\]\] link = 'R0': there is no link above the core"),
    ],
)
def test_what_does_not_fit_the_topology_is_one_line(table, message):
    with pytest.raises(ConfigError, match=message):
        build(from_mapping({"hosts": 4, "seconds": 5, **table}), 1)


def test_a_topology_that_is_not_connected(tmp_path):
    links = tmp_path / "two.csv"
    links.write_text("graph,u,v,ms,km\ntwo,a,b,1,200\ntwo,b,c,1,200\ntwo,x,y,1,200\n")
    table = {"hosts": 2, "topology": {"file": str(links), "graph": "two", "hosts_at": "all"}}
    with pytest.raises(ConfigError, match=r"is not connected: 2 of its 5 routers .* largest_part = true"):
        build(from_mapping(table), 1)
    table["topology"]["largest_part"] = True
    assert set(build(from_mapping(table), 1).tree.routers) == {"a", "b", "c"}


def test_errors_of_files_name_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('preset = "small"\n[areas]\nshapes = "box"\n')
    with pytest.raises(ConfigError, match=r"mine.toml: unknown key 'shapes' in \[areas\]: did you mean 'shape'?"):
        load(path)
    path.write_text('hosts = 3\n[workload]\nkind = "recorded"\nfile = "nowhere.csv"\n')
    with pytest.raises(ConfigError, match=r"nowhere.csv: cannot be read"):
        load(path).digest()


def test_files_are_beside_the_scenario_and_changes_win(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('preset = "small"\nhosts = 5\n[topology]\nfile = "net.csv"\ngraph = "g"\n')
    found = load(path, {"hosts": 6, "areas.size": [1, 2, 3]})
    assert (found.name, found.hosts, found.areas.size) == ("mine", 6, (1.0, 2.0, 3.0))
    assert Path(found.topology.file) == tmp_path / "net.csv"
    assert found.seconds == 5.0  # of the preset
    with pytest.raises(ConfigError, match=r"hosts.x: hosts is not a table"):
        load(path, {"hosts.x": 1})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_scenarios(path):
    assert load(path).name == path.stem


def test_there_are_examples():
    assert {"small", "paper_small", "recorded", "real_topology", "failures"} <= {path.stem for path in EXAMPLES}


TABLES = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(sorted(PRESETS)),
        "clipping": st.booleans(),
        "budget": st.integers(0, 5),
        "warm_up": st.sampled_from([0, 1, 2.5]),
        "areas": st.fixed_dictionaries({}, optional={"size": st.just([1, 2, 3]), "match": st.just(["team"])}),
        "workload": st.fixed_dictionaries({"attributes": st.just({"team": ["a", True, 3]})}),
        "failures": st.lists(st.just({"at": 1, "router": "random"}) | st.just({"link": "R1", "until": 2}), max_size=2),
    },
)


@given(TABLES)
def test_settings_say_all_that_is_not_default(table):
    if "match" in table.get("areas", {}) and "workload" not in table:
        table["workload"] = {"attributes": {"team": ["a"]}}
    table.setdefault("seconds", 4)
    scenario = from_mapping(table)
    again = from_mapping(json.loads(scenario.configuration()))
    assert again == scenario and again.digest() == scenario.digest()
    assert from_mapping({**table, "name": "another"}).digest() == scenario.digest()
    assert from_mapping({**table, "seconds": 4.5}).digest() != scenario.digest()


def test_digests_are_of_contents_not_of_places(tmp_path):
    table = {"workload": {"kind": "recorded"}}
    digests = []
    for place, text in (("a.csv", "t,id,x,y\n"), ("b.csv", "t,id,x,y\n"), ("c.csv", "t,id,y,x\n")):
        (tmp_path / place).write_text(text)
        table["workload"]["file"] = str(tmp_path / place)
        digests.append(from_mapping(table).digest())
    assert digests[0] == digests[1] != digests[2]


def fingerprint(world):
    demands = [(t, area.name, piece) for t, area, piece in world.demands()]
    return [(t, each.name, each.extent(t)) for t, each in world.workload.publications()], demands


MOVING = {"preset": "small", "seconds": 2, "areas": {"move_rate": 2, "smallest": 0.3}}


@pytest.mark.parametrize("kind", ["oscillating", "waypoint", "flocking", "hotspots", "still"])
def test_common_random_numbers(kind):
    base = {**MOVING, "workload": {"kind": kind}}
    first = build(from_mapping(base), 7)
    for change in ({"clipping": False}, {"mode": "flooding", "budget": 3}, {"link": {"loss": 0.1}}):
        other = build(from_mapping({**base, **change}), 7)
        assert other.attachment == first.attachment and fingerprint(other) == fingerprint(first)
    published, demanded = fingerprint(first)
    more = build(from_mapping({**base, "hosts": 30}), 7)
    assert {host: more.attachment[host] for host in first.attachment} == dict(first.attachment)
    many_published, many_demanded = fingerprint(more)
    assert set(map(repr, published)) < set(map(repr, many_published))
    assert set(map(repr, demanded)) < set(map(repr, many_demanded))
    assert fingerprint(build(from_mapping(base), 8)) != fingerprint(first)


def test_demands_are_areas_while_their_owner_is_there():
    table = {**MOVING, "churn": {"arriving": 0.5, "leaving": 0.5}, "hosts": 40, "seconds": 4}
    world = build(from_mapping(table), 3)
    demands = list(world.demands())
    assert [t for t, *_ in demands] == sorted(t for t, *_ in demands)
    late = early = 0
    for area in world.workload.areas:
        start, end = world.presence.get(area.owner, (0.0, float("inf")))
        own = [(t, piece) for t, each, piece in demands if each is area]
        late += start > 0
        early += end < 4
        assert own[0] == (start, area.piece(start))
        assert all(start <= t <= end for t, _ in own)
        ticks = [t for t in area.move_times(4) if start <= t < end]
        assert [t for t, piece in own if piece is not None] == [start, *(t for t in ticks if t != start)]
        assert (own[-1] == (end, None)) == (end < 4)
        published = [t for t, each in world.workload.publications() if each.owner == area.owner]
        assert all(start <= t < end for t in published)
    assert late > 5 and early > 5
