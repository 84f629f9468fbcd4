"""NodeView: one node of a graph as the rule for its operator sees it, and the refusal of a rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import onnx_ir as ir

from onereshape.ground.errors import FixError

_Dim_co = TypeVar("_Dim_co", covariant=True)


class Refused(Exception):  # noqa: N818 - it is an answer, and often only the first of several
    """The refusal of a rule: why the operator cannot be followed for these inputs."""

    def __init__(self, why: str, *, mixes: bool = False, final: bool = False, alone: bool = False) -> None:
        self.why = why
        self.mixes = mixes
        self.final = final
        """Whether no other answer of an earlier rule may be tried: the model itself says what this one refuses."""
        self.alone = alone
        """Whether it takes one sample at a time, and never several."""
        super().__init__(why)


class NoRule(Refused):
    """The refusal of an operator that has no rule; `tensor` is the value that a rule is needed for."""

    def __init__(self, tensor: str | None) -> None:
        self.tensor = tensor
        super().__init__(f"it has no rule, and its input {tensor} would need one")


class RefusedInside(Refused):
    """A node of a graph inside another node, and what is said of it."""

    def __init__(self, error: FixError, *, final: bool = False) -> None:
        self.error = error
        super().__init__(error.sentence, final=final)


class Ranked(tuple[_Dim_co, ...]):
    """Dims as a rule reads them: one that is not there is a refusal, since no engine takes such a node.

    onnx.checker lets pass a convolution whose weights have a single dim, and the like.
    """

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, int) and not -len(self) <= place < len(self):
            raise Refused(f"it needs a dim at axis {place} of a tensor that has {len(self)}")
        return super().__getitem__(place)


class NodeView(ABC):
    """A node with its inputs and attributes."""

    __slots__ = ("node",)

    def __init__(self, node: ir.Node) -> None:
        self.node = node

    @property
    @abstractmethod
    def opset(self) -> int:
        """The version of ONNX's own operators."""

    @property
    def label(self) -> str:
        """The node in a message."""
        return label_of(self.node)

    def has(self, index: int) -> bool:
        """Whether the node has this input."""
        inputs = self.node.inputs
        return index < len(inputs) and inputs[index] is not None

    def value(self, index: int) -> ir.Value:
        """An input that the operator requires."""
        inputs = self.node.inputs
        found = inputs[index] if index < len(inputs) else None
        if found is None:
            raise Refused(f"its input {index} is missing")
        return found

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        found = self.node.attributes.data.get(name)  # of the dict itself: this is asked of every node
        return default if found is None else found.value

    def axis(self, rank: int, default: int, name: str = "axis", *, end: bool = False) -> int:
        """An attribute that names an axis, counted from the front; `end`: or the place after the last one."""
        return counted(int(self.attribute(name, default)), rank, end=end)

    def lead(self, index: int, rank: int, own: int) -> int:
        """How many axes of the output of an elementwise operator stand before those of an operand of `own` axes.

        They meet from the right; before opset 7 an attribute could say where, and a PRelu's slopes were by channels.
        """
        if self.opset < 7 and index == 1 and own < rank:
            if self.node.op_type == "PRelu" and own == 1 and rank > 1:
                return 1
            if self.attribute("broadcast", 0) and self.attribute("axis") is not None:
                found = counted(int(self.attribute("axis")), rank)
                if found + own > rank:
                    raise Refused(f"its second input has {own} axes, and meets the first at axis {found} of {rank}")
                return found
        return rank - own

    @abstractmethod
    def integers(self, index: int) -> list[int] | None:
        """The integers of an input in the original, where they are known."""

    def numbers(self, name: str, index: int) -> list[int] | None:
        """Numbers that are an attribute in old versions and an input in new ones; None: not there, or not known."""
        found = self.attribute(name)
        if found is None:
            return self.integers(index) if self.has(index) else None
        return [int(each) for each in found]

    def axes(self, index: int, rank: int) -> list[int] | None:
        """The axes that an attribute or (in newer opsets) an input names; None: all, or none were given."""
        found = self.numbers("axes", index)
        if found is None and self.has(index):
            raise Refused("its axes are computed at run time")
        return None if found is None else [counted(axis, rank) for axis in found]


def label_of(node: ir.Node) -> str:
    """A node in a message."""
    return node.name or f"{node.op_type} of {node.outputs[0].name}"


def paired(*lists: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The entries of lists that belong together, side by side; onnx.checker does not see all that do not."""
    counts = [len(each) for each in lists]
    if len({*counts}) > 1:
        raise Refused(f"its lists of {', '.join(map(str, counts[:-1]))} and {counts[-1]} entries do not go together")
    return zip(*lists, strict=True)


def counted(axis: int, rank: int, *, end: bool = False) -> int:
    """An axis counted from the front; onnx.checker does not look at one whose tensor it does not see.

    `end`: or the place after the last one.
    """
    if not -rank <= axis < rank + end:
        raise Refused(f"it names axis {axis} of {rank}")
    return axis + rank if axis < 0 else axis
