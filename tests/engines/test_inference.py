"""`infer` against the engines' own inference where dims are missing: as tight as each of them wherever it is right.

Whether an engine is right is decided by trying: every way to fill in the missing sizes from a small world is resolved.
What it gets wrong must be in the table of `unsound`; anything else that it says must contain what we say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper, shape_inference
from openvino import opset1, opset3

import onereshape as orx
from onereshape.rule.dims import Dim
from onereshape.rule.shape import Shape
from tests.budget import WHOLE
from tests.engines.unsound import UNSOUND, Answer, Dims, Partial, Question, Witness
from tests.laws.test_inference import admits, evaluate, holds

QUESTIONS = 3000 if WHOLE else 1200
OPEN = 4
"""How many sizes a question leaves out at most, so that all of them can be tried."""
NAMES = ("M", "N", "P")


# OpenVINO's core: intervals and symbols


def ask_openvino(question: Question) -> Answer:
    """The shape of a node; the pattern is a constant, or put together from the shapes of other tensors."""
    symbols = {name: openvino.Symbol() for name in NAMES}

    def tensor(dims: Sequence[Dim]) -> openvino.Node:
        shape = openvino.PartialShape([_dimension(dim, question, symbols) for dim in dims])
        return opset1.parameter(shape, np.float32)

    unknown = openvino.PartialShape.dynamic()
    data = opset1.parameter(unknown, np.float32) if question.data is None else tensor(question.data)
    try:
        node = opset1.reshape(data, _pattern(question.target, tensor), question.zero_copies)
    except RuntimeError:
        return None
    output = node.get_output_partial_shape(0)
    if output.rank.is_dynamic:
        return "unknown"
    asked = question.target or (None,) * len(output)
    return tuple(_read_dimension(dim, entry, symbols) for dim, entry in zip(output, asked, strict=True))


def _dimension(dim: Dim, question: Question, symbols: dict[str, openvino.Symbol]) -> openvino.Dimension:
    if isinstance(dim, int):
        return openvino.Dimension(dim)
    low, high = question.bounds.get(dim, (0, None)) if isinstance(dim, str) else dim or (0, None)
    dimension = openvino.Dimension(low, -1 if high is None else high)
    if isinstance(dim, str):
        dimension.set_symbol(symbols[dim])
    return dimension


def _pattern(target: Partial | None, tensor: Callable[[Sequence[Dim]], openvino.Node]) -> openvino.Node:
    if target is None:
        return opset1.parameter(openvino.PartialShape([-1]), np.int64)
    if all(entry is None for entry in target):
        return opset1.parameter(openvino.PartialShape([len(target)]), np.int64)
    if all(isinstance(entry, int) for entry in target):
        return _constant(target)
    return opset1.concat([_element(entry, tensor) for entry in target], 0)


def _element(entry: Dim, tensor: Callable[[Sequence[Dim]], openvino.Node]) -> openvino.Node:
    if isinstance(entry, int):
        return _constant([entry])
    if entry is None:
        return opset1.parameter(openvino.PartialShape([1]), np.int64)
    if isinstance(entry, tuple) and entry[0] == -1:  # no tensor has such a dim
        one_more = (0, None if entry[1] is None else entry[1] + 1)
        return opset1.subtract(opset3.shape_of(tensor([one_more])), _constant([1]))
    return opset3.shape_of(tensor([entry]))


def _constant(numbers: Sequence[Any]) -> openvino.Node:
    return openvino.op.Constant(openvino.Tensor(np.array(numbers, np.int64)))


def _read_dimension(dim: openvino.Dimension, entry: Dim, symbols: dict[str, openvino.Symbol]) -> Dim:
    if dim.is_static:
        return int(dim.get_length())
    if dim.has_symbol():
        same = [name for name, symbol in symbols.items() if dim.get_symbol() == symbol]
        if same:  # a name other than the entry's own says more
            return next((name for name in same if name != entry), same[0])
    low, high = dim.get_min_length(), dim.get_max_length()
    return None if (low, high) == (0, -1) else (low, None if high == -1 else high)


# The inference of the onnx package: names


def ask_onnx(question: Question) -> Answer:
    """Strict inference with data propagation; the shape is a constant, or put together by Shape, Gather and Concat."""
    nodes: list[onnx.NodeProto] = []
    data: Any = question.data
    target: Any = question.target
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, data)]
    constants: list[onnx.TensorProto] = []
    if target is None:
        inputs.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [None]))
    elif all(entry is None for entry in target):
        inputs.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [len(target)]))
    elif all(isinstance(entry, int) for entry in target):
        constants.append(helper.make_tensor("shape", TensorProto.INT64, [len(target)], target))
    else:
        for axis, entry in enumerate(target):
            _add_element(f"entry{axis}", entry, question, nodes, (inputs, constants))
        nodes.append(helper.make_node("Concat", [f"entry{axis}" for axis in range(len(target))], ["shape"], axis=0))
    nodes.append(helper.make_node("Reshape", ["data", "shape"], ["output"], allowzero=int(not question.zero_copies)))
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "reshape", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)
    try:
        inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except shape_inference.InferenceError:
        return None
    output = inferred.graph.output[0].type.tensor_type
    return tuple(map(_read_dim, output.shape.dim)) if output.HasField("shape") else "unknown"


def _add_element(
    name: str,
    entry: Any,
    question: Question,
    nodes: list[onnx.NodeProto],
    sources: tuple[list[onnx.ValueInfoProto], list[onnx.TensorProto]],
) -> None:
    inputs, constants = sources
    if isinstance(entry, int):
        constants.append(helper.make_tensor(name, TensorProto.INT64, [1], [entry]))
    elif entry is None:
        inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, [1]))
    elif question.data is not None and entry in question.data:
        constants.append(helper.make_tensor(f"{name}.index", TensorProto.INT64, [1], [question.data.index(entry)]))
        nodes.append(helper.make_node("Shape", ["data"], [f"{name}.shape"]))
        nodes.append(helper.make_node("Gather", [f"{name}.shape", f"{name}.index"], [name]))
    else:
        inputs.append(helper.make_tensor_value_info(f"{name}.tensor", TensorProto.FLOAT, [entry]))
        nodes.append(helper.make_node("Shape", [f"{name}.tensor"], [name]))


def _read_dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return dim.dim_param if dim.dim_param and not dim.dim_param.startswith("unk__") else None


# The questions


ENGINES: dict[str, tuple[Callable[[Question], Answer], str, list[Dim], list[Dim]]] = {
    # how it is asked, our specification, and what its data and its target can hold beside what both can
    "openvino": (
        ask_openvino,
        "openvino",
        [(1, 3), (0, 2), (2, 6), (3, None), (0, 4), (4, 8), (7, 8)],
        [(0, 2), (1, 4), (2, 6), (3, None), (-1, 2), (0, None)],
    ),
    "onnx": (ask_onnx, "onnx-24", ["2*N", "M*N"], []),
}
LIMITS: list[tuple[int, int | None]] = [(1, None), (1, 6), (0, 3), (2, 4)]


def questions(engine: str) -> Iterator[Question]:
    """Questions drawn from a fixed seed, each once, with few enough sizes left out."""
    _, _, more_dims, more_entries = ENGINES[engine]
    rng = Random(7)  # noqa: S311 - no secrets
    dims: list[Dim] = [0, 1, 2, 2, 3, 4, 6, "N", "N", "M", None, *more_dims]
    asked: set[str] = set()
    while len(asked) < QUESTIONS:
        data = None if rng.random() < 0.08 else tuple(rng.choices(dims, k=rng.choice([0, 1, 1, 2, 2, 3, 3])))
        target = draw_target(rng, [dim for dim in data or () if dim is not None], more_entries)
        bounds = {name: rng.choice(LIMITS) for name in NAMES if engine == "openvino" and rng.random() < 0.3}
        question = Question(data, target, rng.random() < 0.5, bounds)
        if (target or ()).count(-1) < 2 and left_out(question) <= OPEN and repr(question) not in asked:
            asked.add(repr(question))
            yield question


def draw_target(rng: Random, dims: list[Dim], more: list[Dim]) -> Partial | None:
    """Nothing of a target, the dims of data in another order with another name, or entries that often fit."""
    kind = rng.random()
    if kind < 0.01:
        return None
    if kind < 0.1:
        return tuple(rng.sample([*dims[1:], rng.choice(NAMES)], k=max(len(dims), 1)))
    entries = [-1, -1, 0, 0, 1, 2, 3, 4, 6, 12, *dims, *dims]
    if kind > 0.4:
        entries += [*NAMES, *more]
    if kind > 0.8:
        entries += [None] * 4
    return tuple(rng.choices(entries, k=rng.choice([0, 1, 1, 2, 2, 3, 3])))


def names_in(*lists: Partial) -> list[str]:
    return sorted(set(re.findall("[A-Z]", " ".join(dim for dims in lists for dim in dims if isinstance(dim, str)))))


def left_out(question: Question) -> int:
    data, target = question.data or (), question.target or ()
    unknown = [dim for dim in (*data, *target) if not isinstance(dim, int | str)]
    return len(unknown) + len(names_in(data, target)) + 3 * (question.data is None)


# The small world


def sizes(dim: Dim, unknown: Dims) -> Sequence[int]:
    """What a dim or an entry may be here."""
    if isinstance(dim, int):
        return (dim,)
    if not isinstance(dim, tuple):
        return unknown
    low, high = dim
    return range(low, high + 1) if high is not None else [size for size in (low, low + 1, 6, 12, 72) if size >= low]


def witnesses(question: Question, spec: str, attributes: dict[str, Any]) -> Iterator[Witness]:
    """Every way in which the sizes of the small world give a Reshape that succeeds."""
    ranks: list[Partial] = [(None,) * rank for rank in range(4)] if question.data is None else [question.data]
    lengths: list[Partial] = [(), (-1,), (2, -1)] if question.target is None else [question.target]
    for data, target in product(ranks, lengths):
        names = names_in(data, target)
        choices = [
            *(sizes(question.bounds.get(name), (0, 1, 2, 3, 6, 72)) for name in names),
            *(sizes(dim, (0, 1, 2, 4, 6, 12, 72)) for dim in data if not isinstance(dim, str)),
            *(sizes(entry, (-1, 0, 1, 2, 3, 4, 6, 12)) for entry in target if not isinstance(entry, str)),
        ]
        for chosen in product(*choices):
            bound = dict(zip(names, chosen, strict=False))
            rest = iter(chosen[len(names) :])
            dims, asked = (
                tuple(_value(dim, bound) if isinstance(dim, str) else next(rest) for dim in partial)
                for partial in (data, target)
            )
            if asked and min(asked) > 0 and prod(asked) != prod(dims):  # only to save time
                continue
            try:
                yield Witness(dims, asked, bound, orx.resolve(dims, asked, spec, **attributes))
            except orx.ReshapeError:
                continue


def _value(text: str, names: dict[str, int]) -> int:
    return names[text] if text in names else int(evaluate(text, names) or 0)


def allows(theirs: Answer, witness: Witness) -> bool:
    """Whether an answer admits what really comes out."""
    if theirs is None or theirs == "unknown":
        return theirs == "unknown"
    pairs = list(zip(theirs, witness.output, strict=False))
    return len(theirs) == len(witness.output) and all(_admits(dim, size, witness.names) for dim, size in pairs)


def _admits(dim: Any, size: int, names: Any) -> bool:
    if dim is None:
        return True
    if isinstance(dim, tuple):
        return bool(dim[0] <= size and (dim[1] is None or size <= dim[1]))
    return bool(size == (evaluate(dim, names) if isinstance(dim, str) else dim))


# The comparison


def complaint(ours: Shape, theirs: Answer, found: list[Witness]) -> str | None:
    """What is wrong with our answer beside a sound one: it is wrong itself, or an axis of which theirs says more."""
    for witness in found:
        names = everything(witness)
        asked = all(holds(text, names, witness.output) for text in ours.conditions)
        if asked and not admits(ours, witness.output, names):
            return f"wrong for {witness}"
    if theirs is None or theirs == "unknown":
        return None
    if ours.dims is None or len(ours.dims) != len(theirs):
        return "another rank"
    pairs = zip(ours.dims, theirs, strict=True)
    return next(
        (f"axis {axis} is wider" for axis, (dim, wider) in enumerate(pairs) if not _is_within(dim, wider)), None
    )


def everything(witness: Witness) -> dict[str, int]:
    """All that a condition may speak of."""
    names = dict(witness.names) | {"rank(data)": len(witness.data), "size(data)": prod(witness.data)}
    names |= {f"data[{axis}]": size for axis, size in enumerate(witness.data)}
    return names | {f"target[{axis}]": entry for axis, entry in enumerate(witness.target)}


def _is_within(dim: Dim, wider: Dim) -> bool:
    """An interval of ours inside of theirs; a number or an expression that is right lies in whatever is right."""
    if wider is None or isinstance(dim, int | str):
        return True
    low, high = dim or (0, None)
    if not isinstance(wider, tuple) or low < wider[0]:
        return False
    return wider[1] is None or (high is not None and high <= wider[1])


def ask_ours(question: Question, spec: str, attributes: dict[str, Any]) -> Shape | None:
    try:
        there = str((question.data, question.target))
        bounds = {name: limits for name, limits in question.bounds.items() if re.search(rf"\b{name}\b", there)}
        return orx.infer(question.data, question.target, spec, bounds=bounds, **attributes)
    except orx.ReshapeError as refusal:
        assert not refusal.usage  # noqa: PT017 - anything else is a mistake of this test
        return None


def judge(engine: str, question: Question) -> tuple[set[str], list[str]]:
    """The rows that the engine's answer meets, and what is wrong with ours."""
    ask, spec, _, _ = ENGINES[engine]
    copies = question.zero_copies
    attributes: dict[str, Any] = {"special_zero": copies} if engine == "openvino" else {"allowzero": int(not copies)}
    theirs, ours = ask(question), ask_ours(question, spec, attributes)
    found = list(witnesses(question, spec, attributes))
    if ours is None:
        return set(), [f"{question}: refused, but {found[0]}"] if found else []
    wrong = [witness for witness in found if not allows(theirs, witness)]
    if not found:
        return set(), []
    if not wrong:
        said = complaint(ours, theirs, found)
        return set(), [f"{question}: {ours!r}, {engine} {theirs}: {said}"] if said else []
    rows = [row for row in UNSOUND if row.engine == engine]
    met = {row.name for row in rows if any(row.when(question, theirs, witness) for witness in wrong)}
    new = [witness for witness in wrong if not any(row.when(question, theirs, witness) for row in rows)]
    return met, [f"{question}: {engine} {theirs} is unsound in no known way: {new[0]}"] if new else []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_sound_answer_of_an_engine_contains_ours(engine: str) -> None:
    met: set[str] = set()
    complaints: list[str] = []
    for question in questions(engine):
        rows, said = judge(engine, question)
        met |= rows
        complaints += said

    assert not complaints, "\n".join([f"{len(complaints)} of {QUESTIONS}:", *complaints[:20]])
    assert met == {row.name for row in UNSOUND if row.engine == engine}
