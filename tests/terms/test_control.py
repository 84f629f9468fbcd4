"""If, Loop, Scan, sequences and optional values beside onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.refusal import NotProven
from tests.terms.indexing_law import HASHING, Case, check, fed_terms, on_terms, words

FLOAT, INT, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
X = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
Y = -np.arange(6, dtype=np.float32).reshape(2, 3) - 5


def _graph(text: str, inputs: Sequence[tuple[str, int, Any]], outputs: Sequence[tuple[str, int, Any]]) -> Any:
    """A body: each line is `output = Operator(inputs)`, with attributes behind a `;`."""
    nodes = []
    for line in filter(None, map(str.strip, text.splitlines())):
        made, _, call = line.partition(" = ")
        call, _, attributes = call.partition(";")
        op, _, names = call.strip().rstrip(")").partition("(")
        given: dict[str, Any] = {name: int(value) for name, value in (each.split("=") for each in attributes.split())}
        nodes.append(
            helper.make_node(op, [each.strip() for each in names.split(",") if each], made.split(","), **given)
        )
    return helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(*each) for each in outputs],
    )


def _branch(text: str) -> Any:
    return _graph(text, [], [("r", FLOAT, None)])


def _if(then: str, other: str, condition: Any, known: str = "") -> Case:
    return Case(
        "If",
        [("c", np.array(condition))],
        {"then_branch": _branch(then), "else_branch": _branch(other)},
        18,
        frozenset(known),
        around=[("x", X), ("y", Y)],
    )


@pytest.mark.parametrize("condition", [True, False, [True]])
@pytest.mark.parametrize("known", ["", "c"])
def test_if(condition: Any, known: str) -> None:
    case = _if("r = Add(x, y)", "r = Relu(x)", condition, known)
    assert check(case, np.random.default_rng(1))
    taken = words(on_terms(case))[0]
    alone = Case("Add", [("x", X), ("y", Y)]) if np.all(condition) else Case("Relu", [("x", X)])
    assert np.array_equal(taken, words(on_terms(alone))[0]) == bool(known)


def test_branches_that_data_choose_are_a_where() -> None:
    case = _if("r = Identity(x)", "r = Identity(y)", True)
    chosen = Case("Where", [("c", np.array(True)), ("x", X), ("y", Y)])
    assert np.array_equal(words(on_terms(case))[0], words(on_terms(chosen))[0])
    turned = _if("r = Identity(y)", "r = Identity(x)", True)
    assert not np.any(words(on_terms(case))[0] == words(on_terms(turned))[0])


def test_branches_of_other_dims_are_refused() -> None:
    with pytest.raises(NotProven, match="dims"):
        on_terms(_if("r = Identity(x)", "r = Transpose(x)", True))
    two = _graph("r = Identity(x)\ns = Identity(y)", [], [("r", FLOAT, None), ("s", FLOAT, None)])
    case = _if("r = Identity(x)", "", True)
    case = Case(case.op, case.inputs, {**case.attributes, "else_branch": two}, around=case.around)
    with pytest.raises(NotProven, match="numbers of outputs"):
        on_terms(case)


LOOP_BODY = """
g = Identity(c)
t = Cast(i); to=1
u = Mul(t, x)
w = Add(v, u)
z = Sub(w, y)
"""


def _loop(count: Any, condition: Any, text: str = LOOP_BODY, known: str = "nc", opset: int = 18) -> Case:
    body = _graph(
        text,
        [("i", INT, []), ("c", BOOL, []), ("v", FLOAT, None)],
        [("g", BOOL, []), ("w", FLOAT, None), ("z", FLOAT, None)],
    )
    inputs = [
        None if count is None else ("n", np.array(count)),
        None if condition is None else ("k", np.array(condition)),
        ("s", X * 3),
    ]
    names = {each[0] for each in inputs if each} & {"n", "k"}
    return Case(
        "Loop",
        inputs,
        {"body": body},
        opset,
        frozenset(names if known else ()),
        2,
        ranges={"n": (1, 5)},
        around=[("x", X), ("y", Y)],
    )


@pytest.mark.parametrize(("count", "condition", "opset"), [(3, True, 18), (1, None, 11), (4, True, 13), (2, None, 9)])
def test_loop(count: int, condition: Any, opset: int) -> None:
    assert check(_loop(count, condition, opset=opset), np.random.default_rng(1))


def test_a_loop_stops_by_a_known_condition() -> None:
    text = LOOP_BODY.replace("g = Identity(c)", "l = Constant(); value_int=2\ng = Less(i, l)")
    assert check(_loop(9, True, text), np.random.default_rng(1))
    assert check(_loop(None, True, text), np.random.default_rng(1))


def test_a_loop_that_data_end_is_refused() -> None:
    with pytest.raises(NotProven, match="needs the numbers"):
        on_terms(_loop(3, True, known=""))
    text = LOOP_BODY.replace(
        "g = Identity(c)",
        "o = Constant(); value_int=1\nm = Gather(v, o)\nn = Gather(m, o)\ng = Less(n, n)",
    )
    with pytest.raises(NotProven, match="how often"):
        on_terms(_loop(3, True, text))
    with pytest.raises(NotProven, match="more than"):
        on_terms(_loop(None, None, "g = Identity(c)\nw = Identity(v)\nz = Identity(v)"))
    with pytest.raises(NotProven, match="no dims"):
        on_terms(_loop(0, True))


def test_loops_of_other_counts_are_other_functions() -> None:
    found = [words(on_terms(_loop(count, True)))[0] for count in (2, 3, 4)]
    for one in range(3):
        for two in range(one):
            assert not np.any(found[one] == found[two])


def _scan(opset: int, **attributes: Any) -> Case:
    body = _graph(
        "t = Add(v, a)\nw = Mul(t, b)\nz = Sub(w, v)",
        [("v", FLOAT, [3]), ("a", FLOAT, [3]), ("b", FLOAT, [3])],
        [("w", FLOAT, [3]), ("z", FLOAT, [3])],
    )
    axes = attributes.get("scan_input_axes", [0, 0])
    a, b = (
        (np.arange(12, dtype=np.float32) + start).reshape((4, 3) if axis == 0 else (3, 4))
        for start, axis in zip((1, 40), axes, strict=True)
    )
    v = np.array([1, 2, 5], np.float32)
    if opset == 8:
        a, b = (np.stack([each, -each]) for each in (a, b))
        given: Any = [None, ("v", np.stack([v, v + 1])), ("a", a), ("b", b)]
    else:
        given = [("v", v), ("a", a), ("b", b)]
    return Case("Scan", given, {"body": body, "num_scan_inputs": 2, **attributes}, opset, outputs=2)


SCANS: list[dict[str, Any]] = [
    {},
    {"scan_input_directions": [1, 0]},
    {"scan_input_axes": [1, 0], "scan_input_directions": [0, 1]},
    {"scan_input_axes": [-1, 1], "scan_output_axes": [1]},
    {"scan_output_directions": [1]},
    {"scan_output_directions": [1], "scan_output_axes": [-1]},
]


@pytest.mark.parametrize("attributes", SCANS)
@pytest.mark.parametrize("opset", [9, 11, 16, 19])
def test_scan(attributes: dict[str, Any], opset: int) -> None:
    if opset == 9 and -1 in (*attributes.get("scan_input_axes", []), *attributes.get("scan_output_axes", [])):
        return
    assert check(_scan(opset, **attributes), np.random.default_rng(1), 3)


@pytest.mark.parametrize("attributes", [{}, {"directions": [0, 1]}])
def test_the_first_scan_goes_by_rows(attributes: dict[str, Any]) -> None:
    case = _scan(8, **attributes)
    assert check(case, np.random.default_rng(1), 3)
    before = on_terms(case)
    for name, place in (("v", (1, 0)), ("a", (1, 2, 1)), ("b", (1, 0, 1))):
        for one, two in zip(before, on_terms(case, (name, place)), strict=True):
            changed = words(one)[0] != words(two)[0]
            assert [bool(np.any(each)) for each in changed] == [False, True]


def test_scans_of_other_directions_are_other_functions() -> None:
    found = [words(on_terms(_scan(16, **each)))[0] for each in ({}, SCANS[1], {"scan_input_directions": [0, 1]})]
    for one in range(3):
        for two in range(one):
            assert not np.any(found[one] == found[two])


CONSTANTS = """
zero = Constant(); value_int=0
one = Constant(); value_int=1
back = Constant(); value_int=-1
"""

SEQUENCES: dict[str, str] = {
    "at": "q = SequenceConstruct(x, y, x)\nr = SequenceAt(q, one)",
    "from the end": "q = SequenceConstruct(x, y)\nr = SequenceAt(q, back)",
    "insert": "q = SequenceConstruct(x, y)\nu = Add(x, y)\np = SequenceInsert(q, u, one)\nr = SequenceAt(p, one)",
    "insert behind": "q = SequenceEmpty()\np = SequenceInsert(q, y)\no = SequenceInsert(p, x)\nr = SequenceAt(o, one)",
    "insert before the last": "q = SequenceConstruct(x, y)\np = SequenceInsert(q, y, back)\nr = SequenceAt(p, one)",
    "erase": "q = SequenceConstruct(x, y)\np = SequenceErase(q, zero)\nr = SequenceAt(p, zero)",
    "erase the last": "q = SequenceConstruct(x, y)\np = SequenceErase(q)\nr = ConcatFromSequence(p); axis=1",
    "length": "q = SequenceConstruct(x, y, x)\nl = SequenceLength(q)\nf = Cast(l); to=1\nr = Mul(x, f)",
    "split": "q = SplitToSequence(x); axis=1\nr = SequenceAt(q, one)",
    "split and drop": "q = SplitToSequence(x); axis=1 keepdims=0\nr = SequenceAt(q, back)",
    "split by one": "q = SplitToSequence(x, one); axis=1\nr = SequenceAt(q, back)",
    "split by two": "two = Add(one, one)\nq = SplitToSequence(x, two); axis=1\nr = SequenceAt(q, back)",
    "concat": "q = SequenceConstruct(x, y)\nr = ConcatFromSequence(q); axis=1",
    "stack": "q = SequenceConstruct(x, y)\nr = ConcatFromSequence(q); axis=1 new_axis=1",
    "stack behind": "q = SequenceConstruct(x, y)\nr = ConcatFromSequence(q); axis=-1 new_axis=1",
    "optional": "q = Optional(x)\nr = OptionalGetElement(q)",
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    case = _if(CONSTANTS + SEQUENCES[name], "r = Identity(x)", True, "c")
    assert check(case, np.random.default_rng(1))


def test_what_is_not_in_a_sequence_is_refused() -> None:
    for text in ("q = SequenceConstruct(x)\nr = SequenceAt(q, one)", "q = SequenceEmpty()\nr = SequenceAt(q, zero)"):
        with pytest.raises(NotProven):
            on_terms(_if(CONSTANTS + text, "r = Identity(x)", True, "c"))


def test_a_map_runs_its_body_for_each_of_a_sequence() -> None:
    body = "b (float[p, q] e, float[p, q] o) => (float[p, q] r) { d = Add(e, o) r = Relu(d) }"
    text = f"q = SequenceConstruct(x, y) m = SequenceMap<body={body}>(q, x) z = ConcatFromSequence<axis=0>(m)"
    plain = "a = Add(x, x) b = Add(y, x) c = Relu(a) d = Relu(b) z = Concat<axis=0>(c, d)"
    one, two = (_run(each) for each in (text, plain))
    assert np.array_equal(words(one)[0], words(two)[0])


def test_what_may_be_left_out_is_there_or_not() -> None:
    (found,) = words(_run("o = Optional(x) h = OptionalHasElement(o) z = Where(h, x, y)"))
    (wanted,) = words(_run("z = Identity(x)"))
    assert np.array_equal(found, wanted)
    (found,) = words(_run("h = OptionalHasElement() z = Where(h, x, y)"))
    (wanted,) = words(_run("z = Identity(y)"))
    assert np.array_equal(found, wanted)


def _run(text: str) -> Any:
    header = '<ir_version: 10, opset_import: ["" : 18]>'
    model = ir.from_proto(onnx.parser.parse_model(f"{header} one (float[2, 3] x, float[2, 3] y) => (z) {{ {text} }}"))
    return Program(model, HASHING, Limits()).run(fed_terms(model))[0]["z"]
