"""Links as CSV, of one graph or of many: columns u, v, ms (delay), km (length), and graph.

One of ms and km will do; the other then follows from the speed in fibre. A second file may say where the nodes are:
columns node, lon and lat (or x and y), name, and graph; empty cells mean unknown. Nodes have links, or are not there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import networkx as nx

from ..graph import FIBRE, Graph, TopologyError, add_link
from .text import Line, placed, read_text, write_lines


def read(path: Path, nodes: Path | None = None) -> dict[str, Graph]:
    """The graphs in a file by name, in its order; one named "" where it has no such column. Raises TopologyError."""
    graphs: dict[str, Graph] = {}
    for line, row in _rows(path, ("u", "v")):
        name, u, v = row.get("graph", ""), row["u"], row["v"]
        if name not in graphs:
            graphs[name] = nx.Graph(name=name or path.stem)
        if not u or not v:
            raise line.error("u or v is empty")
        graphs[name].add_nodes_from((u, v))
        add_link(graphs[name], u, v, *_measures(line, row))
    if not graphs:
        raise TopologyError(f"{path}: has no links")
    if nodes is not None:
        _place(graphs, nodes)
    return graphs


def choose(path: Path, graphs: Mapping[str, Graph], name: str) -> Graph:
    """The graph of this name; "" will do where there is one only. Raises TopologyError."""
    if not name and len(graphs) == 1:
        return next(iter(graphs.values()))
    if list(graphs) == [""]:
        raise TopologyError(f"{path}: holds one graph, which has no name: leave out {name!r}")
    if name not in graphs:
        some = ", ".join(list(graphs)[:3]) + (", ..." if len(graphs) > 3 else "")
        raise TopologyError(f"{path}: has {len(graphs)} graphs ({some}), none of them {name!r}: name one of them")
    return graphs[name]


def _measures(line: Line, row: dict[str, str]) -> tuple[float, float]:
    """Length in km and delay in seconds of a link."""
    ms, km = row.get("ms", ""), row.get("km", "")
    if not ms and not km:
        raise line.error("neither ms nor km is given")
    length = line.distance(km) if km else line.distance(ms) / 1000 * FIBRE
    return length, line.distance(ms) / 1000 if ms else length / FIBRE


def _place(graphs: Mapping[str, Graph], path: Path) -> None:
    """Tell the graphs where their nodes are; without a column graph, all of them."""
    for line, row in _rows(path, ("node",)):
        for name in [row["graph"]] if "graph" in row else graphs:
            if name in graphs and row["node"] in graphs[name]:
                at = graphs[name].nodes[row["node"]]
                x, y = row.get("lon") or row.get("x"), row.get("lat") or row.get("y")
                if x and y:
                    at.update(x=line.real(x), y=line.real(y))
                if row.get("name"):
                    at["label"] = row["name"]


def _rows(path: Path, required: tuple[str, ...]) -> Iterator[tuple[Line, dict[str, str]]]:
    try:
        table = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        columns = next(table, [])
        for column in required:
            if column not in columns:
                raise TopologyError(f"{path}: has no column {column}: its first line is {','.join(columns)!r}")
        for cells in table:
            line = Line(path, table.line_num, ",".join(cells))
            if len(cells) != len(columns):
                raise line.error(f"has {len(cells)} cells, and there are {len(columns)} columns")
            yield line, dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise TopologyError(f"{path}: line {table.line_num}: {error}") from None


def write(graph: Graph, path: Path, nodes: Path | None = None) -> None:
    """The links, and with `nodes` the places in a file of their own. Raises TopologyError."""
    title = graph.graph.get("name", path.stem)
    rows = ["graph,u,v,ms,km"]
    for u, v, at in graph.edges(data=True):
        rows.append(_row(title, u, v, repr(at["delay"] * 1000), repr(at["length"])))
    write_lines(path, rows)
    if nodes is not None:
        rows = ["graph,node,name,x,y"]
        for node, at in graph.nodes(data=True):
            place = (at["x"], at["y"]) if placed(at) else ("", "")
            rows.append(_row(title, node, at.get("label", ""), *place))
        write_lines(nodes, rows)


class _Echo:
    """Gives a csv writer's row back."""

    def write(self, text: str) -> str:
        return text


def _row(*cells: object) -> str:
    return str(csv.writer(_Echo(), lineterminator="").writerow(cells))
