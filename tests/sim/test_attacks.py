"""T1, T2, T3 and "in force" on random trees, moves, leaves, restarts and failures, under loss, duplication and
reordering.

The oracle is in `tests/support/attack.py`, the plans in `plans.py`. That an attack can fail is shown with engines in
which one
rule is broken: each must be caught. More seeds: `pytest tests/sim/test_attacks.py --seeds 200`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from attack import Plan, World
from plans import PLANS, after_repairs, control_suffers, everybody_rehomes, failures

from cbsmrp import confirmation, exchange, sessions
from cbsmrp.confirmation import Confirmations
from cbsmrp.engine import Engine
from cbsmrp.messages import Rank, State
from cbsmrp.vif import APPLICATION, UPSTREAM, Vif
from interest import NOTHING


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.__name__)
def test_an_attack_finds_nothing(plan: Callable[[int], Plan], request: pytest.FixtureRequest) -> None:
    checked = 0
    for seed in range(request.config.getoption("--seeds")):
        world = World(seed, plan(seed)).run()
        assert not world.problems, f"{plan.__name__} seed {seed}"
        checked += world.stats["checked"] + world.stats["invariants"]
    assert checked > 10


def caught(plan: Callable[[int], Plan], seeds: Iterable[int]) -> bool:
    for seed in seeds:
        try:
            if World(seed, plan(seed)).run().problems:
                return True
        except AssertionError:
            return True
    return False


def caused_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only for the updates that this very version caused."""

    def needs(self: Confirmations, vif: Vif) -> dict[int, int]:
        others = [t for t in self._rib if t is not vif and t.id != APPLICATION and t.clipped]
        return {t.id: t.dirty for t in others if t.dirty and t.dirty > self.before}  # type: ignore[attr-defined]

    plain = Engine._accept

    def accept(self: Engine, vif: Vif, version: int, value: Any) -> None:
        self._confirmations.before = self._version  # type: ignore[attr-defined]
        plain(self, vif, version, value)

    monkeypatch.setattr(Confirmations, "_needs", needs)
    monkeypatch.setattr(Engine, "_accept", accept)


def accepted_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's REPLY: my router has it."""

    def needs(self: Confirmations, vif: Vif) -> dict[int, int]:
        return {UPSTREAM: self._rib.vifs[UPSTREAM].newest} if vif.id == APPLICATION else {}

    monkeypatch.setattr(Confirmations, "_needs", needs)


def unknown_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clipping region that is not known clips everything."""
    plain = exchange.upstream_vif

    def nothing() -> Vif:
        vif = plain()
        vif.in_value = NOTHING
        return vif

    for module in (exchange, sessions):
        monkeypatch.setattr(module, "upstream_vif", nothing)


def no_revocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in force below the old parent still counts below the new one."""
    monkeypatch.setattr(Engine, "_revoke", lambda self: None)


def no_draining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Join again at once, while those below still clip by what held before."""
    monkeypatch.setattr(Engine, "_drained", lambda self: True)


def last_to_arrive_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No versions."""
    plain = Engine._on_value

    def on_value(self: Engine, vif: Vif, part: Any) -> None:
        vif.in_version = min(vif.in_version, part.version - 1)
        plain(self, vif, part)

    monkeypatch.setattr(Engine, "_on_value", on_value)


def no_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise that was taken back can be resurrected by a late datagram."""
    plain = Engine._on_state

    def on_state(self: Engine, vif: Vif, m: State) -> None:
        plain(self, vif, attrs.evolve(m, epoch=0))

    monkeypatch.setattr(Engine, "_on_state", on_state)


def no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may join below anybody, at once."""
    no_draining(monkeypatch)
    monkeypatch.setattr(Rank, "better_than", lambda self, other: True)


def no_upstream_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A router without a parent has nobody to wait for."""
    plain = Confirmations._satisfied

    def satisfied(self: Confirmations, key: int, version: int, now: float) -> bool:
        vif = self._rib.get(key)
        return (key == UPSTREAM and vif is not None and not vif.joined) or plain(self, key, version, now)

    monkeypatch.setattr(confirmation.Confirmations, "_satisfied", satisfied)


def publishers_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts hold back what they think nobody wants, and "in force" does not wait for them."""
    plain = Confirmations._satisfied

    def satisfied(self: Confirmations, key: int, version: int, now: float) -> bool:
        vif = self._rib.get(key)
        return (vif is not None and vif.opted) or plain(self, key, version, now)

    monkeypatch.setattr(confirmation.Confirmations, "_satisfied", satisfied)


#: The plan that shows each broken rule, and the seed that did so when this was written (others may have to be tried).
MUTANTS: dict[Callable[[pytest.MonkeyPatch], None], tuple[Callable[[int], Plan], int]] = {
    caused_only: (control_suffers, 1),
    accepted_is_in_force: (control_suffers, 0),
    unknown_is_nothing: (after_repairs, 1),
    no_revocation: (after_repairs, 0),
    no_draining: (after_repairs, 18),
    last_to_arrive_wins: (control_suffers, 3),
    no_epochs: (after_repairs, 1),
    no_ranks: (everybody_rehomes, 15),
    no_upstream_is_done: (failures, 0),
    publishers_are_not_waited_for: (control_suffers, 1),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_an_attack_catches_a_broken_rule(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    plan, seed = MUTANTS[mutant]
    assert caught(plan, [seed, *range(40)])
