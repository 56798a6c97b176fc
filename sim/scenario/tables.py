"""The tables of a scenario: topology, workload, areas of interest, links, churn, failures; each with its checks.

Used by `scenario`. Lengths are metres, times seconds; a value that cannot be meant raises ConfigError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from cbsmrp.settings import ConfigError, Validator, as_float, boolean, number, one_of, seconds, text, whole
from sim.workload.workload import BOX, FASTEST, SPACE

MOTIONS = ("oscillating", "waypoint", "flocking", "hotspots", "still", "recorded")
SOURCES = ("preset", "file", "tree")
"""The keys of a topology that say where it is from."""
SHAPES = ("box", "sphere", "cylinder", "mixed")


def _floats(value: object) -> object:
    return tuple(map(as_float, value)) if isinstance(value, list | tuple) else value


def _numbers(length: tuple[int, ...], what: str, above: float = -math.inf, rising: bool = False) -> Validator:
    """A list of so many numbers, all above a limit; rising: the first at most the second."""

    def check(_: object, key: attrs.Attribute[Any], value: object) -> None:
        fine = isinstance(value, tuple) and len(value) in length and all(_is_above(each, above) for each in value)
        if fine and isinstance(value, tuple) and not (rising and value[0] > value[1]):
            return
        shown = list(value) if isinstance(value, tuple) else value
        raise ConfigError(f"{key.name} = {shown!r}: give {what}")

    return check


def _is_above(value: object, limit: float) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value > limit


def _vector(default: tuple[float, ...], length: tuple[int, ...], what: str, above: float = -math.inf) -> Any:
    return attrs.field(default=default, converter=_floats, validator=_numbers(length, what, above))


def _range(low: float, high: float, above: float = 0.0) -> Any:
    what = f"a list of two numbers, from and to, {'above' if above == 0 else 'at least'} 0"
    return attrs.field(default=(low, high), converter=_floats, validator=_numbers((2,), what, above, rising=True))


def share(default: float) -> Any:
    return attrs.field(default=default, converter=as_float, validator=number(None, 1.0))


def count(default: int, at_least: int = 0) -> Any:
    return attrs.field(default=default, validator=whole(at_least))


def word(default: str = "") -> Any:
    return attrs.field(default=default, validator=text)


def flag(default: bool) -> Any:
    return attrs.field(default=default, validator=boolean)


def _values(_: object, key: attrs.Attribute[Any], value: object) -> None:
    """Attribute names, each with the values that it may take."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key.name} = {value!r}: give a table, such as team = ['red', 'blue']")
    for name, choice in value.items():
        if not isinstance(choice, list | tuple) or not choice:
            raise ConfigError(f"{key.name}.{name} = {choice!r}: give a list of the values it may take")
        if not all(isinstance(each, str | bool | int | float) for each in choice):
            raise ConfigError(f"{key.name}.{name} = {choice!r}: values are texts, numbers, true or false")


def _names(_: object, key: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{key.name} = {value!r}: give a list of names, such as ['team']")


def _tree(_: object, key: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, tuple) or not all(type(each) is int and each > 0 for each in value):
        raise ConfigError(f"{key.name} = {value!r}: give the children of a router at each level, such as [3, 3]")


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


@attrs.frozen(kw_only=True)
class TopologyTable:
    """Where the routers are: one of `preset`, `file` and `tree`; without any, tree = [3, 3]."""

    preset: str = word()
    """A generated topology, drawn anew for every seed; "paper" is the paper's 1 + 1050 routers."""
    file: str = word()
    """A file of any kind that `cbsmrp sim topology` reads."""
    graph: str = word()
    """Which of the graphs in a file of several."""
    length: float = seconds(0.0, None)
    """Kilometres, of links in GraphML of which nothing else is known; 0: that is an error."""
    tree: tuple[int, ...] = attrs.field(default=(), converter=_tuple, validator=_tree)
    """A regular tree: how many children a router has, at each level."""
    delay: float = seconds(0.005)
    """Of each link of a regular tree, seconds."""
    core: str = word()
    """A router's name, "degree" (most links) or "centre"; "": the root of a regular tree, otherwise by degree."""
    degree: int = count(12, 2)
    """The most links that a router has in the tree, its hosts' included, when hosts are placed."""
    hosts_at: Literal["leaves", "all"] = attrs.field(default="leaves", validator=one_of(("leaves", "all")))
    largest_part: bool = flag(False)
    """Of a topology that is not connected, take the largest part."""
    backups: int = count(0)
    """How many routers besides the parent a router (or a host) turns to when the parent is gone."""

    def __attrs_post_init__(self) -> None:
        given = [name for name in SOURCES if getattr(self, name)]
        if len(given) > 1:
            raise ConfigError(f"{given[0]} and {given[1]} are given: give one of them")
        if self.graph and not self.file:
            raise ConfigError(f"graph = {self.graph!r}: give the file too that holds it")


@attrs.frozen(kw_only=True)
class WorkloadTable:
    """What moves, and what it publishes. Keys that the kind of motion does not need are not looked at."""

    kind: str = attrs.field(default="oscillating", validator=one_of(MOTIONS))
    objects: int = count(0)
    """Dealt out to the hosts in turn; 0: one a host, or all that a trace has."""
    rate: float = seconds(10.0)
    """Publications of one object, per second."""
    space: tuple[float, ...] = _vector(SPACE, (2, 3), "two or three lengths above 0, in metres", 0.0)
    """Metres; with two numbers the world has no heights."""
    extent: tuple[float, ...] = _vector((), (0, 3), "three lengths above 0, in metres, or [] for points", 0.0)
    """What is published is a box of these sides about the object's position; []: the position."""
    payload: int = attrs.field(default=0, validator=whole(0, 1200))
    """Bytes."""
    layer: str = word()
    """Of all objects; "": no layer, or with recorded movement the arenas'."""
    attributes: Mapping[str, tuple[str | int | float | bool, ...]] = attrs.field(factory=dict, validator=_values)
    """Attributes that publications carry, with the values of which every object draws one: team = ["red", "blue"]."""
    amplitude: tuple[float, float] = _range(10.0, 40.0, -1.0)
    """oscillating: metres, in the vertical."""
    period: tuple[float, float] = _range(4.0, 10.0)
    """oscillating: seconds; flocking: of a member's way about the middle of its flock."""
    speed: tuple[float, float] = _range(1.0, 10.0)
    """waypoint, hotspots, flocking: metres per second."""
    pause: tuple[float, float] = _range(0.0, 5.0, -1.0)
    """waypoint, hotspots, flocking: seconds at each place."""
    groups: int = count(5, 1)
    """How many flocks, or hotspots."""
    spread: float = seconds(30.0)
    """flocking: how far from the middle members are at most; hotspots: the standard deviation, metres."""
    attraction: float = share(0.8)
    """hotspots: the share of ways that lead to a hotspot; the others lead anywhere."""
    file: str = word()
    """recorded: the trace."""
    start: float = seconds(0.0, None)
    """recorded: seconds into each arena."""

    def __attrs_post_init__(self) -> None:
        if (self.kind == "recorded") != bool(self.file):
            remedy = "give the file of the trace" if not self.file else "file is for recorded movement"
            raise ConfigError(f"kind = {self.kind!r}: {remedy}")
        if self.kind == "oscillating" and len(self.space) == 3 and 2 * self.amplitude[1] > self.space[2]:
            raise ConfigError(f"amplitude = {list(self.amplitude)}: the space is only {self.space[2]:g} m high")
        if self.kind == "oscillating" and len(self.space) == 2:
            raise ConfigError(f"space = {list(self.space)}: oscillation is vertical, give a height too")
        if self.kind == "flocking" and any(2 * self.spread > side for side in self.space):
            raise ConfigError(f"spread = {self.spread:g}: a flock of this size does not fit the space")


@attrs.frozen(kw_only=True)
class AreasTable:
    """What hosts want: areas of interest."""

    per_host: int = count(1)
    subscribers: int = count(0)
    """How many of the hosts want anything (the first ones; where hosts are is drawn anyway); 0: all."""
    shape: str = attrs.field(default="box", validator=one_of(SHAPES))
    """A sphere or a cylinder is as wide as the box; mixed: spheres, boxes and polygons in turn."""
    size: tuple[float, float, float] = _vector(BOX, (3,), "three lengths above 0, in metres", 0.0)
    """The sides of the largest area, metres."""
    smallest: float = share(1.0)
    """Every area is as large as the largest, times a factor between this and 1."""
    centre: str = attrs.field(default="object", validator=one_of(("object", "anywhere")))
    """About an object of the host's own, or about a place drawn for it."""
    move_rate: float = attrs.field(default=0.0, converter=as_float, validator=number(None, FASTEST))
    """How often a second an area follows its object; 0: it stays where the object was at first."""
    match: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_names)
    """Attributes of which every area asks for one value, drawn for it."""

    def __attrs_post_init__(self) -> None:
        if self.move_rate and self.centre == "anywhere":
            raise ConfigError(f"move_rate = {self.move_rate:g}: areas that are anywhere do not move")


@attrs.frozen(kw_only=True)
class LinkTable:
    """What links do to datagrams besides their delay, which is the topology's; probabilities are per datagram."""

    host_delay: float = seconds(0.001)
    """Between a host and its router, seconds."""
    jitter: float = seconds(0.0, None)
    """Up to so many seconds more."""
    loss: float = share(0.0)
    """Of datagrams with control messages."""
    publication_loss: float = share(0.0)
    duplicate: float = share(0.0)
    reorder: float = share(0.0)
    lateness: float = seconds(0.1, None)


@attrs.frozen(kw_only=True)
class Churn:
    """Hosts that come late or leave early, as shares of all hosts; when is drawn uniformly from the run."""

    arriving: float = share(0.0)
    leaving: float = share(0.0)


@attrs.frozen(kw_only=True)
class Failure:
    """At `at` seconds of the run a router is killed, or the link above a router is cut; until `until`, or for good."""

    at: float = seconds(0.0, None)
    until: float = attrs.field(default=math.inf, converter=as_float)
    router: str = word()
    """A router's name, or "random": one that has children."""
    link: str = word()
    """The name of the router below the link, or "random"."""

    def __attrs_post_init__(self) -> None:
        if bool(self.router) == bool(self.link):
            raise ConfigError("a failure is of one thing: give router or link")
        if not (isinstance(self.until, float) and self.until > self.at):
            raise ConfigError(f"until = {self.until!r}: give a time after at ({self.at:g})")
