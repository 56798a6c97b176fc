"""A router's configuration: attrs classes with the defaults of live routers, and the TOML file that may change them.

Read by `cbsmrp router`, the Twisted service and the simulator's nodes. Times are seconds, sizes bytes. Whatever cannot
be meant raises ConfigError: one line that names the key, the value and the remedy.
"""

import ipaddress
import re
from pathlib import Path
from typing import Any

import attrs

from .settings import ConfigError as ConfigError
from .settings import boolean, known, read_toml, seconds, text, whole


def _address(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
    try:
        parse_address(value if isinstance(value, str) else "")
    except ConfigError:
        raise ConfigError(f"{key.name} = {value!r}: give HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000") from None


def _address_or_nothing(self: object, key: "attrs.Attribute[Any]", value: object) -> None:
    if value != "":
        _address(self, key, value)


def _upstreams(self: object, key: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, tuple):
        raise ConfigError(f'{key.name} = {value!r}: give a list, such as ["127.0.0.1:9000"]')
    for address in value:
        _address(self, key, address)
        if parse_address(address)[1] == 0:
            raise ConfigError(f"{key.name}: {address!r} has port 0: give the port the upstream router listens on")


@attrs.frozen(kw_only=True)
class Timers:
    """Times of one router, in seconds."""

    hello: float = seconds(1.0)
    """Something is sent to a neighbouring router at least this often."""
    hold: float = seconds(3.5, at_most=86400.0)
    """A neighbouring router silent for so long is gone."""
    host_hello: float = seconds(10.0)
    host_hold: float = seconds(35.0, at_most=86400.0)
    resend: float = seconds(0.1)
    """First wait before an unacknowledged region is sent again; it doubles up to `resend_max`."""
    resend_max: float = seconds(1.0)
    join_tries: int = attrs.field(default=4, validator=whole(1))
    """SUBSCRIBEs to one candidate upstream before the next candidate is tried."""
    flush: float = seconds(6.0)
    """A router detached for so long lets its children go."""
    lifetime: float = seconds(30.0)
    """No datagram is later than this; ended sessions are remembered for so long."""
    linger: float = seconds(2.0, None)
    """A router whose last child is gone stays on the tree for so long."""
    lease: float = seconds(2.0, at_most=60.0)
    """How long a host may keep silent what its clipping region does not want."""
    update_interval: float = seconds(0.02, None)
    """The least time between two new versions to one neighbour."""
    shrink_delay: float = seconds(0.0, None)
    """How long a region that only shrinks waits before it is passed on between routers; 0 is eager."""
    host_shrink_delay: float = seconds(1.0, None)
    """The same for clipping regions towards hosts."""

    def __attrs_post_init__(self) -> None:
        for hello, hold in (("hello", "hold"), ("host_hello", "host_hold")):
            sent, kept = getattr(self, hello), getattr(self, hold)
            if kept <= 2 * sent:
                raise ConfigError(
                    f"{hold} = {kept!r}: give more than twice {hello} ({sent!r}), or one lost datagram ends a neighbour"
                )
        for short, long in (("resend", "resend_max"), ("update_interval", "hello")):
            if getattr(self, long) < getattr(self, short):
                value, least = getattr(self, long), getattr(self, short)
                raise ConfigError(f"{long} = {value!r}: give at least {short} ({least!r})")


@attrs.frozen(kw_only=True)
class Limits:
    """What one host may ask of a router; beyond it the router refuses, naming the limit."""

    pieces: int = attrs.field(default=256, validator=whole(1))
    subscriptions: int = attrs.field(default=64, validator=whole(1))
    publications_per_second: float = seconds(1000.0)


@attrs.frozen(kw_only=True)
class RouterConfig:
    """Everything one router needs to know. Without `upstreams` it is the core."""

    listen: str = attrs.field(default="127.0.0.1:0", validator=_address)
    """HOST:PORT; port 0 takes any free one."""
    upstreams: tuple[str, ...] = attrs.field(default=(), validator=_upstreams)
    """Candidate upstream routers, HOST:PORT, in the order in which they are tried."""
    mode: str = attrs.field(default="shared-tree", validator=text)
    clipping: bool = attrs.field(default=True, validator=boolean)
    budget: int = attrs.field(default=64, validator=whole(1))
    """The most pieces of a region between routers."""
    keep_attached: bool = attrs.field(default=False, validator=boolean)
    """Stay on the tree though nobody below is there."""
    datagram_bytes: int = attrs.field(default=1400, validator=whole(512))
    receive_buffer: int = attrs.field(default=4 * 1024 * 1024, validator=whole(4096))
    """Bytes asked of the system for the socket's receive buffer."""
    metrics: str = attrs.field(default="", validator=_address_or_nothing)
    """HOST:PORT of the Prometheus metrics; empty for none."""
    timers: Timers = attrs.field(factory=Timers, validator=attrs.validators.instance_of(Timers))
    limits: Limits = attrs.field(factory=Limits, validator=attrs.validators.instance_of(Limits))

    def __attrs_post_init__(self) -> None:
        if self.datagram_bytes > 65507:
            raise ConfigError(f"datagram_bytes = {self.datagram_bytes}: give at most 65507, the most UDP carries")


def load(path: str | Path) -> RouterConfig:
    """The configuration in a TOML file: RouterConfig's fields as keys, and the tables [timers] and [limits].

    Raises ConfigError, naming the file, for a file that cannot be read, is no TOML, has an unknown key or a value that
    cannot be meant.
    """
    table = read_toml(path)
    try:
        values = known(RouterConfig, table, "")
        for name, kind in (("timers", Timers), ("limits", Limits)):
            if name in values:
                values[name] = kind(**known(kind, values[name], name))
        if isinstance(values.get("upstreams"), list):
            values["upstreams"] = tuple(values["upstreams"])
        return RouterConfig(**values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT` or `[IPV6]:PORT` as (host, port). Names are left unresolved. Raises ConfigError."""
    host, colon, digits = text.rpartition(":")
    remedy = "give HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000"
    if not colon or not host:
        raise ConfigError(f"address {text!r}: {remedy}")
    if not re.fullmatch(r"[0-9]{1,5}", digits) or int(digits) > 65535:
        raise ConfigError(f"address {text!r}: the port is {digits!r}: give a number from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ConfigError(f"address {text!r}: {host!r} is not an IPv6 address") from None
    elif not re.fullmatch(r"[A-Za-z0-9._-]+", host):
        raise ConfigError(f"address {text!r}: {remedy}")
    return host, int(digits)
