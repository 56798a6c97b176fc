"""Names and numbers of UDP addresses: what users write, to what the engine compares and Twisted sends to."""

from __future__ import annotations

import socket

from ..config import ConfigError, parse_address


def resolve(text: str) -> tuple[str, int]:
    """`[udp:]HOST:PORT` as (IP literal, port). Raises `ConfigError` for what cannot be read or is not known."""
    if not isinstance(text, str):
        raise ConfigError(f"address {text!r}: give a text such as 'udp:127.0.0.1:9000'")
    scheme, colons, rest = text.partition(":")
    if colons and scheme.isalpha() and ":" in rest and scheme != "udp" and not rest.startswith(":"):
        raise ConfigError(f"address {text!r}: {scheme!r} is not spoken here: give udp:HOST:PORT")
    host, port = parse_address(text.removeprefix("udp:"))
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError:
        raise ConfigError(f"address {text!r}: no host called {host!r}: check the name, or give an IP address") from None
    # Routers listen on IPv4 unless told otherwise, so `localhost` means 127.0.0.1.
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return str(found[0][4][0]), port


def any_interface(address: tuple[str, int]) -> str:
    """The interface to listen on in order to talk to this address."""
    return "::" if ":" in address[0] else "0.0.0.0"


def format_address(address: object) -> str:
    """(host, port) as `HOST:PORT`."""
    if isinstance(address, tuple) and len(address) == 2:
        host, port = address
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    return str(address)
