"""Counterexamples: an input is kept where models differ, it shows the difference, and it can be replayed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.graphs.request import given_model
from onereshape.ground.errors import FixError, FormatError
from onereshape.ground.isolation.budget import WHOLE, whole
from onereshape.prove.certificate import Certificate
from onereshape.prove.counterexample import Counterexample, read
from onereshape.prove.engines.engine import Session
from onereshape.prove.replay import Replayed, replay
from onereshape.prove.run_both import certify
from onereshape.prove.runs.comparison import Comparison
from tests.prove.certifying import FLAT, batch, both, built, other, shown

CHAIN = """(float[a, 3] x) => (float[a, 3] y, float[a, 3] z) <float[3] w = {{1, 2, {last}}}, float half = {{0.5}}> {{
    before = Mul(x, half)
    h = Mul(before, w)
    y = Add(h, before)
    z = Neg(x)
}}"""


def same(original: ir.Model, repaired: ir.Model) -> Certificate:
    return shown(certify(original, repaired, {}, Comparison(), base_dir="."), original, repaired)


def differing(found: Certificate) -> Counterexample:
    assert found.status == "differs", found
    assert found.counterexample is not None
    return found.counterexample


def answers(model: ir.Model, feeds: Any) -> Any:
    return Session(model, ".").run(feeds)


def replayed(example: Counterexample, original: ir.Model, repaired: ir.Model) -> Replayed:
    return replay(example, given_model(original), given_model(repaired), whole(WHOLE, None))


def test_the_element_is_what_both_models_answer_there() -> None:
    original, other_ = built(CHAIN.format(last=3)), built(CHAIN.format(last=4))
    found = differing(same(original, other_))

    assert found.what == "value"
    assert found.output == "y"
    assert found.index is not None
    assert found.index[1] == 2  # the column whose weight is another one
    assert found.first == "h"
    before, after = (answers(each, found.feeds)["y"][found.index] for each in (original, other_))
    assert found.values == (str(before), str(after))
    assert np.abs(before - after) > 1e-3 * np.abs(before)


def test_in_words() -> None:
    arrays = {"x": np.zeros((2, 3), np.float32)}
    one = Counterexample("y", "value", ("original", "repaired"), ("0.1", "nan"), ((1, 2), (1, 2)), {}, arrays, arrays)
    batched = Counterexample(
        "y", "value", ("original", "repaired"), ("1", "2"), ((0, 2), (4, 2)), {"N": 5}, arrays, arrays, "h"
    )
    said = [
        one,
        batched,
        Counterexample("y", "dims", ("witness", "repaired"), ("[2]", "[3]"), None, {"S": 2}, arrays, arrays),
        Counterexample("y", "dims", ("declared", "repaired"), ("[2, N]", "[3, 4]"), None, {}, None, arrays),
        Counterexample("y", "type", ("original", "repaired"), ("float32", "float64"), None, {}, arrays, arrays),
        Counterexample("y[1]", "tensors", ("original", "repaired"), ("given", "not given"), None, {}, arrays, arrays),
        Counterexample("y", "value", ("repaired", "repaired"), ("1", "2"), ((1,), (1,)), {"N": 5}, arrays, arrays),
    ]

    assert [each.sentence for each in said] == [
        "output 'y' is nan at [1, 2], and 0.1 in the original",
        "output 'y' is 2 at [4, 2], N = 5, and 1 (at [0, 2]) in the original; the models part at 'h'",
        "output 'y' has dims [3], and [2] in the witness",
        "output 'y' has dims [3, 4], and [2, N] as declared",
        "output 'y' is float64, and float32 in the original",
        "output 'y[1]' is not given, and given in the original",
        "output 'y' is 2 at [1], N = 5, and 1 among other samples",
    ]
    assert repr(one) == "Counterexample(output 'y' is nan at [1, 2], and 0.1 in the original)"


def test_what_is_fed_is_told_to_machines_by_type_and_dims() -> None:
    found = differing(same(built(CHAIN.format(last=3)), built(CHAIN.format(last=4))))
    told: Any = found.to_json()

    assert told["feeds"] == {"x": {"type": "float32", "dims": [*found.feeds["x"].shape]}}
    assert told["first"] == "h"
    json.dumps(told)


@pytest.mark.parametrize("size", [1, 2])
def test_a_sample_of_a_batch(size: int) -> None:
    """The whole batch is kept, and beside it what the original was fed, which is one piece of it."""
    original = built(FLAT.format(n=size, k=size))
    wrong = built("""(float[N, 3, 4] x) => (float[N, 12] y) <int64[2] k = {-1, 12}, int64[1] zero = {0}> {
        m = ReduceMax(x, zero)
        h = Max(x, m)
        y = Reshape(h, k)
    }""")
    found = differing(batch(original, wrong, size=size))

    assert found.beside is not None
    assert found.beside["x"].shape[0] == size
    assert found.feeds["x"].shape[0] == found.sizes["N"] > 1
    assert found.indices is not None
    (was, column), (now, same_column) = found.indices
    assert column == same_column
    assert was == now % size
    np.testing.assert_array_equal(found.beside["x"][was], found.feeds["x"][now])
    again = replayed(found, original, built(FLAT.format(n="N", k=0)))
    assert again.holds
    assert again.counterexample.values == (found.values[0], found.values[0])


def test_the_first_tensor_is_none_that_only_one_of_both_has() -> None:
    renamed = built(CHAIN.format(last=4).replace("h", "k").replace("kalf", "half"))
    assert differing(same(built(CHAIN.format(last=3)), renamed)).first == "y"


def test_an_original_that_mixes_its_batch() -> None:
    mixing = "(float[{n}, 4] x) => (float[{n}, 4] y) <int64[1] o = {{0}}> {{ m = ReduceMax(x, o) y = Add(x, m) }}"
    found = differing(batch(built(mixing.format(n=3)), built(mixing.format(n="N")), size=3))

    assert found.models == ("original", "original")


def test_a_witness_that_differs() -> None:
    body = """(float[1, {s}, 2] x) => (float[1, {s2}] y) <float f = {{{f}}}, int64[2] k = {{1, -1}}> {{
        g = Mul(x, f) y = Reshape(g, k) }}"""
    original, repaired = built(body.format(s=3, s2=6, f=1)), built(body.format(s="S", s2="T", f=1))
    found = other(original, repaired, witnesses=(built(body.format(s=5, s2=10, f=2)),))

    assert differing(found).models == ("witness", "repaired")
    assert differing(found).sizes == {"S": 5}


OTHER_NAMES = {
    "an input": (
        "(float[a, 3] q) => (float[a, 3] y) { y = Neg(q) }",
        "has the inputs ['q'], and the original has ['x']",
    ),
    "an output": ("(float[a, 3] x) => (float[a, 3] q) { q = Neg(x) }", "has the outputs ['q'], and the original has"),
    "a type": (
        "(double[a, 3] x) => (float[a, 3] y) { c = Cast <to = 1> (x) y = Neg(c) }",
        "'x' is DOUBLE in the repaired model, and FLOAT in the original",
    ),
}


@pytest.mark.parametrize("what", OTHER_NAMES)
def test_models_that_no_input_suits_both_of_do_not_differ(what: str) -> None:
    text, why = OTHER_NAMES[what]
    found = same(built("(float[a, 3] x) => (float[a, 3] y) { y = Neg(x) }"), built(text))

    assert (found.status, found.counterexample) == ("failed", None)
    assert why in found.reason


OTHER_OUTPUTS = {
    "dims": ("y = Unsqueeze(n, zero)", "float[1, a, 3]", "output 'y' has dims [1, 4, 3], and [4, 3] in the original"),
    "type": ("y = Cast <to = 11> (n)", "double[a, 3]", "output 'y' is float64, and float32 in the original"),
}


@pytest.mark.parametrize("what", OTHER_OUTPUTS)
def test_an_output_of_other_dims_or_of_another_type_has_an_input_that_shows_it(what: str) -> None:
    node, declared, sentence = OTHER_OUTPUTS[what]
    repaired = built(f"(float[a, 3] x) => ({declared} y) <int64[1] zero = {{0}}> {{ n = Neg(x) {node} }}")
    found = differing(same(built("(float[a, 3] x) => (float[a, 3] y) { y = Neg(x) }"), repaired))

    assert found.what == what
    assert found.sentence.startswith(sentence)


def test_types_that_numpy_lacks_and_strings_come_back(tmp_path: Path) -> None:
    feeds = {
        "a": np.arange(3).astype(ml_dtypes.bfloat16),
        "b/c": np.array(["x", "日本"], object),
        "counterexample": np.zeros((0, 2), np.int64),
        "beside": np.array(2.5, np.float16),
        "file": np.array([True]),
    }
    beside = {**feeds, "a": np.ones(3, ml_dtypes.bfloat16)}
    kept = Counterexample(
        "y", "value", ("original", "repaired"), ("1", "inf"), ((0,), (2,)), {"N": 3}, beside, feeds, "h"
    )
    kept.save(str(tmp_path / "x.npz"))
    again = read(str(tmp_path / "x.npz"))

    assert again == kept
    for was, now in ((kept.feeds, again.feeds), (kept.beside, again.beside)):
        assert was is not None
        assert now is not None
        assert [*was] == [*now]
        for name in was:
            assert was[name].dtype == now[name].dtype
            np.testing.assert_array_equal(was[name], now[name])


def test_it_is_an_npz_that_numpy_reads(tmp_path: Path) -> None:
    found = differing(same(built(CHAIN.format(last=3)), built(CHAIN.format(last=4))))
    found.save(str(tmp_path / "x.npz"))

    with np.load(tmp_path / "x.npz", allow_pickle=False) as arrays:
        assert {*arrays} == {"x", "counterexample"}
        np.testing.assert_array_equal(arrays["x"], found.feeds["x"])
        told = json.loads(str(arrays["counterexample"][0]))
    assert (told["output"], told["values"], told["indices"][1]) == ("y", [*found.values], [*(found.index or ())])


def test_another_name_than_npz_is_refused(tmp_path: Path) -> None:
    found = differing(same(built(CHAIN.format(last=3)), built(CHAIN.format(last=4))))
    with pytest.raises(FormatError, match=r"a counterexample is written as an \.npz"):
        found.save(str(tmp_path / "x.onnx"))
    assert not [*tmp_path.iterdir()]


DAMAGES: dict[str, Any] = {
    "no text": lambda _: None,
    "no fields": lambda _: {},
    "a list": lambda told: [told],
    "a role": lambda told: {**told, "models": ["nobody", "repaired"]},
    "what": lambda told: {**told, "what": "else"},
    "an input that is not there": lambda told: {**told, "inputs": ["x", "q"]},
    "a type": lambda told: {**told, "types": {"x": "float16"}},
    "no type": lambda told: {**told, "types": {"x": "q"}},
    "an index below 0": lambda told: {**told, "indices": [[0, 0], [-1, 0]]},
    "an index of text": lambda told: {**told, "indices": [["0", 0], [0, 0]]},
    "one index": lambda told: {**told, "indices": [[0, 0]]},
    "no index": lambda told: {**told, "indices": None},
    "sizes": lambda told: {**told, "sizes": [3]},
    "values": lambda told: {**told, "values": ["1"]},
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_file_that_is_none_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    differing(same(built(CHAIN.format(last=3)), built(CHAIN.format(last=4)))).save(str(path))
    with np.load(path) as kept:
        arrays = dict(kept)
    told = DAMAGES[what](json.loads(str(arrays.pop("counterexample")[0])))
    if told is not None:
        arrays["counterexample"] = np.array([json.dumps(told)])
    np.savez(path, **arrays)

    with pytest.raises(FormatError, match="is not a counterexample"):
        read(str(path))


def test_no_file_and_no_archive(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with zipfile.ZipFile(tmp_path / "empty.npz", "w"):
        pass
    for name, why in (
        ("none.npz", "No such file"),
        ("", "is not a regular file"),
        ("x.npz", "is not a sound zip archive"),
        ("empty.npz", "is not a counterexample"),
        ("a\0b", "is not a path"),
    ):
        with pytest.raises(FormatError, match=why):
            read(str(tmp_path / name))


def test_an_element_that_is_nowhere_is_said() -> None:
    original, repaired = built(CHAIN.format(last=3)), built(CHAIN.format(last=4))
    found = differing(same(original, repaired))
    feeds, beside = found.feeds, dict(found.feeds)
    there = Counterexample("z", "value", found.models, ("1", "2"), ((0, 0), (0, 9)), {}, beside, feeds)
    gone = Counterexample("q", "value", found.models, ("1", "2"), ((0, 0), (0, 0)), {}, beside, feeds)

    with pytest.raises(FixError, match=r"output 'z' has dims \[\d+, 3\], and no \[0, 9\]"):
        replayed(there, original, repaired)
    with pytest.raises(FixError, match="has no output 'q'"):
        replayed(gone, original, repaired)


def test_any_output_that_differs_is_found_where_both_are_fed_the_same() -> None:
    """The file says that y differs; here it is z."""
    original, repaired = built(CHAIN.format(last=3)), built(CHAIN.format(last=3).replace("z = Neg", "z = Abs"))
    feeds = {"x": np.ones((2, 3), np.float32)}
    kept = Counterexample("y", "value", ("original", "repaired"), ("1", "2"), ((0, 0), (0, 0)), {}, feeds, feeds)
    found = replayed(kept, original, repaired)

    assert not found.holds
    assert found.sentence == "differs: output 'z' is 1.0 at [0, 0], and -1.0 in the original"


def test_declared_dims_are_read_from_the_model_again() -> None:
    original = built(FLAT.format(n="1", k=1))
    wrong = FLAT.format(n="N", k=0).replace("float[N, 12]", "float[1, 12]")
    found = differing(batch(original, built(wrong)))

    assert (found.what, found.models, found.values) == ("dims", ("declared", "repaired"), ("[1, 12]", "[2, 12]"))
    assert replayed(found, original, built(FLAT.format(n="N", k=0))).holds


def test_a_sample_that_another_one_changes() -> None:
    """What meets far below the tolerance, behind an operator that no term knows: the repaired model beside itself."""
    text = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        agraph (float[{n}, 4] x) => (float[{n}, 4] y) <float tiny = {{1e-12}}> {{
            u = com.microsoft.SampleOp(x) m = {m} g = Mul(m, tiny) y = Add(u, g) }}"""
    original, repaired = (
        ir.from_proto(onnx.parser.parse_model(text.format(n=n, m=m)))
        for n, m in ((1, "Identity(u)"), ("N", "ReduceMax <axes = [0]> (u)"))
    )
    found = differing(both(original, repaired))

    assert found.models == ("repaired", "repaired")
    assert found.sizes == {"N": 5}
    assert found.values[0] != found.values[1]
    assert found.sentence.endswith("among other samples")
