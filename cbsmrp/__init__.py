"""CBSMRP: content-based routing on a core-based tree for distributed virtual environments."""

__version__ = "0.1.0"
