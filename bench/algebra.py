"""CPU µs of covers, union and over-approximation of regions, by the number of pieces.

A router pays these for every update: it unites what its neighbours want, sees whether that only shrinks (covers), and
widens it to its budget of pieces.
"""

import random
import sys
from collections.abc import Callable

from bench._measure import cpu_us, figure, parser, publish, random_box
from interest import Cylinder, Interest, Piece, Prism, Region, Sphere

BUDGET = 64


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = parser("algebra", __doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 600], help="pieces (%(default)s)")
    options.add_argument("--seconds", type=float, default=0.5, help="of CPU per figure (%(default)s)")
    given = options.parse_args(arguments)
    rows = [
        costs(name, piece, size, given.seconds)
        for size in given.sizes
        for name, piece in (("boxes", random_box), ("mixed", mixed))
    ]
    publish("algebra", {f"µs (budget {BUDGET})": rows})
    return 0


def mixed(rng: random.Random) -> Piece:
    """One of the four shapes, about as large as the boxes."""
    box = random_box(rng)
    (x, y, z), size = box.low, box.high[0] - box.low[0]
    match rng.randrange(4):
        case 0:
            return box
        case 1:
            return Sphere((x, y, z), size / 2)
        case 2:
            return Cylinder((x, y), size / 2, z, z + size)
        case _:
            return Prism([(x, y), (x + size, y), (x + size / 2, y + size)], z, z + size)


def costs(name: str, piece: Callable[[random.Random], Piece], size: int, seconds: float) -> dict[str, object]:
    """One row. `covers, no` stops at the first piece that is not covered, `yes` looks at all."""
    rng = random.Random(size)
    region = Region([piece(rng) for _ in range(size)])
    interest = Interest.of(region)
    parts = [Interest.of(each) for each in region]
    half = Interest.of(Region(region.pieces[::2]))
    other = Interest.of(Region([piece(rng) for _ in range(size)]))
    wide = interest.over_approximate(max(1, size // 10))
    assert interest.covers(half) and wide.covers(interest) and not half.covers(interest)
    measured = cpu_us(
        {
            "covers half of it": lambda: interest.covers(half),
            "a tenth as many cover it": lambda: wide.covers(interest),
            "covers not": lambda: half.covers(interest),
            "a | b": lambda: interest | other,
            "union of single pieces": lambda: Interest.union(parts),
            "over_approximate": lambda: interest.over_approximate(BUDGET),
        },
        seconds,
    )
    return {"pieces": size, "shapes": name} | {column: figure(cost) for column, cost in measured.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
