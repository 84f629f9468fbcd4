"""show(): every Reshape of a model, whatever its format, and the table of it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.checks.show import ReshapeTable, listed_dims, show
from onereshape.formats.model import load
from onereshape.ground.errors import ReshapeError
from tests.checks import report_models
from tests.checks.report_models import text_model
from tests.commands import Captured, refused, said

CORPUS = Path(__file__).parent.parent / "data" / "corpus"


def test_formulas_and_conditions(tmp_path: Path) -> None:
    text = """
    g (float[N, 6] x, float[2, M] z) => (float[a, b] y, float[c, d] w)
    <int64[2] t = {4, -1}, int64[2] u = {0, -1}>
    { y = Reshape(x, t)  w = Reshape(z, u) }
    """
    first, second = show(text_model(tmp_path / "m.onnx", text))

    assert (first.data, first.target, first.output) == (("N", 6), (4, -1), (4, "3*N/2"))
    assert first.conditions == ("N is divisible by 2",)
    assert (first.name, first.place, first.spec) == ("graph/Reshape#0", "graph/Reshape#0", "onnx-14")
    assert first.target_from == "initializer t"
    assert (second.data, second.output, second.inferred) == ((2, "M"), (2, "M"), True)


def test_a_size_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    """A dim of an input, and what only a run tells."""
    text = """
    g (float[?, 6] x, float[8] v) => (float[a] y, int64[b] w)
    <int64[1] t = {-1}>
    { y = Reshape(x, t)  n = NonZero(v)  w = Reshape(n, t)  k = Concat <axis = 1> (n, n)  z = Reshape(k, t) }
    """
    text = text.replace("int64[b] w)", "int64[b] w, int64[c] z)").replace("float[?, 6]", "float[unknown, 6]")
    path = text_model(tmp_path / "m.onnx", text)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    onnx.save(model, path)
    inputs, nonzero, twice = show(path)

    assert listed_dims(inputs.output) == "[6*x[0]]"
    assert listed_dims(nonzero.output) == "[n[1]]"
    assert listed_dims(twice.output) == "[2*n[1]]"


def test_targets_that_are_computed(tmp_path: Path) -> None:
    text = """
    g (float[N, 3, 4] x) => (float[a, b] y)
    <int64[1] zero = {0}, int64[1] rest = {-1}>
    { s = Shape(x)  n = Gather(s, zero)  t = Concat <axis = 0> (n, rest)  y = Reshape(x, t) }
    """
    (row,) = show(text_model(tmp_path / "m.onnx", text))

    assert (row.target, row.output) == (("N", -1), ("N", 12))
    assert row.target_from == "computed by Concat t"


def test_bodies_and_functions_in_the_order_of_the_graph(tmp_path: Path) -> None:
    rows = show(report_models.control(tmp_path / "m.onnx"))

    assert [row.place for row in rows] == [
        "graph/If#0/then_branch/Reshape#0",
        "graph/If#0/else_branch/Reshape#0",
        "graph/Loop#0/body/Reshape#0",
        "graph/Reshape#0",
        "own::flat/Reshape#0",
    ]
    assert [row.output for row in rows] == [(1, 6), (3, 2), (1, 6), (1, 6), (6,)]


def test_the_order_is_that_of_the_file_in_real_models() -> None:
    for path in sorted(CORPUS.glob("*.onnx"))[:12]:
        model = load(path)

        assert [row.place for row in show(model)] == [node.place for node in model.reshapes]


def test_what_no_input_satisfies_is_said(tmp_path: Path) -> None:
    text = "g (float[2, 3] x) => (float[a, b] y) <int64[2] t = {5, -1}> { y = Reshape(x, t) }"
    (row,) = show(text_model(tmp_path / "m.onnx", text))

    assert row.refused is not None
    assert "6 elements do not divide by 5" in row.refused
    assert row.to_json()["refused"] == row.refused


def test_a_onednn_graph_shows_what_it_declares(tmp_path: Path) -> None:
    (row,) = show(report_models.onednn(tmp_path / "g.json"))

    assert (row.spec, row.data, row.target, row.inferred) == ("onednn-static", (2, 3), (5, -1), False)
    assert row.refused is not None


def test_an_ir_is_inferred_as_a_whole(tmp_path: Path) -> None:
    import openvino
    from openvino import opset13 as op

    x = op.parameter(openvino.PartialShape([-1, 3, 4]), np.float32, name="x")
    flat = op.reshape(op.relu(x), op.constant(np.array([0, -1], np.int64)), special_zero=True)
    flat.set_friendly_name("flat")
    openvino.save_model(openvino.Model([flat], [x], "net"), tmp_path / "net.xml")
    (row,) = show(tmp_path / "net.xml")

    assert (row.name, row.spec, row.inferred) == ("flat", "openvino", True)
    assert listed_dims(row.output).endswith("[0], 12]")
    assert row.attributes == {"special_zero": True}


def test_the_table_is_a_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = report_models.control(Path("m.onnx"))
    table = show(path)

    assert isinstance(table, ReshapeTable)
    assert (len(table), table[0], table[-1].name) == (5, next(iter(table)), "own::flat/Reshape#0")
    assert table == show(path)
    assert repr(table) == f"ReshapeTable(5 Reshapes of {path})"
    assert json.loads(json.dumps(table.to_json()))[1]["output"] == [3, 2]
    assert table._repr_html_().count("<tr>") == 6


def test_a_notebook_runs_nothing_of_a_name(tmp_path: Path) -> None:
    text = show(report_models.hostile(tmp_path / "m.onnx"))._repr_html_()

    assert "<script" not in text
    assert "<img" not in text
    assert len(text) < 20_000


def test_nothing_is_changed(tmp_path: Path) -> None:
    path = report_models.declared(tmp_path / "m.onnx")
    before = path.read_bytes()
    model = load(path)
    first = show(model)

    assert show(model) == first
    assert path.read_bytes() == before


def test_the_command(tmp_path: Path, capsys: Captured) -> None:
    path = report_models.declared(tmp_path / "m.onnx")

    assert said(capsys, "show", str(path)).splitlines() == [
        "node             data       target   output   if     target from",
        "graph/Reshape#0  [N, 3, 4]  [2, 12]  [2, 12]  N = 2  initializer shape",
        "",
        f"1 Reshape in {path}",
    ]
    machine = json.loads(said(capsys, "show", str(path), "--json"))
    assert machine["reshapes"] == show(path).to_json()


def test_node_takes_names_and_places(capsys: Captured) -> None:
    path = str(CORPUS / "hand_yolo_head.ts.onnx")
    for node in ("/Reshape_2", "graph/Reshape#2"):
        (row,) = json.loads(said(capsys, "show", path, "--node", node, "--json"))["reshapes"]
        assert row["name"] == "/Reshape_2"
    code, message = refused(capsys, "show", path, "--node", "Reshape_9")
    assert code == 2
    assert "no Reshape is named 'Reshape_9'" in message


def test_nodes_that_share_a_name_are_shown_by_their_places(tmp_path: Path, capsys: Captured) -> None:
    shape = numpy_helper.from_array(np.array([6], np.int64), "t")
    nodes = [helper.make_node("Reshape", ["x", "t"], [f"y{number}"], name="same") for number in range(2)]
    ends = [helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None) for number in range(2)]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(nodes, "g", given, ends, [shape])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    lines = said(capsys, "show", str(path)).splitlines()

    assert [line.split()[0] for line in lines[1:3]] == ["graph/Reshape#0", "graph/Reshape#1"]


def test_no_reshape(tmp_path: Path, capsys: Captured) -> None:
    path = text_model(tmp_path / "m.onnx", "g (float[N] x) => (float[N] y) { y = Relu(x) }")

    assert said(capsys, "show", str(path)) == f"0 Reshapes in {path}\n"


def test_a_pipe_has_whole_names_and_a_terminal_what_fits(tmp_path: Path, capsys: Captured) -> None:
    path = report_models.long_chain(tmp_path / "m.onnx", 9)
    name = "/encoder/layer.0/attention/self/Reshape0"
    assert name in said(capsys, "show", str(path))

    lines = on_a_terminal("show", str(path), columns=60)
    table = [line for line in lines if "Reshape" in line or "node" in line][:4]
    assert all(len(line) <= 60 for line in table)
    assert any("…" in line for line in table)
    assert name in "\n".join(on_a_terminal("show", str(path), columns=200))


def on_a_terminal(*words: str, columns: int) -> list[str]:
    """What a command prints on a terminal of that width, without colours."""
    inner, outer = pty.openpty()
    surroundings = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "onereshape", *words]
    with subprocess.Popen(command, stdout=outer, env=surroundings) as run:  # noqa: S603
        os.close(outer)
        parts = []
        while True:
            try:
                part = os.read(inner, 65536)
            except OSError:  # the end
                break
            if not part:
                break
            parts.append(part)
        assert run.wait() == 0
    os.close(inner)
    return b"".join(parts).decode().splitlines()


def test_hostile_names_are_one_line_each(tmp_path: Path, capsys: Captured) -> None:
    printed = said(capsys, "show", str(report_models.hostile(tmp_path / "m.onnx")))

    assert len(printed.splitlines()) == len(report_models.HOSTILE) + 3
    assert "\x1b" not in printed
    assert "\u202e" not in printed


@pytest.mark.parametrize("content", [b"", b"\x08", b"<net", b"{", b"\x00" * 100])
def test_what_is_no_model_is_refused_in_one_sentence(tmp_path: Path, content: bytes, capsys: Captured) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ReshapeError):
        show(path)
    code, message = refused(capsys, "show", str(path))
    assert code == 2
    assert "\n" not in message
