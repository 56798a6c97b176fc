"""Imports run one way, sim -> {cbcb, semcast} -> cbsmrp -> interest, and engine and algebra have no clocks or sockets.

Walks the syntax of every module, imports inside functions included. Names of upper packages may stand in strings (the
table of the command's verbs); those are loaded when called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: What each package may import of the project, besides itself.
BELOW: dict[str, set[str]] = {
    "interest": set(),
    "cbsmrp": {"interest"},
    "cbcb": {"cbsmrp", "interest"},
    "semcast": {"cbsmrp", "interest"},
    "sim": {"cbcb", "semcast", "cbsmrp", "interest"},
}
#: What of cbsmrp touches the world: Twisted, files, the command line. Everything else is engine.
EDGE = {"aio.py", "metrics.py", "service.py", "traces.py", "udp", "cli"}
FORBIDDEN = {"twisted", "time", "datetime", "socket", "asyncio", "threading", "os", "select", "secrets", "subprocess"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(module, names) of every import of a file; relative ones made absolute."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level:
                base = package[: len(package) - node.level + 1]
                yield ".".join([*base, *([node.module] if node.module else [])]), names
            else:
                assert node.module is not None
                yield node.module, names


def pure() -> list[Path]:
    cbsmrp = ROOT / "cbsmrp"
    engine = [path for path in modules("cbsmrp") if path.relative_to(cbsmrp).parts[0] not in EDGE]
    return [*modules("interest"), *engine]


@pytest.mark.parametrize("package", BELOW)
def test_imports_run_downwards(package: str) -> None:
    for path in modules(package):
        for module, _ in imports(path):
            top = module.split(".")[0]
            assert top not in BELOW or top == package or top in BELOW[package], f"{path} imports {module}"


def test_every_package_of_the_project_has_its_place() -> None:
    for name in BELOW:
        if (ROOT / name).exists():
            assert modules(name), name
    for path in [*modules("interest"), *modules("cbsmrp"), *modules("sim")]:
        for module, _ in imports(path):
            assert module.split(".")[0] not in {"tests", "bench", "examples"}, f"{path} imports {module}"


@pytest.mark.parametrize("path", pure(), ids=lambda path: str(path.relative_to(ROOT)))
def test_engine_and_algebra_have_no_clock_and_no_socket(path: Path) -> None:
    for module, _ in imports(path):
        assert module.split(".")[0] not in FORBIDDEN, f"{path} imports {module}"


@pytest.mark.parametrize("path", pure(), ids=lambda path: str(path.relative_to(ROOT)))
def test_engine_and_algebra_use_no_global_randomness(path: Path) -> None:
    """`random.Random` as a type of what is handed in, and nothing else of the module."""
    for module, names in imports(path):
        if module == "random":
            assert set(names) <= {"Random"}, f"{path} imports {names} of random"
        assert not module.startswith("numpy.random"), path
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random":
            assert node.attr == "Random", f"{path}:{node.lineno} random.{node.attr}"
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            assert text not in {"random.Random", "Random"}, f"{path}:{node.lineno} makes its own {text}"
            assert not text.startswith(("np.random", "numpy.random")), f"{path}:{node.lineno} {text}"
