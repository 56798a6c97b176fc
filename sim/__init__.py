"""The simulator: the routers and hosts that run live, under a virtual clock on modelled links.

`sim.run(scenario, seed)` runs one scenario; see `sim.scenario.scenario` for what that is, and `sim.runs.results` for
what comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.runs.events import run as run


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: the demo and the tests need none of its libraries."""
    if name == "run":
        from sim.runs.events import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
