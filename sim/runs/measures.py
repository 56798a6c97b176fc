"""What a run is measured by, computed from its logs and counts when it is over. Called by `events.run`.

Rates are per second of the measured time; bytes are those of datagrams, without the headers of UDP and IP; times are
seconds. Deliveries are judged by `oracle`, which decides by itself who had to get what. The paper's measures (section
4.1) are `host_data_received` (mean packet receiving rate of a host), `core_data_received`, and `cost_packets`, the sum
over all links of the packets that crossed them. The columns of every table are described in `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from cbsmrp.engine import Engine
from interest.binary import encode_interest
from sim.oracle import Delivery, judge
from sim.runs.counting import KINDS, Counting, Crossed
from sim.runs.play import Play
from sim.runs.results import Results, Row, identity

CLASSES = ("routers_up", "routers_down", "hosts_up", "hosts_down")
"""Links by what they join, and in which direction: up is towards the core."""

COLUMNS: Mapping[str, str] = {
    "complete": "whether the run came to its end",
    "seconds": "that were measured",
    "workload_start": "on the virtual clock",
    "routers": "of the topology",
    "routers_on_tree": "that have hosts below them",
    "depth": "links between the core and the farthest router that has hosts",
    "hosts": "of the scenario",
    "notes": "what must be said beside figures from this",
    "published": "publications per second that objects made",
    "clipped_at_source": "of them, that were not sent because nobody else wants them",
    "unsent": "publications, besides, that a host had no router for (a number)",
    "host_data_received": "publications that reach a host, mean over all hosts while they are there",
    "host_control_received": "control messages that reach a host",
    "host_received": "both",
    "core_data_received": "publications that reach the core",
    "core_control_received": "control messages that reach the core",
    "core_received": "both",
    "core_data_sent": "publications that leave the core",
    "cost_packets": "publications that cross links, summed over all links",
    "cost_bytes": "bytes of datagrams with publications, likewise",
    "cost_control": "control messages, likewise",
    "cost_control_bytes": "their bytes",
    **{f"cost_{kind}_packets": f"publications on links of class {kind}; likewise _bytes, _control" for kind in CLASSES},
    "lost_packets": "publications lost on links (a number)",
    "expected": "deliveries that had to be (pairs of publication and host)",
    "may_deliver": "deliveries that could be, while areas moved",
    "delivered": "of both, those that were",
    "missed": "that had to be, and were not",
    "unwanted": "that should not have been",
    "duplicates": "arrivals after the first",
    "delay_mean": "from publishing to a host; also _p95, _max",
    "stretch_mean": "delay over that of the shortest path in the topology; also _p95, _max",
    "in_force_first_mean": "from a host's first wish until it is in force; also _p95, _max",
    "in_force_move_mean": "from a move of an area until it is in force; also _p95, _max",
    "moves": "of areas while measuring, that came into force (a number)",
    "never_in_force": "wishes that never came into force (a number)",
    "state_pieces_mean": "pieces of regions that a router on the tree holds, at the end; also _max, _core",
    "state_bytes_mean": "their bytes on the wire; also _max, _core",
    **{f"control_{kind}": f"{kind} messages sent per second while measuring" for kind in KINDS.values()},
    **{f"before_{kind}": f"{kind} messages until everything was in force (a number)" for kind in KINDS.values()},
    "before_bytes": "of all of these",
}


def measure(play: Play, counting: Counting, complete: bool) -> Results:
    """The tables of a run that has been played."""
    scenario, tree = play.scenario, play.world.tree
    same = identity(scenario, play.seed)
    if complete:
        seconds = scenario.seconds
    else:
        seconds = max(play.stopped - play.measured_from, 0.0) if play.measured_from < np.inf else 0.0
    links, sums = _links(play, counting)
    data = {name: crossed.packets - crossed.lost_packets for name, crossed in _received(counting).items()}
    control = {name: crossed.control - crossed.lost_control for name, crossed in _received(counting).items()}
    homes = set(play.world.attachment.values())
    per_second = _Rate(seconds)
    per_host = _Rate(_host_seconds(play, seconds))
    hosts_data = sum(data.get(host, 0) for host in play.hosts)
    hosts_control = sum(control.get(host, 0) for host in play.hosts)
    states = {name: _state(node.router) for name, node in play.overlay.routers.items() if node.router.rib.has_children}
    row: Row = {
        **same,
        "complete": complete,
        "seconds": seconds,
        "workload_start": play.start if play.start < np.inf else None,
        "routers": len(tree.routers),
        "routers_on_tree": len(states),
        "depth": max(map(tree.depth, homes)),
        "hosts": scenario.hosts,
        "notes": "; ".join(play.world.notes),
        "published": per_second(len(play.published) - play.first_measured),
        "clipped_at_source": per_second(play.clipped),
        "unsent": play.unsent,
        "host_data_received": per_host(hosts_data),
        "host_control_received": per_host(hosts_control),
        "host_received": per_host(hosts_data + hosts_control),
        "core_data_received": per_second(data.get(tree.core, 0)),
        "core_control_received": per_second(control.get(tree.core, 0)),
        "core_received": per_second(data.get(tree.core, 0) + control.get(tree.core, 0)),
        "core_data_sent": per_second(
            sum(each.packets for (node, _), each in counting.links.items() if node == tree.core)
        ),
        "cost_packets": per_second(sum(each.packets for each in sums.values())),
        "cost_bytes": per_second(sum(each.bytes for each in sums.values())),
        "cost_control": per_second(sum(each.control for each in sums.values())),
        "cost_control_bytes": per_second(sum(each.control_bytes for each in sums.values())),
    }
    for kind, crossed in sums.items():
        row[f"cost_{kind}_packets"] = per_second(crossed.packets)
        row[f"cost_{kind}_bytes"] = per_second(crossed.bytes)
        row[f"cost_{kind}_control"] = per_second(crossed.control)
    row["lost_packets"] = sum(each.lost_packets for each in sums.values())
    row |= _deliveries(play)
    first, moves, never = play.until_in_force()
    row |= _spread("in_force_first", first) | _spread("in_force_move", moves)
    row |= {"moves": len(moves), "never_in_force": never}
    for place, name in enumerate(("state_pieces", "state_bytes")):
        values = [state[place] for state in states.values()]
        row[f"{name}_mean"], row[f"{name}_max"] = float(np.mean(values or [0])), max(values, default=0)
        row[f"{name}_core"] = states.get(tree.core, (0, 0))[place]
    row |= {f"control_{kind}": per_second(counting.kinds[kind]) for kind in KINDS.values()}
    row |= {f"before_{kind}": counting.kinds_before[kind] for kind in KINDS.values()}
    row["before_bytes"] = counting.control_bytes_before
    routers = [
        {
            **same,
            "router": router,
            "depth": tree.depth(router),
            "on_tree": router in states,
            "hosts": sum(home == router for home in play.world.attachment.values()) if router in homes else 0,
            "data_received": per_second(data.get(router, 0)),
            "control_received": per_second(control.get(router, 0)),
            "state_pieces": states.get(router, (0, 0))[0],
            "state_bytes": states.get(router, (0, 0))[1],
            "drops": _drops(play, router),
        }
        for router in tree.routers
    ]
    hosts = [
        {
            **same,
            "host": name,
            "router": play.world.attachment[name],
            "data_received": per_second(data.get(name, 0)),
            "control_received": per_second(control.get(name, 0)),
            "clipped": host.host.clipped,
            "drops": _reasons(host.endpoint.drops),
        }
        for name, host in play.hosts.items()
    ]
    return Results(row, [{**same, **link} for link in links], routers, hosts)


class _Rate:
    """Divides by a time; None where there was none."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, amount: float) -> float | None:
        return amount / self._seconds if self._seconds > 0 else None


def _host_seconds(play: Play, seconds: float) -> float:
    """The measured time times the hosts, each for the part of it that it was there."""
    first = play.scenario.warm_up
    spans = (play.world.presence.get(host, (0.0, np.inf)) for host in play.world.attachment)
    return sum(max(min(end, first + seconds) - max(start, first), 0.0) for start, end in spans)


def _links(play: Play, counting: Counting) -> tuple[list[Row], dict[str, Crossed]]:
    """One row for each direction of a link, and the sums of each class."""
    tree, attachment = play.world.tree, play.world.attachment
    sums = {kind: Crossed() for kind in CLASSES}
    rows: list[Row] = []
    for (a, b), crossed in counting.links.items():
        source, destination = str(a), str(b)
        if source in attachment or destination in attachment:
            kind = "hosts_up" if source in attachment else "hosts_down"
        else:
            kind = "routers_up" if tree.depth(destination) < tree.depth(source) else "routers_down"
        fields = {name: getattr(crossed, name) for name in Crossed.__slots__ if not name.startswith("_")}
        rows.append({"source": source, "destination": destination, "class": kind, **fields})
        for name, value in fields.items():
            setattr(sums[kind], name, getattr(sums[kind], name) + value)
    return rows, sums


def _received(counting: Counting) -> dict[str, Crossed]:
    """What was sent to each router and host."""
    found: dict[str, Crossed] = {}
    for (_, destination), crossed in counting.links.items():
        total = found.setdefault(str(destination), Crossed())
        total.packets += crossed.packets
        total.lost_packets += crossed.lost_packets
        total.control += crossed.control
        total.lost_control += crossed.lost_control
    return found


def _deliveries(play: Play) -> Row:
    """The verdict on what was published while measuring, and how long it took."""
    measured = list(islice(play.published, play.first_measured, None))
    known = {(each.source, each.sequence): each for each in measured}
    earlier = {(each.source, each.sequence) for each in play.published[: play.first_measured]}
    deliveries: dict[str, list[Delivery]] = {}
    delays: list[float] = []
    stretches: list[float] = []
    shortest = _Shortest(play)
    for name, host in play.hosts.items():
        arrived = deliveries.setdefault(name, [])
        for time, *key in zip(host.times, host.sources, host.sequences, strict=True):
            source, sequence = int(key[0]), int(key[1])
            if (source, sequence) in earlier:
                continue
            arrived.append(Delivery(source, sequence, time))
            sent = known.get((source, sequence))
            if sent is not None:
                delays.append(time - sent.time)
                stretches.append((time - sent.time) / shortest.delay(sent.host, name))
    verdict = judge(measured, play.wanted(), deliveries, window=play.longest_way())
    return {
        "expected": verdict.expected,
        "may_deliver": verdict.may_deliver,
        "delivered": verdict.delivered,
        "missed": verdict.missed,
        "unwanted": verdict.unwanted,
        "duplicates": verdict.duplicates,
        **_spread("delay", delays),
        **_spread("stretch", stretches),
    }


class _Shortest:
    """Delays of shortest paths between hosts, through the topology, not the tree."""

    def __init__(self, play: Play) -> None:
        self._graph = play.world.tree.graph
        self._attachment = play.world.attachment
        self._access = 2 * play.scenario.link.host_delay
        self._from: dict[str, Mapping[str, float]] = {}

    def delay(self, source: str, destination: str) -> float:
        router = self._attachment[source]
        if router not in self._from:
            self._from[router] = nx.single_source_dijkstra_path_length(self._graph, router, weight="delay")
        return self._from[router][self._attachment[destination]] + self._access


def _state(engine: Engine) -> tuple[int, int]:
    """Pieces, and bytes, of what a router's neighbours want."""
    wanted = [vif.in_value for vif in engine.rib if vif.joined]
    return sum(each.piece_count for each in wanted), sum(len(encode_interest(each)) for each in wanted)


def _spread(name: str, values: Sequence[float]) -> dict[str, Any]:
    """Mean, 95th percentile and maximum; None without values."""
    if not values:
        return {f"{name}_mean": None, f"{name}_p95": None, f"{name}_max": None}
    found = np.asarray(values)
    return {
        f"{name}_mean": float(found.mean()),
        f"{name}_p95": float(np.quantile(found, 0.95)),
        f"{name}_max": float(found.max()),
    }


def _drops(play: Play, router: str) -> str:
    node = play.overlay.routers.get(router)
    return "killed" if node is None else _reasons(node.endpoint.drops)


def _reasons(drops: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in sorted(drops.items()) if count)
