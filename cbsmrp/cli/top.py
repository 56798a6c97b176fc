"""`cbsmrp top`: a live table of a router's VIFs, read from its metrics page once a second."""

from __future__ import annotations

import argparse
import sys
import time

import attrs

from .output import json_line
from .scrape import Snapshot, VifRow, read

_CLEAR = "\x1b[H\x1b[2J"
_COLUMNS = (
    ("regions", "REGIONS"),
    ("packets_in", "PKTS IN"),
    ("packets_out", "PKTS OUT"),
    ("bytes_in", "BYTES IN"),
    ("bytes_out", "BYTES OUT"),
    ("filtered", "FILTERED"),
    ("rate_limited", "LIMITED"),
    ("lost_on_link", "LOST"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="HOST:PORT", help="where the router serves its metrics (its --metrics)")
    parser.add_argument("--once", action="store_true", help="print one table and end")
    parser.add_argument("--json", action="store_true", help="print one JSON object a second instead of a table")
    parser.epilog = (
        "REGIONS: pieces of what the neighbour wants. FILTERED: publications kept from it. LIMITED: above a host's\n"
        "rate. LOST: datagrams it sent that did not arrive here (lost on the link, in socket buffers)."
    )


def run(args: argparse.Namespace) -> int:
    before: Snapshot | None = None
    read_at = 0.0
    try:
        while True:
            snapshot, now = read(args.address), time.monotonic()
            if args.json:
                json_line(attrs.asdict(snapshot))
            else:
                text = table(snapshot, before, now - read_at)
                sys.stdout.write((_CLEAR if sys.stdout.isatty() and not args.once else "") + text)
                sys.stdout.flush()
            if args.once:
                return 0
            before, read_at = snapshot, now
            time.sleep(1.0)
    except KeyboardInterrupt:
        return 0


def table(snapshot: Snapshot, before: Snapshot | None = None, seconds: float = 1.0) -> str:
    """The table as text; with an earlier snapshot also packets a second."""
    old = {(row.vif, row.kind): row for row in before.vifs} if before else {}
    header = ["VIF", "KIND", "NEIGHBOUR", *(title for _, title in _COLUMNS)]
    if before is not None:
        header += ["IN/s", "OUT/s"]
    total = snapshot.total()
    lines = [header]
    for row in [*snapshot.vifs, total]:
        cells = [row.vif, row.kind, row.neighbour, *(str(getattr(row, field)) for field, _ in _COLUMNS)]
        if before is not None:
            was = before.total() if row is total else old.get((row.vif, row.kind), VifRow("", "", ""))
            cells += [
                f"{max(0, row.packets_in - was.packets_in) / seconds:.0f}",
                f"{max(0, row.packets_out - was.packets_out) / seconds:.0f}",
            ]
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        f"{snapshot.address}  {snapshot.mode}{'' if snapshot.clipping else ' without clipping'}  "
        f"{'attached' if snapshot.attached else 'NOT ATTACHED'}  "
        f"publications {snapshot.publications}  delivered {snapshot.delivered}"
    ]
    for cells in lines:
        named = "  ".join(cell.ljust(width) for cell, width in zip(cells[:3], widths[:3], strict=True))
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells[3:], widths[3:], strict=True))
        text.append(f"{named}  {numbers}")
    drops = "  ".join(f"{reason} {count}" for reason, count in snapshot.drops.items()) or "none"
    in_force = snapshot.in_force
    mean = (
        f"mean {1000 * in_force.seconds / in_force.count:.1f} ms of {in_force.count}" if in_force.count else "none yet"
    )
    return "\n".join([*text, f"drops: {drops}", f"regions in force after: {mean}", ""])
