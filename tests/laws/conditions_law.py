"""What `check` says of sizes, held against onnxruntime at many of them.

Where it says nothing of a Reshape of which all is known, every size from 1 on runs and gives the dims that were
inferred.  The sizes that a finding tells are what it says: there it fails, or runs and turns these dims into those.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.checks.check import check
from onereshape.checks.findings.finding import Finding
from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_reshapes import reshapes
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula, Size
from tests.laws.conditions_world import Case
from tests.running import session

SIZES = (1, 2, 3, 4, 6)
LIMITING = {"baked-dim", "absorbed-dim", "size-condition", "impossible-volume", "spec-error"}
_FAILED = re.compile(r"running (\w+) node\. Name:'([^']*)'")
_TOLD = re.compile(r": not at ([^;]+)")
_MIXED = re.compile(r"; at (.+) it runs and turns (\[.*?\]) into (\[.*?\])")


def found_in(case: Case) -> list[Finding]:
    held = ir.from_proto(case.proto)
    return check(Model("onnx", "m.onnx", reshapes(held, "m.onnx"), held, None))


def breaches(case: Case) -> Iterator[str]:
    """What is wrong with what `check` says of a model."""
    held, found = ir.from_proto(case.proto), found_in(case)
    facts = facts_of(held)
    run = Runs(case)
    said = {each.node: each for each in found if each.code in LIMITING}
    for each in found:
        if each.code == "size-condition":
            yield from _untrue(each, case, run, said)
    free = case.names[:3]
    for choice in product(SIZES, repeat=len(free)):
        sizes = {**dict.fromkeys(case.names, 2), **dict(zip(free, choice, strict=True))}
        if not _is_full(held, facts, sizes):
            continue
        node, outputs = run.at(sizes)
        if node is None:
            yield from () if said else _others(held, facts, sizes, outputs)
        elif (
            node in run.reshapes and not _is_explained(run.reshapes, node, said) and _is_known(held, facts, node, case)
        ):
            yield f"nothing is said of {node}, which fails at {sizes}"


def _is_explained(nodes: list[str], node: str, said: Container[str]) -> bool:
    """Whether something is said of a node or of one before it: what follows from a condition is not repeated."""
    return any(each in said for each in nodes[: nodes.index(node) + 1])


class Runs:
    """A model in onnxruntime, at any sizes."""

    def __init__(self, case: Case) -> None:
        self._case, self._session = case, session(case.proto)
        self.reshapes = [node.name for node in case.proto.graph.node if node.op_type == "Reshape"]

    def at(self, sizes: Mapping[str, int]) -> tuple[str | None, list[tuple[int, ...]]]:
        """The node that fails, or the dims of the outputs."""
        given: dict[str, Any] = {}
        for value in self._case.proto.graph.input:
            dims = [
                sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim
            ]
            given[value.name] = np.zeros(dims, np.float32)
        kept = {each.name for each in self._session.get_inputs()}
        try:
            answers = self._session.run(None, {name: array for name, array in given.items() if name in kept})
        except Exception as error:
            failed = _FAILED.search(str(error))
            if failed is None:
                raise
            return failed[2], []
        return None, [answer.shape for answer in answers]


def _untrue(found: Finding, case: Case, run: Runs, said: Container[str]) -> Iterator[str]:
    """What a finding tells and onnxruntime does not see."""
    told = _TOLD.search(found.message)
    assert told, found.message
    node, _ = run.at(_sizes(told[1], case))
    if node is None or not node.startswith("Reshape"):
        yield f"{found.message}: but nothing fails at {told[1]}"
    mixed = _MIXED.search(found.message)
    if (mixed is not None) != ("mixes" in found.message):
        yield f"{found.message}: is not understood"
    if mixed is not None:
        node, outputs = run.at(_sizes(mixed[1], case))
        places = [value.name for value in case.proto.graph.output]
        made = next(each.output[0] for each in case.proto.graph.node if each.name == found.node)
        if node is not None and node in said:
            return  # which asks for other sizes of what this one does not name
        if node is not None or outputs[places.index(made)] != tuple(ast.literal_eval(mixed[3])):
            yield f"{found.message}: but at {mixed[1]} {node} fails, or gives {outputs}"
        elif not _is_torn(tuple(ast.literal_eval(mixed[2])), tuple(ast.literal_eval(mixed[3]))):
            yield f"{found.message}: but nothing is mixed"


def _is_torn(dims: tuple[int, ...], output: tuple[int, ...]) -> bool:
    """Whether some block of data and some block of the output overlap in part, or a row has parts of several rows."""
    numbers = np.arange(int(np.prod(dims)))
    rows = [set(row) for row in numbers.reshape(dims[0], -1).tolist()]
    taken = [set(row) for row in numbers.reshape(output[0], -1).tolist()]
    if any(sum(bool(row & other) for row in rows) > 1 for other in taken):
        return True
    cuts = [
        set(np.arange(0, numbers.size, int(np.prod(each[axis:]))))
        for each in (dims, output)
        for axis in range(len(each))
    ]
    return any(not (one <= other or other <= one) for one in cuts for other in cuts)


def _sizes(text: str, case: Case) -> dict[str, int]:
    """The sizes of a message; what it does not name is anything."""
    pairs = (part.split(" = ") for part in text.split(", "))
    return dict.fromkeys(case.names, 2) | {name: int(size) for name, size in pairs}


def _others(held: ir.Model, facts: Facts, sizes: Mapping[str, int], outputs: list[tuple[int, ...]]) -> Iterator[str]:
    """Dims that were inferred and are others."""
    for value, dims in zip(held.graph.outputs, outputs, strict=True):
        for axis, size in enumerate(facts.sizes.get(value, ())):
            number = _number(size, sizes)
            if number is not None and number != dims[axis]:
                yield f"{value.name}[{axis}] is {dims[axis]}, not {size}, at {sizes}"


def _is_full(held: ir.Model, facts: Facts, sizes: Mapping[str, int]) -> bool:
    """Whether no value is empty, and no entry of a target is computed to be less than 1, as far as is known."""
    known = [size for dims in facts.sizes.values() for size in dims]
    for node in held.graph:
        words = facts.held(node.inputs[1]) if node.op_type == "Reshape" else None  # type: ignore[arg-type]
        known += [] if words is None else [word for word in words.reshape(-1).tolist() if isinstance(word, Formula)]
    numbers = [_number(size, sizes) for size in known]
    return all(number is None or number >= 1 for number in numbers)


def _is_known(held: ir.Model, facts: Facts, name: str, case: Case) -> bool:
    """Whether all of a Reshape is known: its data, its target, by the names of inputs alone."""
    node = next(each for each in held.graph if each.name == name)
    words = facts.held(node.inputs[1])  # type: ignore[arg-type]
    dims = facts.dims_of(node.inputs[0])  # type: ignore[arg-type]
    if words is None or dims is None:
        return False
    sizes = [*dims, *words.reshape(-1).tolist()]
    return all(isinstance(size, int) or (size is not None and size.symbols <= set(case.names)) for size in sizes)


def _number(size: Size | None, sizes: Mapping[str, int]) -> int | None:
    if size is None or isinstance(size, int):
        return size
    if not size.symbols <= sizes.keys():
        return None
    try:
        found = size.at(sizes)
    except ZeroDivisionError:
        return None
    return found if isinstance(found, int) else None
