"""The engine under a router and under a host: the calls from outside, around sessions and the exchange of values.

No sockets, no clock, no global randomness: time comes in with every call, randomness as a `random.Random`, and what is
to be done goes out as one `Ready`. `router.Router` adds a routing mode and a forwarding table, `host.Host` an
application; `endpoint` drives both. The rules were tried out, and attacked, on an executable model before they were
written here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from .config import Timers
from .messages import Address, Challenge, Hello, Message, Quit, Refuse, Rejoin, Reply, Reset, Subscribe, Update
from .ready import Ready
from .sessions import Sessions
from .vif import APPLICATION, UPSTREAM, Vif, VifKind


class Engine(Sessions):
    """What a router and a host share. Not used by itself.

    `generation` is the start time in ms, greater than that of any earlier life at this address; `candidates` the
    possible parents in order (none: this is the core); `chunk_bytes` how much of a region one frame may carry; `opted`:
    a host that asks for a clipping region.
    """

    def __init__(
        self,
        *,
        generation: int,
        timers: Timers,
        rng: random.Random,
        candidates: Sequence[Address] = (),
        chunk_bytes: int = 1200,
        opted: bool = False,
        now: float = 0.0,
    ) -> None:
        super().__init__(generation, timers, rng, candidates, chunk_bytes, opted, now)
        self._beat_at = now

    def observe_in_force(self, observer: Callable[[VifKind, float], None]) -> None:
        """Call `observer` with the kind of neighbour and the seconds from a version's arrival to its being in force."""
        self._confirmations.observer = observer

    def next_deadline(self) -> float:
        at = self._deadlines.next()
        if self.core:
            return min(at, self._beat_at)
        up = self.upstream
        assert up is not None
        if up.session is None:
            if self._needed():
                at = min(at, self._retry_at)
            if self.rib.has_children:
                at = min(at, self._detached_at + self.timers.flush)
        elif self._idle():
            at = min(at, max(self._wanted_until, self.now))
        return at

    def take_ready(self) -> Ready:
        ready, self._ready = self._ready, Ready()
        return ready

    # -- input -----------------------------------------------------------------------------------------

    def receive(self, address: Address, messages: Sequence[Message], now: float) -> None:
        """Handle the control messages of one datagram, all of which have been decoded."""
        self.now = now
        self._answered = False
        for message in messages:
            self.received[type(message).__name__] += 1
            if isinstance(message, Subscribe):
                self._on_subscribe(address, message)
            elif isinstance(message, Reply | Update | Hello):
                if message.down:
                    self._on_parent(address, message)
                else:
                    self._on_child(address, message)
            elif isinstance(message, Quit | Reset):
                self._on_end(message)
            elif isinstance(message, Refuse):
                self._on_refuse(address, message)
            elif isinstance(message, Challenge):
                self._on_challenge(address, message)
            elif isinstance(message, Rejoin):
                self._on_rejoin(address)
        self._finish()

    def expire(self, now: float) -> None:
        """Do what is due. Harmless at any time."""
        self.now = now
        for key in self._deadlines.due(now):
            if (vif := self.rib.get(key)) is not None:
                self._touched.add(key)
                self._confirmations.news(key)  # a lease may have run out
                if vif.joined and (now >= vif.heard + vif.hold_time or self._in_vain(vif)):
                    if key == UPSTREAM:
                        self._drop_upstream("silent", tell=True)
                    else:
                        self._drop_child(vif, tell=True)
                elif vif.shrink_at <= now:
                    self._mark(vif)
        if self.core:
            if now >= self._beat_at:
                self._core_sequence += 1
                self._beat_at = now + self.timers.hello
                self._pass_on_rank()
        else:
            up = self.upstream
            assert up is not None
            if up.session is None:
                if self._needed() and now >= self._retry_at:
                    self._start_join(up)
                if self.rib.has_children and now >= self._detached_at + self.timers.flush:
                    for child in self.rib.children():
                        self._drop_child(child, tell=True)
            elif not self._needed():
                self._drop_upstream("nobody needs it", tell=True, after=self.timers.resend)
                self._turn = 0  # nothing was wrong with it: the order of the candidates stands
        self._finish()

    def _in_vain(self, vif: Vif) -> bool:
        """A host says hello seldom; but a router that has not answered so many questions in a router's hold is gone."""
        return vif.unanswered > self.timers.join_tries + 2 and self.now >= vif.asked_at + self.timers.hold

    def leave(self, now: float) -> None:
        """Leave the tree for good: QUIT upwards, and end what is below."""
        self.now, self.quitting = now, True
        for child in self.rib.children():
            self._drop_child(child, tell=True)
        if not self.core:
            self._drop_upstream("left", tell=True)
        self._finish()

    def unknown_sender(self, address: Address, now: float) -> None:
        """A publication came from an address without a VIF: hint, at a limited rate, that it should join again."""
        self.now = now
        self._answered = False
        if self._may_reset():
            self._send(address, Rejoin())

    def speaks_version(self, address: Address, version: int, now: float) -> None:
        """A datagram of another protocol version came from here."""
        self.now = now
        up = self.upstream
        if up is not None and up.session is not None and not up.joined and up.address == address:
            self._no_parent(up, f"it speaks protocol version {version}, this is version 1: use the same release")
        self._finish()

    def _finish(self) -> None:
        """Confirm what has come into force, then send what is due."""
        if self._joining or self._ended:
            self._admit_waiting()
        while True:
            # Serving may confirm (a version turned out to say nothing new), and what is confirmed is to be served.
            self._confirmations.settle(self.now, self._confirmed)
            if not self._touched:
                break
            touched, self._touched = sorted(self._touched), set()
            for key in touched:
                vif = self.rib.get(key)
                if vif is None or key == APPLICATION:
                    continue
                if vif.joined:
                    self._serve(vif)
                elif vif.session is not None:
                    self._serve_joining(vif)
                if self.rib.get(key) is vif:
                    self._deadlines.set(key, self._deadline(vif))
