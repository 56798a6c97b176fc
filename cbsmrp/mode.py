"""The interface of a routing mode: one protocol's rules about regions, and nothing of sessions, versions, time or
bytes.

A mode is asked three things, and sees the routing table through a narrow view. `modes/shared_tree` is CBSMRP's own;
`modes/flooding` shows how little a mode needs. Modes are found by name in `MODES`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator
from typing import ClassVar

from interest import Interest

from .messages import VifId
from .rib import Rib
from .vif import UPSTREAM, VifKind


class RibView:
    """What a mode may see of the routing table."""

    def __init__(self, rib: Rib) -> None:
        self._rib = rib

    def vifs(self) -> Iterator[VifId]:
        return iter(self._rib.vifs)

    def kind(self, vif: VifId) -> VifKind:
        return self._rib.vifs[vif].kind

    def wanted(self, vif: VifId) -> Interest:
        """What the neighbour beyond this VIF wants: SR(VIF) downstream, CR upstream."""
        return self._rib.vifs[vif].in_value

    def is_clipped(self, vif: VifId) -> bool:
        """Does this neighbour hold back what it has been told that nobody here wants?"""
        return self._rib.vifs[vif].clipped

    def others(self, vif: VifId) -> Iterator[VifId]:
        return (v for v in self._rib.vifs if v != vif)

    @property
    def upstream(self) -> VifId:
        return UPSTREAM


class RoutingMode(abc.ABC):
    """One protocol's rules. Methods are pure functions of the view."""

    name: ClassVar[str]

    def __init__(self, view: RibView, clipping: bool = True) -> None:
        self.view = view
        self.clipping = clipping

    @abc.abstractmethod
    def region_for(self, vif: VifId) -> Interest:
        """What the neighbour beyond `vif` is to be told. Asked when it can be sent; never smaller than what is
        wanted."""

    @abc.abstractmethod
    def forward(self, vif: VifId) -> Interest:
        """What the forwarding table sends out of `vif`. Asked when what is wanted there has changed. For a host:
        exact."""

    @abc.abstractmethod
    def affected_by(self, vif: VifId) -> Iterable[VifId]:
        """The VIFs whose `region_for` may have changed because what is wanted beyond `vif` has, or because it is
        gone."""
