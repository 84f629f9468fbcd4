"""Where the batch is, if the names of dims say something else: names that lie, and names that nobody gave."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

import onereshape as orx
from onereshape.graphs.likely_batch import (
    Shapes,
    is_batch,
    is_length,
    is_nameless,
    likely_axes,
    other_axes,
    other_starts,
)
from onereshape.ground.errors import FixError

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
NAMELESS = ["z_dim_0", "s0", "s77", "u3", "unk__3", "z_dynamic_axes_1", "ending_flag_dynamic_axes_1", "scores.1_dim_0"]


def saved(folder: Path, text: str, names: dict[str, str] | None = None) -> Path:
    """A model of text; `names` are those that its words have no signs for."""
    model = parser.parse_model(HEAD + text)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in (names or {}):
                dim.dim_param = (names or {})[dim.dim_param]
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def freed(fixed: orx.Fixed) -> dict[str, list[int]]:
    return {name: [*dims] for name, dims in fixed.freed.items()}


def proven(fixed: orx.Fixed) -> bool:
    certificate = fixed.certificate
    return certificate is not None and certificate.for_all


@pytest.mark.parametrize("name", [*NAMELESS, "DynamicDimension.0", "p2o.DynamicDimension.4", "batch_dim_2"])
def test_names_that_nobody_gave(name: str) -> None:
    assert is_nameless(name)
    assert not is_batch(name)
    assert not is_length(name)


@pytest.mark.parametrize("name", ["N", "batch", "batch_size_1", "seq_len", "S", "s", "d0", "dim_x", "unk", "s0_batch"])
def test_names_that_somebody_gave(name: str) -> None:
    assert not is_nameless(name)


LIKELY: list[tuple[Shapes, dict[str, int]]] = [
    ({"x": (1, 3, "batch_size_1", "batch_size_2")}, {"x": 0}),
    ({"x": (1, 3, "batch_size_1", "batch_size_2"), "text": (1, "batch_max")}, {"x": 0, "text": 0}),
    ({"x": ("batch_size_1", "batch_size_2")}, {"x": 0}),
    ({"x": ("seq", "batch", 3)}, {"x": 1}),
    ({"h": (1, "batch", 8), "x": ("batch", "batch_heads")}, {"h": 1, "x": 0}),
    ({"x": (1, "batch", 8)}, {"x": 1}),
]


@pytest.mark.parametrize(("shapes", "axes"), LIKELY)
def test_what_is_likely(shapes: Shapes, axes: dict[str, int]) -> None:
    assert likely_axes(shapes) == axes


OTHERS: list[tuple[Shapes, bool, list[dict[str, int]]]] = [
    ({"x": (1, "batch", 8)}, True, [{"x": 0}]),
    ({"x": (1, "batch", 8)}, False, []),
    ({"x": (1, 3, "batch_size_1", "batch_size_2")}, True, [{"x": 2}]),
    ({"h": (1, "batch", 8), "x": ("batch", 3)}, True, []),
    ({"x": ("seq", 1, 8)}, False, [{"x": 1}]),
    ({"x": ("batch_len", 1, 8)}, True, [{"x": 1}]),
    ({"x": ("batch", 1, 8)}, True, []),
    ({"x": ("N", 1, 8)}, True, []),
    ({"x": ("height", 1, 4), "z": ("unk__3", 4)}, True, [{"x": 1}]),
    ({"x": ("height", 1, 4), "z": ("M", 4)}, True, []),
    ({"x": (1, 4)}, True, []),
]


@pytest.mark.parametrize(("shapes", "mixes", "others"), OTHERS)
def test_where_else_it_is_looked_for(shapes: Shapes, mixes: bool, others: list[dict[str, int]]) -> None:
    assert [*other_starts(shapes, likely_axes(shapes), mixes=mixes)] == others


def test_inputs_move_one_by_one_and_then_all_that_nobody_named() -> None:
    shapes: Shapes = {"x": (1, 4), "a": ("s0", 4), "b": ("s1", 5), "c": ("N", 6), "d": (7, "s2")}

    assert [*other_axes(shapes, {"x": 0})] == [
        [{"x": 0, "a": 0}, {"x": 0, "b": 0}],
        [{"x": 0, "a": 0, "b": 0}],
        [{"x": 0, "a": 0, "b": 0}],
    ]


def test_behind_a_length_inputs_may_begin_with_the_batch() -> None:
    shapes: Shapes = {"x": ("seq", 1, 4), "z": ("s0", 4), "h": ("N", "s1")}

    assert [*other_axes(shapes, {"x": 1})] == [
        [{"x": 1, "z": 0}, {"x": 1, "h": 1}],
        [{"x": 1, "z": 0, "h": 1}],
        [{"x": 1, "z": 0, "h": 1}],
    ]


READER = """g (float[1, 3, batch_size_1, batch_size_2] x) => (float[1, steps, 5] y)
  <float[4, 3, 3, 3] w = {%s}, float[1, 8, 4] lw = {%s}, float[1, 8, 2] lr = {%s}, float[2, 5] v = {%s}> {
    c = Conv<pads = [1, 1, 1, 1]>(x, w)
    p = ReduceMean<axes = [2], keepdims = 0>(c)
    steps = Transpose<perm = [2, 0, 1]>(p)
    l, hn, cn = LSTM<hidden_size = 2>(steps, lw, lr)
    one = Constant<value_ints = [1]>()
    flat = Squeeze(l, one)
    q = Transpose<perm = [1, 0, 2]>(flat)
    m = MatMul(q, v)
    y = Softmax<axis = -1>(m)
}"""


def numbers(count: int) -> str:
    return ", ".join(str((7 * number % 11 - 5) / 10) for number in range(count))


def test_height_and_width_that_are_called_batch(tmp_path: Path) -> None:
    path = saved(tmp_path, READER % (numbers(108), numbers(32), numbers(16), numbers(10)))
    fixed = orx.fix(path, batch=True)

    assert freed(fixed) == {"x": [0]}
    assert proven(fixed)
    assert [finding.severity for finding in orx.check(path, batch=True) if finding.code == "cannot-free"] == []
    assert orx.certify(path, fixed.model, batch=True).for_all


def test_one_name_that_lies_is_left_where_operators_work_along_it(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[1, batch, 4] x) => (float[1, 4] y) { y = ReduceSum<keepdims = 0>(x, a) }")
    model = onnx.load(path)
    model.graph.initializer.append(onnx.helper.make_tensor("a", onnx.TensorProto.INT64, [1], [1]))
    onnx.save(model, path)
    fixed = orx.fix(path, batch=True)

    assert freed(fixed) == {"x": [0]}
    assert proven(fixed)
    assert fixed.notes[0].startswith("took x:0, as the batch at x:1 cannot be freed: ReduceSum of y (ReduceSum) mixes")
    assert [each.code for each in orx.check(path, batch=True)] == ["fixed-batch"]


def test_a_name_that_tells_the_truth_stays(tmp_path: Path) -> None:
    fixed = orx.fix(saved(tmp_path, "g (float[1, batch, 4] x) => (float[1, batch, 4] y) { y = Relu(x) }"), batch=True)

    assert fixed.notes == ()
    assert [str(value.shape) for value in fixed.model.ir.graph.inputs] == ["[1,batch,4]"]


def test_a_batch_behind_a_length(tmp_path: Path) -> None:
    text = "g (float[seq, 1, 4] x) => (float[seq, 1, 4] y) { y = Softmax<axis = 0>(x) }"
    fixed = orx.fix(saved(tmp_path, text), batch=True)

    assert freed(fixed) == {"x": [1]}
    assert proven(fixed)
    assert fixed.notes[0].startswith("took x:1, as the batch at x:0 cannot be freed: Softmax of y")


def test_the_refusal_is_that_of_the_place_that_may_be_the_batch(tmp_path: Path) -> None:
    text = "g (float[1, batch, 4] x) => (float[1, batch, 4] y) { s = Softmax<axis = 1>(x) y = CumSum(s, a) }"
    path = saved(tmp_path, text.replace("=> (float[1, batch, 4] y)", "=> (float[1, batch, 4] y) <int64 a = {0}>"))
    with pytest.raises(FixError, match=r"CumSum of y \(CumSum\) mixes the samples") as refusal:
        orx.fix(path, batch=True)

    assert refusal.value.axes == {"x": 0}
    (found,) = [each for each in orx.check(path, batch=True) if each.code == "cannot-free"]
    assert found.message.startswith("CumSum of y (CumSum) mixes the samples")
    fixed = orx.fix(path, batch=True, per_sample=True)
    assert freed(fixed) == {"x": [0]}


@pytest.mark.parametrize("name", NAMELESS)
def test_a_name_that_nobody_gave_is_freed_with_the_batch(tmp_path: Path, name: str) -> None:
    text = (
        "g (float[1, 4] x, float[Z, 4] z) => (float[2, 4] y) <int64[2] t = {2, 4}>"
        " { c = Concat<axis = 1>(x, z) y = Reshape(c, t) }"
    )
    path = saved(tmp_path, text, {"Z": name})
    fixed = orx.fix(path, batch=True)

    assert freed(fixed) == {"x": [0], "z": [0]}
    assert proven(fixed)
    assert fixed.notes[0].startswith("took z:0, as the batch at x:0 cannot be freed: Concat of c (Concat): its input z")
    found = [each for each in orx.check(path, batch=True) if each.severity == "error"]
    assert found
    assert {each.fixable for each in found} == {None}  # terms decide
    assert orx.certify(path, fixed.model, batch=True).for_all


@pytest.mark.parametrize("name", ["rows", "M", "heads"])
def test_a_name_that_somebody_gave_must_be_asked_for(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, f"g (float[1, 4] x, float[{name}, 4] z) => (float[1, 8] y) {{ y = Concat<axis = 1>(x, z) }}")
    with pytest.raises(FixError, match="its input z has size") as refusal:
        orx.fix(path, batch=True)

    assert refusal.value.sentence.endswith("it must be asked for as well (--batch x:0 z:0)")
    assert proven(orx.fix(path, batch={"x": 0, "z": 0}))


def test_without_a_proof_such_a_name_says_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, "g (float[1, 4] x, float[s0, 4] z) => (float[1, 8] y) { y = Concat<axis = 1>(x, z) }")
    with pytest.raises(FixError, match="it must be asked for as well"):
        orx.fix(path, batch=True, certify=False)


def test_a_proof_at_some_sizes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orx.Certificate, "for_all", property(lambda _: False))
    path = saved(tmp_path, "g (float[1, 4] x, float[s0, 4] z) => (float[1, 8] y) { y = Concat<axis = 1>(x, z) }")
    with pytest.raises(FixError, match="it must be asked for as well"):
        orx.fix(path, batch=True)


def test_a_length_that_nobody_named_stays_one(tmp_path: Path) -> None:
    text = (
        "g (float[1, 4] x, float[s0, 4] z) => (float[1, 4] y) <int64[1] a = {0}> { s = ReduceSum(z, a) y = Add(x, s) }"
    )
    fixed = orx.fix(saved(tmp_path, text), batch=True)

    assert freed(fixed) == {"x": [0]}
    assert proven(fixed)
