"""Stateless proof of an address: a keyed hash that only somebody who receives there can send back (PROTOCOL.md
section 4)."""

from __future__ import annotations

import hashlib
import hmac

from .messages import Address

WINDOW = 30.0


class CookieJar:
    """`secret` is drawn at start; `now` is the engine's clock, so a cookie is good for 30 to 60 seconds."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def bake(self, address: Address, now: float) -> bytes:
        return self._hash(address, int(now // WINDOW))

    def accepts(self, address: Address, cookie: bytes, now: float) -> bool:
        window = int(now // WINDOW)
        return any(hmac.compare_digest(cookie, self._hash(address, w)) for w in (window, window - 1))

    def _hash(self, address: Address, window: int) -> bytes:
        return hashlib.blake2b(f"{address!r} {window}".encode(), key=self._secret, digest_size=16).digest()
