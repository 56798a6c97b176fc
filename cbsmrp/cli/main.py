"""The `cbsmrp` command: finds the verb (`verbs`), and turns a user's errors into one line and exit code 2.

Exit codes: 0 done, 1 not (wholly) done, 2 the user has to change something.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import signal
import sys
from collections.abc import Iterable, Sequence

from .. import __version__
from .verbs import Parser, add_verbs

VERBS = {
    "router": ("cbsmrp.cli.router", "run a router"),
    "sub": ("cbsmrp.cli.sub", "print what is published in a region"),
    "pub": ("cbsmrp.cli.pub", "publish one update, or many from standard input"),
    "replay": ("cbsmrp.cli.replay", "publish a recorded trace of moving objects"),
    "top": ("cbsmrp.cli.top", "show a router's links, live"),
    "bench": ("cbsmrp.cli.bench", "measure rates, loss and latency through a router"),
    "sim": ("sim.cli", "simulate: topologies, scenarios, figures"),
    "demo": ("sim.demo.command", "run a tree of routers with a crowd, and check every delivery"),
}

#: Libraries that only some verbs need, and the extra that brings each.
EXTRAS = {"networkx": "sim", "matplotlib": "sim", "pyarrow": "sim"}


def _joined(arguments: Iterable[str]) -> list[str]:
    """`--at -1,2` as `--at=-1,2`: argparse would take the negative number for an option."""
    result: list[str] = []
    for argument in arguments:
        if re.match(r"-[\d.]", argument) and result and re.fullmatch(r"--[a-z-]+", result[-1]):
            result[-1] += "=" + argument
        else:
            result.append(argument)
    return result


def _user_errors() -> tuple[type[Exception], ...]:
    """What is the user's to mend. (Found only when needed: the libraries behind it take their time to load.)"""
    from interest import InterestError

    from ..config import ConfigError
    from ..traces import TraceError
    from ..udp.client import CannotConnect
    from ..udp.subscription import Refused

    return InterestError, ConfigError, TraceError, CannotConnect, Refused


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (the process's own by default) and return its exit code."""
    # A shell starts what runs in the background deaf to ctrl-C, and a daemon may be given no output at all.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  for the rest of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  for the rest of the process
    try:
        return _run(_joined(sys.argv[1:] if argv is None else argv))
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        # Python's own flush at exit must find somebody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            return 0  # whoever read our output has gone, which is its right
        print(f"cbsmrp: standard output: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(prog="cbsmrp", description="Content-based routing for distributed virtual environments.")
    parser.add_argument("--version", action="version", version=f"cbsmrp {__version__}")
    add_verbs(parser, VERBS)
    args = argparse.Namespace(prog=f"cbsmrp {arguments[0]}" if arguments else "cbsmrp")
    try:
        args = parser.parse_args(arguments)
        return int(args.run(args))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(f"{args.prog}: needs {error.name}: pip install 'cbsmrp[{extra}]'", file=sys.stderr)
        return 2
    except Exception as error:
        if not isinstance(error, _user_errors()):
            raise
        print(f"{args.prog}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
