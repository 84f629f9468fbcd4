"""Einsum: what is summed over two operands is a MatMul of their contents, and has its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.contractions import dot
from onereshape.terms.tensor import Tensor, terms

_ELLIPSIS: Final = "..."


@dataclass(frozen=True, slots=True)
class _Labelled:
    """An operand with a label for each of its dims: letters, and negative numbers for those of an ellipsis."""

    tensor: Tensor
    labels: tuple[str | int, ...]


def _einsum(call: Call) -> Sequence[Tensor]:
    equation = str(call.attribute("equation", "")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(call.inputs):
        call.refuse(f"its equation {equation!r} is not of {len(call.inputs)} operands")
    operands = [_single(call, *_labelled(call, call.tensor(place), part)) for place, part in enumerate(parts)]
    dotted = {
        sum(isinstance(label, int) for label in each.labels)
        for each, part in zip(operands, parts, strict=True)
        if _ELLIPSIS in part
    }
    if len(dotted) > 1:
        call.refuse("its ellipses are of several numbers of dims")
    output = _output(call, right, operands) if arrow else _implied(call, left, operands)
    known = {label for each in operands for label in each.labels}
    if len(set(output)) != len(output) or not known.issuperset(output):
        call.refuse(f"its equation {equation!r} asks for a label twice, or for one that is not there")
    _check_dims(call, operands)
    if len(operands) == 1 and known == set(output):
        order = [operands[0].labels.index(label) for label in output]
        return [operands[0].tensor.moved(lambda array: array.transpose(order))]
    if any(each.tensor.depends for each in operands):
        call.not_for_all("sums numbers that depend on the number of samples")
    return [_summed(call, operands, output)]


def _labelled(call: Call, tensor: Tensor, part: str) -> tuple[Tensor, tuple[str | int, ...]]:
    """The labels of an operand; those of its ellipsis count from the back, where they are aligned."""
    before, dots, behind = part.partition(_ELLIPSIS)
    letters = before + behind
    if not all(each.isascii() and each.isalpha() for each in letters):
        call.refuse(f"the term {part!r} is none")
    more = tensor.rank - len(letters)
    if more < 0 or (more and not dots):
        call.refuse(f"the term {part!r} is not of {tensor.rank} dims")
    return tensor, (*before, *range(-more, 0), *behind)


def _single(call: Call, tensor: Tensor, labels: tuple[str | int, ...]) -> _Labelled:
    """An operand with each label once: of a label that comes twice the diagonal is taken, `ii -> i`."""
    while len(set(labels)) < len(labels):
        label = next(each for each in labels if labels.count(each) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        if tensor.shape[first] != tensor.shape[second]:
            call.refuse(f"the dims {list(tensor.shape)} have no diagonal")
        if tensor.growth and (tensor.growth[first] or tensor.growth[second]):
            call.not_for_all("takes a diagonal of a dim that grows with the number of samples")
        axes = first, second
        tensor = tensor.moved(lambda array, axes=axes: np.diagonal(array, 0, *axes))  # type: ignore[misc]
        labels = (*(each for place, each in enumerate(labels) if place not in axes), label)
    return _Labelled(tensor, labels)


def _dotted(operands: Sequence[_Labelled]) -> list[int]:
    """The labels of the ellipsis: the negative numbers in the labels of all operands, sorted."""
    return sorted({label for each in operands for label in each.labels if isinstance(label, int)})


def _output(call: Call, right: str, operands: Sequence[_Labelled]) -> tuple[str | int, ...]:
    before, dots, behind = right.partition(_ELLIPSIS)
    if not dots and _dotted(operands):
        call.refuse("its answer has no ellipsis")
    return (*before, *_dotted(operands), *behind)


def _implied(call: Call, left: str, operands: Sequence[_Labelled]) -> tuple[str | int, ...]:
    """The labels of an answer that is not given, `ij,jk -> ik`; refused with both cases, as no order is agreed on."""
    letters = left.replace(_ELLIPSIS, "").replace(",", "")
    once = sorted(each for each in letters if letters.count(each) == 1)
    if not ("".join(once).islower() or "".join(once).isupper() or not once):
        call.refuse("it is not agreed whether upper or lower case comes first")
    return (*_dotted(operands), *once)


def _check_dims(call: Call, operands: Sequence[_Labelled]) -> None:
    """A label has one dim; only those of an ellipsis are broadcast."""
    found: dict[str | int, set[int]] = {}
    for each in operands:
        for label, dim in zip(each.labels, each.tensor.shape, strict=True):
            if isinstance(label, str) or dim != 1:
                found.setdefault(label, set()).add(dim)
    if any(len(dims) > 1 for dims in found.values()):
        call.refuse(f"the dims {[list(each.tensor.shape) for each in operands]} do not go together")


def _summed(call: Call, operands: Sequence[_Labelled], output: tuple[str | int, ...]) -> Tensor:
    dtype = operands[0].tensor.dtype
    gone = [label for each in operands for label in each.labels if label not in output]
    shared = [label for label in dict.fromkeys(gone) if gone.count(label) > 1]
    contents = [_content(call, each, shared, output) for each in operands]
    if len(operands) == 1:
        return terms(contents[0], dtype)
    if len(operands) == 2:
        return dot(call, dtype, *contents)
    # Which labels the operands share, and their dims, say what is done with the contents.
    sizes = {label: dim for each in operands for label, dim in zip(each.labels, each.tensor.shape, strict=True)}
    pattern = tuple(tuple(shared.index(label) for label in shared if label in each.labels) for each in operands)
    key = call.key(dtype.name, pattern, tuple(sizes[label] for label in shared))
    return call.mixed(dtype, key, *(call.hashing.mix(call.key("operand"), each) for each in contents))


def _content(call: Call, term: _Labelled, shared: Sequence[Any], output: Sequence[Any]) -> Words:
    """The words of an operand for each element of the answer, in the answer's axes: sums, then the factors' content."""
    rest = [label for label in output if label in term.labels]
    inner = [label for label in shared if label in term.labels]
    alone = [label for label in term.labels if label not in output and label not in shared]
    order = [term.labels.index(label) for label in (*rest, *inner, *alone)]
    if not alone:
        over = tuple(term.labels.index(label) for label in inner)
        if list(over) == sorted(over):  # the content of a constant is kept with it
            content = term.tensor.folded(call.hashing, over)
            left = [label for label in term.labels if label in rest]
            return _spread(content.transpose([left.index(label) for label in rest]), rest, output)
    words = term.tensor.hashed(call.hashing).transpose(order)
    if alone:
        key = call.key(term.tensor.dtype.name, op="Einsum sum")
        words = call.hashing.mix(key, call.hashing.fold(words, tuple(range(len(rest) + len(inner), words.ndim))))
    if len(call.inputs) > 1:
        words = call.hashing.fold(words, tuple(range(len(rest), len(rest) + len(inner))))
    return _spread(words, rest, output)


def _spread(words: Words, rest: Sequence[Any], output: Sequence[Any]) -> Words:
    """Words with an axis for each label of the answer."""
    return np.expand_dims(words, tuple(axis for axis, label in enumerate(output) if label not in rest))


RECORDS: Final[dict[str, Record]] = {
    "Einsum": record(_einsum, carries=True),
}
