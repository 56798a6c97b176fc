"""Benchmarks, run by `python -m bench`: every module here with a `main(arguments) -> exit code` is one."""
