"""CBSMRP's own mode: subscription regions upwards, clipping regions downwards, on one shared tree (paper section 2).

Without clipping every router may send everything up to the core, which is the comparison that figure 4 of the paper
makes.
"""

from __future__ import annotations

from collections.abc import Iterable

from interest import EVERYTHING, Interest

from ..messages import VifId
from ..mode import RoutingMode
from .summary import clipping_region, subscription_region


class SharedTree(RoutingMode):
    name = "shared-tree"

    def region_for(self, vif: VifId) -> Interest:
        view = self.view
        downstream = (view.wanted(s) for s in view.others(vif) if s != view.upstream)
        if vif == view.upstream:
            return subscription_region(downstream)
        if not self.clipping:
            return EVERYTHING
        return clipping_region(downstream, view.wanted(view.upstream) if view.upstream in view.vifs() else None)

    def forward(self, vif: VifId) -> Interest:
        return self.view.wanted(vif)

    def affected_by(self, vif: VifId) -> Iterable[VifId]:
        # Rule 4: the clipping regions of all others, and our own subscription region; those that do not clip need no
        # news.
        return [v for v in self.view.others(vif) if self.view.is_clipped(v)]
