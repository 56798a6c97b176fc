"""What the readers of text formats share: lines with their numbers, and errors that name file and line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from ..graph import Graph, TopologyError


@attrs.frozen
class Line:
    """One line of a file, with the means to complain about it."""

    path: Path
    number: int
    text: str

    def error(self, what: str) -> TopologyError:
        return TopologyError(f"{self.path}: line {self.number}: {what}")

    def whole(self, text: str) -> int:
        """Raises TopologyError unless this is a whole number, 0 or more."""
        if not (text.isascii() and text.isdigit()):
            raise self.error(f"{text!r} is not a whole number")
        return int(text)

    def real(self, text: str) -> float:
        """Raises TopologyError unless this is a finite number."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.error(f"{text!r} is not a number")
        return number

    def distance(self, text: str) -> float:
        """Raises TopologyError unless this is a finite number, 0 or more."""
        number = self.real(text)
        if number < 0:
            raise self.error(f"{text} is below 0")
        return number


def read_text(path: Path) -> str:
    """Raises TopologyError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TopologyError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TopologyError(f"{path}: is not a text file") from None


def lines(path: Path) -> Iterator[Line]:
    """The lines that are not blank. Raises TopologyError when the file cannot be read."""
    for number, text in enumerate(read_text(path).splitlines(), 1):
        if text.strip():
            yield Line(path, number, text.strip())


def write_lines(path: Path, written: Sequence[str]) -> None:
    """Raises TopologyError when the file cannot be written."""
    try:
        path.write_text("".join(line + "\n" for line in written), encoding="utf-8")
    except OSError as error:
        raise TopologyError(f"{path}: cannot be written: {error.strerror or error}") from None


def expect(path: Path, what: str, found: int, said: int) -> None:
    """Raises TopologyError unless there are as many as the file says."""
    if found != said:
        raise TopologyError(f"{path}: says it has {said} {what}, and has {found}: is it whole?")


def plain(number: float) -> str:
    """A number that reads back the same, without a fraction where it has none."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def unplaced(graph: Graph) -> int:
    """How many nodes have no place."""
    return sum(1 for _, at in graph.nodes(data=True) if not placed(at))


def placed(attributes: Mapping[str, object]) -> bool:
    return "x" in attributes and "y" in attributes
