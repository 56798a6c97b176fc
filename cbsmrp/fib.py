"""The forwarding table: which VIFs a publication goes out of. Compiled from the RIB through `FibChange`, read-only to
the forwarder.

Three tables serve every kind of mode, and all three are empty unless a mode fills them:

* *interests*, per VIF: content (equation 3 of the CBSMRP paper, F_C of CBCB). A VIF without a row gets nothing.
* *scopes*, per (label, incoming VIF) or (label, any): the VIFs that this label may leave by. Source trees (CBCB's
B(source,
  incoming), the label naming the source's tree) and channels (SemCast, the label naming the channel). No row: no
  restriction.
* *channels*, per label: publications that enter from a host are classified once, and carry the labels whose interest
they
  match (SemCast's source broker; CBCB labels everything with its own tree). No rows: the label stays as it is.

    lookup(publication, in) = { (vif, label) : vif != in, vif in scope(label, in), interest(vif) matches }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import attrs

from interest import Extent, Interest, InterestIndex, Value

from .messages import VifId


class Hop(NamedTuple):
    """Out of this VIF, with this label."""

    vif: VifId
    label: int


class Routed(Protocol):
    """What the table needs to see of a publication."""

    @property
    def extent(self) -> Extent: ...
    @property
    def attributes(self) -> dict[str, Value]: ...
    @property
    def source(self) -> int: ...
    @property
    def label(self) -> int: ...


@attrs.frozen
class FibChange:
    """The interest row of a VIF goes from old to new; None: no row."""

    vif: VifId
    old: Interest | None
    new: Interest | None


@attrs.frozen
class ScopeChange:
    label: int
    incoming: VifId | None
    old: frozenset[VifId] | None
    new: frozenset[VifId] | None


@attrs.frozen
class ChannelChange:
    label: int
    old: Interest | None
    new: Interest | None


class Fib:
    def __init__(self) -> None:
        self._interests: InterestIndex[VifId] = InterestIndex()
        self._scopes: dict[tuple[int, VifId | None], frozenset[VifId]] = {}
        self._channels: InterestIndex[int] = InterestIndex()

    def apply(self, change: FibChange | ScopeChange | ChannelChange) -> None:
        if isinstance(change, FibChange):
            _replace(self._interests, change.vif, change.old, change.new)
        elif isinstance(change, ChannelChange):
            _replace(self._channels, change.label, change.old, change.new)
        elif change.new is None:
            self._scopes.pop((change.label, change.incoming), None)
        else:
            self._scopes[change.label, change.incoming] = change.new

    def lookup(self, publication: Routed, in_vif: VifId, from_host: bool = False) -> Sequence[Hop]:
        """Where it goes, in the order of insertion. `from_host`: it enters here, so channels are looked up."""
        vifs = self._interests.find(publication.extent, publication.attributes)
        labels: Sequence[int] = (publication.label,)
        if from_host and len(self._channels):
            labels = self._channels.find(publication.extent, publication.attributes)
        if not self._scopes:
            return [Hop(vif, label) for label in labels for vif in vifs if vif != in_vif]
        hops = []
        for label in labels:
            scope = self._scopes.get((label, in_vif))
            if scope is None:
                scope = self._scopes.get((label, None))
            hops += [Hop(vif, label) for vif in vifs if vif != in_vif and (scope is None or vif in scope)]
        return hops


def _replace(index: InterestIndex[int], key: int, old: Interest | None, new: Interest | None) -> None:
    if new is None:
        index.remove(key)
    elif old is None:
        index.insert(key, new)
    else:
        index.replace(key, new)
