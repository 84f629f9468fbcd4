"""Other exports and witnesses that are none: one sentence, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.cli import main
from onereshape.ground.errors import FixError, ReshapeError
from tests.commands import Captured, ran
from tests.models import external, model
from tests.prove.certifying import built
from tests.repair.like_files import body, export, exported


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return exported(tmp_path)


RESHAPE = "agraph (float[1, 6] x) => (float[2, 3] y) <int64[2] k = {2, 3}> { y = Reshape(x, k) }"
STRANGER = "agraph (float[1, 6, 8] z) => (float[1, 6, 8] y) { y = Neg(z) }"


@pytest.mark.parametrize("option", ["--like", "--witness"])
def test_other_exports_are_files(option: str, here: Path, capsys: Captured) -> None:
    code, _, error = ran(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", option, "-")

    assert code == 2
    assert error.startswith(f"onereshape: {option}: it takes a file: only MODEL can be read from standard input")
    assert not (here / "o.onnx").exists()


@pytest.mark.parametrize(
    "words", [["fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx"], ["certify", "a.onnx", "c.onnx"]]
)
def test_a_sparse_initializer_is_told(words: list[str], here: Path, capsys: Captured) -> None:
    """onnx-ir has no place for it, and would say that in its own words."""
    for name in ("a.onnx", "c.onnx"):
        proto = onnx.load(name)
        values = onnx.numpy_helper.from_array(np.ones(1, np.float32), "b")
        places = onnx.numpy_helper.from_array(np.zeros(1, np.int64), "b_places")
        proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, places, [8]))
        del proto.graph.initializer[[each.name for each in proto.graph.initializer].index("b")]
        onnx.save(proto, name)
    code, _, error = ran(capsys, *words)

    assert code == 2 if words[0] == "certify" else 1
    assert error.startswith("onereshape: a.onnx: its initializer 'b' is sparse, and sparse tensors are not followed")
    assert not (here / "o.onnx").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--like", "stranger.onnx"], "their inputs are x and z"),
        (["--like", "weights.onnx"], "the initializer b has other values in weights.onnx"),
        (["--like", "same.onnx"], "the exports have the same sizes"),
        (["--like", "c.onnx", "--like", "again.onnx"], "two of the exports have the same sizes, x_1 = 6"),
        (
            ["--like", "c.onnx", "--witness", "again.onnx"],
            "the witness again.onnx has the sizes of c.onnx (x_1 = 6), and so shows nothing",
        ),
        (
            ["--free", "x:1=S", "--witness", "same.onnx"],
            "the witness same.onnx has the sizes of a.onnx (S = 4), and so shows nothing",
        ),
        (["--like", "c.onnx", "--free", "x:2=C"], "x[2] has the same size in all exports"),
        (["--like", "c.onnx", "--like", "weights.onnx"], "the initializer b has other values in weights.onnx"),
        (["--like", "r.xml"], "r.xml and a.onnx are not in one format"),
        (
            ["--like", "c.onnx", "--witness", "wide.onnx"],
            "x[2] is 8, and 16 in the witness wide.onnx: it is not among the freed",
        ),
    ],
)
def test_bad_input(words: Sequence[str], why: str, here: Path, capsys: Captured) -> None:
    (here / "stranger.onnx").write_bytes(model(STRANGER).SerializeToString())
    export(here, "weights.onnx", 9, b=9)
    export(here, "same.onnx", 4)
    export(here, "again.onnx", 6)
    (here / "wide.onnx").write_bytes(model("agraph " + body(9).replace("9, 8]", "9, 16]")).SerializeToString())
    (here / "r.onnx").write_bytes(model(RESHAPE).SerializeToString())
    main(["convert", "r.onnx", "--to", "openvino", "-o", "r.xml"])
    capsys.readouterr()

    code, said, error = ran(capsys, "fix", "a.onnx", "-o", "o.onnx", *words)

    assert (code, said) == (1, "")
    assert error.startswith(f"onereshape: the exports do not go together: {why}")
    assert error.endswith("  [unlike]\n  nothing was written to o.onnx\n")
    assert not (here / "o.onnx").exists()


def test_a_value_that_nothing_makes_is_told(here: Path, capsys: Captured) -> None:
    lost = model(f"agraph {body(9)}")
    del lost.graph.initializer[0]
    (here / "lost.onnx").write_bytes(lost.SerializeToString())
    code, _, err = ran(capsys, "fix", "lost.onnx", "--like", "c.onnx", "-o", "o.onnx")

    assert (code, (here / "o.onnx").exists()) == (2, False)
    assert err.startswith("onereshape: lost.onnx: its Reshape reads 'k', which nothing makes")


def test_operators_of_another_domain_are_told_apart(here: Path, capsys: Captured) -> None:
    strange = model(f"agraph {body(9)}")
    strange.graph.node[1].domain = "my.own"
    strange.opset_import.add(domain="my.own", version=1)
    (here / "strange.onnx").write_bytes(strange.SerializeToString())
    code, _, err = ran(capsys, "fix", "strange.onnx", "--like", "c.onnx", "-o", "o.onnx")

    assert (code, (here / "o.onnx").exists()) == (1, False)
    assert "my.own::Add y of one export stands beside Add y of another" in err


def test_a_witness_with_other_weights(here: Path) -> None:
    export(here, "weights.onnx", 9, b=9)

    with pytest.raises(FixError) as told:
        orx.fix("a.onnx", like="c.onnx", witness="weights.onnx")
    assert told.value.code == "unlike"
    assert "the initializer b has other values in the witness weights.onnx" in str(told.value)


def test_a_witness_with_other_weights_that_no_answer_shows(tmp_path: Path) -> None:
    """A row of a long table that nothing that is drawn looks up."""
    body = (
        "(int64[1, {s}] x) => (float[1, {s}, 4] y) <int64[2] k = {{1, {s}}}> {{ r = Reshape(x, k) y = Gather(t, r) }}"
    )
    table = np.random.default_rng(3).standard_normal((50_000, 4)).astype(np.float32)
    paths = []
    for size in (4, 6, 9):
        changed = table.copy()
        changed[-3 if size == 9 else 0 : None if size == 9 else 0] += 1
        path = tmp_path / f"{size}.onnx"
        ir.save(built(body.format(s=size), t=changed), path)
        paths.append(path)

    with pytest.raises(FixError, match="the initializer t has other values in the witness"):
        orx.fix(paths[0], like=paths[1], witness=paths[2])


def test_a_witness_with_another_constant_that_follows_the_size(here: Path) -> None:
    for size in (4, 6, 9):
        scaled = f"""agraph (float[1, {size}, 2] x) => (float[1, {size}, 2] y) {{
            k = Constant <value_ints = [1, {size}, 2]> () s = Constant <value = float {{{1 / size}}}> ()
            r = Reshape(x, k) y = Mul(r, s) }}"""
        (here / f"scaled{size}.onnx").write_bytes(model(scaled).SerializeToString())

    assert orx.fix("scaled4.onnx", like="scaled6.onnx", witness="scaled9.onnx").certificate.holds


GATED = """agraph (float[1, {s}, 2] x) => (float[1, {s}, 2] y) {{
    k = Constant <value_ints = [1, {s}, 2]> ()
    w = Constant <value = float[2, 2] {{{w}, 0, 0, 1}}> ()
    far = Constant <value = float {{1000000000}}> ()
    r = Reshape(x, k) open = Greater(r, far) m = MatMul(r, w) y = Where(open, m, r) }}"""


def test_a_witness_with_another_constant_that_no_answer_shows(here: Path) -> None:
    """Exporters write weights as nodes, too; no value that is drawn opens the gate."""
    for size, weight in ((4, 2), (6, 2), (9, 2), (11, 3)):
        (here / f"gated{size}.onnx").write_bytes(model(GATED.format(s=size, w=weight)).SerializeToString())

    assert orx.fix("gated4.onnx", like="gated6.onnx", witness="gated9.onnx").certificate.holds
    with pytest.raises(FixError, match=r"the constant w is another in the witness gated11\.onnx") as told:
        orx.fix("gated4.onnx", like="gated6.onnx", witness=["gated9.onnx", "gated11.onnx"])
    assert told.value.code == "unlike"


@pytest.mark.parametrize(
    "words",
    [
        ["fix", "a.onnx", "-o", "o.onnx", "--like", "lost.onnx"],
        ["fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", "--witness", "lost.onnx"],
        ["certify", "a.onnx", "fixed.onnx", "--like", "lost.onnx"],
        ["certify", "a.onnx", "fixed.onnx", "--like", "c.onnx", "--witness", "lost.onnx"],
        ["certify", "a.onnx", "lost.onnx"],
    ],
)
def test_weights_that_are_not_there_are_told(words: list[str], here: Path, capsys: Captured) -> None:
    orx.save(orx.fix("a.onnx", like="c.onnx").model, "fixed.onnx")
    lost = model(f"agraph {body(9)}")
    del lost.graph.initializer[1:]
    lost.graph.initializer.append(external("b", [8], "gone.bin"))
    (here / "lost.onnx").write_bytes(lost.SerializeToString())
    code, _, err = ran(capsys, *words)

    assert (code, (here / "o.onnx").exists()) == (2, False)
    assert err.startswith("onereshape: lost.onnx: its data in 'gone.bin' cannot be read (No such file or directory)")


def test_dims_that_no_export_shows_apart_are_told(tmp_path: Path) -> None:
    body = """(float[1, {s}] x, float[1, {s}] u) => (float[1, {s}] y, float[1, {s}] z) <int64[2] k = {{1, {s}}}> {{
        y = Reshape(x, k) z = Reshape(u, k) }}"""
    paths = [tmp_path / f"{size}.onnx" for size in (4, 6)]
    for path, size in zip(paths, (4, 6), strict=True):
        ir.save(built(body.format(s=size)), path)
    found, named = (orx.fix(paths[0], like=paths[1], free=free) for free in (None, {"x": {1: "S"}, "u": {1: "S"}}))

    assert found.notes == ("one size in all exports, and taken for one, x_1: x[1], u[1]",)
    assert named.notes == ()


def test_a_witness_in_which_one_size_is_two(tmp_path: Path) -> None:
    body = """(float[1, {s}] x, float[1, {t}] u) => (float[1, {s}] y, float[1, {t}] z) <int64[2] k = {{1, {s}}},
        int64[2] l = {{1, {t}}}> {{ y = Reshape(x, k) z = Reshape(u, l) }}"""
    paths = []
    for sizes in ((4, 4), (6, 6), (4, 9)):
        paths.append(tmp_path / "{}_{}.onnx".format(*sizes))
        ir.save(built(body.format(s=sizes[0], t=sizes[1])), paths[-1])

    with pytest.raises(FixError, match=r"x_1 is 4 as x\[1\] and 9 as u\[1\] in the witness"):
        orx.fix(paths[0], like=paths[1], witness=paths[2])


def test_an_output_that_is_a_constant_is_called_by_its_own_name(tmp_path: Path) -> None:
    body = """(float[1, {s}] x) => (float[1, {s}] y, int64[2] p) <int64[2] k = {{1, {s}}}> {{
        y = Reshape(x, k) p = Identity(k) }}"""
    paths = [tmp_path / f"{size}.onnx" for size in (4, 6)]
    for path, size in zip(paths, (4, 6), strict=True):
        ir.save(built(body.format(s=size)), path)

    with pytest.raises(FixError, match="the output p is a constant"):
        orx.fix(paths[0], like=paths[1])


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ("missing/c.json", "missing/c.json: its folder does not exist  [unwritable]"),
        ("folder", "folder: is a folder  [unwritable]"),
        ("", "--certificate takes the name of a file  [bad-usage]"),
        ("-", "--certificate takes the name of a file  [bad-usage]"),
    ],
)
def test_nothing_is_written_where_the_certificate_cannot_be(kept: str, why: str, here: Path, capsys: Captured) -> None:
    (here / "folder").mkdir()
    code, _, err = ran(capsys, "fix", "a.onnx", "--like", "c.onnx", "-o", "o.onnx", "--certificate", kept)

    assert (code, (here / "o.onnx").exists(), (here / "-").exists()) == (2, False, False)
    assert err.startswith(f"onereshape: {why}")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("given", [1, {"c": 1}, []])
def test_other_exports_of_wrong_types(given: Any) -> None:
    with pytest.raises(ReshapeError) as told:
        orx.fix("a.onnx", like=given)
    assert told.value.code == "bad-usage"


def test_an_output_is_never_an_export(here: Path, capsys: Captured) -> None:
    before = (here / "c.onnx").read_bytes()

    assert ran(capsys, "fix", "a.onnx", "-o", "c.onnx", "--like", "c.onnx")[0] == 2
    assert (here / "c.onnx").read_bytes() == before
