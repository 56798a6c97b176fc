"""A live router: from its configuration to a listening socket.

Used by `service`, and through it by `cbsmrp router` and `twistd -n cbsmrp`; or by programs with a router of their own.
"""

from __future__ import annotations

import errno
import random
import time
from typing import Any

from twisted.internet.error import CannotListenError
from twisted.logger import Logger

from ..config import ConfigError, RouterConfig
from ..endpoint import RouterEndpoint
from ..modes import MODES
from ..ready import Attached, Detached, NoAnswer, Notice
from ..router import Router
from ..wire import Codec
from .address import any_interface, format_address, resolve
from .driver import Driver, Reactor

_log = Logger()


class RouterDriver(Driver):
    """One router on one socket. Built by `listen`."""

    endpoint: RouterEndpoint

    def __init__(self, reactor: Reactor, config: RouterConfig) -> None:
        super().__init__(reactor, config.receive_buffer)
        if config.mode not in MODES:
            raise ConfigError(f"mode = {config.mode!r}: there is no such mode; give one of {', '.join(sorted(MODES))}")
        self.config = config
        self._listen = resolve(config.listen)
        candidates = [resolve(upstream) for upstream in config.upstreams]
        for candidate, upstream in zip(candidates, config.upstreams, strict=True):
            if any_interface(candidate) != any_interface(self._listen):
                raise ConfigError(
                    f"upstream {upstream!r} and listen {config.listen!r}: give both as IPv4, or both as IPv6"
                )
        self._told: set[str] = set()
        codec = Codec(config.datagram_bytes)
        self.router = Router(
            generation=time.time_ns() // 1_000_000,
            timers=config.timers,
            rng=random.Random(random.SystemRandom().getrandbits(128)),
            candidates=candidates,
            mode=MODES[config.mode],
            clipping=config.clipping,
            budget=config.budget,
            limits=config.limits,
            keep_attached=config.keep_attached,
            chunk_bytes=codec.chunk_bytes,
            now=self.now(),
        )
        self.endpoint = RouterEndpoint(self.router, codec, self._notice)
        self._port: Any = None

    @property
    def address(self) -> str:
        """HOST:PORT it listens on."""
        host = self._port.getHost()
        return format_address((host.host, host.port))

    def listen(self) -> None:
        """Raises `ConfigError` if the address is taken or not ours."""
        host, port = self._listen
        try:
            self._port = self.reactor.listenUDP(port, self, host, max(2048, self.config.datagram_bytes) + 1)
        except CannotListenError as error:
            reason = getattr(error.socketError, "strerror", None) or error.socketError
            remedy = "choose another port, or 0 for any"
            if getattr(error.socketError, "errno", None) == errno.EADDRNOTAVAIL:
                remedy = "give an address of this machine, or 0.0.0.0 for all of them"
            raise ConfigError(f"listen = {self.config.listen!r}: {reason}: {remedy}") from None
        found = self._port.getHost()
        if (found.host, found.port) in self.router.candidates:
            raise ConfigError(f"upstream {self.address}: the router's own address: give another, or none for the core")

    def leave(self) -> Any:
        """Leave the tree with QUIT and close the socket. Returns a Deferred or None."""
        self.endpoint.leave(self.now())
        self.pump()
        return self._port.stopListening()

    def _notice(self, notice: Notice) -> None:
        """Say it once, until something else happens."""
        if isinstance(notice, Attached):
            self._told.clear()
            _log.info("attached to the tree through {parent}", parent=format_address(notice.parent))
        elif isinstance(notice, Detached):
            self._told.clear()
            _log.info("not on the tree any longer: {why}", why=notice.why)
        elif isinstance(notice, NoAnswer):
            text = f"upstream router {format_address(notice.candidate)}: {notice.why}; trying on"
            if text not in self._told:
                self._told.add(text)
                _log.info("{text}", text=text)
