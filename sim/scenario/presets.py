"""Scenarios by name, as the tables that a TOML file would hold: what `preset = ...` in a scenario begins with.

Read by `scenario`. Timers of presets with many routers are long: nothing fails there, and hellos would be most of what
is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_QUIET = {"hello": 30.0, "hold": 105.0, "host_hello": 30.0, "host_hold": 105.0, "linger": 0.0}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # A tree that a developer's machine simulates in a second or two.
    "small": {"hosts": 24, "seconds": 5.0, "topology": {"tree": [3, 3]}},
    # The paper's network and world: 1 + 1050 routers of at most 12 links, boxes of up to 220 x 220 x 200 m.
    "paper": {
        "hosts": 100,
        "seconds": 2.0,
        "topology": {"preset": "paper"},
        "workload": {"kind": "oscillating", "rate": 30.0},
        "areas": {"smallest": 0.0},
        "timers": _QUIET,
    },
    # Figure 4: 3000 publications a second. The paper does not say how many hosts subscribe; 23 boxes of the full size
    # let 66 % of all points be wanted somewhere else, which is the paper's 1980 of 3000.
    "paper-fig4": {
        "hosts": 100,
        "seconds": 2.0,
        "topology": {"preset": "paper"},
        "workload": {"kind": "oscillating", "rate": 30.0},
        "areas": {"subscribers": 33},
        "timers": _QUIET,
    },
}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables; where both have a key, the value from `above`, and of two tables both again."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result
