"""The live driver: an endpoint (codec, engine, forwarding table) on a UDP socket and the reactor's clock.

The twin of `sim.node`: there links and virtual time, here a socket, around the same endpoint. `router` and `client`
use it.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any, Protocol, cast

from twisted.internet.error import MessageLengthError
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import DatagramProtocol
from twisted.python.runtime import seconds as time_of_day

from ..endpoint import Endpoint
from ..messages import Address

RECEIVE_BUFFER = 4 << 20
#: Datagrams kept for one neighbour while the socket's buffer is full; past that the oldest goes (newer updates matter
#: more).
MAX_QUEUE = 1024
_RETRY = 0.002


class Reactor(Protocol):
    """What is needed of a Twisted reactor (or of `twisted.internet.task.Clock` in unit tests)."""

    def seconds(self) -> float: ...
    def callLater(self, delay: float, callable: Any, *args: Any) -> Any: ...
    def listenUDP(self, port: int, protocol: Any, interface: str = "", maxPacketSize: int = 8192) -> Any: ...


class Driver(DatagramProtocol):
    """Set `endpoint` before listening. After calling verbs of the endpoint or its engine, call `pump` or
    `pump_soon`."""

    endpoint: Endpoint

    def __init__(self, reactor: Reactor, receive_buffer: int = RECEIVE_BUFFER) -> None:
        self.reactor = reactor
        #: Seconds on a clock that nobody sets. (A real reactor's own is the time of day; a test's is its own.)
        self.now: Callable[[], float] = time.monotonic if reactor.seconds is time_of_day else reactor.seconds
        self._receive_buffer = receive_buffer
        #: What the system granted of the receive buffer, bytes.
        self.receive_buffer_granted = 0
        self._soon: IDelayedCall | None = None
        self._alarm: IDelayedCall | None = None
        self._alarm_at = inf
        self._unsent: dict[Address, deque[bytes]] = {}
        self._retry: IDelayedCall | None = None

    @property
    def unsent(self) -> int:
        """Datagrams that wait for room in the socket's buffer."""
        return sum(map(len, self._unsent.values()))

    # -- Twisted's side --------------------------------------------------------------------------------

    def startProtocol(self) -> None:
        handle = getattr(self.transport, "socket", None)
        if handle is not None:
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                handle.setsockopt(socket.SOL_SOCKET, option, self._receive_buffer)
            self.receive_buffer_granted = handle.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        self.pump()

    def stopProtocol(self) -> None:
        for call in (self._soon, self._alarm, self._retry):
            if call is not None and call.active():
                call.cancel()

    def datagramReceived(self, datagram: bytes, addr: Any) -> None:
        self.endpoint.datagram(datagram, addr, self.now())
        self.pump_soon()

    # -- the few lines around the engine ---------------------------------------------------------------

    def pump_soon(self) -> None:
        """Pump when the reactor has read what there is to read: so datagrams fill up under load, and at rest nothing
        waits."""
        if self._soon is None:
            self._soon = self.reactor.callLater(0, self._drained)

    def _drained(self) -> None:
        self._soon = None
        self.pump()

    def pump(self) -> None:
        """Send what is to be sent, and set the one alarm."""
        self.endpoint.flush()
        for address, data in self.endpoint.take_datagrams():
            self._write(data, address)
        deadline = self.endpoint.next_deadline()
        if deadline == self._alarm_at:
            return
        if self._alarm is not None and self._alarm.active():
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, deadline
        if deadline < inf:
            self._alarm = self.reactor.callLater(max(0.0, deadline - self.now()), self._wake)

    def _wake(self) -> None:
        self._alarm, self._alarm_at = None, inf
        self.endpoint.expire(self.now())
        self.pump()

    # -- sending -----------------------------------------------------------------------------------

    def _write(self, data: bytes, address: Address) -> None:
        if (queue := self._unsent.get(address)) is not None:
            self._enqueue(queue, data)
        elif not self._send(data, address):
            self._unsent[address] = deque((data,))
            if self._retry is None:
                self._retry = self.reactor.callLater(_RETRY, self._send_queued)

    def _send(self, data: bytes, address: Address) -> bool:
        """False: the socket's buffer is full."""
        assert self.transport is not None
        try:
            self.transport.write(data, cast(tuple[str, int], address))
        except BlockingIOError:
            return False
        except (OSError, MessageLengthError):
            self.endpoint.drops["send_error"] += 1
        return True

    def _enqueue(self, queue: deque[bytes], data: bytes) -> None:
        if len(queue) >= MAX_QUEUE:
            queue.popleft()
            self.endpoint.drops["queue_full"] += 1
        queue.append(data)

    def _send_queued(self) -> None:
        self._retry = None
        for address in list(self._unsent):
            queue = self._unsent[address]
            while queue and self._send(queue[0], address):
                queue.popleft()
            if queue:
                self._retry = self.reactor.callLater(_RETRY, self._send_queued)
                return
            del self._unsent[address]
