"""A router as a Twisted service: the driver on its socket, and the metrics page beside it.

`cbsmrp router` runs it, so does `twistd -n cbsmrp` (the plugin in twisted/plugins points here), and a program may hang
it into its own application.
"""

from __future__ import annotations

from typing import Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import gatherResults, maybeDeferred
from twisted.python import usage

from .config import ConfigError, RouterConfig, load
from .metrics import serve
from .udp.address import format_address
from .udp.router import RouterDriver


class RouterService(Service):
    """Listens from `startService`, which raises `ConfigError`, until `stopService`, which leaves the tree."""

    def __init__(self, reactor: Any, config: RouterConfig) -> None:
        self.reactor = reactor
        self.config = config
        self.driver = RouterDriver(reactor, config)
        self._metrics_port: Any = None

    @property
    def metrics_address(self) -> str | None:
        """HOST:PORT of the metrics page, if there is one."""
        if self._metrics_port is None:
            return None
        host = self._metrics_port.getHost()
        return format_address((host.host, host.port))

    def startService(self) -> None:
        if self.config.metrics:  # first, so that a router that cannot show its metrics has not joined yet
            self._metrics_port = serve(self.reactor, self.driver, self.config.metrics)
        try:
            self.driver.listen()
        except ConfigError:
            if self._metrics_port is not None:
                self._metrics_port.stopListening()
            raise
        Service.startService(self)

    def stopService(self) -> Any:
        Service.stopService(self)
        stopped = [maybeDeferred(self.driver.leave)]
        if self._metrics_port is not None:
            stopped.append(maybeDeferred(self._metrics_port.stopListening))
        return gatherResults(stopped)


class Options(usage.Options):
    """Options of `twistd cbsmrp`; the configuration file says the rest."""

    optParameters = (
        ("config", "c", None, "TOML file with the router's configuration"),
        ("listen", "l", None, "HOST:PORT to listen on (UDP), instead of what the file says"),
        ("metrics", "m", None, "HOST:PORT of the Prometheus metrics, instead of what the file says"),
    )

    def postOptions(self) -> None:
        if self["config"] is None and self["listen"] is None:
            raise usage.UsageError("give --config FILE or --listen HOST:PORT")
        try:
            config = load(self["config"]) if self["config"] else RouterConfig()
            given = {name: self[name] for name in ("listen", "metrics") if self[name] is not None}
            self["configuration"] = attrs.evolve(config, **given)
        except ConfigError as error:
            raise usage.UsageError(str(error)) from None


def makeService(options: Options) -> RouterService:
    """What `twistd` calls. Ends the process, with one line, if the router cannot start."""
    from twisted.internet import reactor

    try:
        return _Server(reactor, options["configuration"])
    except ConfigError as error:
        raise SystemExit(f"twistd cbsmrp: {error}") from None


class _Server(RouterService):
    """The router is all there is in the process: without it twistd ends."""

    def startService(self) -> None:
        try:
            RouterService.startService(self)
        except ConfigError as error:
            raise SystemExit(f"twistd cbsmrp: {error}") from None
