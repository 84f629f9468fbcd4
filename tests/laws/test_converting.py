"""Whatever `convert` writes for one operator, from one opset to the next or the one before, answers as before.

The small world of `converting_world` is run through the whole of `convert`, and judged by onnxruntime at other sizes
and on other values than those that `convert` itself compares at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs

from onereshape.backends.convert.opset import change_opset
from onereshape.formats.model import load
from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation import room
from tests.budget import part
from tests.laws.converting_world import WORLD, Row
from tests.running import session

SIZES = (1, 2, 9)
"""What N is, when the answers are judged."""
BLOCKS = 4


def since(op_type: str, opset: int) -> int | None:
    try:
        return int(defs.get_schema(op_type, opset, "").since_version)
    except defs.SchemaError:
        return None


def pairs(row: Row) -> Iterator[tuple[int, int]]:
    """Each step up or down at which one of the operators has another version."""
    kinds = {node.op_type for node in row.at(row.first).graph.node}
    for old in range(row.first, row.last + 1):
        for new in (old - 1, old + 1):
            if 7 <= new <= 25 and any(since(kind, old) != since(kind, new) for kind in kinds):
                yield old, new


def fed(model: onnxruntime.InferenceSession, size: int, draw: int) -> dict[str, Any]:
    random = np.random.default_rng([size, draw, 77])
    feeds = {}
    for value in model.get_inputs():
        dims = [dim if isinstance(dim, int) else size for dim in value.shape]
        if value.type == "tensor(float)":
            numbers = random.standard_normal(dims) * 3 if draw else random.integers(-3, 4, dims) / 2
            feeds[value.name] = numbers.astype(np.float32)
        else:
            feeds[value.name] = random.integers(0, 1 + draw, dims).astype(value.type[7:-1])
    return feeds


def differs(before: onnxruntime.InferenceSession, after: onnxruntime.InferenceSession) -> str | None:
    """Where two models do not agree; a model that never ran is not compared."""
    compared = 0
    for size in SIZES:
        for draw in range(2):
            feeds = fed(before, size, draw)
            try:
                first = before.run(None, feeds)
            except Exception:  # noqa: BLE001, S112 - an index beyond the end
                continue
            for one, two in zip(first, after.run(None, feeds), strict=True):
                if one.shape != two.shape or one.dtype != two.dtype:
                    return f"N = {size}: {one.dtype}{one.shape}, then {two.dtype}{two.shape}"
                if not np.allclose(one.astype(float), two.astype(float), rtol=1e-3, atol=1e-4, equal_nan=True):
                    return f"N = {size}"
                compared += one.size > 0
    return None if compared else "never compared"


def outcome(row: Row, old: int, new: int, folder: Path) -> str:
    """`refused`, `same`, or what is wrong with what was written."""
    source, written = folder / "a.onnx", folder / "b.onnx"
    source.write_bytes(row.at(old).SerializeToString())
    written.unlink(missing_ok=True)
    try:
        change_opset(load(str(source)), new, str(written))
    except ReshapeError as error:
        return "refused" if f"opset {new}" in str(error) and not written.exists() else str(error)
    assert onnx.load(written).opset_import[0].version == new
    return differs(session(str(source)), session(str(written))) or "same"


@cache
def asked() -> list[tuple[Row, tuple[int, int]]]:
    """The steps of all rows, one in four of them; `make worlds`: all."""
    return list(part(((row, pair) for row in WORLD for pair in pairs(row)), 4))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_written_answers_as_before(block: int, tmp_path: Path) -> None:
    found = {(row, *pair): outcome(row, *pair, tmp_path) for row, pair in asked()[block::BLOCKS]}

    wrong = {key: what for key, what in found.items() if what not in {"same", "refused"}}
    assert wrong == {}
    written = sum(what == "same" for what in found.values())
    assert written > len(found) * 0.6  # refusing everything would be no wonder


def resize(mode: str, scales: str, dims: str = "N, 2, 6, 6") -> Row:
    constant = f"float[4] s = {{{scales}}}"
    return Row(10, 10, f'(float[{dims}] x) => (float y) <{constant}> {{ y = Resize<mode = "{mode}">(x, s) }}')


@pytest.mark.parametrize(
    ("mode", "scales", "expected"),
    [
        ("nearest", "1, 1, 2, 2", "same"),
        ("nearest", "1, 1, 2.6, 1.3", "same"),
        ("nearest", "1, 1, 0.5, 0.7", "same"),
        ("nearest", "1, 1, 1, 1", "same"),
        ("nearest", "1, 1, 2, 0.5", "same"),  # where the half pixel of Resize-11 makes no difference
        ("nearest", "1, 1, 2.6, 0.7", "refused"),  # one axis takes the floor, the other the ceiling
        ("linear", "1, 1, 2, 0.5", "same"),
        ("linear", "1, 1, 1.7, 3", "same"),
    ],
)
def test_resize_from_10_to_11(mode: str, scales: str, expected: str, tmp_path: Path) -> None:
    assert outcome(resize(mode, scales), 10, 11, tmp_path) == expected


def test_empty_outputs_are_not_compared(tmp_path: Path) -> None:
    """Half of one pixel is none: there is nothing to compare, whatever the converter makes of it."""
    row = resize("nearest", "1, 1, 0.5, 0.5", "N, 2, 1, 1")
    source = tmp_path / "a.onnx"
    source.write_bytes(row.at(10).SerializeToString())

    with pytest.raises(ReshapeError, match="could not be compared: no run had elements in every output"):
        change_opset(load(str(source)), 11, str(tmp_path / "b.onnx"))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_layout_of_14(kind: str, tmp_path: Path) -> None:
    row = next(row for row in WORLD if kind in row.body)

    assert [outcome(row, *pair, tmp_path) for pair in ((13, 14), (14, 13), (21, 22))] == ["same"] * 3


def test_a_child_that_dies_takes_nobody_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in WORLD if "= Squeeze<" in row.body)
    room.here().end()
    monkeypatch.setattr(sys, "executable", "/bin/true")
    assert outcome(row, 12, 13, tmp_path) == "refused"
    monkeypatch.undo()
    assert outcome(row, 12, 13, tmp_path) == "same"
    room.here().end()
    assert outcome(row, 12, 13, tmp_path) == "same"
