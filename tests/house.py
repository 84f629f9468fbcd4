"""The graph of imports among our modules: at the top of files, inside of functions, and for types alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.sources import tree

SOURCE = Path(__file__).parent.parent / "src" / "onereshape"
Imports = frozenset[tuple[str, str]]
"""Who imports, and what: modules by their dotted names without `onereshape`."""


@cache
def modules() -> dict[str, Path]:
    """`rule.specs` -> its file; a package by its own name, `onereshape` itself as an empty one."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def imports() -> Imports:
    """Every import of one of our modules by another."""
    return frozenset((name, other) for name, path in modules().items() for other in _imported(path) if other != name)


def _imported(path: Path) -> Iterator[str]:
    known = modules().keys()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (each.name.removeprefix("onereshape.") for each in node.names if _is_ours(each.name))
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            assert node.level == 0, f"{path.name}: relative import"
            home = (node.module or "").removeprefix("onereshape").removeprefix(".")
            for each in node.names:
                whole = f"{home}.{each.name}".removeprefix(".")
                yield whole if whole in known else home


def _is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == "onereshape"


def within(name: str, package: str) -> bool:
    """Whether a module is in a package: `rule.sizes.text` in `rule`, every module in the empty one."""
    return not package or f"{name}.".startswith(f"{package}.")


def siblings(package: str) -> dict[str, set[str]]:
    """What stands side by side in a package, files and inner rooms, and which of them import which."""
    start = f"{package}." if package else ""
    found: dict[str, set[str]] = {
        name.removeprefix(start).split(".")[0]: set()
        for name in modules()
        if name.startswith(start) and name != package
    }
    for one, other in imports():
        if one.startswith(start) and other.startswith(start) and one != package != other:
            first, second = (each.removeprefix(start).split(".")[0] for each in (one, other))
            if first and second and first != second:
                found[first].add(second)
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """`{"a": {"b"}, "b": {"a"}}` -> a circle of them, `[]` where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []
