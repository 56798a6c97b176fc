"""Measures what one forwarding process costs: CPU microseconds per publication that it handled, over loopback UDP.

`measure` sends prepared datagrams in an open loop from a C program through any forwarder to C sinks, and takes the
forwarder's CPU time before and after from the clock that Linux keeps for every process (clock_getcpuclockid, in ns).
What was handled is what was sent without what the system dropped at the forwarder's socket, so that it is known for any
protocol. Used by `__main__`, which says which forwarders are held against each other.
"""

import json
import math
import os
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs

BUFFER = 4 * 1024 * 1024


class BenchError(Exception):
    """The benchmark cannot run here; one line for the user."""


@attrs.frozen
class Forwarder:
    """A running process that takes datagrams in on a loopback port and sends them to the sinks.

    `sender` is the socket the load comes from and `sinks` those it should reach: where a protocol wants it, they have
    joined already. `publications(datagrams, bytes)` says how many publications a sink got, for protocols that put
    several in a datagram.
    """

    name: str
    pid: int
    port: int
    sender: socket.socket
    sinks: Sequence[socket.socket]
    publications: Callable[[int, int], int] = lambda datagrams, _: datagrams


@attrs.frozen
class Measurement:
    """One run. Counts are of publications; `delivered` is the sum over all sinks."""

    name: str
    seconds: float
    sent: int
    send_errors: int
    dropped_at_forwarder: int
    delivered: int
    dropped_at_sinks: int
    cpu_us: float

    @property
    def handled(self) -> int:
        """Publications that the forwarder received."""
        return self.sent - self.dropped_at_forwarder

    @property
    def us_per_publication(self) -> float:
        """CPU microseconds per publication handled; NaN where there was none."""
        return self.cpu_us / self.handled if self.handled else math.nan

    def line(self) -> dict[str, Any]:
        """What is printed."""
        return {**attrs.asdict(self), "handled": self.handled, "us_per_publication": round(self.us_per_publication, 4)}


@contextmanager
def build() -> Iterator[Path]:
    """A folder with the compiled `load` and `plain_forwarder`. Raises BenchError where gcc is missing or refuses."""
    with tempfile.TemporaryDirectory(prefix="cbsmrp-bench-") as folder:
        for name in ("load", "plain_forwarder"):
            source = Path(__file__).with_name(f"{name}.c")
            try:
                subprocess.run(
                    ["gcc", "-O2", "-Wall", "-o", f"{folder}/{name}", source],
                    check=True,
                    capture_output=True,
                    text=True,
                )
            except FileNotFoundError:
                raise BenchError("gcc is not installed: install a C compiler to build the plain forwarder") from None
            except subprocess.CalledProcessError as error:
                raise BenchError(f"gcc cannot build {source.name}: {error.stderr.strip().splitlines()[0]}") from None
        yield Path(folder)


@contextmanager
def process(command: Sequence[str | Path], sockets: Sequence[socket.socket] = ()) -> Iterator[subprocess.Popen[str]]:
    """A child process that inherits the sockets; whatever happens it has ended at the end."""
    child = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, pass_fds=[each.fileno() for each in sockets]
    )
    try:
        yield child
    finally:
        end(child)
        assert child.stdout is not None
        child.stdout.close()


def end(child: subprocess.Popen[str], patience: float = 5.0) -> None:
    """SIGTERM, and SIGKILL for a process that does not heed it within `patience` seconds."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def report(child: subprocess.Popen[str], patience: float = 10.0) -> dict[str, Any]:
    """The next line of a child's output, as JSON. Raises BenchError when none comes in time."""
    assert child.stdout is not None
    if not select.select([child.stdout], [], [], patience)[0]:
        raise BenchError(f"{child.args!r} printed nothing for {patience:g} s")
    line = child.stdout.readline()
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BenchError(f"{child.args!r} printed {line!r} instead of a JSON object")
    return found


def udp_socket() -> socket.socket:
    """A bound loopback socket with as large a receive buffer as the system grants."""
    each = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    each.bind(("127.0.0.1", 0))
    return each


@contextmanager
def plain_forwarder(tools: Path, outs: int) -> Iterator[Forwarder]:
    """The plain C forwarder, sending every datagram to all of `outs` sinks."""
    with ExitStack() as stack:
        sender, *sinks = (stack.enter_context(udp_socket()) for _ in range(outs + 1))
        ports = [str(each.getsockname()[1]) for each in sinks]
        child = stack.enter_context(process([tools / "plain_forwarder", "0", "all", *ports]))
        yield Forwarder("plain C", child.pid, report(child)["port"], sender, sinks)


@contextmanager
def command_forwarder(name: str, command: Sequence[str], outs: int) -> Iterator[Forwarder]:
    """Any command that forwards datagrams: the word {in} becomes the port to listen on, {out} the ports to send to."""
    with ExitStack() as stack:
        sender, *sinks = (stack.enter_context(udp_socket()) for _ in range(outs + 1))
        with udp_socket() as free:
            port = free.getsockname()[1]
        ports = [str(each.getsockname()[1]) for each in sinks]
        words: list[str] = []
        for word in command:
            words += ports if word == "{out}" else [word.replace("{in}", str(port))]
        try:
            child = stack.enter_context(process(words))
        except OSError as error:
            raise BenchError(f"{words[0]}: cannot be started: {error.strerror}") from None
        _until(lambda: child.poll() is not None or port in _sockets(), 10.0)
        if port not in _sockets():
            raise BenchError(f"{' '.join(words)}: does not listen on port {port} after 10 s, or has ended")
        yield Forwarder(name, child.pid, port, sender, sinks)


def measure(
    tools: Path, forwarder: Forwarder, datagrams: Sequence[bytes], *, rate: float, seconds: float, packed: int = 1
) -> Measurement:
    """Send `datagrams`, each of `packed` publications, round and round for `seconds`.

    `rate` is in publications a second, 0 as fast as it goes; `tools` the folder of `build`. Raises BenchError.
    """
    prepared = tools / "datagrams"
    prepared.write_bytes(b"".join(len(each).to_bytes(2, "big") + each for each in datagrams))
    sink_ports = [each.getsockname()[1] for each in forwarder.sinks]
    with process([tools / "load", "sink", *_descriptors(forwarder.sinks)], forwarder.sinks) as sink:
        drops = _drops([forwarder.port]), _drops(sink_ports)
        before = cpu_ns(forwarder.pid)
        load = [
            tools / "load",
            "send",
            *_descriptors([forwarder.sender]),
            forwarder.port,
            prepared,
            rate / packed,
            seconds,
        ]
        with process([str(word) for word in load], [forwarder.sender]) as sender:
            sent = report(sender, seconds + 10)
        ports = forwarder.port, *sink_ports
        _until(lambda: _sleeps(forwarder.pid) and not any(_sockets().get(port, (0, 0))[0] for port in ports), 10.0)
        after = cpu_ns(forwarder.pid)
        end(sink)
        counted = report(sink)
        return Measurement(
            forwarder.name,
            sent["seconds"],
            sent["sent"] * packed,
            sent["send_errors"],
            (_drops([forwarder.port]) - drops[0]) * packed,
            sum(map(forwarder.publications, counted["datagrams"], counted["bytes"])),
            _drops(sink_ports) - drops[1],
            (after - before) / 1000,
        )


def cpu_ns(pid: int) -> int:
    """CPU time that a process and its threads have used, in nanoseconds. Raises BenchError when it has ended."""
    clock = (~pid << 3) | 2  # what clock_getcpuclockid(3) returns on Linux
    try:
        return time.clock_gettime_ns(clock)
    except OSError:
        raise BenchError(f"process {pid}, which was to be measured, has ended") from None


def _sleeps(pid: int) -> bool:
    """Whether a process waits for something to do; on a busy machine one that does not may use no CPU for long."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "S"


def _descriptors(sockets: Sequence[socket.socket]) -> list[str]:
    return [str(each.fileno()) for each in sockets]


def _sockets() -> dict[int, tuple[int, int]]:
    """Port -> (bytes waiting, datagrams dropped) of the UDP sockets of this machine."""
    found: dict[int, tuple[int, int]] = {}
    for family in ("udp", "udp6"):
        if os.path.exists(f"/proc/net/{family}"):
            for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
                words = line.split()
                port = int(words[1].rpartition(":")[2], 16)
                waiting, dropped = found.get(port, (0, 0))
                found[port] = waiting + int(words[4].rpartition(":")[2], 16), dropped + int(words[-1])
    return found


def _drops(ports: Sequence[int]) -> int:
    known = _sockets()
    return sum(known[port][1] for port in ports if port in known)


def _until(condition: Callable[[], bool], patience: float) -> None:
    """Wait until it holds twice in a row, 0.1 s apart, at most `patience` seconds."""
    limit = time.monotonic() + patience
    held = 0
    while held < 2 and time.monotonic() < limit:
        time.sleep(0.1)
        held = held + 1 if condition() else 0
