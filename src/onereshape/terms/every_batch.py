"""Whether a run at N samples is, in everything it makes, N runs at one sample: then it is for every N.

Each tensor of the run at N is put beside the same tensor of the runs at one sample.  One of its dims may be p * N * q
where theirs is p * q; the part of sample s then has the words of the run on that sample.  Integers may lean on N and
on the place of their sample: c + slope * N + place * s here is c + slope there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt, prod

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, tensors_of
from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Print:
    """A tensor's dims, and its content in one word."""

    shape: tuple[int, ...]
    word: int


@dataclass(slots=True)
class Trace:
    """The prints of all tensors that a run at one sample makes, in their order."""

    hashing: Hashing
    prints: list[Print] = field(default_factory=list)

    def observe(self, _node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        """Notes the print of each tensor that a node makes."""
        for tensor in tensors_of(tuple(results)):
            self.prints.append(printed(self.hashing, tensor))
        return results


def printed(hashing: Hashing, tensor: Tensor) -> Print:
    """A tensor's dims, and its content in one word."""
    words = tensor.linear(hashing).reshape(1, -1)
    return Print(tensor.shape, int(hashing.fold(words, (1,))[0]))


class Parted(Exception):  # noqa: N818 - an end: what comes after it says nothing
    """A run at N that is not made of the runs at one sample."""

    def __init__(self, node: str) -> None:
        self.node = node
        """The first node that makes something else."""
        super().__init__(node)


@dataclass(slots=True)
class Beside:
    """A run at N, put beside the runs at one sample."""

    hashing: Hashing
    samples: int
    traces: Mapping[int, Sequence[Print]]
    """The prints of the samples that are looked at, by label."""
    _place: int = 0

    def observe(self, node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        """Puts a node's results beside those for each sample alone, and notes how their dims grow; or Parted."""
        found: list[Value] = []
        for value in results:
            if value is None or isinstance(value, Tensor):
                found.append(None if value is None else self._tensor(node, value))
            else:
                found.append(tuple(self._tensor(node, each) for each in tensors_of(value)))
        return found

    def _tensor(self, node: ir.Node, tensor: Tensor) -> Tensor:
        place, self._place = self._place, self._place + 1
        prints = [trace[place] if place < len(trace) else None for trace in self.traces.values()]
        known = [each for each in prints if each is not None]
        growth = growth_of(tensor.shape, [each.shape for each in known], self.samples)
        outer = None
        if len(known) == len(prints) and growth is not None:
            outer = self._outer(tensor, growth, known)
        if outer is None or growth is None:
            raise Parted(f"{node.op_type} {node.name or node.outputs[0].name}")
        return replace(tensor, growth=growth if any(growth) else (), outer=outer)

    def _outer(self, tensor: Tensor, growth: tuple[int, ...], prints: Sequence[Print]) -> int | None:
        """How many times the samples follow one another, if a tensor is made of those of the samples."""
        words = tensor.linear(self.hashing)
        wanted = np.array([each.word for each in prints], np.uint64)
        axis = next((axis for axis, each in enumerate(growth) if each), None)
        if axis is None:
            if tensor.integers.by_place:
                return None
            lean = np.asarray(tensor.integers.slope * (self.samples - 1), np.int64).astype(np.uint64)
            word = self.hashing.fold((words - lean * self.hashing.unit).reshape(1, -1), (1,))
            return 1 if np.all(word == wanted) else None
        fitting = (
            each
            for each in divisors(growth[axis])
            if np.array_equal(self._split(words, tensor, axis, each)[[*self.traces]], wanted)
        )
        return next(fitting, None)

    def _split(self, words: Words, tensor: Tensor, axis: int, outer: int) -> Words:
        """A word for each sample, if the dim is outer * N * inner."""
        parts = samples_apart(words, axis, outer, self.samples)
        if tensor.depends:
            leaning = tensor.slopes(), tensor.places()
            slope, place = (samples_apart(part, axis, outer, self.samples) for part in leaning)
            lean = slope * (self.samples - 1) + place * np.arange(self.samples)[:, None]
            parts = parts - lean.astype(np.uint64) * self.hashing.unit
        return self.hashing.fold(parts, (0, 2))


def samples_apart(array: Array, axis: int, outer: int, samples: int) -> Array:
    """An array with outer * N * inner along an axis as [before * outer, N, inner * behind]: `[2, 6] -> [2, 3, 2]`."""
    dims = array.shape
    inner = dims[axis] // (outer * samples)
    return array.reshape(prod(dims[:axis]) * outer, samples, inner * prod(dims[axis + 1 :]))


def samples_first(array: Array, axis: int, outer: int, samples: int) -> Array:
    """A row of elements for each sample: `[2, 6, 5]` with 3 samples along axis 1, outer 1 -> `[3, 20]`."""
    return np.ascontiguousarray(samples_apart(array, axis, outer, samples).transpose(1, 0, 2)).reshape(samples, -1)


def growth_of(shape: tuple[int, ...], others: Sequence[tuple[int, ...]], samples: int) -> tuple[int, ...] | None:
    """By how much each dim grows with N, 0 where it stays: `(6, 5)` beside `(2, 5)` at N = 3 -> `(2, 0)`; or None."""
    if len(set(others)) != 1 or len(others[0]) != len(shape):
        return None
    found = []
    for dim, one in zip(shape, others[0], strict=True):
        if dim == one:
            found.append(0)
        elif dim == one * samples:
            found.append(one)
        else:
            return None
    return tuple(found) if sum(map(bool, found)) <= 1 else None


def divisors(number: int) -> list[int]:
    """The divisors of a number, 1 and then from the largest on, as batches lie outside or inside: `6 -> 1, 6, 3, 2`."""
    small = [each for each in range(1, isqrt(number) + 1) if number % each == 0]
    found = sorted({*small, *(number // each for each in small)})
    return [found[0], *reversed(found[1:])]


def watch(call: Call, record: Record, results: Sequence[Value]) -> None:
    """Notes an operator that is not known to do the same for every N, or reads numbers which depend on N."""
    fed = [each for value in call.inputs for each in tensors_of(value)]
    made = list(tensors_of(tuple(results)))
    shrinks = any(each.known and each.size and not each.grows for each in made)
    if shrinks and not record.carries and any(each.known and each.grows for each in fed):
        call.not_for_all("makes numbers of a dim that grows with the number of samples")
    if any(_may_wrap(each) for each in made):
        call.not_for_all("a number that depends on the number of samples may not fit its type for others")
    if not record.uniform and any(each.grows or each.depends for each in fed):
        call.not_for_all("is not known to do the same for every number of samples")
    elif not record.carries and any(each.depends for each in fed):
        call.not_for_all("reads a number that depends on the number of samples")


_MANY = 1 << 20
"""More samples than anyone runs at one time."""


def _may_wrap(tensor: Tensor) -> bool:
    """Whether integers that depend on N leave their type while N is not a large number yet.

    They may be near its ends before anything is added, and those without a sign may go below 0.
    """
    if not tensor.depends:
        return False
    bits, signed = tensor.dtype.bitwidth, tensor.dtype.is_signed()
    parts = [np.asarray(part) for part in (tensor.integers.slope, tensor.integers.place)]
    if bits < 32 or (not signed and any(bool(np.any(part < 0)) for part in parts)):
        return True
    ends = [tensor.values] if tensor.values is not None else tensor.bounds()
    far = [np.max(np.abs(end.astype(np.float64)), initial=0) for end in ends if end is not None]
    leaning = sum(np.max(np.abs(part.astype(np.float64)), initial=0) for part in parts)
    return bool(max(far, default=0) + leaning * _MANY >= 2.0 ** (bits - signed))
