"""The law of shapes, asked of one operator: what is said of its outputs is so in every run that onnxruntime allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from math import ceil, floor, prod
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import facts_of
from onereshape.rule.condition import Condition
from tests.learned import DOMAIN, version
from tests.running import session

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int]

_TYPES = {
    "f": "float32",
    "h": "float16",
    "d": "float64",
    "l": "int64",
    "i": "int32",
    "?": "bool",
    "B": "uint8",
    "b": "int8",
    "s": "object",
}
_MOST_RUNS = 160
"""Of one form of a case."""
_KNOWN = 4
"""Bindings at which a case is asked again with numbers for all its names."""


class In(NamedTuple):
    """An input: elements of a type, with dims that are numbers or names; or values that matter."""

    kind: str
    dims: tuple[int | str | None, ...]
    values: tuple[Array, ...] = ()
    """What the input can be, where its values matter; of a constant there is one."""
    constant: bool = False
    high: int = 0
    """Of integers that are indices: below what they stay (and from what below 0 on)."""
    shaped: bool = False
    """Whether the input is the Shape of data with these dims."""
    scalar: bool = False
    """Of a Shape only the first size, as a scalar."""
    blurred: bool = False
    """Whether the data go through a Tile by an input, so that nothing is known of their dims but how many there are."""
    captured: bool = False
    """Whether only the graphs inside the node read it."""


def x(*dims: int | str, kind: str = "f", high: int = 0) -> In:
    """Data: any values."""
    return In(kind, dims, high=high)


def const(values: Any, kind: str = "l") -> In:
    """A constant of the model, which is asked as an input with this one value too."""
    array = np.array(values, _TYPES[kind])
    return In(kind, array.shape, (array,), constant=True)


def run(*values: Any, kind: str = "l", dims: Sequence[int | str | None] | None = None) -> In:
    """An input of a case that has one of these values in each run."""
    arrays = tuple(np.array(each, _TYPES[kind]) for each in values)
    return In(kind, arrays[0].shape if dims is None else tuple(dims), arrays)


def shape_of(*dims: int | str) -> In:
    """A vector of sizes: the Shape of data with these dims."""
    return In("f", dims, shaped=True)


def size(dim: int | str) -> In:
    """A size, as a scalar."""
    return In("f", (dim,), shaped=True, scalar=True)


class Case(NamedTuple):
    """One operator with attributes and inputs, and the sizes that its names can have."""

    op: str
    opset: int
    inputs: tuple[In | None, ...]
    attributes: Mapping[str, Any] = {}
    outputs: int = 1
    sizes: Mapping[str, Sequence[int]] = {}
    domain: str = ""
    reference: bool = False
    """Whether onnxruntime lacks the operator, so that onnx's reference implementation is asked."""
    chain: str = ""
    """Nodes that make the outputs of the inputs, with the operator among them, where a single one cannot: sequences."""

    @property
    def text(self) -> str:
        shown = ", ".join("-" if each is None else _shown(each) for each in self.inputs)
        attributes = {name: value for name, value in self.attributes.items() if not isinstance(value, onnx.GraphProto)}
        return f"{self.op}-{self.opset}({shown}) {attributes or ''}"


def _shown(given: In) -> str:
    values = " = " + " or ".join(str(each.tolist()) for each in given.values) if given.values else ""
    return f"{given.kind}{list(given.dims)}{values}{'' if given.constant or not given.values else ' at run time'}"


class Untrue(NamedTuple):
    """A claim that a run contradicts."""

    case: str
    what: str


def _other_forms(case: Case) -> Iterator[tuple[Case, Sizes | None]]:
    """The case with each of its constants given at run time, without names for its dims, and with data whose dims are
    not known at all.
    """
    for index, given in enumerate(case.inputs):
        if given is not None and given.constant:
            yield case._replace(inputs=_with(case.inputs, index, given._replace(constant=False))), None
    if _names(case):
        yield _renamed(case, dict.fromkeys(_names(case))), None
    for index, given in enumerate(case.inputs):
        if given is not None and given.dims and not (given.values or given.shaped or given.captured):
            yield case._replace(inputs=_with(case.inputs, index, given._replace(blurred=True))), None


def _known(case: Case, sizes: Sizes) -> tuple[Case, Sizes]:
    """The case with numbers for all its names."""
    return _renamed(case, sizes), sizes


def _renamed(case: Case, dims: Mapping[str, int | None]) -> Case:
    inputs = tuple(
        each and each._replace(dims=tuple(dims[dim] if isinstance(dim, str) else dim for dim in each.dims))
        for each in case.inputs
    )
    return case._replace(inputs=inputs)


def _with(inputs: tuple[In | None, ...], index: int, given: In) -> tuple[In | None, ...]:
    return (*inputs[:index], given, *inputs[index + 1 :])


def _names(case: Case) -> list[str]:
    found = [dim for each in case.inputs if each is not None for dim in each.dims if isinstance(dim, str)]
    return list(dict.fromkeys(found))


def judge(case: Case, only: int | None = None) -> tuple[list[Untrue], int]:
    """The claims that are not so, and how many runs there were: over all forms of the case, or as it is and in one other
    of its forms.
    """
    found, untrue = _judge(case, case)
    others = [*_other_forms(case), *(_known(case, sizes) for sizes in found[:: max(1, len(found) // _KNOWN)][:_KNOWN])]
    if only is not None and others:
        others = [others[only % len(others)]]
    count = len(found)
    for form, sizes in others:
        ran, wrong = _judge(case, form, sizes)
        count += len(ran)
        untrue += wrong
    return untrue, count


def runs(case: Case) -> bool:
    """Whether the case as it is runs at some size."""
    try:
        engine = _Engine(model_of(case), reference=case.reference)
    except Exception:  # noqa: BLE001 - as below
        return False
    for _, feeds in islice(_runs(case, case, None), _MOST_RUNS):
        with suppress(Exception):
            engine(feeds)
            return True
    return False


def _judge(case: Case, form: Case, only: Sizes | None = None) -> tuple[list[Sizes], list[Untrue]]:
    proto = model_of(form)
    shapes = _found(proto)
    try:
        engine = _Engine(proto, reference=case.reference)
    except Exception:  # noqa: BLE001 - a form that the engine does not take
        return [], []
    ran: list[Sizes] = []
    untrue: list[Untrue] = []
    for sizes, feeds in islice(_runs(case, form, only), _MOST_RUNS):
        try:
            answers = engine(feeds)
        except Exception:  # noqa: BLE001, S112 - sizes that the operator does not take
            continue
        ran.append(sizes)
        if not shapes.holds_at(sizes):
            continue
        wrong = contradictions(
            shapes, dict(zip([each.name for each in proto.graph.output], answers, strict=True)), sizes
        )
        untrue += [Untrue(form.text, f"{what} at {dict(sizes)}") for what in wrong]
    return ran, untrue[:3]


class _Engine:
    def __init__(self, proto: onnx.ModelProto, *, reference: bool) -> None:
        if reference:
            self._run: Any = ReferenceEvaluator(proto).run
        else:
            self._run = session(proto).run

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        return [np.asarray(each) for each in self._run(None, dict(feeds))]


class Found(NamedTuple):
    """What inference says, by the names of values."""

    dims: dict[str, Any]
    values: dict[str, Any]
    types: dict[str, Any]
    generated: frozenset[str]
    conditions: tuple[Condition, ...] = ()
    """What must hold for it to be so, but for Reshapes: their claims are made to hold without."""

    def holds_at(self, sizes: Sizes) -> bool:
        """Whether the conditions hold."""
        return all(_holds(each, self.generated, sizes) for each in self.conditions)


def _holds(condition: Condition, generated: frozenset[str], sizes: Sizes) -> bool:
    one, other = (value_of(str(side), generated, sizes) for side in condition.sides)
    if one is None or other is None:
        return False
    return bool({"least": one >= other, "most": one <= other}[condition.kind])


def _found(proto: onnx.ModelProto) -> Found:
    return by_name(facts_of(ir.from_proto(proto)))


def by_name(facts: Facts) -> Found:
    """The answers by the names of values."""
    dims, values, types = (
        {str(value.name): said for value, said in table.items()}
        for table in (dict(facts.dims), dict(facts.values), dict(facts.kinds))
    )
    told = tuple(each for node, said in facts.conditions.items() if node.op_type != "Reshape" for each in said)
    return Found(dims, values, types, facts.unnamed, told)


def _runs(case: Case, form: Case, only: Sizes | None) -> Iterator[tuple[Sizes, dict[str, Array]]]:
    """Feeds for all sizes of the names and all values that matter."""
    names = _names(case)
    choices = [case.sizes.get(name, (1, 2, 0, 3)) for name in names]
    given = [
        (f"x{index}", named, each)
        for index, (named, each) in enumerate(zip(case.inputs, form.inputs, strict=True))
        if named and each
    ]
    alternatives = [each.values or (None,) for _, _, each in given if not each.constant]
    for numbers in product(*choices) if only is None else [tuple(only[name] for name in names)]:
        sizes = dict(zip(names, numbers, strict=True))
        for chosen in product(*alternatives):
            left = iter(chosen)
            feeds = {}
            for name, named, each in given:
                if not each.constant:
                    value = next(left)
                    dims = [sizes[dim] if isinstance(dim, str) else dim for dim in named.dims]
                    feeds[name + "s" * (each.shaped or each.blurred)] = drawn(each, dims) if value is None else value
                    if each.blurred:
                        feeds[f"{name}r"] = np.ones(len(dims), np.int64)
            yield sizes, feeds


def drawn(given: In, dims: Sequence[Any]) -> Array:
    """Values of a type; the same ones for the same dims."""
    return _drawn(given.kind, given.high, tuple(dims))


@lru_cache(4096)
def _drawn(kind: str, high: int, dims: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(len(dims))
    values: Any
    if kind == "s":
        return np.array([f"w{number}" for number in rng.integers(0, 3, prod(dims))], object).reshape(dims)
    if high:
        values = rng.integers(-high, high, dims)
    elif kind in "fhd":
        values = rng.standard_normal(dims)
    else:
        values = rng.integers(0, 2 if kind == "?" else 5, dims)
    return np.asarray(values, _TYPES[kind])


def model_of(case: Case) -> onnx.ModelProto:
    """The operator as a model."""
    names, inputs, constants, nodes = [], [], [], []
    for index, given in enumerate(case.inputs):
        name = "" if given is None else f"x{index}"
        if given is None or not given.captured:
            names.append(name)
        if given is None:
            continue
        if given.constant:
            constants.append(numpy_helper.from_array(given.values[0], name))
        else:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(_TYPES[given.kind]))
            if given.shaped:
                nodes.append(helper.make_node("Shape", [f"{name}s"], [f"{name}v" if given.scalar else name]))
                if given.scalar:
                    constants.append(numpy_helper.from_array(np.array(0), f"{name}p"))
                    nodes.append(helper.make_node("Gather", [f"{name}v", f"{name}p"], [name]))
                name = f"{name}s"
            if given.blurred:
                nodes.append(helper.make_node("Tile", [f"{name}s", f"{name}r"], [name]))
                inputs.append(helper.make_tensor_value_info(f"{name}r", TensorProto.INT64, [len(given.dims)]))
                name = f"{name}s"
            inputs.append(helper.make_tensor_value_info(name, kind, list(given.dims)))
    outputs = [f"y{index}" for index in range(case.outputs)]
    if case.chain:
        constants.append(numpy_helper.from_array(np.array(0), "zero"))
        nodes += onnx.parser.parse_graph(f"g () => () {{ {case.chain} }}").node
    else:
        nodes.append(helper.make_node(case.op, names, outputs, domain=case.domain, **case.attributes))
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=each) for each in outputs], constants)
    imports = [helper.make_opsetid("", case.opset)]
    if case.domain:
        imports.append(helper.make_opsetid(case.domain, version(case.op) if case.domain == DOMAIN else 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def contradictions(found: Found, answers: Mapping[str, Array], sizes: Sizes) -> list[str]:
    """What was said and is not so; names of the engine's making are free, but mean one thing."""
    said: list[str] = []
    free: dict[str, int] = {}
    for name, array in answers.items():
        if (kind := found.types.get(name)) is not None and array.dtype != kind.numpy():
            said.append(f"{name} is {array.dtype}, not {kind}")
        dims = found.dims.get(name)
        fits = dims is None or (
            len(dims) == array.ndim
            and all(_is(found, dim, is_, sizes, free) for dim, is_ in zip(dims, array.shape, strict=True))
        )
        if not fits:
            said.append(f"{name} has dims {list(array.shape)}, not {list(dims or ())}")
        if (values := found.values.get(name)) is not None:
            flat = array.reshape(-1).tolist()
            if len(flat) != len(values) or not all(
                _is(found, value, is_, sizes, free) for value, is_ in zip(values, flat, strict=True)
            ):
                said.append(f"{name} holds {flat}, not {list(values)}")
    return said


def _is(found: Found, claim: Any, is_: int, sizes: Sizes, free: dict[str, int]) -> bool:
    if claim is None or isinstance(claim, int):
        return claim is None or claim == is_
    if claim in found.generated and claim not in sizes:
        return free.setdefault(claim, is_) == is_
    meant = value_of(claim, found.generated, {**sizes, **free})
    return meant is None or meant == is_


_WORDS = {
    "floor": lambda number: Fraction(floor(number)),
    "ceiling": lambda number: Fraction(ceil(number)),
    "Max": max,
    "Min": min,
    "Mod": lambda top, bottom: top % bottom,
    "Fraction": Fraction,
    "__builtins__": {},
}


def value_of(claim: str, generated: frozenset[str], sizes: Sizes) -> Any:
    """What a formula of sizes is; None where it has names that are free."""
    formula, aliases = _formula(claim, generated.union(sizes))
    if not aliases.keys() <= sizes.keys():
        return None
    return eval(formula, dict(_WORDS), {alias: Fraction(sizes[name]) for name, alias in aliases.items()})  # noqa: S307 - of our own making


@lru_cache(4096)
def _formula(claim: str, names: frozenset[str]) -> tuple[CodeType, dict[str, str]]:
    """A formula as code, and what the names in it are called there."""
    text, aliases = claim, dict[str, str]()
    for name in sorted(names, key=len, reverse=True):
        whole = rf"(?<![\w.]){re.escape(name)}(?![\w.])"
        if re.search(whole, text):
            aliases[name] = "size_" + "".join(chr(ord("a") + int(digit)) for digit in str(len(aliases)))
            text = re.sub(whole, aliases[name], text)
    return compile(re.sub(r"\b\d+\b", r"Fraction(\g<0>)", text), claim, "eval"), aliases
