"""Cases for control flow: branches under every kind of condition, loops that carry, give and read the batch, scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from math import prod
from typing import Any

import numpy as np
import onnx.parser

from tests.laws.batching_choices import choices, starts, unturned
from tests.laws.batching_sketch import BOOL, INT, Sketch

OPSETS = (13, 16, 19, 21)
PLACES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((1, 6), 0),
    ((6, 1), 1),
    ((2, 1, 3), 1),
    ((1, 3, 1), 0),
    ((1, 1), 1),
)


def graph(text: str, dims: Sequence[int] | None = None) -> Any:
    """A branch or a body; it sees the names outside.  `dims`: those that its tensors are declared to have."""
    return onnx.parser.parse_graph(
        text if dims is None else text.replace("float[]", f"float[{', '.join(map(str, dims))}]")
    )


def _numbers(numbers: Sequence[int]) -> str:
    return "Constant<value_ints = [" + ", ".join(map(str, numbers)) + "]>()"


def _whole(dims: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return tuple(dim * size if place == axis else dim for place, dim in enumerate(dims))


# If


def _branches(dims: Sequence[int]) -> dict[str, str]:
    """Graphs that give as many elements as x has, in the same dims."""
    order = list(range(len(dims)))
    turned = ", ".join(map(str, [order[-1], *order[1:-1], order[0]]))
    return {
        "relu": "y = Relu(x)",
        "same": "y = Identity(x)",
        "flat": f"t = {_numbers([prod(dims)])} f = Reshape(x, t) u = {_numbers(dims)} y = Reshape(f, u)",
        "rows": f"t = {_numbers([1, *dims])} f = Reshape(x, t) n = Neg(f) u = {_numbers(dims)} y = Reshape(n, u)",
        "shape": "t = Shape(x) n = Neg(x) y = Reshape(n, t)",
        "count": "t = Shape(x) f = Cast<to = 1>(t) m = ReduceMax<keepdims = 0>(f) y = Mul(x, m)",
        "constant": f"o = Constant<value_float = 2.5>() u = {_numbers(dims)} y = Expand(o, u)",
        "turned": f"y = Transpose<perm = [{turned}]>(x)",
    }


def _branch(text: str, dims: Sequence[int] | None = None) -> Any:
    return graph(f"b () => (float[] y) {{ {text} }}", dims)


_PAIRS = (
    "relu flat",
    "flat rows",
    "shape constant",
    "constant relu",
    "turned same",
    "same turned",
    "rows count",
    "constant constant",
)


def _condition(s: Sketch, kind: str, x: str) -> str:
    """A truth value: always the same, the same for all samples, one for each, or by how many samples there are."""
    if kind in {"true", "false"}:
        return s.const(kind == "true", np.bool_)
    if kind == "node":
        return s.const_node([True], np.bool_)
    if kind == "size":
        return str(s.op("Equal", s.dim(x, -1), s.ints(6)))
    if kind in {"yes", "no"}:
        flag = s.x((1,), None, dtype=INT, low=kind == "yes", high=1 + (kind == "yes"))
        return str(s.op("Greater", flag, s.ints(0)))
    if kind == "each":
        return s.x((1,), 0, dtype=BOOL)
    if kind == "each, aside":
        return s.x((1, 1), 1, dtype=BOOL)
    return str(s.op("Equal", s.dim(x, kind == "other"), s.ints(1)))


def _is_free(kind: str, pair: str, whole: Sequence[int], axis: int, size: int) -> bool:
    """Whether a refusal would be needless."""
    first = {"true": True, "false": False, "node": True, "size": whole[-1] == 6, "samples": size == 1}
    first["other"] = whole[1] == 1
    if kind in first:
        return True
    if "turned" in pair and (axis in (0, len(whole) - 1) or kind.startswith("each")):
        return size == 1 and whole[0] == whole[-1] == 1
    return True


def branches() -> Iterator[Sketch]:
    opset = cycle(OPSETS)
    for kind in ("yes", "no", "each", "true", "false", "node", "size", "each, aside", "samples", "other"):
        for place, (dims, axis) in enumerate(PLACES):
            for size in (1, 2) if kind not in {"each", "each, aside"} else (1,):
                whole = _whole(dims, axis, size)
                made = _branches(whole)
                for pair in _PAIRS[place % 2 :: 2] if size > 1 else _PAIRS:
                    s = Sketch("If", next(opset), size, free=_is_free(kind, pair, whole, axis, size))
                    x = s.x(whole, axis)
                    one, other = (made[each] for each in pair.split())
                    condition = _condition(s, kind, x)
                    said = whole if s.opset % 2 and "turned" not in pair else None
                    inner = {"then_branch": _branch(one, said), "else_branch": _branch(other, said)}
                    y = s.op("If", condition, **inner)
                    yield s.out(s.op("Neg", y))


def _branches_of_their_own() -> Iterator[Sketch]:
    several = "b () => (float[] y, float[] z) {{ y = {} z = Reshape(y, t) }}"
    for kind in ("yes", "no", "each", "size"):
        for ops in (("Relu", "Neg"), ("Neg", "Abs")):
            s = Sketch("If", 17)
            x = s.x((1, 6))
            s.op("Constant", value=onnx.numpy_helper.from_array(np.array([1, 2, 3])))
            target = s.nodes[-1].output[0]
            inner = [graph(several.format(f"{op}({x})").replace(", t)", f", {target})")) for op in ops]
            yield s.out(*s.op("If", _condition(s, kind, x), then_branch=inner[0], else_branch=inner[1], outputs=2))
    within = "b () => (float[] y) {{ y = If(x1) <then_branch = c () => (float[] p) {{ u = {} p = Reshape(x, u) }}, else_branch = d () => (float[] q) {{ q = Neg(x) }}> }}"
    for one in (True, False):  # a branch within a branch
        s = Sketch("If", 17)
        x, _ = s.x((1, 6)), s.x((), None, dtype=BOOL)
        deep = graph(within.format(_numbers([1, 6])))
        flag = _condition(s, "yes" if one else "no", x)
        yield s.out(
            s.op("If", flag, then_branch=deep, else_branch=_branch(f"u = {_numbers([1, 6])} y = Reshape(x, u)"))
        )
    risky = {
        "Gather": "y = Gather<axis = 1>(x, at)",
        "RandomNormalLike": "y = RandomNormalLike(x)",
        "Div": "i = Cast<to = 7>(x) j = Div(i, i) y = Cast<to = 1>(j)",
    }
    for text in risky.values():  # what must not run for a sample that takes the other way
        s = Sketch("If", 17, free=False)
        x = s.x((1, 6))
        s.constants["at"] = np.arange(6)
        yield s.out(s.op("If", _condition(s, "each", x), then_branch=_branch(text), else_branch=_branch("y = Relu(x)")))
    for dims in ((1, 6), (1, 3)):  # what cannot stand side by side
        s = Sketch("If", 17, free=dims == (1, 6))
        x = s.x((1, 6))
        shorter = f"f = {_numbers([0])} e = {_numbers([dims[1]])} a = {_numbers([1])} y = Slice(x, f, e, a)"
        yield s.out(
            s.op("If", _condition(s, "each", x), then_branch=_branch(shorter), else_branch=_branch("y = Neg(x)"))
        )
    for top in ("ReduceMax", "ReduceMin"):  # a condition that mixes the samples, and one that does not
        for axes, free in (([1], True), (None, False)):
            s = Sketch("If", 13, free=free)
            x = s.x((1, 6))
            least = s.op("Greater", s.op(top, x, axes=axes, keepdims=0), s.const(0, np.float32))
            yield s.out(s.op("If", least, then_branch=_branch("y = Relu(x)"), else_branch=_branch("y = Neg(x)")))


# Loop


_HEAD = "b (int64 i, bool c, float[] v) => (bool d, float[] w"


def _loops(dims: Sequence[int]) -> dict[str, str]:
    """Bodies that carry a tensor of these dims, and read x, which has the same."""
    flat = f"t = {_numbers([prod(dims)])} f = Reshape(s, t) u = {_numbers(dims)}"
    go = "d = Identity(c)"
    return {
        "add": f"{_HEAD}) {{ {go} w = Add(v, x) }}",
        "baked": f"{_HEAD}) {{ {go} s = Sub(x, v) {flat} w = Reshape(f, u) }}",
        "alone": f"{_HEAD}) {{ {go} w = Relu(v) }}",
        "reset": f"{_HEAD}) {{ {go} o = Constant<value_float = 1.5>() u = {_numbers(dims)} w = Expand(o, u) }}",
        "given": f"{_HEAD}, float[] z) {{ {go} w = Add(v, x) z = Neg(w) }}",
        "read": f"{_HEAD}, float[] z) {{ {go} w = Relu(v) s = Neg(x) {flat} z = Reshape(f, u) }}",
        "turn": f"{_HEAD}) {{ {go} j = Cast<to = 1>(i) p = Mul(x, j) w = Add(v, p) }}",
        "count": f"{_HEAD}) {{ {go} t = Shape(x) f = Cast<to = 1>(t) m = ReduceMax<keepdims = 0>(f) p = Mul(x, m) w = Add(v, p) }}",
        "until": f"{_HEAD}) {{ k = Constant<value_int = 1>() d = Less(i, k) w = Add(v, x) }}",
        "sized": f"{_HEAD}) {{ t = Size(x) d = Less(i, t) w = Add(v, x) }}",
    }


def loops() -> Iterator[Sketch]:
    opset = cycle(OPSETS)
    for dims, axis in PLACES:
        for size in (1, 2):
            whole = _whole(dims, axis, size)
            for name, text in _loops(whole).items():
                for start in ("x", "zero"):
                    # Where all dims are 1, what a body makes of the samples may stand at another axis.
                    free = not (prod(dims) == 1 and name == "baked")
                    s = Sketch("Loop", next(opset), size, free=free)
                    x = s.x(whole, axis)
                    first = x if start == "x" else s.const(np.zeros(whole, np.float32))
                    count = s.const(3, np.int64) if name != "turn" else s.x((), None, dtype=INT, low=2, high=4)
                    end = s.op(
                        "Loop",
                        count,
                        s.const(True, np.bool_),
                        first,
                        body=graph(text, whole if s.opset % 2 else None),
                        outputs=1 + text.count("z)"),
                    )
                    ends = [end] if isinstance(end, str) else end
                    yield s.out(*(s.op("Neg", each) for each in ends))


def _loops_of_their_own() -> Iterator[Sketch]:
    two = "b (int64 i, bool c, float[] v, float[] k) => (bool d, float[] w, float[] m) { d = Identity(c) w = Add(v, k) m = Mul(k, TAIL) }"
    for tail in ("x", "two"):  # one carries N because the other does, a turn later
        s = Sketch("Loop", 17)
        x = s.x((1, 3))
        s.constants["two"] = np.array(2, np.float32)
        zero, one = (s.const(np.full((1, 3), each, np.float32)) for each in (0, 1))
        body = graph(two.replace("TAIL", tail))
        yield s.out(*s.op("Loop", s.const(3, np.int64), "", zero, one if tail == "x" else x, body=body, outputs=2))
    swap = "b (int64 i, bool c, float[] v, float[] k) => (bool d, float[] w, float[] m) { d = Identity(c) w = Neg(k) m = Identity(v) }"
    s = Sketch("Loop", 17)
    x = s.x((1, 3))
    zero = s.const(np.full((1, 3), 0.5, np.float32))
    yield s.out(*s.op("Loop", s.const(3, np.int64), "", zero, x, body=graph(swap), outputs=2))
    turned = f"{_HEAD}) {{ d = Identity(c) w = Transpose(v) }}"
    for dims, free in (((1, 1), True), ((3, 1), False)):
        s = Sketch("Loop", 17, free=free)
        x = s.x(dims, 1)
        yield s.out(s.op("Loop", s.const(2 if free else 4, np.int64), "", x, body=graph(turned)))
    grown = f"{_HEAD}) {{ d = Identity(c) w = Concat<axis = AXIS>(v, x) }}"
    for axis, free in ((1, True), (0, False)):
        s = Sketch("Loop", 17, free=free)
        x = s.x((1, 3))
        yield s.out(s.op("Loop", s.const(2, np.int64), "", x, body=graph(grown.replace("AXIS", str(axis)))))
    # How often it turns depends on the sample: by the number of turns, the first condition, or each one.
    s = Sketch("Loop", 17, free=False)
    x, count = s.x((1, 3)), s.x((1,), 0, dtype=INT, low=1, high=4)
    yield s.out(s.op("Loop", count, "", x, body=graph(_loops((1, 3))["add"])))
    s = Sketch("Loop", 17, free=False)
    x, go = s.x((1, 3)), s.x((1,), 0, dtype=BOOL)
    yield s.out(s.op("Loop", s.const(2, np.int64), go, x, body=graph(_loops((1, 3))["add"])))
    s = Sketch("Loop", 17, free=False)
    x = s.x((1, 1), low=1, high=4)
    until = f"{_HEAD}) {{ w = Add(v, x) k = Constant<value_float = 20.0>() l = Less(w, k) t = {_numbers([1])} d = Reshape(l, t) }}"
    yield s.out(s.op("Loop", s.const(9, np.int64), "", x, body=graph(until)))
    for size in (1, 2):  # a turn for each sample
        s = Sketch("Loop", 17, size, free=size == 1)
        x = s.x((size, 3))
        each = f"{_HEAD}) {{ d = Identity(c) p = Gather<axis = 0>(x, i) w = Add(v, p) }}"
        count = s.op("Squeeze", s.dim(x, 0), s.ints(0))
        yield s.out(s.op("Loop", count, "", s.const(np.zeros(3, np.float32)), body=graph(each)))
    s = Sketch("Loop", 17, free=False)  # not once
    x = s.x((1, 3))
    none = s.op("Loop", s.const(0, np.int64), "", x, body=graph(_loops((1, 3))["given"]), outputs=2)
    yield s.out(none[0])
    inner = (
        "z = If(flag) <then_branch = p () => (float[] g) { t = "
        + _numbers([3])
        + " h = Reshape(v, t) u = "
        + _numbers([1, 3])
        + " g = Reshape(h, u) }, else_branch = q () => (float[] r) { r = Neg(v) }>"
    )
    for low in (0, 1):  # a branch within a loop, under a condition that all share, and one for each
        s = Sketch("Loop", 17)
        x = s.x((1, 3))
        s.nodes.append(
            onnx.helper.make_node(
                "Greater", [s.x((1,), None, dtype=INT, low=low, high=low + 1), s.ints(0)], ["flag"], name="compare"
            )
        )
        body = graph(f"{_HEAD}) {{ d = Identity(c) {inner} w = Add(z, x) }}")
        yield s.out(s.op("Loop", s.const(2, np.int64), "", x, body=body))
    s = Sketch("Loop", 17)
    x = s.x((1, 3))
    s.nodes.append(onnx.helper.make_node("Identity", [s.x((1,), 0, dtype=BOOL)], ["flag"], name="own"))
    body = graph(f"{_HEAD}) {{ d = Identity(c) {inner} w = Add(z, x) }}")
    yield s.out(s.op("Loop", s.const(2, np.int64), "", x, body=body))
    # A loop in a loop.
    deep = f"{_HEAD}) {{ d = Identity(c) n = Constant<value_int = 2>() w = Loop(n, , v) <body = e (int64 j, bool g, float[] p) => (bool h, float[] q) {{ h = Identity(g) t = {_numbers([1, 3])} f = Reshape(x, t) q = Add(p, f) }}> }}"
    for start in ("x", "zero"):
        s = Sketch("Loop", 17)
        x = s.x((1, 3))
        first = x if start == "x" else s.const(np.zeros((1, 3), np.float32))
        yield s.out(s.op("Loop", s.const(2, np.int64), "", first, body=graph(deep)))


# Scan


_STEPS = {
    "sum": "b (float[] v, float[] e) => (float[] w, float[] o) { w = Add(v, e) o = Neg(w) }",
    "last": "b (float[] v, float[] e) => (float[] w, float[] o) { w = Identity(e) o = Mul(v, e) }",
    "own": "b (float[] v, float[] e) => (float[] w, float[] o) { w = Relu(v) o = Neg(e) }",
    "baked": "b (float[] v, float[] e) => (float[] w, float[] o) { s = Add(v, e) f = Reshape(s, flat) w = Reshape(f, back) o = Reshape(f, back) }",
}


def scans() -> Iterator[Sketch]:
    """The batch at every axis, steps along every axis, given at every axis, forwards and backwards."""
    opset, ways = cycle(OPSETS), cycle([(0, 0), (1, 0), (0, 1), (1, 1)])
    for size in (1, 2):
        for axis in range(3):
            for along in range(3):
                dims = _whole([1 if place == axis else 2 + place for place in range(3)], axis, size)
                rest = tuple(dim for place, dim in enumerate(dims) if place != along)
                for name in ("sum", "last", "own", "baked"):
                    for given, start in ((0, "x"), (1, "zero"), (2, "zero"), (-1, "x")):
                        free = axis != along
                        s = Sketch("Scan", next(opset), size, free=free)
                        x = s.x(dims, axis)
                        where = axis - (along < axis)
                        first = (
                            s.x(rest, where if axis != along else None)
                            if start == "x"
                            else s.const(np.full(rest, 0.5, np.float32))
                        )
                        s.constants["flat"], s.constants["back"] = np.array([prod(rest)]), np.array(rest)
                        text = _STEPS[name]
                        forth, back = next(ways)
                        ends = s.op(
                            "Scan",
                            first,
                            x,
                            outputs=2,
                            body=graph(text, rest if s.opset % 2 else None),
                            num_scan_inputs=1,
                            scan_input_axes=[along],
                            scan_output_axes=[given],
                            scan_input_directions=[forth],
                            scan_output_directions=[back],
                        )
                        yield s.out(*ends)
    s = Sketch("Scan", 17)
    x, shared = s.x((1, 4, 3)), s.x((4, 1, 3), None)
    body = graph("b (float[] e, float[] k) => (float[] o) { o = Add(e, k) }")
    yield s.out(s.op("Scan", x, shared, body=body, num_scan_inputs=2, scan_input_axes=[1, 0]))


def _scans_through_samples() -> Iterator[Sketch]:
    """A step for each sample: the order in which they come and go, and what each step reads beside its own."""
    alone = "b (float[] e) => (float[] o) { f = Reshape(e, t) r = Softmax<axis = 0>(f) o = Reshape(r, u) }"
    for size in (1, 3):
        for axis, given in ((0, 0), (1, 0), (0, 1), (2, -1)):
            for forth, back in ((0, 0), (1, 1), (0, 1)):
                s = Sketch("Scan", 17, size, free=forth == back)
                x = s.x(_whole([1 if place == axis else 2 + place for place in range(3)], axis, size), axis)
                rest = [2 + place for place in range(3) if place != axis]
                s.constants["t"], s.constants["u"] = np.array([prod(rest)]), np.array(rest)
                way: dict[str, Any] = {"scan_input_directions": [forth], "scan_output_directions": [back]}
                way |= {"scan_input_axes": [axis], "scan_output_axes": [given]}
                yield s.out(s.op("Scan", x, body=graph(alone), num_scan_inputs=1, **way))
    for text, free in (("Mul(e, k)", True), ("Add(e, x)", False), ("Sub(rows, e)", False)):
        s = Sketch("Scan", 17, free=free)
        x = s.x((1, 3))
        s.constants["k"] = np.array([[2, 3, 4]], np.float32)
        s.nodes.append(onnx.helper.make_node("Neg", ["x"], ["rows"], name="neg"))
        body = graph(f"b (float[] e) => (float[] o) {{ o = {text} }}")
        yield s.out(s.op("Scan", x, body=body, num_scan_inputs=1))
    s = Sketch("Scan", 17, free=False)  # one that has its samples elsewhere
    x, other = s.x((1, 3)), s.x((1, 1), 1)
    body = graph("b (float[] e, float[] k) => (float[] o) { o = Add(e, k) }")
    yield s.out(s.op("Scan", x, other, body=body, num_scan_inputs=2))


def control() -> Iterator[Sketch]:
    """All of them; those that stand for themselves are first."""
    own = (
        *_branches_of_their_own(),
        *choices(),
        *starts(),
        *unturned(),
        *_loops_of_their_own(),
        *_scans_through_samples(),
    )
    for number, case in enumerate(own):
        case.trap = f"{case.about} {number}"
        yield case
    yield from branches()
    yield from loops()
    yield from scans()
