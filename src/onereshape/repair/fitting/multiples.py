"""Pads to a multiple of a number, where the exports do not tell them from pads to something else, or by a number.

What is padded to 16 and 32 may be padded to twice another size, or to multiples of 8.  What is padded by 7 in all
exports may be padded to multiples of 8 as well, if that is what another axis is padded to.  So may what is resized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.doubts import ambiguous
from onereshape.repair.fitting.ends import is_clipped
from onereshape.repair.fitting.formulas import Known, told_apart
from onereshape.repair.fitting.idle import handed_on
from onereshape.repair.fitting.places import SIZED
from onereshape.repair.fitting.readings import MULTIPLES
from onereshape.repair.fitting.strided import windows_of
from onereshape.rule.sizes import Formula, Size, ceiling, cut, depends

_PADDING = frozenset({"ConvTranspose", "Pad", "Resize"})
"""Operators that may make data as large as a multiple of a number, or as they were."""


Patched = tuple[ir.Node, int]
"""A Conv that takes patches side by side, and their size."""


class _PaddedAxis(NamedTuple):
    """An axis of data that follows the sizes, and what a Pad makes of it."""

    data: Formula
    padded: Size
    varies: bool
    """Whether it is padded by more in one export than in another."""
    multiples: tuple[int, ...]
    """The numbers to the next multiple of which it is padded in all exports."""
    place: int = 0
    """The number of the axis."""

    def next(self, many: int) -> Size:
        """The next multiple of a number: `8*ceil(S/8)` for 8."""
        return ceiling(self.data, many) * many


def settle_pads(nodes: Sequence[ir.Node], scope: Scope, known: Known) -> None:
    """Refuses Pads that may well be to multiples of a number, and were read otherwise; others are asked to be such.

    What is read otherwise stays where data have that size before: a picture that is padded to what it was.
    """
    if all(node.op_type not in _PADDING for node in nodes):
        return  # as in most models
    fed, shown = set(scope.walk.model.graph.inputs), set[Size]()
    for value in fed:
        shown.update(scope.dims_of(value) or ())
    for node in nodes:
        operator = operator_of(node)
        if operator in _PADDING and node.inputs and node.inputs[0] is not None:
            _SETTLED[operator](node, scope, known, shown)
        if not fed.isdisjoint(node.inputs):
            fed.update(node.outputs)
            for value in node.outputs if node.op_type not in SIZED else ():
                shown.update(scope.dims_of(value) or ())
    convs = [
        (node, patch) for node in nodes if operator_of(node) == "Conv" and (patch := _patch(node, scope)) is not None
    ]
    _settle_patches(convs, scope, known)
    _settle_resized(nodes, convs, scope, known)


def settle_unpadded(nodes: Sequence[ir.Node], scope: Scope, known: Known) -> None:
    """Asks of axes that Pads leave as they are, in all exports, that they have a size to which they may all be padded.

    That is another size that is as large; else, of a Pad that adds nothing at all, a multiple of the largest number
    that divides it in all exports.
    """
    for node in nodes:
        data = node.inputs[0] if operator_of(node) == "Pad" and node.inputs else None
        if data is None:
            continue
        idle = scope.dims_of(data) == scope.dims.get(node.outputs[0])
        for axis in _axes(node, scope, known):
            size, values = axis.data, known.values(axis.data)
            if axis.padded != size or values is None or _moves(node, axis.place, scope):
                continue
            others = [each for each in known.exactly(values) if depends(each, size.symbols)]
            others = [each for each in others if told_apart(each, size, known.bindings) is not None]
            if others:
                known.keep(size, others[0])
            elif idle:
                known.multiple(size, gcd(*values))


def _moves(pad: ir.Node, place: int, scope: Scope) -> bool:
    """Whether a Pad adds before an axis what it leaves out behind it, or may do so: it may say for which axes it is."""
    held = None if len(pad.inputs) < 2 or pad.inputs[1] is None else scope.held(pad.inputs[1])
    pads = [] if held is None else held.reshape(-1).tolist()
    own = pads if any(pad.inputs[3:]) else pads[place :: max(len(pads) // 2, 1)]
    return any(isinstance(each, int) and each for each in own)


def _settle_resized(nodes: Iterable[ir.Node], convs: Sequence[Patched], scope: Scope, known: Known) -> None:
    """Asks for whole patches where data are resized to a free size: that may be as large as all patches are."""
    taken = [
        (size, patch)
        for node, patch in convs
        for size in (scope.dims_of(node.inputs[0]) if node.inputs[0] is not None else None) or ()
        if isinstance(size, Formula) and size.name is not None
    ]
    made = {size for node in nodes if operator_of(node) == "Resize" for size in scope.dims.get(node.outputs[0], ())}
    for size, patch in taken:
        if size in made and not any(value % patch for value in known.values(size) or (1,)):
            known.multiple(size, patch)


def _settle_patches(convs: Sequence[Patched], scope: Scope, known: Known) -> None:
    """Where a Conv takes patches of data that are padded to whole ones, others like it may pad at sizes without a Pad.

    No export has a node that does nothing, so sizes with whole patches are asked for, as all exports have them.
    """
    padded: set[int] = set()
    for node, patch in convs:
        data = handed_on(node.inputs[0])
        pad = None if data is None else data.producer()
        if pad is not None and operator_of(pad) == "Pad":
            for axis in _axes(pad, scope, known):
                if axis.varies and patch in _read(axis, known):
                    padded.add(patch)
    for node, patch in convs if padded else ():
        dims = scope.dims_of(node.inputs[0]) if node.inputs[0] is not None else None
        for size in (dims or ())[2:] if patch in padded else ():
            values = known.values(size)
            if values is not None and not any(value % patch for value in values):
                known.multiple(size, patch)


def _patch(node: ir.Node, scope: Scope) -> int | None:
    """The size of the patches that a Conv takes side by side."""
    strides, windows = set(node.attributes.get_ints("strides") or ()), set(windows_of(node, scope))
    pads = node.attributes.get_ints("pads") or ()
    return strides.pop() if len(strides) == 1 and strides == windows and not any(pads) and strides != {1} else None


def _settle(node: ir.Node, scope: Scope, known: Known, shown: Iterable[Size]) -> None:
    axes = list(_axes(node, scope, known))
    for axis in axes:
        if not _is_free(axis):
            _check(node, axis, shown, known, "padded")
    for axis in axes:
        if not axis.varies and axis.padded != axis.data:
            _restored(axis.padded, shown, known)
    varying = {axis: _read(axis, known) for axis in axes if isinstance(axis.padded - axis.data, Formula)}
    for axis, multiples in varying.items():
        _settle_varying(axis, multiples, known)
    read = {many for multiples in varying.values() for many in multiples}
    for axis in axes:
        for many in read.intersection(() if axis in varying else axis.multiples):
            known.equate(axis.padded, axis.next(many))  # at other sizes, it may be padded by more, or less


def _settle_varying(axis: _PaddedAxis, multiples: Iterable[int], known: Known) -> None:
    """Asks for sizes at which no more is added than exports show how, and something where all of them add something."""
    more = axis.padded - axis.data
    if set(known.values(more) or ()) == {0, 1} and not multiples:
        known.keep(cut(more, 2), 0)  # what is more may be added in halves
    for many in multiples:
        if not known.equal(axis.padded, axis.next(many)):  # by all of it where nothing is missing, if that is done
            known.indivisible[axis.data, many] = None


def _settle_numbers(node: ir.Node, scope: Scope, known: Known, shown: Iterable[Size]) -> None:
    """Refuses a Resize to a number that may be the next multiple of another: 3 and 4 rows become 4, as of 2."""
    for axis in _axes(node, scope, known):
        if isinstance(axis.padded, int):
            _check(node, axis, shown, known, "resized")


def _settle_transposed(node: ir.Node, scope: Scope, known: Known, shown: Iterable[Size]) -> None:
    """Asks that a ConvTranspose gives a size that data had before, where it does so in all exports.

    It may be told the size, and adds a little to reach it; whole multiples of its data with nothing added are meant so.
    """
    sizes = scope.dims.get(node.outputs[0], ())[2:]
    dims = (scope.dims_of(node.inputs[0]) if node.inputs[0] is not None else None) or ()
    added = node.attributes.get_ints("output_padding") or [0] * len(sizes)
    strides = node.attributes.get_ints("strides") or [1] * len(sizes)
    for size, data, more, stride in zip(sizes, dims[2:], added, strides, strict=False):
        if stride > 1 and isinstance(size, Formula) and (more or data * stride != size):
            _restored(size, shown, known)


def _check(node: ir.Node, axis: _PaddedAxis, shown: Iterable[Size], known: Known, done: str) -> None:
    """Refuses an axis that may become a multiple of a number, and was read otherwise."""
    if axis.varies and axis.multiples and not _read(axis, known) and not _is_met(axis, shown, known):
        what = f"the size to which {axis.data} is {done}"
        raise ambiguous(node, what, axis.padded, axis.next(axis.multiples[0]), known.bindings)


_SETTLED: Mapping[str, Callable[[ir.Node, Scope, Known, Iterable[Size]], None]] = {
    "ConvTranspose": _settle_transposed,
    "Pad": _settle,
    "Resize": _settle_numbers,
}


def _axes(node: ir.Node, scope: Scope, known: Known) -> Iterator[_PaddedAxis]:
    before = None if node.inputs[0] is None else scope.dims_of(node.inputs[0])
    for place, (data, padded) in enumerate(zip(before or (), scope.dims.get(node.outputs[0], ()), strict=False)):
        sizes, wanted = known.values(data), known.values(padded)
        if isinstance(data, Formula) and sizes is not None and wanted is not None:
            pairs = list(zip(sizes, wanted, strict=True))
            # To a number: up to that, it is what the next multiple of it is.
            found = [many for many in MULTIPLES if many != padded and all(-a // many * -many == b for a, b in pairs)]
            yield _PaddedAxis(data, padded, len({b - a for a, b in pairs}) > 1, tuple(found), place)


def _read(axis: _PaddedAxis, known: Known) -> list[int]:
    """The numbers to a multiple of which an axis is padded everywhere: to the next one, or beyond it."""
    more = axis.padded - axis.data
    return [
        many
        for many in axis.multiples
        if known.divisible(axis.padded, many) and known.never_below(more, 0) and known.never_below(many - more, 0)
    ]


def _is_free(axis: _PaddedAxis) -> bool:
    """Whether as many are added as a free size has, or one more or less: no multiple is so far in all exports."""
    more = axis.padded - axis.data
    return any(isinstance(each, Formula) and each.name is not None for each in (more, more - 1, more + 1))


def _restored(found: Size, shown: Iterable[Size], known: Known) -> None:
    """Asks for the sizes at which what is found is a size that data had, where it is in all exports.

    Frames in pairs, `2*floor(n/2)` of them, are padded by 1 again where all exports have an odd number.
    """
    values = known.values(found)
    if values is None:
        return
    own = found.symbols if isinstance(found, Formula) else frozenset()
    alike = [size for size in shown if isinstance(size, Formula) and size.symbols == own and not is_clipped(size)]
    alike = [size for size in alike if known.values(size) == values]
    if any(known.equal(size, found) for size in alike):
        return
    for size in sorted(alike, key=str):
        known.restored(found, size)
    if alike and not any(known.equal(size, found) for size in alike):
        known.keep(found, min(alike, key=lambda size: len(str(size))))


def _is_met(axis: _PaddedAxis, shown: Iterable[Size], known: Known) -> bool:
    """Whether data have the size to which an axis is padded."""
    values = known.values(axis.padded)
    return any(known.values(size) == values and known.equal(size, axis.padded) for size in shown)
