"""Figure 4 of the paper: packets per second that arrive at the core, with clipping beside without, and source clipping.

Called by `cbsmrp sim figures fig4`. The paper gives two numbers, about 3000 packets/s without clipping and about 1980
with, and neither the number of hosts nor how large their regions are below the largest. So the publications of all
hosts together are held at 3000/s, and both readings are drawn over the number of hosts: every region is as large as the
largest, and its sides are drawn uniformly between nothing and that. The second row shows what clipping saves on all
links together, where source clipping differs from clipping.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbsmrp.settings import ConfigError
from sim.figures.points import Interval, Kept, collect, interval
from sim.load.load import CLIPPING, SOURCE_CLIPPING, WITHOUT_CLIPPING
from sim.runs.results import Row
from sim.scenario.scenario import Scenario, from_mapping

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What the paper gives: packets per second at the core.
PAPER_WITHOUT, PAPER_WITH = 3000.0, 1980.0
PROTOCOLS = {
    "without clipping": WITHOUT_CLIPPING,
    "with clipping": CLIPPING,
    "with source clipping": SOURCE_CLIPPING,
}
READINGS = {
    "largest": "every region 220 × 220 × 200 m",
    "up-to-largest": "sides uniform between 0 and 220, 220, 200 m",
    "some-subscribe": "100 hosts, of which some want 220 × 220 × 200 m",
}
_MEASURES = (
    "core_data_received",
    "core_data_sent",
    "cost_packets",
    "cost_bytes",
    "cost_hosts_up_packets",
    "host_data_received",
    "outside",
)
_STYLES = {
    "without clipping": {"color": "#555555", "marker": "s"},
    "with clipping": {"color": "#0072b2", "marker": "o"},
    # on the same points as clipping in the upper row: drawn so that both can be seen
    "with source clipping": {"color": "#d55e00", "marker": "D", "markerfacecolor": "none", "linestyle": ":"},
}


def points() -> list[Scenario]:
    """Both readings over the number of hosts, and the number of regions that the paper's ratio stands for."""
    largest = [_scenario("largest", hosts, 1.0) for hosts in (5, 10, 20, 30, 40, 60, 80, 100)]
    up_to = [_scenario("up-to-largest", hosts, 0.0) for hosts in (25, 50, 100, 150, 200, 250, 300, 400)]
    some = [_scenario("some-subscribe", 100, 1.0, subscribers) for subscribers in (10, 23, 26, 30, 33, 50)]
    return largest + up_to + some


def _scenario(reading: str, hosts: int, smallest: float, subscribers: int = 0) -> Scenario:
    return from_mapping(
        {
            "preset": "paper",
            "name": f"fig4-{reading}",
            "hosts": hosts,
            "warm_up": 2.0,
            "seconds": 10.0,
            "workload": {"rate": PAPER_WITHOUT / hosts},
            "areas": {"smallest": smallest, "subscribers": subscribers},
        }
    )


def make(
    directory: Path,
    seeds: int,
    scenarios: Sequence[Scenario] | None = None,
    tell: Callable[[int, int, bool], None] = lambda done, of, computed: None,
) -> list[Row]:
    """Compute what is not in `directory` yet, and write fig4.csv, .md, .png and .svg there. Returns the rows of
    fig4.csv: means and halves of intervals over the seeds, of each point and protocol."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {directory}: cannot be made: {error.strerror or error}") from None
    kept = Kept(directory / "fig4-runs.csv")
    chosen = points() if scenarios is None else scenarios
    summary = [row for found in collect(chosen, seeds, PROTOCOLS, kept, tell) for row in _summary(found)]
    with (directory / "fig4.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(summary[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(summary)
    (directory / "fig4.md").write_text(table(summary, seeds), encoding="utf-8")
    drawing = draw(summary, seeds)
    # Nothing of the day or of chance, so that a figure made again is the same file.
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "fig4", "svg.fonttype": "none"}):
        drawing.savefig(directory / "fig4.png", dpi=150, metadata={"Software": None})
        drawing.savefig(directory / "fig4.svg", metadata={"Date": None})
    return summary


def _summary(found: Sequence[Sequence[Row]]) -> list[Row]:
    """Of one point: rows by seed, then by protocol. The ratio is taken within each seed, where all else is equal."""
    summary = []
    for number, name in enumerate(PROTOCOLS):
        runs = [each[number] for each in found]
        first = runs[0]
        ratio = [each[number]["core_data_received"] / each[0]["core_data_received"] for each in found]
        intervals = {measure: interval([float(run[measure]) for run in runs]) for measure in _MEASURES}
        row: Row = {
            "reading": str(first["scenario"]).removeprefix("fig4-"),
            "hosts": first["hosts"],
            "subscribers": first["subscribers"],
            "protocol": name,
            "seeds": len(runs),
        }
        for measure, each in {**intervals, "ratio": interval(ratio)}.items():
            row[measure], row[f"{measure}_half"] = float(f"{each.mean:.6g}"), float(f"{each.half:.3g}")
        summary.append({**row, "version": first["version"], "configuration": first["configuration"]})
    return summary


def table(summary: Sequence[Row], seeds: int) -> str:
    """As Markdown: one line a point, with the three protocols beside each other."""
    lines = [
        f"Means and 95 % t-intervals over {seeds} seeds. Packets/s; regions outside: in other branches below the core"
        " than the publishing host.",
    ]
    for reading, title in READINGS.items():
        some = [row for row in summary if row["reading"] == reading]
        if not some:
            continue
        lines += [
            "",
            f"### {title[0].upper()}{title[1:]}",
            "",
            "| hosts | want something | regions outside | core, without | core, with clipping | with / without |"
            " all links, without | with clipping | with source clipping |",
            "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for at in range(0, len(some), len(PROTOCOLS)):
            without, clipping, source = some[at : at + len(PROTOCOLS)]
            cells = [
                f"{without['hosts']}",
                f"{without['subscribers']}",
                _cell(without, "outside", 1),
                _cell(without, "core_data_received", 0),
                _cell(clipping, "core_data_received", 0),
                _cell(clipping, "ratio", 3),
                *(_cell(each, "cost_packets", 0) for each in (without, clipping, source)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        if (found := crossing(summary, reading)) is not None:
            hosts, subscribers, outside = found
            lines += [
                "",
                f"The paper's {PAPER_WITH:.0f} packets/s: {hosts:.0f} hosts, {subscribers:.0f} of them with a region,"
                f" {outside:.0f} regions outside.",
            ]
    return "\n".join(lines) + "\n"


def _cell(row: Row, measure: str, digits: int) -> str:
    return f"{row[measure]:.{digits}f} ± {row[measure + '_half']:.{digits}f}"


def crossing(summary: Sequence[Row], reading: str) -> tuple[float, float, float] | None:
    """(hosts, those that want something, regions outside) at which the core gets the paper's 1980 packets/s with
    clipping, by straight lines between the points; None where it does not come to that."""
    own = [row for row in summary if row["reading"] == reading and row["protocol"] == "with clipping"]
    for before, after in pairwise(own):
        if before["core_data_received"] <= PAPER_WITH <= after["core_data_received"]:
            part = (PAPER_WITH - before["core_data_received"]) / (
                after["core_data_received"] - before["core_data_received"]
            )
            hosts, subscribers, outside = (
                before[key] + part * (after[key] - before[key]) for key in ("hosts", "subscribers", "outside")
            )
            return hosts, subscribers, outside
    return None


def draw(summary: Sequence[Row], seeds: int) -> Figure:
    """Core above, all links below; a column for each reading that has a row over the number of hosts."""
    from matplotlib.figure import Figure

    readings = [each for each in ("largest", "up-to-largest") if any(row["reading"] == each for row in summary)]
    figure = Figure(figsize=(5.2 * len(readings), 7.0), layout="constrained")
    axes = figure.subplots(2, len(readings), sharex="col", sharey="row", squeeze=False)
    for column, reading in enumerate(readings):
        core, cost = axes[:, column]
        some = [row for row in summary if row["reading"] == reading]
        for name, style in _STYLES.items():
            own = [row for row in some if row["protocol"] == name]
            _line(core, own, "core_data_received", 1.0, name, style)
            _line(cost, own, "cost_packets", 1000.0, name, style)
        for value, text in ((PAPER_WITHOUT, "paper, without: ≈ 3000"), (PAPER_WITH, "paper, with: ≈ 1980")):
            core.axhline(value, color="#999999", linewidth=0.8, linestyle="--", zorder=0)
            core.annotate(
                text, (0.98, value), xycoords=("axes fraction", "data"), xytext=(0, 5), textcoords="offset points",
                ha="right", fontsize=8, color="#666666",
            )  # fmt: skip
        if (at := crossing(summary, reading)) is not None:
            hosts, _, outside = at
            core.plot([hosts, hosts], [0, PAPER_WITH], color="#999999", linewidth=0.8, linestyle="--", zorder=0)
            core.annotate(
                f"{hosts:.0f} hosts,\n{outside:.0f} regions outside\nthe sender's branch",
                (hosts, 90), xytext=(5, 0), textcoords="offset points", fontsize=8, color="#666666",
            )  # fmt: skip
        core.set_title(READINGS[reading], fontsize=10)
        core.set_ylim(0, 3400)
        cost.set_ylim(bottom=0)
        cost.set_xlim(left=0)
        cost.set_xlabel("hosts (together 3000 publications/s)")
        for axis in (core, cost):
            axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("packets received by the core [1/s]")
    axes[1, 0].set_ylabel("packets on all links [1000/s]")
    axes[1, -1].legend(fontsize=8, loc="lower right")
    title = (
        f"1 + 1050 routers; 95 % t-intervals over {seeds} seeds. At the core, source clipping is the same as clipping."
    )
    figure.suptitle(title, fontsize=10)
    return figure


def _line(axis: Axes, own: Sequence[Row], measure: str, unit: float, name: str, style: dict[str, Any]) -> None:
    found = [Interval(row[measure] / unit, row[f"{measure}_half"] / unit) for row in own]
    axis.errorbar(
        [row["hosts"] for row in own],
        [each.mean for each in found],
        [each.half for each in found],
        label=name,
        markersize=7 if style.get("markerfacecolor") else 4,
        linewidth=1.3,
        capsize=2.5,
        **style,
    )
