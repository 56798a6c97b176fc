"""`cbsmrp sim topology`: generate topologies, convert them from one file format to another, describe and draw them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cbsmrp.cli.output import json_line
from sim.topology import brite, files, specification, transit_stub
from sim.topology.degree import limited
from sim.topology.describe import describe
from sim.topology.formats import link_list
from sim.topology.gb_flip import Flip
from sim.topology.graph import Graph, TopologyError, largest_part
from sim.topology.presets import PRESETS
from sim.topology.tree import core_tree
from sim.workload.workload import substream

_FORMATS = f"Formats, by the name's ending: read {' '.join(files.READABLE)}; written {' '.join(files.WRITABLE)}."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def verb(name: str, summary: str, run: Callable[[argparse.Namespace], int], epilog: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawTextHelpFormatter,
        )
        added.set_defaults(topology=run, prog=added.prog)
        return added

    _generate_arguments(verb("generate", "draw a random topology", _generate, specification.FORM + "\n" + _FORMATS))

    convert = verb("convert", "read a topology and write it in another format", _convert, _FORMATS)
    convert.add_argument("file", type=Path)
    convert.add_argument("out", type=Path)
    _reading_arguments(convert)
    convert.add_argument("--nodes-out", type=Path, metavar="FILE", help="beside a .csv: the nodes' places")

    about = "One JSON line a graph: nodes, links, degrees, diameter, and the tree from the core (seconds, kilometres)."
    described = verb("describe", "print the numbers of topologies", _describe, about + "\n" + _FORMATS)
    described.add_argument("files", type=Path, nargs="+", metavar="FILE")
    _reading_arguments(described)
    _core_argument(described)

    drawn = verb("draw", "draw a topology as PNG, SVG or PDF", _draw, _FORMATS)
    drawn.add_argument("file", type=Path)
    drawn.add_argument("out", type=Path)
    _reading_arguments(drawn)
    _core_argument(drawn)
    drawn.add_argument("--layout", choices=("places", "tree"), default="", help="default: places, where all are known")


def run(args: argparse.Namespace) -> int:
    return int(args.topology(args))


def _generate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        choices=(*PRESETS, "transit-stub", "waxman", "barabasi-albert"),
        metavar="KIND",
        help="paper (a core and 1050 routers), ts100, ts600: presets;\n"
        "transit-stub: GT-ITM's, of a specification file;\nwaxman, barabasi-albert: BRITE's",
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of everything drawn (default 1)")
    parser.add_argument("--max-degree", type=int, metavar="N", help="drop links, or draw anew, until no node has more")
    parser.add_argument("--nodes-out", type=Path, metavar="FILE", help="beside a .csv: the nodes' places")
    group = parser.add_argument_group("transit-stub")
    group.add_argument("--spec", type=Path, metavar="FILE", help="a specification file, see below")
    group.add_argument(
        "--as-1996",
        type=int,
        metavar="I",
        help="the edges of GT-ITM's own graph number I (from 0) of the specification\n"
        "and its seed, faults included; --seed then only places the stubs",
    )
    group = parser.add_argument_group("waxman, barabasi-albert")
    group.add_argument("--nodes", type=int, metavar="N", help="how many nodes")
    group.add_argument("--links", type=int, metavar="M", help="how many links a node joins with (default 2)")
    group.add_argument("--side", type=int, metavar="KM", help="of the plane (default 1000)")
    group.add_argument("--placement", choices=brite.PLACEMENTS, help="of nodes (default random)")
    group.add_argument("--beta", type=float, help="waxman: larger, longer links (default 0.2)")
    group.add_argument("--growth", choices=brite.GROWTHS, help="waxman (default incremental)")


def _reading_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--graph", default="", metavar="NAME", help="which of the graphs in a .csv")
    parser.add_argument("--nodes", type=Path, metavar="FILE", help="a .csv with the places of the nodes of a .csv")
    parser.add_argument("--length", type=_length, metavar="KM", help="of links in GraphML of which nothing is known")
    parser.add_argument("--largest-part", action="store_true", help="of one that is not connected, the largest part")


def _core_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--core", default="degree", metavar="CORE", help="a node, degree (default) or centre")


def _read(args: argparse.Namespace, path: Path) -> Graph:
    graph = files.read(path, args.graph, nodes=args.nodes, length=args.length)
    return largest_part(graph) if args.largest_part else graph


def _length(text: str) -> float:
    try:
        length = float(text)
    except ValueError:
        length = math.nan
    if not 0 < length < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of km above 0")
    return length


def _generate(args: argparse.Namespace) -> int:
    draw = _drawing(args)
    if args.max_degree is None:
        graph = draw()
    elif args.as_1996 is not None:
        raise TopologyError("--max-degree and --as-1996: the one changes the edges, the other must not")
    else:
        graph = limited(draw, args.max_degree)
    graph.graph["name"] = args.out.stem
    files.write(graph, args.out, nodes=args.nodes_out)
    return 0


def _drawing(args: argparse.Namespace) -> Callable[[], Graph]:
    """What draws one graph after the other."""
    rng = substream(args.seed, "topology")
    for_brite = {"nodes", "links", "side", "placement", "beta", "growth"}
    if args.kind in PRESETS:
        _refuse(args, {"spec", "as_1996", *for_brite})
        return lambda: PRESETS[args.kind](rng)
    if args.kind == "transit-stub":
        _refuse(args, for_brite)
        if args.spec is None:
            raise TopologyError("transit-stub: give the --spec file that says what is wanted")
        wanted = specification.read(args.spec)
        if args.as_1996 is None:
            return lambda: transit_stub.generate(wanted.shape, rng)
        if not 0 <= args.as_1996 < wanted.graphs:
            raise TopologyError(f"--as-1996 {args.as_1996}: {args.spec} has graphs 0 to {wanted.graphs - 1}")
        flip = Flip(wanted.seed)
        for _ in range(args.as_1996):
            transit_stub.generate_as_1996(wanted.shape, flip, rng)
        return lambda: transit_stub.generate_as_1996(wanted.shape, flip, rng)
    _refuse(args, {"spec", "as_1996", *(("beta", "growth") if args.kind == "barabasi-albert" else ())})
    if args.nodes is None:
        raise TopologyError(f"{args.kind}: say how many --nodes")
    links = 2 if args.links is None else args.links
    plane = brite.Plane(**_given(args, "side", "placement"))
    if args.kind == "waxman":
        return lambda: brite.waxman(args.nodes, links, rng, plane=plane, **_given(args, "beta", "growth"))
    return lambda: brite.barabasi_albert(args.nodes, links, rng, plane=plane)


def _given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _refuse(args: argparse.Namespace, names: set[str]) -> None:
    for name in sorted(_given(args, *names)):
        raise TopologyError(f"{args.kind} has no --{name.replace('_', '-')}")


def _convert(args: argparse.Namespace) -> int:
    files.write(_read(args, args.file), args.out, nodes=args.nodes_out)
    return 0


def _describe(args: argparse.Namespace) -> int:
    for path in args.files:
        graphs = files.read_all(path, nodes=args.nodes, length=args.length)
        for name in [args.graph] if args.graph else graphs:
            graph = link_list.choose(path, graphs, name)
            numbers = describe(largest_part(graph) if args.largest_part else graph, args.core)
            json_line({"file": str(path), **({"graph": name} if name else {}), **numbers})
    return 0


def _draw(args: argparse.Namespace) -> int:
    from sim.topology.draw import draw  # matplotlib is wanted here only

    draw(core_tree(_read(args, args.file), args.core), args.out, args.layout)
    return 0
