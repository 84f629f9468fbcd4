"""Every command on models that are damaged: each is answered or refused in words, and none falls into the net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onereshape as orx
from onereshape import cli
from tests.damaging import damaged, graphs
from tests.models import model, write

Captured = pytest.CaptureFixture[str]

COMMANDS = [
    ["check", "m.onnx"],
    ["check", "m.onnx", "--batch"],
    ["check", "m.onnx", "--free", "x:1=S"],
    ["fix", "m.onnx", "-o", "o.onnx", "--batch"],
    ["fix", "m.onnx", "-o", "o.onnx", "--free", "x:1=S"],
    ["fix", "m.onnx", "-o", "o.onnx", "--simplify"],
    ["convert", "m.onnx", "--to", "onnx-13", "-o", "o.onnx"],
    ["convert", "m.onnx", "--to", "onnx-22", "-o", "o.onnx"],
    ["convert", "m.onnx", "--to", "openvino", "-o", "o.xml"],
]
SEEDS = 2


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONERESHAPE_TRACEBACK", "1")


def outcome(words: list[str], capsys: Captured) -> tuple[int, str]:
    code = cli.main(words)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("number", range(len(graphs())))
def test_no_damage_falls_into_the_net(number: int, capsys: Captured) -> None:
    found = {}
    for seed in range(SEEDS):
        proto = damaged(graphs()[number], 1000 * seed + number)
        write(proto, Path("m.onnx"))
        for words in COMMANDS:
            if "Pad" in {node.op_type for node in proto.graph.node} and proto.opset_import[:1] == [
                helper.make_operatorsetid("", 1)
            ]:
                continue  # below
            code, said = outcome(words, capsys)
            if "[unforeseen]" in said or code not in {0, 1, 2}:
                found[" ".join(words), seed] = said
    assert found == {}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_pad_of_opset_1(words: list[str], capsys: Captured) -> None:
    """Its pads are called `paddings`."""
    header = '<ir_version: 3, opset_import: ["" : 1]>'
    body = "g (float[1, 3] x) => (float[1, 5] y) { y = Pad<paddings = [0, 1, 0, 1]>(x) }"
    write(model(body, header), Path("m.onnx"))
    code, said = outcome(words, capsys)

    assert code in {0, 1, 2}
    assert "[unforeseen]" not in said


@pytest.mark.parametrize("dims", [(1, 3), (2, 2)])
@pytest.mark.parametrize("perm", [[0, 0], [-1, 0], [0]])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_transpose_that_is_no_permutation(
    words: list[str], perm: list[int], dims: tuple[int, ...], capsys: Captured
) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    target = numpy_helper.from_array(np.array([1, -1]), "s")
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=perm), helper.make_node("Reshape", ["t", "s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [target])
    write(helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 21)], ir_version=10), Path("m.onnx"))
    code, said = outcome(words, capsys)

    assert code in {0, 1, 2}
    assert "[unforeseen]" not in said


@pytest.mark.parametrize("opset", [-1, 0, 29, 10**6, 2**62])
def test_an_opset_that_is_none(opset: int, capsys: Captured) -> None:
    proto = graphs()[0]
    proto.opset_import[0].version = opset
    write(proto, Path("m.onnx"))

    code, said = outcome(["convert", "m.onnx", "--to", "onnx-13", "-o", "o.onnx"], capsys)
    assert (code, "unforeseen" in said) == (2, False)
    assert not Path("o.onnx").exists()


@pytest.mark.parametrize("number", range(1, len(graphs()) - 1, 2))
def test_minus_one_for_an_unknown_dim(number: int, capsys: Captured) -> None:
    """As some exporters write it; onnx's own inference of a Slice ends the process on it."""
    proto = graphs()[number]
    for info in (*proto.graph.input, *proto.graph.output):
        for dim in info.type.tensor_type.shape.dim:
            dim.dim_value = -1
    write(proto, Path("m.onnx"))
    found = {" ".join(words): outcome(words, capsys) for words in COMMANDS}

    assert {words: said for words, (code, said) in found.items() if code not in {0, 1, 2} or "unforeseen" in said} == {}


def test_what_is_wrong_with_the_model_is_said() -> None:
    proto = graphs()[3]
    proto.graph.node[0].attribute.append(helper.make_attribute("axes", "word"))
    proto.graph.node[2].input.append("nowhere")
    write(proto, Path("m.onnx"))

    for call in (orx.check, orx.fix):
        with pytest.raises(orx.ReshapeError) as refusal:
            call("m.onnx", batch=True)
        assert refusal.value.usage


def test_a_mistake_of_ours_on_a_sound_model_is_not_blamed_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write(graphs()[0], Path("m.onnx"))
    onnx.checker.check_model("m.onnx", full_check=True)

    def wrong(*_: object) -> None:
        raise IndexError("planted")

    monkeypatch.setattr("onereshape.models.check.requested", wrong)
    with pytest.raises(IndexError, match="planted"):
        orx.check("m.onnx", batch=True)
