"""One planted change in a model: an element of a weight, two rows, a perm, an axis, swapped inputs, an epsilon ...

Nothing here knows whether a change shows in an answer: most are drawn again (`bench/pair_judge.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations, islice
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

Array = np.ndarray[Any, Any]
MOST: Final = 24
"""How many changes of one kind are tried on a model."""
STRENGTHS: Final = (0.02, 0.2, 2.0)
"""By what share of the largest weight an element is moved: the least that shows is taken."""
SWAPPED: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    **dict.fromkeys("Sub Div Pow Mod MatMul Gemm FusedMatMul Less Greater PRelu".split(), ((0, 1),)),
    "Where": ((1, 2),),
    "LayerNormalization": ((1, 2),),
    "GroupNormalization": ((1, 2),),
    "InstanceNormalization": ((1, 2),),
    "BatchNormalization": ((1, 2), (2, 3), (3, 4)),
    "SkipLayerNormalization": ((2, 3),),
    "Attention": ((0, 1), (1, 2)),
    "MultiHeadAttention": ((0, 1), (1, 2)),
    "LSTM": ((1, 2),),
    "GRU": ((1, 2),),
}
"""The pairs of inputs whose order counts."""
AXES: Final = (-1, -2, -3, 0, 1, 2, 3)


class Plant(NamedTuple):
    """A model with one change: its kind, where it is, and the model."""

    kind: str
    where: str
    model: onnx.ModelProto


class Site(NamedTuple):
    """A copy of the model under change, its constants by name, and where the dice fall."""

    model: onnx.ModelProto
    rng: np.random.Generator

    def shuffled(self, these: list[Any]) -> list[Any]:
        return [these[place] for place in self.rng.permutation(len(these))]

    def nodes(self, keep: Callable[[onnx.NodeProto], object]) -> list[int]:
        """The places of nodes that are kept, in drawn order."""
        return self.shuffled([place for place, node in enumerate(self.model.graph.node) if keep(node)])

    def constants(self) -> dict[str, Array]:
        """The weights and the values of Constant nodes."""
        found = {each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}
        for node in self.model.graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    found[node.output[0]] = numpy_helper.to_array(attribute.t)
        return found

    def copy(self) -> onnx.ModelProto:
        copied = onnx.ModelProto()
        copied.CopyFrom(self.model)
        return copied

    def with_constant(self, name: str, array: Array) -> onnx.ModelProto:
        """A copy in which a constant has other values."""
        made = self.copy()
        for each in made.graph.initializer:
            if each.name == name:
                each.CopyFrom(numpy_helper.from_array(array, name))
        for node in made.graph.node:
            if node.op_type == "Constant" and node.output[0] == name:
                node.attribute[0].t.CopyFrom(numpy_helper.from_array(array, name))
        return made

    def with_input(self, place: int, number: int, array: Array) -> onnx.ModelProto:
        """A copy in which one node alone reads another constant."""
        made = self.copy()
        made.graph.initializer.append(numpy_helper.from_array(array, "planted_constant"))
        made.graph.node[place].input[number] = "planted_constant"
        return made

    def name(self, place: int) -> str:
        node = self.model.graph.node[place]
        return f"{node.op_type} {node.name or node.output[0]}"


Drawn = Iterator[tuple[str, onnx.ModelProto]]


def _floats(site: Site, rank: int) -> list[tuple[str, Array]]:
    """The constants of floats that have at least this rank, in drawn order."""
    found = [
        (name, array)
        for name, array in site.constants().items()
        if array.dtype.kind == "f" and array.size and array.ndim >= rank
    ]
    return site.shuffled(found)


def element(site: Site) -> Drawn:
    """One element of one weight, a little or a lot larger."""
    for name, array in _floats(site, 0):
        place = tuple(int(site.rng.integers(size)) for size in array.shape)
        largest = float(np.abs(np.nan_to_num(array, posinf=0, neginf=0)).max()) or 1.0
        for strength in STRENGTHS:
            other = array.copy()
            other[place] += array.dtype.type(strength * largest)
            yield f"{name}{list(place)} by {strength:g} of the largest", site.with_constant(name, other)


def row(site: Site) -> Drawn:
    """Two rows of a matrix that change places."""
    for name, array in _floats(site, 2):
        if len(array) > 1:
            one, two = site.rng.choice(len(array), 2, replace=False)
            other = array.copy()
            other[[one, two]] = array[[two, one]]
            yield f"rows {one} and {two} of {name}", site.with_constant(name, other)


def _attribute(node: onnx.NodeProto, name: str) -> AttributeProto | None:
    return next((each for each in node.attribute if each.name == name), None)


def perm(site: Site) -> Drawn:
    """Two entries of a Transpose's perm, or of a Reshape's target, that change places."""
    constants = site.constants()
    for place in site.nodes(lambda node: node.op_type in {"Transpose", "Reshape"}):
        node = site.model.graph.node[place]
        held = _attribute(node, "perm")
        target = constants.get(node.input[1]) if node.op_type == "Reshape" and len(node.input) > 1 else None
        entries = list(held.ints) if held else [] if target is None else [int(each) for each in target]
        if len(entries) < 2:
            continue
        for one, two in site.shuffled(list(combinations(range(len(entries)), 2))):
            other = list(entries)
            other[one], other[two] = entries[two], entries[one]
            if held:
                made = site.copy()
                changed = _attribute(made.graph.node[place], "perm")
                assert changed is not None
                changed.ints[:] = other
            else:
                made = site.with_input(place, 1, np.array(other, np.int64))
            yield f"{site.name(place)}: {entries} is {other}", made


def axis(site: Site) -> Drawn:
    """Another axis: of Softmax, Concat, Gather, a reduction ..., as an attribute or as an input."""
    constants = site.constants()

    def has(node: onnx.NodeProto) -> bool:
        reduces = node.op_type.startswith("Reduce") and len(node.input) > 1 and node.input[1] in constants
        return reduces or any(each.name in {"axis", "axes"} for each in node.attribute)

    for place in site.nodes(has):
        node = site.model.graph.node[place]
        for other in site.shuffled(list(AXES)):
            held = next((each for each in node.attribute if each.name in {"axis", "axes"}), None)
            if held is None:
                yield f"{site.name(place)}: axes [{other}]", site.with_input(place, 1, np.array([other], np.int64))
                continue
            made = site.copy()
            changed = _attribute(made.graph.node[place], held.name)
            assert changed is not None
            if held.name == "axis":
                changed.i = other
            else:
                changed.ints[0] = other
            yield f"{site.name(place)}: {held.name} {other}", made


def swap(site: Site) -> Drawn:
    """Two inputs that change places."""
    for place in site.nodes(lambda node: node.op_type in SWAPPED or node.op_type == "Concat"):
        node = site.model.graph.node[place]
        pairs = SWAPPED.get(node.op_type)
        if pairs is None and len(node.input) > 1:
            pairs = tuple(site.shuffled(list(combinations(range(len(node.input)), 2))))[:3]
        for one, two in pairs or ():
            if max(one, two) < len(node.input) and node.input[one] != node.input[two]:
                made = site.copy()
                inputs = made.graph.node[place].input
                inputs[one], inputs[two] = node.input[two], node.input[one]
                yield f"{site.name(place)}: inputs {one} and {two}", made


def epsilon(site: Site) -> Drawn:
    """Another epsilon of a normalisation."""
    for place in site.nodes(lambda node: _attribute(node, "epsilon")):
        for value in (1e-3, 1e-2, 0.1, 1.0):
            made = site.copy()
            held = _attribute(made.graph.node[place], "epsilon")
            assert held is not None
            before, held.f = held.f, value
            yield f"{site.name(place)}: epsilon {before:g} is {value:g}", made


def factor(site: Site) -> Drawn:
    """Another float of a node's attributes: alpha, beta, scale."""
    names = {"alpha", "beta", "scale", "lambd", "bias"}
    for place in site.nodes(lambda node: any(each.name in names and each.HasField("f") for each in node.attribute)):
        made = site.copy()
        held = next(each for each in made.graph.node[place].attribute if each.name in names and each.HasField("f"))
        before, held.f = held.f, held.f * 1.25 + 0.01
        yield f"{site.name(place)}: {held.name} {before:g} is {held.f:g}", made


def pads(site: Site) -> Drawn:
    """A window that begins one place earlier and ends one place earlier."""
    for place in site.nodes(lambda node: any(each.name == "pads" and any(each.ints) for each in node.attribute)):
        made = site.copy()
        held = _attribute(made.graph.node[place], "pads")
        assert held is not None
        half = len(held.ints) // 2
        number = next((each for each in range(half) if held.ints[half + each]), None)
        if number is not None:
            held.ints[number] += 1
            held.ints[half + number] -= 1
            yield f"{site.name(place)}: pads {list(held.ints)}", made


def index(site: Site) -> Drawn:
    """An integer constant of one node, such as what is gathered or where a slice begins, that is one more or less."""
    constants = site.constants()
    names = {name for name, array in constants.items() if array.dtype.kind == "i" and array.size}
    for place in site.nodes(lambda node: names & set(node.input[1:])):
        node = site.model.graph.node[place]
        number = next(each for each, name in enumerate(node.input) if each and name in names)
        array = constants[node.input[number]]
        other = array.copy()
        where = tuple(int(site.rng.integers(size)) for size in array.shape)
        other[where] += site.rng.choice((-1, 1))
        yield (
            f"{site.name(place)}: input {number}, {array[where]} is {other[where]}",
            site.with_input(place, number, other),
        )


KINDS: Final[dict[str, Callable[[Site], Drawn]]] = {
    "element": element,
    "row": row,
    "perm": perm,
    "axis": axis,
    "swap": swap,
    "epsilon": epsilon,
    "factor": factor,
    "pads": pads,
    "index": index,
}


def plants(model: onnx.ModelProto, first: int, seed: int) -> Iterator[Plant]:
    """Changed models, those of one kind first, then those of the next, as KINDS has them, from `first` on."""
    site = Site(model, np.random.default_rng(seed))
    names = list(KINDS)
    start = first % len(names)
    ways = ((kind, KINDS[kind]) for kind in names[start:] + names[:start])
    return chain.from_iterable(
        (Plant(kind, where, made) for where, made in islice(way(site), MOST)) for kind, way in ways
    )
