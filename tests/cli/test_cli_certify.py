"""`onereshape certify` and `certify()`: any pair of models, whoever repaired it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError, ReshapeError
from tests.checking import written
from tests.commands import Captured, ran
from tests.models import external, model

FLAT = "g (float[{n}, 2, 3] x) => (float[{n}, 6] y) <int64[2] t = {{{t}}}> {{ y = Reshape(x, t) }}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pair(folder: Path, original: str, repaired: str) -> tuple[str, str]:
    written(original, folder, "a.onnx")
    written(repaired, folder, "b.onnx")
    return "a.onnx", "b.onnx"


def certify(capsys: Captured, *words: str) -> tuple[int, str, str]:
    return ran(capsys, "certify", *words)


def test_a_strangers_right_repair(here: Path, capsys: Captured) -> None:
    names = pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n="batch", t="-1, 6"))
    before = {path.name: path.read_bytes() for path in here.iterdir()}

    code, said, _ = certify(capsys, *names, "--batch")

    assert code == 0
    assert said == (
        "proven: for all N >= 1 each output element is the same expression of its own sample's inputs; "
        "onnxruntime agrees at N = 1, 2, 3; the largest difference is 0\n"
    )
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


WRONG = {
    "the batch is swallowed": (FLAT.format(n="N", t="1, -1"), "y"),
    "the batch is not free": (FLAT.format(n=1, t="1, 6"), "input 'x' still has 1 at axis 0, not N"),
    "it does not run": (FLAT.format(n="N", t="1, 6"), "onnxruntime cannot run the repaired model at N = 2"),
    "another model": (
        FLAT.format(n="N", t="0, -1").replace("y = Reshape(x, t)", "z = Reshape(x, t) y = Neg(z)"),
        "differs",
    ),
    "another input": (
        FLAT.format(n="N", t="0, -1").replace(" x)", " z)").replace("(x,", "(z,"),
        "has the inputs ['z']",
    ),
    "sample 0 for all": (
        "g (float[N, 2, 3] x) => (float[N, 6] y) <int64[2] t = {-1, 6}, int64[1] k = {0}> "
        "{ f = Gather <axis = 0> (x, k) s = Sub(x, x) a = Add(f, s) y = Reshape(a, t) }",
        "differs",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_strangers_wrong_repair(what: str, here: Path, capsys: Captured) -> None:
    repaired, why = WRONG[what]
    names = pair(here, FLAT.format(n=1, t="1, 6"), repaired)

    code, said, _ = certify(capsys, *names, "--batch")

    assert code == 1
    assert said.startswith(("differs: ", "failed: "))
    assert why in said


def test_a_gate_that_only_terms_find(here: Path, capsys: Captured) -> None:
    gate = """g (float[{n}, 3] x) => (float[{n}, 3] y) <float limit = {{1e20}}, int64[1] axes = {{0}}> {{
        m = ReduceMax <keepdims = 1> (x, axes)
        c = Greater(m, limit)
        y = Where(c, m, x)
    }}"""
    names = pair(here, gate.format(n=1), gate.format(n="N"))

    code, said, _ = certify(capsys, *names, "--batch")

    assert code == 1
    assert said.startswith("not proven: output 'y' is not made of the samples' own terms at N = ")
    assert said.endswith("drawn inputs showed no difference, but others may\n")


def test_where_an_output_carries_the_batch_is_found_out(here: Path) -> None:
    """Heads merged into the batch, from outside and from inside, and an output that carries none."""
    body = """g (float[{n}, 4, 6] x, float[2] w) => (float[{n4}, 6] y, float[4, {n}, 6] z, float[2] v)
        <int64[2] t = {{-1, 6}}> {{
        y = Reshape(x, t)
        z = Transpose <perm = [1, 0, 2]> (x)
        v = Neg(w)
    }}"""
    names = pair(here, body.format(n=1, n4=4), body.format(n="N", n4="M"))

    found = orx.certify(*names, batch={"x": 0})

    assert isinstance(found, orx.Certificate)
    assert found.status == "proven"
    assert {each.name: each.axis for each in found.outputs} == {"y": 0, "z": 1, "v": None}


def test_an_output_that_is_declared_as_before(here: Path) -> None:
    """A stranger forgot to free what the output declares: it has other dims than it says."""
    names = pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n="N", t="-1, 6").replace("float[N, 6]", "float[1, 6]"))

    found = orx.certify(*names, batch=True)

    assert found.status in {"differs", "failed"}


def test_dims_that_were_freed_unasked_keep_their_size(here: Path) -> None:
    body = "g (float[{n}, {s}, 3] x) => (float[{n}, {s3}] y) <int64[2] t = {{{t}}}> {{ y = Reshape(x, t) }}"
    names = pair(here, body.format(n=1, s=2, s3=6, t="1, 6"), body.format(n="b", s="s", s3="k", t="0, -1"))

    found = orx.certify(*names, batch={"x": 0})

    assert found.status == "proven"


def test_a_freed_dim_with_a_witness_under_another_name(here: Path, capsys: Captured) -> None:
    body = "g (float[1, {s}, 8] x) => (float[1, {s}, 2, 4] y) <int64[4] t = {{1, {t}, 2, 4}}> {{ y = Reshape(x, t) }}"
    written(body.format(s=9, t=9), here, "nine.onnx")
    names = pair(here, body.format(s=6, t=6), body.format(s="seq", t=-1))

    alone = certify(capsys, *names, "--free", "x:1=S")
    both = certify(capsys, *names, "--free", "x:1=S", "--witness", "nine.onnx")

    assert (alone[0], alone[1].partition(":")[0]) == (1, "unwitnessed")
    assert (both[0], both[1].partition(";")[0]) == (
        0,
        "proven: at S = 6, 9 each output element is the same expression of the inputs",
    )


def test_the_same_model_in_other_words(here: Path, capsys: Captured) -> None:
    body = "g (float[a, 4] x) => (float[a, 2, 2] y) <int64[3] k = {{{k}, 2, 2}}> {{ y = Reshape(x, k) }}"
    names = pair(here, body.format(k=0), body.format(k=-1))

    code, said, _ = certify(capsys, *names)
    _, machine, _ = certify(capsys, *names, "--json", "--seed", "5")

    assert code == 0
    assert said.startswith("proven: at a = ")
    answer = json.loads(machine)
    assert (answer["original"], answer["repaired"], answer["holds"]) == ("a.onnx", "b.onnx", True)
    assert answer["certificate"]["seed"] == 5
    assert {0, 1} <= {each["a"] for each in answer["certificate"]["proof"]["sizes"]}


def test_weights_beside_each_of_the_models(tmp_path: Path) -> None:
    body = "agraph (float[{n}, 3] x) => (float[{n}, 3] y) {{ y = Mul(x, w) }}"
    paths = []
    for folder, n in (("one", "1"), ("two", "N")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "m.onnx")
        saved = model(body.format(n=n))
        saved.graph.initializer.append(external("w", [3], "w.bin"))
        onnx.save(saved, paths[-1])
        (tmp_path / folder / "w.bin").write_bytes(np.arange(3, dtype=np.float32).tobytes())

    found = orx.certify(*paths, batch=True)

    assert found.status == "proven"


USAGE = {
    "one model": (["a.onnx"], "name two models, the original and the repaired one: only one is named here"),
    "three": (["a.onnx", "b.onnx", "a.onnx"], "3 are named here"),
    "a witness of a batch": (["a.onnx", "b.onnx", "--batch", "--witness", "a.onnx"], "a witness is for freed dims"),
    "a seed below 0": (["a.onnx", "b.onnx", "--seed", "-1"], "a seed is 0 or more"),
    "no such file": (["a.onnx", "c.onnx"], "c.onnx"),
    "batch and free": (["a.onnx", "b.onnx", "--batch", "--free", "x:1=S"], "--batch and --free exclude each other"),
    "proof and batch": (["--proof", "p.json", "--batch"], "--batch is in p.json already"),
    "proof and one model": (
        ["--proof", "p.json", "a.onnx"],
        "beside --proof name both models, the original and the repaired one, or none of them: 1 named",
    ),
    "replay and proof": (["--proof", "p.json", "--replay", "x.npz"], "--replay and --proof exclude each other"),
    "replay and batch": (
        ["a.onnx", "b.onnx", "--replay", "x.npz", "--batch"],
        "--batch has no meaning beside --replay",
    ),
    "no such replay": (["a.onnx", "b.onnx", "--replay", "x.npz"], "x.npz: No such file or directory"),
    "one model to replay": (["a.onnx", "--replay", "x.npz"], "only one is named here"),
    "no npz": (["a.onnx", "b.onnx", "--counterexample", "x.txt"], "--counterexample writes an .npz, and x.txt is none"),
    "no such proof": (["--proof", "p.json"], "p.json: there is no such file"),
}


@pytest.mark.parametrize("what", USAGE)
def test_what_cannot_be_run(what: str, here: Path, capsys: Captured) -> None:
    pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n="N", t="-1, 6"))
    words, why = USAGE[what]

    code, said, error = certify(capsys, *words)

    assert (code, said) == (2, "")
    assert why in error


def test_a_witness_of_another_format_is_not_compared(here: Path) -> None:
    pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n=1, t="1, 6"))
    (here / "a.xml").write_text('<net name="m" version="11"><layers/><edges/></net>')

    with pytest.raises(FixError, match=r"a\.xml and a\.onnx are not in one format"):
        orx.certify("a.onnx", "b.onnx", free={"x": {1: "S"}}, witness="a.xml")


SCALED = """g (float[a, 3] x) => (float[a, 3] y) <float[3] w = {{1, 2, {last}}}> {{
    h = Mul(x, w) y = Relu(h) }}"""


def test_what_differs_is_shown_kept_and_replayed(here: Path, capsys: Captured) -> None:
    one, two = pair(here, SCALED.format(last=3), SCALED.format(last=4))

    code, said, _ = certify(capsys, one, two, "--counterexample", "x.npz")
    again = certify(capsys, one, two, "--replay", "x.npz")
    alike = certify(capsys, one, one, "--replay", "x.npz")

    assert code == 1
    first, second, third = said.splitlines()
    assert re.fullmatch(r"differs: output 'y' differs by [\d.e+]+ at a = 4, where its scale is [\d.]+", first)
    shows = r"output 'y' is ([-\d.e+]+) at \[\d, 2\], a = 4, and ([-\d.e+]+) in the original"
    found = re.fullmatch(rf"  {shows}; the models part at 'h'", second)
    assert found is not None
    assert float(found[1]) == pytest.approx(float(found[2]) * 4 / 3)
    assert third == "wrote x.npz: onereshape certify ... --replay runs both models on it"
    assert again[0] == 1
    repeated = re.fullmatch(rf"differs: {shows}\n", again[1])
    assert repeated is not None
    assert repeated.groups() == found.groups()
    assert alike[0] == 0
    assert re.fullmatch(rf"agrees: {shows}\n", alike[1])


def test_no_counterexample_is_written_where_there_is_none(here: Path, capsys: Captured) -> None:
    one, _ = pair(here, SCALED.format(last=3), SCALED.format(last=3))

    code, said, _ = certify(capsys, one, one, "--counterexample", "x.npz")

    assert code == 0
    assert said.startswith("proven: ")
    assert not (here / "x.npz").exists()


def test_a_batch_is_replayed(here: Path, capsys: Captured) -> None:
    names = pair(here, FLAT.format(n=1, t="1, 6"), WRONG["sample 0 for all"][0])

    certify(capsys, *names, "--batch", "--counterexample", "x.npz")
    wrong = certify(capsys, *names, "--replay", "x.npz")
    written(FLAT.format(n="N", t="-1, 6"), here, "c.onnx")
    right = certify(capsys, "a.onnx", "c.onnx", "--replay", "x.npz")

    assert (wrong[0], wrong[1].partition(":")[0]) == (1, "differs")
    assert (right[0], right[1].partition(":")[0]) == (0, "agrees")


def test_an_input_that_suits_no_such_model(here: Path, capsys: Captured) -> None:
    names = pair(here, SCALED.format(last=3), SCALED.format(last=4))
    certify(capsys, *names, "--counterexample", "x.npz")
    written(SCALED.format(last=3).replace("x", "q"), here, "c.onnx")

    code, said, error = certify(capsys, "c.onnx", "b.onnx", "--replay", "x.npz")

    assert (code, said) == (1, "")
    assert error.startswith("onereshape: onnxruntime cannot run the model c.onnx: ")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"seed": "x"}, "seed is a str"),
        ({"term_seed": -1}, "a seed is 0 or more"),
        ({"progress": 3}, "progress is a int"),
        ({"timeout": 0}, "timeout is 0"),
        ({"batch": {"q": 0}}, "q"),
    ],
)
def test_wrong_arguments(asked: dict[str, Any], why: str, here: Path) -> None:
    names = pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n="N", t="-1, 6"))

    with pytest.raises(ReshapeError, match=why):
        orx.certify(*names, **asked)


def test_what_is_given_is_not_changed(here: Path) -> None:
    names = pair(here, FLAT.format(n=1, t="1, 6"), FLAT.format(n="batch", t="-1, 6"))
    models = [orx.load(name) for name in names]

    orx.certify(*models, batch=True)

    declared = [[str(dim) for dim in each.ir.graph.inputs[0].shape or ()] for each in models]
    assert declared == [["1", "2", "3"], ["batch", "2", "3"]]
    assert onnx.load("b.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
