"""Verbs of the command line, loaded only when called. Used by `main`, and by verbs that have verbs of their own.

A verb is a module with `add_arguments(parser)` and `run(args) -> int`. The table names modules by strings, so it may
name those of upper packages, and imports still run one way.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; with a `module`, one that asks it for its arguments when it is used."""

    def __init__(self, *args: Any, module: str | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._module = module

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]  # its overloads say the same in more words
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if self._module is not None:
            verb = importlib.import_module(self._module)
            self._module = None
            self.set_defaults(prog=self.prog, run=getattr(verb, "run", None))
            verb.add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_verbs(parser: argparse.ArgumentParser, verbs: Mapping[str, tuple[str, str]]) -> None:
    """Give the parser these verbs, name -> (module, summary). The one called leaves `run` and `prog` in the result."""
    choices = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for verb, (module, summary) in verbs.items():
        choices.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawTextHelpFormatter,
            module=module,
        )
