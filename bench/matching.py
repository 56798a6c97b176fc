"""CPU µs of finding the interests that match a publication: the index beside a linear scan, and updates of the index.

Interests are boxes of 1 % of the world on each axis, with and without a condition on attributes; publications are
points. The last table shows up to how many entries the index should scan instead of asking its R-tree.
"""

import random
import sys
from itertools import cycle
from unittest import mock

from bench._measure import cpu_us, figure, parser, publish, random_box, random_point
from interest import Box, Interest, InterestIndex, Region, Value, index

LAYERS = ("vehicles", "weather", "voices", "projectiles")


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("matching", __doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000], help="interests (%(default)s)")
    options.add_argument("--scanned", type=int, nargs="*", default=[16, 32, 64, 96, 128, 192, 256, 512])
    options.add_argument("--seconds", type=float, default=0.5, help="of CPU per figure (%(default)s)")
    given = options.parse_args(arguments)
    find = [finding(size, attributes, given.seconds) for size in given.sizes for attributes in (False, True)]
    publish(
        "matching",
        {
            "find, µs": find,
            "replace, µs": [replacing(size, given.seconds) for size in given.sizes],
            f"scan or R-tree, µs (the index scans up to {index.FEW})": [
                threshold(size, given.seconds) for size in given.scanned
            ],
        },
    )
    return 0


def interests(size: int, attributes: bool) -> list[Interest]:
    """One box each; with `attributes` also a layer and a speed."""
    rng = random.Random(size)
    if not attributes:
        return [Interest.of(random_box(rng)) for _ in range(size)]
    return [
        Interest.of(random_box(rng), layer=rng.choice(LAYERS), where=f"speed > {rng.randrange(100)}")
        for _ in range(size)
    ]


def filled(wanted: list[Interest]) -> InterestIndex[int]:
    """An index of them all."""
    table: InterestIndex[int] = InterestIndex()
    for key, interest in enumerate(wanted):
        table.insert(key, interest)
    return table


def finding(size: int, with_attributes: bool, seconds: float) -> dict[str, object]:
    """The index and the scan give the same answers; what they cost."""
    rng = random.Random(0)
    wanted = interests(size, with_attributes)
    table = filled(wanted)
    points = [random_point(rng) for _ in range(1024)]
    attributes: dict[str, Value] = {"layer": "weather", "speed": 50.0, "name": "x"} if with_attributes else {}
    for point in points[:50]:
        assert table.find(point, attributes) == [n for n, each in enumerate(wanted) if each.matches(point, attributes)]
    some, others = cycle(points), cycle(points)

    def scan() -> None:
        point = next(others)
        [number for number, interest in enumerate(wanted) if interest.matches(point, attributes)]

    costs = cpu_us({"index": lambda: table.find(next(some), attributes), "scan": scan}, seconds)
    return {
        "interests": size,
        "attributes": with_attributes,
        "index": figure(costs["index"]),
        "linear scan": figure(costs["scan"]),
        "ratio": figure(costs["scan"] / costs["index"]),
    }


def replacing(size: int, seconds: float) -> dict[str, object]:
    """A box that moves; 64 boxes of which one, or all, move. All among `size` other boxes."""
    rng = random.Random(1)
    table = filled(interests(size, False))
    fixed = [random_box(rng) for _ in range(63)]
    boxes = cycle([Interest.of(random_box(rng)) for _ in range(64)])
    one = cycle([Interest.of(Region([*fixed, random_box(rng)])) for _ in range(64)])
    every = cycle([Interest.of(Region([random_box(rng) for _ in range(64)])) for _ in range(16)])
    for key in (-1, -2, -3):
        table.insert(key, Interest.of(Box((0, 0, 0), (1, 1, 1))))
    costs = cpu_us(
        {
            "a box": lambda: table.replace(-1, next(boxes)),
            "1 of 64": lambda: table.replace(-2, next(one)),
            "64 of 64": lambda: table.replace(-3, next(every)),
        },
        seconds,
    )
    return {"interests": size} | {name: figure(cost) for name, cost in costs.items()}


def threshold(size: int, seconds: float) -> dict[str, object]:
    """The same index without and with its R-tree."""
    wanted = interests(size, False)
    points = cycle([random_point(random.Random(number)) for number in range(256)])
    with mock.patch.object(index, "FEW", size):
        scanned = filled(wanted)
    with mock.patch.object(index, "FEW", 0):
        treed = filled(wanted)
    costs = cpu_us(
        {"scan": lambda: scanned.find(next(points), {}), "R-tree": lambda: treed.find(next(points), {})}, seconds
    )
    return {"entries": size} | {name: figure(cost) for name, cost in costs.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
