"""`per_sample`: a model that mixes its samples runs once for each of them, and gives what each of them gives alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.cli import main
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.repair.batch.per_sample import per_sample_plan
from onereshape.repair.last_word import WAY_OUT
from tests.models import external, model
from tests.running import session

Array = np.ndarray[Any, Any]
SAMPLES = 4
SORTED = (
    "g (float[N, S] x, int64[N] lengths) => (float[N, S] y) <int64[1] zero = {0}>"
    " { n = Shape(lengths) k = Gather(n, zero) f = Cast <to = 1> (lengths) v, i = TopK(f, k)"
    " z = Gather(x, i) r = Relu(z) c = Cast <to = 1> (i) d, j = TopK <largest = 0> (c, k) y = Gather(r, j) }"
)


class Case(NamedTuple):
    """A model of one sample, where its samples are, and where those of its outputs are then (None: it has none)."""

    text: str
    outputs: tuple[int | None, ...] = (0,)
    batch: dict[str, int] | None = None
    opset: int = 17
    new_axis: bool = True


NEW = -1
"""An axis of outputs that was not there before."""
QUANTISED = "q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z)"
CASES = {
    "one scale for all": Case(f"g (float[1, 6] x) => (float[1, 6] y) {{ {QUANTISED} }}", opset=11),
    "axes as inputs": Case(f"g (float[1, 6] x) => (float[1, 6] y) {{ {QUANTISED} }}", opset=13),
    "a batch that has a name": Case(f"g (float[N, 6] x) => (float[N, 6] y) {{ {QUANTISED} }}"),
    "other dims that have one": Case(f"g (float[1, T, 3] x) => (float[1, T, 3] y) {{ {QUANTISED} }}"),
    "the largest of all": Case(
        "g (float[N, 6] x) => (float[N, 6] y) { m = ReduceMax <keepdims = 0> (x) y = Div(x, m) }"
    ),
    "the first of all samples": Case(
        "g (float[1, 6] x) => (float[1, 6] y, int64[1, 6] i) <int64[1] k = {1}> { y, i = TopK <axis = 0> (x, k) }",
        (0, 0),
    ),
    "states at another axis": Case(
        f"g (float[1, 6] x, float[1, 1, 3] h) => (float[1, 6] y, float[1, 1, 3] g)"
        f" {{ {QUANTISED} m = ReduceMax <keepdims = 0> (h) g = Div(h, m) }}",
        (0, 1),
        {"x": 0, "h": 1},
    ),
    "an input that all share": Case(
        f"g (float[1, 6] x, float[6] w) => (float[1, 6] o, float[6] v) {{ v = Abs(w) {QUANTISED} o = Mul(y, v) }}",
        (0, None),
        {"x": 0},
    ),
    "an input that is an output": Case(
        f"g (float[1, 6] x) => (float[1, 6] y, float[1, 6] x) {{ {QUANTISED} }}", (0, 0)
    ),
    "an output without an axis for samples": Case(
        f"g (float[1, 6] x) => (float[2, 3] o) <int64[2] t = {{2, 3}}> {{ {QUANTISED} o = Reshape(y, t) }}", (NEW,)
    ),
    "the same one after another": Case(
        f"g (float[1, 6] x) => (float[2, 3] o) <int64[2] t = {{2, 3}}> {{ {QUANTISED} o = Reshape(y, t) }}",
        new_axis=False,
    ),
    "an output without any axis": Case(
        f"g (float[1, 6] x) => (float o) {{ {QUANTISED} o = ReduceMax <keepdims = 0> (y) }}", (NEW,)
    ),
    "an output of a length that has a name": Case(
        f"g (float[1, T, 3] x) => (float[T, 3] o) <int64[1] a = {{0}}> {{ {QUANTISED} o = Squeeze(y, a) }}", (NEW,)
    ),
    "constants inside and outside": Case(
        f"g (float[1, 6] x, float[6] w) => (float[1, 6] o, float[6] v) <float[6] c = {{1, 2, 3, 4, 5, 6}}>"
        f" {{ k = Constant <value_float = 2.0> () d = Mul(c, k) v = Add(w, d) {QUANTISED} o = Mul(y, d) }}",
        (0, None),
        {"x": 0},
    ),
    "names that are taken": Case(
        'g (float[1, 6] x) => (float[1, 6] y) { "x/one" = Relu(x) "y/sample" = Neg("x/one")'
        ' q, s, z = DynamicQuantizeLinear("y/sample") y = DequantizeLinear(q, s, z) }'
    ),
    "graphs inside": Case(
        "g (float[1, 6] x) => (float[1, 6] y) { m = ReduceMax <keepdims = 0> (x) c = Constant <value_float = 2.0> ()"
        " b = Greater(m, c) y = If (b) <then_branch = t () => (float[1, 6] a) { a = Div(x, m) },"
        " else_branch = e () => (float[1, 6] d) { d = Neg(x) }> }"
    ),
}


def written(folder: Path, case: Case) -> Path:
    path = folder / "m.onnx"
    onnx.save(model(case.text, f'<ir_version: 8, opset_import: ["" : {case.opset}]>'), path)
    return path


def answers(path: Path, feeds: dict[str, Array]) -> list[Array]:
    return [np.asarray(each) for each in session(path, optimized=True).run(None, feeds)]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_each_sample_gives_what_it_gives_alone(case: Case, tmp_path: Path) -> None:
    path, out = written(tmp_path, case), tmp_path / "out.onnx"
    axes = case.batch or {"x": 0}

    fixed = orx.fix(path, batch=axes, per_sample=True, new_axis=case.new_axis)
    orx.save(fixed.model, out)

    assert len(fixed.notes) == case.outputs.count(NEW)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    assert fixed.certificate.status in {"proven", "certified"}
    assert [change.code for change in fixed.changes] == ["per-sample"]
    rng, whole = np.random.default_rng(1), dict[str, Array]()
    for value in onnx.load(path).graph.input:
        dims = [each.dim_value or 1 for each in value.type.tensor_type.shape.dim]
        if value.name in axes:
            dims[axes[value.name]] = SAMPLES
        whole[value.name] = rng.normal(size=dims).astype(np.float32) * rng.choice([1, 9], dims)
    whole = {name: array.astype(np.float32) for name, array in whole.items()}
    pieces = [
        {name: array.take([each], axes[name]) if name in axes else array for name, array in whole.items()}
        for each in range(SAMPLES)
    ]
    alone = [answers(path, piece) for piece in pieces]
    for place, (found, axis) in enumerate(zip(answers(out, whole), case.outputs, strict=True)):
        if axis is None:
            np.testing.assert_array_equal(found, alone[0][place])
        else:
            join = np.stack if axis == NEW else np.concatenate
            np.testing.assert_array_equal(found, join([each[place] for each in alone], max(axis, 0)))


REFUSED = {
    "x (input): --per-sample runs a model of one sample N times, and this one takes 2 at once": Case(
        f"g (float[2, 6] x) => (float[2, 6] y) {{ {QUANTISED} }}"
    ),
    "x (input): --per-sample needs a Scan along any axis, which opset 9 has, and the model is of opset 8: convert it "
    "first (onereshape convert --to onnx-13)": Case(
        "g (float[1, 6] x) => (float[1, 6] y) { y = ReduceMax <axes = [0]> (x) }", opset=8
    ),
    "o (output): it has no axis on which samples could be put side by side": Case(
        f"g (float[1, 6] x) => (float o) {{ {QUANTISED} o = ReduceMax <keepdims = 0> (y) }}", new_axis=False
    ),
    "o (output): it has no axis of size 1 on which samples could be put side by side, and its dims are not all "
    "known": Case("g (float[1, 6] x) => (int64[a, b] o) { o = NonZero(x) }", new_axis=False),
    "o (output): its dims may be others for each sample, so that those of several cannot be put side by side": Case(
        "g (float[1, 6] x) => (float[1, b] o) <int64[1] a = {0}>"
        " { i = NonZero(x) t = Transpose(i) v = GatherND(x, t) o = Unsqueeze(v, a) }"
    ),
    "p (output): its dims may be others for each sample, so that those of several cannot be put side by side": Case(
        "g (float[1, 6] x) => (int64[a, b] p) { p = NonZero(x) }"
    ),
    "o (output): it is no tensor, so that those of several samples cannot be put side by side": Case(
        f"g (float[1, 6] x) => (seq(float[1, 1]) o) {{ {QUANTISED} o = SplitToSequence(y) }}"
    ),
}


@pytest.mark.parametrize(("message", "case"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_cannot_be_put_side_by_side_is_refused(message: str, case: Case, tmp_path: Path) -> None:
    with pytest.raises(FixError) as refusal:
        orx.fix(written(tmp_path, case), batch=case.batch or True, per_sample=True, new_axis=case.new_axis)

    assert str(refusal.value) == f"{message}  [cannot-free]"


def test_a_batch_that_no_output_needs_is_refused() -> None:
    text = "g (float[1, 6] x, float[3] w) => (float[3] o) { y = ReduceMax(x) o = Neg(w) }"

    with pytest.raises(FixError, match="no output of the model depends on it"):
        per_sample_plan(ir.from_proto(model(text)), {"x": 0}, "N", 1)


@pytest.mark.parametrize("end", ["y = Gather(r, j)", "y = Identity(r)"], ids=["put back", "left so"])
def test_samples_that_are_sorted_are_not_followed(end: str, tmp_path: Path) -> None:
    path = written(tmp_path, Case(SORTED.replace("y = Gather(r, j)", end)))

    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch=True)

    assert str(refusal.value) == (
        "TopK of v (TopK): it sorts all of axis 0, which is N, and whether each sample gets its own is not known  "
        "[cannot-free]"
    )


def test_a_batch_that_can_be_freed_is_freed(tmp_path: Path) -> None:
    text = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"

    fixed = orx.fix(written(tmp_path, Case(text)), batch=True, per_sample=True)

    assert [change.code for change in fixed.changes] == ["baked-dim"]


def test_it_is_for_a_batch(tmp_path: Path) -> None:
    for simplify in (True, False):
        with pytest.raises(ReshapeError, match=r"give --batch \(batch=True\) too"):
            orx.fix(written(tmp_path, CASES["one scale for all"]), simplify=simplify, per_sample=True)


def test_a_new_axis_is_that_of_a_model_that_is_freed(tmp_path: Path) -> None:
    """`fix` gives an output without a batch a new first axis, and so does this, in the same words."""
    text = "g (float[1, 6] x) => (float[2, 3] o) <int64[2] t = {{2, 3}}> {{ {} o = Reshape(y, t) }}"
    mixed, kept = (Case(text.format(body)) for body in (QUANTISED, "y = Relu(x)"))
    found = [orx.fix(written(tmp_path, case), batch=True, per_sample=True) for case in (mixed, kept)]

    assert [str(each.model.ir.graph.outputs[0].shape) for each in found] == ["[N,2,3]", "[N,2,3]"]
    assert (
        found[0].notes
        == found[1].notes
        == ("output o is [N, 2, 3], with a new axis for the batch that one sample had not (--no-new-axis: [2*N, 3])",)
    )


def test_it_is_left_alone_by_another_repair(tmp_path: Path) -> None:
    path, out = written(tmp_path, CASES["one scale for all"]), tmp_path / "out.onnx"
    orx.save(orx.fix(path, batch=True, per_sample=True).model, out)

    again = orx.fix(out, batch=True)

    assert not again.changes


def test_the_way_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = written(tmp_path, CASES["one scale for all"]), tmp_path / "out.onnx"

    refused = main(["fix", str(path), "-o", str(out), "--batch"])
    said = capsys.readouterr().err.splitlines()
    taken = main(["fix", str(path), "-o", str(out), "--batch", "--per-sample", "--diff"])

    assert (refused, taken, out.exists()) == (1, 0, True)
    assert said == [
        "onereshape: DynamicQuantizeLinear of q (DynamicQuantizeLinear) mixes the samples: it takes one scale from all "
        "samples together, so that what a sample gives depends on those beside it; a scale for each is not written, as "
        "DequantizeLinear of y (DequantizeLinear) takes its numbers  [mixes-samples]",
        f"  {WAY_OUT}",
        f"  nothing was written to {out}",
    ]
    assert capsys.readouterr().out.splitlines()[0] == (
        "graph (graph): per-sample: 2 nodes run once for each of N samples, which then stand in y at axis 0"
    )


def test_the_way_out_of_what_takes_one_sample_alone(tmp_path: Path) -> None:
    """Its indices are those of one sample."""
    body = (
        "g (float[1, 1, 1, 2] x) => (float[1, 1, 1, 4] y) <int64[1, 1, 1, 2] at = {0, 3}>"
        " { y = MaxUnpool <kernel_shape = [1, 2], strides = [1, 2]> (x, at) }"
    )
    path = written(tmp_path, Case(body))
    with pytest.raises(orx.ReshapeError, match="its indices count through all samples") as refused:
        orx.fix(path, batch=True)
    taken = orx.fix(path, batch=True, per_sample=True)

    assert refused.value.__notes__ == [WAY_OUT]
    assert taken.certificate is not None
    assert taken.certificate.status in {"certified", "proven"}


def test_weights_in_another_file_stay_there(tmp_path: Path) -> None:
    weights = np.arange(36, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(weights.tobytes())
    proto = model(
        f"g (float[1, 6] x) => (float[1, 6] o) {{ {QUANTISED} o = MatMul(y, w) }}",
        '<ir_version: 8, opset_import: ["" : 17]>',
    )
    proto.graph.initializer.append(external("w", [6, 6], "w.bin", offset=0, length=144))
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    path.write_bytes(proto.SerializeToString())

    orx.save(orx.fix(path, batch=True, per_sample=True).model, out)

    x = np.random.default_rng(2).normal(size=(3, 6)).astype(np.float32)
    alone = [answers(path, {"x": x[place : place + 1]})[0] for place in range(3)]
    assert len(out.read_bytes()) < 2000
    np.testing.assert_allclose(answers(out, {"x": x})[0], np.concatenate(alone), rtol=1e-6)


def test_a_length_is_no_batch_of_which_each_step_could_run_alone(tmp_path: Path) -> None:
    text = "g (float[seq_len, 6] x) => (float[seq_len, 6] o) { m = ReduceMax <axes = [0]> (x) o = Add(x, m) }"

    with pytest.raises(FixError, match="no input carries a batch"):
        orx.fix(written(tmp_path, Case(text)), batch=True, per_sample=True)
