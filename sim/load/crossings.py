"""Which links of a tree publications cross, for many publications at once: the second half of the load computation.

Called by `load` with who must get what (`matching`). Routers are numbered so that everything below a router has the
numbers that follow its own; then a publication's way through the tree needs the nearest common routers of neighbouring
destinations only, each found in one step, and the counts of all links are one sum over each subtree, made at the end.
No link is ever visited for a publication.
"""

from collections.abc import Mapping

import numpy as np

from sim.geometry import Bools, Floats
from sim.load.matching import Ints
from sim.topology.tree import CoreTree


class Layout:
    """The routers of a tree and its hosts by number: 0 is the core, then depth first; hosts by their routers.

    `parents` and `homes` are the numbers of the routers above each router (the core: 0) and each host; `ends` the
    number after the last router in the subtree of each.
    """

    def __init__(self, tree: CoreTree, attachment: Mapping[str, str]) -> None:
        order: list[str] = []
        waiting = [tree.core]
        while waiting:
            router = waiting.pop()
            order.append(router)
            waiting.extend(reversed(tree.children(router)))
        self.routers: tuple[str, ...] = tuple(order)
        self.numbers = {router: number for number, router in enumerate(order)}
        self.parents: Ints = np.array([self.numbers[tree.parents.get(router, router)] for router in order], np.int64)
        self.ends: Ints = np.arange(1, len(order) + 1)
        for number in range(len(order) - 1, 0, -1):
            above = self.parents[number]
            self.ends[above] = max(self.ends[above], self.ends[number])
        self.hosts: tuple[str, ...] = tuple(sorted(attachment, key=lambda host: self.numbers[attachment[host]]))
        self.host_numbers = {host: number for number, host in enumerate(self.hosts)}
        self.homes: Ints = np.array([self.numbers[attachment[host]] for host in self.hosts], np.int64)
        self._least = _least(self.parents)

    def meeting(self, a: Ints, b: Ints) -> Ints:
        """The nearest common router on the ways of a and b to the core: the least parent of the numbers between."""
        low, high = np.minimum(a, b) + 1, np.maximum(a, b) + 1
        width = np.maximum(high - low, 1)
        level = np.frexp(width)[1] - 1
        low = np.minimum(low, len(self.parents) - 1)
        least = np.minimum(self._least[level, low], self._least[level, np.maximum(high - (1 << level), low)])
        return np.where(a == b, a, least)

    def below(self, marks: Floats | Ints) -> Floats:
        """For each router, the sum of the marks in its subtree."""
        sums: Floats = np.concatenate(((0.0,), np.cumsum(marks)))
        return sums[self.ends] - sums[:-1]


def _least(values: Ints) -> Ints:
    """[k, i]: the least of values i..i+2^k (cut off at the end)."""
    rows = [values]
    width = 1
    while 2 * width <= len(values):
        rows.append(np.minimum(rows[-1], np.concatenate((rows[-1][width:], rows[-1][len(values) - width :]))))
        width *= 2
    return np.stack(rows)


class Ways:
    """The ways of some publications: sources and destinations in, what is needed to count links out.

    `sources` are the routers of the publishing hosts; `publications` (counted from 0) and `routers` are pairs in the
    order of both: publication, router of a destination. For each publication with a destination (`going`), `turn` is
    the highest router on its way, and `last` the last router on the way from its source to the core with a destination
    in its subtree.
    """

    def __init__(self, layout: Layout, sources: Ints, publications: Ints, routers: Ints) -> None:
        new = np.ones(len(publications), bool)
        new[1:] = (publications[1:] != publications[:-1]) | (routers[1:] != routers[:-1])
        self.publications, self.routers = publications[new], routers[new]
        first = np.ones(len(self.publications), bool)
        first[1:] = self.publications[1:] != self.publications[:-1]
        self.going = self.publications[first]
        self.next = np.flatnonzero(~first)
        self.joints = layout.meeting(self.routers[self.next - 1], self.routers[self.next])
        starts = np.flatnonzero(first)
        if len(starts):
            meeting = layout.meeting(sources[self.publications], self.routers)
            self.last = np.maximum.reduceat(meeting, starts)
            self.turn = np.minimum.reduceat(meeting, starts)
        else:
            self.last = self.turn = np.zeros(0, np.int64)


class Marks:
    """Marks at routers whose sums over subtrees are what crosses the link above each router, upwards and downwards."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._up: Floats = np.zeros(len(layout.routers))
        self._down: Floats = np.zeros(len(layout.routers))
        self._flooded: Floats = np.zeros(len(layout.routers))

    def down(self, ways: Ways, weights: Floats) -> None:
        """To every destination, from where its way leaves the source's way to the core."""
        # one at each destination, less one where two of them meet: one in every subtree with a destination
        self._mark(self._down, ways.routers, weights[ways.publications])
        self._mark(self._down, ways.joints, -weights[ways.publications[ways.next]])
        # except those that the source is in as well
        self._mark(self._down, ways.last, -weights[ways.going])

    def up_to_turn(self, ways: Ways, sources: Ints, weights: Floats) -> None:
        """As far up as there are destinations elsewhere."""
        self._mark(self._up, sources[ways.going], weights[ways.going])
        self._mark(self._up, ways.turn, -weights[ways.going])

    def up_to_core(self, sources: Ints, weights: Floats) -> None:
        """All the way."""
        self._mark(self._up, sources, weights)

    def everywhere(self, sources: Ints, weights: Floats, active: Bools) -> None:
        """Down every link to an active router that the source is not below; `active` if a host is below the router."""
        from_below = self._layout.below(np.bincount(sources, weights, len(active)))
        self._flooded += np.where(active, weights.sum() - from_below, 0.0)

    def counts(self) -> tuple[Ints, Ints]:
        """(upwards, downwards): what crossed the link above each router; 0 for the core."""
        up, down = self._layout.below(self._up), self._layout.below(self._down) + self._flooded
        up[0] = down[0] = 0.0
        return np.rint(up).astype(np.int64), np.rint(down).astype(np.int64)

    def _mark(self, marks: Floats, routers: Ints, weights: Floats) -> None:
        marks += np.bincount(routers, weights, len(marks))
