"""Recorded movement, read row by row: CSV, gzipped CSV, or Parquet, with columns t, id, x, y and optionally z.

Called by `cbsmrp replay` and by the demo. Columns may stand in any order and others are ignored. Time is in seconds and
may not go backwards within an arena; an arena is one space of its own, named by the id up to its first dot, and a file
may hold its arenas one after the other. Positions are in metres; an empty z cell, or no z column, is an unknown height.
"""

import csv
import gzip
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import attrs

_REQUIRED = ("t", "id", "x", "y")
_NUMBERS = ("t", "x", "y", "z")


class TraceError(ValueError):
    """A trace cannot be read. One line: the file, the line or row where there is one, and what is wrong there."""


@attrs.frozen
class Sample:
    """Object `id` was at (x, y, z) metres at time `t` seconds; z is None where the trace does not say."""

    t: float
    id: str
    x: float
    y: float
    z: float | None


def arena(object_id: str) -> str:
    """The space an object moves in: its id up to the first dot, or "" where there is none."""
    head, dot, _ = object_id.partition(".")
    return head if dot else ""


def read(path: str | Path) -> Iterator[Sample]:
    """The samples of a trace in the order of the file, read as they are asked for.

    The name's ending decides the format: `.parquet`, `.gz` (gzipped CSV), anything else CSV. Raises TraceError, for a
    broken row when it is reached.
    """
    path = Path(path)
    try:
        path.stat()  # so that a missing file reads the same whatever reader would have met it
        if path.suffix == ".parquet":
            yield from _read_parquet(path)
        else:
            yield from _read_csv(path)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror or error}") from None


class _Rows:
    """What rows of either format have to fulfil; remembers each arena's last time."""

    def __init__(self) -> None:
        self._latest: dict[str, float] = {}

    def sample(self, object_id: str, t: float, x: float, y: float, z: float | None) -> Sample:
        """Raises ValueError saying what is wrong with which value."""
        if not object_id:
            raise ValueError("id is empty")
        space = arena(object_id)
        latest = self._latest.get(space, -math.inf)
        if t < latest:
            where = f" in arena {space!r}" if space else ""
            raise ValueError(f"t is {t!r}, but the time before it{where} was {latest!r}; sort the rows by time")
        self._latest[space] = t
        return Sample(t, object_id, x, y, z)


def _read_csv(path: Path) -> Iterator[Sample]:
    with _open_text(path) as file:
        lines = csv.reader(file)
        try:
            header = next(lines, None)
            if header is None:
                raise TraceError(f"{path}: the file is empty; a header line naming t,id,x,y[,z] was expected")
            columns = _columns(path, [name.strip() for name in header])
            rows = _Rows()
            any_row = False
            for fields in lines:
                if not fields:  # a blank line, such as many editors leave at the end
                    continue
                any_row = True
                try:
                    if len(fields) != len(header):
                        raise ValueError(f"{len(fields)} fields where the header names {len(header)}: {_short(fields)}")
                    t, x, y, z = (_number(name, fields, columns) for name in _NUMBERS)
                    assert t is not None and x is not None and y is not None  # only z may be missing
                    yield rows.sample(fields[columns["id"]].strip(), t, x, y, z)
                except ValueError as error:
                    raise TraceError(f"{path}:{lines.line_num}: {error}") from None
            if not any_row:
                raise TraceError(f"{path}: a header, but no rows")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise TraceError(f"{path}:{lines.line_num + 1}: not readable as gzip: {error}") from None
        except UnicodeDecodeError as error:
            raise TraceError(f"{path}:{lines.line_num + 1}: not text in UTF-8: {error.reason}") from None
        except csv.Error as error:
            raise TraceError(f"{path}:{lines.line_num}: not readable as CSV: {error}") from None


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _columns(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Where each column of ours stands."""
    found = f"the columns are {_short(names)}"
    for name in (*_REQUIRED, "z"):
        if name in _REQUIRED and name not in names:
            raise TraceError(f"{path}:1: there is no column {name!r}; {found}")
        if names.count(name) > 1:
            raise TraceError(f"{path}:1: column {name!r} stands twice; {found}")
    return {name: names.index(name) for name in (*_REQUIRED, "z") if name in names}


def _number(name: str, fields: Sequence[str], columns: dict[str, int]) -> float | None:
    text = fields[columns[name]].strip() if name in columns else ""
    if not text and name == "z":
        return None
    try:
        if "_" in text:  # Python's 1_000 is no number to anybody else
            raise ValueError
        number = float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {text!r}, not a finite number")
    return number


def _read_parquet(path: Path) -> Iterator[Sample]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise TraceError(
            f"{path}: reading Parquet needs pyarrow: pip install cbsmrp[parquet], or convert the trace to CSV"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            columns = _columns(path, schema.names)
            for name in columns:
                kind = schema.field(name).type
                numeric = any(
                    test(kind) for test in (pyarrow.types.is_integer, pyarrow.types.is_floating, pyarrow.types.is_null)
                )
                if name in _NUMBERS and not numeric:
                    raise TraceError(f"{path}: column {name!r} holds {kind}, not numbers")
            if not file.metadata.num_rows:
                raise TraceError(f"{path}: columns, but no rows")
            rows = _Rows()
            row = 0
            for batch in file.iter_batches(columns=list(columns)):
                cells = {
                    name: batch.column(name)
                    .cast(pyarrow.float64() if name in _NUMBERS else pyarrow.string(), safe=False)
                    .to_pylist()
                    for name in columns
                }
                cells.setdefault("z", [None] * batch.num_rows)
                for object_id, t, x, y, z in zip(*(cells[n] for n in ("id", "t", "x", "y", "z")), strict=True):
                    row += 1
                    try:
                        for name, number in (("t", t), ("x", x), ("y", y), ("z", z)):
                            if number is None and name != "z":
                                raise ValueError(f"{name} is missing")
                            if number is not None and not math.isfinite(number):
                                raise ValueError(f"{name} is {number!r}, not a finite number")
                        yield rows.sample(object_id or "", t, x, y, z)
                    except ValueError as error:
                        raise TraceError(f"{path}: row {row}: {error}") from None
    except pyarrow.ArrowException as error:
        raise TraceError(f"{path}: not readable as Parquet: {str(error).splitlines()[0]}") from None


def _short(names: Sequence[str]) -> str:
    text = ",".join(names)
    return text if len(text) <= 80 else text[:77] + "..."
