"""Dims that must be equal where a node runs at all, and what a node tells of a tensor that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import onnx_ir as ir

from onereshape.graphs.facts.answers import broadcast
from onereshape.graphs.facts.scope import Dims, Scope
from onereshape.graphs.operators.contractions import letters_of
from onereshape.graphs.record import record_of
from onereshape.graphs.registry import operator_of
from onereshape.rule.sizes import Formula, Size

Equation = tuple[Size, Size]
DimsAndEntries = tuple[list[int], list[int]]
"""Dims of the data, and entries of the target, by their places."""
_MEETING = frozenset({"Concat", "Einsum", "MatMul"})
"""Operators some of whose dims must be equal, beside those that broadcast."""
_CONTRACTING = frozenset({"Einsum", "MatMul"})
"""Those whose operands may have the same dims in other places."""


def equations(node: ir.Node, scope: Scope) -> Sequence[Equation]:
    """The pairs of different sizes that must be equal."""
    operator, inputs = node.op_type, node.inputs
    if len(inputs) < 2 or (operator not in _MEETING and not _broadcasts(node)):
        return ()
    shapes = [None if value is None else scope.dims_of(value) for value in inputs]
    if operator not in _CONTRACTING and shapes.count(shapes[0]) == len(shapes):
        return ()  # as most are
    if Formula not in {type(size) for dims in shapes if dims is not None for size in dims}:
        return ()
    return [
        (one, other)
        for one, other in _pairs(node, shapes)
        if one is not other and (isinstance(one, Formula) or isinstance(other, Formula)) and one != other != 1 != one
    ]


def _pairs(node: ir.Node, shapes: Sequence[Dims | None]) -> Iterator[Equation]:
    known = [dims for dims in shapes if dims is not None]
    operator = operator_of(node)
    if operator not in _CONTRACTING:
        known = list(dict.fromkeys(known))  # a Sum may have thousands that are alike
    if _broadcasts(node):
        for place, dims in enumerate(known[1:], 1):
            for before in known[:place]:
                yield from zip(reversed(before), reversed(dims), strict=False)
    elif operator == "Concat":
        yield from _joined(known, node.attributes.get_int("axis", 0))
    elif operator == "MatMul" and len(known) == 2 and all(known):
        left, right = known
        yield left[-1], right[-2] if len(right) > 1 else right[0]
        yield from zip(reversed(left[:-2]), reversed(right[:-2]), strict=False)
    elif operator == "Einsum" and len(known) == len(shapes):
        for sizes in _lettered(node, known)[0].values():
            yield from ((sizes[0], size) for size in sizes[1:])


def _joined(shapes: Sequence[Dims], axis: int) -> Iterator[Equation]:
    """The dims of what a Concat joins, but for those along its axis."""
    for dims in shapes[1:]:
        if len(dims) == len(shapes[0]):
            at = axis % len(dims) if dims else 0
            yield from (pair for place, pair in enumerate(zip(shapes[0], dims, strict=True)) if place != at)


def _lettered(node: ir.Node, shapes: Sequence[Dims]) -> tuple[dict[str | int, list[Size]], list[str | int]]:
    """The dims of an Einsum's operands by their letters, and the letters of the result."""
    terms, result = letters_of(node.attributes.get_string("equation", ""))
    found: dict[str | int, list[Size]] = {}
    if len(terms) != len(shapes):
        return {}, []
    for term, dims in zip(terms, shapes, strict=True):
        named = _named(term, len(dims))
        if len(named) != len(dims):
            return {}, []
        for letter, size in zip(named, dims, strict=True):
            found.setdefault(letter, []).append(size)
    dotted = sum(isinstance(letter, int) for letter in found)
    return found, _named(result, len(result.replace("...", "")) + dotted)


def _named(term: str, rank: int) -> list[str | int]:
    """The letters of dims, and numbers for those that dots stand for, which are the same from the last one on."""
    before, _, after = term.partition("...")
    dotted = rank - len(before) - len(after) if "..." in term else 0
    return [*before, *range(-dotted, 0), *after]


def spread(node: ir.Node, scope: Scope) -> dict[int, list[Size]]:
    """The dims of the operands of a node that broadcasts or contracts, by the axis of the result, without the ones."""
    operator = operator_of(node)
    if not _broadcasts(node) and operator not in _CONTRACTING:
        return {}
    shapes = [scope.dims_of(value) for value in node.inputs if value is not None]
    known = [dims for dims in shapes if dims is not None]
    if len(known) < len(shapes):
        return {}
    if operator == "Einsum":
        sizes, result = _lettered(node, known)
        return {axis: [size for size in sizes.get(letter, ()) if size != 1] for axis, letter in enumerate(result)}
    if operator == "MatMul":
        known = [dims[:-2] for dims in known]  # what it contracts, and what one of them has, is not shared
    found: dict[int, list[Size]] = {}
    rank = max(map(len, known), default=0)
    for dims in known:
        for axis, size in enumerate(dims, rank - len(dims)):
            if size != 1:
                found.setdefault(axis, []).append(size)
    return found


def groups(data: Sequence[tuple[int, ...] | None], target: Sequence[tuple[int, ...]]) -> Iterator[DimsAndEntries]:
    """Which dims of the data, and which entries of the target, a Reshape turns into one another, by their values.

    A group ends where both have as many elements, in all exports.  An entry of -1, or of 0, takes what is left there.
    """
    known = [values for values in data if values is not None]
    if len(known) < len(data) or not target:
        return
    totals = [prod(each) for each in zip(*known, strict=True)] if known else [1] * len(target[0])
    words = [known[place] if set(word) == {0} and place < len(known) else word for place, word in enumerate(target)]
    said = [prod(each[export] for each in words if each[export] != -1) for export in range(len(totals))]
    if 0 in said:
        return
    words = [
        tuple(total // each if number == -1 else number for number, total, each in zip(word, totals, said, strict=True))
        for word in words
    ]
    above: list[int] = []
    below: list[int] = []
    left, right = [1] * len(totals), [1] * len(totals)
    one = other = 0
    while one < len(known) or other < len(words):
        if one < len(known) and ((left[0] <= right[0] and not (above and left == right)) or other >= len(words)):
            left = [a * b for a, b in zip(left, known[one], strict=True)]
            above.append(one)
            one += 1
        else:
            right = [a * b for a, b in zip(right, words[other], strict=True)]
            below.append(other)
            other += 1
        if above and below and left == right:
            yield above, below
            above, below = [], []
            left, right = [1] * len(totals), [1] * len(totals)


def hints(node: ir.Node, slot: int, scope: Scope) -> Mapping[int, Sequence[Size]]:
    """What the other inputs of a node tell of the dims of a tensor, by axis, or of the numbers in it, by place."""
    value = node.inputs[slot]
    others = [
        None if other is None or place == slot else scope.dims_of(other) for place, other in enumerate(node.inputs)
    ]
    operator = operator_of(node)
    if operator in {"Reshape", "Expand"} and slot == 1 and others[0] is not None and value is not None:
        count = scope.dims_of(value)
        length = count[0] if count and isinstance(count[0], int) else len(others[0])
        shift = length - len(others[0]) if operator == "Expand" else 0
        aligned = {place + shift: [size] for place, size in enumerate(others[0])}
        if operator == "Expand":
            return aligned
        return {place: [*aligned.get(place, []), *others[0]] for place in range(length)}
    if operator == "Slice" and slot == 2 and others[0] is not None:
        return dict.fromkeys(range(len(others[0])), others[0])
    if _broadcasts(node) and value is not None:
        own = scope.dims_of(value)
        rank = len(own) if own is not None else 0
        found: dict[int, list[Size]] = {}
        for dims in others:
            for place, size in enumerate(reversed(dims or ())):
                if rank - 1 - place >= 0:
                    found.setdefault(rank - 1 - place, []).append(size)
        return found
    return {}


def _broadcasts(node: ir.Node) -> bool:
    return record_of(node).shape is broadcast
