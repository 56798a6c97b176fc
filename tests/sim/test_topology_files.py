"""Topologies in files: every format read, written and refused; and the commands that do so."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbsmrp.cli.main import main
from sim.topology import brite, files
from sim.topology.graph import FIBRE, TopologyError, add_link, largest_part
from sim.topology.presets import ts100
from sim.topology.tree import core_tree

DATA = Path(__file__).parents[2] / "../shared/data/topologies"
recorded = pytest.mark.skipif(not DATA.exists(), reason="no recorded topologies here")

ALT = """\
GRAPH (#nodes #edges id uu vv ww xx yy zz):
3 4 transtub(0,3) 89 2 5 0

VERTICES (index name u v w x y z):
0 T:0.0 53 0
1 T:0.1 58 43
2 S:0.0/0.0 71 25

EDGES (from-node to-node length a b):
0 2 31 3
0 1 25 1
"""
GB = """\
* GraphBase graph (util_types ZZZIIZIZIZZIII,4V,6A)
"transtub(0,3,0,0,{1,89,3,0.500},{4,44,3,\\
0.600})",3,4,89,2,5,0
* Vertices
"T:0.0",A2,53,0
"T:0.1",A1,58,43
"S:0.0/0.\\
0",A3,71,25
"",0,0,0
* Arcs
V1,0,25,1
V0,0,25,1
V2,A0,31,3
V0,0,31,3
0,0,0,0
0,0,0,0
* Checksum 68643759
"""
BRITE_JAVA = """\
Topology: ( 3 Nodes, 2 Edges )
Model (1 - RTWaxman):  3 1000 100 1  2  0.15000000596046448 0.20000000298023224 1 1 10.0 1024.0

Nodes: ( 3 )
0\t489\t148\t2\t2\t-1\tRT_NODE
1\t177\t862\t1\t1\t-1\tRT_NODE
2\t506\t191\t1\t1\t-1\tRT_NODE

Edges: ( 2 )
0\t0\t1\t300.0\t1.0\t10.0\t-1\t-1\tE_RT\tU
1\t0\t2\t100.0\t-1.0\t10.0\t-1\t-1\tE_RT\tU
"""
BRITE_CPP = """\
Topology: ( 3 Nodes, 2 Edges )
Model ( 1 ): 3 1000 100 1 1 2 0.15 0.2 1 10 1024

Nodes: (3)
0 489.00 148.00 2 2 -1 RT_NODE
1 177.00 862.00 1 1 -1 RT_NODE
2 506.00 191.00 1 1 -1 RT_NODE


Edges: (2):
0 0 1 300.0 1.0 10.00 -1 -1 E_RT U
1 0 2 100.0 -1 10.00 -1 -1 E_RT U
"""
ZOO = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="Longitude" attr.type="double" for="node" id="d1"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="d2"/>
  <key attr.name="label" attr.type="string" for="node" id="d3"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">13.4</data><data key="d2">52.5</data><data key="d3">Berlin</data></node>
    <node id="1"><data key="d1">9.99</data><data key="d2">53.55</data></node>
    <node id="2"><data key="d3">somewhere</data></node>
    <edge source="0" target="1"/><edge source="1" target="0"/><edge source="1" target="2"/>
  </graph>
</graphml>
"""
LINKS = """\
graph,u,v,ms,km
a,x,y,1.5,
a,y,z,,200
b,x,y,2,300
"""


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(("name", "text"), [("g.alt", ALT), ("g.gb", GB)])
def test_gt_itms_files(file, name, text):
    graph = files.read(file(name, text))
    assert list(graph.nodes(data="x")) == [("T:0.0", 53), ("T:0.1", 58), ("S:0.0/0.0", 71)]
    assert [graph.nodes[node]["y"] for node in graph] == [0, 43, 25]
    assert dict(graph.adj["T:0.0"]) == {
        "S:0.0/0.0": {"length": 31, "delay": 31 / FIBRE, "policy": 3},
        "T:0.1": {"length": 25, "delay": 25 / FIBRE, "policy": 1},
    }
    assert graph.number_of_edges() == 2


@pytest.mark.parametrize("text", [BRITE_JAVA, BRITE_CPP])
def test_both_dialects_of_brite(file, text):
    graph = files.read(file("g.brite", text))
    assert list(graph.nodes(data=True))[1] == ("1", {"x": 177, "y": 862})
    assert list(graph.edges(data=True)) == [
        ("0", "1", {"length": 300, "delay": 0.001}),
        ("0", "2", {"length": 100, "delay": 100 / FIBRE}),
    ]


def test_graphml_of_others(file):
    path = file("zoo.graphml", ZOO)
    with pytest.raises(TopologyError, match=r"nothing says how long the link from 1 to 2 is.*--length"):
        files.read(path)
    graph = files.read(path, length=70)
    assert graph.edges["0", "1"]["length"] == pytest.approx(255, abs=2)  # from Berlin to Hamburg
    assert graph.edges["1", "2"] == {"length": 70, "delay": 70 / FIBRE}
    assert graph.nodes["0"]["label"] == "Berlin"


def test_a_list_of_links(file):
    path = file("links.csv", LINKS)
    graph = files.read(
        path, "a", nodes=file("nodes.csv", "graph,node,name,lon,lat\na,x,Here,1.5,2\nb,y,No,3,3\na,z,,,\n")
    )
    assert list(files.read_all(path)) == ["a", "b"]
    assert graph.edges["x", "y"] == {"length": pytest.approx(300), "delay": 0.0015}
    assert graph.edges["y", "z"] == {"length": 200, "delay": 0.001}
    assert dict(graph.nodes(data=True)) == {"x": {"x": 1.5, "y": 2, "label": "Here"}, "y": {}, "z": {}}
    assert files.read(file("one.csv", "u,v,km\n0,1,5\n")).edges["0", "1"]["length"] == 5


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("g.alt", ALT.replace("0 2 31 3\n", ""), "4 arcs, and has 2"),
        ("g.alt", ALT.replace("2 S:0.0/0.0 71 25\n", ""), "line 9: there is no node 2"),
        ("g.alt", ALT.replace(" 31 ", " far "), "'far' is not a number"),
        ("g.alt", ALT.replace(" 31 ", " -31 "), "-31 is below 0"),
        ("g.alt", ALT.replace("T:0.1", "T:0.0"), "two nodes T:0.0"),
        ("g.alt", ALT[: ALT.index("EDGES")], "no EDGES"),
        ("g.alt", "hello", "line 1: this is no .alt"),
        ("g.gb", GB.replace("A2,53", "A9,53"), "'A9' is not an arc"),
        ("g.gb", GB.replace("V2,A0", "V2,A2"), "'A2' is not an arc"),
        ("g.gb", GB.replace("V2,A0", "V3,A0"), "'V3' is not a node"),
        ("g.gb", GB.replace("0,0,0,0\n* Check", "* Check"), "arc records"),
        ("g.gb", "* GraphBase", "no GraphBase graph"),
        ("g.brite", BRITE_JAVA[: BRITE_JAVA.index("1\t0\t2")], "says it has 2 links, and has 1"),
        ("g.brite", BRITE_CPP.replace("0 0 1 300.0", "0 0 7 300.0"), "there is no node 7"),
        ("g.brite", BRITE_CPP.replace("1.0 10.00", "nan 10.00"), "'nan' is not a number"),
        ("g.brite", "", "is empty"),
        ("g.graphml", ZOO[:-30], "is not GraphML"),
        ("g.graphml", "<a/>", "is not GraphML"),
        ("g.csv", LINKS, "2 graphs (a, b), none of them ''"),
        ("g.csv", LINKS.replace("b,", "a,").replace("x,y,2,300", "x,y,2"), "line 4: has 4 cells"),
        ("g.csv", "u,v\n1,2\n", "neither ms nor km"),
        ("g.csv", "from,to\n1,2\n", "no column u"),
        ("g.csv", "u,v,ms\n", "has no links"),
        ("g.csv", 'u,v,ms\n"1,2,3\n', "line 2"),
        ("g.txt", "", ".graphml"),
    ],
)
def test_broken_files_are_told_in_one_line(file, name, text, named):
    path = file(name, text)
    with pytest.raises(TopologyError) as refused:
        files.read(path)
    assert named in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", files.READABLE)
def test_files_that_are_not_there_or_no_text(tmp_path, kind):
    path = tmp_path / f"g{kind}"
    with pytest.raises(TopologyError, match="cannot be read: No such file"):
        files.read(path)
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(TopologyError, match="is not"):
        files.read(path)


# There and back --------------------------------------------------------------------------------------------------


def same(a, b, *, places, delays=True):
    assert list(a) == list(b)
    assert {frozenset(edge) for edge in a.edges} == {frozenset(edge) for edge in b.edges}
    for u, v, at in a.edges(data=True):
        assert b.edges[u, v]["length"] == pytest.approx(at["length"], rel=1e-12)
        if delays:
            assert b.edges[u, v]["delay"] == pytest.approx(at["delay"], rel=1e-12)
    for node, at in a.nodes(data=True) if places else ():
        assert (b.nodes[node]["x"], b.nodes[node]["y"]) == (at["x"], at["y"])


@pytest.mark.parametrize("kind", [".alt", ".graphml", ".csv"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_transit_stub_graphs_there_and_back(tmp_path_factory, kind, seed):
    there = tmp_path_factory.mktemp("files")
    graph = ts100(random.Random(seed))
    nodes = there / "nodes.csv" if kind == ".csv" else None
    files.write(graph, there / f"g{kind}", nodes=nodes)
    back = files.read(there / f"g{kind}", nodes=nodes)
    if kind == ".csv":  # nodes come in the order of the links
        assert sorted(back) == sorted(graph)
        same(graph, reorder(back, graph), places=True)
    else:
        same(graph, back, places=True)
        assert all(back.edges[u, v]["policy"] == at["policy"] for u, v, at in graph.edges(data=True))


def reorder(graph, like):
    ordered = nx.Graph()
    ordered.add_nodes_from((node, graph.nodes[node]) for node in like)
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


@pytest.mark.parametrize("kind", [".brite", ".graphml", ".alt"])
def test_brites_graphs_there_and_back(tmp_path, kind):
    graph = brite.waxman(60, 2, random.Random(1))
    files.write(graph, tmp_path / f"g{kind}")
    same(graph, files.read(tmp_path / f"g{kind}"), places=True, delays=kind != ".alt")


def test_awkward_names_survive_where_a_format_can_hold_them(tmp_path):
    graph = nx.Graph()
    add_link(graph, 'São "Paulo", BR', "a&b <c>", 3.5)
    for name in ("g.csv", "g.graphml"):
        files.write(graph, tmp_path / name)
        same(graph, files.read(tmp_path / name), places=False)
    with pytest.raises(TopologyError, match="cannot hold the name"):
        files.write(graph, tmp_path / "g.alt")
    with pytest.raises(TopologyError, match="2 of 2 have none"):
        files.write(graph, tmp_path / "g.brite")
    with pytest.raises(TopologyError, match=r"can be written: there are .alt"):
        files.write(graph, tmp_path / "g.gb")
    with pytest.raises(TopologyError, match="cannot be written: No such"):
        files.write(graph, tmp_path / "no/g.csv")


# Recorded networks -----------------------------------------------------------------------------------------------


@recorded
def test_every_recorded_network_has_a_tree():
    path = DATA / "links_dev.csv"
    graphs = files.read_all(path, nodes=DATA / "nodes_dev.csv")
    assert len(graphs) == 165
    pairs = {name: set() for name in graphs}
    for row in path.read_text().splitlines()[1:]:
        name, u, v, *_ = row.split(",")
        pairs[name].add(frozenset((u, v)))
    apart = set()
    for name, graph in graphs.items():
        assert {frozenset(edge) for edge in graph.edges} == pairs[name]
        part = largest_part(graph)
        if len(part) < len(graph):
            apart.add(name)
        assert len(core_tree(part).routers) == len(part)
    assert {"rocketfuel/1221", "rocketfuel/6461"} <= apart
    assert graphs["sndlib/abilene"].nodes["3"] == {"x": -105.0, "y": 40.75, "label": "DNVRng"}


@recorded
def test_every_recorded_file_of_generators_loads():
    for path in sorted(DATA.glob("*/*.brite")):
        graph = files.read(path)
        nodes = len(graph)
        waxman = path.stem.endswith("wm") or path.stem == "0025"
        assert graph.number_of_edges() == (2 * nodes if waxman else 2 * nodes - 3)
    for path in sorted(DATA.glob("gt-itm/*.gb")):
        same(files.read(path), files.read(path.with_suffix(".alt")), places=True)


# The command -----------------------------------------------------------------------------------------------------


def command(*words):
    return main(["sim", "topology", *map(str, words)])


def test_generate_convert_describe_and_draw(tmp_path, capsys):
    made, links = tmp_path / "g.graphml", tmp_path / "g.csv"
    assert command("generate", "waxman", made, "--nodes", 40, "--seed", 3, "--max-degree", 6) == 0
    assert command("convert", made, links, "--nodes-out", tmp_path / "nodes.csv") == 0
    assert command("describe", made, links, "--core", "7") == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["nodes"] == 40 and first["degree"]["most"] <= 6 and first["parts"] == 1
    assert first["tree"]["core"] == "7" and first["tree"]["depth"]["most"] <= first["diameter"]
    assert second["graph"] == "g"
    for key in ("nodes", "links", "diameter"):
        assert first[key] == second[key]
    for name, begins in (("g.png", b"\x89PNG"), ("g.svg", b"<?xml"), ("again.svg", b"<?xml")):
        assert command("draw", made, tmp_path / name, "--layout", "tree" if name == "g.png" else "places") == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert (tmp_path / "g.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_specification_as_1996_and_without_its_faults(file, tmp_path):
    spec = file("ts", "# a comment\nts 3 47\n3 0 0\n1 20 3 0.5 1.0\n4 20 3 0.6 1.0\n8 10 3 0.42 1.0\n")
    assert command("generate", "transit-stub", tmp_path / "old.alt", "--spec", spec, "--as-1996", 2) == 0
    assert command("generate", "transit-stub", tmp_path / "new.alt", "--spec", spec) == 0
    old, new = files.read(tmp_path / "old.alt"), files.read(tmp_path / "new.alt")
    assert old.number_of_edges() == 168  # as in GT-ITM's ts100-2
    assert len(old) == len(new) == 100


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["generate", "waxman", "OUT/g.alt"], "--nodes"),
        (["generate", "waxman", "OUT/g.alt", "--nodes", "9", "--spec", "x"], "waxman has no --spec"),
        (["generate", "paper", "OUT/g.alt", "--nodes", "9"], "paper has no --nodes"),
        (["generate", "barabasi-albert", "OUT/g.alt", "--nodes", "9", "--beta", "1"], "barabasi-albert has no --beta"),
        (["generate", "barabasi-albert", "OUT/g.alt", "--nodes", "30", "--max-degree", "1"], "more than 1 links"),
        (["generate", "transit-stub", "OUT/g.alt"], "--spec"),
        (["generate", "transit-stub", "OUT/g.alt", "--spec", "OUT/no"], "no: cannot be read"),
        (["generate", "ts100", "OUT/g.png"], "can be written"),
        (["describe", "OUT/no.alt"], "cannot be read"),
        (["describe", "OUT/zoo.graphml"], "--length"),
        (["describe", "OUT/g.brite", "--core", "9"], "no node '9'"),
        (["describe", "OUT/g.brite", "--graph", "a"], "leave out 'a'"),
        (["draw", "OUT/g.brite", "OUT/g.gif"], "can be drawn"),
        (["draw", "OUT/links.csv", "OUT/g.png", "--graph", "a", "--layout", "places"], "--layout tree"),
        (["draw", "OUT/parts.csv", "OUT/g.png"], "2 of its 4 nodes cannot be reached"),
    ],
)
def test_what_a_user_got_wrong_is_one_line(file, tmp_path, capsys, words, named):
    file("zoo.graphml", ZOO)
    file("g.brite", BRITE_CPP)
    file("links.csv", LINKS)
    file("parts.csv", "u,v,km\n0,1,5\n2,3,5\n")
    assert command(*(word.replace("OUT", str(tmp_path)) for word in words)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert named in said.err and said.err.count("\n") == 1
    assert said.err.startswith(f"cbsmrp sim topology {words[0]}: ")


@pytest.mark.parametrize(
    "words",
    [[], ["generate"], ["generate", "ring", "x.alt"], ["draw", "x.alt"], ["describe", "x.alt", "--length", "-1"]],
)
def test_a_wrong_command_line_is_one_line(capsys, words):
    with pytest.raises(SystemExit) as left:
        command(*words)
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_library_is_named_with_its_extra(file, tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "sim.topology.draw", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command("draw", file("g.brite", BRITE_CPP), tmp_path / "g.png") == 2
    assert "needs matplotlib: pip install 'cbsmrp[sim]'" in capsys.readouterr().err
