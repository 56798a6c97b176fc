"""Real routers and clients on loopback, for the tests of the drivers, the metrics and the command line.

`processes` starts commands and ends them all; `overlay` runs routers and clients in this process, on one asyncio loop.
"""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time

import pytest

from cbsmrp import aio
from cbsmrp.config import RouterConfig, Timers
from cbsmrp.udp.router import RouterDriver

#: Quick enough for a test, slow enough for a loaded machine.
SHORT = {
    "hello": 0.15,
    "hold": 0.6,
    "host_hello": 0.2,
    "host_hold": 0.8,
    "resend": 0.03,
    "resend_max": 0.2,
    "flush": 2.0,
    "linger": 0.3,
    "lease": 0.4,
}


@pytest.fixture
def short_timers():
    return Timers(**SHORT)


@pytest.fixture
def short_config(tmp_path):
    """A TOML file with short timers."""
    path = tmp_path / "short.toml"
    path.write_text("[timers]\n" + "".join(f"{name} = {value}\n" for name, value in SHORT.items()))
    return str(path)


class Processes:
    """Commands of this environment; every one is ended at the end of the test, whatever happened."""

    def __init__(self):
        self._started = []

    def python(self, *arguments, **options):
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self._started.append(process)
        return process

    def start(self, *arguments, **options):
        return self.python("-m", "cbsmrp.cli.main", *arguments, **options)

    def router(self, *arguments, listen="127.0.0.1:0"):
        """A router process and the JSON line it printed when it was listening."""
        process = self.start("router", "--listen", listen, *arguments)
        line = process.stdout.readline()
        assert line, process.stderr.read()
        return process, json.loads(line)

    def run(self, *arguments, text="", timeout=60):
        """(exit code, stdout, stderr) of a command that ends by itself."""
        process = self.start(*arguments, stdin=subprocess.PIPE)
        out, err = process.communicate(text, timeout=timeout)
        return process.returncode, out, err

    def end(self):
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self._started:
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


@pytest.fixture
def processes():
    started = Processes()
    try:
        yield started
    finally:
        started.end()


class Listener:
    """A client that remembers what reached its socket, what its subscriptions were given, and what happened to it."""

    def __init__(self, client):
        self.client = client
        self.socket = []
        self.events = []
        client.inner.arrived = lambda frame: self.socket.append((frame.source, frame.sequence))
        client.on_event = lambda event: self.events.append((time.monotonic(), event))

    def kinds(self):
        return [event.kind for _, event in self.events]


class Overlay:
    """Routers and clients of one test, on the running event loop."""

    def __init__(self, timers):
        self.timers = timers
        self._routers = []
        self._clients = []

    def router(self, *upstreams, listen="127.0.0.1:0", **config):
        timers = config.pop("timers", self.timers)
        config = RouterConfig(listen=listen, upstreams=upstreams, timers=timers, **config)
        driver = RouterDriver(aio.LoopReactor(), config)
        driver.listen()
        self._routers.append(driver)
        return driver

    async def client(self, *routers, **options):
        options.setdefault("timers", self.timers)
        client = await aio.connect(*(getattr(router, "address", router) for router in routers), **options)
        self._clients.append(client)
        return Listener(client)

    def forget(self, router):
        """This one has left already."""
        self._routers.remove(router)

    async def close(self):
        for client in self._clients:
            await client.close()
        for router in self._routers:
            stopped = router.leave()
            if stopped is not None:
                await stopped.asFuture(asyncio.get_running_loop())


@pytest.fixture
def overlay():
    """Call with an async function that takes an `Overlay`; it is run to its end, and everything closed."""

    def run(scenario, timers=None, seconds=60):
        async def main():
            overlay = Overlay(timers or Timers())
            try:
                async with asyncio.timeout(seconds):
                    return await scenario(overlay)
            finally:
                await overlay.close()

        return asyncio.run(main())

    return run


async def _until(condition, what, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what if isinstance(what, str) else what()}")
        await asyncio.sleep(0.005)


@pytest.fixture
def until():
    """`await until(condition, "what it is")`: wait for something that must come about."""
    return _until


@pytest.fixture
def free_port():
    """A UDP port of 127.0.0.1 that nobody has at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture
def figure(record_property):
    """Record a measured time without judging it: in the report (junit) and, with `pytest -s`, on the screen."""

    def record(name, seconds):
        record_property(name, round(seconds, 4))
        print(f"{name}: {1000 * seconds:.0f} ms")

    return record
