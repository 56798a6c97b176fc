"""What every process that the demo starts runs first: `python -m sim.demo.child router|publishers|subscribers`.

The first line of standard input is the job, one JSON object; further lines are commands. Its end means that the demo is
gone or wants this process gone: the process then ends itself with SIGTERM, which the reactor's programs take as "leave
cleanly". So nothing outlives the demo, not even when that is killed, on any POSIX system.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
from typing import Any

from twisted.internet.defer import DeferredQueue

#: Where each role's `run` is. A router is the command line's own.
MODULES = {
    "router": "cbsmrp.cli.router",
    "publishers": "sim.demo.publishers",
    "subscribers": "sim.demo.subscribers",
}


class Commands:
    """Standard input, line by line, each a JSON object."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def job(self) -> Any:
        """Waits for the first line."""
        return self._lines.get()

    def deferred(self, reactor: Any) -> DeferredQueue[Any]:
        """What comes after the job, for a program on the reactor."""
        later: DeferredQueue[Any] = DeferredQueue()

        def pass_on() -> None:
            while True:
                reactor.callFromThread(later.put, self._lines.get())

        threading.Thread(target=pass_on, daemon=True).start()
        return later

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(0, 65536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._lines.put(json.loads(line))
        os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    role = sys.argv[1]
    module = importlib.import_module(MODULES[role])  # the slow part of starting, before the job is known
    commands = Commands()
    job = commands.job()
    if role == "router":
        from cbsmrp.cli.main import main as command_line

        return command_line(["router", *job["arguments"]])
    return int(module.run(job, commands))


if __name__ == "__main__":
    sys.exit(main())
