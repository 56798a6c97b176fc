"""GT-ITM's specification files, of the kind `ts`. Called by `cbsmrp sim topology generate`."""

from __future__ import annotations

from pathlib import Path

import attrs

from .flat import METHODS, Domain
from .formats.text import Line, lines
from .graph import TopologyError
from .transit_stub import TransitStub

FORM = (
    """\
A specification file, in which lines that begin with # do not count:
  ts <number of graphs> [<seed>]
  <stubs at a transit node> <extra transit-stub links> <extra stub-stub links>
  <n> <scale> <method> <alpha> [<beta>] [<gamma>]      how transit domains are linked: n of them
  <n> <scale> <method> <alpha> [<beta>] [<gamma>]      a transit domain, n nodes on average
  <n> <scale> <method> <alpha> [<beta>] [<gamma>]      a stub domain, n nodes on average
Methods: """
    + ", ".join(f"{number} {name}" for number, name in enumerate(METHODS, 1))
    + """.
Scales do not count either: they follow from the numbers of nodes. There are T * N * (1 + K * S) nodes."""
)


_SEED = 417890326  # GT-ITM's own, where a file gives none, or 0


@attrs.frozen
class Specification:
    """So many graphs of this shape, from this seed of GT-ITM's own."""

    graphs: int
    seed: int
    shape: TransitStub


def read(path: Path) -> Specification:
    """Raises TopologyError."""
    found = [line for line in lines(path) if not line.text.startswith("#")]
    if len(found) != 5:
        raise TopologyError(f"{path}: has {len(found)} lines that count, and a specification has 5")
    head, numbers, *domains = found
    keyword, *rest = head.text.split()
    if keyword != "ts":
        raise head.error(f"{keyword!r} graphs are not known here, only ts (transit-stub)")
    if len(rest) not in (1, 2):
        raise head.error(f"the number of graphs and a seed expected, found {head.text!r}")
    seed = head.whole(rest[1]) if len(rest) == 2 else 0
    extra = [numbers.whole(text) for text in numbers.text.split()]
    if len(extra) != 3:
        raise numbers.error(f"three numbers expected, found {numbers.text!r}")
    top, transit, stub = (_domain(line) for line in domains)
    return Specification(head.whole(rest[0]), seed or _SEED, TransitStub(top, transit, stub, *extra))


def _domain(line: Line) -> Domain:
    fields = line.text.split()
    if not 4 <= len(fields) <= 6:
        raise line.error(f"n, scale, method, alpha, and perhaps beta and gamma expected, found {line.text!r}")
    method = line.whole(fields[2])
    if not 1 <= method <= len(METHODS):
        raise line.error(f"method {method}: there are 1 to {len(METHODS)}")
    nodes, probabilities = line.whole(fields[0]), [line.real(text) for text in fields[3:]]
    try:
        return Domain(nodes, METHODS[method - 1], *probabilities)
    except TopologyError as error:
        raise line.error(str(error)) from None
