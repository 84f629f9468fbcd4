"""What a repair of an IR leaves alone: layers, what feeds them, their notes, and the names of tensors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import openvino
import pytest
from bench.openvino_judge import ours
from openvino import opset10, opset13 as op, opset14

import onereshape as orx
from onereshape.formats.openvino.openvino_ir import root_of
from tests.openvino_models import Case, given, i64, model, weights
from tests.repair.openvino_untouched import untouched

Node = Any


def number(value: int) -> Node:
    return op.constant(np.int64(value))


def twice(n: int) -> openvino.Model:
    """A value of which the batch is put apart, and which is fed to both ports of an Add."""
    x = given("x", [n, 4])
    rows = op.gather(x, i64(*(0, -1) * n), number(0))
    return model([x], y=op.reshape(op.add(rows, rows), i64(n, 2, 4), special_zero=False))


def rolled(n: int) -> openvino.Model:
    """A Roll along two axes, of which the batch is one: there is nothing to move along it."""
    x = given("x", [n, 4, 3])
    return model([x], y=op.reshape(op.roll(x, i64(1, 2), i64(0, 1)), i64(n, 12), special_zero=False))


def explicit(n: int) -> openvino.Model:
    """A Broadcast that says where each dim goes: its target must have the dims of its data."""
    x = given("x", [n, 4])
    return model([x], y=op.reshape(op.broadcast(x, i64(n, 3, 4), i64(0, 2), "EXPLICIT"), i64(n, 12), False))


def paddle(n: int) -> openvino.Model:
    """Dims that are equal, and a broadcast that would read others in its own way."""
    x = given("x", [n, 4, 3])
    return model([x], y=op.reshape(op.add(x, weights(n, 4, 3), "PDPD"), i64(n, 12), special_zero=False))


def chunked(n: int) -> openvino.Model:
    """Lengths of pieces that are computed from a size, the last of them -1."""
    x = given("x", [n, 9])
    third = op.divide(op.gather(op.shape_of(x), i64(1), number(0)), i64(3))
    pieces = op.variadic_split(x, number(1), op.concat([third, third, i64(-1)], 0))
    return model([x], y=op.reshape(pieces.output(2), i64(n, 3, 1), special_zero=False), first=pieces.output(0))


def four_bits(n: int) -> openvino.Model:
    """Weights of a type that ONNX does not have."""
    x = given("x", [n, 8])
    packed = np.random.default_rng(4).integers(0, 256, (6, 4)).astype(np.uint8)
    table = op.constant(openvino.Tensor(packed, openvino.Shape([6, 8]), openvino.Type.nf4))
    return model([x], y=op.reshape(op.matmul(x, op.convert(table, "f32"), False, True), i64(n, 2, 3), False))


def priors(n: int) -> openvino.Model:
    """Boxes that are made of sizes alone, and moved by what is found in each image."""
    x = given("x", [n, 6, 4, 4])
    size = op.strided_slice(op.shape_of(x), i64(2), i64(4), i64(1), [0], [0])
    words = {"min_size": [8.0], "step": 8.0, "offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2], "clip": False}
    boxes = op.gather(op.reshape(op.prior_box(size, i64(32, 32), words), i64(2, -1, 4), False), i64(0), number(0))
    moves = op.transpose(op.convolution(x, weights(4, 6, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1]), i64(0, 2, 3, 1))
    return model([x], y=op.add(op.reshape(moves, i64(n, -1, 4), special_zero=False), boxes))


def clustered(n: int) -> openvino.Model:
    x = given("x", [n, 6, 4, 4])
    size = op.strided_slice(op.shape_of(x), i64(2), i64(4), i64(1), [0], [0])
    words = {"width": [4.0], "height": [8.0], "clip": False, "step": 8.0, "offset": 0.5, "variance": [0.1]}
    boxes = op.gather(op.prior_box_clustered(size, i64(32, 32), words), i64(0), number(0))
    moves = op.transpose(op.convolution(x, weights(4, 6, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1]), i64(0, 2, 3, 1))
    return model([x], y=op.add(op.reshape(moves, i64(n, -1), special_zero=False), boxes))


def looped(n: int) -> openvino.Model:
    """A TensorIterator over what all samples share."""
    x, shared = given("x", [n, 5, 6]), given("shared", [1, 5, 6])
    piece, state = op.parameter([1, 1, 6], np.float32), op.parameter([1, 1, 6], np.float32)
    body = openvino.Model([op.result(op.tanh(op.add(piece, state)))], [piece, state], "body")
    iterator = op.tensor_iterator()
    iterator.set_body(body)
    iterator.set_sliced_input(piece, shared.output(0), 0, 1, 1, -1, 1)
    start = op.constant(np.zeros((1, 1, 6), np.float32))
    iterator.set_merged_input(state, start.output(0), body.results[0].output(0))
    rows = iterator.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 1)
    return model([x, shared], y=op.reshape(op.multiply(x, rows), i64(n, 30), special_zero=False))


def repeated(n: int) -> openvino.Model:
    """A Loop of three turns over what all samples share."""
    x, shared = given("x", [n, 5, 6]), given("shared", [1, 1, 6])
    inside = op.parameter([1, 1, 6], np.float32)
    going = op.constant(np.array(True))
    body = openvino.Model([op.result(op.tanh(op.add(inside, inside))), op.result(going)], [inside], "body")
    loop = op.loop(number(3).output(0), op.constant(np.array(True)).output(0))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(inside, shared.output(0), body.results[0].output(0))
    rows = loop.get_iter_value(body.results[0].output(0), -1)
    return model([x, shared], y=op.reshape(op.multiply(x, rows), i64(n, 30), special_zero=False))


def chosen(n: int) -> openvino.Model:
    """An If whose branches get what all samples share."""
    x, shared = given("x", [n, 5, 6]), given("shared", [1, 5, 6])
    first, second = op.parameter([1, 5, 6], np.float32), op.parameter([1, 5, 6], np.float32)
    bodies = [
        openvino.Model([op.result(made)], [inside], "body")
        for made, inside in ((op.relu(first), first), (op.negative(second), second))
    ]
    asked = op.greater(op.reduce_sum(shared, i64(0, 1, 2), False), op.constant(np.float32(0)))
    branch = op.if_op(asked.output(0))
    branch.set_then_body(bodies[0])
    branch.set_else_body(bodies[1])
    branch.set_input(shared.output(0), first, second)
    rows = branch.set_output(bodies[0].results[0], bodies[1].results[0])
    return model([x, shared], y=op.reshape(op.multiply(x, rows), i64(n, 30), special_zero=False))


def enlarged(n: int) -> openvino.Model:
    """An Interpolate by sizes, whose scales nobody reads: they are computed of all dims, and two of them taken."""
    x = given("x", [n, 4, 6, 6])
    ratio = op.divide(op.convert(i64(n, 4, 12, 18), "f32"), op.convert(op.shape_of(x), "f32"))
    scales = op.strided_slice(op.add(ratio, np.float32(1e-5)), i64(2), i64(4), i64(1), [0], [0])
    grown = opset10.interpolate(x, i64(12, 18), scales, "nearest", "sizes", axes=i64(2, 3))
    return model([x], y=op.reshape(grown, i64(n, -1), special_zero=False))


def scaled(n: int) -> openvino.Model:
    """One by scales, whose sizes nobody reads: they are those of what a repaired Reshape makes."""
    x = given("x", [n, 64])
    image = op.reshape(x, i64(n, 4, 4, 4), special_zero=False)
    sizes = op.multiply(op.shape_of(image), op.reshape(i64(1, 1, 2, 2 * n), i64(4), special_zero=False))
    sizes = op.strided_slice(sizes, i64(2), i64(4), i64(1), [0], [0])
    scales = op.constant(np.array([2, 2], np.float32))
    grown = opset10.interpolate(image, sizes, scales, "nearest", "scales", axes=i64(2, 3))
    return model([x], y=op.reshape(grown, i64(n, -1), special_zero=False))


def edged(n: int) -> openvino.Model:
    """A Pad that repeats the edge: the number that it would put in otherwise is a mean over all samples."""
    x = given("x", [n, 4, 6])
    number = op.reduce_mean(x, i64(0, 1, 2), keep_dims=False)
    padded = op.pad(x, i64(0, 1, 1), i64(0, 1, 1), "edge", op.add(number, np.float32(1)))
    return model([x], y=op.reshape(padded, i64(n, -1), special_zero=False))


ALONE: dict[str, dict[str, Any]] = {"x": {"axis": 0, "kind": "normal"}}
BESIDE = {**ALONE, "shared": {"axis": None, "kind": "normal"}}
CASES: dict[str, Case] = {
    "twice": Case(twice, ALONE, {"y": 0}),
    "rolled": Case(rolled, ALONE, {"y": 0}),
    "explicit": Case(explicit, ALONE, {"y": 0}),
    "paddle": Case(paddle, ALONE, {"y": 0}),
    "chunked": Case(chunked, ALONE, {"y": 0, "first": 0}),
    "four bits": Case(four_bits, ALONE, {"y": 0}),
    "priors": Case(priors, ALONE, {"y": 0}),
    "clustered": Case(clustered, ALONE, {"y": 0}),
    "looped": Case(looped, BESIDE, {"y": 0}),
    "repeated": Case(repeated, BESIDE, {"y": 0}),
    "chosen": Case(chosen, BESIDE, {"y": 0}),
    "enlarged": Case(enlarged, ALONE, {"y": 0}),
    "scaled": Case(scaled, ALONE, {"y": 0}),
    "edged": Case(edged, ALONE, {"y": 0}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_sample_has_its_own_answers(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path, out = case.save(tmp_path / "model.xml"), tmp_path / "out.xml"
    fixed = orx.fix(path, batch={"x": 0})
    orx.save(fixed.model, out)
    judged = ours(case.entry(path), path, out)

    assert fixed.certificate is not None
    assert fixed.certificate.holds
    assert (judged["found"], judged["why"]) == ("pass", "")


def repaired(made: openvino.Model, folder: Path, change: Callable[[str], str] = str) -> list[ET.Element]:
    """The net of a model, and that of its repair."""
    path, out = folder / "model.xml", folder / "out.xml"
    openvino.save_model(made, path, compress_to_fp16=False)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    orx.save(orx.fix(path, batch=True).model, out)
    return [ET.parse(each).getroot() for each in (path, out)]  # noqa: S314 - our own files


def layer(net: ET.Element, name: str) -> ET.Element:
    return next(each for each in net.iter("layer") if each.get("name") == name)


def pooled() -> openvino.Model:
    """A MaxPool that counts the places of its largest from axis 2 on, though nobody reads them."""
    x = given("x", [1, 3, 8, 8])
    pool = opset14.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit", "i64", 2)
    pool.set_friendly_name("pool")
    return model([x], y=op.reshape(pool.output(0), i64(1, 48), special_zero=False))


def test_a_layer_stays_whose_other_output_nobody_reads(tmp_path: Path) -> None:
    before, after = (layer(net, "pool") for net in repaired(pooled(), tmp_path))

    assert before.attrib == after.attrib
    assert [port.get("precision") for port in after.iter("port")] == ["FP32", "FP32", "I64"]
    assert [data.attrib for data in before.iter("data")] == [data.attrib for data in after.iter("data")]


def test_two_results_of_one_tensor_stay_so(tmp_path: Path) -> None:
    """Whose batch is brought to the front, behind the layer that made it."""
    x = given("x", [1, 6, 3])
    both = op.squeeze(op.relu(x), i64(0))
    both.output(0).set_names({"one", "other"})
    made = openvino.Model([op.result(both), op.result(both)], [x], "two")
    nets = repaired(made, tmp_path)
    opened = openvino.Core().read_model(tmp_path / "out.xml")

    assert [each.get_names() for each in opened.outputs] == [{"one", "other"}] * 2
    ends = [{each.get("id") for each in net.iter("layer") if each.get("type") == "Result"} for net in nets]
    assert [
        len(
            {
                (edge.get("from-layer"), edge.get("from-port"))
                for edge in net.iter("edge")
                if edge.get("to-layer") in end
            }
        )
        for net, end in zip(nets, ends, strict=True)
    ] == [1, 1]


def test_the_notes_of_a_layer_that_is_spelled_anew_stay(tmp_path: Path) -> None:
    """As of a Reshape whose target is of i32."""
    x = given("x", [1, 4, 8])
    flat = op.reshape(x, op.constant(np.array([1, 32], np.int32)), special_zero=False)
    flat.set_friendly_name("flat")
    note = '<rt_info><attribute name="fused_names" version="0" value="first,second" /></rt_info>'
    mark = '<layer id="2" name="flat" type="Reshape" version="opset1">\n\t\t\t<data special_zero="false" />'
    nets = repaired(model([x], y=flat), tmp_path, lambda text: text.replace(mark, mark + note))
    notes = [[each.attrib for each in layer(net, "flat").iter("attribute")] for net in nets]

    assert notes[0] == notes[1] != []


def test_a_drawing_that_is_right_for_one_size_is_not_kept_at_another(tmp_path: Path) -> None:
    openvino.save_model(rolled(1), tmp_path / "model.xml", compress_to_fp16=False)
    fixed = orx.fix(tmp_path / "model.xml", batch=True)

    assert "Roll" not in {each.get("type") for each in root_of(fixed.model).iter("layer")}


def test_what_computed_a_target_goes_with_its_names(tmp_path: Path) -> None:
    """And with no other name: who still reads such numbers needs them."""
    x = given("x", [1, 4, 8])
    half = op.divide(op.gather(op.shape_of(x), i64(2), number(0)), i64(2))
    target = op.concat([i64(1), half, i64(8)], 0)
    for node, name in ((half, "half"), (target, "target")):
        node.output(0).set_names({name})
    repaired(model([x], y=op.reshape(x, target, special_zero=False)), tmp_path)
    path, out = tmp_path / "model.xml", tmp_path / "out.xml"
    text = out.read_text(encoding="utf-8")

    assert 'names="target"' not in text
    assert untouched(path, out).lost == []
    out.write_text(text.replace('names="x"', ""), encoding="utf-8")
    assert any("names of tensors: x" in each for each in untouched(path, out).lost)
    out.write_text(path.read_text(encoding="utf-8").replace('names="half"', ""), encoding="utf-8")
    assert any("names of tensors: half" in each for each in untouched(path, out).lost)


def test_only_layers_that_are_reshapes_are_simplified(tmp_path: Path) -> None:
    """A Range of limits without dims is drawn with Reshapes that do nothing."""
    x = given("x", [2, 4, 8])
    places = op.range(op.constant(np.int64(0)), op.gather(op.shape_of(x), number(1), number(0)), number(1), "i64")
    target = op.concat([op.gather(op.shape_of(x), i64(0), number(0)), i64(32)], 0)
    summed = op.add(x, op.convert(op.unsqueeze(places, i64(1)), "f32"))
    path = tmp_path / "model.xml"
    openvino.save_model(model([x], y=op.reshape(summed, target, special_zero=False)), path, compress_to_fp16=False)
    fixed = orx.fix(path, simplify=True)
    nets = [ET.parse(path).getroot(), root_of(fixed.model)]  # noqa: S314 - our own file
    types = [{each.get("type") for each in net.iter("layer")} for net in nets]

    assert [each.op for each in fixed.changes] == ["Reshape"]
    assert {each.op for each in orx.check(path)} <= {"Reshape", "input"}
    assert "Range" in types[0] & types[1]
