"""Cases for conditions that an export of one sample has without an axis: what they are made of, who else needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from math import prod
from typing import Any

import numpy as np
import onnx.parser

from tests.laws.batching_sketch import BOOL, INT, Sketch

_OPSETS = (13, 16, 19, 21)
_PLACES: tuple[tuple[tuple[int, ...], int], ...] = (((1, 6), 0), ((6, 1), 1), ((2, 1, 3), 1))


def _branch(text: str) -> Any:
    return onnx.parser.parse_graph(f"b () => (float[] y) {{ {text} }}")


def _if(s: Sketch, condition: str, one: str = "y = Relu(x)", other: str = "y = Neg(x)") -> str:
    return str(s.op("If", condition, then_branch=_branch(one), else_branch=_branch(other)))


def _number(s: Sketch, kind: str, x: str, dims: Sequence[int], axis: int) -> str:
    """One number of one sample, without an axis."""
    others = [each for each in range(len(dims)) if each != axis]
    if kind in {"squeeze", "squeeze all", "reshape"}:
        least = x
        for each in reversed(others):  # a Slice, since what reduces has its axes elsewhere in each opset
            least = s.op("Slice", least, s.ints(dims[each] - 1), s.ints(dims[each]), s.ints(each))
        if kind == "reshape":
            return str(s.op("Reshape", least, s.const(np.zeros(0, np.int64))))
        return str(s.op("Squeeze", least, *([s.ints(*range(len(dims)))] if kind == "squeeze" else [])))
    if kind == "entry":
        sample = s.op("Gather", x, s.const(0, np.int64), axis=axis)
        flat = s.op("Reshape", sample, s.ints(-1))
        return str(s.op("Gather", flat, s.const(2, np.int64), axis=0))
    flat = s.op("Reshape", x, s.ints(prod(dims)))
    if kind == "last":
        return str(s.op("Gather", flat, s.const(-1, np.int64), axis=0))
    if kind == "most":
        return str(s.op("ReduceMax", x, keepdims=0))
    if kind == "most of a row":
        return str(s.op("ReduceMax", flat, keepdims=0))
    found = s.op("ArgMax", flat, axis=0, keepdims=0)
    return str(s.op("Sub", s.op("Cast", found, to=1), s.const(2.5, np.float32)))


_NUMBERS = ("squeeze", "squeeze all", "reshape", "entry", "last", "most", "most of a row", "place")


def _condition(s: Sketch, kind: str, number: str) -> str:
    """What a branch is chosen by: the number itself compared, or more made of it."""
    above = s.op("Greater", number, s.const(0, np.float32))
    if kind == "plain":
        return str(above)
    if kind == "not":
        return str(s.op("Not", above))
    if kind == "and":
        return str(s.op("And", s.x((), None, dtype=BOOL), above))
    if kind == "counted":
        whole = s.op("Mul", s.op("Cast", above, to=7), s.const(3, np.int64))
        return str(s.op("Equal", s.op("Add", whole, s.const(1, np.int64)), s.const(4, np.int64)))
    if kind == "unsqueezed":
        return str(s.op("Unsqueeze", above, s.ints(0)))
    return str(s.op("Reshape", s.op("Unsqueeze", above, s.ints(0, 1)), s.ints(1)))


_KINDS = ("plain", "not", "and", "counted", "unsqueezed", "reshaped")


def choices() -> Iterator[Sketch]:
    """All of them."""
    opset, kinds = cycle(_OPSETS), cycle(_KINDS)
    for dims, axis in _PLACES:
        for place, number in enumerate(_NUMBERS):
            for kind in ("plain", next(kinds)) if place % 2 else (next(kinds),):
                # In a row of all entries, those of one sample must stand together.
                free = axis == 0 or number in {"squeeze", "squeeze all", "reshape", "most"}
                s = Sketch("If", next(opset) if not number.startswith("most") else 17, free=free)
                x = s.x(dims, axis)
                yield s.out(s.op("Neg", _if(s, _condition(s, kind, _number(s, number, x, dims, axis)))))
    yield from _needed_twice()


def _rest(s: Sketch, kind: str, number: str, whole: str) -> str:
    """What else is made of a number, where it has no axis."""
    if kind == "range":
        return str(s.op("Range", s.const(0, np.int64), whole, s.const(1, np.int64)))
    if kind == "expand":
        return str(s.op("Expand", number, s.ints(2)))
    return str(s.op("Shape" if kind == "shape" else "Neg", number))


def _needed_twice() -> Iterator[Sketch]:
    s = Sketch("If")  # by two conditions
    x = s.x((1, 6))
    number = _number(s, "entry", x, (1, 6), 0)
    first = _if(s, _condition(s, "plain", number))
    yield s.out(first, _if(s, _condition(s, "not", number), "y = Abs(x)", "y = Exp(x)"))
    s = Sketch("If")  # two numbers of one sample in one condition
    x = s.x((1, 6))
    both = [_condition(s, "plain", _number(s, kind, x, (1, 6), 0)) for kind in ("entry", "squeeze")]
    yield s.out(_if(s, s.op("And", *both)))
    s = Sketch("If")  # with an axis by itself
    x = s.x((1, 6))
    number = _number(s, "squeeze", x, (1, 6), 0)
    yield s.out(_if(s, _condition(s, "plain", number)), s.op("Neg", s.op("Unsqueeze", number, s.ints(0))))
    for rest in ("output", "range", "shape", "expand"):  # what needs it without an axis
        s = Sketch("If", free=False)
        x = s.x((1, 6), low=1, high=3)
        number = _number(s, "squeeze", x, (1, 6), 0)
        chosen = _if(s, _condition(s, "plain", s.op("Sub", number, s.const(2, np.float32))))
        whole = s.op("Cast", number, to=7)
        yield s.out(chosen, _rest(s, rest, number, whole))
    for slot in (0, 1):  # how often a loop turns
        s = Sketch("If", free=False)
        x = s.x((1, 6), low=1, high=3)
        number = _number(s, "squeeze", x, (1, 6), 0)
        count = s.op("Cast", number, to=7 if slot == 0 else 9)
        text = "b (int64 i, bool c, float[] v) => (bool d, float[] w) { d = Identity(c) w = Add(v, x) }"
        given = (count, "") if slot == 0 else (s.const(2, np.int64), count)
        yield s.out(s.op("Loop", *given, x, body=onnx.parser.parse_graph(text)))
    s = Sketch("If", free=False)  # a body that ends by it
    x = s.x((1, 1), low=1, high=3)
    text = (
        "b (int64 i, bool c, float[] v) => (bool d, float[] w) { w = Add(v, x) k = Constant<value_float = 9.0>() "
        "l = Less(w, k) d = Squeeze(l) }"
    )
    yield s.out(s.op("Loop", s.const(9, np.int64), "", x, body=onnx.parser.parse_graph(text)))
    s = Sketch("If", free=False)  # an index that each sample has
    x, at = s.x((1, 6)), s.x((1,), 0, dtype=INT, low=0, high=6)
    flat = s.op("Reshape", x, s.ints(-1))
    number = s.op("Gather", flat, s.op("Squeeze", at, s.ints(0)), axis=0)
    yield s.out(_if(s, _condition(s, "plain", number)))


_ADD = "b (int64 i, bool c, float[] v) => (bool d, float[] w) { d = Identity(c) w = Add(v, x) }"
_RESET = "b (int64 i, bool c, float[] v) => (bool d, float[] w) { d = Identity(c) w = Identity(k) }"
_TWO = (
    "b (int64 i, bool c, float[] v, float[] h) => (bool d, float[] w, float[] g) "
    "{ d = Identity(c) w = Add(v, h) m = Sub(x, v) g = Add(m, h) }"
)
_STEP = "b (float[] v, float[] e) => (float[] w, float[] o) { w = Add(v, e) o = Mul(w, e) }"


def _rows(dims: Sequence[int], axis: int, *, same: bool) -> Any:
    """A constant that has the same entries along an axis for each sample, or others for the last one."""
    found = np.arange(prod(dims), dtype=np.float32).reshape(dims)
    found = np.repeat(found.take([0], axis), dims[axis], axis)
    if not same:
        np.moveaxis(found, axis, 0)[-1] += 0.5
    return np.ascontiguousarray(found)


def starts() -> Iterator[Sketch]:
    """Constants for several samples that loops begin with, step through and end with, and that branches give."""
    for dims, axis, size in (((2, 4), 0, 2), ((4, 3), 1, 3), ((2, 2), 1, 2)):
        for same in (True, False):
            yield _start(dims, axis, size, _ADD, same=same)
            yield _start(dims, axis, size, _RESET, same=same)
            s = Sketch("Loop", 17, size, free=same)
            x = s.x(dims, axis)
            one, two = s.const(_rows(dims, axis, same=True)), s.const(_rows(dims, axis, same=same))
            body = onnx.parser.parse_graph(_TWO)
            yield s.out(*s.op("Loop", s.const(3, np.int64), "", one, two, body=body, outputs=2))
            s = Sketch("If", 17, size, free=same)
            x = s.x(dims, axis)
            s.constants["k"] = _rows(dims, axis, same=same)
            yield s.out(_if(s, s.op("Squeeze", s.x((1,), None, dtype=BOOL)), "y = Identity(k)"))
            for along in (0, 2):
                whole, at = (*dims[:along], 3, *dims[along:]), axis + (along <= axis)
                s = Sketch("Scan", 17, size, free=same)
                x, steps = s.x(dims, axis), s.const(_rows(whole, at, same=same))
                way: Any = {"num_scan_inputs": 1, "scan_input_axes": [along], "outputs": 2}
                yield s.out(*s.op("Scan", x, steps, body=onnx.parser.parse_graph(_STEP), **way))


def _start(dims: Sequence[int], axis: int, size: int, text: str, *, same: bool) -> Sketch:
    s = Sketch("Loop", 17, size, free=same)
    x = s.x(dims, axis)
    s.constants["k"] = _rows(dims, axis, same=same)
    first = "k" if text == _ADD else x
    return s.out(s.op("Loop", s.const(2, np.int64), "", first, body=onnx.parser.parse_graph(text)))


_EACH = "b (int64 i, bool c, float[] v) => (bool d, float[] w, float[] z) { d = Identity(c) w = Add(v, x) BODY }"
_GIVEN = {
    "same": "z = Neg(w)",
    "flat": (
        "t = Constant<value_ints = [ALL]>() f = Reshape(w, t) u = Constant<value_ints = [DIMS]>() z = Reshape(f, u)"
    ),
    "shared": "z = Identity(k)",
}


def unturned() -> Iterator[Sketch]:
    """Loops that may turn or not, and what they give for each turn."""
    for dims, axis, size in (((4, 1), 1, 1), ((2, 3), 0, 2)):
        for name, text in _GIVEN.items():
            for turns, declared in (((0, 1), True), ((0, 3), True), ((2, 3), True), ((0, 1), False), (None, True)):
                s = Sketch("Loop", 17, size, free=declared or name == "shared")
                x = s.x(dims, axis)
                s.constants["k"] = np.arange(6, dtype=np.float32).reshape(2, 3)
                shown = ", ".join(map(str, dims))
                body = _EACH.replace("BODY", text.replace("ALL", str(prod(dims))).replace("DIMS", shown))
                inside = "2, 3" if name == "shared" else shown
                body = body.replace("float[] z", f"float[{inside}] z") if declared else body
                if turns is None:  # as the first condition says
                    given = s.const(2, np.int64), s.op("Not", s.x((), None, dtype=BOOL))
                else:
                    given = s.x((), None, dtype=INT, low=turns[0], high=turns[1]), ""
                graph = onnx.parser.parse_graph(body.replace("float[]", f"float[{shown}]"))
                if not declared:
                    graph.output[2].type.tensor_type.ClearField("shape")
                end, each = s.op("Loop", *given, x, body=graph, outputs=2)
                yield s.out(end, s.op("Neg", each))
