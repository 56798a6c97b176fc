"""The traffic that a scenario's world offers, as arrays for the load computation: all publications, all areas' spans.

Called by `figures` and by sweeps. `play` lets the same things happen as events.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cbsmrp.endpoint import HOP_LIMIT
from cbsmrp.messages import Publication
from cbsmrp.settings import ConfigError
from cbsmrp.wire import PREAMBLE, encode_publication
from sim.geometry import Extent, Floats
from sim.load.crossings import Layout
from sim.load.matching import Published, Traffic, Want, gather
from sim.oracle import Attributes
from sim.scenario.scenario import World
from sim.workload.workload import Entity, to_interest_extent


def traffic(world: World, layout: Layout) -> Traffic:
    """Hosts are numbered as in `layout`. Raises ConfigError for a tree so deep that routers would drop publications on
    their longest way."""
    deepest = max(map(world.tree.depth, layout.routers))
    if 2 * deepest >= HOP_LIMIT:
        raise ConfigError(
            f"[topology] the tree is {deepest} links deep, but a publication is dropped after {HOP_LIMIT} hops:"
            " choose another core"
        )
    return gather(_published(world, layout), _wants(world, layout))


def present(world: World, layout: Layout) -> Floats:
    """(2, hosts): from when to when each host is there, in seconds of the workload."""
    spans = np.stack((np.full(len(layout.hosts), -math.inf), np.full(len(layout.hosts), math.inf)))
    for host, span in world.presence.items():
        spans[:, layout.host_numbers[host]] = span
    return spans


def _published(world: World, layout: Layout) -> Iterator[Published]:
    attributes: dict[Entity, Attributes] = {}
    sizes: dict[Entity, int] = {}
    for time, entity in world.workload.publications():
        extent = entity.extent(time)
        if entity not in sizes:
            layer = {} if entity.layer is None else {"layer": entity.layer}
            attributes[entity] = {**entity.attributes, **layer}
            sizes[entity] = _size(entity, extent, attributes[entity])
        yield Published(time, layout.host_numbers[entity.owner], extent, sizes[entity], attributes[entity])


def _size(entity: Entity, extent: Extent, attributes: Attributes) -> int:
    """Bytes of a datagram with one publication; all of one object are of one size."""
    publication = Publication(0, 0, to_interest_extent(extent), dict(attributes), bytes(entity.payload), 0, HOP_LIMIT)
    return len(PREAMBLE) + len(encode_publication(publication))


def _wants(world: World, layout: Layout) -> Iterator[Want]:
    standing: dict[str, Want] = {}
    for time, area, piece in world.demands():
        host = layout.host_numbers[area.owner]
        if (before := standing.pop(area.name, None)) is not None:
            yield Want(host, before.begin, time, before.pieces, before.conditions)
        if piece is not None:
            layer = () if area.layer is None else (("=", "layer", area.layer),)
            standing[area.name] = Want(host, time, math.inf, (piece,), (*layer, *area.conditions))
    yield from standing.values()
