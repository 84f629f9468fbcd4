"""Plan: Reshapes that are to be written, in no format; and Wiring: how the Reshapes of a file hang together.

A step holds the operator that a file has and the one that says the same under the specification that was asked for.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from onereshape.arrays.operator import Reshape
from onereshape.formats.model_data import ModelData, ReshapeNode
from onereshape.ground.dtypes import ElementType
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import MaybeDims
from onereshape.rule.specs import Spec


@dataclass(frozen=True, slots=True)
class PlanTensor:
    """A value of a model; dims of None are of unknown rank."""

    name: str
    dims: MaybeDims
    type: ElementType


@dataclass(frozen=True, slots=True)
class ReshapeStep:
    """One Reshape of a plan: the operator that a file has, the operator to write, and the tensors in and out."""

    name: str
    before: Reshape
    after: Reshape
    data: PlanTensor
    target: PlanTensor | None
    """The second input, where it is known only at run time."""
    output: PlanTensor
    assumed: bool
    """Whether the element type is not in the file, nor can be told from it."""


@dataclass(frozen=True, slots=True)
class ReshapePlan:
    """Reshapes to be written as a model, each behind the Reshapes that make its data."""

    spec: Spec
    opset: int | None
    """The ONNX opset, None in the other dialects."""
    inputs: tuple[PlanTensor, ...]
    steps: tuple[ReshapeStep, ...]
    outputs: tuple[PlanTensor, ...]


class Link(NamedTuple):
    """A Reshape with what it is tied to; keys are whatever tells the values of a file apart."""

    node: ReshapeNode
    data: Hashable
    target: Hashable
    """None: an attribute."""
    output: Hashable


class Wiring(NamedTuple):
    """The values of a file, and the Reshapes between them."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    links: tuple[Link, ...]
    names: dict[Hashable, str]
    """The file's own names of values, where it has them."""


def attributes_of(op: Reshape) -> dict[str, int]:
    """The attributes that say what the operator means, without the target; a truth value as one."""
    flag = op.spec.flag
    if flag is None or flag.name not in op.attributes:
        return {}
    return {flag.name: flag.value(copies=op.zero_copies)}


def not_whole(model: ModelData, what: str) -> ReshapeError:
    """The refusal of a file that holds more than Reshapes."""
    why = f"{model.path}: {what}; the file converts whole only if it holds nothing but Reshapes and their constants"
    return ReshapeError("unsupported-model", why=f"{why}: take one Reshape with --node NAME")
