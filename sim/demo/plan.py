"""The plan of a demo: who publishes what where, which area is where, at which second of the run, through which client.

Made once from a workload by `command`, written to files for the processes of `publishers` and `subscribers`, and kept
by the demo itself: the logs that come back name entries of the plan by their number, so that `check` judges by what was
planned, not by what a process says that it did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from sim.geometry import Box, Cylinder, Piece, Prism, Sphere
from sim.workload.motion import Position
from sim.workload.workload import Workload

_SHAPES: dict[str, type[Box] | type[Sphere] | type[Cylinder] | type[Prism]] = {
    kind.__name__: kind for kind in (Box, Sphere, Cylinder, Prism)
}


@attrs.frozen
class Update:
    """Object `name` says where it is, `time` seconds into the run; in metres, z None where the world has no heights."""

    time: float
    client: str
    name: str
    layer: str | None
    at: Position

    @property
    def extent(self) -> tuple[float, float] | tuple[float, float, float]:
        x, y, z = self.at
        return (x, y) if z is None else (x, y, z)


@attrs.frozen
class Move:
    """Area `name` is `piece` from `time` seconds into the run on; time None is where it stands before the run."""

    time: float | None
    client: str
    name: str
    layer: str | None
    piece: Piece


@attrs.frozen
class Plan:
    """Both in the order of time. `notes` must be said beside any figure."""

    updates: tuple[Update, ...]
    moves: tuple[Move, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def publishers(self) -> list[str]:
        """Names of clients."""
        return sorted({update.client for update in self.updates})

    @property
    def subscribers(self) -> list[str]:
        """Names of clients."""
        return sorted({move.client for move in self.moves})


def make(workload: Workload, publishers: int) -> Plan:
    """The workload's objects dealt out to `publishers` clients, its areas to the clients of their owners.

    An area that follows something at rest does not move, and no move is planned for it.
    """
    client = {entity: f"publisher{number % publishers}" for number, entity in enumerate(workload.entities)}
    updates = []
    for time, entity in workload.publications():
        position = entity.position(time)
        assert position is not None  # or it would not be in the schedule
        updates.append(Update(time, client[entity], entity.name, entity.layer, position))
    first, later = [], []
    standing: dict[str, Piece] = {}
    for time, area in (*((0.0, area) for area in workload.areas), *workload.moves()):
        piece = area.piece(time)
        if piece is None or piece == standing.get(area.name):
            continue
        if area.name in standing:
            later.append(Move(time, area.owner, area.name, area.layer, piece))
        else:  # if what it follows comes later, it waits where that will appear
            first.append(Move(None, area.owner, area.name, area.layer, piece))
        standing[area.name] = piece
    notes = (
        *workload.notes,
        f"{len(updates) / workload.duration:.0f} publications/s through {publishers} clients; "
        f"{len(standing)} areas of interest of {len({area.owner for area in workload.areas})} clients make "
        f"{len(later) / workload.duration:.0f} moves/s",
    )
    return Plan(tuple(updates), (*first, *later), workload.duration, notes)


def write(entries: Iterable[Update | Move], path: Path) -> None:
    """One JSON object a line; the line's number, from 0, is the entry's."""
    with path.open("w", encoding="utf-8") as file:
        for entry in entries:
            file.write(json.dumps(attrs.asdict(entry, value_serializer=_with_kind)) + "\n")


def read_updates(path: Path) -> list[Update]:
    return [Update(**{**line, "at": tuple(line["at"])}) for line in _lines(path)]


def read_moves(path: Path) -> list[Move]:
    return [Move(**{**line, "piece": _piece(line["piece"])}) for line in _lines(path)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _with_kind(owner: object, field: Any, value: Any) -> Any:
    """Pieces as [kind, field, ...]; JSON's Infinity is read back by Python as it was."""
    if type(value).__name__ in _SHAPES and attrs.has(type(value)):
        return [type(value).__name__, *attrs.astuple(value, recurse=False)]
    return value


def _piece(fields: list[Any]) -> Piece:
    kind, *values = fields
    return _SHAPES[kind](*map(_tuples, values))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
