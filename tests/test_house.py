"""The house: imports point down only, importing is light, and the documents say what the code says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onereshape as orx

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "onereshape"

# Each floor may import the floors above it in this list, and nothing below.
FLOORS = [
    {"memory", "terms", "text"},
    {"errors"},
    {"specs", "dtypes", "dims"},
    {"condition"},
    {"apart", "bounds", "conditions", "narrowing"},
    {"target", "shape"},
    {"semantics", "balance"},
    {"cases"},
    {"inference", "explain"},
    {"arrays"},
    {"operator"},
    {"translation"},
    {"conformance", "formats", "onnx_backend", "shape_rule"},
    {"models", "stores"},
    {"convert"},
    {"cli"},
    {"__init__", "__main__"},
]


def room(path: Path) -> str:
    """The module or sub-package that a file belongs to."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """The rooms of ours that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "onereshape":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names = [node.module or ""]
            found |= {name.split(".")[1] for name in names if name.startswith("onereshape.")}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("onereshape.")}
    return found - {"__version__"}


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    height = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    here = room(path)
    assert here in height, f"{here} has no floor"

    assert [name for name in imported(path) if name != here and height[name] >= height[here]] == []


def test_the_term_run_stands_alone() -> None:
    """It is written from ONNX's specification: it knows nothing of the rules by which models are repaired."""
    files = [path for path in FILES if room(path) == "terms"]

    assert len(files) > 10
    assert set().union(*map(imported, files)) == {"terms"}


def test_every_floor_has_a_room() -> None:
    assert {room(path) for path in FILES} == set().union(*FLOORS)


def test_importing_is_light() -> None:
    heavy = ["onnx", "onnxruntime", "openvino", "torch", "jax", "sympy", "onnx_ir", "defusedxml", "dask", "rich"]
    code = f"import sys, onereshape; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.strip() == "[]"


def test_the_public_names() -> None:
    public = (
        "Certificate Reshape ReshapeError __version__ certify check fix infer load reshape resolve save spec translate"
    )

    assert sorted(orx.__all__) == public.split()


def test_the_map_in_the_readme_names_every_room() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^  (\w+)(?:\.py|/)", readme, re.MULTILINE))

    assert named >= {room(path) for path in FILES} - {"__init__", "__main__"}


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{orx.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_table_of_dialects_is_written_from_the_specifications() -> None:
    from docs.write_dialects import dialects

    assert (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8") == dialects()
