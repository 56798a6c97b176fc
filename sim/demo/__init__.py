"""The main job: `cbsmrp demo`. A tree of router processes on loopback, a crowd on it, and a check of every delivery.

`command` is the verb; each process it starts begins in `child`. Nothing is imported here, so that a router's process
does not load the oracle.
"""
