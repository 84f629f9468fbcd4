"""The rules of the operators that calculate targets, element by element.

Exporters compare, choose, fill, turn and cut small tensors, and round in floating point.  An element is an int, a bool,
a floating-point number of the tensor's own type (which calculates as the model does), an expression of sympy, or None
where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import add, eq, ge, gt, le, lt, mul, sub
from typing import Any

import numpy as np
import onnx_ir as ir
import sympy  # type: ignore[import-untyped]

from onereshape.models.inference.limits import LARGEST, MOST_ELEMENTS as MOST, TOO_LONG, TooLargeError, is_small

INTEGERS = frozenset("INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8".split())
_FLOATS = frozenset("FLOAT DOUBLE".split())
FOLLOWED = INTEGERS | _FLOATS | {"BOOL"}

Array = np.ndarray[Any, np.dtype[np.object_]]
Inputs = list[Array | None]


class Question:
    """One node, with what its inputs hold."""

    __slots__ = ("_node", "inputs", "lost", "opset", "sign")

    def __init__(self, node: ir.Node, inputs: Inputs, sign: Callable[[Any], Any], opset: int) -> None:
        self._node = node
        self.inputs = inputs
        self.sign = sign
        self.opset = opset
        self.lost = ""
        """Why an element is not known that could be, if it were smaller."""

    def bounded(self, element: Any) -> Any:
        """An element, None for a number that no type holds or a formula that is too long to go on with."""
        if element is None or isinstance(element, bool | np.bool_ | np.floating):
            return element
        if isinstance(element, int):
            fits = -LARGEST - 1 <= element <= 2 * LARGEST + 1
            self.lost = self.lost if fits else "it calculates a number that int64 does not hold"
        else:
            fits = is_small(element)
            self.lost = self.lost if fits else TOO_LONG
        return element if fits else None

    def __getitem__(self, index: int) -> Any:
        return self.inputs[index] if index < len(self.inputs) else None

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        found = self._node.attributes.get(name)
        return otherwise if found is None else found.value

    def integers(self, name: str, index: int) -> list[int] | None:
        """The integers of an attribute that became an input; None where neither is there."""
        given = self[index]
        if given is not None:
            return _whole(given)
        found = self.attribute(name)
        return None if found is None else [int(each) for each in found]

    @property
    def count(self) -> int:
        return len(self._node.outputs)


def array_of(elements: list[Any]) -> Array:
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array


def elements_of(tensor: Any) -> Array:
    """A constant; floating-point numbers keep their precision."""
    array = tensor.numpy()
    return array_of(list(array.reshape(-1)) if array.dtype.kind == "f" else array.reshape(-1).tolist()).reshape(
        array.shape
    )


def is_number(element: Any) -> bool:
    return isinstance(element, int | np.floating)


def _whole(array: Array) -> list[int]:
    """Elements that must be integers; what is raised otherwise leaves the outputs unknown."""
    elements = array.reshape(-1).tolist()
    if not all(isinstance(each, int) for each in elements):
        raise _UnknownError
    return [int(each) for each in elements]


class _UnknownError(ValueError):
    """What a node holds cannot be told."""


def _few(*counts: int) -> None:
    """Raises where there would be more elements than are followed, before one of them is made."""
    if prod(counts) > MOST:
        raise TooLargeError(f"it would hold more than the {MOST} elements that are followed")


def _elementwise(function: Callable[..., Any]) -> Callable[[Question], list[Array | None]]:
    def rule(asked: Question) -> list[Array | None]:
        def one(*elements: Any) -> Any:
            return None if None in elements else asked.bounded(function(asked, *elements))

        if len(asked.inputs) > 2:  # Max and Min take any number, of which the rule takes two
            raise _UnknownError
        _few(*np.broadcast_shapes(*(array.shape for array in asked.inputs if array is not None)))
        with np.errstate(all="ignore"):  # as in the model: the root of a negative number is NaN
            found = np.frompyfunc(one, len(asked.inputs), 1)(*asked.inputs)
        return [np.asarray(found, dtype=object)]

    return rule


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Question], list[Array | None]]:
    def one(_: Question, a: Any, b: Any) -> Any:
        if _mixed(a, b):
            return None
        found = function(a, b)
        return int(found) if isinstance(found, sympy.Integer) else found

    return _elementwise(one)


def _mixed(a: Any, b: Any) -> bool:
    """Whether a floating-point number meets what is none: an expression would lose its roundings."""
    return isinstance(a, np.floating) != isinstance(b, np.floating)


def _divided(asked: Question, a: Any, b: Any) -> Any:
    """The quotient, of integers cut towards 0."""
    if isinstance(a, np.floating) or isinstance(b, np.floating):
        return None if _mixed(a, b) or b == 0 else a / b
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    a, b = sympy.sympify(a), sympy.sympify(b)
    if not (asked.sign(a).is_nonnegative and (asked.sign(b).is_nonnegative or b.is_positive)) or b == 0:
        return None
    found = sympy.floor(a / b)
    return int(found) if found.is_Integer else found


def _remainder(asked: Question, a: Any, b: Any) -> Any:
    plain = isinstance(a, int) and isinstance(b, int) and a >= 0 and b > 0 and not asked.attribute("fmod", 0)
    return a % b if plain else None


def _power(_: Question, a: Any, b: Any) -> Any:
    """The powers that every engine rounds alike."""
    if isinstance(a, int) and isinstance(b, int):
        return a**b if 0 <= b < 64 else None
    if isinstance(a, np.floating) and b == 0.5:
        return np.sqrt(a)
    return a * a if b == 2 else None


def _compared(function: Callable[[Any, Any], bool]) -> Callable[[Question], list[Array | None]]:
    def one(asked: Question, a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b):
            return bool(function(a, b))
        difference = asked.sign(sympy.sympify(a) - sympy.sympify(b))
        if difference.is_zero:
            return function(0, 0)
        if difference.is_positive:
            return function(1, 0)
        if difference.is_negative:
            return function(0, 1)
        return None

    return _elementwise(one)


def _larger(asked: Question, a: Any, b: Any, sign: int = 1) -> Any:
    if is_number(a) and is_number(b):
        return max(a, b) if sign > 0 else min(a, b)
    difference = asked.sign(sympy.sympify(a) - sympy.sympify(b)) * sign
    if difference.is_nonnegative:
        return a
    return b if difference.is_nonpositive else None


def _where(asked: Question) -> list[Array | None]:
    def one(condition: Any, a: Any, b: Any) -> Any:
        return None if condition is None else (a if condition else b)

    same = np.frompyfunc(lambda a, b: a if a is not None and a == b else None, 2, 1)
    condition, first, second = asked[0], asked[1], asked[2]
    _few(*np.broadcast_shapes(condition.shape, first.shape, second.shape))
    chosen = np.frompyfunc(one, 3, 1)(condition, first, second)
    either = np.broadcast_to(np.asarray(same(first, second), dtype=object), np.shape(chosen))
    both = np.frompyfunc(lambda a, b: b if a is None else a, 2, 1)(chosen, either)
    return [np.asarray(both, dtype=object)]


def _cast(asked: Question) -> list[Array | None]:
    """Numbers and truth values into one another, where they fit; only numbers into floating-point ones."""
    kind = ir.DataType(asked.attribute("to"))
    if kind == ir.DataType.BOOL:
        return _elementwise(lambda _, a: bool(a) if is_number(a) else None)(asked)
    if kind.name in _FLOATS:
        return _elementwise(lambda _, a: kind.numpy().type(a) if is_number(a) else None)(asked)
    low, high = (int(np.iinfo(kind.numpy()).min), int(np.iinfo(kind.numpy()).max))

    def one(_: Question, a: Any) -> Any:
        return (int(a) if low <= a <= high else None) if is_number(a) else a

    return _elementwise(one)(asked)


def _rounded(function: Callable[[Any], Any]) -> Callable[[Question], list[Array | None]]:
    return _elementwise(lambda _, a: function(a) if isinstance(a, np.floating) else None)


def _slice(asked: Question) -> list[Array | None]:
    data = asked[0]
    starts, ends = asked.integers("starts", 1), asked.integers("ends", 2)
    axes, steps = asked.integers("axes", 3), asked.integers("steps", 4)
    if starts is None or ends is None:
        raise _UnknownError
    axes = list(range(len(starts))) if axes is None else axes
    cuts: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        size = data.shape[axis]
        begin = min(max(start + size if start < 0 else start, 0), size if step > 0 else size - 1)
        stop = end + size if end < 0 else end
        stop = min(max(stop, 0), size) if step > 0 else min(max(stop, -1), size - 1)
        cuts[axis] = slice(begin, None if stop < 0 else stop, step)
    return [data[tuple(cuts)]]


def _gather(asked: Question) -> list[Array | None]:
    data, places = asked[0], np.asarray(_whole(asked[1]), dtype=np.int64).reshape(asked[1].shape)
    axis = asked.attribute("axis", 0)
    _few(places.size, *data.shape[:axis], *data.shape[axis:][1:])
    return [np.asarray(np.take(data, places, axis=axis), dtype=object)]


def _concat(asked: Question) -> list[Array | None]:
    parts = [array for array in asked.inputs if array is not None]
    _few(sum(array.size for array in parts))
    return [np.concatenate(parts, axis=asked.attribute("axis", 1))]


def _unsqueeze(asked: Question) -> list[Array | None]:
    return [np.expand_dims(asked[0], tuple(asked.integers("axes", 1) or ()))]


def _squeeze(asked: Question) -> list[Array | None]:
    axes = asked.integers("axes", 1)
    return [np.squeeze(asked[0], None if axes is None else tuple(axes))]


def _reshape(asked: Question) -> list[Array | None]:
    target = asked.integers("shape", 1) or []
    if 0 in target:
        if asked.attribute("allowzero", 0):
            raise _UnknownError
        target = [asked[0].shape[axis] if size == 0 else size for axis, size in enumerate(target)]
    return [asked[0].reshape(target)]


def _expand(asked: Question) -> list[Array | None]:
    dims = np.broadcast_shapes(asked[0].shape, tuple(_whole(asked[1])))
    _few(*dims)
    return [np.broadcast_to(asked[0], dims)]


def _tile(asked: Question) -> list[Array | None]:
    repeats = _whole(asked[1])
    _few(*repeats, asked[0].size)
    return [np.tile(asked[0], repeats)]


def _range(asked: Question) -> list[Array | None]:
    limits = range(*(_whole(asked[index])[0] for index in range(3)))
    _few(len(limits))
    return [array_of(list(limits))]


def _filled(asked: Question) -> list[Array | None]:
    """ConstantOfShape, where the output is of integers."""
    dims, tensor = _whole(asked[0]), asked.attribute("value")
    if tensor is None:
        raise _UnknownError
    _few(*dims)
    array = np.empty(dims, dtype=object)
    array.fill(elements_of(tensor).reshape(-1)[0])
    return [array]


def _split(asked: Question) -> list[Array | None]:
    axis = asked.attribute("axis", 0)
    size = asked[0].shape[axis]
    lengths = asked.integers("split", 1) or []
    if not lengths:
        each = -(-size // asked.count)
        lengths = [min(each, size - each * index) for index in range(asked.count)]
    cuts = np.cumsum(lengths)[:-1].tolist()
    return list(np.split(asked[0], cuts, axis=axis))


def _reduced(function: Callable[[Any, Any], Any], start: int) -> Callable[[Question], list[Array | None]]:
    def rule(asked: Question) -> list[Array | None]:
        data, axes = asked[0], asked.integers("axes", 1)
        if data.ndim != 1 or axes not in (None, [0], [-1]) or asked.attribute("noop_with_empty_axes", 0):
            raise _UnknownError
        total = start
        for each in data.tolist():
            if each is None:
                raise _UnknownError
            total = asked.bounded(function(total, each))
            if total is None:
                raise TooLargeError(asked.lost)
        keep = asked.attribute("keepdims", 1)
        found = array_of([int(total) if isinstance(total, sympy.Integer) else total])
        return [found if keep else found.reshape(())]

    return rule


RULES: dict[str, Callable[[Question], list[Array | None]]] = {
    "Add": _arithmetic(add),
    "Sub": _arithmetic(sub),
    "Mul": _arithmetic(mul),
    "Div": _elementwise(_divided),
    "Mod": _elementwise(_remainder),
    "Pow": _elementwise(_power),
    "Max": _elementwise(_larger),
    "Min": _elementwise(lambda asked, a, b: _larger(asked, a, b, -1)),
    "Sqrt": _rounded(np.sqrt),
    "Ceil": _rounded(np.ceil),
    "Floor": _rounded(np.floor),
    "Neg": _elementwise(lambda _, a: -a),
    "Equal": _compared(eq),
    "Less": _compared(lt),
    "LessOrEqual": _compared(le),
    "Greater": _compared(gt),
    "GreaterOrEqual": _compared(ge),
    "Not": _elementwise(lambda _, a: not a),
    "And": _elementwise(lambda _, a, b: a and b),
    "Or": _elementwise(lambda _, a, b: a or b),
    "Where": _where,
    "Cast": _cast,
    "Identity": lambda asked: [asked[0]],
    "Slice": _slice,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Flatten": lambda asked: [asked[0].reshape(prod(asked[0].shape[: asked.attribute("axis", 1)]), -1)],
    "Transpose": lambda asked: [np.transpose(asked[0], asked.attribute("perm"))],
    "Expand": _expand,
    "Tile": _tile,
    "Range": _range,
    "ConstantOfShape": _filled,
    "Split": _split,
    "ReduceProd": _reduced(mul, 1),
    "ReduceSum": _reduced(add, 0),
}
