"""GraphML, by networkx: our own, and that of others, such as the Topology Zoo.

A link's `length` (km) and `delay` (seconds) are taken where given; otherwise they follow from Longitude and Latitude of
its ends, and the speed in fibre. (Not from x and y: those of others are where somebody drew the node.)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from ..graph import FIBRE, Graph, TopologyError, add_link

_EARTH = 6371.0  # radius in km


def read(path: Path, length: float | None = None) -> Graph:
    """`length`: that of links (km) of which nothing else is known. Raises TopologyError, also for such without it."""
    try:
        found = nx.read_graphml(path)
    except OSError as error:
        raise TopologyError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ParseError, nx.NetworkXError, KeyError, ValueError, TypeError) as error:
        raise TopologyError(f"{path}: is not GraphML: {error}") from None
    graph: Graph = nx.Graph()
    graph.graph.update({key: value for key, value in found.graph.items() if isinstance(value, str | int | float)})
    globe: dict[str, tuple[float, float]] = {}
    for name, at in found.nodes(data=True):
        graph.add_node(str(name), **{key: value for key, value in at.items() if key not in ("x", "y")})
        lower = {key.lower(): value for key, value in at.items()}
        if (place := _pair(lower, "longitude", "latitude")) is not None:
            globe[str(name)] = place
        else:
            place = _pair(lower, "x", "y")
        if place is not None:
            graph.nodes[str(name)].update(x=place[0], y=place[1])
    for u, v, at in found.edges(data=True):
        u, v = str(u), str(v)
        delay = _number(path, u, v, at, "delay")
        known = _number(path, u, v, at, "length")
        if known is None and delay is not None:
            known = delay * FIBRE
        if known is None and u in globe and v in globe:
            known = _great_circle(globe[u], globe[v])
        if known is None:
            known = length
        if known is None:
            raise TopologyError(
                f"{path}: nothing says how long the link from {u} to {v} is (no delay, no length, no Longitude and"
                " Latitude of both): say how long such links are (--length)"
            )
        add_link(graph, u, v, known, delay, **({"policy": at["policy"]} if "policy" in at else {}))
    return graph


def _pair(at: dict[str, Any], x: str, y: str) -> tuple[float, float] | None:
    try:
        place = float(at[x]), float(at[y])
    except (KeyError, TypeError, ValueError):
        return None
    return place if math.isfinite(place[0]) and math.isfinite(place[1]) else None


def _number(path: Path, u: str, v: str, at: dict[str, Any], key: str) -> float | None:
    if key not in at:
        return None
    try:
        number = float(at[key])
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise TopologyError(
            f"{path}: the {key} of the link from {u} to {v} is {at[key]!r}: a number, 0 or more, expected"
        )
    return number


def _great_circle(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Kilometres between two places given as longitude and latitude."""
    lon_a, lat_a, lon_b, lat_b = map(math.radians, (*a, *b))
    chord = math.sin((lat_b - lat_a) / 2) ** 2
    chord += math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * _EARTH * math.asin(math.sqrt(min(chord, 1.0)))


def write(graph: Graph, path: Path) -> None:
    """With everything that is known. Raises TopologyError when the file cannot be written."""
    try:
        nx.write_graphml_xml(graph, path)
    except OSError as error:
        raise TopologyError(f"{path}: cannot be written: {error.strerror or error}") from None
