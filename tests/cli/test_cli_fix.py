"""`onereshape fix` as it is typed: what is said, what is written, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.checking import written
from tests.commands import Captured, ran
from tests.models import external, model

BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
ABSORBED = "g (float[1, 2, 3] x) => (float[1, 6] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }"
MIXING = "g (float[1, 6] x) => (float[1, 6] y) { y = Softmax <axis = 0> (x) }"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fix(capsys: Captured, *words: str) -> tuple[int, str, str]:
    return ran(capsys, "fix", *words)


def test_what_is_said_of_a_repair(here: Path, capsys: Captured) -> None:
    written(ABSORBED, here)

    code, said, _ = fix(capsys, "m.onnx", "-o", "out.onnx", "--batch", "--diff")

    assert code == 0
    assert said.splitlines() == [
        "n (Reshape): absorbed-dim: the -1 at shape[1] swallows N, which belongs in shape[0] = 1: "
        "a wrong answer, no error",
        "  - [1, -1]  (initializer t)",
        "  + [0, -1]",
        "                          | m.onnx    | out.onnx",
        "--------------------------+-----------+-----------",
        " input x                  | [1, 2, 3] | [N, 2, 3]",
        " output y                 | [1, 6]    | [N, 6]",
        " nodes                    | 1         | 1",
        " constant Reshape targets | 1         | 1",
        " computed Reshape targets | 0         | 0",
        "proven: for all N >= 1 each output element is the same expression of its own sample's inputs; "
        "onnxruntime agrees at N = 1, 2, 3; the largest difference is 0",
        "1 change, written to out.onnx",
    ]
    assert sorted(path.name for path in here.iterdir()) == ["m.onnx", "out.onnx"]


def test_the_same_for_machines(here: Path, capsys: Captured) -> None:
    written(BAKED, here)

    code, said, _ = fix(capsys, "m.onnx", "out.onnx", "--batch", "x:0", "--json", "--seed", "7")

    answer = json.loads(said)
    assert code == 0
    assert [change["after"] for change in answer["changes"]] == ["[0, 2, 3]"]
    assert answer["before"]["inputs"] == {"x": [1, 6]}
    assert answer["after"]["inputs"] == {"x": ["N", 6]}
    certificate = answer["certificate"]
    assert certificate["status"] == "proven"
    assert certificate["seed"] == 7
    assert (certificate["proof"]["verdict"], certificate["proof"]["always"]) == ("proven", True)
    assert certificate["proof"]["seed"] != 7
    assert (certificate["compared"], certificate["ran"]) == ([{"N": 1}, {"N": 2}, {"N": 3}], [])
    assert [(each["name"], each["difference"]) for each in certificate["outputs"]] == [("y", 0.0)]


def test_without_a_certificate_it_says_so(here: Path, capsys: Captured) -> None:
    written(BAKED, here)

    code, said, _ = fix(capsys, "m.onnx", "-o", "out.onnx", "--batch", "--no-certify")

    assert code == 0
    assert "not certified: nothing was run" in said


SEQUENCE = "g (float[1, {s}, 8] x) => (float[1, {s}, 2, 4] y) <int64[4] t = {{1, {s}, 2, 4}}> {{ y = Reshape(x, t) }}"
UNWITNESSED = (
    "compared at S = 6 (the exported size); ran at S = 12, 3, 7, 18: what it answers there was compared with nothing; "
    "proven at S = 6 only"
)


@pytest.mark.parametrize("more", [[], ["--simplify"]])
def test_without_a_witness_nothing_is_written(more: list[str], here: Path, capsys: Captured) -> None:
    written(SEQUENCE.format(s=6), here)

    code, said, error = fix(capsys, "m.onnx", "-o", "out.onnx", "--free", "x:1=S", *more)

    assert (code, said) == (1, "")
    assert error.splitlines() == [
        f"onereshape: nobody witnessed the repaired model at another size: {UNWITNESSED}; give an export at another "
        "size (--like OTHER.onnx), or have the file all the same (--unwitnessed)  [unwitnessed]",
        "  nothing was written to out.onnx",
    ]
    assert [path.name for path in here.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("more", [[], ["--simplify"]])
def test_what_nobody_witnessed_is_written_if_asked_for(more: list[str], here: Path, capsys: Captured) -> None:
    written(SEQUENCE.format(s=6), here)

    code, said, _ = fix(capsys, "m.onnx", "-o", "out.onnx", "--free", "x:1=S", "--unwitnessed", *more)
    _, machine, _ = fix(capsys, "m.onnx", "-o", "out.onnx", "--free", "x:1=S", "--unwitnessed", "--json", *more)

    assert code == 0
    assert said.splitlines()[-2:] == [f"unwitnessed: {UNWITNESSED}", "1 change, written to out.onnx"]
    certificate = json.loads(machine)["certificate"]
    assert (certificate["status"], certificate["compared"]) == ("unwitnessed", [{"S": 6}])
    assert certificate["ran"] == [{"S": 12}, {"S": 3}, {"S": 7}, {"S": 18}]


def test_a_witness_certifies(here: Path, capsys: Captured) -> None:
    written(SEQUENCE.format(s=6), here)
    written(SEQUENCE.format(s=9), here, "nine.onnx")

    code, said, _ = fix(capsys, "m.onnx", "-o", "out.onnx", "--free", "x:1=S", "--witness", "nine.onnx")

    assert code == 0
    assert said.splitlines()[-2] == (
        "proven: at S = 6, 9 each output element is the same expression of the inputs; "
        "onnxruntime agrees at S = 6, 9; the largest difference is 0; only ran at S = 12, 3, 7, 18"
    )


def test_what_is_sound_is_copied_byte_for_byte(here: Path, capsys: Captured) -> None:
    written(BAKED, here)
    fix(capsys, "m.onnx", "-o", "out.onnx", "--batch")

    code, said, _ = fix(capsys, "out.onnx", "-o", "again.onnx", "--batch")

    proven, same = said.splitlines()
    assert (code, same) == (0, "nothing to repair; again.onnx is out.onnx, byte for byte")
    assert proven.startswith("proven: for all N >= 1 ")
    assert (here / "again.onnx").read_bytes() == (here / "out.onnx").read_bytes()


def test_in_place(here: Path, capsys: Captured) -> None:
    written(BAKED, here)

    assert fix(capsys, "m.onnx", "--in-place", "--batch")[0] == 0

    assert onnx.load("m.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["m.onnx", "-o", "out.onnx"], 2, "fix was not told what to do: free the batch (batch, --batch)"),
        (
            ["m.onnx", "-o", "out.onnx", "--batch", "--witness", "mixing.onnx"],
            2,
            "a witness is for freed dims other than the batch, and none are asked for",
        ),
        (
            ["m.onnx", "--batch"],
            2,
            "say where to write the repaired model: onereshape fix m.onnx --batch -o m-dynamic.onnx",
        ),
        (["--batch"], 2, "a model is missing: onereshape fix MODEL -o OUT (see onereshape fix --help)"),
        (["m.onnx", "-o", "m.onnx", "--batch"], 2, "m.onnx is the input itself, which is changed only with --in-place"),
        (["m.onnx", "a.onnx", "-o", "b.onnx", "--batch"], 2, "there are two files to write: a.onnx and b.onnx"),
        (["m.onnx", "-o", "b.onnx", "--in-place", "--batch"], 2, "--in-place writes over m.onnx, and b.onnx is named"),
        (["m.onnx", "-o", "out.onnx", "--batch", "z:0"], 2, "the model has no input 'z'"),
        (["m.onnx", "-o", "out.onnx", "--batch", "x:2"], 2, "the input x has 2 dims, so it has no axis 2"),
        (["m.onnx", "-o", "out.onnx", "--free", "x:0=2N"], 2, "'2N' is no name of a dim"),
        (["m.onnx", "-o", "no/out.onnx", "--batch"], 2, "no/out.onnx: its folder does not exist"),
        (["none.onnx", "-o", "out.onnx", "--batch"], 2, "none.onnx: No such file or directory"),
        (["broken.onnx", "-o", "out.onnx", "--batch"], 2, "broken.onnx: is no ONNX model"),
        (["mixing.onnx", "-o", "out.onnx", "--batch"], 1, "n (Softmax) mixes the samples"),
        (["custom.onnx", "-o", "out.onnx", "--simplify"], 1, "onnxruntime cannot load the original model"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    words: list[str], code: int, message: str, here: Path, capsys: Captured
) -> None:
    written(BAKED, here)
    written(MIXING, here, "mixing.onnx")
    (here / "broken.onnx").write_bytes(b"\x08 no model")
    custom = "g (float[N, 6] x) => (float[N, 6] y) <int64[2] t = {0, 6}> { h = Reshape(x, t) y = local.Odd(h) }"
    written(custom, here, "custom.onnx")
    before = {path.name: path.read_bytes() for path in here.iterdir()}

    found, _, said = fix(capsys, *words)

    assert found == code
    assert said.startswith(f"onereshape: {message}")
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_weights_stay_in_their_file_or_are_copied_with_the_model(here: Path, capsys: Captured) -> None:
    weights = np.arange(36, dtype=np.float32)
    (here / "w.bin").write_bytes(weights.tobytes())
    made = model(
        "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { h = MatMul(x, w) y = Reshape(h, t) }"
    )
    made.graph.initializer.append(external("w", [6, 6], "w.bin", offset=0, length=144))
    (here / "m.onnx").write_bytes(made.SerializeToString())
    (here / "other").mkdir()

    assert fix(capsys, "m.onnx", "-o", "beside.onnx", "--batch")[0] == 0
    assert onnx.load("beside.onnx", load_external_data=False).graph.initializer[0].external_data[0].value == "w.bin"
    code, _, said = fix(capsys, "m.onnx", "-o", "other/out.onnx", "--batch")
    assert code == 2
    assert "save it in that folder, or have `onereshape fix --copy-weights` copy them too" in said
    assert fix(capsys, "m.onnx", "-o", "other/out.onnx", "--batch", "--copy-weights")[0] == 0
    assert (here / "other" / "w.bin").read_bytes() == weights.tobytes()
    assert onnx.numpy_helper.to_array(onnx.load("other/out.onnx").graph.initializer[0]).sum() == weights.sum()
    assert fix(capsys, "m.onnx", "-o", "other/out.onnx", "--batch", "--copy-weights")[0] == 0, "the same weights"

    code, said, _ = fix(capsys, "beside.onnx", "-o", "other/same.onnx", "--batch")
    assert (code, (here / "other" / "same.onnx").exists()) == (0, False)
    same = "other/same.onnx is not written: its weights are in another folder (--copy-weights copies both)"
    assert said.endswith(f"nothing to repair; {same}\n")
    (here / "other" / "w.bin").write_bytes(weights[::-1].tobytes())
    code, _, said = fix(capsys, "m.onnx", "-o", "other/out2.onnx", "--batch", "--copy-weights")
    assert code == 2
    assert "is there already, and the weights would be copied to that name" in said
    assert sorted(path.name for path in (here / "other").iterdir()) == ["out.onnx", "w.bin"]
    (here / "w.bin").unlink()
    code, _, said = fix(capsys, "m.onnx", "-o", "alone.onnx", "--batch")
    assert (code, (here / "alone.onnx").exists()) == (2, False)
    assert "m.onnx: its data in 'w.bin' cannot be read (No such file or directory)" in said
