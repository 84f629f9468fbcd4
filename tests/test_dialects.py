"""A dialect is its rows, its column of types, its file format and its engines: no other code asks for it by name."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

import onereshape as orx
from onereshape.backends.convert.files import check_output
from onereshape.formats import model as models, model_formats
from onereshape.formats.model import Model
from onereshape.formats.model_formats import FORMATS, Files, Format, Plans
from onereshape.formats.refusals import unreadable
from onereshape.ground.dtypes import ELEMENT_TYPES, ElementType
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.rule import specs
from onereshape.rule.specs import DIALECTS, SPECS
from tests.sources import tree

SOURCE = Path(__file__).parent.parent / "src" / "onereshape"
HOMES = ("rule/specs.py", "ground/dtypes.py", "formats/", "backends/conformance/")
"""Where a dialect lives."""

NAMED = {
    "cli/certify.py": "the formats that it compares",
    "cli/conform.py": "examples; and the names of engines, which another test holds to their table",
    "cli/convert.py": "an example",
    "cli/fix.py": "the formats that it repairs",
    "cli/overview.py": "the sentence that says what onereshape is, and the version of a package",
    "cli/show.py": "the formats that it shows",
    "cli/streams.py": "an IR is two files, and does not fit into a pipe",
    "checks/summary.py": "the parts of an IR are counted",
    "graphs/": "an IR is looked into as its image",
    "ground/installed.py": "a distribution of onnxruntime",
    "prove/": "an IR is run by its own engine",
    "repair/": "an IR is repaired as its image",
}
"""Files elsewhere that name a dialect, or a suffix of its files, in a text; ONNX is looked at below."""

ONNX = {
    "arrays/torch_tracing.py": "PyTorch exports to ONNX, and writes its Reshape",
    "cli/batch_axes.py": "inputs are looked up in ONNX models, or images of others",
    "cli/completion.py": "the names of specifications, one for each opset",
    "cli/fix.py": "the name that is proposed for a file without a suffix",
    "cli/overview.py": "--version shows the package of that name",
    "cli/streams.py": "what goes through a pipe is ONNX",
    "backends/convert/opset.py": "the opset of a whole model is ONNX's",
    "backends/onnx_backend.py": "ONNX's own interface",
    "backends/shape_rule.py": "a rule in a library for ONNX models",
    "checks/check.py": "the models that are looked into are ONNX's, or images of others",
    "checks/reports/gathering.py": "what a repair changes is drawn on ONNX graphs, or images of others",
    "checks/reports/page.py": "producer and opsets are told of ONNX models",
    "checks/show.py": "the shapes of ONNX models are known, and of images of others",
    "checks/summary.py": "the parts of an ONNX model are counted",
    "graphs/": "the whole models that are looked into are ONNX's, or images of others",
    "prove/": "the models that are compared are ONNX's, or images of others",
    "repair/": "the models that are repaired are ONNX's, or images of others",
}
"""Files elsewhere that ask for ONNX by name."""


def texts(path: Path) -> Iterator[str]:
    """The string constants of the code, without its docstrings, and the names of attributes such as `row.onnx`."""
    nodes = [*ast.walk(tree(path))]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value
        elif isinstance(node, ast.Attribute):
            yield node.attr


def naming(pattern: re.Pattern[str]) -> set[str]:
    """The files outside a dialect's homes with such a text; those of a room of whole models are one."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(HOMES) and any(pattern.search(text) for text in texts(path)):
            found.add(next((room for room in ("graphs/", "prove/", "repair/") if place.startswith(room)), place))
    return found


def test_no_other_code_asks_for_a_dialect_by_name() -> None:
    """Suffixes too, but for `.json`, which other files have as well."""
    others = [row for row in FORMATS if row.dialect != "onnx"]
    endings = [re.escape(suffix) for row in others for suffix in (*row.suffixes, *row.beside) if suffix != ".json"]
    names = "|".join([*(row.dialect for row in others), *(rf"{ending}\b" for ending in endings)])

    assert naming(re.compile(names, re.IGNORECASE)) == set(NAMED)


def test_onnx_is_asked_for_by_name_only_where_it_alone_is_meant() -> None:
    suffixes = "|".join(re.escape(suffix) for row in FORMATS if row.dialect == "onnx" for suffix in row.suffixes)

    assert naming(re.compile(rf"^(onnx(-\d*)?|{suffixes})$")) == set(ONNX)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_has_its_rows(dialect: specs.Dialect) -> None:
    assert [row for row in SPECS if row.dialect == dialect]
    assert dialect in {field.name for field in fields(ElementType)}
    assert any(row.named_in(dialect) for row in ELEMENT_TYPES)
    (row,) = (row for row in FORMATS if row.dialect == dialect)
    for module, asked in ((row.files, Files), (row.plans, Plans)):
        assert [name for name in vars(asked) if not name.startswith("_") and not callable(getattr(module, name))] == []


def test_no_two_formats_share_a_suffix_or_a_beginning() -> None:
    assert len(set(model_formats.SUFFIXES)) == len(model_formats.SUFFIXES)
    assert len({row.first for row in FORMATS}) == len(FORMATS)


# A format that does not exist: a row and a module are all that it takes


class Toy(ModuleType):
    """The module of a format whose files are the word `toy`."""

    def load(self, path: str) -> Model:
        if Path(path).read_bytes() != b"~toy":
            raise unreadable(path, "is no toy")
        return Model("toy", path, (), None, b"~toy")  # type: ignore[arg-type]

    def read(self, _: bytes, name: str) -> Model:
        return Model("toy", name, (), None, b"~toy")  # type: ignore[arg-type]

    def save(self, model: Model, path: str) -> None:
        Path(path).write_bytes(cast("bytes", model.original))

    def reshapes(self, _: Model) -> tuple[Any, ...]:
        return ()

    def data_files(self, _: Model) -> list[str]:
        return []


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of that format, whose row is in the table."""
    row = Format("toy", "a toy", "a .toy", ".toy", (".toy.gz", ".toy"), (".box",), b"~", "toy_files")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "onereshape.formats.toy_files", Toy("toy_files"))
    for module in (model_formats, models):
        monkeypatch.setattr(module, "FORMATS", (*FORMATS, row))
        monkeypatch.setattr(module, "SUFFIXES", (*model_formats.SUFFIXES, *row.suffixes))
    monkeypatch.setitem(model_formats.__dict__["_BY_DIALECT"], "toy", row)
    path = tmp_path / "m.toy"
    path.write_bytes(b"~toy")
    return path


def test_a_new_format_is_read_and_saved(toy: Path, tmp_path: Path) -> None:
    for name in ("again.toy", "again.toy.gz"):
        orx.save(orx.load(toy), tmp_path / name)
        assert orx.load(tmp_path / name).reshapes == ()
    assert orx.load(toy.rename(tmp_path / "m.other")).original == b"~toy"
    assert orx.check(tmp_path / "again.toy") == []
    (tmp_path / "again.toy").write_bytes(b"~")
    with pytest.raises(FormatError, match=r"again\.toy: is no toy"):
        orx.load(tmp_path / "again.toy")


def test_a_new_format_is_refused_in_its_own_words(toy: Path, tmp_path: Path) -> None:
    model = orx.load(toy)
    row: Any = type("Row", (), {"dialect": "toy", "__str__": lambda _: "toy Reshape-1"})()

    with pytest.raises(FormatError, match=r"a toy is saved under a name that ends in \.toy\.gz or \.toy"):
        orx.save(model, tmp_path / "m.onnx")
    with pytest.raises(ReshapeError, match=r"dims are freed in ONNX models only, and .*m\.toy is a toy"):
        orx.check(model, batch=True)
    with pytest.raises(ReshapeError, match=r"a model of toy Reshape-1 is written to a name that ends in \.toy\.gz"):
        check_output("m.onnx", "m.xml", row)
    with pytest.raises(ReshapeError, match=r"m\.box is the input itself"):
        check_output(str(tmp_path / "m.box"), str(tmp_path / "m.toy"), row)
    assert model_formats.typed_formats().endswith(" or a .toy")
