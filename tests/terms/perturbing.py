"""One node in onnxruntime and on terms: dims, types, and what changes when one element of an input does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.terms.hashing import Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.tensor import Tensor, terms
from tests.running import session

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Node:
    """A node and what it is fed."""

    op: str
    opset: int
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    constants: frozenset[int] = frozenset()
    """Inputs that are weights: their numbers are known."""
    batch: Mapping[int, int] = field(default_factory=dict)
    """The axis of each input along which nothing mixes, and ~k for output k."""
    domain: str = ""
    rounding: float = 0.0
    """What an engine's own way of summing may change in elements that read nothing new."""

    def changed(self, **attributes: Any) -> Node:
        return replace(self, attributes={**self.attributes, **attributes})

    def __repr__(self) -> str:
        dims = [None if each is None else (each.dtype.name, each.shape) for each in self.inputs]
        return f"{self.op}-{self.opset} {dims} {dict(self.attributes)}"

    def model(self) -> onnx.ModelProto:
        fed, weights, names = [], [], []
        for place, array in enumerate(self.inputs):
            names.append("" if array is None else f"i{place}")
            if array is None:
                continue
            if place in self.constants:
                weights.append(onnx.numpy_helper.from_array(array, f"i{place}"))
            else:
                kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
                fed.append(onnx.helper.make_tensor_value_info(f"i{place}", kind, array.shape))
        node = onnx.helper.make_node(
            self.op, names, [f"o{each}" for each in range(self.outputs)], domain=self.domain, **self.attributes
        )
        results = [onnx.helper.make_empty_tensor_value_info(f"o{each}") for each in range(self.outputs)]
        graph = onnx.helper.make_graph([node], "g", fed, results, weights)
        opsets = [onnx.helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(onnx.helper.make_opsetid(self.domain, 1))
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)

    @property
    def fed(self) -> list[int]:
        return [place for place, each in enumerate(self.inputs) if each is not None and place not in self.constants]


def engine(node: Node) -> Callable[[Sequence[Array | None]], list[Array]]:
    """Runs a node in onnxruntime."""
    loaded = session(node.model())

    def run(inputs: Sequence[Array | None]) -> list[Array]:
        return list(loaded.run(None, {f"i{place}": inputs[place] for place in node.fed}))

    return run


HASHING = Hashing(20240229)


def leaves(node: Node) -> dict[str, Tensor]:
    """A word for each element that is fed."""
    found = {}
    for place in node.fed:
        array = np.asarray(node.inputs[place])
        words = HASHING.leaves(HASHING.key("input", place), array.size).reshape(array.shape)
        found[f"i{place}"] = terms(words, ir.DataType.from_numpy(array.dtype))
    return found


def on_terms(node: Node) -> Callable[[Mapping[str, Tensor]], list[Tensor]]:
    """Runs a node on terms."""
    program = Program(ir.from_proto(node.model()), HASHING, Limits())

    def run(feeds: Mapping[str, Tensor]) -> list[Tensor]:
        found, _ = program.run(feeds)
        results = [found[f"o{each}"] for each in range(node.outputs)]
        assert all(isinstance(each, Tensor) for each in results)
        return [each for each in results if isinstance(each, Tensor)]

    return run


def words(node: Node) -> list[Array]:
    """The words of all outputs."""
    return [each.hashed(HASHING) for each in on_terms(node)(leaves(node))]


def check(node: Node, rng: np.random.Generator, tries: int = 3) -> list[Array]:
    """Dims, types, dependency and locality of a node; its words."""
    run, run_terms = engine(node), on_terms(node)
    wanted, feeds = run(node.inputs), leaves(node)
    got = run_terms(feeds)
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.shape == theirs.shape, node
        assert mine.dtype == ir.DataType.from_numpy(theirs.dtype), node
        if mine.values is not None:
            np.testing.assert_array_equal(mine.values, theirs, err_msg=repr(node))
        elif mine.integers.low is not None and mine.integers.high is not None:
            assert np.all(mine.integers.low <= theirs), node
            assert np.all(theirs <= mine.integers.high), node
    first = [each.hashed(HASHING) for each in got]
    for place in node.fed:
        for _ in range(tries):
            _perturb(node, place, rng, (run, wanted), (run_terms, feeds, first))
    return first


def _perturb(node: Node, place: int, rng: np.random.Generator, theirs: Any, mine: Any) -> None:
    """Another number for one element: whatever changes in onnxruntime changes in terms, and no other sample does."""
    run, wanted = theirs
    run_terms, feeds, first = mine
    array = np.asarray(node.inputs[place])
    if not array.size:
        return
    index = tuple(int(rng.integers(dim)) for dim in array.shape)
    other = array.copy()
    other[index] = _another(array, index, rng)
    inputs = [other if each == place else given for each, given in enumerate(node.inputs)]
    feed = feeds[f"i{place}"]
    changed = feed.words.copy()
    changed[index] = HASHING.key("another")
    again = [each.hashed(HASHING) for each in run_terms({**feeds, f"i{place}": replace(feed, words=changed)})]
    for output, (one, two, before, now) in enumerate(zip(wanted, run(inputs), first, again, strict=True)):
        differs = ~np.isclose(one, two, node.rounding, node.rounding, equal_nan=True)
        missed = differs & (before == now)
        assert not missed.any(), f"{node}: output {output} at {np.argwhere(missed)[0]} for input {place} {index}"
        if place in node.batch and ~output in node.batch:
            rest = np.delete(before != now, index[node.batch[place]], node.batch[~output])
            assert not rest.any(), f"{node}: output {output} of another sample, for input {place} {index}"


def _another(array: Array, index: tuple[int, ...], rng: np.random.Generator) -> Any:
    if array.dtype == np.bool_:
        return not array[index]
    if array.dtype.kind in "iu":
        values = array[array != array[index]]
        return rng.choice(values) if values.size else array[index]
    return array[index] + array.dtype.type(rng.choice([-3.0, 0.7, 5.0]))


def floats(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    return rng.normal(size=shape).astype(dtype)
