"""NextStep: commands that a shell reads as they are meant, and calls that Python does."""

from __future__ import annotations

import io
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import onereshape as orx
from onereshape.checks.findings.next_step import NextStep, quoted
from onereshape.formats.model import Model
from onereshape.formats.typed import path_word
from onereshape.ground.text import printable, shown
from tests.checking import MODELS, proto, written

PATHS = {
    "m.onnx": "onereshape fix m.onnx -o m-dynamic.onnx --batch",
    "my model.onnx": "onereshape fix 'my model.onnx' -o 'my model-dynamic.onnx' --batch",
    "it's.onnx": """onereshape fix 'it'"'"'s.onnx' -o 'it'"'"'s-dynamic.onnx' --batch""",
    "-m.onnx": "onereshape fix ./-m.onnx -o ./-m-dynamic.onnx --batch",
    "a/b.v2.ONNX": "onereshape fix a/b.v2.ONNX -o a/b.v2-dynamic.ONNX --batch",
    "m.onnx.gz": "onereshape fix m.onnx.gz -o m-dynamic.onnx.gz --batch",
    "model": "onereshape fix model -o model-dynamic.onnx --batch",
    "a\n\x1b[2J.onnx": r"onereshape fix $'a\n\x1b[2J.onnx' -o $'a\n\x1b[2J-dynamic.onnx' --batch",
    "##[x].onnx": r"onereshape fix $'\x23\x23[x].onnx' -o $'\x23\x23[x]-dynamic.onnx' --batch",
}


def model(path: str) -> Model:
    return Model("onnx", path, (), None, None)


@pytest.mark.parametrize("path", PATHS)
def test_paths(path: str) -> None:
    assert NextStep("fix", batch=True).typed(model(path), path_word(path)) == PATHS[path]


STEPS = [
    (NextStep("fix", batch=True), "fix m.onnx -o m-dynamic.onnx --batch", "orx.fix(model, batch=True)"),
    (
        NextStep("fix", batch=(("x", 0), ("past key", 1)), options=("per_sample",)),
        "fix m.onnx -o m-dynamic.onnx --batch x:0 'past key:1' --per-sample",
        "orx.fix(model, batch={'x': 0, 'past key': 1}, per_sample=True)",
    ),
    (
        NextStep("fix", free=(("x", 1, "S"), ("y", 2, "S"), ("x", 2, "T")), options=("unwitnessed",)),
        "fix m.onnx -o m-dynamic.onnx --free x:1=S y:2=S x:2=T --unwitnessed",
        "orx.fix(model, free={'x': {1: 'S', 2: 'T'}, 'y': {2: 'S'}}, unwitnessed=True)",
    ),
    (
        NextStep("fix", batch=(("-x", 0), ("y", 1)), free=(("--batch", 1, "S"),)),
        "fix m.onnx -o m-dynamic.onnx --batch y:1 --batch=-x:0 --free=--batch:1=S",
        "orx.fix(model, batch={'-x': 0, 'y': 1}, free={'--batch': {1: 'S'}})",
    ),
    (
        NextStep("fix", options=("simplify",)),
        "fix m.onnx -o m-simpler.onnx --simplify",
        "orx.fix(model, simplify=True)",
    ),
    (NextStep("show", node="a/b c"), "show m.onnx --node 'a/b c'", "orx.show(model)"),
    (NextStep("show", node="-n"), "show m.onnx --node=-n", "orx.show(model)"),
    (NextStep("show"), "show m.onnx", "orx.show(model)"),
]


@pytest.mark.parametrize(("step", "typed", "called"), STEPS)
def test_steps(step: NextStep, typed: str, called: str) -> None:
    assert step.typed(model("m.onnx"), "m.onnx") == f"onereshape {typed}"
    assert step.called() == called


def test_a_model_that_is_no_file_is_repaired_by_a_call(tmp_path: Path) -> None:
    path = Path(written(MODELS["baked-dim"], tmp_path))
    held = orx.load(path)
    path.unlink()

    assert [each.next for each in orx.check(held)] == ["orx.fix(model, batch=True)"]


def test_a_command_names_the_file_of_the_model_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have the name that bytes have in messages; and a repaired model is not the file it was read from."""
    path = Path(written(MODELS["baked-dim"], tmp_path))
    content = path.read_bytes()
    (tmp_path / "bytes").write_bytes(content)
    (tmp_path / "file object").write_bytes(content)
    monkeypatch.chdir(tmp_path)

    for given in (content, io.BytesIO(content)):
        assert [each.next for each in orx.check(given)] == ["orx.fix(model, batch=True)"]
    repaired = orx.fix(path, batch=True, certify=False).model
    assert NextStep("show").of(orx.load(path)) == f"onereshape show {path}"
    assert NextStep("show").of(repaired) == "orx.show(model)"


def test_a_command_that_would_be_endless_is_none(tmp_path: Path) -> None:
    text = MODELS["baked-dim"].replace(" x)", f" {'x' * 3000})").replace("(x,", f"({'x' * 3000},")
    (found,) = orx.check(written(text.replace("s77, 15", "15, s77").replace("1, 3, 5", "3, 5, 1"), tmp_path))

    assert found.code == "baked-dim"
    assert found.next is None


def test_a_node_that_shares_its_name_is_shown_by_its_place(tmp_path: Path) -> None:
    text = "g (float[2, 3] x) => (float[?] y, float[?] z) <int64[1] t = {5}> { y = Reshape(x, t) z = Reshape(x, t) }"
    made = proto(text)
    for node in made.graph.node:
        node.name = "twin"
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    nodes = [(each.next or "").partition("--node ")[2] for each in orx.check(tmp_path / "m.onnx")]

    assert nodes == ["'graph/Reshape#0'", "'graph/Reshape#1'"]


SIGNS = "ab '\"\\$`!*?[]{}()<>|&;#~\n\t\r\x1b\x7f\u00e9\u6f22\u200b\u202e\u2028\U0001f600\ufe0f:="


def word(dice: random.Random) -> str:
    return "".join(dice.choice(SIGNS) for _ in range(dice.randint(1, 12)))


def test_a_shell_reads_what_was_meant() -> None:
    dice = random.Random(0)  # noqa: S311 - words, not secrets
    words = ["::error::x", "##[error]x", "a##vso[b]", *(word(dice) for _ in range(400))]
    script = "printf '%s\\0' " + " ".join(map(quoted, words))
    run = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=_utf8())  # noqa: S603, S607

    assert run.stdout.decode().split("\0")[:-1] == words


def test_a_word_in_a_command_is_printed_as_it_is() -> None:
    """The door of all text changes nothing: what is printed can be pasted."""
    dice = random.Random(1)  # noqa: S311 - words, not secrets
    for each in ("::error::x", "##[error]x", *(word(dice) for _ in range(400))):
        line = f"m.onnx: next: onereshape show {quoted(each)}"

        assert printable(line) == shown(line) == line


def test_a_path_of_other_bytes() -> None:
    path = os.fsdecode(b"m\xff\x80.onnx")
    script = f"printf '%s' {quoted(path)}"
    run = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=_utf8())  # noqa: S603, S607

    assert run.stdout == b"m\xff\x80.onnx"


def _utf8() -> dict[str, Any]:
    return {**os.environ, "LC_ALL": "C.UTF-8"}
