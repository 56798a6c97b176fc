"""List and run the benchmarks.

`python -m bench --list`, `python -m bench NAME [ITS ARGUMENTS]`, and `python -m bench` for all of them.
"""

import ast
import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

import bench


def benches() -> dict[str, str]:
    """Name of each benchmark -> its module: a module of this package, or a folder with a __main__."""
    found = {}
    for module in pkgutil.iter_modules(bench.__path__):
        if module.ispkg:
            found[module.name] = f"bench.{module.name}.__main__"
        elif not module.name.startswith("_"):
            found[module.name] = f"bench.{module.name}"
    return dict(sorted(found.items()))


def about(module: str) -> str:
    """The first line of a module's docstring, without running it."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").partition("\n")[0]


def main(arguments: list[str]) -> int:
    """Run what is asked for; the exit code is that of the first benchmark that failed."""
    known = benches()
    match arguments:
        case ["--list" | "--help" | "-h"]:
            for name, module in known.items():
                print(f"{name:12} {about(module)}")
            return 0
        case [name, *rest] if name in known:
            return int(importlib.import_module(known[name]).main(rest))
        case [name, *_]:
            print(f"bench: there is no benchmark {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    codes = []
    for name, module in known.items():
        print(f"== {name}: {about(module)}", file=sys.stderr, flush=True)
        codes.append(int(importlib.import_module(module).main([])))
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
