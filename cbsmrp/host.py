"""The client's engine: several subscriptions over one link, exact local filter, duplicate suppression, source
clipping, in force.

Driven by `endpoint`, used by `udp.client` and by the simulator's hosts. What the application wants is one more VIF,
so that
"in force" means the same thing here as in a router. Paper sections 2.2 (rule 1) and 3.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import attrs

from interest import NOTHING, Extent, Interest, InterestError, InterestIndex, Value
from interest.binary import encode_interest

from .config import Timers
from .duplicates import Duplicates
from .engine import Engine
from .exchange import MAX_VALUE_BYTES
from .fib import Routed
from .messages import Address, Refuse
from .ready import InForce, InForceLost, NoAnswer, SubscriptionRefused
from .vif import APPLICATION, UPSTREAM, Vif, VifKind


@attrs.define
class Subscription:
    """`version` is the version of the host's whole interest that first held this one; in force from `Host.in_force`
    >= version."""

    id: int
    interest: Interest
    version: int
    #: Until the parent has accepted the change: what stood before (None: nothing), and the version told to the parent.
    before: Interest | None = None
    told: int = 0


@attrs.define
class Source:
    """A publisher object: 64 random bits, and the sequence number of its next publication (decision 10)."""

    id: int
    sequence: int = 0


class Host(Engine):
    """A client of the overlay. `candidates`: routers in order of preference; `source`: 64 random bits, this
    publisher's name."""

    is_host = True

    def __init__(
        self,
        *,
        generation: int,
        timers: Timers,
        rng: random.Random,
        candidates: Sequence[Address],
        opted: bool = False,
        chunk_bytes: int = 1200,
        now: float = 0.0,
    ) -> None:
        super().__init__(
            generation=generation,
            timers=timers,
            rng=rng,
            candidates=candidates,
            chunk_bytes=chunk_bytes,
            opted=opted,
            now=now,
        )
        self.publishing = Source(rng.getrandbits(64))
        #: Every source that has published over this link: a client never receives its own publications.
        self.own_sources = {self.publishing.id}
        self.subscriptions: dict[int, Subscription] = {}
        self.received_publications = 0
        self.unwanted = 0
        self.duplicates = 0
        self.own = 0
        self.clipped = 0
        self._next_id = 1
        self._refused: Refuse | None = None
        self._index: InterestIndex[int] = InterestIndex()
        self._heard = Duplicates()
        self._local = Vif(APPLICATION, VifKind.APPLICATION)
        self.rib.put(self._local)
        self._change(None)

    # -- subscriptions ---------------------------------------------------------------------------------

    @property
    def source(self) -> int:
        """The source of what this host publishes itself."""
        return self.publishing.id

    @property
    def joined(self) -> bool:
        up = self.upstream
        return up is not None and up.joined

    @property
    def in_force(self) -> int:
        """Every subscription whose version is at most this is in force everywhere; 0: nothing is."""
        return self._local.confirmed

    @property
    def version(self) -> int:
        return self._local.in_version

    def subscribe(self, interest: Interest, now: float) -> Subscription:
        """Raises `InterestError` if all subscriptions together cannot be said in one region (`MAX_VALUE_BYTES`)."""
        self._check(None, interest)
        self.now = now
        subscription = Subscription(self._next_id, interest, 0)
        self._next_id += 1
        self.subscriptions[subscription.id] = subscription
        self._index.insert(subscription.id, interest)
        self._change(subscription)
        self._finish()
        return subscription

    def move(self, subscription: Subscription, interest: Interest, now: float) -> int:
        """Replace what a subscription wants. Returns the version to wait for.

        Raises `KeyError` if it has ended, `InterestError` as `subscribe` does.
        """
        self.now = now
        if self.subscriptions[subscription.id] is not subscription:
            raise KeyError(subscription.id)
        self._check(subscription, interest)
        if subscription.told == 0:
            subscription.before = subscription.interest
        subscription.interest = interest
        self._index.replace(subscription.id, interest)
        self._change(subscription)
        self._finish()
        return subscription.version

    def unsubscribe(self, subscription: Subscription, now: float) -> None:
        self.now = now
        if self.subscriptions.pop(subscription.id, None) is not None:
            self._index.remove(subscription.id)
            self._change(None)
            self._finish()

    def _check(self, replaced: Subscription | None, interest: Interest) -> None:
        others = [s.interest for s in self.subscriptions.values() if s is not replaced]
        size = len(encode_interest(Interest.union([*others, interest])))
        if size > MAX_VALUE_BYTES:
            raise InterestError(
                f"the subscriptions of this client take {size} bytes, a router takes at most {MAX_VALUE_BYTES}: "
                "use fewer or simpler shapes, or another client"
            )

    def _change(self, subscription: Subscription | None) -> None:
        local = self._local
        value = Interest.union(s.interest for s in self.subscriptions.values())
        self._accept(local, local.in_version + 1, value)
        if subscription is not None:
            subscription.version = local.in_version
            subscription.told = self.rib.vifs[UPSTREAM].newest

    def _subscription_count(self, vif: Vif) -> int:
        return min(len(self.subscriptions), 0xFFFF)

    def _value_refused(self, m: Refuse) -> bool:
        """Undo the newest change that the refused version held, so that the rest can stand; if that is refused too,
        the next."""
        last = self._refused
        if last is not None and m.session == last.session and m.version <= last.version:
            return False  # the same refusal again must not undo one change more
        self._refused = m
        held = [s for s in self.subscriptions.values() if 0 < s.told <= m.version]
        if not held:
            up = self.rib.vifs[UPSTREAM]
            if m.version != up.newest:
                return False
            # All of it stood below another router: it is this one that will not do.
            self._ready.notices.append(NoAnswer(up.address, m.text))
            self._drop_upstream(m.text, tell=True, after=self.timers.resend_max)
            return True
        subscription = max(held, key=lambda s: (s.told, s.version))
        before, version = subscription.before, subscription.version
        if before is None:
            del self.subscriptions[subscription.id]
            self._index.remove(subscription.id)
            self._change(None)
        else:
            subscription.interest, subscription.before = before, None
            self._index.replace(subscription.id, before)
            self._change(subscription)
        self._ready.notices.append(SubscriptionRefused(subscription.id, before, m.text, version))
        return True

    def _value_accepted(self, vif: Vif) -> None:
        if vif.id == UPSTREAM:
            for subscription in self.subscriptions.values():
                if 0 < subscription.told <= vif.accepted:
                    subscription.told, subscription.before = 0, None

    # -- what the engine asks --------------------------------------------------------------------------

    def _region_for(self, vif: Vif) -> Interest:
        return self._local.in_value if vif.id == UPSTREAM else NOTHING

    def _affected_by(self, vif: Vif) -> Iterable[Vif]:
        return [self.rib.vifs[UPSTREAM]] if vif.id == APPLICATION else []

    def _confirmed(self, vif: Vif) -> None:
        if vif.id == APPLICATION:
            self._ready.notices.append(InForce(vif.confirmed))
        else:
            super()._confirmed(vif)

    def _revoked(self) -> None:
        self._ready.notices.append(InForceLost())

    # -- publications ------------------------------------------------------------------------------

    def wants(self, publication: Routed, now: float) -> bool:
        """Does anybody else want this, as far as this host may judge? (Always, unless it holds a lease on a clipping
        region.)"""
        up = self.rib.vifs[UPSTREAM]
        if not self.opted or now >= up.lease_until or not up.attached:
            return True
        if up.in_value.matches(publication.extent, publication.attributes):
            return True
        self.clipped += 1
        return False

    def deliver(self, extent: Extent, attributes: dict[str, Value], source: int, sequence: int) -> list[int]:
        """The subscriptions that want a publication that has arrived; none for a duplicate."""
        if source in self.own_sources:  # it came back on a way that changed meanwhile
            self.own += 1
            return []
        self.received_publications += 1
        if self._heard.seen(source, sequence):
            self.duplicates += 1
            return []
        wanted = self._index.find(extent, attributes)
        if not wanted:
            self.unwanted += 1
        return wanted
