"""What is not known: a refusal names the first node that could not be read, or the input to ask for, and says why."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest

from onereshape.ground.errors import FixError
from onereshape.repair.batch.search import batch_plan
from onereshape.repair.dims.freeing import free_plan
from tests.models import model

CASES = {
    "(float[1, 4] x, float[2] w, int64 i) => (float[] y) { a = Gather<axis = 3>(w, i) b = Relu(a) y = Add(x, b) }": (
        "Gather of a (Gather): it names axis 3 of 1"
    ),
    "(float[1, 4] x, float[2, 3] w) => (float[] y) { a = Foo(w) b = Relu(a) y = Add(x, b) }": (
        "Foo of a (Foo): it has no rule for its shape"
    ),
    "(float[1, 4] x, float[2, 3] w) => (float[] y) { a = MatMul(w) b = Relu(a) y = Add(x, b) }": (
        "MatMul of a (MatMul): it has not the inputs, outputs or attributes that its operator asks for"
    ),
    "(float[1, 4] x, float[2, 3] w, float[5] v) => (float[] y) { a = Add(w, v) b = Relu(a) y = Add(x, b) }": (
        "Add of a (Add): 3 meets 5"
    ),
    "(float[1, 4] x, int64[K] k) => (float[] y) { a = ConstantOfShape(k) b = Relu(a) y = Add(x, b) }": (
        "ConstantOfShape of a (ConstantOfShape): only its run tells"
    ),
}


@pytest.mark.parametrize("text", CASES)
def test_the_first_node_is_named(text: str) -> None:
    given = ir.from_proto(model(f"g {text}"))
    why = f"the rank of y is not known, which begins at {CASES[text]}"

    with pytest.raises(FixError) as batch:
        batch_plan(given, {"x": 0}, "N", 1)
    with pytest.raises(FixError) as free:
        free_plan(given, {"x": {0: "N"}})

    assert batch.value.sentence == f"Add of y (Add): {why}"
    assert "is not known, which begins at" in free.value.sentence
    assert free.value.sentence.endswith(CASES[text])


def test_an_input_that_declares_none_is_named() -> None:
    proto: Any = model("g (float[1, 4] x, float[2] w) => (float[] y) { b = Relu(w) y = Add(x, b) }")
    proto.graph.input[1].type.tensor_type.ClearField("shape")

    with pytest.raises(FixError, match="the rank of y is not known, as w declares none"):
        batch_plan(ir.from_proto(proto), {"x": 0}, "N", 1)


def test_a_batch_of_another_name_is_asked_for() -> None:
    """Two inputs whose samples have two names, as tf2onnx writes them."""
    given = ir.from_proto(model("g (float[A, 3] x, float[B, 2] w) => (float[] y) { y = Concat<axis = 1>(x, w) }"))

    with pytest.raises(FixError) as refused:
        batch_plan(given, {"x": 0}, "A", 1)

    asked = "if w[0] is the batch too, it must be asked for as well (--batch x:0 w:0)"
    assert refused.value.sentence == f"Concat of y (Concat): its input w has size B where the batch of 1 is; {asked}"
    assert batch_plan(given, {"x": 0, "w": 0}, "A", 1).edits == ()
