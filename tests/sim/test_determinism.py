"""Same seed, same run: every datagram the same, byte for byte, in another process and under another PYTHONHASHSEED."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cbsmrp.config import Timers
from interest import Box, Interest, Point, Region
from sim.network import Link, Sent
from sim.overlay import Overlay

ROOT = Path(__file__).parent.parent.parent


def area(x: float) -> Interest:
    """Several boxes on a layer, with an attribute: sets and dictionaries all the way down."""
    pieces = [Box((x + i, i, 0), (x + i + 3, i + 3, 9)) for i in range(5)]
    return Interest.of(Region(pieces), layer="ships", where=f"team IN ('red', 'blue') AND speed > {x / 10:.1f}")


def run(seed: int) -> str:
    """Hash of all datagrams of a run with losses, moves, crashes and failures."""
    link = Link(delay=0.005, jitter=0.01, loss=0.1, duplicate=0.1, reorder=0.2)
    timers = Timers(hello=0.2, hold=0.7, host_hello=0.2, host_hold=0.7, resend=0.05, resend_max=0.2, linger=0.2)
    overlay = Overlay(seed, link, timers)
    digest = hashlib.sha256()
    count = 0

    def trace(sent: Sent) -> None:
        nonlocal count
        count += 1
        digest.update(f"{sent.time!r} {sent.source} {sent.destination} {sent.lost} ".encode() + sent.data)

    overlay.network.trace = trace
    overlay.router("R0")
    for i in range(1, 7):
        overlay.router(f"R{i}", [f"R{(i - 1) // 2}", "R0"], budget=4)
    hosts = [overlay.host(f"H{i}", [f"R{i % 7}"], opted=i % 2 == 0) for i in range(8)]
    subscriptions = [host.subscribe(area(10.0 * i)) for i, host in enumerate(hosts)]
    for step in range(30):
        overlay.run(0.1)
        host = hosts[step % 8]
        host.move(subscriptions[step % 8], area(7.0 * step % 60))
        host.publish(Point((step % 60, 2.0, 1.0)), {"layer": "ships", "team": "red", "speed": 9}, b"x" * step)
        if step == 10:
            overlay.kill("R1")
        if step == 15:
            overlay.router("R1", ["R0"], budget=4)
    overlay.run(2.0)
    assert count > 1000
    return digest.hexdigest()


def in_another_process(seed: int, hash_seed: str) -> str:
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r}); import test_determinism; print(test_determinism.run({seed}))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def here() -> str:
    return run(1)


def test_the_same_seed_is_the_same_run_here_and_elsewhere(here: str) -> None:
    assert run(1) == here
    assert in_another_process(1, "0") == here
    assert in_another_process(1, "4242") == here


def test_another_seed_is_another_run(here: str) -> None:
    assert here != run(2)
