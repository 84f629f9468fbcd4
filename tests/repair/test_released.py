"""The judge of released models: what it calls right is right at every count, and what mixes samples is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from bench.released import Answer, summary
from bench.released_files import Package, packages
from bench.released_inputs import Input, places
from bench.released_judge import judge_original, judge_repaired
from onnx import TensorProto, helper, numpy_helper

from tests.models import model

Dims = list[int | str | None]


def saved(path: Path, nodes: list[onnx.NodeProto], dims: dict[str, Dims], *held: onnx.TensorProto) -> Path:
    """A model of float inputs and one output, y, of any shape."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in dims.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [output], list(held))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def flattened(path: Path, head: int, dims: Dims) -> Path:
    target = numpy_helper.from_array(np.array([head, -1], np.int64), "target")
    return saved(path, [helper.make_node("Reshape", ["x", "target"], ["y"])], {"x": dims}, target)


@pytest.mark.parametrize(
    ("op", "dims", "works", "naive"),
    [
        ("Relu", ["N", 3], True, "right"),
        ("Relu", [None, None, 3], True, "right"),
        ("Relu", [1, 3], False, "right"),
        ("Relu", [-1, 3], True, "right"),
    ],
)
def test_what_works_by_itself(tmp_path: Path, op: str, dims: Dims, works: bool, naive: str) -> None:
    path = saved(tmp_path / "a.onnx", [helper.make_node(op, ["x"], ["y"])], {"x": dims})

    found = judge_original(path)

    assert (found["works"], found["naive"]) == (works, naive)


def test_a_softmax_over_the_samples_is_wrong(tmp_path: Path) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["m"], axes=[0])
    path = saved(tmp_path / "a.onnx", [node, helper.make_node("Sub", ["x", "m"], ["y"])], {"x": ["N", 3]})

    assert judge_original(path)["not judged"] == "no output depends on the sample that was drawn"

    path = saved(tmp_path / "b.onnx", [node, helper.make_node("Add", ["x", "m"], ["y"])], {"x": ["N", 3]})

    assert judge_original(path)["naive"].startswith("wrong at 2: y is (2, 3)")


def test_a_baked_target_is_wrong_until_it_is_mended(tmp_path: Path) -> None:
    original = flattened(tmp_path / "a.onnx", 1, [1, 3, 4])
    found = judge_original(original)

    assert found["naive"] == "wrong at 2: y is (1, 24), one sample's is (1, 12)"

    mended, naive = flattened(tmp_path / "b.onnx", 0, ["N", 3, 4]), flattened(tmp_path / "c.onnx", 1, ["N", 3, 4])

    assert judge_repaired(original, mended, found["way"])["right"]
    assert not judge_repaired(original, naive, found["way"])["right"]
    assert judge_repaired(original, original, found["way"])["why"] == "x has still 1 at 0"


def test_a_batch_above_one_is_held_against_itself_and_the_original(tmp_path: Path) -> None:
    original = flattened(tmp_path / "a.onnx", 10, [10, 3, 4, 4])
    found = judge_original(original)
    mended = flattened(tmp_path / "b.onnx", 0, ["N", 3, 4, 4])

    assert found["naive"].startswith("fails alone")
    assert judge_repaired(original, mended, found["way"])["right"]


def test_a_state_may_have_its_samples_elsewhere() -> None:
    inputs = [Input("x", np.dtype("f4"), [None, 64]), Input("state", np.dtype("f4"), [2, None, 128])]

    assert places(inputs)[0] == {"x": 0, "state": 1}


def test_every_line_of_the_table_is_a_package() -> None:
    listed = packages()

    assert len(listed) == len(set(listed)) > 100
    assert {each.registry for each in listed} == {"pypi", "npm"}
    assert Package("pypi", "rapidocr-onnxruntime", "rapidocr_onnxruntime-1.4.4-py3-none-any.whl") in listed


def test_the_counts() -> None:
    rows: list[Answer] = [
        {"package": "a", "dynamic": True, "verdict": "left", "naive": "right"},
        {"package": "a", "dynamic": False, "verdict": "refused", "naive": "fails at 2"},
        {"package": "b", "verdict": "unjudged"},
    ]

    assert summary(rows).splitlines() == [
        "3 files of 2 packages",
        "batch fixed (1): 1 refused",
        "batch dynamic (1): 1 left",
        "unknown (1): 1 unjudged",
        "good: 1 of 2 that can be judged; the naive edit (or nothing): 1",
        "of 1 refused, which no declaration makes right, 0 are right with --per-sample",
    ]


def test_what_is_beside_a_sample_must_not_matter_however_little_it_does(tmp_path: Path) -> None:
    faint = numpy_helper.from_array(np.array(0.02, np.float32), "faint")
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[0]),
        helper.make_node("Mul", ["m", "faint"], ["f"]),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    path = saved(tmp_path / "a.onnx", nodes, {"x": ["N", 3]}, faint)

    assert judge_original(path)["naive"].startswith("wrong at 2")


OPSET = '<ir_version: 8, opset_import: ["" : 17]>'
SORTED = """(float[N, S] x, int64[N] lengths) => (float[N, S] y)
    <int64[1] zero = {{0}}, int64 one = {{1}}, int64 z = {{0}}> {{
    n = Shape(lengths)
    k = Gather(n, zero)
    f = Cast <to = 1> (lengths)
    v, i = TopK(f, k)
    a = Gather(x, i)
    r = Relu(a)
    c = Cast <to = 1> (i)
    d, j = TopK <largest = 0> (c, k)
    o = Gather(r, j)
    s = Shape(x)
    w = Gather(s, one)
    p = Range(z, w, one)
    l = Unsqueeze(lengths, zero)
    t = Transpose <perm = [1, 0]> (l)
    m = Less(p, t)
    g = Cast <to = 1> (m)
    y = Mul({last}, g)
}}"""


@pytest.mark.parametrize(("last", "naive"), [("o", "right"), ("r", "wrong at 3 samples of other lengths: y")])
def test_samples_of_other_lengths_are_told_from_those_of_one(tmp_path: Path, last: str, naive: str) -> None:
    """What is sorted by its length and not put back is right only where all lengths are one."""
    path = tmp_path / "a.onnx"
    onnx.save(model(f"g {SORTED.format(last=last)}", OPSET), path)

    assert judge_original(path)["naive"] == naive


def test_a_sample_alone_may_be_shorter_than_beside_a_longer_one(tmp_path: Path) -> None:
    """An output that is as long as the longest sample: what is beyond a sample's own length is no answer of it."""
    text = """(float[N, S] x, int64[N] lengths) => (float[N, T] y) <int64[1] zero = {0}, int64[1] one = {1}> {
        m = ReduceMax <axes = [0], keepdims = 1> (lengths)
        y = Slice(x, zero, m, one)
    }"""
    path = tmp_path / "a.onnx"
    onnx.save(model(f"g {text}", OPSET), path)

    assert judge_original(path)["naive"] == "right"
