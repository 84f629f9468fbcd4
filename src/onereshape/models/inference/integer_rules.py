"""The rules of operators on integer tensors whose elements may be products of sizes, or unknown.

Each rule takes the arrays of its inputs and gives the array of one output.  Numbers are calculated as ONNX does it: a
quotient is cut towards 0, and what int64 cannot hold is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.dims import Product, Size, divide, multiply
from onereshape.errors import INT64_MAX
from onereshape.models.inference.integer_types import integer_type
from onereshape.semantics import resolve

MOST = 4096
"""Elements of the largest tensor that is calculated with."""

_MOST_FACTORS = 64
"""Names in a product of sizes: what is multiplied by itself again and again doubles with each step."""
_INT32_MAX = 2**31 - 1
_CALCULATED = frozenset({ir.DataType.INT64, ir.DataType.INT32})
"""The types of sizes; numbers of smaller types would wrap, and unsigned ones cannot be negated."""

Array = np.ndarray[Any, np.dtype[Any]]
Element = int | Product | None


class Call(NamedTuple):
    """One use of an operator: its node, the arrays of its inputs, and which output is asked for."""

    node: ir.Node
    inputs: Sequence[Array | None]
    output: int

    def given(self, index: int) -> Array:
        """An input that must be there."""
        array = self.inputs[index]
        if array is None:
            raise ValueError(index)
        return array

    def attribute(self, name: str, otherwise: Any) -> Any:
        """The value of an attribute; one that only the caller of a function knows raises."""
        found = self.node.attributes.get(name)
        if found is None:
            return otherwise
        if found.is_ref():
            raise ValueError(name)
        return found.value

    def integers(self, name: str, index: int) -> list[int] | None:
        """A list of numbers that is an attribute in old versions and an input in new ones; None if it is not there."""
        if name in self.node.attributes:
            return list(self.attribute(name, None))
        if index >= len(self.inputs) or self.inputs[index] is None:
            return None
        return _numbers(self.given(index))


Rule = Callable[[Call], Array | None]


def array_of(elements: Iterable[Any], dims: Sequence[int] | None = None) -> Array:
    """An array of objects; a product, which is a tuple, is one element."""
    listed = list(elements)
    array = np.empty(len(listed), object)
    for index, element in enumerate(listed):
        array[index] = element
    return array if dims is None else array.reshape(tuple(dims))


def constant_array(tensor: Any) -> Array | None:
    """The elements of a constant of integers or truth values that is not large."""
    if tensor.dtype not in {*_CALCULATED, ir.DataType.BOOL} or prod(tensor.shape.numpy()) > MOST:
        return None
    try:
        numbers = tensor.numpy()
    except Exception:  # noqa: BLE001 - a file that is not there, or too short
        return None
    return array_of(numbers.reshape(-1).tolist(), numbers.shape)


def _numbers(array: Array) -> list[int]:
    found = array.reshape(-1).tolist()
    if not all(isinstance(element, int) for element in found):
        raise ValueError(found)
    return found


def _number(array: Array) -> int:
    (found,) = _numbers(array)
    return found


def _few(*counts: int) -> None:
    """Raises where there would be more elements than are calculated with, before one of them is made."""
    if prod(counts) > MOST:
        raise ValueError(MOST)


def _each(rule: Callable[..., Any], *arrays: Array) -> Array:
    """A rule for elements on all of them, with broadcasting; the result is never large."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    _few(*shape)
    spread = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    return array_of((rule(*elements) for elements in zip(*spread, strict=True)), shape)


def _size(product: Product) -> Size:
    return product if product.symbols else product.coefficient


def _checked(element: Any) -> Element:
    number = element.coefficient if isinstance(element, Product) else element
    if isinstance(element, Product) and len(element.symbols) > _MOST_FACTORS:
        return None
    return element if number is not None and -INT64_MAX <= number <= INT64_MAX else None


def _add(left: Element, right: Element, sign: int = 1) -> Element:
    if left is None or right is None:
        return None
    one, other = multiply([left]), multiply([right, sign])
    if not one.coefficient or not other.coefficient:
        return _checked(_size(other if not one.coefficient else one))
    if one.symbols != other.symbols:
        return None
    total = one.coefficient + other.coefficient
    return _checked(_size(Product(total, one.symbols if total else ())))


def _subtract(left: Element, right: Element) -> Element:
    return _add(left, right, -1)


def _multiply(left: Element, right: Element) -> Element:
    if left is None or right is None:
        return 0 if (left == 0 or right == 0) else None
    return _checked(_size(multiply([left, right])))


def _divide(left: Element, right: Element) -> Element:
    """The quotient, if it is exact whatever the sizes are; a size of 0 below would be an error at run time."""
    if left is None or right is None or right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    found = divide(multiply([left]), multiply([right]))
    if found.bottom.symbols or abs(found.bottom.coefficient) != 1:
        return None
    return _checked(_size(multiply(found)))


def _modulo(call: Call) -> Array:
    cut = call.attribute("fmod", 0)

    def rest(left: Element, right: Element) -> Element:
        if not isinstance(left, int) or not isinstance(right, int) or right == 0:
            return None
        if not cut:
            return left % right
        # Engines take this remainder of floats, which hold no larger integers.
        return int(np.fmod(left, right)) if max(abs(left), abs(right)) < 2**53 else None

    return _each(rest, call.given(0), call.given(1))


def _most(choose: Callable[[Iterable[int]], int]) -> Rule:
    def chosen(*elements: Element) -> Element:
        if all(element is not None and element == elements[0] for element in elements):
            return elements[0]
        numbers = [element for element in elements if isinstance(element, int)]
        return choose(numbers) if len(numbers) == len(elements) else None

    return lambda call: _each(chosen, *(call.given(index) for index in range(len(call.inputs))))


def _binary(rule: Callable[[Any, Any], Any]) -> Rule:
    def both(call: Call) -> Array:
        if call.node.attributes:  # before opset 7 they told which axes are broadcast
            raise ValueError(call.node)
        return _each(rule, call.given(0), call.given(1))

    return both


def _fitting(rule: Rule) -> Rule:
    """A rule whose numbers wrap in 32 bits: what those cannot hold is known only where the type is wider."""

    def within(element: Any) -> bool:
        number = element.coefficient if isinstance(element, Product) else element
        return number is None or -_INT32_MAX <= number <= _INT32_MAX

    def fitted(call: Call) -> Array | None:
        found = rule(call)
        if (
            found is None
            or all(within(each) for each in found.flat)
            or integer_type(call.node.inputs[0]) == ir.DataType.INT64
        ):
            return found
        return _each(lambda element: element if within(element) else None, found)

    return fitted


def _equal(left: Any, right: Any) -> bool | None:
    """Whether two elements are equal for all sizes or for none: a size is not negative."""
    if left is None or right is None:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    if left == right:
        return True
    number, product = (left, right) if isinstance(left, int) else (right, left)
    below = isinstance(number, int) and (number < 0 < product.coefficient or product.coefficient < 0 < number)
    return False if below else None


def _where(condition: Any, left: Any, right: Any) -> Any:
    if condition is None:
        return left if left == right else None
    return left if condition else right


def _shape(call: Call) -> Array:
    return call.given(0)[slice(call.attribute("start", 0), call.attribute("end", None))]


def _count(call: Call) -> Array:
    sizes = call.given(0).tolist()
    return array_of([None if None in sizes else _size(multiply(sizes))], ())


def _constant(call: Call) -> Array | None:
    name, attribute = next(iter(call.node.attributes.items()))
    value = call.attribute(name, None)
    if name == "value" and attribute.type == ir.AttributeType.TENSOR:
        return constant_array(value)
    if name == "value_ints":
        return array_of(value)
    return array_of([value], ()) if name == "value_int" else None


def _gather(call: Call) -> Array:
    data, indices = call.given(0), call.given(1)
    axis = call.attribute("axis", 0)
    numbers = np.array(_numbers(indices), np.int64)
    _few(numbers.size, *data.shape[:axis], *data.shape[axis:][1:])
    found: Array = data.take(numbers, axis=axis)
    return found.reshape(data.shape[:axis] + indices.shape + data.shape[axis:][1:])


def _slice(call: Call) -> Array:
    data = call.given(0)
    starts, ends = call.integers("starts", 1), call.integers("ends", 2)
    if starts is None or ends is None:
        raise ValueError
    axes = call.integers("axes", 3) or list(range(len(starts)))
    steps = call.integers("steps", 4) or [1] * len(starts)
    index: list[Any] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and end in {_INT32_MAX, INT64_MAX}:  # "to the end", which engines understand differently
            raise ValueError(end)
        # As in Python, but for a start before the first element: going backwards it is the first.
        first = 0 if step < 0 and start < -data.shape[axis] else start
        index[axis] = slice(first, end, step)
    found: Array = data[tuple(index)]
    return found


def _concat(call: Call) -> Array:
    _few(sum(call.given(index).size for index in range(len(call.inputs))))
    return np.concatenate([call.given(index) for index in range(len(call.inputs))], axis=call.attribute("axis", None))


def _split(call: Call) -> Array:
    data, axis = call.given(0), call.attribute("axis", 0)
    sizes = call.integers("split", 1)
    if sizes is None:
        longest = -(-data.shape[axis] // len(call.node.outputs))
        sizes = [longest] * (len(call.node.outputs) - 1)
    return np.split(data, np.cumsum(sizes)[: len(call.node.outputs) - 1], axis=axis)[call.output]


def _squeeze(call: Call) -> Array:
    axes = call.integers("axes", 1)
    return call.given(0).squeeze(None if axes is None else tuple(axes))


def _unsqueeze(call: Call) -> Array:
    axes = call.integers("axes", 1)
    if axes is None:
        raise ValueError
    return np.expand_dims(call.given(0), tuple(axes))


def _reshape(call: Call) -> Array:
    target = call.integers("shape", 1)
    if target is None:
        raise ValueError
    data, flag = call.given(0), call.attribute("allowzero", 0)
    return data.reshape(resolve(data.shape, target, "onnx-14", allowzero=flag))


def _cast(call: Call) -> Array | None:
    """A cast to integers or truth values; a size is taken to fit into 32 bits."""
    kind = ir.DataType(call.attribute("to", None))
    if kind == ir.DataType.BOOL:
        return _each(lambda element: bool(element) if isinstance(element, int) else None, call.given(0))
    if kind not in _CALCULATED:
        return None
    most = np.iinfo(kind.numpy()).max

    def cast(element: Element) -> Element:
        return element if not isinstance(element, int) else int(element) if -most <= element <= most else None

    return _each(cast, call.given(0))


def _product(call: Call) -> Array:
    """ReduceProd: of all elements, or along axes."""
    data = call.given(0)
    axes = call.integers("axes", 1)
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return data
    kept = call.attribute("keepdims", 1)
    along = [axis % data.ndim for axis in axes] if axes else list(range(data.ndim))
    rest = [axis for axis in range(data.ndim) if axis not in along]
    rows = data.transpose(*rest, *along).reshape(prod(data.shape[axis] for axis in rest), -1)
    found = array_of(_factors(row) for row in rows)
    return found.reshape([1 if axis in along else size for axis, size in enumerate(data.shape) if kept or axis in rest])


def _factors(elements: Iterable[Element]) -> Element:
    total: Element = 1
    for element in elements:
        total = _multiply(total, element)
    return total


def _constant_of_shape(call: Call) -> Array | None:
    dims = _numbers(call.given(0))
    tensor = call.attribute("value", None)
    filler = None if tensor is None else constant_array(tensor)
    if filler is None or prod(dims) > MOST:  # without a value it is a float
        return None
    return array_of([filler.reshape(-1)[0]] * prod(dims), dims)


def _expand(call: Call) -> Array:
    data = call.given(0)
    dims = np.broadcast_shapes(data.shape, tuple(_numbers(call.given(1))))
    _few(*dims)
    return np.broadcast_to(data, dims)


def _range(call: Call) -> Array:
    start, limit, step = (_number(call.given(index)) for index in range(3))
    numbers = range(start, limit, step)
    _few(len(numbers))
    return array_of(numbers)


def _flatten(call: Call) -> Array:
    data, axis = call.given(0), call.attribute("axis", 1)
    axis = axis + data.ndim if axis < 0 else axis
    return data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))


_RULES: dict[str, Rule] = {
    "Add": _fitting(_binary(_add)),
    "Cast": _cast,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Div": _fitting(_binary(_divide)),
    "Equal": _binary(_equal),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": lambda call: call.given(0),
    "Max": _most(max),
    "Min": _most(min),
    "Mod": _modulo,
    "Mul": _fitting(_binary(_multiply)),
    "Neg": _fitting(lambda call: _each(lambda element: _subtract(0, element), call.given(0))),
    "Not": lambda call: _each(lambda element: None if element is None else not element, call.given(0)),
    "Range": _range,
    "ReduceProd": _fitting(_product),
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _count,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": _fitting(_binary(_subtract)),
    "Transpose": lambda call: call.given(0).transpose(call.attribute("perm", None)),
    "Unsqueeze": _unsqueeze,
    "Where": lambda call: _each(_where, *(call.given(index) for index in range(3))),
}


def rule_of(node: ir.Node) -> Rule | None:
    """The rule of an operator of ONNX's own domain."""
    return _RULES.get(node.op_type)
