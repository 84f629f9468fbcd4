"""The public names: found late and known early, typed without Any, documented, each with an example that runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, ForwardRef, TypeVar

import pytest

import onereshape as orx

VERBS = [name for name in orx.__all__ if name.islower() and not name.startswith("_")]
NOUNS = [name for name in orx.__all__ if name[0].isupper()]

HELD: dict[str, str] = {
    "Model.content": "a oneDNN graph is the JSON of its file",
    "ModelData.content": "the same",
    "ReshapeNode.attributes": "as the file has them",
    "ReshapeNode.node": "the node itself, in its own library's words",
    "ElementType.numpy": "np.dtype[Any] is NumPy's own word for any dtype",
    "Counterexample.feeds": "arrays of any type",
    "Counterexample.beside": "the same",
}
"""Where Any stands for what another library holds, and why."""


# Types, as they are at run time


@cache
def for_checkers(module: str) -> dict[str, Any]:
    """What a module imports for type checkers only."""
    found: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec("\n".join(map(ast.unparse, node.body)), found)  # noqa: S102 - our own source
    return found


@cache
def aliases() -> dict[str, Any]:
    """The aliases that are strings, since what they name is imported by nobody."""
    found: dict[str, Any] = {}
    for place, alias in (("onereshape.formats.given", "Given"), ("onereshape.graphs.exports", "Exports")):
        names = vars(importlib.import_module(place))
        found[alias] = eval(names[alias], {**names, **for_checkers(place), **found})  # noqa: S307 - our own source
    return found


def home(thing: Any) -> str:
    """The module that defines a function or a class; an error that is public says that it is the package."""
    found: str = thing.__module__
    return found if found != "onereshape" else thing.__init__.__module__


def hints(thing: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in {home(each) for each in (thing, *filter(is_dataclass, getattr(thing, "__mro__", ())))}:
        names |= {**vars(sys.modules[module]), **for_checkers(module)}
    return typing.get_type_hints(thing, localns={**names, **aliases()})


def parts(annotation: Any, seen: set[Any]) -> Iterator[Any]:
    """An annotation and all that it is made of."""
    if isinstance(annotation, list):  # the arguments of a Callable
        for each in annotation:
            yield from parts(each, seen)
        return
    if annotation in seen or isinstance(annotation, str | ForwardRef):
        return
    seen.add(annotation)
    yield annotation
    if isinstance(annotation, TypeVar):
        yield from parts(annotation.__bound__, seen)
    for each in typing.get_args(annotation):
        yield from parts(each, seen)


def signatures(function: Any) -> list[dict[str, Any]]:
    """The types of a function, as callers see them."""
    if function is type(orx.reshape).__call__:  # which has the name of the function that it stands for
        function = FunctionType(function.__code__, function.__globals__)
        function.__qualname__ = "_Reshaping.__call__"
    return [hints(each) for each in typing.get_overloads(function) or [function]]


def members(kind: type) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The public fields and methods of a class, with their types."""
    for name, annotation in hints(kind).items():
        if not name.startswith("_"):
            yield name, [{name: annotation}]
    for name, value in vars(kind).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        made = name == "__init__" and not is_dataclass(kind)  # that of a dataclass is made of its fields
        if isinstance(function, FunctionType) and (not name.startswith("_") or name == "__call__" or made):
            yield name, signatures(function)


def is_ours(thing: Any) -> bool:
    return isinstance(thing, type) and thing.__module__.partition(".")[0] == "onereshape"


def typed() -> dict[str, list[Any]]:
    """Every public function, field and method, and those of the values that they give, with the types they are of."""
    found: dict[str, list[Any]] = {}
    waiting: list[tuple[str, list[dict[str, Any]]]] = []
    classes: list[type] = [getattr(orx, name) for name in NOUNS]
    for name in VERBS:
        verb = getattr(orx, name)
        waiting.append((name, signatures(verb if isinstance(verb, FunctionType) else type(verb).__call__)))
    while waiting or classes:
        for name, every in waiting:
            made = [part for each in every for hint in each.values() for part in parts(hint, set())]
            found[name] = made
            classes += [part for part in made if is_ours(part)]
        waiting = []
        while classes:
            kind = classes.pop()
            if kind.__name__ not in found:
                found[kind.__name__] = []
                waiting += [(f"{kind.__name__}.{name}", every) for name, every in members(kind)]
    return found


def test_the_walk_sees_what_is_nested() -> None:
    found = typed()

    assert {"fix", "Fixed.certificate", "Proof.outputs", "OutputTerms.axis", "Spec.flag", "Reshape.__call__"} <= set(
        found
    )
    assert Any in parts(dict[str, list[tuple[int, Any]]], set())
    assert Any in parts(typing.Callable[[Any], int], set())
    assert Any not in parts(orx.errors.JSON, set())  # type: ignore[attr-defined]


def test_no_public_type_is_any() -> None:
    vague = {name for name, made in typed().items() if Any in made}

    assert vague - set(HELD) == set()
    assert {name for name in HELD if name not in vague} == set(), "no longer needed"


# Types, as mypy sees them

GOOD = """
import io
import numpy as np
import onereshape as orx
from onereshape import Certificate, Change, Finding, Fixed, Shape

dims: tuple[int, ...] = orx.resolve([2, 3, 4], [0, -1], "onnx-14")
shape: Shape = orx.infer(["N", None, (1, 8)], [0, -1], "openvino", special_zero=True)
again: Shape = orx.infer(shape.to_json(), [0, -1], "onnx", bounds={"N": (1, None)})
x = np.zeros((2, 3, 4), np.float32)
y = orx.reshape(x, [0, -1], "onnx", copy=True)
total: int = y.ndim
op: orx.Reshape = orx.translate(orx.Reshape("onnx-24", allowzero=1), "openvino", target=[0, 4])
z = op.bind([0, -1])(x)
found: list[Finding] = orx.check("m.onnx", batch=True, free={"x": {1: "S"}})
fixed: Fixed = orx.fix("m.onnx", batch={"x": 0})
changes: tuple[Change, ...] = fixed.changes
certificate: Certificate | None = fixed.certificate
if fixed.certificate is not None and fixed.certificate.proof is not None:
    sure: bool = fixed.certificate.proof.always
model: orx.Model = orx.load("m.onnx")
orx.save(fixed.model, "n.onnx")
try:
    orx.certify(model, fixed.model, batch=True)
except orx.FixError as error:
    print(error.code, error.certificate.reason if error.certificate else error.sentence)
    print(error.certificate is not None and (error.certificate.status == "differs", error.certificate.to_json()))
except (orx.FormatError, orx.TranslateError, orx.ReshapeError) as error:
    print(error.spec is not None and (error.spec.name, error.spec.dialect, error.spec.operator, error.spec.version))
    print(error.spec is not None and error.spec.flag is not None and error.spec.flag.name)
version: str = orx.__version__
"""

WRONG = {
    'orx.chekc("m.onnx")': "attr-defined",
    "orx.Finding.cod": "attr-defined",
    'orx.fix("m.onnx").changes[0].bevor': "attr-defined",
    'orx.fix("m.onnx").certificate.status': "union-attr",
    'orx.check("m.onnx")[0].tensor.upper()': "union-attr",
    'orx.check("m.onnx", bach=True)': "call-arg",
    'orx.resolve(["N"], [0], "onnx")': "list-item",
    'orx.resolve([2], [0], "onnx").append(1)': "attr-defined",
    'orx.infer([1.5], [0], "onnx")': "list-item",
    'orx.reshape([[1.0]], [0, -1], "onnx")': "call-overload",
    'orx.reshape(np.zeros(3), [0, -1], "onnx").shap': "attr-defined",
    'orx.Reshape("onnx").taget': "attr-defined",
    'orx.Reshape("onnx", allowzero="yes")': "arg-type",
    'orx.fix("m.onnx", free={"x": "S"})': "dict-item",
    "orx.ReshapeError('volume').axis.real": "union-attr",
    "from onereshape import chekc": "attr-defined",
}

REVEALED = {
    'orx.resolve([2], [0], "onnx")': "tuple[int, ...]",
    'orx.infer(["N"], [0], "onnx")': "onereshape.rule.shape.Shape",
    'orx.infer(["N"], [0], "onnx")[0]': "int | None | str | tuple[int, int | None]",
    'orx.reshape(np.zeros(3, np.int8), [0], "onnx").dtype.itemsize': "int",
    'orx.reshape(np.float32(3), [1], "onnx").ndim': "int",
    'orx.translate(orx.Reshape("onnx"), "openvino")': "onereshape.arrays.operator.Reshape",
    'orx.load("m.onnx")': "onereshape.formats.model.Model",
    'orx.save(orx.load("m.onnx"), "n.onnx")': "None",
    'orx.check("m.onnx")': "onereshape.checks.findings.finding.Findings",
    'orx.check("m.onnx")[0]': "onereshape.checks.findings.finding.Finding",
    'orx.fix("m.onnx")': "onereshape.repair.step.Fixed",
    'orx.fix("m.onnx").certificate': "onereshape.prove.certificate.Certificate | None",
    'orx.fix("m.onnx").changes': "tuple[onereshape.graphs.edit.Change, ...]",
    'orx.certify("m.onnx", "n.onnx")': "onereshape.prove.certificate.Certificate",
    'orx.spec("onnx").flag': "onereshape.rule.specs.Flag | None",
    "orx.ReshapeError('volume').data": "tuple[int | None | str | tuple[int, int | None], ...] | None",
    'orx.show("m.onnx")[0]': "onereshape.checks.show.ReshapeRow",
    'orx.report("m.onnx")': "str",
}


LARGEST = "torch jax jaxlib dask distributed zarr openvino onnx onnx_ir sympy cupy"
CONFIGURATION = f"""
[mypy]
strict = True
follow_imports = silent
disable_error_code = func-returns-value
[mypy-{",".join(f"{name}.*" for name in LARGEST.split())}]
follow_imports = skip
"""
"""As strict as can be, but without reading the largest libraries, which takes minutes."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each snippet; all in one run, which takes as long as one."""
    folder = tmp_path_factory.mktemp("snippets")
    head = "import numpy as np\nimport onereshape as orx\n"
    files = {"good": GOOD}
    files |= {f"wrong_{number}": f"{head}{text}\n" for number, text in enumerate(WRONG)}
    files |= {f"revealed_{number}": f"{head}reveal_type({text})\n" for number, text in enumerate(REVEALED)}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "mypy.ini").write_text(CONFIGURATION)
    words = ["--config-file", str(folder / "mypy.ini"), "--cache-dir", str(folder / "cache")]
    paths = [str(folder / f"{name}.py") for name in files]
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", *words, *paths],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert run.returncode in {0, 1}, run.stdout + run.stderr
    said: dict[str, list[str]] = {name: [] for name in files}
    for line in run.stdout.splitlines():
        name = Path(line.split(":", 1)[0]).stem
        if name in said:
            said[name].append(line)
    return said


def test_what_is_right_passes_mypy(told: dict[str, list[str]]) -> None:
    assert told["good"] == []


@pytest.mark.parametrize(("number", "code"), list(enumerate(WRONG.values())), ids=list(WRONG))
def test_what_is_wrong_does_not(told: dict[str, list[str]], number: int, code: str) -> None:
    errors = [line for line in told[f"wrong_{number}"] if ": error: " in line]

    assert errors
    assert all(line.endswith(f"[{code}]") for line in errors)


@pytest.mark.parametrize(("number", "kind"), list(enumerate(REVEALED.values())), ids=list(REVEALED))
def test_results_have_types(told: dict[str, list[str]], number: int, kind: str) -> None:
    (line,) = told[f"revealed_{number}"]

    assert line.endswith(f'Revealed type is "{kind}"')
    assert "Any" not in line


# Names


@pytest.mark.parametrize(("typo", "meant"), [("chekc", "check"), ("Certficate", "Certificate"), ("Fixd", "Fixed")])
def test_a_typo_names_what_was_meant(typo: str, meant: str) -> None:
    with pytest.raises(AttributeError) as refusal:
        getattr(orx, typo)

    assert str(refusal.value) == f"module 'onereshape' has no attribute '{typo}' (did you mean '{meant}'?)"


@pytest.mark.parametrize("name", ["quux", "__wrapped__", "_private", "", "\x1b[2J", "a" * 100_000])
def test_what_is_nothing_like_a_name_is_only_refused(name: str) -> None:
    with pytest.raises(AttributeError) as refusal:
        getattr(orx, name)

    assert "did you mean" not in str(refusal.value)
    assert str(refusal.value).isprintable()
    assert not hasattr(orx, name)


def test_the_hint_is_given_once() -> None:
    """Python has a hint of its own for names that it knows; ours is in the message, where notebooks see it too."""
    run = subprocess.run(
        [sys.executable, "-c", "import onereshape as orx; orx.chekc"], check=False, capture_output=True, text=True
    )

    assert run.stderr.lower().count("did you mean") == 1


def test_every_name_is_found_and_listed() -> None:
    assert dir(orx) == sorted(orx.__all__)
    assert all(getattr(orx, name) is getattr(orx, name) for name in orx.__all__)


# Documents


@pytest.mark.parametrize("name", [*VERBS, *NOUNS])
def test_every_public_name_has_an_example(name: str) -> None:
    thing = getattr(orx, name)
    text = inspect.getdoc(thing) or ""

    assert doctest.DocTestParser().get_examples(text), "its docstring has no example"


def fields(kind: type) -> dict[str, bool]:
    """The public fields that a class declares, and whether a docstring follows each."""
    source = ast.parse(inspect.getsource(sys.modules[home(kind)]))
    (tree,) = (node for node in source.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    found = {}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            found[node.target.id] = told and isinstance(after.value.value, str)
    return found


def public_classes() -> list[type]:
    """The public classes, and those of the values that they hold."""
    named = {name.partition(".")[0] for name in typed()} - set(VERBS)
    found = {part for made in typed().values() for part in made if is_ours(part)}
    return sorted({*found, *(getattr(orx, name) for name in NOUNS if name in named)}, key=lambda each: each.__name__)


UNTOLD = {f"ElementType.{dialect}" for dialect in ("onnx", "openvino", "onednn", "numpy")}
"""The class says it of all of them."""


def test_every_field_and_method_is_documented() -> None:
    silent = [f"{kind.__name__}.{name}" for kind in public_classes() for name, told in fields(kind).items() if not told]
    silent += [
        f"{kind.__name__}.{name}"
        for kind in public_classes()
        for name, value in vars(kind).items()
        if not name.startswith("_") and (isinstance(value, property) or inspect.isfunction(value))
        if not inspect.getdoc(value)
    ]

    assert [kind.__name__ for kind in public_classes() if not inspect.getdoc(kind)] == []
    assert [name for name in silent if name not in UNTOLD] == []


def test_results_never_change() -> None:
    results: list[Any] = [kind for kind in public_classes() if is_dataclass(kind)]

    assert len(results) > 8
    assert [kind.__name__ for kind in results if not kind.__dataclass_params__.frozen or "__dict__" in dir(kind)] == []
