"""The exact load of a converged tree, computed from who wants what instead of simulating events.

Called by `figures` and by sweeps. On a converged tree without losses and with exact regions a publication crosses
just these links: from its source to its router; with clipping, the routers' links on the ways to the hosts that must
get it; without, also those from there up to the core; flooding, all. With source clipping a host that nobody else
listens to sends nothing. So the packets and bytes of every link follow from `matching` and `crossings`, and equal
what the events count, link by link (a property test holds both to that). Sections 4.1 and 4.2 of the paper define the
measures.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import attrs
import numpy as np

from sim.geometry import Bools, Floats
from sim.load.crossings import Layout, Marks, Ways
from sim.load.matching import Ints, Matches, Traffic, matches

#: A piece of a region as one box: six doubles.
PIECE_BYTES = 48


@attrs.frozen
class Protocol:
    """How publications are forwarded; `source_clipping`: every host has asked for a clipping region."""

    clipping: bool = True
    source_clipping: bool = False
    flooding: bool = False

    @property
    def silences(self) -> bool:
        """Whether a host keeps quiet where nobody else listens; without clipping it is told that everybody does."""
        return self.source_clipping and self.clipping and not self.flooding


CLIPPING = Protocol()
WITHOUT_CLIPPING = Protocol(clipping=False)
SOURCE_CLIPPING = Protocol(source_clipping=True)
FLOODING = Protocol(flooding=True)


@attrs.frozen(eq=False)
class Load:
    """Packets (publications) and bytes of their datagrams on every link in `seconds`, of `publications` published.

    `up` and `down` are those of the link above each router, by its number in `layout` (the core: 0), `sent` and
    `received` those between each host and its router; rows are packets, bytes.
    """

    layout: Layout
    seconds: float
    publications: int
    up: Ints
    down: Ints
    sent: Ints
    received: Ints

    @property
    def core_in(self) -> float:
        """Packets per second that arrive at the core: the paper's packet receiving rate (definition 6)."""
        return self._at_core(self.up, self.sent) / self.seconds

    @property
    def core_out(self) -> float:
        """Packets per second that the core sends."""
        return self._at_core(self.down, self.received) / self.seconds

    @property
    def receiving(self) -> Floats:
        """Packets per second that arrive at each host."""
        return np.asarray(self.received[0] / self.seconds, float)

    @property
    def cost(self) -> Floats:
        """The tree's total cost (definition 7), per second: packets, bytes over all links and both directions."""
        total = sum(each.sum(axis=1) for each in (self.up, self.down, self.sent, self.received))
        return np.asarray(total / self.seconds, float)

    def links(self) -> dict[tuple[str, str], tuple[int, int]]:
        """(from, to) -> (packets, bytes), for the directions of links that anything crossed."""
        layout = self.layout
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for up, down, names, above in (
            (self.up, self.down, layout.routers, layout.parents),
            (self.sent, self.received, layout.hosts, layout.homes),
        ):
            for number, name in enumerate(names):
                other = layout.routers[above[number]]
                for key, counts in (((name, other), up[:, number]), ((other, name), down[:, number])):
                    if counts[0]:
                        found[key] = (int(counts[0]), int(counts[1]))
        return found

    def _at_core(self, links: Ints, hosts: Ints) -> int:
        first = self.layout.parents == 0  # the core itself is among them, with nothing above it
        return int(links[0, first].sum() + hosts[0, self.layout.homes == 0].sum())


def load(
    layout: Layout,
    traffic: Traffic,
    protocols: Sequence[Protocol],
    *,
    start: float,
    stop: float,
    present: Floats | None = None,
) -> list[Load]:
    """What publications sent from `start` up to `stop` (seconds; end a warm-up with `start`) do under each protocol.

    Hosts are numbered as in `layout`. `present` (2, hosts) says from when to when each host is there, by default
    always; flooding reaches only routers with hosts somewhere below. Who must get what is found once for all.
    """
    counters = [_Counter(layout, traffic, protocol, present) for protocol in protocols]
    publications = 0
    for block in matches(traffic, start, stop):
        publications += block.stop - block.start
        for counter in counters:
            counter.add(block)
    return [counter.load(stop - start, publications) for counter in counters]


class _Counter:
    """The links under one protocol, block by block."""

    def __init__(self, layout: Layout, traffic: Traffic, protocol: Protocol, present: Floats | None) -> None:
        self.layout, self.traffic, self.protocol = layout, traffic, protocol
        self.marks = [Marks(layout), Marks(layout)]
        self.sent, self.received = np.zeros((2, 2, len(layout.hosts)), np.int64)
        always = np.stack((np.full(len(layout.hosts), -math.inf), np.full(len(layout.hosts), math.inf)))
        self.present = always if present is None else present
        self.changes = np.unique(self.present)

    def add(self, block: Matches) -> None:
        publications, layout = self.traffic.publications, self.layout
        span = slice(block.start, block.stop)
        hosts, sizes = publications.hosts[span], publications.sizes[span]
        out = np.ones(len(hosts), bool)
        if self.protocol.silences:
            out[:] = False
            out[block.publications - block.start] = True
        sources, at = layout.homes[hosts], block.publications - block.start
        ways = Ways(layout, sources, at, layout.homes[block.hosts])
        for row, weights in enumerate((np.ones(len(hosts)), sizes.astype(float))):
            marks = self.marks[row]
            self.sent[row] += _sums(hosts[out], weights[out], len(layout.hosts))
            self.received[row] += _sums(block.hosts, weights[at], len(layout.hosts))
            if self.protocol.flooding:
                marks.up_to_core(sources, weights)
                for some, active in self._active(publications.times[span]):
                    marks.everywhere(sources[some], weights[some], active)
                continue
            marks.down(ways, weights)
            if self.protocol.clipping:
                marks.up_to_turn(ways, sources, weights)
            else:
                marks.up_to_core(sources, weights)

    def load(self, seconds: float, publications: int) -> Load:
        packets, size = (marks.counts() for marks in self.marks)
        up, down = np.stack((packets[0], size[0])), np.stack((packets[1], size[1]))
        return Load(self.layout, seconds, publications, up, down, self.sent, self.received)

    def _active(self, times: Floats) -> list[tuple[slice, Bools]]:
        """Stretches of publications between which hosts come or go: the routers with a host below."""
        stops = np.searchsorted(times, self.changes, side="left")
        edges = np.unique(np.concatenate(((0,), stops, (len(times),))))
        found = []
        for begin, end in pairwise(edges):
            there = (self.present[0] <= times[begin]) & (times[begin] < self.present[1])
            hosts = np.bincount(self.layout.homes[there], minlength=len(self.layout.routers))
            found.append((slice(begin, end), self.layout.below(hosts) > 0))
        return found


def _sums(numbers: Ints, weights: Floats, length: int) -> Ints:
    return np.rint(np.bincount(numbers, weights, length)).astype(np.int64)


def entries(
    layout: Layout, traffic: Traffic, protocol: Protocol, *, start: float, stop: float, budget: int = 0
) -> Floats:
    """An estimate of each router's state: pieces in its table, averaged over the time (`PIECE_BYTES` each).

    Of each router link at most `budget` pieces are kept (0: all). Pieces that lie in others are counted, though a
    router may do without them. Routers without hosts below are not on the tree and keep nothing.
    """
    wants = traffic.wants
    spans = np.clip(np.minimum(wants.ends, stop) - np.maximum(wants.begins, start), 0.0, None) / (stop - start)
    own: Floats = np.bincount(layout.homes[wants.hosts], spans, len(layout.routers)).astype(float)
    inside = layout.below(own)
    outside = inside[0] - inside
    if budget:
        inside, outside = np.minimum(inside, budget), np.minimum(outside, budget)
    if protocol.flooding:
        inside = outside = np.ones(len(inside))  # everything, said in one piece
    elif not protocol.clipping:
        outside = np.ones(len(inside))
    total: Floats = own + np.bincount(layout.parents[1:], inside[1:], len(own))
    total[1:] += outside[1:]
    total[layout.below(np.bincount(layout.homes, minlength=len(own))) == 0] = 0.0
    return total
