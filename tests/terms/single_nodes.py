"""One node, run by onnxruntime and on terms, and the laws that hold between the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from onnx import helper, numpy_helper

from onereshape.terms.hashing import Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.tensor import Tensor, terms
from tests import running
from tests.learned import DOMAIN, version

Array = np.ndarray[Any, Any]
HASHING = Hashing(20240229)
onnxruntime.set_default_logger_severity(4)


@dataclass(frozen=True)
class Node:
    """An operator with numbers for its inputs; `held` ones are weights of the model."""

    op: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 21
    domain: str = ""
    held: frozenset[int] = frozenset()
    kept: Sequence[int] | None = None
    """The outputs that have a name; all of them if it is not said."""

    @property
    def fed(self) -> list[int]:
        return [place for place, each in enumerate(self.inputs) if each is not None and place not in self.held]

    @property
    def named(self) -> list[int]:
        return list(range(self.outputs)) if self.kept is None else list(self.kept)

    @cached_property
    def model(self) -> onnx.ModelProto:
        names = ["" if each is None else f"x{place}" for place, each in enumerate(self.inputs)]
        outputs = [f"y{place}" if place in self.named else "" for place in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, name="node", domain=self.domain, **self.attributes)
        there = {place: each for place, each in enumerate(self.inputs) if each is not None}
        graph = helper.make_graph(
            [node],
            "graph",
            [
                helper.make_tensor_value_info(
                    f"x{place}", helper.np_dtype_to_tensor_dtype(there[place].dtype), there[place].shape
                )
                for place in self.fed
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs if name],
            [
                numpy_helper.from_array(np.asarray(there[place]), f"x{place}")
                for place in sorted(self.held & there.keys())
            ],
        )
        versions = {"": self.opset, "com.microsoft": 1, DOMAIN: version(self.op)}
        opsets = [helper.make_opsetid(*each) for each in versions.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    @cached_property
    def session(self) -> onnxruntime.InferenceSession:
        return running.session(self.model)

    def engine(self, inputs: Sequence[Array | None] | None = None) -> list[Array]:
        """What onnxruntime makes."""
        given = self.inputs if inputs is None else inputs
        found: list[Array] = self.session.run(None, {f"x{place}": np.asarray(given[place]) for place in self.fed})
        return found

    @cached_property
    def program(self) -> Program:
        return Program(ir.from_proto(self.model), HASHING, Limits())

    @cached_property
    def leaves(self) -> dict[int, Tensor]:
        """Terms for all that is fed."""
        found = {}
        for place in self.fed:
            each = self.inputs[place]
            assert each is not None
            dtype = ir.DataType.from_numpy(each.dtype)
            words = HASHING.leaves(HASHING.key("input", place, dtype.name), each.size).reshape(each.shape)
            found[place] = terms(words, dtype)
            if dtype.is_integer() and dtype.bitwidth <= 32:
                info = np.iinfo(each.dtype)
                found[place] = terms(words, dtype, np.asarray(info.min), np.asarray(info.max))
        return found

    def run(self, leaves: Mapping[int, Tensor] | None = None) -> list[Tensor]:
        """What the term run makes."""
        given = self.leaves if leaves is None else leaves
        outputs, _ = self.program.run({f"x{place}": each for place, each in given.items()})
        found = []
        for place in self.named:
            value = outputs[f"y{place}"]
            assert isinstance(value, Tensor)
            found.append(value)
        return found

    def words(self, leaves: Mapping[int, Tensor] | None = None) -> list[Array]:
        return [each.hashed(HASHING) for each in self.run(leaves)]

    def changed(self, place: int, where: Any) -> dict[int, Tensor]:
        """The leaves, with other words at some places of an input."""
        leaf = self.leaves[place]
        words = leaf.array.copy()
        words[where] ^= np.uint64(0x9E3779B97F4A7C15)
        return {**self.leaves, place: replace(leaf, words=words)}


def check_dims(node: Node) -> None:
    """The dims and types are those of onnxruntime."""
    for theirs, mine in zip(node.engine(), node.run(), strict=True):
        assert mine.shape == theirs.shape, node
        assert mine.dtype == ir.DataType.from_numpy(theirs.dtype), node


def check_dependency(node: Node, rng: np.random.Generator, draw: Callable[[int], Any], times: int = 3) -> None:
    """Whatever one other element changes in onnxruntime it changes in terms; `draw` gives an input new numbers."""
    before, words = node.engine(), node.words()
    for place in node.fed:
        each = node.inputs[place]
        assert each is not None
        for _ in range(times if each.size else 0):
            where = tuple(int(rng.integers(dim)) for dim in each.shape)
            other = np.array(each)
            other[where] = draw(place)
            after = node.engine([other if index == place else given for index, given in enumerate(node.inputs)])
            now = node.words(node.changed(place, where))
            for old, new, was, becomes in zip(before, after, words, now, strict=True):
                if old.shape != new.shape:
                    continue
                differs = (old != new) & ~(np.isnan(old) & np.isnan(new)) if old.dtype.kind == "f" else old != new
                missed = differs & (was == becomes)
                assert not missed.any(), (node, place, where, np.argwhere(missed)[:3])


def check_apart(node: Node, axes: Mapping[int, int], outputs: Sequence[int]) -> None:
    """What is fed of a sample reaches no other: `axes` are those of the inputs, `outputs` those of the outputs."""
    words = node.words()
    for place, axis in axes.items():
        leaf = node.leaves[place]
        for sample in range(leaf.shape[axis]):
            where = (*[slice(None)] * axis, sample)
            for was, becomes, side in zip(words, node.words(node.changed(place, where)), outputs, strict=True):
                rest = [each for each in range(was.shape[side]) if each != sample]
                assert np.array_equal(was.take(rest, side), becomes.take(rest, side)), (node, place, sample)


def differ(one: Node, other: Node, *, everywhere: bool = False) -> bool:
    """Whether two nodes have other words for the same inputs."""
    pairs = list(zip(one.words(), other.words(), strict=True))
    if any(mine.shape != theirs.shape for mine, theirs in pairs):
        return True
    if everywhere:
        return all(bool(np.all(mine != theirs)) for mine, theirs in pairs)
    return any(not np.array_equal(mine, theirs) for mine, theirs in pairs)
