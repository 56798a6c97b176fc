"""Drawings of a topology: its links in grey, the tree of routers from the core on top. Needs matplotlib (extra `sim`).

Called by `cbsmrp sim topology draw`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from .formats.text import placed
from .graph import TopologyError
from .tree import CoreTree

LAYOUTS = ("places", "tree")
_KINDS = (".png", ".svg", ".pdf")


def draw(tree: CoreTree, path: str | Path, layout: str = "") -> None:
    """Draw the graph a tree was taken from, and the tree, as PNG, SVG or PDF.

    Layout "places" puts every node where it is; "tree" puts the core in the middle and each level on a circle of its
    own. Without one, it is the places where all are known. Raises TopologyError.
    """
    path = Path(path)
    if path.suffix.lower() not in _KINDS:
        raise TopologyError(f"{path}: is of no kind that can be drawn: there are {', '.join(_KINDS)}")
    known = all(placed(at) for at in tree.graph.nodes.values())
    if layout == "places" and not known:
        raise TopologyError("not every node has a place: give --layout tree")
    if layout not in ("", *LAYOUTS):
        raise TopologyError(f"no layout {layout!r}: there are {', '.join(LAYOUTS)}")
    at = _places(tree) if known and layout != "tree" else _circles(tree)
    figure = _figure(tree, at)
    # Nothing of the day or of chance, so that a figure drawn again is the same file.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    try:
        with mpl.rc_context({"svg.hashsalt": "cbsmrp"}):
            figure.savefig(path, dpi=150, metadata=dated)
    except OSError as error:
        raise TopologyError(f"{path}: cannot be written: {error.strerror or error}") from None


def _figure(tree: CoreTree, at: Mapping[str, tuple[float, float]]) -> Figure:
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    width = max(0.3, min(1.5, 20 / math.sqrt(len(at))))
    ends = [[at[u], at[v]] for u, v in tree.graph.edges]
    axes.add_collection(LineCollection(ends, colors="0.85", linewidths=0.6 * width, zorder=1))
    ends = [[at[router], at[parent]] for router, parent in tree.parents.items()]
    axes.add_collection(LineCollection(ends, colors="tab:blue", linewidths=width, zorder=2))
    size = max(2.0, min(40.0, 4000 / len(at)))
    xs, ys = zip(*(at[router] for router in tree.routers), strict=True)
    axes.scatter(xs, ys, s=size, color="0.2", zorder=3, lw=0)
    x, y = at[tree.core]
    axes.scatter([x], [y], s=4 * size + 30, color="tab:red", zorder=4)
    title = f"{len(at)} routers, {tree.graph.number_of_edges()} links"
    axes.set_title(f"{title}; the tree from {tree.core} in blue")
    return figure


def _places(tree: CoreTree) -> dict[str, tuple[float, float]]:
    return {name: (float(at["x"]), float(at["y"])) for name, at in tree.graph.nodes(data=True)}


def _circles(tree: CoreTree) -> dict[str, tuple[float, float]]:
    """Every router has a sector as wide as it has leaves below it."""
    leaves: dict[str, int] = {}
    for router in reversed(tree.routers):
        leaves[router] = sum(leaves[child] for child in tree.children(router)) or 1
    begin = {tree.core: 0.0}
    at = {}
    whole = 2 * math.pi / leaves[tree.core]
    for router in tree.routers:
        angle = whole * (begin[router] + leaves[router] / 2)
        depth = tree.depth(router)
        at[router] = (depth * math.cos(angle), depth * math.sin(angle))
        offset = begin[router]
        for child in tree.children(router):
            begin[child] = offset
            offset += leaves[child]
    return at
