"""Both forms of a node, run side by side by onnxruntime: at several sizes, on several draws of values.

What was not compared is not checked.  Dims that are not known take sizes from 1 to 33, alike and apart; values are
drawn with ties, large, negative, as sizes and as indices.  Every output is compared in every run that the first form
takes, also at size 0, but a run counts only if all its outputs have elements: two runs must count, at two sizes where
a dim is not known, or the node is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper

from onereshape.formats.refusals import cause
from onereshape.ground.installed import RUNTIME_MISSING

IR_VERSION = 10
_ALIKE = (4, 3, 1, 8, 16)
"""Sizes of which each is given to all unknown dims at once."""
_APART = ((3, 4, 5, 2, 6, 7), (2, 5, 3, 7, 4, 6), (7, 2, 6, 3, 5, 4))
"""Rows of sizes that are given to the unknown dims in turn."""
_POOL = (1, 2, 3, 4, 5, 7, 8, 12, 16, 33)
"""Sizes that are drawn for unknown dims, with the sizes that are known, until enough runs have counted."""
_TRIES = 60
_ENOUGH = 4
"""Sizes at which runs have counted, after which no more are drawn."""
_NEEDED = 2
_LARGEST_RUN = 1 << 26
"""The most elements of a tensor with which a node is run."""
_LARGEST_WORK = 1 << 27
"""Elements of all runs together, after which the runs that counted will do."""
_SIZES = 8
"""A vector of so many integers may hold sizes, and is not drawn large."""
_RELATIVE = {"float16": 4e-3}
"""The relative tolerance of a type, where it is not 1e-4."""
_DRAWS = 6
_NOT_EMPTY = frozenset({"LSTM", "GRU"})
"""Operators on which onnxruntime ends the process at size 0."""

AnyData = Any
NamedDims = list[int | str]


class CannotConvertError(Exception):
    """Why a node stays in its opset."""


def compare(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Returns if both models of one node gave the same answers in every run, and enough runs counted."""
    wanted = _inputs(before)
    if any(prod(_known(info)) > _LARGEST_RUN for info in (*before.graph.input, *before.graph.output)):
        raise CannotConvertError("its tensors are too large to be checked by running it")
    one, two = _session(before), _session(after)
    taken = {value.name for value in two.get_inputs()}
    refused, counted = "", 0
    sizes: set[tuple[int, ...]] = set()
    symbols = dict.fromkeys(dim for _, dims, _ in wanted for dim in dims if isinstance(dim, str))
    work = 0
    for index, binding in enumerate(_each_once(_bindings(list(symbols), wanted))):
        shapes = {name: [binding[dim] if isinstance(dim, str) else dim for dim in dims] for name, dims, _ in wanted}
        done = counted >= _NEEDED and len(sizes) >= (_NEEDED if symbols else 0)
        if done and (work > _LARGEST_WORK or (len(sizes) >= _ENOUGH and index >= _fixed())):
            break
        if any(prod(shape) > _LARGEST_RUN for shape in shapes.values()):
            continue
        if before.graph.node[0].op_type in _NOT_EMPTY and not all(map(prod, shapes.values())):
            continue
        for draw in range(_DRAWS if wanted else 1):
            random = np.random.default_rng([index, draw])
            feeds = {name: _drawn(random, draw, shapes[name], dtype) for name, _, dtype in wanted}
            work += sum(feed.size for feed in feeds.values())
            try:
                first = one.run(None, feeds)
            except Exception as error:  # noqa: BLE001 - onnxruntime's own
                refused = refused or cause(error)
                continue
            _same(first, two, {name: feed for name, feed in feeds.items() if name in taken}, binding)
            if all(np.size(output) for output in first):
                counted += 1
                sizes.add(tuple(binding.values()))
    if counted < (_NEEDED if wanted else 1) or (symbols and len(sizes) < _NEEDED):
        raise CannotConvertError(_uncompared(counted, len(sizes), bool(symbols), refused))


def _uncompared(counted: int, sizes: int, symbolic: bool, refused: str) -> str:
    found = f"runs at {sizes} size" if symbolic else f"{counted} run"
    why = f"only {found} had elements in every output" if counted else "no run had elements in every output"
    said = f"; onnxruntime says: {refused}" if refused and not counted else ""
    return f"what onnx's converter makes of it could not be compared: {why}{said}"


def _same(first: list[AnyData], two: Any, feeds: Mapping[str, AnyData], binding: Mapping[str, int]) -> None:
    """Raises where the second form gives another answer than the first gave, or none."""
    at = ", ".join(f"{name} = {size}" for name, size in binding.items() if not name.startswith("?"))
    where = f" at {at}" if at else ""
    try:
        second = two.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - onnxruntime's own
        raise CannotConvertError(f"what onnx's converter makes of it does not run{where}: {cause(error)}") from None
    for left, right in zip(first, second, strict=True):
        if not equal(np.asarray(left), np.asarray(right)):
            raise CannotConvertError(f"what onnx's converter makes of it gives another output{where}")


def equal(one: AnyData, two: AnyData) -> bool:
    """Whether two outputs are the same: of one type and one shape, integers exactly, floats nearly."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool((one == two).all())
    relative = _RELATIVE.get(one.dtype.name, 1e-4)
    left, right = (each.astype(np.complex128 if each.dtype.kind == "c" else np.float64) for each in (one, two))
    finite = np.abs(left[np.isfinite(left)])
    scale = min(float(finite.max(initial=0)), 1.0)
    return bool(np.allclose(left, right, rtol=relative, atol=relative / 10 * scale, equal_nan=True))


def _inputs(model: onnx.ModelProto) -> list[tuple[str, NamedDims, Any]]:
    """Each input: its name, its dims with a symbol for every one that is not known, and its type."""
    found = []
    for info in model.graph.input:
        kind = info.type.tensor_type
        dims: NamedDims = []
        for axis, dim in enumerate(kind.shape.dim):
            known = dim.HasField("dim_value") and dim.dim_value >= 0
            dims.append(dim.dim_value if known else dim.dim_param or f"?{info.name}[{axis}]")
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind not in "fiub":
            raise CannotConvertError(f"data of type {dtype} cannot be made up to check it")
        found.append((info.name, dims, dtype))
    return found


def _known(info: onnx.ValueInfoProto) -> list[int]:
    return [dim.dim_value for dim in info.type.tensor_type.shape.dim if dim.dim_value > 0]


def _fixed() -> int:
    return len(_ALIKE) + len(_APART) + 1


def _bindings(symbols: list[str], wanted: list[tuple[str, NamedDims, Any]]) -> Iterator[dict[str, int]]:
    """Sizes for the dims that are not known: alike, apart, 0, and drawn."""
    if not symbols:
        yield {}
        return
    for size in _ALIKE:
        yield dict.fromkeys(symbols, size)
    for row in _APART:
        yield {symbol: row[index % len(row)] for index, symbol in enumerate(symbols)}
    yield dict.fromkeys(symbols, 0)
    random = np.random.default_rng(0)
    pool = [*_POOL, *(dim for _, dims, _ in wanted for dim in dims if isinstance(dim, int) and dim > 0)]
    for _ in range(_TRIES):
        yield {symbol: int(size) for symbol, size in zip(symbols, random.choice(pool, len(symbols)), strict=True)}


def _each_once(bindings: Iterable[dict[str, int]]) -> Iterator[dict[str, int]]:
    seen = set()
    for binding in bindings:
        if (key := tuple(binding.values())) not in seen:
            seen.add(key)
            yield binding


def _drawn(random: np.random.Generator, draw: int, dims: list[int], dtype: Any) -> AnyData:
    """Elements of an input, drawn in one of several ways."""
    if dtype.kind == "f":
        numbers = (
            lambda: random.standard_normal(dims),
            lambda: random.integers(-4, 5, dims) / 2,  # ties, and halves that can be rounded either way
            lambda: random.standard_normal(dims) * 100,
            lambda: random.choice([0.5, 1.0, 1.5, 2.0, 3.0], dims),  # what may serve as scales
            lambda: random.random(dims),
            lambda: np.ones(dims),
        )[draw]()
        return np.asarray(numbers).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, dims) == 1 if draw < 4 else np.full(dims, draw == 4))
    several = prod(dims) > _SIZES or len(dims) > 1
    large = min(int(np.iinfo(dtype).max), 1000)
    low, high = ((0, 2), (1, 4), (-3, 4), (-large, large + 1) if several else (1, 6), (1, 2), (0, 4))[draw]
    return np.asarray(random.integers(max(low, int(np.iinfo(dtype).min)), high, dims)).astype(dtype)


def _session(model: onnx.ModelProto) -> Any:
    try:
        runtime = import_module("onnxruntime")
    except ImportError:
        why = f"onnxruntime would check what onnx's converter makes, and {RUNTIME_MISSING}"
        raise CannotConvertError(why) from None
    runtime.set_default_logger_severity(4)  # some warnings go past the session's own
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = IR_VERSION
    for info in copy.graph.output:  # what is declared must not decide what comes out
        info.type.tensor_type.ClearField("shape")
    try:
        return runtime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's own
        opset = model.opset_import[0].version
        raise CannotConvertError(f"onnxruntime cannot run it in opset {opset} to check it: {cause(error)}") from None
