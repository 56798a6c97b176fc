"""The `cbsmrp` command: finds the verb, loads its module, and turns a user's errors into one line and exit code 2.

A verb is a module with `add_arguments(parser)` and `run(args) -> int`, loaded only when it is called; so the table may
name modules of upper packages, and imports still run one way. Exit codes: 0 done, 1 not (wholly) done, 2 the user has
to change something.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from .. import __version__

VERBS = {
    "router": ("cbsmrp.cli.router", "run a router"),
    "sub": ("cbsmrp.cli.sub", "print what is published in a region"),
    "pub": ("cbsmrp.cli.pub", "publish one update, or many from standard input"),
    "replay": ("cbsmrp.cli.replay", "publish a recorded trace of moving objects"),
    "top": ("cbsmrp.cli.top", "show a router's links, live"),
    "bench": ("cbsmrp.cli.bench", "measure rates, loss and latency through a router"),
    "demo": ("sim.demo.command", "run a tree of routers with a crowd, and check every delivery"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


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
    from ..udp.client import CannotConnect, Refused

    return InterestError, ConfigError, TraceError, CannotConnect, Refused


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (the process's own by default) and return its exit code."""
    try:
        return _run(_joined(sys.argv[1:] if argv is None else argv))
    except BrokenPipeError:
        # Whoever read our output has gone, which is its right. Python's own flush at exit must find somebody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 1


def _run(arguments: Sequence[str]) -> int:
    parser = _Parser(prog="cbsmrp", description="Content-based routing for distributed virtual environments.")
    parser.add_argument("--version", action="version", version=f"cbsmrp {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    run = None
    for verb, (module_name, summary) in VERBS.items():
        verb_parser = verbs.add_parser(
            verb, help=summary, description=summary.capitalize() + ".", formatter_class=argparse.RawTextHelpFormatter
        )
        if arguments[:1] == [verb]:
            module = importlib.import_module(module_name)
            module.add_arguments(verb_parser)
            run = module.run
    args = parser.parse_args(arguments)
    assert run is not None  # argparse has refused everything else
    try:
        return int(run(args))
    except Exception as error:
        if not isinstance(error, _user_errors()):
            raise
        print(f"cbsmrp {arguments[0]}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
