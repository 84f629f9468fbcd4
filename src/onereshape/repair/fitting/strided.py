"""Data that are padded so that the windows of a convolution, or of a pool, end where they end: `same` padding.

How much is padded is the rest of a division by the stride.  The exports tell that where their sizes leave different
rests; where they leave the same one, the others are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.idle import handed_on
from onereshape.rule.sizes import Formula, Size, ceiling, over, symbol

WINDOWED = frozenset({"Conv", "AveragePool", "MaxPool", "LpPool"})
"""Operators whose windows go along axes."""


class Strided(NamedTuple):
    """An axis of padded data that windows go along."""

    node: ir.Node
    """The Pad, or the node that pads by itself."""
    padded: Size
    data: Size
    """The size before it was padded."""
    window: int
    """How far a window reaches, less what the windows themselves pad."""
    stride: int


def uneven(nodes: Iterable[ir.Node], scope: Scope) -> list[Strided]:
    """The axes along which windows go on by more than 1, and pad by themselves; none where no node pads one end more.

    That is `same` padding, which an exporter wrote into the attributes.
    """
    found, apart = [], False
    for node in nodes:
        pads, strides = (node.attributes.get_ints(name) or () for name in ("pads", "strides"))
        windows, rank = windows_of(node, scope) if operator_of(node) in WINDOWED else (), len(strides)
        dims = (scope.dims_of(node.inputs[0]) or ()) if windows and node.inputs[0] is not None else ()
        if len(pads) != 2 * rank or len(dims) != rank + 2 or len(windows) != rank:
            continue
        reaches = node.attributes.get_ints("dilations") or [1] * rank
        for axis, (window, stride, data) in enumerate(zip(windows, strides, dims[2:], strict=True)):
            if stride > 1 and isinstance(window, int):
                apart = apart or pads[axis] != pads[axis + rank]
                padded = data + pads[axis] + pads[axis + rank]
                found.append(Strided(node, padded, data, (window - 1) * reaches[axis] + 1, stride))
    return found if apart else []


def strided(node: ir.Node, scope: Scope) -> Iterator[Strided]:
    """The axes of what a Pad gives to windows that go on by more than 1."""
    if operator_of(node) not in WINDOWED:
        return
    data = handed_on(node.inputs[0])
    pad, before = _unpadded(data)
    if data is None or pad is None or before is None or node.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        return
    after, dims = scope.dims_of(data), scope.dims_of(before)
    windows = windows_of(node, scope)
    if after is None or dims is None or len(after) != len(dims) or len(windows) != len(dims) - 2:
        return
    ones, none = [1] * len(windows), [0] * (2 * len(windows))
    strides, apart = (node.attributes.get_ints(name) or ones for name in ("strides", "dilations"))
    more = node.attributes.get_ints("pads") or none
    for axis, window in enumerate(windows):
        if strides[axis] > 1 and isinstance(window, int):
            reach = (window - 1) * apart[axis] + 1 - more[axis] - more[axis + len(windows)]
            yield Strided(pad, after[axis + 2], dims[axis + 2], reach, strides[axis])


def windows_of(node: ir.Node, scope: Scope) -> Sequence[Size]:
    """The sizes of the windows of a node, or of its weights, where it does not say them."""
    weights = scope.dims_of(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else None
    return node.attributes.get_ints("kernel_shape") or (weights or ())[2:]


def _unpadded(data: ir.Value | None) -> tuple[ir.Node | None, ir.Value | None]:
    """The first in a chain of Pads that ends at `data`, and the value that it reads; without a Pad, None and `data`."""
    first, before = None, data
    while before is not None and (pad := before.producer()) is not None and operator_of(pad) == "Pad":
        first, before = pad, handed_on(pad.inputs[0]) if pad.inputs else None
    return first, before


def followed(found: Strided, name: str, known: Known) -> Size | None:
    """What an open number of a pad is, if it is the rest that the stride leaves; None where the exports do not tell."""
    if not isinstance(found.padded, Formula):
        return None
    others = found.padded - symbol(name) - found.data
    sizes, values = known.values(found.data), known.values(symbol(name))
    if not isinstance(others, int) or sizes is None or values is None or len(_rests(sizes, found.stride)) == 1:
        return None
    # As little as windows take that end with the data; or as little as an export shows.
    for least in dict.fromkeys((max(0, found.window - found.stride) - others, min(values))):
        short = found.data + others + least - found.window
        size = least + ceiling(short, found.stride) * found.stride - short
        if least >= 0 and known.values(size) == values:
            return size
    return None


def limited(all_found: Sequence[Strided], known: Known, *, same: bool) -> None:
    """Asks for sizes that leave the rests that the exports leave, where these are the same: others are not known.

    That is so if a model has `same` padding, and of what may be such: 1 for windows of 3 in steps of 2, at even sizes.
    """
    for each in all_found:
        rests = _rests(known.values(each.data) or (), each.stride)
        if not isinstance(each.data, Formula) or len(rests) != 1:
            continue
        (rest,) = rests
        if not same and each.padded - each.data != max(0, each.window - (rest or each.stride)):
            continue
        steps = over(each.data - rest, each.stride)
        known.whole(steps)
        if not known.is_whole(steps):
            node = each.node.name or each.node.outputs[0].name
            why = f"{each.data} leaves {rest} when divided by {each.stride} in all exports"
            raise FixError(
                "cannot-free", node=node, op=each.node.op_type, why=f"{why}, which do not tell how others are padded"
            )


def _rests(sizes: Sequence[int], stride: int) -> set[int]:
    return {size % stride for size in sizes}
