"""In force: which version of a neighbour's region every router that must know of it knows (PROTOCOL.md section 6).

`engine` calls it at every accepted version, at every report, and when a neighbour or the parent goes. The rules, and
why
weaker ones break, were worked out on an executable model; the paper's REPLY promises less (rule 3).
"""

from __future__ import annotations

from collections.abc import Callable

from .messages import VifId
from .rib import Rib
from .vif import APPLICATION, UPSTREAM, Vif, VifKind, Wait

#: At most so many versions of one neighbour wait; past that, one is confirmed together with the one after it.
MAX_WAITS = 16


class Confirmations:
    def __init__(self, rib: Rib) -> None:
        self._rib = rib
        #: The VIFs with somebody waiting, so that `settle` looks at no others.
        self._waiting: set[VifId] = set()
        #: Told how long a version took to be in force (metrics).
        self.observer: Callable[[VifKind, float], None] | None = None

    def _needs(self, vif: Vif) -> dict[VifId, int]:
        # The *newest* versions, caused by this change or not: the needed news may already be on its way for another
        # reason.
        return {t.id: t.newest for t in self._rib if t is not vif and t.id != APPLICATION and t.clipped}

    def enqueue(self, vif: Vif, version: int, now: float) -> None:
        waits = vif.waits
        waits.append(Wait(version, self._needs(vif), now))
        if len(waits) > MAX_WAITS:
            i = min(range(len(waits) - 1), key=lambda i: waits[i + 1].since - waits[i].since)
            waits[i + 1].since = waits[i].since
            del waits[i]
        self._waiting.add(vif.id)

    def settle(self, now: float, confirmed: Callable[[Vif], None]) -> None:
        """Confirm what has come into force."""
        for key in sorted(self._waiting):
            vif = self._rib.get(key)
            if vif is None:
                self._waiting.discard(key)
                continue
            before = vif.confirmed
            while vif.waits and all(self._satisfied(t, v, now) for t, v in vif.waits[0].needs.items()):
                wait = vif.waits.popleft()
                vif.confirmed = wait.version
                if self.observer is not None:
                    self.observer(vif.kind, now - wait.since)
            if vif.confirmed != before:
                confirmed(vif)
            if not vif.waits:
                self._waiting.discard(key)

    def _satisfied(self, key: VifId, version: int, now: float) -> bool:
        vif = self._rib.get(key)
        if vif is None or vif.in_force >= version:
            return True
        # An opted host that does not confirm is waited for only as long as it may still be clipping by what it knew.
        return vif.opted and now >= vif.lease_until

    def forget(self, gone: VifId) -> None:
        """Nobody waits for this VIF any longer. (A missing upstream is waited for.)"""
        for key in self._waiting:
            if (vif := self._rib.get(key)) is not None:
                for wait in vif.waits:
                    wait.needs.pop(gone, None)

    def same_value(self, vif: Vif, promised: int) -> None:
        """The version that was due turned out to say what the one before says: wait for that one instead."""
        for key in self._waiting:
            if (other := self._rib.get(key)) is not None:
                for wait in other.waits:
                    if wait.needs.get(vif.id) == promised:
                        wait.needs[vif.id] = vif.out_version

    def revoke(self, now: float) -> list[Vif]:
        """What lies upstream changed hands: nothing said downwards holds any longer. Returns who must be told."""
        told = []
        for vif in self._rib:
            if vif.id == UPSTREAM:
                continue
            vif.confirmed = 0
            vif.waits.clear()
            if vif.in_version:
                vif.waits.append(Wait(vif.in_version, self._needs(vif), now))
                self._waiting.add(vif.id)
            told.append(vif)
        return told
