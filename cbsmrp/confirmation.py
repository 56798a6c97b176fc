"""In force: which version of a neighbour's region every router that must know of it knows (PROTOCOL.md section 6).

`engine` calls it at every accepted version, at every report, and when a neighbour or the parent goes. The rules, and
why
weaker ones break, were worked out on an executable model; the paper's REPLY promises less (rule 3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from .messages import VifId
from .rib import Rib
from .vif import APPLICATION, UPSTREAM, Vif, VifKind, Wait

#: At most so many versions of one neighbour wait; past that, one is confirmed together with the one after it.
MAX_WAITS = 16


class Confirmations:
    """Each VIF with waits is filed under the first one that it waits for, and looked at again when that has news."""

    def __init__(self, rib: Rib) -> None:
        self._rib = rib
        #: Those to look at, and those that need not be looked at before the key has news.
        self._due: set[VifId] = set()
        self._blocked_by: defaultdict[VifId, set[VifId]] = defaultdict(set)
        #: Told how long a version took to be in force (metrics).
        self.observer: Callable[[VifKind, float], None] | None = None

    def _needs(self, vif: Vif) -> dict[VifId, int]:
        # The *newest* versions, caused by this change or not: the needed news may already be on its way for another
        # reason.
        return {t.id: t.newest for t in self._rib if t is not vif and t.id != APPLICATION and t.clipped}

    def enqueue(self, vif: Vif, version: int, now: float) -> None:
        """A version has been accepted from this VIF."""
        waits = vif.waits
        waits.append(Wait(version, self._needs(vif), now))
        if len(waits) > MAX_WAITS:
            i = min(range(len(waits) - 1), key=lambda i: waits[i + 1].since - waits[i].since)
            waits[i + 1].since = waits[i].since
            del waits[i]
        self._due.add(vif.id)

    def news(self, key: VifId) -> None:
        """This VIF has reported more in force, its lease has run out, or it is gone."""
        self._due |= self._blocked_by.pop(key, set())

    def settle(self, now: float, confirmed: Callable[[Vif], None]) -> None:
        """Confirm what has come into force."""
        due, self._due = sorted(self._due), set()
        for key in due:
            vif = self._rib.get(key)
            if vif is None:
                continue
            before = vif.confirmed
            while vif.waits:
                wait = vif.waits[0]
                blocker = next((t for t, v in wait.needs.items() if not self._satisfied(t, v, now)), None)
                if blocker is not None:
                    self._blocked_by[blocker].add(key)
                    break
                vif.waits.popleft()
                vif.confirmed = wait.version
                if self.observer is not None:
                    self.observer(vif.kind, now - wait.since)
            if vif.confirmed != before:
                confirmed(vif)

    def _satisfied(self, key: VifId, version: int, now: float) -> bool:
        vif = self._rib.get(key)
        if vif is None or vif.in_force >= version:
            return True
        # An opted host that does not confirm is waited for only as long as it may still be clipping by what it knew.
        return vif.opted and now >= vif.lease_until

    def same_value(self, vif: Vif, promised: int) -> None:
        """The version that was due turned out to say what the one before says: wait for that one instead."""
        for other in self._rib:
            for wait in other.waits:
                if wait.needs.get(vif.id) == promised:
                    wait.needs[vif.id] = vif.out_version
        self.news(vif.id)

    def revoke(self, now: float) -> list[Vif]:
        """What lies upstream changed hands: nothing said downwards holds any longer. Returns who must be told."""
        told = []
        for vif in self._rib:
            if vif.id == UPSTREAM:
                continue
            vif.confirmed = 0
            vif.waits.clear()
            if vif.in_version:
                self.enqueue(vif, vif.in_version, now)
            told.append(vif)
        return told
