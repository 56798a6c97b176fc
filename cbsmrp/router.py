"""The router's engine: the common engine, a routing mode, and a forwarding table kept up to date by `FibChange`s.

Driven by `endpoint` (and so by both drivers). Paper sections 2.2 and 3.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from interest import Interest

from .config import Limits, Timers
from .engine import Engine
from .fib import FibChange
from .messages import PIECES, SUBSCRIPTIONS, Address, VifId
from .mode import RibView, RoutingMode
from .modes.shared_tree import SharedTree
from .vif import Vif, VifKind


class Router(Engine):
    """An active router.

    `candidates`: upstream routers in order of preference, none for the core. `mode` a class of `RoutingMode`. `budget`:
    the most pieces that a region told to another router may have (0: exact). `limits`: what one host may ask for.
    """

    def __init__(
        self,
        *,
        generation: int,
        timers: Timers,
        rng: random.Random,
        candidates: Sequence[Address] = (),
        mode: type[RoutingMode] = SharedTree,
        clipping: bool = True,
        budget: int = 64,
        limits: Limits | None = None,
        keep_attached: bool = False,
        chunk_bytes: int = 1200,
        now: float = 0.0,
    ) -> None:
        self.mode_name = mode.name
        self.budget = budget
        self.limits = limits or Limits()
        self._keep_attached = keep_attached
        self._rows: dict[VifId, Interest] = {}
        super().__init__(
            generation=generation, timers=timers, rng=rng, candidates=candidates, chunk_bytes=chunk_bytes, now=now
        )
        self.mode = mode(RibView(self.rib), clipping)

    @property
    def keep_attached(self) -> bool:
        return self._keep_attached

    def _region_for(self, vif: Vif) -> Interest:
        return self.mode.region_for(vif.id)

    def _bounded(self, value: Interest) -> Interest:
        return value.over_approximate(self.budget) if self.budget else value

    def _affected_by(self, vif: Vif) -> Iterable[Vif]:
        # The VIF itself may already be gone from the table.
        return [self.rib.vifs[v] for v in self.mode.affected_by(vif.id)]

    def _installed(self, vif: Vif, gone: bool = False) -> None:
        old = self._rows.get(vif.id)
        new = None if gone else self.mode.forward(vif.id)
        if new is None:
            self._rows.pop(vif.id, None)
        else:
            self._rows[vif.id] = new
        if new != old:
            self._ready.fib_changes.append(FibChange(vif.id, old, new))

    def _refusal(self, vif: Vif, value: Interest, subscriptions: int) -> tuple[int, str] | None:
        limits = self.limits
        if vif.kind is VifKind.HOST:
            if value.piece_count > limits.pieces:
                return PIECES, f"{value.piece_count} pieces: this router takes at most {limits.pieces} from one host"
            if subscriptions > limits.subscriptions:
                most = limits.subscriptions
                return SUBSCRIPTIONS, f"{subscriptions} subscriptions: this router takes at most {most} from one host"
        return None
