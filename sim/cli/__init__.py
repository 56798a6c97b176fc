"""`cbsmrp sim`: the simulator's verbs. Loaded by `cbsmrp.cli.main`; each verb's module is loaded when it is called."""

from __future__ import annotations

import argparse

from cbsmrp.cli.verbs import add_verbs

VERBS = {
    "run": ("sim.cli.run", "run a scenario, and write its results"),
    "topology": ("sim.cli.topology", "generate, convert, describe and draw topologies"),
    "figures": ("sim.cli.figures", "make the data and the drawings of a figure"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, VERBS)
