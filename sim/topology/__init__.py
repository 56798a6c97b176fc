"""Topologies: generators of their own (GT-ITM, BRITE), readers and writers, and the tree rooted at a core.

A topology is a `networkx.Graph` in the form that `graph` describes. Needs the extra `sim`.
"""
