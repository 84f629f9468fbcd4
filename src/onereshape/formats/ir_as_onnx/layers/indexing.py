"""Layers that pick and place elements: gathers, slices, scatters, TopK."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError, data_type

_LAST = 2**63 - 1
"""The end of a slice that takes a whole axis."""


def _gather(layer: Layer) -> list[ir.Value]:
    """Version 1 has the axis and no batch dims, 7 has them, 8 counts indices below 0 from the end."""
    axes = layer.integers_at(2, "axis") if layer.given(2) else [0]
    shared = layer.integer("batch_dims", 0)
    if len(axes) != 1:
        raise UndrawnError("its axis is no single number")
    if shared == 0:
        return [layer.draw("Gather", [layer.input(0), layer.input(1)], {"axis": axes[0]})]
    return [_rows(layer, axes[0] % layer.rank(0), shared if shared > 0 else shared + layer.rank(1))]


def _rows(layer: Layer, axis: int, shared: int) -> ir.Value:
    """Each row of the first dims has indices of its own: its axis is brought behind them, and all else back."""
    rank, indices = layer.rank(0), layer.rank(1)
    data = layer.input(0)
    if axis != shared:
        order = [*range(shared), axis, *(each for each in range(shared, rank) if each != axis)]
        data = layer.draw("Transpose", [data], {"perm": order})
    places = layer.draw("Unsqueeze", [layer.int64(1), layer.held([-1])])
    found = layer.draw("GatherND", [data, places], {"batch_dims": shared})
    if axis == shared:
        return found
    between, own = axis - shared, indices - shared  # dims before the axis, and those of indices, which came first
    order = [
        *range(shared),
        *range(indices, indices + between),
        *range(shared, shared + own),
        *range(indices + between, rank - 1 + own),
    ]
    return layer.draw("Transpose", [found], {"perm": order})


def _gather_elements(layer: Layer) -> list[ir.Value]:
    return [layer.draw("GatherElements", [layer.input(0), layer.input(1)], {"axis": layer.integer("axis")})]


def _gather_nd(layer: Layer) -> list[ir.Value]:
    """From version 8 on the batch dims stay apart in the output, as in ONNX; before, they are joined to one."""
    shared = layer.integer("batch_dims", 0)
    found = layer.draw("GatherND", [layer.input(0), layer.int64(1)], {"batch_dims": shared})
    if shared < 2 or layer.opset >= 8:
        return [found]
    rest = layer.draw("Shape", [found], {"start": shared})
    return [layer.draw("Reshape", [found, layer.draw("Concat", [layer.held([-1]), rest], {"axis": 0})])]


def _slice(layer: Layer) -> list[ir.Value]:
    kinds = {layer.kind_of(place) for place in range(1, len(layer.inputs))}
    if len(kinds) > 1 or not kinds <= {ir.DataType.INT64, ir.DataType.INT32}:
        parts = [layer.int64(place) for place in range(1, len(layer.inputs))]
    else:
        parts = [layer.input(place) for place in range(1, len(layer.inputs))]
    starts, ends, steps, *axes = parts
    axes = axes or [layer.draw("Range", [layer.held(0), layer.draw("Size", [starts]), layer.held(1)])]
    return [layer.draw("Slice", [layer.input(0), starts, ends, axes[0], steps])]


def _mask(layer: Layer, name: str, count: int) -> list[bool]:
    found = [bool(each) for each in layer.integers(name, "")]
    return (found + [False] * count)[:count]


def _strided_slice(layer: Layer) -> list[ir.Value]:
    """A slice with marks: a bound that does not count, a new dim of 1, a dim that is taken out, all dims between."""
    count = layer.size(1, 0)
    steps = layer.integers_at(3, "strides") if layer.given(3) else [1] * count
    if len(steps) != count or layer.size(2, 0) != count:
        raise UndrawnError("it has not as many begins as ends and strides")
    new, gone, dots = (_mask(layer, f"{name}_mask", count) for name in ("new_axis", "shrink_axis", "ellipsis"))
    plan = _planned(layer, [*zip(new, gone, dots, strict=True)])
    data = layer.input(0)
    if plan.cut or not (plan.fresh or plan.dropped):
        data = _cut(layer, plan, steps, gone)
    if plan.dropped:
        data = layer.draw("Squeeze", [data, layer.held(plan.dropped)])
    if plan.fresh:
        data = layer.draw("Unsqueeze", [data, layer.held(plan.fresh)])
    return [data]


class _IndexPlan(NamedTuple):
    """The axes of a StridedSlice: `x[1:3, 0, None]` cuts axes 0 and 1, drops axis 1, and has a fresh output axis 1."""

    cut: dict[int, int]
    """The place in the lists of bounds for each axis that is cut,"""
    dropped: list[int]
    """the axes that are taken out then,"""
    fresh: list[int]
    """and those of the output that are new."""


def _planned(layer: Layer, marks: list[tuple[bool, bool, bool]]) -> _IndexPlan:
    plan = _IndexPlan({}, [], [])
    taken = sum(not new and not dots for new, _, dots in marks)
    axis = out = 0
    for place, (new, gone, dots) in enumerate(marks):
        if dots:
            if sum(each for _, _, each in marks) > 1:
                raise UndrawnError("it has several ellipses")
            axis, out = axis + layer.rank(0) - taken, out + layer.rank(0) - taken
        elif new and gone:
            raise UndrawnError("a dim of it is new and taken out at once, for which openvino has no rule")
        elif new:
            plan.fresh.append(out)
            out += 1
        else:
            plan.cut[axis] = place
            plan.dropped.extend([axis] * gone)
            out += not gone
            axis += 1
    return plan


def _cut(layer: Layer, plan: _IndexPlan, steps: list[int], gone: list[bool]) -> ir.Value:
    """The Slice of a StridedSlice, along the axes that are cut; a bound that a mask switches off is replaced."""
    no_begin, no_end = (_mask(layer, name, len(steps)) for name in ("begin_mask", "end_mask"))
    begins, ends = layer.constant(1), layer.constant(2)
    if begins is not None and ends is not None:
        bounds = {
            axis: _bounds(int(begins[at]), int(ends[at]), steps[at], marks=(no_begin[at], no_end[at], gone[at]))
            for axis, at in plan.cut.items()
        }
        axes = [axis for axis, each in bounds.items() if each != (0, _LAST, 1)]
        if not axes and (plan.fresh or plan.dropped):
            return layer.input(0)
        firsts, lasts, strides = ([bounds[axis][which] for axis in axes] for which in range(3))
        return layer.draw("Slice", [layer.input(0), *(layer.held(each) for each in (firsts, lasts, axes, strides))])
    places = [*plan.cut.values()]
    kept = layer.held(places)
    first, last = (layer.draw("Gather", [layer.int64(place), kept], {"axis": 0}) for place in (1, 2))
    free = [_bounds(0, 0, steps[at], marks=(True, True, False)) for at in places]
    free = [(0, 1, 1) if gone[at] and no_begin[at] else each for at, each in zip(places, free, strict=True)]
    if any(gone[at] for at in places):  # one element: up to the next, or to the end where that would be 0
        after = layer.draw("Add", [first, layer.held(1)])
        ending = layer.draw("Equal", [after, layer.held(0)])
        after = layer.draw("Where", [ending, layer.held(_LAST), after])
        last = layer.draw("Where", [layer.held([gone[at] for at in places], np.bool_), after, last])
    held = [layer.held([each[which] for each in free]) for which in (0, 1)]
    starts = [no_begin[at] for at in places]
    stops = [(no_end[at] and not gone[at]) or (gone[at] and no_begin[at]) for at in places]
    first = layer.draw("Where", [layer.held(starts, np.bool_), held[0], first])
    last = layer.draw("Where", [layer.held(stops, np.bool_), held[1], last])
    strides = [1 if gone[at] else steps[at] for at in places]
    return layer.draw("Slice", [layer.input(0), first, last, layer.held([*plan.cut]), layer.held(strides)])


def _bounds(begin: int, end: int, step: int, *, marks: tuple[bool, bool, bool]) -> tuple[int, int, int]:
    """The start, the end and the step of one dim, in ONNX's words."""
    no_begin, no_end, gone = marks
    if gone:
        start = 0 if no_begin else begin
        return start, _LAST if start == -1 else start + 1, 1
    first = (0 if step > 0 else _LAST) if no_begin else begin
    last = (_LAST if step > 0 else -_LAST) if no_end else end
    return first, last, step


_WAYS = {"none": None, "sum": "add", "prod": "mul", "min": "min", "max": "max"}
"""How ONNX calls what is done with an element that is there already."""


def _scatter_elements(layer: Layer) -> list[ir.Value]:
    way = layer.text("reduction", "none").lower()
    if way not in _WAYS:
        raise UndrawnError(f"its reduction is {way!r}, which ONNX does not have")
    if way != "none" and not layer.flag("use_init_val", "true"):
        raise UndrawnError("its reduction leaves out what was there")
    axes = layer.integers_at(3, "axis")
    if len(axes) != 1:
        raise UndrawnError("its axis is no single number")
    values = [layer.input(place) for place in range(3)]
    return [layer.draw("ScatterElements", values, {"axis": axes[0], "reduction": _WAYS[way]})]


def _scatter_nd(layer: Layer) -> list[ir.Value]:
    way = layer.text("reduction", "none").lower()
    data, updates = layer.input(0), layer.input(2)
    if way == "sub":
        way, updates = "sum", layer.draw("Neg", [updates])
    if way not in _WAYS:
        raise UndrawnError(f"its reduction is {way!r}, which ONNX does not have")
    return [layer.draw("ScatterND", [data, layer.int64(1), updates], {"reduction": _WAYS[way]})]


def _scatter_update(layer: Layer) -> list[ir.Value]:
    """Whole slices of one axis, which is brought to the front for it."""
    axes, rank, indices = layer.integers_at(3, "axis"), layer.rank(0), layer.rank(1)
    if len(axes) != 1:
        raise UndrawnError("its axis is no single number")
    axis = axes[0] % rank
    data, updates = layer.input(0), layer.input(2)
    places = layer.draw("Unsqueeze", [layer.int64(1), layer.held([-1])])
    if axis == 0:
        return [layer.draw("ScatterND", [data, places, updates])]
    before, behind = [*range(axis)], [*range(axis + 1, rank)]
    turned = layer.draw("Transpose", [data], {"perm": [axis, *before, *behind]})
    own = [*range(axis, axis + indices)]
    order = [*own, *before, *(each + indices - 1 for each in behind)]
    updates = layer.draw("Transpose", [updates], {"perm": order})
    found = layer.draw("ScatterND", [turned, places, updates])
    return [layer.draw("Transpose", [found], {"perm": [*range(1, axis + 1), 0, *behind]})]


def _topk(layer: Layer) -> list[ir.Value]:
    """The largest, or the smallest, in their order, in that of their places, or in any."""
    mode, order = layer.text("mode").lower(), layer.text("sort").lower()
    if order not in {"value", "index", "none"} or mode not in {"max", "min"}:
        raise UndrawnError(f"it is sorted by {order!r}, which ONNX does not have")
    kind = data_type(layer.text("index_element_type", "i32").lower())
    if kind is None:
        raise UndrawnError("its index_element_type is not known")
    axis, count = layer.integer("axis"), layer.vector(1)
    attributes = {"axis": axis, "largest": int(mode == "max"), "sorted": int(order == "value")}
    values, places = layer.draw_all("TopK", [layer.input(0), count], attributes, 2)
    if order == "index":
        places, _ = layer.draw_all("TopK", [places, count], {"axis": axis, "largest": 0, "sorted": 1}, 2)
        values = layer.draw("GatherElements", [layer.input(0), places], {"axis": axis})
    return [values, places if kind == ir.DataType.INT64 else layer.cast(places, kind)]


def _bucketize(layer: Layer) -> list[ir.Value]:
    """How many limits are below a number: those equal to it count where they are no longer in its bucket."""
    return [_counted(layer, layer.input(0), layer.input(1), right=not layer.flag("with_right_bound", "true"))]


def _search_sorted(layer: Layer) -> list[ir.Value]:
    """SearchSorted: the place of each number in a sorted row, before the equal numbers or (`right_mode`) behind."""
    rows = layer.input(0)
    if layer.rank(0) > 1:
        rows = layer.draw("Unsqueeze", [rows, layer.held([-2])])
    return [_counted(layer, layer.input(1), rows, right=layer.flag("right_mode"))]


def _counted(layer: Layer, numbers: ir.Value, limits: ir.Value, *, right: bool) -> ir.Value:
    kind = data_type(layer.text("output_type", "i64").lower())
    if kind is None:
        raise UndrawnError("its output_type is not known")
    each = layer.draw("Unsqueeze", [numbers, layer.held([-1])])
    below = layer.cast(layer.draw("GreaterOrEqual" if right else "Greater", [each, limits]), ir.DataType.INT64)
    found = layer.draw("ReduceSum", [below, layer.held([-1])], {"keepdims": 0})
    return found if kind == ir.DataType.INT64 else layer.cast(found, kind)


def _cum_sum(layer: Layer) -> list[ir.Value]:
    flags = {name: int(layer.flag(name)) for name in ("exclusive", "reverse")}
    return [layer.draw("CumSum", [layer.input(0), layer.input(1)], flags)]


def _non_zero(layer: Layer) -> list[ir.Value]:
    found = layer.draw("NonZero", [layer.input(0)])
    kind = data_type(layer.text("output_type", "i64").lower())
    if kind is None:
        raise UndrawnError("its output_type is not known")
    return [found if kind == ir.DataType.INT64 else layer.cast(found, kind)]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "Bucketize": _bucketize,
    "CumSum": _cum_sum,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "ScatterElementsUpdate": _scatter_elements,
    "ScatterNDUpdate": _scatter_nd,
    "ScatterUpdate": _scatter_update,
    "SearchSorted": _search_sorted,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "TopK": _topk,
}
