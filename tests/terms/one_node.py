"""One node, run by onnxruntime and on terms: dims and types, and what depends on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from onereshape.terms.hashing import Hashing, Words
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.tensor import Tensor, numbers, terms
from tests.running import session

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, repr=False)
class Node:
    """An operator, what it is fed, and its attributes; inputs in `known` are numbers on terms too."""

    op: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any]
    opset: int = 22
    outputs: int = 1
    known: frozenset[int] = frozenset()
    domain: str = ""

    def __repr__(self) -> str:
        inputs = ["-" if each is None else f"{each.dtype}{list(each.shape)}" for each in self.inputs]
        return f"{self.op}-{self.opset}({', '.join(inputs)}) {dict(self.attributes)}"

    def but(self, **attributes: Any) -> Node:
        """Another node, by attributes that are None where they are left out."""
        found = {**self.attributes, **attributes}
        return replace(self, attributes={name: each for name, each in found.items() if each is not None})

    def model(self) -> onnx.ModelProto:
        names = ["" if each is None else f"x{place}" for place, each in enumerate(self.inputs)]
        outputs = [f"y{place}" for place in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in zip(names, self.inputs, strict=True)
            if each is not None
        ]
        graph = helper.make_graph([node], "one", values, [onnx.ValueInfoProto(name=name) for name in outputs])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def feeds(self) -> dict[str, Array]:
        return {f"x{place}": each for place, each in enumerate(self.inputs) if each is not None}


def answers(node: Node) -> list[Array]:
    """What onnxruntime gives."""
    found: list[Array] = session(node.model()).run(None, node.feeds())
    return found


def fed(node: Node, hashing: Hashing) -> dict[str, Tensor]:
    """A word for each element."""
    found = {}
    for place, each in enumerate(node.inputs):
        if each is None:
            continue
        dtype = ir.DataType.from_numpy(each.dtype)
        if place in node.known:
            found[f"x{place}"] = numbers(each, dtype)
            continue
        words = hashing.leaves(hashing.key("input", place), each.size).reshape(each.shape)
        if dtype.is_integer() and dtype.bitwidth <= 32:
            info = np.iinfo(each.dtype)
            found[f"x{place}"] = terms(words, dtype, np.asarray(info.min), np.asarray(info.max))
        else:
            found[f"x{place}"] = terms(words, dtype)
    return found


def run(node: Node, hashing: Hashing, feeds: Mapping[str, Tensor] | None = None) -> list[Tensor]:
    """The outputs on terms."""
    program = Program(ir.from_proto(node.model()), hashing, Limits())
    found, _ = program.run(fed(node, hashing) if feeds is None else feeds)
    return [each for each in found.values() if isinstance(each, Tensor)]


def words(node: Node, seed: int = 1) -> list[Words]:
    """The words of the outputs."""
    hashing = Hashing(seed)
    return [each.hashed(hashing) for each in run(node, hashing)]


def agrees(node: Node) -> None:
    """Dims and types are onnxruntime's."""
    wanted = answers(node)
    got = run(node, Hashing(1))
    assert [(each.shape, each.dtype) for each in wanted] == [
        (each.shape, each.array.dtype if each.known else each.dtype.numpy()) for each in got
    ], node


def depends(  # noqa: PLR0913 - what is looked at
    node: Node, rng: np.random.Generator, times: int = 3, *, exact: bool = False, apart: bool = False, but: int = -1
) -> None:
    """What changes in onnxruntime with one element changes in terms; if `exact` nothing else does with the first input.

    With `apart` an element of the first input reaches only answers of its own sample, along the first axis.  Input
    `but` is left alone.
    """
    hashing = Hashing(int(rng.integers(1 << 62)))
    engine, feeds, leaves = session(node.model()), node.feeds(), fed(node, hashing)
    base, before = engine.run(None, feeds), run(node, hashing, leaves)
    for place, each in enumerate(node.inputs):
        if each is None or not each.size or place in node.known or place == but:
            continue
        for _ in range(times):
            at = int(rng.integers(each.size))
            other, tensor = each.copy(), leaves[f"x{place}"]
            other.flat[at] = other.flat[at] + 3 if each.dtype.kind in "iu" else other.flat[at] + 7.5
            changed = tensor.array.copy()
            changed.flat[at] = hashing.key("other")
            after = run(node, hashing, {**leaves, f"x{place}": replace(tensor, words=changed)})
            got = engine.run(None, {**feeds, f"x{place}": other})
            for one, two, old, new in zip(base, got, before, after, strict=True):
                differs = new.hashed(hashing) != old.hashed(hashing)
                missed = ~np.isclose(one, two, 0, 0, equal_nan=True) & ~differs
                assert not missed.any(), (node, place, at)
                if exact and place == 0:
                    assert not (differs & (one == two)).any(), (node, place, at)
                if apart and place == 0:
                    sample = at // (each.size // each.shape[0])
                    rest = [row for row in range(len(differs)) if row != sample]
                    assert not differs[rest].any(), (node, at)


def exchanges(node: Node, rng: np.random.Generator, times: int = 10) -> None:
    """Two elements that change places change in terms what they change in onnxruntime."""
    hashing = Hashing(int(rng.integers(1 << 62)))
    engine, feeds, leaves = session(node.model()), node.feeds(), fed(node, hashing)
    base, before = engine.run(None, feeds), run(node, hashing, leaves)
    places = [
        (f"x{place}", at)
        for place, each in enumerate(node.inputs)
        if each is not None and place not in node.known and each.dtype.itemsize < 8
        for at in range(each.size)
    ]
    early = [each for each in places if each[1] < 3]
    for _ in range(times if places else 0):
        some = early if rng.random() < 0.5 else places
        (one, here), (two, there) = (some[int(each)] for each in rng.integers(len(some), size=2))
        if feeds[one].dtype != feeds[two].dtype:
            continue
        numbers_, words_ = (
            {name: array.copy() for name, array in arrays.items()}
            for arrays in (feeds, {name: each.array for name, each in leaves.items()})
        )
        for arrays in (numbers_, words_):
            arrays[one].flat[here], arrays[two].flat[there] = arrays[two].flat[there], arrays[one].flat[here]
        changed = {
            name: leaves[name] if leaves[name].known else replace(leaves[name], words=each)
            for name, each in words_.items()
        }
        after, got = run(node, hashing, changed), engine.run(None, numbers_)
        for old, new, was, now in zip(before, after, base, got, strict=True):
            missed = ~np.isclose(was, now, 1e-3, 1e-4, equal_nan=True) & (old.hashed(hashing) == new.hashed(hashing))
            assert not missed.any(), (node, one, here, two, there)


def runs(node: Node) -> bool:
    """Whether onnxruntime takes a node."""
    try:
        answers(node)
    except Exception as error:  # noqa: BLE001 - it has many of its own
        return "onnxruntime" not in type(error).__module__ and not isinstance(error, RuntimeError)
    return True
