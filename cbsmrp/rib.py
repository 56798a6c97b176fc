"""The routing table: every VIF of a router, found by number, by address and by token. Exact, slow, changing.

Forwarding never reads it (it has the FIB). `engine` writes it; routing modes see it through `mode.ModeContext`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from .messages import Address, VifId
from .vif import APPLICATION, FIRST_CHILD, UPSTREAM, Vif, VifKind


@attrs.define
class Rib:
    vifs: dict[VifId, Vif] = attrs.field(factory=dict)
    _by_address: dict[Address, Vif] = attrs.field(factory=dict)
    _by_token: dict[int, Vif] = attrs.field(factory=dict)
    _next: VifId = FIRST_CHILD

    def __iter__(self) -> Iterator[Vif]:
        return iter(self.vifs.values())

    def get(self, vif: VifId) -> Vif | None:
        return self.vifs.get(vif)

    def put(self, vif: Vif) -> None:
        """Enter a VIF that keeps its number (upstream, application)."""
        if (old := self.vifs.get(vif.id)) is not None and self._by_address.get(old.address) is old:
            del self._by_address[old.address]
        self.vifs[vif.id] = vif
        self.readdress(vif, vif.address)

    def add_child(self, vif: Vif) -> None:
        vif.id, self._next = self._next, self._next + 1
        self.vifs[vif.id] = vif
        self._by_address[vif.address] = vif
        if vif.token is not None:
            self._by_token[vif.token] = vif

    def remove(self, vif: Vif) -> None:
        del self.vifs[vif.id]
        if self._by_address.get(vif.address) is vif:
            del self._by_address[vif.address]
        if vif.token is not None:
            self._by_token.pop(vif.token, None)

    def readdress(self, vif: Vif, address: Address) -> None:
        if self._by_address.get(vif.address) is vif:
            del self._by_address[vif.address]
        vif.address = address
        if address is not None:
            self._by_address[address] = vif

    def at(self, address: Address) -> Vif | None:
        return self._by_address.get(address)

    def child_with(self, token: int) -> Vif | None:
        return self._by_token.get(token)

    def children(self) -> list[Vif]:
        return [v for v in self.vifs.values() if v.kind in (VifKind.DOWNSTREAM, VifKind.HOST)]

    @property
    def has_children(self) -> bool:
        return len(self.vifs) > (UPSTREAM in self.vifs) + (APPLICATION in self.vifs)
