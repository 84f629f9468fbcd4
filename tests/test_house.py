"""The house: imports point down only, importing is light, and the documents say what the code says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.sources import tree

import onereshape as orx

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "onereshape"

# Each floor may import the floors above it in this list, and nothing below.
FLOORS = [
    {"delayed", "installed", "integers", "memory", "text"},
    {"carried", "notebook", "terms"},
    {"errors"},
    {"specs", "dtypes", "dims"},
    {"sizes"},
    {"condition"},
    {"apart", "bounds", "conditions", "narrowing"},
    {"target", "shape"},
    {"semantics", "balance"},
    {"cases"},
    {"plain"},
    {"inference", "explain"},
    {"factors"},
    {"arrays"},
    {"operator"},
    {"translation"},
    {"conformance", "formats", "onnx_backend", "shape_rule"},
    {"openvino"},
    {"models", "stores"},
    {"convert", "passes", "reports"},
    {"cli"},
    {"__init__", "__main__"},
]

MODELS = SOURCE / "models"

# The same inside models/, whose rooms are folders; a file that stands higher than its room is named by itself.
MODEL_FLOORS = [
    {"likely", "registry", "takes"},
    {"constants", "node_view", "request", "summary", "unneeded", "words"},
    {"batch.marks", "facts", "search"},
    {"rewrite"},
    {"edit"},
    {"batch"},
    {"free"},
    {"record"},
    {"batch.counting", "free.averages", "free.by_shape", "free.growth", "free.numbers"},
    {"batch.indices", "free.meeting"},
    {"operators"},
    {"shapes"},
    {"batch.search", "free.search"},
    {"batch.apply", "batch.per_sample", "batch.stacking", "free.freeing"},
    {"like"},
    {"certificates", "findings", "simpler"},
    {"images"},
    {"exports", "lacking", "pairing", "placing"},
    {"work"},
    {"step"},
    {"batch_work", "dims_work", "layered", "longest", "starts"},
    {"last_word"},
    {"unrepaired"},
    {"certify", "fix"},
    {"repairs"},
    {"check", "proof_fields"},
    {"proof_file", "show"},
]


def room(path: Path) -> str:
    """The module or sub-package that a file belongs to."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """The rooms of ours that a file imports, wherever in it, but for what only a type checker reads."""
    found = set()
    for node in imports(path):
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


def test_imports_point_down() -> None:
    height = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    assert {room(path) for path in FILES} - height.keys() == set(), "there is no floor for these"

    assert [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in FILES
        for name in imported(path) - {room(path)}
        if height[name] >= height[room(path)]
    ] == []


MODEL_HEIGHT = {name: floor for floor, names in enumerate(MODEL_FLOORS) for name in names}


def module(path: Path) -> str:
    """What a file of models/ is called inside it."""
    return ".".join(path.relative_to(MODELS).with_suffix("").parts).removesuffix(".__init__")


def model_room(name: str) -> str:
    """The file of models/ that has a floor of its own, or else the room that it is in."""
    return name if name in MODEL_HEIGHT else name.split(".", maxsplit=1)[0]


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, wherever in it, but for what only a type checker reads."""
    found: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            waiting += ast.iter_child_nodes(node)
    return found


def imported_in_models(path: Path) -> set[str]:
    """The rooms of models/ that a file of it imports, wherever in it."""
    home = "onereshape.repair."
    names: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(home):
            within = f"{node.module}.".removeprefix(home)
            names |= {f"{within}{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.removeprefix(home) for alias in node.names if alias.name.startswith(home)}
    here = {module(each) for each in MODEL_FILES}
    return {model_room(name if name in here else name.rpartition(".")[0]) for name in names}


MODEL_FILES = [path for path in FILES if path.is_relative_to(MODELS) and path != MODELS / "__init__.py"]


def test_imports_point_down_inside_models() -> None:
    rooms = {path: model_room(module(path)) for path in MODEL_FILES}
    assert set(rooms.values()) - MODEL_HEIGHT.keys() == set(), "there is no floor for these"

    assert [
        f"{path.relative_to(MODELS)} imports {name}"
        for path, here in rooms.items()
        for name in imported_in_models(path) - {here}
        if MODEL_HEIGHT[name] >= MODEL_HEIGHT[here]
    ] == []


def test_every_floor_of_models_has_a_room() -> None:
    assert {model_room(module(path)) for path in MODEL_FILES} == set().union(*MODEL_FLOORS)


def test_the_floors_of_models_are_seen() -> None:
    """A search reads the records, and so stands above them: the floors are no empty list."""
    assert imported_in_models(MODELS / "batch" / "search.py") >= {"batch", "facts", "node_view", "operators", "shapes"}
    assert imported_in_models(MODELS / "fix.py") >= {"batch_work", "dims_work", "request", "step"}
    assert imported_in_models(MODELS / "dims_work.py") >= {"free.freeing", "like", "step"}
    assert imported_in_models(MODELS / "batch_work.py") >= {"batch.search", "batch.apply", "request"}
    assert imported_in_models(MODELS / "record.py") == {"registry", "takes", "facts", "batch", "free"}
    assert imported_in_models(MODELS / "registry.py") == set()


def test_the_term_run_stands_alone() -> None:
    """It is written from ONNX's specification: it knows nothing of the rules by which models are repaired.

    `text`, which knows nothing, is how its proofs are printed."""
    files = [path for path in FILES if room(path) == "terms"]

    assert len(files) > 10
    assert set().union(*map(imported, files)) == {"terms", "text"}


def test_every_floor_has_a_room() -> None:
    assert {room(path) for path in FILES} == set().union(*FLOORS)


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
    assert {room(path) for path in FILES} & set(orx.__all__) == set()


def test_the_public_names() -> None:
    verbs = "resolve infer reshape translate load save check fix certify show report"
    nouns = "Reshape spec Shape Model Finding Change Fixed Certificate"
    errors = "ReshapeError FixError FormatError TranslateError"

    assert sorted(orx.__all__) == sorted(f"{verbs} {nouns} {errors} __version__".split())
    assert all(getattr(orx, name) is not None for name in orx.__all__)


def test_the_map_names_every_room() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^  (\w+)(?:\.py|/)", text, re.MULTILINE))

    assert named == {room(path) for path in FILES} - {"__init__", "__main__"}


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{orx.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_table_of_dialects_is_written_from_the_specifications() -> None:
    from docs.write_dialects import dialects

    assert (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8") == dialects()
