"""Flooding on the tree: every publication to every router, filtered only at the last hop. The smallest mode there is.

It keeps the interface honest, and is the upper bound that the filtering modes are compared with.
"""

from __future__ import annotations

from collections.abc import Iterable

from interest import EVERYTHING, Interest

from ..messages import VifId
from ..mode import RoutingMode
from ..vif import VifKind


class Flooding(RoutingMode):
    name = "flooding"

    def region_for(self, vif: VifId) -> Interest:
        return EVERYTHING

    def forward(self, vif: VifId) -> Interest:
        return self.view.wanted(vif) if self.view.kind(vif) is VifKind.HOST else EVERYTHING

    def affected_by(self, vif: VifId) -> Iterable[VifId]:
        return ()
