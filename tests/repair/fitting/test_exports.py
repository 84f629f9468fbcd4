"""Real exports at two sizes: what is fitted on them is right at a third, or is refused for a true reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.plan import apply_like, like_plan
from tests.repair.sizes_arbiter import Exports, exports_of, sizes_verdict

MODULES = exports_of(Path(__file__).parent.parent.parent / "data" / "sizes")
REFUSED = {"hand_interp_half.ts": "the exports do not tell which is right"}
"""Modules that two exports do not tell enough of, and a word of the reason."""
LIMITED = {"hand_pad_to_multiple.dynamo": "S leaves"}
"""Modules that do not run at a size which their condition excludes, and how it begins."""
FITTED = [each for each in MODULES if not each.impossible and each.name not in {*REFUSED, *LIMITED}]


def freed(exports: Exports) -> tuple[bytes, tuple[str, ...]]:
    model, other = (ir.load(exports.files[letter]) for letter in "AC")
    plan = like_plan(model, [other], exports.free)
    apply_like(model, plan)
    return ir.to_proto(model).SerializeToString(), plan.conditions


@pytest.mark.parametrize("exports", FITTED, ids=lambda each: each.name)
def test_what_is_fitted_on_two_sizes_is_right_at_a_third(exports: Exports) -> None:
    assert sizes_verdict(exports, freed(exports)[0]) == ("right", "")


@pytest.mark.parametrize("exports", [each for each in MODULES if each.name in REFUSED], ids=lambda each: each.name)
def test_what_two_exports_do_not_tell_is_refused(exports: Exports) -> None:
    with pytest.raises(FixError) as refusal:
        freed(exports)

    assert REFUSED[exports.name] in refusal.value.sentence


@pytest.mark.parametrize("exports", [each for each in MODULES if each.name in LIMITED], ids=lambda each: each.name)
def test_a_size_that_a_condition_excludes_does_not_run(exports: Exports) -> None:
    model, conditions = freed(exports)

    assert any(condition.startswith(LIMITED[exports.name]) for condition in conditions)
    assert sizes_verdict(exports, model)[0] == "fails"


def test_most_of_them_are_fitted() -> None:
    assert len(FITTED) >= 20


def numbered(size: int, inner: str, output: str) -> onnx.ModelProto:
    """Two entries of a sequence at a time, by an exporter that numbers what nobody named."""
    target = numpy_helper.from_array(np.array([1, size // 2, 2]), "target")
    nodes = [
        helper.make_node("Abs", ["x"], [inner]),
        helper.make_node("Reshape", [inner, "target"], [output]),
    ]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
        for name, dims in (("x", [1, size]), (output, [1, size // 2, 2]))
    )
    graph = helper.make_graph(nodes, "g", [x], [y], [target])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_outputs_that_an_exporter_numbered_go_together_by_their_place() -> None:
    """The number of one export's output is that of something else in another."""
    fixed = orx.fix(numbered(8, "7", "8"), like=numbered(14, "8", "53"), witness=numbered(20, "8/0", "9"))

    assert fixed.certificate is not None
    assert fixed.certificate.holds
    assert [value.name for value in fixed.model.ir.graph.outputs] == ["8"]


def test_outputs_that_somebody_named_otherwise_do_not() -> None:
    with pytest.raises(FixError, match="their outputs are boxes and scores"):
        orx.fix(numbered(8, "7", "boxes"), like=numbered(14, "7", "scores"))
    with pytest.raises(FixError, match="their outputs are 8 and scores"):
        orx.fix(numbered(8, "7", "8"), like=numbered(14, "7", "scores"))


@pytest.mark.parametrize(("one", "other"), [("pad", "view_11"), ("permute_15", "permute_17"), ("onnx::Add_63", "722")])
def test_outputs_that_torch_named_by_their_operation_go_together_by_their_place(one: str, other: str) -> None:
    fixed = orx.fix(numbered(8, "x1", one), like=numbered(14, "x1", other))

    assert [value.name for value in fixed.model.ir.graph.outputs] == [one]


def test_outputs_in_another_order_do_not() -> None:
    """Both names are an exporter's, and of the same outputs."""

    def two(size: int, names: tuple[str, str]) -> onnx.ModelProto:
        model = numbered(size, "x1", names[0])
        model.graph.node.append(helper.make_node("Neg", [names[0]], [names[1]]))
        model.graph.output.append(helper.make_tensor_value_info(names[1], onnx.TensorProto.FLOAT, [1, size // 2, 2]))
        return model

    with pytest.raises(FixError, match="their outputs are"):
        orx.fix(two(8, ("view_1", "view_2")), like=two(14, ("view_2", "view_1")))


def test_small_constants_that_differ_are_no_other_weights() -> None:
    """What differs between the exports is told by its place, and not as other weights, where the weights are equal."""

    def scaled(size: int, numbers: list[float]) -> onnx.ModelProto:
        model = numbered(size, "x1", "y0")
        rng = np.random.default_rng(1)
        for place in range(3):
            weight = numpy_helper.from_array(rng.standard_normal((size // size, 2)).astype(np.float32), f"w{place}")
            model.graph.initializer.append(weight)
            model.graph.node.append(helper.make_node("Mul", [f"y{place}", f"w{place}"], [f"y{place + 1}"]))
        model.graph.initializer.append(numpy_helper.from_array(np.array(numbers, np.float32), "odd"))
        model.graph.node.append(helper.make_node("Add", ["y3", "odd"], ["y"]))
        model.graph.output[0].name = "y"
        return model

    with pytest.raises(FixError) as told:
        orx.fix(scaled(8, [0.137, 2.71]), like=scaled(14, [0.939, 1.41]))

    assert (told.value.code, "odd differs" in str(told.value)) == ("cannot-free", True)
