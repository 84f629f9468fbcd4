"""The arbiter of IRs: it passes what is right, and finds what was made wrong on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino
import pytest
from openvino import opset13 as op

from tests.budget import part
from tests.openvino_models import CASES, Case, i64
from tests.repair.openvino_arbiter import Make, Verdict, alone, batched, read, reshaped, verdict, written
from tests.repair.openvino_untouched import untouched


def judged(case: Case, folder: Path, make: Make | None = None) -> Verdict:
    """A candidate, or else the model that is made for each count."""
    path = case.save(folder / "model.xml")

    def made(count: int) -> openvino.Model:
        return read(case.save(folder / f"made{count}.xml", count))

    entry = case.entry(path)
    return verdict(entry, alone(entry, path), make or made, dynamic=False)


@pytest.mark.parametrize("name", [*part(CASES, 2)])
def test_a_model_that_is_made_for_each_count_passes(name: str, tmp_path: Path) -> None:
    assert judged(CASES[name], tmp_path).found == ("pass" if CASES[name].free else "wrong")


def test_the_models_are_small(tmp_path: Path) -> None:
    for place, case in enumerate(CASES.values()):
        case.save(tmp_path / f"{place}.xml")

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2**20


def with_output(case: Case, change: Callable[[openvino.Output, int], object]) -> Make:
    """The right model, its only output put through something else."""

    def make(count: int) -> openvino.Model:
        model = case.make(count)
        port = model.results[0].input_value(0)
        names = port.get_names()
        port.set_names(set())
        changed = change(port, count)
        changed.output(0).set_names(names)  # type: ignore[attr-defined]
        return openvino.Model([op.result(changed)], model.get_parameters(), "planted")

    return make


PLANTED: dict[str, Callable[[openvino.Output, int], object]] = {
    "the samples in another order": lambda port, n: op.gather(port, i64(*reversed(range(n))), np.int64(0)),
    "the first sample for all": lambda port, n: op.gather(port, i64(*[0] * n), np.int64(0)),
    "the first sample only": lambda port, _: op.gather(port, i64(0), np.int64(0)),
    "the last two samples alike": lambda port, n: op.gather(port, i64(*range(n - 1), max(n - 2, 0)), np.int64(0)),
    "one sample too many": lambda port, n: op.gather(port, i64(*range(n), 0), np.int64(0)),
    "one value beside": lambda port, n: op.add(port, np.eye(n * 6, 16, dtype=np.float32).reshape(n, 6, 16) * (n > 3)),
    "the mean of the samples": lambda port, _: op.add(
        op.multiply(port, np.float32(0.99)), op.multiply(op.reduce_mean(port, i64(0), keep_dims=True), np.float32(0.01))
    ),
    "another type": lambda port, _: op.convert(port, "f64"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_is_found(name: str, tmp_path: Path) -> None:
    case = CASES["attention"]

    assert judged(case, tmp_path, with_output(case, PLANTED[name])).found == "wrong"


def test_what_changes_nothing_is_not(tmp_path: Path) -> None:
    case = CASES["attention"]

    assert judged(case, tmp_path, with_output(case, lambda port, _: op.add(port, np.float32(0)))).found == "pass"


def test_what_does_not_depend_on_the_sample_is_no_pass(tmp_path: Path) -> None:
    case = Case(
        with_output(CASES["attention"], lambda port, _: op.multiply(port, np.float32(0))),
        *CASES["attention"][1:],
    )

    assert judged(case, tmp_path).found == "blind"


def test_peers_are_judged_alike(tmp_path: Path) -> None:
    """One that OpenVINO's own two get right, one that they get wrong and one that they refuse."""
    found = []
    for place, name in enumerate(("flattened", "detected", "windows")):
        path = CASES[name].save(tmp_path / f"{place}.xml")
        entry = CASES[name].entry(path)
        known = alone(entry, path)
        found.append(verdict(entry, known, reshaped(entry, path), dynamic=True).found)
        found.append(verdict(entry, known, batched(entry, path), dynamic=False).found)

    assert found == ["pass", "pass", "wrong", "wrong", "refused", "refused"]


@pytest.mark.parametrize("name", [*part((name for name, case in CASES.items() if case.free), 2)])
def test_a_file_that_was_not_repaired_is_no_pass(name: str, tmp_path: Path) -> None:
    """Neither as it is, nor with the batch of its inputs declared free."""
    path, declared = CASES[name].save(tmp_path / "model.xml"), tmp_path / "declared.xml"
    entry = CASES[name].entry(path)
    known = alone(entry, path)
    model = read(path)
    for port in model.inputs:
        dims = list(port.get_partial_shape())
        dims[entry.batch[next(iter(port.get_names()))]] = openvino.Dimension(-1)
        port.get_node().set_partial_shape(openvino.PartialShape(dims))
    model.validate_nodes_and_infer_types()
    openvino.serialize(model, declared)

    assert verdict(entry, known, written(path), dynamic=True).found == "refused"
    assert verdict(entry, known, written(declared), dynamic=True).found in {"refused", "wrong"}


LOST: dict[str, tuple[str, str, str]] = {
    "a layer's type": (
        "flatten: its attributes",
        r'(name="flatten" type=)"Reshape" (version=)"opset1"',
        r'\1"Other" \2"opset1"',
    ),
    "a layer's note": ("x: its rt_info", r'<attribute name="layout"[^>]*>', ""),
    "a note of the model": ("rt_info", "cat dog", "cat"),
    "a tensor's name": ("flat_too", "flat_too", "flat"),
    "an input's name": ("Parameter", 'name="x" type="Parameter"', 'name="z" type="Parameter"'),
    "a precision": ("precisions", r'(type="MatMul".*?<output>.*?)precision="FP32"', r'\1precision="FP16"'),
    "an output's name": ("y/sink_port_0: its attributes", 'output_names="y"', 'output_names="z"'),
    "the net's name": ("the net's name", '<net name="tests"', '<net name="others"'),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_found(name: str, tmp_path: Path) -> None:
    said, before, after = LOST[name]
    path = CASES["noted"].save(tmp_path / "model.xml")
    text = path.read_text(encoding="utf-8")
    changed = re.sub(before, after, text, count=1, flags=re.DOTALL)
    other = tmp_path / "other.xml"
    other.write_text(changed, encoding="utf-8")
    other.with_suffix(".bin").write_bytes(path.with_suffix(".bin").read_bytes())

    assert changed != text
    assert any(said in each for each in untouched(path, other).lost)
    assert not untouched(path, path).lost


def test_weights_that_changed_are_found(tmp_path: Path) -> None:
    path = CASES["noted"].save(tmp_path / "model.xml")
    content = path.with_suffix(".bin").read_bytes()
    other = tmp_path / "other.xml"
    other.write_bytes(path.read_bytes())
    other.with_suffix(".bin").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    assert any("the bytes" in each for each in untouched(path, other).lost)
    assert untouched(path, other).weights == "other"
    other.with_suffix(".bin").write_bytes(content + bytes(8))
    assert untouched(path, other) == (
        [],
        {"same": len(read(path).get_ops()), "changed": 0, "gone": 0, "new": 0},
        "longer",
    )
