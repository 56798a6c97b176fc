"""What configuration is made of: checked values of attrs classes, and TOML tables whose keys are those classes' fields.

Used by `config` (routers) and by the simulator's scenarios. Whatever cannot be meant raises ConfigError: one line that
names the key, the value and the remedy.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs


class ConfigError(ValueError):
    """A configuration that cannot be meant; one line for the user."""


Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]
_T = TypeVar("_T")


def whole(at_least: int, at_most: float = math.inf) -> Validator:
    def check(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
        if type(value) is not int or not at_least <= value <= at_most:
            most = f", at most {at_most:g}" if at_most < math.inf else ""
            raise ConfigError(f"{key.name} = {value!r}: give a whole number, at least {at_least}{most}")

    return check


def number(above: float | None = None, at_most: float = math.inf) -> Validator:
    """A finite number: above a limit, or without one at least 0; at most another."""

    def check(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
        if isinstance(value, float) and math.isfinite(value) and value <= at_most:
            enough = value >= 0 if above is None else value > above
            if enough:
                return
        remedy = "at least 0" if above is None else f"above {above:g}"
        if at_most < math.inf:
            remedy += f", at most {at_most:g}"
        raise ConfigError(f"{key.name} = {value!r}: give a number {remedy}")

    return check


def boolean(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{key.name} = {value!r}: give true or false")


def text(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{key.name} = {value!r}: give a text in quotes")


def one_of(words: Sequence[str]) -> Validator:
    def check(_: object, key: "attrs.Attribute[Any]", value: object) -> None:
        if value not in words:
            raise ConfigError(f"{key.name} = {value!r}: give {_nearest(str(value), words)}")

    return check


def as_float(value: object) -> object:
    """TOML's `hello = 1` means 1.0."""
    return float(value) if type(value) is int else value


def seconds(default: float, above: float | None = 0.0, at_most: float = math.inf) -> Any:
    """A field that is a time, or another quantity above a limit."""
    return attrs.field(default=default, validator=number(above, at_most), converter=as_float)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The table in a TOML file. Raises ConfigError, naming the file, if it cannot be read or is no TOML."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not text in UTF-8: {error.reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}:{_line(error, text)}: not TOML: {error}") from None


def from_table(kind: type[_T], table: object, name: str) -> _T:
    """An object of an attrs class from the table [name]. Raises ConfigError for a key that is no field, or a value."""
    values = known(kind, table, name)
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"[{name}] {error}") from None


def known(kind: type, table: object, name: str) -> dict[str, Any]:
    """The table, if all its keys are fields of the attrs class."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{name} = {table!r}: give a table, [{name}]")
    keys = [field.name for field in attrs.fields(kind)]
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else "the keys are " + ", ".join(keys)
            raise ConfigError(f"unknown key {key!r}{f' in [{name}]' if name else ''}: {remedy}")
    return dict(table)


def _nearest(word: str, words: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, words, n=1)
    return (f"{near[0]!r}, or " if near else "") + "one of " + ", ".join(map(repr, words))


def _line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """The line of a syntax error; Python before 3.14 says it only in the message, "(at line 3, column 5)"."""
    found = re.search(r"\(at line (\d+)", str(error))
    return int(found.group(1)) if found else text.count("\n") + 1
