"""What small tensors hold: an array of elements, and one node as the rule for its elements sees it.

An element is an int, a bool, a floating-point number of the tensor's own type (which calculates as the model does), a
formula of sizes, or None where it is not known.  Numbers are calculated as ONNX does it; what the type cannot hold
wraps at run time, and is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import dims_of_tensor
from onereshape.graphs.facts.walk_limits import LARGEST, MOST_ELEMENTS, MOST_FLOATS, TooLargeError
from onereshape.graphs.node_view import NodeView, Refused
from onereshape.graphs.registry import record_of
from onereshape.rule.condition import Condition, Written
from onereshape.rule.sizes import Formula, Size, is_size

ElementArray = np.ndarray[Any, np.dtype[np.object_]]
Element = int | bool | Formula | np.floating[Any] | None
Elements = list[ElementArray | None]
"""What all outputs hold, None for one that is not known."""

INTEGERS = frozenset("INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8".split())
_NARROW = frozenset("INT16 INT8 UINT16 UINT8".split())
"""Types that many a size does not fit in."""
_SHORT = frozenset({"INT32", "UINT32"})
"""Types that a size of an empty tensor, or a product of sizes, may not fit in."""
FLOATS = frozenset("FLOAT DOUBLE".split())
FOLLOWED = INTEGERS | FLOATS | {"BOOL"}
_LARGE = 2**31
"""A number in a formula of sizes from which on the result may wrap around at run time."""


REFUSALS = (Refused, ValueError, IndexError, ArithmeticError)
"""How a rule says that it cannot read a node, such as one with an axis that its data do not have.

Beside `Refused` these are what NumPy says of elements that do not go together (reshape, take, broadcast), lists of a
damaged node that are too short, and divisors of 0; rules calculate before they could know.  Any other error is a
mistake and must not pass for "unknown".
"""


class Unknown(Refused):
    """The refusal of a rule that cannot tell the elements of an output."""

    def __init__(self, why: str = "what it holds is not known") -> None:
        super().__init__(why)


class Holding(NodeView):
    """One node as the rule for its elements sees it: the elements and the dims of its inputs."""

    __slots__ = ("_attributes", "_dims", "_opset", "inputs", "plain")

    def __init__(  # noqa: PLR0913 - one node, and all that is known around it
        self,
        node: ir.Node,
        inputs: Sequence[ElementArray | None],
        dims: Callable[[ir.Value], Sequence[Size | None] | None],
        opset: int,
        attribute: Callable[[ir.Node, str], Any] | None = None,
        *,
        plain: bool = False,
    ) -> None:
        super().__init__(node)
        self.plain = plain
        """Whether every formula is taken for a size, and none for a number that may be negative."""
        self.inputs = inputs
        self._opset = opset
        self._dims = dims
        self._attributes = attribute

    @property
    def opset(self) -> int:
        return self._opset

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; one that only the caller of a function knows is a refusal."""
        found = self.node.attributes.data.get(name)
        if found is None:
            return default
        if not found.is_ref():
            return found.value
        given = None if self._attributes is None else self._attributes(self.node, name)
        if given is None:
            raise Unknown
        return given

    def given(self, index: int) -> ElementArray:
        """The elements of an input; raises Unknown where the input is left out or not known."""
        array = self.inputs[index] if index < len(self.inputs) else None
        if array is None:
            raise Unknown
        return array

    def all(self) -> list[ElementArray]:
        """The elements of all inputs; raises Unknown where those of an input are not known."""
        return [self.given(index) for index in range(len(self.inputs))]

    def integers(self, index: int) -> list[int] | None:
        """The numbers that an input holds; a refusal where they are not known, None where it is left out."""
        return whole(self.given(index)) if self.has(index) else None

    def is_size(self, element: Size) -> bool:
        """Whether an element is 0 or more, whatever the symbols are."""
        return (self.plain and isinstance(element, Formula)) or is_size(element)

    def sizes(self) -> list[Size | None]:
        """The dims of the first input."""
        dims = self._dims(self.value(0))
        if dims is None:
            raise Unknown
        return list(dims)


def evaluated(  # noqa: PLR0913 - one node, and all that is known around it
    node: ir.Node,
    inputs: Sequence[ElementArray | None],
    dims: Callable[[ir.Value], Sequence[Size | None] | None],
    opset: int,
    kind: Callable[[ir.Value], ir.DataType | None],
    *,
    plain: bool = False,
) -> list[ElementArray | None]:
    """What the outputs of one node hold where its inputs hold these and have these dims; None: not known."""
    record, nothing = record_of(node), list[ElementArray | None]([None] * len(node.outputs))
    rule: Callable[[Holding], Sequence[ElementArray | None]] | None = record.elements
    if rule is None:
        return nothing
    if record.from_dims is not None:
        inputs = ()
    elif any(array is None and value is not None for array, value in zip(inputs, node.inputs, strict=True)):
        return nothing
    try:
        found = list(rule(Holding(node, inputs, dims, opset, plain=plain)))
    except REFUSALS:
        return nothing
    small = (array if array is not None and array.size <= MOST_ELEMENTS else None for array in found)
    pairs = zip(small, node.outputs, strict=False)
    return [None if array is None else fitting(array, kind(value)) for array, value in pairs]


def array_of(elements: Iterable[Any], dims: Sequence[int] | None = None) -> ElementArray:
    """An array of objects."""
    listed = list(elements)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array if dims is None else array.reshape(tuple(dims))


def constant_array(tensor: Any) -> ElementArray | None:
    """The elements of a constant that is not large; floating-point numbers keep their precision."""
    name, count = tensor.dtype.name, prod(dims_of_tensor(tensor))
    if name not in FOLLOWED or count > (MOST_FLOATS if name in FLOATS else MOST_ELEMENTS):
        return None
    try:
        array = tensor.numpy()
    except (OSError, ValueError):  # a file that is not there, or data that are too short
        return None
    if isinstance(tensor, ir.ExternalTensor):
        array = np.array(array)
        tensor.release()
    flat = array.reshape(-1)
    return array_of(list(flat) if array.dtype.kind == "f" else flat.tolist(), array.shape)


def is_number(element: object) -> bool:
    """Whether an element is known as a number, or as a truth value."""
    return isinstance(element, int | np.floating)


def whole(array: ElementArray) -> list[int]:
    """Elements that must be integers."""
    elements = array.reshape(-1).tolist()
    if not all(isinstance(each, int) for each in elements):
        raise Unknown
    return [int(each) for each in elements]


def few(*counts: int) -> None:
    """Refuses more elements than are followed, before one of them is made."""
    if prod(counts) > MOST_ELEMENTS:
        raise TooLargeError(f"it would hold more than the {MOST_ELEMENTS} elements that are followed")


def elementwise(function: Callable[..., Element], arrays: Sequence[ElementArray]) -> ElementArray:
    """A function of elements on all of them, with broadcasting; what is not known makes nothing known."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    few(*shape)
    spread = [list((array if array.shape == shape else np.broadcast_to(array, shape)).reshape(-1)) for array in arrays]
    with np.errstate(all="ignore"):  # as in the model: the root of a negative number is NaN
        found = [None if None in each else function(*each) for each in zip(*spread, strict=True)]
    return array_of(found, shape)


def fitting(array: ElementArray, kind: ir.DataType | None) -> ElementArray:
    """The elements, None for those that may not fit the type: `[1, 300]` in UINT8 is `[1, None]`."""
    least, most = -LARGEST - 1, LARGEST
    if kind is not None:
        if kind.name not in INTEGERS:
            return array
        if kind.name in _NARROW and any(isinstance(each, Formula) for each in array.flat):
            array = array_of((None if isinstance(each, Formula) else each for each in array.flat), array.shape)
        if kind != ir.DataType.INT64:
            least, most = (int(limit) for limit in (np.iinfo(kind.numpy()).min, np.iinfo(kind.numpy()).max))
    listed = array.reshape(-1).tolist()
    if all(_fits(each, least, most) for each in listed):
        return array
    return array_of((each if _fits(each, least, most) else None for each in listed), array.shape)


def unwrapped(array: ElementArray, kind: ir.DataType | None) -> list[Condition]:
    """What must hold for formulas not to wrap around in 32 bits; no tensor has sizes beyond what 64 bits hold."""
    if kind is None or kind.name not in _SHORT:
        return []
    limits = np.iinfo(kind.numpy())
    found: list[Condition] = []
    for each in array.flat:
        if isinstance(each, Formula):
            written = Written(1, (str(each),))
            found.append(Condition("most", written, int(limits.max)))
            if not is_size(each):
                found.append(Condition("least", written, int(limits.min)))
    return found


def _fits(element: Element, least: int, most: int) -> bool:
    if isinstance(element, int | np.floating):
        return bool(least <= element <= most)
    return element is None or (most >= _LARGE - 1 and (least < 0 or is_size(element)) and _small(element))


def _small(formula: Formula) -> bool:
    """Whether no number of a formula is so large that what is calculated may wrap around."""
    for monomial, coefficient in formula.terms:
        if not -_LARGE < coefficient < _LARGE:
            return False
        for atom in monomial:
            if not isinstance(atom, str):
                for part in atom.parts:
                    if not (abs(part) < _LARGE if isinstance(part, int) else _small(part)):
                        return False
    return True
