"""A region that turns back while the change is still under way (PROTOCOL.md section 5): A, B, A must not leave B
behind.

Random attacks hit this window seldom, so it is hit on purpose; and the rule that would lose it is put in to see it
lost.
"""

from __future__ import annotations

import pytest

from cbsmrp.engine import Engine
from cbsmrp.vif import Vif
from interest import NOTHING, Box, Interest, Point
from sim.network import Link
from sim.overlay import Overlay

HERE = Interest.of(Box((0, 0, 0), (10, 10, 10)))


def there_and_back() -> tuple[bool, bool]:
    """Is the region in force at the end, and does the core know it?"""
    overlay = Overlay(1, Link(delay=0.005))
    overlay.router("R0")
    overlay.router("R1", ["R0"])
    host = overlay.host("H", ["R1"])
    subscription = host.subscribe(HERE)
    overlay.run(2)
    overlay.network.connect("R0", "R1", Link(delay=0.05))
    host.move(subscription, NOTHING)
    overlay.run(0.03)  # R1 has told R0, whose answer is not back
    host.move(subscription, HERE)
    overlay.run(5)
    vif = overlay.routers["R0"].router.rib.at("R1")
    assert vif is not None
    return host.in_force(subscription), vif.in_value.matches(Point((5, 5, 5)), {})


def test_a_region_turns_back_while_the_change_is_under_way() -> None:
    assert there_and_back() == (True, True)


def test_comparing_with_what_was_acknowledged_would_lose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Engine._compute

    def compute(self: Engine, vif: Vif) -> None:
        told = self.__dict__.setdefault("told", {})
        plain(self, vif)
        told[vif.id, vif.out_version] = vif.out_value
        if vif.accepted and vif.out_version > vif.accepted and told.get((vif.id, vif.accepted)) == vif.out_value:
            vif.out_version = vif.sent = vif.accepted

    # The mutant computes at once, as an engine would that compares with the acknowledged version instead of the newest.
    serve = Engine._serve

    def at_once(self: Engine, vif: Vif) -> None:
        if vif.dirty and vif.joined:
            self._compute(vif)
        serve(self, vif)

    monkeypatch.setattr(Engine, "_compute", compute)
    monkeypatch.setattr(Engine, "_serve", at_once)
    assert there_and_back() != (True, True)
