"""Graphs saved by Knuth's Stanford GraphBase (`.gb`, there GB_SAVE), as GT-ITM's program writes them.

A record is a line of values separated by commas; a backslash at its end continues it. Of the utility fields, those of
the types given in the first line are there; GT-ITM keeps the place of a node in x and y, and the policy weight in a.
The checksum is not looked at.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import networkx as nx

from ..graph import Graph, TopologyError, add_link
from .text import Line, expect, read_text

_HEAD = re.compile(r"\* GraphBase graph \(util_types ([A-Z]{14}),(\d+)V,(\d+)A\)")


def read(path: Path) -> Graph:
    """Raises TopologyError."""
    records = _records(path)
    head = _HEAD.fullmatch(records[0].text) if records else None
    if head is None:
        raise TopologyError(f"{path}: is no GraphBase graph")
    types = head[1]
    sections: dict[str, list[Line]] = {}
    current: list[Line] = sections.setdefault("", [])
    for record in records[1:]:
        if record.text.startswith("* "):
            current = sections.setdefault(record.text[2:].split()[0], [])
        else:
            current.append(record)
    vertices, arcs = (sections.get(name, []) for name in ("Vertices", "Arcs"))
    expect(path, "vertex records", len(vertices), int(head[2]))
    expect(path, "arc records", len(arcs), int(head[3]))
    if not sections[""]:
        raise TopologyError(f"{path}: has no line with the number of nodes: is it whole?")
    title = _fields(sections[""][0], 3)
    nodes = vertices[: sections[""][0].whole(title[1])]

    graph: Graph = nx.Graph()
    graph.graph["name"] = title[0]
    names = []
    for record in nodes:
        name, _, *used = _fields(record, 2)
        if name in graph:
            raise record.error(f"there are two nodes {name}")
        graph.add_node(name)
        names.append(name)
        places = dict(zip(_used(types[:6], "uvwxyz"), used, strict=False))
        if types[3:5] == "II" and {"x", "y"} <= places.keys():
            graph.nodes[name].update(x=record.real(places["x"]), y=record.real(places["y"]))
    for name, record in zip(names, nodes, strict=True):
        _arcs(graph, name, record, names, arcs, types[6] == "I")
    return graph


def _records(path: Path) -> list[Line]:
    """The lines, with those that are continued put together; each with the number of its first."""
    records: list[Line] = []
    begun, number = "", 0
    for at, text in enumerate(read_text(path).splitlines(), 1):
        number = number or at
        if text.endswith("\\"):
            begun += text[:-1]
            continue
        if begun or text.strip():
            records.append(Line(path, number, begun + text))
        begun, number = "", 0
    return records


def _fields(record: Line, number: int) -> list[str]:
    fields = next(csv.reader([record.text]))
    if len(fields) < number:
        raise record.error(f"{number} values expected, found {record.text!r}")
    return fields


def _used(types: str, names: str) -> list[str]:
    return [name for kind, name in zip(types, names, strict=True) if kind != "Z"]


def _arcs(graph: Graph, name: str, vertex: Line, names: list[str], arcs: list[Line], weighted: bool) -> None:
    """Follow the arcs of a vertex."""
    record, pointer, left = vertex, _fields(vertex, 2)[1], len(arcs)
    while pointer != "0":
        number = record.whole(pointer[1:])
        if pointer[0] != "A" or number >= len(arcs) or not left:
            raise record.error(f"{pointer!r} is not an arc of this graph")
        left -= 1
        record = arcs[number]
        tip, pointer, length, *used = _fields(record, 3)
        end = record.whole(tip[1:])
        if tip[0] != "V" or end >= len(names):
            raise record.error(f"{tip!r} is not a node of this graph")
        policy = {"policy": record.real(used[0])} if weighted and used else {}
        add_link(graph, name, names[end], record.distance(length), **policy)
