"""The file formats of topologies, one a module, each with `read` and, for what we write, `write`. Used by `..files`."""
