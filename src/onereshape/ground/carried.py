"""What errors carry, although it is defined above them: dims, and of a specification and a certificate what is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from onereshape.ground.text import JSON

ShownDim = int | None | str | tuple[int, int | None]
"""A dim, or an entry of a target: the notation of `rule.dims.Dim`."""


class CarriedFlag(Protocol):
    """The attribute of a specification that says what a 0 means: a `rule.specs.Flag`."""

    @property
    def name(self) -> str:
        """The attribute's name in the specification: `allowzero`, `special_zero`."""

    @property
    def copies(self) -> bool:
        """The value under which a 0 copies the dim of data at its index; under the other one it is literal."""

    @property
    def default(self) -> bool | None:
        """None: the attribute is required."""


class CarriedSpec(Protocol):
    """The specification that refuses: a row of the table, as `onereshape.spec` gives it."""

    @property
    def dialect(self) -> str:
        """The dialect: `onnx`, `openvino`, `onednn`."""

    @property
    def operator(self) -> str:
        """What the specification calls the operator: `Reshape`, `StaticReshape`, `DynamicReshape`."""

    @property
    def version(self) -> int:
        """The version of the operator: of ONNX the opset that brought it."""

    @property
    def name(self) -> str:
        """The name by which `spec` finds it."""

    @property
    def flag(self) -> CarriedFlag | None:
        """The attribute that says what a 0 means.  None: a 0 always copies."""


class CarriedCertificate(Protocol):
    """What was found instead of a certificate that suffices: a `onereshape.Certificate`."""

    @property
    def status(self) -> str:
        """What came out, in a word or two: `differs`, `not proven`, `failed`."""

    @property
    def reason(self) -> str:
        """A sentence for people."""

    @property
    def summary(self) -> str:
        """What is shown and at which sizes, in a few words."""

    @property
    def compared(self) -> tuple[Mapping[str, int], ...]:
        """The sizes at which the repaired model's answers were put beside another's."""

    @property
    def ran(self) -> tuple[Mapping[str, int], ...]:
        """The sizes at which it was only seen to run."""

    @property
    def difference(self) -> float:
        """The largest absolute difference of all outputs."""

    @property
    def holds(self) -> bool:
        """Whether the repaired model may be used in place of the original."""

    @property
    def for_all(self) -> bool:
        """Whether it is proven for every batch, and not at some only."""

    @property
    def suffices(self) -> bool:
        """Whether `fix` writes the model without being told to."""

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
