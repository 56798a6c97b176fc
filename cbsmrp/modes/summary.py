"""Equations (1) and (2) of the CBSMRP paper as pure functions: from what each VIF wants to what the neighbours are
told.

Used by `shared_tree`; the tests compute both again by brute force.
"""

from __future__ import annotations

from collections.abc import Iterable

from interest import Interest


def subscription_region(downstream: Iterable[Interest]) -> Interest:
    """SR(R) = ∪ over DVIFs SR(VIF_k)   (1): what R tells its upstream router."""
    return Interest.union(downstream)


def clipping_region(other_downstream: Iterable[Interest], clipping: Interest | None) -> Interest:
    """CR of the router on VIF q = ∪_{s≠q} SR(VIF_s) ∪ CR(R), without the last term if R is the core   (2)."""
    own = [] if clipping is None else [clipping]
    return Interest.union([*other_downstream, *own])
