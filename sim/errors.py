"""What a user of the simulator got wrong. Raised anywhere in `sim`, told by the command line in one line."""

from __future__ import annotations

from cbsmrp.config import ConfigError


class SimulationError(ConfigError):
    """One line: the value that is wrong, and the remedy. Its kinds are defined where they arise."""
