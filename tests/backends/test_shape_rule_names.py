"""The one module that knows onnx-shape-inference: the names that it needs of that library, and who never loads it."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import pytest
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference import _symbolic_shapes as symbolic

from onereshape.backends import shape_rule
from tests.sources import tree

LIBRARY = f"onnx-shape-inference {version('onnx-shape-inference')}"
HEAVY = ("sympy", "onnx_shape_inference")
MODELS = Path(__file__).parent.parent / "data" / "models"
SOURCE = Path(shape_rule.__file__)
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    # where it is, and how it is called
    "check_inputs": (engine, ("node", "data", "shape"), {}),
    "infer_symbolic_shapes": (engine, ("model",), {"policy": "skip", "warn_on_missing": False}),
    "dim_to_expr": (symbolic, ("dim",), {}),
    "expr_to_dim": (symbolic, ("expr",), {}),
    "get_opset_version": (engine.ShapeInferenceContext, ("self", ""), {}),
    "set_shape_and_dtype": (engine.ShapeInferenceContext, ("self", "value", None, "dtype"), {}),
    "set_shape": (engine.ShapeInferenceContext, ("self", "value", "shape"), {}),
    "record_error": (engine.ShapeInferenceContext, ("self", "node", "text"), {}),
    "get_symbolic_value": (engine.ShapeInferenceContext, ("self", "value"), {}),
    "set_symbolic_value": (engine.ShapeInferenceContext, ("self", "value", "values"), {}),
    "new_symbolic_dim": (engine.ShapeInferenceContext, ("self",), {}),
    "is_generated_symbol": (engine.ShapeInferenceContext, ("self", "name"), {}),
    "register": (engine.OpShapeInferenceRegistry, ("self", "", "Reshape"), {"since_version": 1}),
    "get": (engine.OpShapeInferenceRegistry, ("self", "", "Reshape", 1), {}),
    "version_boundaries": (engine.OpShapeInferenceRegistry, ("self", "", "Reshape"), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_the_adapter_calls_is_there(name: str) -> None:
    where, given, named = CALLS[name]
    found = getattr(where, name, None)

    assert callable(found), f"{LIBRARY} has no {name}, which {SOURCE.name} calls"
    try:
        inspect.signature(found).bind(*given, **named)
    except TypeError as error:
        pytest.fail(f"{LIBRARY} takes {name}{inspect.signature(found)}, and {SOURCE.name} calls it otherwise: {error}")


def test_every_name_that_the_adapter_uses_is_in_the_table() -> None:
    """What it takes from the library, from a context or from the registry."""
    used = set()
    for node in ast.walk(tree(SOURCE)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {
            *("engine", "ctx", "self._ctx", "registry", "engine.registry")
        }:
            used.add(node.attr)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onnx_shape_inference"):
            used.update(each.name for each in node.names)
    things = {"ShapeInferenceContext", "OpShapeInferenceRegistry", "registry", "opset_imports"}

    assert used == set(CALLS) | things
    assert isinstance(engine.registry, engine.OpShapeInferenceRegistry), LIBRARY
    assert engine.ShapeInferenceContext({"": 18}).opset_imports == {"": 18}, LIBRARY
    assert issubclass(engine.ShapeInferenceError, Exception), LIBRARY


def test_dims_and_expressions_are_one_another() -> None:
    size = sympy.Symbol("N", integer=True, positive=True)

    assert symbolic.dim_to_expr(3) == 3, LIBRARY
    assert symbolic.dim_to_expr(ir.SymbolicDim("N")) == size, LIBRARY
    assert symbolic.expr_to_dim(sympy.Integer(3)) == 3, LIBRARY
    assert str(symbolic.expr_to_dim(2 * size).value) == "2*N", LIBRARY


def test_the_library_is_named_in_one_module_only() -> None:
    """Every other module would bring sympy along."""
    named = set()
    for path in SOURCE.parent.rglob("*.py"):
        for node in ast.walk(tree(path)):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] in HEAVY for name in names):
                named.add(path.name)

    assert named == {SOURCE.name}


NOTING = """
import sys


class Noting:
    def find_spec(self, name, path=None, target=None):
        if name in {HEAVY}:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename or frame.f_globals.get("__name__") == __name__:
                frame = frame.f_back
            by = str(frame.f_globals.get("__name__")).split(".")[0]
            open({FOLDER} + "/" + name + " by " + by, "w").close()


sys.meta_path.insert(0, Noting())
"""


def loaded(folder: Path, *command: str) -> tuple[int, set[str]]:
    """The exit code of a command, and which of the libraries it, or a process that it starts, loads, and for whom."""
    marks, noting = folder / "marks", folder / "noting"
    for each in (marks, noting):
        each.mkdir()
    text = NOTING.replace("{HEAVY}", repr(HEAVY)).replace("{FOLDER}", repr(str(marks)))
    (noting / "sitecustomize.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(noting), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return run.returncode, {each.name for each in marks.iterdir()}


THEIRS = {"sympy by onnx_ir"}
"""What reads model files needs sympy for itself."""


def test_what_loads_the_library_is_noticed(tmp_path: Path) -> None:
    code, found = loaded(tmp_path, "-c", "from onereshape.shape_rule import register")

    assert code == 0
    assert found - THEIRS == {"onnx_shape_inference by onereshape"}


def test_what_loads_sympy_is_noticed(tmp_path: Path) -> None:
    assert loaded(tmp_path, "-c", "import sympy") == (0, {"sympy by __main__"})


COMMANDS = {
    "check": ["check", "{model}"],
    "check the batch": ["check", "{model}", "--batch"],
    "fix": ["fix", "{model}", "-o", "{out}", "--batch", "--no-certify"],
    "fix and simplify": ["fix", "{model}", "-o", "{out}", "--batch", "--simplify", "--no-certify"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_load_neither_for_us(words: list[str], tmp_path: Path) -> None:
    model, out = MODELS / "attention_split.ts.onnx", tmp_path / "out.onnx"
    code, found = loaded(tmp_path, "-m", "onereshape", *(word.format(model=model, out=out) for word in words))

    assert found <= THEIRS
    assert code in {0, 1}
    assert words[0] == "check" or out.exists()
