"""The house: rooms, doors and words.  Imports point down only, importing is light, documents say what the code says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import onereshape as orx
from tests.house import SOURCE, circle, imports, modules, siblings, within
from tests.sources import tree

ROOT = Path(__file__).parent.parent

ROOMS = ["ground", "rule", "arrays", "formats", "graphs", "terms", "prove", "repair", "checks", "backends", "cli"]
"""Each may import those before it, and nothing after it: at the top, inside of functions, and for types alike."""

PACKAGES = sorted(name for name, path in modules().items() if path.name == "__init__.py")

SEVERAL_MEANINGS: dict[str, int] = {}
"""Names of classes and of types that stand for three things or more, and for how many: none may come, some may go."""

SEVERAL_FILES: dict[str, int] = {"contractions": 3, "pointwise": 3, "recurrent": 3, "reductions": 3, "windows": 3}
"""The same of names of files."""


def described(package: str) -> str:
    """The docstring of a room."""
    return ast.get_docstring(tree(modules()[package])) or ""


def door(package: str) -> set[str]:
    """What a room lets others import, by its own words: the last paragraph, `Door: this, that.`"""
    found = re.search(r"^Door: (.+?)\.$", described(package), re.MULTILINE | re.DOTALL)
    return set() if found is None else set(re.split(r",\s+", found[1]))


def test_the_first_level_has_rooms_and_no_files() -> None:
    assert sorted(siblings("")) == sorted([*ROOMS, "__main__"])
    assert sorted(path.name for path in SOURCE.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_imports_point_down() -> None:
    height = {room: floor for floor, room in enumerate(ROOMS)}
    rooms = {(one, other): (one.split(".")[0], other.split(".")[0]) for one, other in imports()}

    assert [
        f"{one} imports {other}"
        for (one, other), (first, second) in rooms.items()
        if first in height and second in height and height[first] < height[second]
    ] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda name: name or "onereshape")
def test_nothing_imports_in_circles(package: str) -> None:
    """What stands side by side has floors, too: files and inner rooms, however deep the module that imports."""
    assert circle(siblings(package)) == []


@pytest.mark.parametrize("package", [name for name in PACKAGES if name])
def test_others_come_in_by_the_door(package: str) -> None:
    used = {
        other.removeprefix(f"{package}.").split(".")[0]
        for one, other in imports()
        if within(other, package) and other != package and not within(one, package)
    }

    assert used - door(package) == set(), "imported from outside, and not named as its door"
    assert door(package) - used == set(), "named as its door, and imported by nobody"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_holds_what_it_leaves_to_others_and_where_to_begin(room: str) -> None:
    text = " ".join(described(room).split())

    assert len(text) > 200
    assert "left to" in text
    assert "Begin with" in text


def test_the_graph_of_imports_is_seen() -> None:
    """Imports inside of functions and those for types are seen: the graph is no empty one."""
    assert {("repair.fix", "graphs.request"), ("repair.fix", "repair.batch_work")} <= imports(), (
        "at the top, in functions"
    )
    assert ("checks.show", "rule.shape") in imports(), "for types"
    assert "__init__" not in modules()
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != []


def test_the_term_run_stands_alone() -> None:
    """It is written from ONNX's specification: it knows nothing of the rules by which models are repaired.

    `text`, which knows nothing, is how its proofs are printed; `bodies` has the functions that operators are
    composed of, which are text too and are held against onnxruntime."""
    assert sum(within(name, "terms") for name in modules()) > 10
    assert {other for one, other in imports() if within(one, "terms") and not within(other, "terms")} == {
        "ground.text",
        "ground.bodies",
    }


def test_a_name_has_one_meaning() -> None:
    """Classes, and aliases of types, whatever underscores they begin with."""
    found: Counter[str] = Counter()
    for path in modules().values():
        for node in tree(path).body:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            names = (
                [node.name]
                if isinstance(node, ast.ClassDef)
                else [each.id for each in targets if isinstance(each, ast.Name)]
            )
            found.update(name.lstrip("_") for name in names if re.match(r"_*[A-Z][a-z]", name))

    assert {name: count for name, count in found.items() if count > 2} == SEVERAL_MEANINGS


def test_a_file_has_a_name_of_its_own() -> None:
    found = Counter(name.rpartition(".")[2] for name in modules())

    assert {name: count for name, count in found.items() if count > 2} == SEVERAL_FILES


def test_importing_is_light() -> None:
    heavy = [
        "onnx",
        "onnxruntime",
        "openvino",
        "torch",
        "jax",
        "sympy",
        "onnx_ir",
        "defusedxml",
        "dask",
        "rich",
        "numpy",
    ]
    code = f"import sys, onereshape; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.strip() == "[]"


def test_no_room_is_named_as_what_is_public() -> None:
    """Whoever imported such a room would find it in the place of the function or the class."""
    assert set(ROOMS) & set(orx.__all__) == set()


def test_the_public_names() -> None:
    verbs = "resolve infer reshape translate load save check fix certify show report"
    nouns = "Reshape spec Shape Model Finding Change Fixed Certificate"
    errors = "ReshapeError FixError FormatError TranslateError"

    assert sorted(orx.__all__) == sorted(f"{verbs} {nouns} {errors} __version__".split())
    assert all(getattr(orx, name) is not None for name in orx.__all__)


def test_the_map_names_every_room() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(r"^  (\w+)/ ", text, re.MULTILINE) == ROOMS


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{orx.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_table_of_dialects_is_written_from_the_specifications() -> None:
    from docs.write_dialects import dialects

    assert (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8") == dialects()


def test_what_others_import_is_found_under_its_public_name() -> None:
    import onereshape.passes
    from onereshape import onnx_backend, shape_rule

    assert onereshape.passes.FreeBatch.__module__ == "onereshape.repair.passes"
    assert onnx_backend.prepare is not None
    assert shape_rule.register is not None
