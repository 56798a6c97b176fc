"""Every program in `examples/` runs against a real tree on loopback, and does what it says."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def finish(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return out


@pytest.fixture
def leaf() -> Iterator[str]:
    """The address of a router below a core."""
    routers: list[subprocess.Popen[str]] = []

    def router(*words: str) -> str:
        routers.append(start("-m", "cbsmrp.cli.main", "router", "--listen", "127.0.0.1:0", *words))
        assert routers[-1].stdout is not None
        return str(json.loads(routers[-1].stdout.readline())["address"])

    try:
        yield "udp:" + router("--upstream", router())
    finally:
        for process in reversed(routers):
            process.terminate()
            process.communicate(timeout=10)


@pytest.mark.udp
def test_the_server_follows_the_avatar_of_the_game_client(leaf: str) -> None:
    server = start(str(EXAMPLES / "dve_server.py"), leaf, "4")
    finish(start(str(EXAMPLES / "game_client.py"), leaf, "anna", "2.5"))  # she walks through the first sphere
    heard = finish(server)
    assert heard.count("anna at") >= 10
    assert "-- in_force" in heard


@pytest.mark.udp
def test_the_twisted_client_on_the_asyncio_reactor(leaf: str) -> None:
    heard = finish(start(str(EXAMPLES / "asyncio_reactor.py"), leaf))
    assert heard.startswith("wanted ")


def test_the_simulation_says_the_same_twice_and_clipping_spares_the_core() -> None:
    one, two = start(str(EXAMPLES / "simulate.py"), "3"), start(str(EXAMPLES / "simulate.py"), "3")
    said = finish(one)
    assert said == finish(two)
    runs = [ast.literal_eval(line.partition(": ")[2]) for line in said.splitlines()]
    assert all(run["owed"] == run["delivered"] > 0 and run["unwanted"] == 0 for run in runs)
    assert runs[0]["core packets per second"] < runs[1]["core packets per second"]
