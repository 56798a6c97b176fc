"""CPU time per publication of a forwarding process; see `__main__`."""
