"""Topologies in files. The name's ending decides the format. Called by scenarios and by `cbsmrp sim topology`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .formats import alt, brite, gb, graphml, link_list
from .graph import Graph, TopologyError

_READERS: dict[str, Callable[[Path], Graph]] = {".alt": alt.read, ".gb": gb.read, ".brite": brite.read}
_WRITERS: dict[str, Callable[[Graph, Path], None]] = {
    ".alt": alt.write,
    ".brite": brite.write,
    ".graphml": graphml.write,
}
_GRAPHML = (".graphml", ".xml")
READABLE = (*_READERS, *_GRAPHML, ".csv")
WRITABLE = (*_WRITERS, ".csv")


def read(path: str | Path, graph: str = "", *, nodes: str | Path | None = None, length: float | None = None) -> Graph:
    """The topology in a file: GT-ITM's .alt and .gb, .brite, .graphml, or links as .csv.

    `graph` chooses among those of a .csv, and `nodes` is a .csv with its nodes' places; `length` is that of links in
    GraphML (km) of which nothing else is known. Raises TopologyError.
    """
    path = Path(path)
    return link_list.choose(path, read_all(path, nodes=nodes, length=length), graph)


def read_all(path: str | Path, *, nodes: str | Path | None = None, length: float | None = None) -> dict[str, Graph]:
    """All topologies in a file by name; of files that hold one, its name is "". Raises TopologyError."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        return link_list.read(path, Path(nodes) if nodes else None)
    if nodes:
        raise TopologyError(f"{path}: only a .csv file has the places of its nodes in another file")
    if kind in _GRAPHML:
        found = graphml.read(path, length)
    elif kind in _READERS:
        found = _READERS[kind](path)
    else:
        raise TopologyError(f"{path}: is of no kind that can be read: there are {', '.join(READABLE)}")
    if not len(found):
        raise TopologyError(f"{path}: has no nodes")
    return {"": found}


def write(graph: Graph, path: str | Path, *, nodes: str | Path | None = None) -> None:
    """Write .alt, .brite, .graphml (all that is known), or links as .csv and, to `nodes`, the nodes' places.

    Raises TopologyError.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        link_list.write(graph, path, Path(nodes) if nodes else None)
    elif nodes:
        raise TopologyError(f"{path}: only beside a .csv file are nodes written to another")
    elif kind in _WRITERS:
        _WRITERS[kind](graph, path)
    else:
        raise TopologyError(f"{path}: is of no kind that can be written: there are {', '.join(WRITABLE)}")
