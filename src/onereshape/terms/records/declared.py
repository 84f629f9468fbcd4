"""Operators that ONNX has no schema of: what they take is declared beside their rules, and checked before these run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Rule, Value
from onereshape.terms.tensor import Tensor

DOMAIN: Final = "com.microsoft"
FLOATS: Final = "FLOAT FLOAT16 DOUBLE BFLOAT16"
BYTES: Final = "INT8 UINT8"


@dataclass(frozen=True, slots=True)
class Optional:
    """An attribute that may be left out, and then means what the operator says."""

    kind: type


@dataclass(frozen=True, slots=True)
class Declared:
    """The letters of the inputs, a question mark behind those that may be left out; the types of each letter; the
    attributes with their defaults, or with their types where there are none.
    """

    inputs: str
    types: Mapping[str, str]
    attributes: Mapping[str, Any]
    outputs: int = 1
    """How many outputs a node may have."""

    def check(self, call: Call) -> Mapping[str, Any]:
        """The attributes of a call, with defaults; refuses inputs, outputs and attributes that are not declared."""
        if call.outputs > self.outputs:
            call.refuse(f"has {call.outputs} outputs")
        letters = self.inputs.split()
        if len(call.inputs) > len(letters):
            call.refuse(f"has {len(call.inputs)} inputs")
        found: dict[str, str] = {}
        for place, letter in enumerate(letters):
            if not call.has(place):
                if not letter.endswith("?"):
                    call.refuse(f"input {place} is missing")
                continue
            kind, name = call.tensor(place).dtype.name, letter.rstrip("?")
            if kind not in self.types[name].split() or found.setdefault(name, kind) != kind:
                call.refuse(f"input {place} is a tensor of {kind}, which it does not take")
        return self._attributes(call)

    def _attributes(self, call: Call) -> Mapping[str, Any]:
        unknown = set(call.attributes) - set(self.attributes)
        if unknown:
            call.refuse(f"has an attribute {min(unknown)!r}, which is not known")
        found: dict[str, Any] = {}
        for name, default in self.attributes.items():
            kind = default if isinstance(default, type) else default.kind if isinstance(default, Optional) else None
            if name in call.attributes:
                found[name] = call.attributes[name]
                if not _fits(found[name], kind or type(default), name):
                    call.refuse(f"its attribute {name!r} is of another type")
            elif kind is None:
                found[name] = float(np.float32(default)) if isinstance(default, float) else default
            elif isinstance(default, type):
                call.refuse(f"has no attribute {name!r}")
        return found


_LISTS_OF_FLOATS: Final = {"activation_params"}


def _fits(value: Any, kind: type, name: str) -> bool:
    """Whether an attribute is of its type; lists are of integers, but for a few."""
    if isinstance(value, list):
        return kind is list and all(isinstance(each, float if name in _LISTS_OF_FLOATS else int) for each in value)
    return isinstance(value, kind)


def declared(
    rule: Rule, inputs: str, types: Mapping[str, str], attributes: Mapping[str, Any] | None = None, outputs: int = 1
) -> Rule:
    """A rule that is asked only where its operator is what it is declared to be."""
    form = Declared(inputs, types, attributes or {}, outputs)

    def checked(call: Call) -> Sequence[Value]:
        return rule(replace(call, attributes=form.check(call)))

    return checked


def own(call: Call, *parts: Any) -> int:
    """The word of an operator of com.microsoft and of `parts`: ONNX has other operators of these names."""
    return call.key(*parts, op=f"{DOMAIN}.{call.op}")


def vector(call: Call, place: int, size: int) -> Tensor:
    """The input at a place, refused unless it is a vector of `size` elements."""
    found = call.tensor(place)
    if found.shape != (size,):
        call.refuse(f"input {place} has the dims {list(found.shape)}, and should have {[size]}")
    return found
