"""A scenario: everything that a run depends on but the seed, as attrs classes and as a short TOML file.

Read by `cbsmrp sim`; used by `run` (the events) and `load` (the exact network load), which let `build` make the tree,
the hosts and the workload of a scenario and a seed. `preset` names a table of `presets` that the file's own keys
replace one by one, tables key by key. What a user got wrong raises ConfigError: one line that names the key, the value
and the remedy.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

from cbsmrp.config import Timers
from cbsmrp.modes import MODES
from cbsmrp.settings import ConfigError, from_table, known, one_of, read_toml, seconds
from sim.geometry import Piece
from sim.scenario.placement import backups, broken, core_based_tree
from sim.scenario.presets import PRESETS, merged
from sim.scenario.tables import (
    SOURCES,
    AreasTable,
    Churn,
    Failure,
    LinkTable,
    TopologyTable,
    WorkloadTable,
    count,
    flag,
)
from sim.topology.graph import TopologyError
from sim.topology.tree import CoreTree, attach_hosts
from sim.workload.population import areas, objects, presence
from sim.workload.workload import Area, Workload, substream


def _name(_: object, key: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]*", value):
        raise ConfigError(f"{key.name} = {value!r}: give letters, digits, '_', '-' and '.': it names a directory")


@attrs.frozen(kw_only=True)
class Scenario:
    """Everything that a run depends on but the seed. Times are seconds, lengths metres, sizes bytes."""

    name: str = attrs.field(default="scenario", validator=_name)
    hosts: int = count(30, 1)
    topology: TopologyTable = attrs.field(factory=TopologyTable)
    workload: WorkloadTable = attrs.field(factory=WorkloadTable)
    areas: AreasTable = attrs.field(factory=AreasTable)
    mode: str = attrs.field(default="shared-tree", validator=one_of(tuple(MODES)))
    clipping: bool = flag(True)
    source_clipping: bool = flag(False)
    """Whether hosts take a clipping region too, so that what nobody wants is not sent at all."""
    budget: int = count(64)
    """The most pieces of a region between routers; 0: no limit."""
    datagram_bytes: int = count(1400, 512)
    timers: Timers = attrs.field(factory=Timers)
    link: LinkTable = attrs.field(factory=LinkTable)
    churn: Churn = attrs.field(factory=Churn)
    failures: tuple[Failure, ...] = ()
    settle: float = seconds(120.0)
    """How long the overlay may take until everything is in force, before the workload begins."""
    warm_up: float = seconds(0.0, None)
    """Of the workload, the first seconds that are not measured."""
    seconds: float = seconds(10.0)
    """Of the workload that are measured."""

    @property
    def duration(self) -> float:
        """Of the workload."""
        return self.warm_up + self.seconds

    @property
    def subscribers(self) -> int:
        """How many hosts have areas."""
        wanted = self.areas.subscribers or self.hosts
        return wanted if self.areas.per_host else 0

    def __attrs_post_init__(self) -> None:
        if self.areas.subscribers > self.hosts:
            raise ConfigError(f"[areas] subscribers = {self.areas.subscribers}: there are {self.hosts} hosts")
        for name in self.areas.match:
            if name not in self.workload.attributes:
                raise ConfigError(f"[areas] match = {name!r}: publications have no such attribute; see [workload]")
        for failure in self.failures:
            if failure.at >= self.duration:
                raise ConfigError(f"[[failures]] at = {failure.at:g}: the run is over after {self.duration:g} s")

    def settings(self) -> dict[str, Any]:
        """What differs from the defaults, in the form of the TOML file; without the name, which changes nothing."""
        return {key: value for key, value in _different(self).items() if key != "name"}

    def digest(self) -> str:
        """Sixteen hexadecimal digits that are the same exactly for scenarios that are the same, contents of files
        included. Raises ConfigError for a file that cannot be read."""
        table = self.settings()
        for part in (self.topology, self.workload):
            if part.file:
                key = "topology" if part is self.topology else "workload"
                table[key] = {**table[key], "file": _contents(part.file)}
        return sha256(_json(table).encode()).hexdigest()[:16]

    def configuration(self) -> str:
        """`settings` as JSON, for rows of results."""
        return _json(self.settings())


_TABLES: Mapping[str, type] = {
    "topology": TopologyTable,
    "workload": WorkloadTable,
    "areas": AreasTable,
    "timers": Timers,
    "link": LinkTable,
    "churn": Churn,
}


def load(path: str | Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario in a TOML file, with `changes` of single keys, such as {"areas.size": [50, 50, 50]}, applied.

    Files that it names are relative to it, those in `changes` to where the program runs. Raises ConfigError, naming
    the file.
    """
    table = read_toml(path)
    for dotted, value in (changes or {}).items():
        *tables, key = dotted.split(".")
        inner = table
        for each in tables:
            inner = inner.setdefault(each, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{dotted}: {each} is not a table")
        inner[key] = value
    try:
        scenario = from_mapping({"name": Path(path).stem, **table})
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None

    def beside(part: Any, table: str) -> Any:
        own = part.file and f"{table}.file" not in (changes or {})
        return attrs.evolve(part, file=str(Path(path).parent / part.file)) if own else part

    topology, workload = beside(scenario.topology, "topology"), beside(scenario.workload, "workload")
    return attrs.evolve(scenario, topology=topology, workload=workload)


def from_mapping(table: Mapping[str, Any]) -> Scenario:
    """The scenario in a table such as a TOML file holds. Raises ConfigError."""
    table = dict(table)
    preset = table.pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            raise ConfigError(f"preset = {preset!r}: give one of {', '.join(sorted(PRESETS))}")
        table = _over(PRESETS[preset], table)
    values = known(Scenario, table, "")
    for name, kind in _TABLES.items():
        if name in values:
            values[name] = from_table(kind, values[name], name)
    failures = values.pop("failures", [])
    if not isinstance(failures, list | tuple):
        raise ConfigError(f"failures = {failures!r}: give tables, [[failures]]")
    values["failures"] = tuple(from_table(Failure, each, "[failures]") for each in failures)
    return Scenario(**values)


def _over(preset: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The preset with what the table says instead; a network that it names takes the place of the preset's."""
    topology = table.get("topology")
    if isinstance(topology, Mapping) and any(name in topology for name in SOURCES):
        kept = {key: value for key, value in preset.get("topology", {}).items() if key not in SOURCES}
        preset = {**preset, "topology": kept}
    return merged(preset, table)


def _different(value: Any) -> dict[str, Any]:
    """The fields of an attrs object that differ from their defaults."""
    default = type(value)() if not isinstance(value, Failure) else None
    table: dict[str, Any] = {}
    for field in attrs.fields(type(value)):
        given = getattr(value, field.name)
        if default is not None and given == getattr(default, field.name):
            continue
        if attrs.has(type(given)):
            table[field.name] = _different(given)
        elif isinstance(given, tuple) and given and isinstance(given[0], Failure):
            table[field.name] = [_different(each) for each in given]
        elif given not in ("", math.inf):
            table[field.name] = list(given) if isinstance(given, tuple) else given
    return table


def _contents(path: str) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None


def _json(table: Mapping[str, Any]) -> str:
    default: Callable[[Any], Any] = lambda value: dict(value) if isinstance(value, Mapping) else list(value)  # noqa: E731
    return json.dumps(table, sort_keys=True, separators=(",", ":"), default=default)


@attrs.frozen(eq=False)
class World:
    """What a scenario is for one seed. `attachment` names each host's router, `backups` the routers that a
    router or a host turns to when its own is gone, `failures` what fails, by its name, `presence` from when until when
    a host is there (a host without entry: always).

    Everything is drawn from streams of its own, so that scenarios that differ elsewhere (in mode, clipping, or the
    number of hosts) have the same objects, areas and places: common random numbers.
    """

    tree: CoreTree
    attachment: Mapping[str, str]
    backups: Mapping[str, tuple[str, ...]]
    failures: tuple[Failure, ...]
    workload: Workload
    presence: Mapping[str, tuple[float, float]]
    warm_up: float

    @property
    def duration(self) -> float:
        """Seconds of the workload; the first `warm_up` of them are not measured."""
        return self.workload.duration

    def demands(self) -> Iterator[tuple[float, Area, Piece | None]]:
        """(time, area, what it is from then on) in the order of time; None: the owner is gone.

        An area begins when its owner is there, and, if what it follows is not there yet, when that comes; it is not
        named again until it is somewhere else.
        """
        found: list[tuple[float, int, Piece | None]] = []
        for number, area in enumerate(self.workload.areas):
            start, end = self.presence.get(area.owner, (0.0, math.inf))
            standing: Piece | None = None
            moves = area.first < math.inf
            later = area.move_times(self.duration) if moves else area.follows.publish_times(self.duration)
            for time in (start, *later):
                if start <= time < end and (moves or standing is None):
                    piece = area.piece(time)
                    if piece is not None and piece != standing:
                        found.append((time, number, piece))
                        standing = piece
            if end < self.duration:
                found.append((end, number, None))
        found.sort(key=lambda each: each[0])
        return ((time, self.workload.areas[number], piece) for time, number, piece in found)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside any figure from it."""
        return self.workload.notes


def build(scenario: Scenario, seed: int) -> World:
    """Raises ConfigError for a topology that is not connected or has no room for the hosts, and for files that cannot
    be read; TraceError for a recorded trace that is broken."""
    table = scenario.topology
    try:
        tree = core_based_tree(table, seed)
        attachment = attach_hosts(tree, scenario.hosts, substream(seed, "hosts"), table.degree, table.hosts_at)
    except TopologyError as error:
        raise ConfigError(f"[topology] {error}") from None
    hosts = tuple(attachment)
    present = presence(scenario.churn, hosts, seed, scenario.duration)
    entities, notes = objects(scenario.workload, hosts, present, seed, scenario.duration)
    owned = areas(scenario.areas, scenario.workload, hosts[: scenario.subscribers], entities, seed, scenario.duration)
    return World(
        tree,
        attachment,
        backups(tree, attachment, table.backups),
        broken(scenario.failures, tree, attachment, seed),
        Workload(entities, owned, scenario.duration, notes),
        present,
        scenario.warm_up,
    )
