"""The processes that the demo starts: each has a job, says lines, may be told lines, and is ended in every case.

Used by `overlay`. A process runs `child` in a session of its own, so that Ctrl-C reaches the demo alone; it ends when
its standard input does, so also when the demo is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

#: How long a process may take to leave cleanly before it is killed, seconds.
LEAVE = 5.0


class DemoError(RuntimeError):
    """The demo cannot go on; one line that says why."""


class Process:
    """One of them. What it says on standard error goes to the file `messages`."""

    def __init__(self, role: str, name: str, messages: Path) -> None:
        self.name = name
        self.messages = messages
        self._said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with messages.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sim.demo.child", role],  # -P: no package of that name in the user's place
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, line: object) -> None:
        """Raises `DemoError` if it has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def hear(self, until: float) -> dict[str, Any] | None:
        """The next thing it says; None: nothing until then (`time.monotonic()`). Raises `DemoError` when it ends."""
        try:
            said = self._said.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None
        if said is None:
            self._said.put(None)
            raise self._ended()
        return said

    def hear_of(self, key: str, seconds: float) -> dict[str, Any]:
        """The next thing it says that has this key. Raises `DemoError` if that takes longer."""
        until = time.monotonic() + seconds
        while (said := self.hear(until)) is not None:
            if key in said:
                return said
        raise DemoError(f"{self.name} was not ready within {seconds:g} s: is the machine very busy? ({self.messages})")

    def cpu_seconds(self) -> float | None:
        """What it has used so far; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def defect(self) -> str:
        """The last line of an exception that it has reported, or ""."""
        text = self.messages.read_text(errors="replace")
        return text.strip().splitlines()[-1] if "Traceback (most recent call last)" in text else ""

    def ask_to_end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has gone
            self._process.stdin.close()

    def end(self, until: float) -> None:
        """Wait for its end, and after `until` make it."""
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _ended(self) -> DemoError:
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        lines = self.messages.read_text(errors="replace").strip().splitlines()
        return DemoError(f"{self.name} has ended ({how}): {lines[-1] if lines else 'it did not say why'}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))
        self._said.put(None)


class Processes:
    """All of one run; left, they have ended."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.all: list[Process] = []

    def start(self, role: str, name: str) -> Process:
        process = Process(role, name, self._directory / f"{name}.log")
        self.all.append(process)
        return process

    def cpu_seconds(self) -> float | None:
        """Of all together."""
        used = [process.cpu_seconds() for process in self.all]
        return None if None in used else sum(each for each in used if each is not None)

    def defects(self) -> dict[str, str]:
        """Name of a process and the exception it has reported."""
        return {process.name: defect for process in self.all if (defect := process.defect())}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in reversed(self.all):  # clients first: so nobody looks for a router that has left
            process.ask_to_end()
        until = time.monotonic() + LEAVE
        for process in self.all:
            process.end(until)
