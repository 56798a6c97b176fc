"""The harness that holds forwarders against plain C: its counts add up, and what cannot run is said in one line."""

import shutil
import subprocess
import sys

import attrs
import pytest

from bench.forward import harness

pytestmark = [pytest.mark.udp, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]

DATAGRAMS = [b"a" * 100, b"b" * 50, b"c" * 1200]


@pytest.fixture(scope="module")
def tools():
    with harness.build() as folder:
        yield folder


@pytest.mark.parametrize("rate", [2000, 0])
def test_every_datagram_is_accounted_for(tools, rate):
    with harness.plain_forwarder(tools, 2) as forwarder:
        run = harness.measure(tools, forwarder, DATAGRAMS, rate=rate, seconds=0.3)
    assert run.sent > 0 and run.cpu_us > 0
    assert run.handled == run.sent - run.dropped_at_forwarder
    assert run.delivered == 2 * run.handled - run.dropped_at_sinks


def test_the_clock_agrees_with_the_forwarders_own_report(tools):
    out = harness.udp_socket()
    with out, harness.process([tools / "plain_forwarder", "0", "one", str(out.getsockname()[1])]) as child:
        forwarder = harness.Forwarder("plain C", child.pid, harness.report(child)["port"], harness.udp_socket(), [out])
        with forwarder.sender:
            run = harness.measure(tools, forwarder, DATAGRAMS, rate=20_000, seconds=0.3)
        harness.end(child)
        own = harness.report(child)
    assert own["packets_in"] == own["packets_out"] == run.handled
    assert run.cpu_us <= own["cpu_us"] * 1.1 + 20_000  # its report includes the start; the system rounds to ticks


def test_sinks_that_get_several_publications_in_a_datagram(tools):
    command = [sys.executable, "-c", "import socket, sys\n" + PAIRS, "{in}", "{out}"]
    with harness.command_forwarder("pairs", command, 1) as forwarder:
        forwarder = attrs.evolve(forwarder, publications=lambda datagrams, size: size // 100)
        run = harness.measure(tools, forwarder, [b"x" * 100], rate=1000, seconds=0.3)
    assert run.handled // 2 * 2 - 2 * run.dropped_at_sinks == run.delivered


PAIRS = """
inward, out = socket.socket(type=socket.SOCK_DGRAM), ("127.0.0.1", int(sys.argv[2]))
inward.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    inward.sendto(inward.recv(2048) + inward.recv(2048), out)
"""


def test_children_are_ended_whatever_happens(tools):
    with pytest.raises(ZeroDivisionError), harness.plain_forwarder(tools, 1) as forwarder:
        pid = forwarder.pid
        raise ZeroDivisionError
    with pytest.raises(harness.BenchError, match="has ended"):
        harness.cpu_ns(pid)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["no-such-command", "{in}"], "no-such-command: cannot be started: No such file or directory"),
        (["false"], "false: does not listen on port"),
    ],
)
def test_a_command_that_does_not_run_is_named(command, complaint):
    with pytest.raises(harness.BenchError, match=complaint), harness.command_forwarder("x", command, 1):
        pass


def test_the_list_of_benchmarks():
    listed = subprocess.run([sys.executable, "-m", "bench", "--list"], capture_output=True, text=True, check=True)
    assert any(line.startswith("forward ") for line in listed.stdout.splitlines())
    unknown = subprocess.run([sys.executable, "-m", "bench", "nothing"], capture_output=True, text=True, check=False)
    assert unknown.returncode == 2 and "there is no benchmark 'nothing'" in unknown.stderr
