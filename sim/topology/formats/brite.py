"""BRITE's files, of its Java program (tabs) and of its C++ program (spaces, other words in the model line).

A node is id, x, y, in-degree, out-degree, AS, type; a link is id, from, to, length (km), delay (ms), bandwidth, ASs,
type, U or D. Where the delay is missing (-1, as in AS-level files), that of fibre is taken.
"""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx

from ..graph import Graph, TopologyError, add_link
from .text import expect, lines, plain, unplaced, write_lines

_HEAD = re.compile(r"Topology:\s*\(\s*(\d+)\s*Nodes,\s*(\d+)\s*Edges\s*\)")
_SECTION = re.compile(r"(Nodes|Edges):\s*\(\s*\d+\s*\)")


def read(path: Path) -> Graph:
    """Raises TopologyError."""
    graph: Graph = nx.Graph()
    said, section, links = None, "", 0
    for line in lines(path):
        if said is None:
            said = _HEAD.match(line.text)
            if said is None:
                raise line.error("this is no .brite file: it does not begin with Topology:")
            continue
        head = _SECTION.match(line.text)
        fields = line.text.split()
        if head is not None:
            section = head[1]
        elif section == "Nodes":
            if len(fields) < 3:
                raise line.error(f"id, x and y of a node expected, found {line.text!r}")
            if fields[0] in graph:
                raise line.error(f"there are two nodes {fields[0]}")
            graph.add_node(fields[0], x=line.real(fields[1]), y=line.real(fields[2]))
        elif section == "Edges":
            if len(fields) < 5:
                raise line.error(f"id, two nodes, length and delay of a link expected, found {line.text!r}")
            for end in fields[1:3]:
                if end not in graph:
                    raise line.error(f"there is no node {end}")
            length, delay = line.distance(fields[3]), line.real(fields[4])
            add_link(graph, fields[1], fields[2], length, delay / 1000 if delay >= 0 else None)
            links += 1
    if said is None:
        raise TopologyError(f"{path}: is empty")
    expect(path, "nodes", len(graph), int(said[1]))
    expect(path, "links", links, int(said[2]))
    return graph


def write(graph: Graph, path: Path) -> None:
    """As BRITE's Java program does. Nodes are numbered in their order, names are lost. Raises TopologyError."""
    if missing := unplaced(graph):
        raise TopologyError(
            f"{path}: a .brite file has a place for every node, and {missing} of {len(graph)} have none:"
            " write GraphML or CSV"
        )
    index = {name: number for number, name in enumerate(graph)}
    counts = f"{len(graph)} Nodes, {graph.number_of_edges()} Edges"
    title = " ".join(str(graph.graph.get("name", "graph")).split())
    written = [f"Topology: ( {counts} )", f"Model (0 - {title}): {len(graph)}", "", f"Nodes: ( {len(graph)} )"]
    for name, at in graph.nodes(data=True):
        degree = graph.degree[name]
        written.append(
            "\t".join(map(str, (index[name], plain(at["x"]), plain(at["y"]), degree, degree, -1, "RT_NODE")))
        )
    written += ["", f"Edges: ( {graph.number_of_edges()} )"]
    for number, (u, v, at) in enumerate(graph.edges(data=True)):
        cells = (number, index[u], index[v], at["length"], at["delay"] * 1000, -1.0, -1, -1, "E_RT", "U")
        written.append("\t".join(map(str, cells)))
    write_lines(path, written)
