"""Certificates of models that were fitted on several exports, and of two steps in one command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.cli import main
from onereshape.condition import Clause
from onereshape.errors import FixError, ReshapeError
from onereshape.models.certificates.certificate import Status
from onereshape.models.certificates.combining import status_of
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.certificates.certify import certify
from tests.certifying import built, other
from tests.models import model
from tests.running import session

Captured = pytest.CaptureFixture[str]

BODY = """(float[1, {s}, 8] x) => (float[1, {s}, 8] y)
    <int64[3] k = {{{k}}}, float[8] b = {{1, 2, 3, 4, 5, 6, 7, {b}}}> {{
    r = Reshape(x, k)
    y = Add(r, b)
}}"""


def body(size: int | str, k: str | None = None, b: float = 8) -> str:
    return BODY.format(s=size, k=k or f"1, {size}, 8", b=b)


def export(folder: Path, name: str, size: int, b: float = 8) -> str:
    path = folder / name
    path.write_bytes(model(f"agraph {body(size, b=b)}").SerializeToString())
    return str(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, size in (("a.onnx", 4), ("c.onnx", 6), ("d.onnx", 9)):
        export(tmp_path, name, size)
    return tmp_path


def run(capsys: Captured, *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# What was compared with what

four, six, nine, free = built(body(4)), built(body(6)), built(body(9)), built(body("S", "1, -1, 8"))


def test_what_was_fitted_is_compared_with_all_that_it_was_fitted_on() -> None:
    found = other(four, free, fitted=(six,))

    assert (found.status, found.holds, found.suffices) == ("fitted", False, True)
    assert (found.fitted, found.witnesses) == (({"S": 4}, {"S": 6}), ())
    assert found.compared == ({"S": 4}, {"S": 6})
    assert found.reason == (
        "fitted on S = 4, 6, and agrees there; the largest difference is 0; compared with no other size; "
        "only ran at S = 8, 2, 5, 12"
    )


def test_a_witness_certifies_what_was_fitted() -> None:
    found = other(four, free, fitted=(six,), witnesses=(nine,))

    assert (found.status, found.fitted, found.witnesses) == ("certified", ({"S": 4}, {"S": 6}), ({"S": 9},))
    assert found.reason == (
        "compared at S = 9; fitted on S = 4, 6, and agrees there too; the largest difference is 0; "
        "only ran at S = 8, 2, 5, 12"
    )


def test_a_witness_of_other_sizes_in_one_dim_only() -> None:
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (8, 9), (5, 9), (8, 6), ("H", "W"))]
    freed = {"x": {1: "H", 2: "W"}}
    half = other(at[0], at[4], freed=freed, fitted=(at[1],), witnesses=(at[2],))
    none = other(at[0], at[4], freed=freed, fitted=(at[1],), witnesses=(at[3],))

    assert (half.status, none.status) == ("certified", "certified")
    assert half.reason.startswith(
        "compared at (H, W) = (5, 9); fitted on (H, W) = (4, 6), (8, 9), and agrees there too; "
        "no other W than there was compared; "
    )
    assert "no other H, W than there was compared" in none.reason


def test_the_terms_beside_a_witness_of_other_sizes_in_one_dim_only() -> None:
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (8, 9), (5, 9), ("H", "W"))]
    asked = Comparison("other", fitted=(at[1],), witnesses=(at[2],))
    found = certify(at[0], at[3], {"x": {1: "H", 2: "W"}}, asked, base_dir=".")

    assert found.status == "proven"
    assert found.reason.startswith("at (H, W) = (4, 6), (8, 9), (5, 9) each output element is the same expression")


def test_an_export_that_contradicts_is_a_refusal() -> None:
    found = other(four, free, fitted=(built(body(6, b=9)),))

    assert found.status == "differs"
    assert "at S = 6" in found.reason


GATED = """(float[1, {s}, 8] x) => (float[1, {s}, 8] y) <float gate = {{{gate}}}, float more = {{{more}}}> {{
    open = Greater(x, gate)
    beside = Mul(x, more)
    y = Where(open, beside, x)
}}"""


@pytest.mark.parametrize("gate", [50.0, 500.0])
@pytest.mark.parametrize("others", ["fitted", "witnesses"])
def test_what_hides_behind_a_gate_is_compared_with_other_exports_too(others: str, gate: float) -> None:
    """No usual value is above the gate."""
    original, repaired, same, another = (
        built(GATED.format(s=s, gate=gate, more=more)) for s, more in ((4, 2), ("S", 2), (9, 2), (9, 3))
    )
    given: dict[str, Any] = {"fitted": (), others: (another,)}
    found = other(original, repaired, **given)

    assert found.status == "differs"
    assert "at S = 9, on inputs that are" in found.reason
    given[others] = (same,)
    assert other(original, repaired, **given).status == ("fitted" if others == "fitted" else "certified")


def test_an_export_that_has_nothing_to_say() -> None:
    cut = """(float[1, {s}] x) => (float[1, {t}] y) <int64[1] a = {{2}}, int64[1] e = {{9}}, int64[1] w = {{1}}> {{
        y = Slice(x, a, e, w)
    }}"""
    models = [built(cut.format(s=s, t=t)) for s, t in ((4, 2), ("S", "T"), (2, 0))]

    assert other(*models[:2], fitted=(models[2],)).status == "untested"


# What must hold of the sizes

EVEN = Clause("S is even", frozenset({"S"}), lambda at: at["S"] % 2 == 0)
FEW = Clause("S <= 6", frozenset({"S"}), lambda at: at["S"] <= 6)


def test_what_only_ran_fulfils_what_is_stated() -> None:
    """At 5 the model runs as well; there it is not said to be right."""
    plain, even, few = (other(four, free, fitted=(six,), clauses=found) for found in ((), (EVEN,), (EVEN, FEW)))

    assert [found.ran for found in (plain, even, few)] == [
        ({"S": 8}, {"S": 2}, {"S": 5}, {"S": 12}),
        ({"S": 8}, {"S": 2}, {"S": 12}),
        ({"S": 2},),
    ]


def test_beyond_what_is_stated_a_model_may_stop_but_not_make_other_dims() -> None:
    """Data that are cut to the 6 rows that a table has: nobody would see that rows are missing."""
    cut = built("""(float[1, S, 8] x) => (float[1, T, 8] y)
        <int64[1] s = {0}, int64[1] e = {6}, int64[1] i = {1}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
        r = Slice(x, s, e, i) y = Add(r, b) }""")
    found = other(four, cut, fitted=(six,), clauses=(FEW,), promised=lambda at: {"y": (1, at["S"], 8)})

    assert found.status == "differs"
    assert found.reason == "output 'y' has dims [1, 6, 8] at S = 8, and [1, 8, 8] were inferred"


def test_sizes_that_are_tied_have_no_others_than_the_exports() -> None:
    """Nothing runs that is not compared, and nothing is missing: what is stated leaves no other sizes."""
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (7, 3), ("H", "W"))]
    sums = Clause("H + W = 10", frozenset({"H", "W"}), lambda at: at["H"] + at["W"] == 10)
    found = other(at[0], at[2], freed={"x": {1: "H", 2: "W"}}, fitted=(at[1],), clauses=(sums,))

    assert (found.status, found.ran) == ("fitted", ())


def test_a_witness_beyond_what_is_stated_is_told_so() -> None:
    """It is asked all the same: where it agrees, the result is right there too."""
    stays = built(body("S", "1, 9, 8"))
    right = other(four, free, fitted=(six,), witnesses=(nine,), clauses=(EVEN,))
    wrong = other(four, free, fitted=(six,), witnesses=(built(body(9, b=9)),), clauses=(EVEN,))
    fitted = other(four, stays, fitted=(six,), clauses=(EVEN,))

    assert right.status == "certified"
    assert (wrong.status, wrong.reason.endswith("; it only holds if S is even")) == ("differs", True)
    assert "only holds" not in fitted.reason


def test_a_refused_witness_names_the_condition(tmp_path: Path, capsys: Captured) -> None:
    """A picture in blocks of 2 x 2, by numbers: cut, as torch does, at an odd size."""
    sized = """(float[1, {h}, 4] x) => (float[{t}, 2, 4] y) <int64[3] k = {{{t}, 2, 4}}, int64[1] a = {{0}},
        int64[1] e = {{{e}}}, int64[1] i = {{1}}> {{ c = Slice(x, a, e, i) y = Reshape(c, k) }}"""
    paths = []
    for height in (4, 8, 7):
        pairs = height // 2
        path = tmp_path / f"{height}.onnx"
        path.write_bytes(model(f"agraph {sized.format(h=height, e=2 * pairs, t=pairs)}").SerializeToString())
        paths.append(str(path))
    out = tmp_path / "o.onnx"
    code, _, err = run(capsys, "fix", paths[0], "--like", paths[1], "--witness", paths[2], "-o", str(out))

    assert (code, out.exists()) == (1, False)
    assert "; it only holds if x_1 is divisible by 2" in err


@pytest.mark.parametrize(
    ("engine", "here_", "there", "wanted"),
    [
        ("fitted", "proven", None, "fitted"),
        ("fitted", "differs", None, "fitted"),
        ("fitted", "not proven", None, "fitted"),
        ("certified", "proven", "proven", "proven"),
        ("certified", "differs", "proven", "certified"),
        ("certified", "proven", "differs", "certified"),
        ("differs", "proven", "proven", "differs"),
    ],
)
def test_the_table_of_what_follows(engine: Status, here_: Any, there: Any, wanted: Status) -> None:
    """Terms of constants that are calculated may differ from folded ones by a rounding: that refuses nothing."""
    assert status_of(engine, here_, there, ran=True, witnessed=True, fitted=True) == wanted


@pytest.mark.parametrize(("witnesses", "status"), [((), "fitted"), ((nine,), "proven")])
def test_the_terms_beside_all_exports(witnesses: tuple[ir.Model, ...], status: Status) -> None:
    asked = Comparison("other", fitted=(six,), witnesses=witnesses)
    found = certify(four, free, {"x": {1: "S"}}, asked, base_dir=".")

    assert found.status == status
    at = "S = 4, 6, 9" if witnesses else "S = 4, 6"
    assert (f"at {at} each output element" in found.reason) == bool(witnesses)
    assert found.reason.endswith(f"proven at {at} only") == (not witnesses)


# The command and the call


def test_a_model_is_fitted_and_written(here: Path, capsys: Captured) -> None:
    code, said, _ = run(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", "--free", "x:1=S")
    machine = json.loads(run(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", "--json")[1])

    assert code == 0
    assert said.splitlines()[-2].startswith("fitted: fitted on S = 4, 6, and agrees there; ")
    assert machine["certificate"]["status"] == "fitted"
    assert machine["certificate"]["fitted"] == [{"x_1": 4}, {"x_1": 6}]
    assert (here / "o.onnx").exists()


def test_several_exports_and_several_witnesses(here: Path, capsys: Captured) -> None:
    export(here, "e.onnx", 11)
    words = ("--like", "c.onnx", "--like", "d.onnx", "--witness", "e.onnx", "--witness", export(here, "f.onnx", 13))
    code, said, _ = run(capsys, "fix", "a.onnx", "-o", "o.onnx", "--free", "x:1=S", *words)

    assert code == 0
    assert said.splitlines()[-2].startswith("proven: at S = 4, 6, 9, 11, 13 each output element is the same expression")
    assert "onnxruntime agrees at S = 11, 13; fitted on S = 4, 6, 9, and agrees there too" in said


@pytest.mark.usefixtures("here")
def test_the_same_in_python() -> None:
    fitted = orx.fix("a.onnx", like=orx.load("c.onnx"), free={"x": {1: "S"}})
    proven = orx.fix("a.onnx", like=["c.onnx"], witness=["d.onnx"])

    assert (fitted.certificate.status, fitted.freed) == ("fitted", {"x": {1: "S"}})
    assert (proven.certificate.status, proven.freed) == ("proven", {"x": {1: "x_1"}})
    assert orx.certify("a.onnx", fitted.model, free={"x": {1: "S"}}, like="c.onnx").status == "fitted"


def test_a_fitted_certificate_is_kept_and_made_again(here: Path, capsys: Captured) -> None:
    words = ("--like", "c.onnx", "--free", "x:1=S", "--certificate", "p.json")
    assert run(capsys, "fix", "a.onnx", "-o", "o.onnx", *words)[0] == 0
    kept = json.loads((here / "p.json").read_text())

    assert [each["path"] for each in kept["like"]] == ["c.onnx"]
    code, said, _ = run(capsys, "certify", "--proof", "p.json")
    assert (code, said.splitlines()[-1]) == (0, "p.json says the same")
    export(here, "c.onnx", 6, b=9)
    assert run(capsys, "certify", "--proof", "p.json")[0] == 1


# Two steps


@pytest.mark.usefixtures("here")
def test_other_dims_and_then_the_batch(capsys: Captured) -> None:
    words = ("fix", "a.onnx", "-o", "o.onnx", "--batch", "--like", "c.onnx", "--free", "x:1=S")
    code, said, _ = run(capsys, *words)
    found = json.loads(run(capsys, *words, "--json")[1])["certificate"]

    assert code == 0
    assert said.splitlines()[-2].startswith("fitted: other dims, fitted: fitted on S = 4, 6, and agrees there; ")
    assert "; then the batch, beside that model sample by sample, proven: for all N >= 1 and S = " in said
    assert (found["status"], found["kind"], found["basis"]["status"], found["basis"]["kind"]) == (
        "fitted",
        "batch",
        "fitted",
        "other",
    )
    assert len({each["S"] for each in found["compared"]}) > 2
    session_dims = [[*map(str, each.shape or ())] for each in orx.load("o.onnx").ir.graph.inputs]
    assert session_dims == [["N", "S", "8"]]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"free": {"x": {1: "S"}}, "unwitnessed": True}, "unwitnessed"),
        ({"free": {"x": {1: "S"}}, "witness": "c.onnx"}, "proven"),
        ({"like": "c.onnx"}, "fitted"),
        ({"like": "c.onnx", "witness": "d.onnx"}, "proven"),
    ],
)
def test_the_whole_is_as_good_as_the_weaker_step(asked: Mapping[str, Any], status: str, here: Path) -> None:
    found = orx.fix("a.onnx", batch={"x": 0}, **asked)
    changed = orx.load(here / "a.onnx")

    assert found.certificate.status == found.certificate.basis.status == status
    assert found.freed["x"][0] == "N"
    assert [dim for value in changed.ir.graph.inputs for dim in value.shape or ()] == [1, 4, 8]


def test_what_nobody_witnessed_stops_before_the_batch(here: Path, capsys: Captured) -> None:
    code, _, error = run(capsys, "fix", "a.onnx", "-o", "o.onnx", "--batch", "--free", "x:1=S")

    assert (code, "(--like OTHER.onnx), or have the file all the same (--unwitnessed)" in error) == (1, True)
    assert not (here / "o.onnx").exists()


@pytest.mark.usefixtures("here")
def test_no_certificate_of_two_steps_is_kept(capsys: Captured) -> None:
    words = ("fix", "a.onnx", "-o", "o.onnx", "--batch", "--like", "c.onnx", "--certificate", "p.json")

    code, _, error = run(capsys, *words)
    assert (code, "a certificate is kept of one step" in error) == (2, True)


# Bad input: one sentence, nothing written

RESHAPE = "agraph (float[1, 6] x) => (float[2, 3] y) <int64[2] k = {2, 3}> { y = Reshape(x, k) }"
STRANGER = "agraph (float[1, 6, 8] z) => (float[1, 6, 8] y) { y = Neg(z) }"


@pytest.mark.parametrize("option", ["--like", "--witness"])
def test_other_exports_are_files(option: str, here: Path, capsys: Captured) -> None:
    code, _, error = run(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", option, "-")

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
    code, _, error = run(capsys, *words)

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

    code, said, error = run(capsys, "fix", "a.onnx", "-o", "o.onnx", *words)

    assert (code, said) == (1, "")
    assert error.startswith(f"onereshape: the exports do not go together: {why}")
    assert error.endswith("  [unlike]\n  nothing was written to o.onnx\n")
    assert not (here / "o.onnx").exists()


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


def test_an_output_that_depends_on_nothing_is_told_without_samples() -> None:
    """Of one entry a softmax makes 1."""
    body = "(float[1, {s}] x) => (float[1, {s}] y) {{ y = Softmax <axis = 1> (x) }}"
    one, six, free = (built(body.format(s=size)) for size in (1, 6, "S"))
    found = other(one, free, fitted=(six,))

    assert found.status == "untested"
    assert found.reason.startswith("no output depends on what is fed (the same whatever is fed: y)")


@pytest.mark.usefixtures("here")
def test_certify_finds_the_dims_that_differ(capsys: Captured) -> None:
    run(capsys, "fix", "a.onnx", "--like", "c.onnx", "-o", "o.onnx")
    code, said, _ = run(capsys, "certify", "a.onnx", "o.onnx", "--like", "c.onnx")

    assert (code, said.startswith("fitted: fitted on x_1 = 4, 6")) == (0, True)


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
    code, _, err = run(capsys, "fix", "a.onnx", "--like", "c.onnx", "-o", "o.onnx", "--certificate", kept)

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

    assert run(capsys, "fix", "a.onnx", "-o", "c.onnx", "--like", "c.onnx")[0] == 2
    assert (here / "c.onnx").read_bytes() == before


@pytest.mark.usefixtures("here")
def test_what_was_fitted_runs_at_any_size() -> None:
    orx.save(orx.fix("a.onnx", batch=True, like="c.onnx").model, "o.onnx")
    x = np.random.default_rng(0).normal(size=(3, 7, 8)).astype(np.float32)

    assert np.allclose(session("o.onnx", optimized=True).run(None, {"x": x})[0], x + np.arange(1, 9, dtype=np.float32))
