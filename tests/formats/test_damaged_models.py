"""Every command on models that are damaged: each is answered or refused in words, and none falls into the net."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

import onereshape as orx
from onereshape import cli
from tests.budget import part
from tests.formats.damaging import damaged, graphs
from tests.models import external, model, write

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


@pytest.mark.parametrize("number", [*part(range(len(graphs())), 2)])
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


@pytest.mark.parametrize("number", [*part(range(1, len(graphs()) - 1, 2), 2)])
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

    with pytest.raises(orx.ReshapeError) as refusal:
        orx.fix("m.onnx", batch=True)
    assert refusal.value.usage
    assert [(each.code, each.op) for each in orx.check("m.onnx", batch=True)] == [("cannot-free", "Unsqueeze")]


def test_a_mistake_of_ours_on_a_sound_model_is_not_blamed_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write(graphs()[0], Path("m.onnx"))
    onnx.checker.check_model("m.onnx", full_check=True)

    def wrong(*_: object) -> None:
        raise IndexError("planted")

    monkeypatch.setattr("onereshape.checks.check.requested", wrong)
    with pytest.raises(IndexError, match="planted"):
        orx.check("m.onnx", batch=True)


def one(edit: Callable[[onnx.ModelProto], None], number: int = 1) -> onnx.ModelProto:
    """One of the graphs, changed."""
    proto = graphs()[number]
    edit(proto)
    return proto


def tensor(data_type: int = TensorProto.INT64, dims: tuple[int, ...] = (3,), **fields: Any) -> TensorProto:
    return TensorProto(name="s", data_type=data_type, dims=dims, **fields)


def constant(made: TensorProto) -> Callable[[onnx.ModelProto], None]:
    """The target of a Reshape is this tensor."""
    return lambda proto: proto.graph.initializer[0].CopyFrom(made)


def without_a_tensor(proto: onnx.ModelProto) -> None:
    """The attribute of a Constant announces a tensor, and has none."""
    made = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR)
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["c"]))
    proto.graph.node[0].attribute.append(made)
    proto.graph.node[2].input[1] = "c"


def of_no_function(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="a")


def output_of_nothing(proto: onnx.ModelProto) -> None:
    proto.graph.output[0].name = "nobody"


WRONG = {
    "elements of type 99": (constant(tensor(99)), "is not a sound ONNX model: 99 is not a valid DataType"),
    "elements of no type": (constant(tensor(0)), "initializer s has elements of no type"),
    "a Constant without its tensor": (without_a_tensor, "attribute value of Constant c has elements of no type"),
    "integers in the field of others": (
        constant(tensor(TensorProto.INT32, int64_data=[2, 3, 4])),
        "initializer s has 0 of the 3 elements that its dims announce",
    ),
    "integers twice": (
        constant(tensor(int64_data=[2, 3, 4], raw_data=bytes(24))),
        "initializer s has its data twice, in int64_data and raw_data",
    ),
    "more than its dims": (
        constant(tensor(dims=(), int64_data=[2, 3, 4])),
        "initializer s has 3 of the 1 elements that its dims announce",
    ),
    "65 dims": (
        constant(tensor(dims=(1,) * 65, int64_data=[2])),
        "initializer s has dims that no array can have: [1, 1, 1, 1, 1, 1, 1, 1] ...",
    ),
    "dims beyond bytes": (
        constant(tensor(dims=(0, 2**62, 2**62))),
        f"initializer s has dims that no array can have: [0, {2**62}, {2**62}]",
    ),
    "strings elsewhere": (
        constant(tensor(TensorProto.STRING, data_location=TensorProto.EXTERNAL)),
        "initializer s has strings in another file",
    ),
    "an attribute of no function": (
        of_no_function,
        "attribute alpha of graph/Relu#0 is that of a function, and is in none",
    ),
    "an output of nothing": (output_of_nothing, "its output 'nobody' is made by no node"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_onnx_checker_lets_through_or_breaks_down_on(case: str) -> None:
    edit, why = WRONG[case]
    write(one(edit), Path("m.onnx"))
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.load("m.onnx")

    assert refusal.value.fields["why"] == why


@pytest.mark.parametrize("location", ["gone.bin", "m.onnx/w.bin"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_weights_that_are_not_there(words: list[str], location: str, capsys: Captured) -> None:
    """A model is read without its weights; who asks for them is told."""
    write(one(lambda proto: proto.graph.initializer[0].CopyFrom(external("i", [1], location, 7)), 5), Path("m.onnx"))
    code, said = outcome(words, capsys)

    assert code in {0, 1, 2}
    assert "unforeseen" not in said


@pytest.mark.parametrize("axis", [3, -4, 2**31, -(2**63)])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_axes_that_nothing_has(words: list[str], axis: int, capsys: Captured) -> None:
    """The checker does not see what is in another file."""
    Path("w.bin").write_bytes(np.array([axis]).tobytes())
    proto = one(lambda proto: proto.graph.initializer[2].CopyFrom(external("k", [1], "w.bin", 7)), 5)
    write(proto, Path("m.onnx"))
    code, said = outcome(words, capsys)

    assert code in {0, 1, 2}
    assert "unforeseen" not in said


@pytest.mark.parametrize("name", ["9" * 5000, "N**999", "2*" + "9" * 1200 + "*N"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_dim_whose_name_is_a_huge_number(words: list[str], name: str, capsys: Captured) -> None:
    proto = graphs()[1]
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    write(proto, Path("m.onnx"))
    code, said = outcome(words, capsys)

    assert code in {0, 1, 2}
    assert "unforeseen" not in said


def test_a_text_that_onnx_cannot_print() -> None:
    """A tensor that came into the model after it was read."""
    write(graphs()[1], Path("m.onnx"))
    found = orx.load("m.onnx")
    found.ir.graph.initializers["s"].const_value = ir.serde.TensorProtoTensor(tensor(raw_data=bytes(5)))
    with pytest.raises(orx.ReshapeError, match="the textual form has no words for some of this model"):
        orx.save(found, "o.onnxtxt")

    assert not Path("o.onnxtxt").exists()


def test_what_libraries_say_of_a_file_is_not_printed() -> None:
    """Neither their log nor their warnings: a dim of -1, and a key of external data that onnx does not know."""
    proto = graphs()[1]
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    made = external("w", [1], "w.bin", TensorProto.FLOAT)
    made.external_data.add(key="odd", value="1")
    proto.graph.initializer.append(made)
    write(proto, Path("m.onnx"))
    for words in (["check", "m.onnx"], ["convert", "m.onnx", "--to", "onnx-13", "-o", "o.onnx"]):
        run = subprocess.run([sys.executable, "-P", "-m", "onereshape", *words], check=False, capture_output=True)  # noqa: S603

        assert all(line.startswith((b"onereshape: ", b"  ")) for line in run.stderr.splitlines()), run.stderr
