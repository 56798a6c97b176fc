"""GT-ITM's `.alt` files: a line for each node and each link. The length of a link is taken as kilometres.

After VERTICES: index, name, and the place (x y); after EDGES: from, to, length, and the policy weight.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from ..graph import Graph, TopologyError, add_link
from .text import Line, expect, lines, placed, plain, write_lines

_SECTIONS = ("GRAPH", "VERTICES", "EDGES")


def read(path: Path) -> Graph:
    """Raises TopologyError."""
    graph: Graph = nx.Graph()
    names: dict[str, str] = {}
    section, arcs, said = "", 0, (0, 0)
    for line in lines(path):
        fields = line.text.split()
        if fields[0] in _SECTIONS:
            section = fields[0]
        elif section == "GRAPH":
            _need(line, fields, 2, "the numbers of nodes and arcs")
            said = line.whole(fields[0]), line.whole(fields[1])
            if len(fields) > 2:
                graph.graph["name"] = fields[2]
        elif section == "VERTICES":
            _need(line, fields, 2, "an index and a name")
            names[fields[0]] = _node(graph, line, fields)
        elif section == "EDGES":
            _need(line, fields, 3, "two nodes and a length")
            for end in fields[:2]:
                if end not in names:
                    raise line.error(f"there is no node {end}")
            weight = {"policy": line.real(fields[3])} if len(fields) > 3 else {}
            add_link(graph, names[fields[0]], names[fields[1]], line.distance(fields[2]), **weight)
            arcs += 2
        else:
            raise line.error("this is no .alt file: it does not begin with GRAPH")
    if section != "EDGES":
        raise TopologyError(f"{path}: has no EDGES: is it whole?")
    expect(path, "nodes", len(names), said[0])
    expect(path, "arcs", arcs, said[1])
    return graph


def _need(line: Line, fields: list[str], number: int, what: str) -> None:
    if len(fields) < number:
        raise line.error(f"{what} expected, found {line.text!r}")


def _node(graph: Graph, line: Line, fields: list[str]) -> str:
    name = fields[1]
    if name in graph:
        raise line.error(f"there are two nodes {name}")
    graph.add_node(name)
    # Only the fields in use are printed; where all six are, x and y are the fourth and fifth.
    place = fields[5:7] if len(fields) == 8 else fields[2:4]
    if len(place) == 2:
        graph.nodes[name].update(x=line.real(place[0]), y=line.real(place[1]))
    return name


def write(graph: Graph, path: Path) -> None:
    """Delays are not written, nor places unless every node has one. Raises TopologyError."""
    index = {name: number for number, name in enumerate(graph)}
    for name in graph:
        if len(name.split()) != 1:
            raise TopologyError(f"{path}: an .alt file cannot hold the name {name!r}: write GraphML or CSV")
    title = "".join(str(graph.graph.get("name", "graph")).split()) or "graph"
    written = ["GRAPH (#nodes #edges id uu vv ww xx yy zz):", f"{len(graph)} {2 * graph.number_of_edges()} {title}", ""]
    written.append("VERTICES (index name u v w x y z):")
    places = all(placed(at) for at in graph.nodes.values())
    for name, at in graph.nodes(data=True):
        written.append(f"{index[name]} {name}" + (f" {plain(at['x'])} {plain(at['y'])}" if places else ""))
    written += ["", "EDGES (from-node to-node length a b):"]
    for u, v, at in graph.edges(data=True):
        written.append(
            f"{index[u]} {index[v]} {plain(at['length'])}" + (f" {plain(at['policy'])}" if "policy" in at else "")
        )
    write_lines(path, written)
