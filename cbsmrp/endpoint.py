"""Bytes in, bytes out: codec, engine and forwarding table around each other, for a router and for a host.

This is what both drivers hold, the Twisted one with a socket and the reactor's clock, the simulator's with modelled
links and
virtual time: whatever is simulated is what runs. A driver calls `datagram` for what arrived, `expire` at
`next_deadline`,
`flush` when its input is drained, and sends `take_datagrams`. Algorithm 2 of the paper is `RouterEndpoint._forward`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import attrs

from interest import DecodeError, Extent, Value

from .bucket import Bucket
from .engine import Engine
from .fib import Fib, FibChange
from .host import Host, Source
from .messages import RATE, Address, Message, Publication, Refuse, VifId
from .ready import Notice
from .router import Router
from .vif import UPSTREAM, Traffic, Vif, VifKind
from .wire import PREAMBLE, BadVersion, Codec, PublicationFrame, encode_publication, is_empty

#: Publications start with this hop limit.
HOP_LIMIT = 255


@attrs.define(eq=False)
class _Buffer:
    """Publications that will leave by a VIF in one datagram of `size` bytes. Never empty."""

    vif: Vif
    frames: list[bytes] = attrs.field(factory=list)
    size: int = len(PREAMBLE)


class Endpoint(abc.ABC):
    """The part that routers and hosts share. `notice` is called with what the engine wants the application to know."""

    def __init__(self, engine: Engine, codec: Codec, notice: Callable[[Notice], None] = lambda notice: None) -> None:
        self.engine = engine
        self.codec = codec
        self.drops = engine.drops
        self._notice = notice
        self._out: list[tuple[Address, bytes]] = []
        self._buffers: dict[VifId, _Buffer] = {}
        self._carry_out()

    # -- the driver's side -----------------------------------------------------------------------------

    def datagram(self, data: bytes, address: Address, now: float) -> bool:
        """One datagram has arrived. Never raises for anything it may hold. Returns whether `next_deadline` may have
        changed: publications that are only forwarded leave it alone."""
        try:
            frames = self.codec.decode(data)
        except BadVersion as error:
            self.drops[error.reason] += 1
            if not is_empty(data):
                self._out.append((address, PREAMBLE))
            self.engine.speaks_version(address, error.version, now)
            self._carry_out()
            return True
        except DecodeError as error:
            self.drops[error.reason] += 1
            return False
        messages: list[Message] = []
        publications: list[PublicationFrame] = []
        for frame in frames:
            if isinstance(frame, PublicationFrame):
                publications.append(frame)
            else:
                messages.append(frame)
        if publications:
            vif = self.engine.rib.at(address)
            if vif is None or not vif.joined:
                self.drops["unknown_vif"] += len(publications)
                if not messages:  # those have answers of their own, and there is at most one a datagram
                    self.engine.unknown_sender(address, now)
                    self._carry_out()
                    return True
            else:
                vif.traffic.datagrams_in += 1
                vif.traffic.packets_in += len(publications)
                vif.traffic.bytes_in += len(data)
                self._publications(vif, publications, now)
        if messages:
            self.engine.receive(address, messages, now)
            self._carry_out()
        return bool(messages)

    def expire(self, now: float) -> None:
        self.engine.expire(now)
        self._carry_out()

    def leave(self, now: float) -> None:
        """Leave the tree for good."""
        self.flush()  # what was published before goes before the QUIT
        self.engine.leave(now)
        self._carry_out()

    def next_deadline(self) -> float:
        """When `expire` wants to be called next (seconds on the driver's clock; infinity: never)."""
        return self.engine.next_deadline()

    def flush(self) -> None:
        """The driver's input is drained: what was packed goes out."""
        for buffer in self._buffers.values():
            self._emit(buffer.vif, buffer.frames)
        self._buffers.clear()

    def take_datagrams(self) -> list[tuple[Address, bytes]]:
        out, self._out = self._out, []
        return out

    # -- inside ----------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _publications(self, vif: Vif, frames: list[PublicationFrame], now: float) -> None:
        """Publications have come in by this VIF."""

    def _carry_out(self) -> None:
        """The engine's effects, in their order: table, messages, application."""
        ready = self.engine.take_ready()
        for change in ready.fib_changes:
            self._apply(change)
        for address, message in ready.messages:
            self._out.append((address, PREAMBLE + self.codec.encode(message)))
        for notice in ready.notices:
            self._notice(notice)

    def _apply(self, change: FibChange) -> None:
        pass

    def _pack(self, vif: Vif, frame: bytes) -> None:
        buffer = self._buffers.get(vif.id)
        if buffer is None:
            buffer = self._buffers[vif.id] = _Buffer(vif)
        elif buffer.size + len(frame) > self.codec.datagram_bytes:
            self._emit(buffer.vif, buffer.frames)
            buffer.frames, buffer.size = [], len(PREAMBLE)
        buffer.vif = vif  # a parent may have changed meanwhile
        buffer.frames.append(frame)
        buffer.size += len(frame)

    def _emit(self, vif: Vif, frames: list[bytes]) -> None:
        data = PREAMBLE + b"".join(frames)
        traffic = vif.traffic
        traffic.datagrams_out += 1
        traffic.packets_out += len(frames)
        traffic.bytes_out += len(data)
        self._out.append((vif.address, data))


class RouterEndpoint(Endpoint):
    def __init__(self, router: Router, codec: Codec, notice: Callable[[Notice], None] = lambda notice: None) -> None:
        self.fib = Fib()
        self.router = router
        super().__init__(router, codec, notice)

    def _apply(self, change: FibChange) -> None:
        self.fib.apply(change)
        if change.new is None:
            self._buffers.pop(change.vif, None)

    def _publications(self, vif: Vif, frames: list[PublicationFrame], now: float) -> None:
        from_host = vif.kind is VifKind.HOST
        vifs = self.engine.rib.vifs
        detached = not self.engine.core and not vifs[UPSTREAM].joined
        for frame in frames:
            if from_host and not self._allowed(vif, now):
                continue
            self.engine.publications += 1
            if frame.hop_limit == 0:
                self.drops["hop_limit"] += 1
                continue
            if detached:
                self.drops["no_upstream"] += 1
            label, data = -1, b""
            for hop in self.fib.lookup(frame, vif.id, from_host):
                if hop.label != label:
                    label, data = hop.label, frame.next_hop(hop.label)
                self._pack(vifs[hop.vif], data)

    def _allowed(self, vif: Vif, now: float) -> bool:
        if vif.allowance is None:
            vif.allowance = Bucket(self.router.limits.publications_per_second, now)
        if vif.allowance.take(now):
            return True
        self.drops["rate_limited"] += 1
        vif.traffic.dropped += 1
        if now >= vif.rate_told_at + 1.0 and vif.session is not None:
            vif.rate_told_at = now
            rate = vif.allowance.rate
            text = f"more than {rate:g} publications a second from one host are dropped here: publish less often"
            self._out.append((vif.address, PREAMBLE + self.codec.encode(Refuse(vif.session, RATE, text))))
        return False


class HostEndpoint(Endpoint):
    """`delivered(subscription ids, frame)` is called for every publication that somebody here wants;
    `arrived(frame)`, if
    given, for every one that reaches the socket, before the client's own filter (it is how unwanted ones are
    counted)."""

    def __init__(
        self,
        host: Host,
        codec: Codec,
        delivered: Callable[[list[int], PublicationFrame], None],
        notice: Callable[[Notice], None] = lambda notice: None,
        arrived: Callable[[PublicationFrame], None] | None = None,
    ) -> None:
        self.host = host
        self._delivered = delivered
        self._arrived = arrived
        super().__init__(host, codec, notice)

    def _publications(self, vif: Vif, frames: list[PublicationFrame], now: float) -> None:
        for frame in frames:
            if self._arrived is not None:
                self._arrived(frame)
            wanted = self.host.deliver(frame.extent, frame.attributes, frame.source, frame.sequence)
            if wanted:
                self._delivered(wanted, frame)

    def carry_out(self) -> None:
        """After a call of the host's own verbs (subscribe, move, unsubscribe)."""
        self._carry_out()

    def publish(
        self, extent: Extent, attributes: dict[str, Value], payload: bytes, now: float, source: Source | None = None
    ) -> Publication | None:
        """Hand a publication to the router. None: not sent, because nobody wants it (`host.clipped`) or because there
        is no router at the moment (`drops["not_joined"]`); then the next one has the same sequence number. `source`
        replaces the host's own (a replay of many objects). Raises `ValueError` if it is too long for a datagram."""
        host = self.host
        source = source or host.publishing
        publication = Publication(source.id, source.sequence, extent, attributes, payload, 0, HOP_LIMIT)
        data = encode_publication(publication)
        if len(data) + len(PREAMBLE) > self.codec.datagram_bytes:
            raise ValueError(
                f"publication of {len(data)} bytes does not fit a datagram of {self.codec.datagram_bytes}: "
                "send a shorter payload, or several publications"
            )
        up = host.upstream
        if up is None or not up.joined:
            self.drops["not_joined"] += 1
            return None
        if not host.wants(publication, now):
            return None
        source.sequence = (source.sequence + 1) & 0xFFFFFFFF
        host.own_sources.add(source.id)
        self._pack(up, data)
        return publication


def total_traffic(engine: Engine) -> Traffic:
    """All VIFs together, those of ended sessions included."""
    total = Traffic()
    for past in engine.past_traffic.values():
        total.add(past)
    for vif in engine.rib:
        total.add(vif.traffic)
    return total
