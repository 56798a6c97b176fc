"""Boxes without ends in the R-tree: an overflow inside it ends the process, and a neighbour could ask for that."""

import math
import random

import pytest

from interest import Box, Interest, InterestIndex, Point

FAR = (-math.inf, -1e308, -1e200)


@pytest.mark.parametrize("near", [0.0, 0.4])
def test_many_boxes_reach_to_infinity_on_all_axes(near):
    rng = random.Random(f"far {near}")

    def interest():
        low = [rng.uniform(-10, 10) if rng.random() < near else rng.choice(FAR) for _ in range(3)]
        high = [rng.uniform(10, 20) if rng.random() < near else -rng.choice(FAR) for _ in range(3)]
        return Interest.of(Box(low, high), where=f"n = {rng.randrange(1000)}")

    index = InterestIndex()
    wanted = {key: interest() for key in range(300)}
    for key, each in wanted.items():
        index.insert(key, each)
    for _ in range(600):
        key = rng.randrange(300)
        wanted[key] = interest()
        index.replace(key, wanted[key])
    for scale in (1.0, 15.0, 1e90, 1e99):
        point, attributes = Point([rng.uniform(-scale, scale) for _ in range(3)]), {"n": rng.randrange(1000)}
        assert index.find(point, attributes) == [key for key, each in wanted.items() if each.matches(point, attributes)]
