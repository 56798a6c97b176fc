"""The plans of attack: which world, which failures. Each is a function of a seed, so that a seed names a whole run."""

from __future__ import annotations

import random
from collections.abc import Callable

import attrs
from attack import TIMERS, Plan

_QUICK = attrs.evolve(TIMERS, hold=0.4, host_hold=0.4)


def control_suffers(seed: int) -> Plan:
    """Loss, duplication and reordering of control datagrams up to one half; nobody fails."""
    r = random.Random(seed)
    return Plan(
        loss=r.choice([0, 0.1, 0.3, 0.5]),
        duplicate=r.choice([0, 0.3, 0.5]),
        reorder=r.choice([0, 0.3, 0.5]),
        opted=r.choice([1, 0.5]),
    )


def policies(seed: int) -> Plan:
    """The same with lazy shrinking, budgets, pacing, and routers that join only when they are asked to."""
    r = random.Random(seed)
    return attrs.evolve(
        control_suffers(seed),
        timers=attrs.evolve(TIMERS, shrink_delay=r.choice([0.0, 0.2]), update_interval=r.choice([0.0, 0.01, 0.03])),
        budget=r.choice([0, 2, 4]),
        keep_attached=r.random() < 0.5,
    )


def failures(seed: int) -> Plan:
    """Routers crash, restart and change parents; hosts vanish; control is lost up to 30 %."""
    r = random.Random(seed)
    return attrs.evolve(
        control_suffers(seed),
        loss=r.choice([0, 0.1, 0.2, 0.3]),
        candidates=r.choice([1, 2, 3, 4]),
        crash=r.choice([2, 5, 10]),
        rehome=r.choice([0, 5, 10]),
        vanish=2,
        quiet=8.0,
        timers=_QUICK,
    )


def failures_and_policies(seed: int) -> Plan:
    some = policies(seed)
    return attrs.evolve(
        failures(seed),
        timers=attrs.evolve(some.timers, hold=0.4, host_hold=0.4),
        budget=some.budget,
        keep_attached=some.keep_attached,
    )


def after_repairs(seed: int) -> Plan:
    """Few moves, many publications, routers change parents: the windows after a repair are hit often."""
    r = random.Random(seed)
    return Plan(
        routers=14,
        hosts=10,
        cells=4,
        move=5,
        publish=1000,
        churn=0,
        crash=r.choice([0, 3]),
        rehome=10,
        candidates=r.choice([2, 4]),
        loss=r.choice([0, 0.1, 0.3]),
        duplicate=0.3,
        reorder=r.choice([0, 0.3]),
        seconds=1.5,
        quiet=4,
        timers=attrs.evolve(TIMERS, hold=0.6, host_hold=0.6),
    )


def everybody_rehomes(seed: int) -> Plan:
    """Six candidates each, thirty changes of parent a second: loops, if there can be any."""
    r = random.Random(seed)
    return Plan(
        routers=12,
        hosts=4,
        cells=4,
        move=5,
        publish=100,
        churn=0,
        crash=10,
        rehome=30,
        candidates=6,
        loss=r.choice([0, 0.1, 0.3]),
        duplicate=0.3,
        reorder=r.choice([0, 0.3, 0.6]),
        seconds=1.5,
        quiet=6,
        timers=attrs.evolve(TIMERS, hold=0.6, host_hold=0.6),
    )


PLANS: tuple[Callable[[int], Plan], ...] = (
    control_suffers,
    policies,
    failures,
    failures_and_policies,
    after_repairs,
    everybody_rehomes,
)
