"""Our Reshape inside onnx-shape-inference beside its own rule: precision, refusals, which one answers, soundness."""

from __future__ import annotations

import functools
import gc
import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings, strategies as st

from onereshape import ReshapeError, resolve
from onereshape.shape_rule import ReshapeRule, infer_model, register
from tests.symbolic_models import KEY, LITERAL, UNKNOWN, answer, by, dims_of, model_of, ours, refusal, theirs

# The table of peers: ORT's symbolic inference is the strongest of them


@pytest.mark.parametrize(
    ("data", "target", "flag", "expected"),
    [
        ("N,M", (-1,), LITERAL, ["M*N"]),
        ("N,6", (-1, 3), LITERAL, ["2*N", 3]),
        ("N,6", (-1, 4), LITERAL, ["3*N/2", 4]),
        ("N,1", (-1,), LITERAL, ["N"]),
        ("N", (-1, 1), LITERAL, ["N", 1]),
        ("2,N", (-1, 2), LITERAL, ["N", 2]),
        ("N,3,4", (0, -1), "", ["N", 12]),
        ("N,M,4", (0, -1), "", ["N", "4*M"]),
        ("N,M,4", (-1, 0), "", ["4*N", "M"]),
        ("N,N,4", (0, -1), "", ["N", "4*N"]),
        ("N,3,4", ("dim0", -1), "", ["N", 12]),
        ("N,M", ("dim1", -1), "", ["M", "N"]),
        ("N,M", ("dim1", "dim0"), "", ["M", "N"]),
        ("N,768", ("dim0", 12, 64), "", ["N", 12, 64]),
        ("2,3,4", (2, "?"), "", [2, 12]),
        ("2,3,4", ("?", -1), "", ["?", "?"]),
        ("2,3,4", ("?", "?"), "", ["?", "?"]),
        (None, (3, 4), LITERAL, [3, 4]),
        (None, (-1, 4), LITERAL, ["?", 4]),
        (None, (0, 4), "", ["?", 4]),
        (None, (0, -1), "", ["?", "?"]),
        ("N,0", (-1, 5), LITERAL, [0, 5]),
        ("N,6", (4, 9), LITERAL, [4, 9]),
        ("N,N", (-1,), LITERAL, ["N**2"]),
        ("N,M,K", ("dim1", -1), "", ["M", "K*N"]),
        ("N", (4, -1), LITERAL, [4, "N/4"]),
        ("N,6", (-1, 2), LITERAL, ["3*N", 2]),
        ("N,3", (0, 3), "", ["N", 3]),
    ],
)
def test_the_table_of_peers(data: str | None, target: tuple[int | str, ...], flag: str, expected: list[Any]) -> None:
    run_time = "".join(f", int64[1] e{axis}" for axis, entry in enumerate(target) if entry == "?")
    inputs = (UNKNOWN if data is None else f"float[{data}] x") + run_time
    body = by(*target, flag=flag)

    assert ours(body, inputs) == expected
    if data is not None or target == (3, 4):
        other = theirs(body, inputs)
        assert other is not None
        assert len(other) == len(expected)
        for dim, own in zip(other, expected, strict=True):
            assert dim in {str(own), own, "?"} or "floor" in dim  # to theirs, 12 may be the name of a symbol


@pytest.mark.parametrize(
    ("data", "target", "why"),
    [
        ("2,3", (4, 4), "data has 6 elements, but the target asks for 16"),
        ("N,0", (5, 5), "no sizes of these dims fit the target"),
        ("N,7", (4, 9), "no sizes of these dims fit the target"),
        ("N,768", ("dim0", 12, 63), "no sizes of these dims fit the target"),
        ("N,768", (0, 12, 63), "no sizes of these dims fit the target"),
        ("N,3", (0, 0, 0), "target[2] is 0 and copies data[2], but data has 2 dims"),
        ("N,3", (-1, -1), "target[1] is a second -1"),
    ],
)
def test_contradictions_that_their_rule_lets_pass(data: str, target: tuple[int | str, ...], why: str) -> None:
    assert why in refusal(by(*target), f"float[{data}] x")
    if target != (-1, -1):
        assert theirs(by(*target), f"float[{data}] x") is not None


def test_a_literal_zero_empties_only_what_can_be_empty() -> None:
    assert ours(by(0, 4, flag=LITERAL), "float[2, 0] x") == [0, 4]
    assert "cannot be 0" in refusal(by(0, 3, flag=LITERAL), "float[N, 3] x")


def test_what_a_size_of_zero_would_break_is_a_condition() -> None:
    body = "{ t = Constant<value_ints = [0, -1]>() c = Concat<axis = 0>(x, w) y = Reshape(c, t) }"

    assert answer(by(0, -1), "float[N, 3, 4] x") == (["N", 12], ["N >= 1"])
    assert answer(body, "float[past, 6] x, float[1, 6] w") == (["past + 1", 6], [])


# Refusals


def test_the_whole_message() -> None:
    model = model_of("{ s = Constant<value_ints = [4, 4]>() y = Reshape(x, s) }", "float[2, 3] x")
    list(model.graph)[-1].name = "layer.3/Reshape_12"
    with pytest.raises(engine.ShapeInferenceError) as caught:
        infer_model(model)

    assert caught.value.node_name == "layer.3/Reshape_12"
    assert str(caught.value) == (
        "Reshape (node 'layer.3/Reshape_12'): data has 6 elements, but the target asks for 16\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [4, 4]\n"
        "  rule    onnx Reshape-21: input and output must have the same number of elements  [volume]"
    )


def test_the_message_has_the_names_of_the_model() -> None:
    message = refusal(
        "{ c = Concat<axis = 0>(x, w) y = Reshape(c, s) }", "float[past, 7] x, float[1, 7] w, int64[2] s = {4, 9}"
    )

    assert "data    [(past + 1), 7]" in message


def test_all_refusals_without_raising() -> None:
    body = "{ s = Constant<value_ints = [4, 4]>() a = Reshape(x, s) b = Relu(a) y = Reshape(w, s) }"
    model = model_of(body, "float[2, 3] x, float[N, 3] w")
    rule = infer_model(model, policy="skip")

    assert [error.code for error in rule.errors.values()] == ["volume", "impossible-volume"]
    assert [node.outputs[0].name for node in rule.errors] == ["a", "y"]
    assert dims_of(model) is None


def test_a_missing_input_is_a_misuse() -> None:
    with pytest.raises(engine.OpUsageError):
        infer_model(model_of("{ y = Reshape(x) }", "float[N] x"))


# Which rule answers


def test_ours_answers_only_inside_infer_model() -> None:
    body, inputs = by(4, 4), "float[2, 3] x"
    before = theirs(body, inputs)

    assert "asks for 16" in refusal(body, inputs)
    assert before == theirs(body, inputs) == [4, 4]


def test_every_thread_has_the_rule_it_asked_for() -> None:
    body, inputs = by(4, 4), "float[2, 3] x"
    assert "asks for 16" in refusal(body, inputs)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(refusal if turn % 2 else theirs, body, inputs) for turn in range(64)]

    assert all(
        "asks for 16" in str(run.result()) if turn % 2 else run.result() == [4, 4] for turn, run in enumerate(runs)
    )


def test_importing_registers_nothing() -> None:
    code = """if True:
        import onnx_shape_inference as engine
        engine.registry.collect()
        before = [engine.registry.get("", "Reshape", opset) for opset in range(30)]
        import onereshape.shape_rule
        print(before == [engine.registry.get("", "Reshape", opset) for opset in range(30)])
    """
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.strip() == "True"


@pytest.fixture
def default_registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The registry of the engine, put back afterwards."""
    engine.registry.collect()
    monkeypatch.setitem(engine.registry._registrations, KEY, list(engine.registry._registrations[KEY]))
    monkeypatch.setattr(engine.registry, "_cache", {})
    monkeypatch.setattr(engine.registry, "_max_version", {})
    return engine.registry


def test_registering_for_good(default_registry: Any) -> None:
    rule = register()
    model = model_of(by(4, -1), "float[N] x")
    engine.infer_symbolic_shapes(model)

    assert {default_registry.get(*KEY, version=opset) for opset in range(1, 30)} == {rule}
    assert dims_of(model) == [4, "N/4"]
    assert list(rule.conditions.values()) == [("N is divisible by 4",)]
    infer_model(model_of(by(4, -1), "float[M] x"))
    assert len(rule.conditions) == 1  # that one answered with a rule of its own


def test_what_was_found_goes_with_the_model(default_registry: Any) -> None:
    assert default_registry is engine.registry
    rule = register()
    model = model_of(by(4, -1), "float[N] x")
    engine.infer_symbolic_shapes(model)
    assert len(rule.conditions) == 1
    del model
    gc.collect()

    assert len(rule.conditions) == 0


def test_registering_elsewhere() -> None:
    registry = engine.OpShapeInferenceRegistry()
    rule = register(registry)

    assert registry.get("ai.onnx", "Reshape", version=21) is rule
    assert engine.registry.get(*KEY, version=21) is not rule


# Soundness

SIZES = "N; M; 2*N; M*N; N**2; past + 1; 2*past + 2; N/4; N/6; M*N/4; N/past; N - 13; floor(M/2); Max(M, past)".split(
    "; "
)
BINDINGS = tuple(itertools.product([12, 24], [1, 2, 3, 4, 6], [1, 2, 3, 5]))
entries = st.one_of(st.sampled_from([1, 2, 3, 4, 6, 8, 12]), st.sampled_from([*SIZES, "M*(2*past + 2)"]))
words = st.one_of(entries, st.sampled_from([-1, -1, 0]))


@functools.cache
def size(dim: Any, binding: tuple[int, ...]) -> int | None:
    """The size of a dim under a binding; None if it has no name of the model's, or is no size there."""
    if isinstance(dim, int):
        return dim
    found = ir.SymbolicDim(str(dim)).evaluate(dict(zip(("N", "M", "past"), binding, strict=True)))
    return found if isinstance(found, int) and found > 0 else None


@settings(max_examples=300, deadline=None)
@given(st.lists(entries, max_size=4), st.lists(words, max_size=4), st.sampled_from([0, 1]))
def test_whatever_the_sizes_the_answer_is_right(data: list[Any], target: list[Any], allowzero: int) -> None:
    x = ir.Value(name="x", shape=ir.Shape(data), type=ir.TensorType(ir.DataType.FLOAT))
    s = ir.Value(name="s", shape=ir.Shape([len(target)]), type=ir.TensorType(ir.DataType.INT64))
    node = ir.Node("", "Reshape", [x, s], [ir.Attr("allowzero", ir.AttributeType.INT, allowzero)])
    ctx = engine.ShapeInferenceContext({"": 21}, policy="skip")
    ctx.set_symbolic_value(s, [ir.SymbolicDim(word) if isinstance(word, str) else word for word in target])
    rule = ReshapeRule()
    rule(ctx, node)
    shape = node.outputs[0].shape

    for binding in BINDINGS:
        sizes, asked = [size(dim, binding) for dim in data], [size(word, binding) for word in target]
        if None in sizes or None in asked:
            continue
        try:
            expected = resolve(sizes, asked, "onnx-21", allowzero=allowzero)  # type: ignore[arg-type]
        except ReshapeError:
            continue
        assert not rule.errors
        assert shape is not None
        assert [size(dim, binding) for dim in shape] == list(expected)


def test_the_same_as_the_operator_on_integers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        data, target = rng.integers(0, 5, rng.integers(0, 4)).tolist(), rng.integers(-1, 5, rng.integers(0, 4)).tolist()
        inputs = f"float[{', '.join(map(str, data))}] x" if data else "float x"
        body = f"{{ s = Constant<value = int64[{len(target)}] {{{', '.join(map(str, target))}}}>() y = Reshape(x, s) }}"
        try:
            expected = list(resolve(data, target, "onnx-21"))
        except ReshapeError as error:
            said = error.sentence
        else:
            assert ours(body, inputs) == expected
            continue
        assert said in refusal(body, inputs)
