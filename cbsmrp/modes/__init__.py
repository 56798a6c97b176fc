"""Routing modes by name: what `--mode` and a router's configuration accept."""

from __future__ import annotations

from ..mode import RoutingMode
from .flooding import Flooding
from .shared_tree import SharedTree

MODES: dict[str, type[RoutingMode]] = {mode.name: mode for mode in (SharedTree, Flooding)}
