"""What --json prints is what docs/schema says, field by field."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
import referencing

from onereshape.cli import main
from onereshape.cli.commands import COMMANDS
from tests.checking import written

ROOT = Path(__file__).parent.parent.parent
FILES = (ROOT / "docs" / "schema").glob("*.json")
SCHEMAS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
CORPUS = ROOT / "tests" / "data" / "corpus"


def strict(schema: Any) -> Any:
    """The same schema, in which an object may have no fields beyond those that are described."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(each) for name, each in schema.items()}
    is_object = isinstance(schema.get("properties"), dict) and "type" in schema
    return {"additionalProperties": False, **closed} if is_object else closed


REGISTRY: Any = referencing.Registry().with_resources(
    (f"{name}.json", referencing.Resource.from_contents(strict(schema))) for name, schema in SCHEMAS.items()
)


def check(answer: Any, name: str) -> None:
    jsonschema.Draft202012Validator(strict(SCHEMAS[name]), registry=REGISTRY).validate(answer)


# The schema, the exit code, and what is typed.
CASES: list[tuple[str, int, list[str]]] = [
    ("infer", 0, ["infer", "--data", "2,3,4", "--target", "0,-1"]),
    ("infer", 0, ["infer", "--data", "N,?,1..8", "--target", "-1,4"]),
    ("infer", 0, ["infer", "--data", "...", "--target", "..."]),
    ("infer", 0, ["infer", "model.onnx", "--node", "/Reshape"]),
    ("error", 1, ["infer", "--data", "2,3", "--target", "5,-1"]),
    ("error", 1, ["infer", "--data", "N,4", "--target", "3,5"]),
    ("error", 2, ["infer", "--data", "2,3"]),
    ("run", 0, ["run", "x.npy", "--target", "0,-1"]),
    ("run", 0, ["run", "x.npy", "--target", "0,-1", "-o", "y.npy"]),
    ("run", 0, ["run", "x.npy", "--target", "0,-1", "-o", "y.zarr"]),
    ("check", 0, ["check", "sound.onnx"]),
    ("check", 1, ["check", "model.onnx", "--batch"]),
    ("check", 2, ["check", "model.onnx", "none.onnx", "--batch"]),
    ("check", 1, ["check", "neg.onnx", "--batch"]),
    ("error", 2, ["check", "none.onnx"]),
    ("fix", 0, ["fix", "model.onnx", "-o", "out.onnx", "--batch", "--certificate", "proof.json"]),
    ("fix", 0, ["fix", "model.onnx", "-o", "out.onnx", "--batch", "--no-certify"]),
    ("fix", 0, ["fix", "A.onnx", "--like", "C.onnx", "-o", "sizes.onnx", "--witness", "B.onnx"]),
    ("error", 1, ["fix", "neg.onnx", "-o", "no.onnx", "--batch"]),
    ("certify", 0, ["certify", "model.onnx", "fixed.onnx", "--batch"]),
    ("certify", 1, ["certify", "model.onnx", "model.onnx", "--batch"]),
    ("certify", 1, ["certify", "x1.onnx", "x2.onnx", "--counterexample", "x.npz"]),
    ("certify", 0, ["certify", "x1.onnx", "x3.onnx"]),
    ("certify", 1, ["certify", "x1.onnx", "x2.onnx", "--replay", "x.npz"]),
    ("convert", 0, ["convert", "model.onnx", "--to", "onnx-13", "-o", "old.onnx"]),
    ("convert", 0, ["convert", "model.onnx", "--node", "/Reshape", "--to", "openvino", "-o", "one.xml"]),
    ("conform", 0, ["conform", "--engine", "numpy", "--case", "neg2", "--case", "scalar_to_2", "--case", "rank_65"]),
    ("conform", 1, ["conform", "--engine", "onnx-reference-24", "--case", "neg2"]),
    ("show", 0, ["show", "model.onnx"]),
    ("completion", 0, ["completion", "bash"]),
    ("report", 0, ["report", "model.onnx", "--batch", "-o", "report.html"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that are named above."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    shutil.copy(CORPUS / "hand_yolo_head.ts.onnx", "model.onnx")
    shutil.copy(CORPUS / "neg_minibatch_std.ts.onnx", "neg.onnx")
    for each in "12":
        text = f"g (float[a, 3] x) => (float[a, 3] y) <float k = {{{each}}}> {{ y = Mul(x, k) }}"
        written(text, tmp_path, f"x{each}.onnx")
    written("g (float[a, 3] x) => (float[a, 3] y) { d = Add(x, x) y = Sub(d, x) }", tmp_path, "x3.onnx")
    for each in "ABC":
        shutil.copy(ROOT / "tests" / "data" / "sizes" / f"bert.dynamo.{each}.onnx", f"{each}.onnx")
    return tmp_path


def answered(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    capsys.readouterr()
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("name", "code", "words"), CASES, ids=[" ".join(words) for *_, words in CASES])
@pytest.mark.usefixtures("folder")
def test_an_answer_has_the_layout(name: str, code: int, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if "--replay" in words:
        main(["certify", "x1.onnx", "x2.onnx", "--counterexample", "x.npz"])
    for repaired in {"fixed.onnx", "sound.onnx"} & {*words}:
        main(["fix", "model.onnx", "-o", repaired, "--batch"])
    ended, answer = answered(words, capsys)

    assert ended == code
    check(answer, name)


@pytest.mark.usefixtures("folder")
def test_a_kept_certificate_has_the_layout(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", "model.onnx", "-o", "out.onnx", "--batch", "--certificate", "proof.json"])
    ended, answer = answered(["certify", "--proof", "proof.json"], capsys)

    assert ended == 0
    check(answer, "certify")


def test_every_command_has_a_schema() -> None:
    assert set(SCHEMAS) == {*COMMANDS, "common", "error"}
    assert {name for name, _, _ in CASES} == {*COMMANDS, "error"}


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    elif isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for each in schema.values():
            yield from objects(each)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_sound_and_can_fail(name: str) -> None:
    """Each object that it describes is closed when it is strict, and says which fields must be there."""
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    for each in objects(strict(SCHEMAS[name])):
        assert each["additionalProperties"] is False
        assert each["required"]


_TELLING = {"$ref", "const", "enum", "anyOf", "oneOf", "allOf", "$defs", "properties", "additionalProperties"}
"""The words of a schema that say what an object, or anything, may hold."""


def unexplained(schema: Any, where: str = "", *, explained: bool = False) -> Iterator[str]:
    """The places of numbers, and of objects that may hold any, that no description explains: theirs, or their list's.

    What is in a list, a union or an object of any names is explained with it; a field by a name needs its own words.
    """
    if isinstance(schema, list):
        for each in schema:
            yield from unexplained(each, where, explained=explained)
    if not isinstance(schema, dict):
        return
    explained = explained or "description" in schema
    kinds = {*([schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", []))}
    fixed = [schema.get("const"), *schema.get("enum", [])]
    is_number = bool(kinds & {"integer", "number"}) or any(type(each) in {int, float} for each in fixed)
    is_open = (not kinds or "object" in kinds) and not {*schema} & _TELLING
    if (is_number or is_open) and not explained:
        yield where
    for key in ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf"):
        if key != "oneOf" or "properties" not in schema:  # there it says which fields go together
            yield from unexplained(schema.get(key), where, explained=explained)
    for key in ("properties", "$defs"):
        for name, each in schema.get(key, {}).items():
            yield from unexplained(each, f"{where}/{name}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_number_is_explained(name: str) -> None:
    assert list(unexplained(SCHEMAS[name])) == []


def test_a_number_that_is_not_explained_is_found() -> None:
    number, told = {"type": "integer"}, {"description": "how many"}
    bad = [
        number,
        {"type": ["number", "null"]},
        {"type": "array", "items": number},
        {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "array", "items": number}}]},
        {"type": "object", "additionalProperties": number},
        {"enum": ["a", 2]},
        {"type": "object"},
        {},
    ]
    for each in bad:
        for schema in ({"properties": {"a": each}}, {"$defs": {"b": {**told, "properties": {"a": each}}}}):
            assert [place[-2:] for place in unexplained(schema)] == ["/a"]
            explained = {"properties": {"a": {**each, **told}}}  # type: ignore[dict-item]
            assert list(unexplained(explained)) == []
    assert list(unexplained({"properties": {"a": {"type": "string"}, "b": {"$ref": "c"}, "d": {"const": "e"}}})) == []


def test_a_field_that_is_missing_or_new_is_noticed() -> None:
    sound = {"json_version": 1, "input": "m.onnx", "written": "r.html", "bytes": 3}
    check(sound, "report")
    for other in ({**sound, "more": 1}, {**sound, "bytes": "3"}, {**sound, "json_version": 2}, {"json_version": 1}):
        with pytest.raises(jsonschema.ValidationError):
            check(other, "report")
