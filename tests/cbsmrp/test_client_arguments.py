"""What a program may hand to the client, and the one clear exception for each thing that it may not."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from cbsmrp import aio
from cbsmrp.config import ConfigError
from cbsmrp.udp.arguments import named, place
from interest import Box, Cylinder, Interest, InterestError, Point, Prism, Region, Sphere

TRIANGLE = Prism([(0, 0), (4, 0), (0, 4)], 0, 2)


@pytest.mark.parametrize(
    ("at", "extent"),
    [
        ((1, 2), Point((1, 2))),
        ([1, 2.5, 3], Point((1, 2.5, 3))),
        (np.array([1.0, 2.0, 3.0]), Point((1, 2, 3))),
        ((np.int64(1), np.float32(2)), Point((1, 2))),
        (Box((0, 0), (1, 1)), Box((0, 0), (1, 1))),
        (TRIANGLE, TRIANGLE),
        (None, None),
    ],
)
def test_places(at: Any, extent: Any) -> None:
    assert place(at) == extent


@pytest.mark.parametrize(
    "at",
    [5, "ab", "12", (1,), (1, 2, 3, 4), (1, float("nan")), (float("inf"), 1), {"x": 1}, Box, Sphere((0, 0, 0), 1),
     Cylinder((0, 0), 1), Region([Box((0, 0), (1, 1))]), object()],
)  # fmt: skip
def test_what_is_no_place(at: Any) -> None:
    with pytest.raises(InterestError, match="give"):
        place(at)


def test_attributes_are_pythons_own() -> None:
    given = {"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True), "s": np.str_("a"), "plain": 7}
    result = named(given, "ships")
    assert result == {"n": 3, "x": 0.5, "b": True, "s": "a", "plain": 7, "layer": "ships"}
    assert {type(value) for value in result.values()} == {int, float, bool, str}
    assert named({"layer": "ships"}, "ships") == {"layer": "ships"}


@pytest.mark.parametrize(("attributes", "layer"), [([1], None), ("ab", None), ({"layer": "b"}, "a"), ({}, 2)])
def test_attributes_that_cannot_be_meant(attributes: Any, layer: Any) -> None:
    with pytest.raises(InterestError):
        named(attributes, layer)


@pytest.mark.parametrize("wrong", [{"layer": 2}, {"where": 2}, {"where": "layer = 3"}, {"where": "layer IN (1, 2)"}])
def test_interests_that_could_never_match(wrong: dict[str, Any]) -> None:
    with pytest.raises(InterestError):
        Interest.of(Box((0, 0), (1, 1)), **wrong)


@pytest.mark.parametrize(
    ("routers", "options"),
    [
        ((["udp:127.0.0.1:9"],), {}),
        ((9000,), {}),
        (("127.0.0.1:0",), {}),
        (("tcp:127.0.0.1:9",), {}),
        ((), {}),
        (("127.0.0.1:9", "[::1]:9"), {}),
        (("127.0.0.1:9",), {"timers": {"hello": 1}}),
        (("127.0.0.1:9",), {"timeout": -1}),
        (("127.0.0.1:9",), {"timeout": "x"}),
    ],
)
def test_connections_that_cannot_be_meant(routers: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        asyncio.run(aio.connect(*routers, **options))
