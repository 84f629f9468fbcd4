"""The table of specifications: every Reshape that exists, one row each.

A row holds what the specifications disagree on; but for its types, its files and its engines nothing else in onereshape
asks for a dialect by name.
The ONNX rows are held against `onnx.defs` by a test, docs/dialects.md is written from this table.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import brief

NEWEST_OPSET = 28
"""The newest ONNX opset whose operators were compared with this table."""

Dialect = Literal["onnx", "openvino", "onednn"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """The attribute that says what a 0 in the target means."""

    name: str
    """The attribute's name in the specification."""
    copies: bool
    """The value under which a 0 copies the dim of data at its index; under the other one it is literal."""
    default: bool | None
    """None: the attribute is required."""
    values: Mapping[str, int]
    """The two values of the attribute, by the words that people write."""
    about: str
    """A sentence for people: whose attribute it is, and what it says."""

    def __repr__(self) -> str:
        return brief("Flag", self.name)

    def value(self, *, copies: bool) -> int:
        """The value under which a 0 copies, or does not."""
        return next(value for value in self.values.values() if value == (self.copies == copies))


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """One version of one dialect's Reshape; a row of the table, equal only to itself.

    >>> spec("onnx")
    spec('onnx-25')
    >>> spec("openvino").flag.name, spec("openvino").target_in, spec("onednn-static").data_types
    ('special_zero', 'input', ('f32', 'f16', 'bf16'))
    """

    dialect: Dialect
    """The dialect whose operator it is."""
    operator: str
    """What the specification calls the operator: `Reshape`, `StaticReshape`, `DynamicReshape`."""
    version: int
    """The version of the operator: of ONNX the opset that brought it."""
    name: str
    """The name by which `spec` finds it."""
    target_in: Literal["attribute", "input"]
    """Where the target is: an attribute, or the second input."""
    flag: Flag | None
    """The attribute that says what a 0 means.  None: a 0 always copies."""
    empty_copy_beside_inferred: bool
    """Whether -1 may stand beside a 0 that copies a dim of size 0 (copied dims then take no part in the division)."""
    shape_types: tuple[str, ...]
    """Types of the shape tensor, or of the attribute, in the dialect's own names."""
    data_types: tuple[str, ...]
    """Types of data, in the dialect's own names."""
    ignored_attributes: tuple[str, ...] = ()
    """Attributes that the specification lists and that change nothing."""

    def __str__(self) -> str:
        return f"{self.dialect} {self.operator}-{self.version}"

    def __repr__(self) -> str:
        return f"spec({self.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return spec, (self.name,)  # the same row, in whatever process


_COMMON = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float double string bool complex64 complex128"
_ONNX_TYPES = {  # what each version adds
    1: "float16 float double",
    5: _COMMON,
    13: "bfloat16",
    14: "",
    19: "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz",
    21: "uint4 int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2 int2",
}
_ALLOWZERO = Flag(
    "allowzero",
    copies=False,
    default=False,
    values=MappingProxyType({"0": 0, "1": 1}),
    about="ONNX since 14: with 1 a 0 in the target is a 0, not a copy",
)
_SPECIAL_ZERO = Flag(
    "special_zero",
    copies=True,
    default=None,
    values=MappingProxyType({"true": True, "false": False}),
    about="OpenVINO and oneDNN, required: with true a 0 in the target copies",
)


def _onnx(version: int) -> Spec:
    added = [names.split() for since, names in _ONNX_TYPES.items() if since <= version]
    return Spec(
        dialect="onnx",
        operator="Reshape",
        version=version,
        name=f"onnx-{version}",
        target_in="attribute" if version < 5 else "input",
        flag=_ALLOWZERO if version >= 14 else None,
        empty_copy_beside_inferred=False,
        shape_types=("int64",),
        data_types=tuple(dict.fromkeys(name for names in added for name in names)),
        ignored_attributes=("consumed_inputs",) if version < 5 else (),
    )


def _onednn(name: str, operator: str, target_in: Literal["attribute", "input"], shape: str, data: str) -> Spec:
    return Spec(
        dialect="onednn",
        operator=operator,
        version=1,
        name=name,
        target_in=target_in,
        flag=_SPECIAL_ZERO,
        empty_copy_beside_inferred=False,
        shape_types=tuple(shape.split()),
        data_types=tuple(data.split()),
    )


SPECS: tuple[Spec, ...] = (
    *(_onnx(version) for version in _ONNX_TYPES),
    Spec(
        dialect="openvino",
        operator="Reshape",
        version=1,
        name="openvino",
        target_in="input",
        flag=_SPECIAL_ZERO,
        empty_copy_beside_inferred=True,
        shape_types=tuple("i64 i32 i16 i8 i4 u64 u32 u16 u8 u6 u4 u3 u2 u1".split()),
        data_types=tuple(
            "f32 f16 bf16 f64 f8e4m3 f8e5m2 f8e8m0 f4e2m1 nf4 "
            "i64 i32 i16 i8 i4 u64 u32 u16 u8 u6 u4 u3 u2 u1 boolean".split()
        ),
    ),
    _onednn("onednn-reshape", "Reshape", "input", "s64 s32", "f32 f16 bf16 s32 s8 u8"),
    _onednn("onednn-static", "StaticReshape", "attribute", "s64", "f32 f16 bf16"),
    _onednn("onednn-dynamic", "DynamicReshape", "input", "s32", "f32 f16 bf16"),
)
"""Oldest first within a dialect."""

FLAGS = {row.flag.name: row.flag for row in SPECS if row.flag is not None}
DEFAULT = "onnx"
"""What is meant where no specification is named: the newest of ONNX."""

BY_NAME: dict[str, Spec] = {row.name: row for row in SPECS}
"""Every name of a specification, with its row; none is ever taken out."""
_ONNX = [row for row in SPECS if row.dialect == "onnx"]
for _opset in range(1, NEWEST_OPSET + 1):
    BY_NAME[f"onnx-{_opset}"] = next(row for row in reversed(_ONNX) if row.version <= _opset)
BY_NAME[DEFAULT] = _ONNX[-1]
NAMES = (DEFAULT, f"onnx-1 to onnx-{NEWEST_OPSET}", *(row.name for row in SPECS if row.dialect != "onnx"))
"""The names of specifications, for people."""


def spec(name: str | Spec) -> Spec:
    """The specification of that name; an ONNX opset number means the newest Reshape not above it.

    >>> spec("onnx-17").name
    'onnx-14'
    >>> str(spec("onednn-static"))
    'onednn StaticReshape-1'
    """
    if isinstance(name, Spec):
        return name
    row = BY_NAME.get(name) if isinstance(name, str) else None
    if row is None:
        near = difflib.get_close_matches(str(name), BY_NAME, n=1)
        raise ReshapeError(
            "unknown-spec",
            name=name,
            nearest=f" (did you mean {near[0]!r}?)" if near else "",
            names=", ".join(NAMES),
        )
    return row


def opset_of(name: str) -> int | None:
    """The opset that the name of a specification asks for: the number itself, not the version that is in force there.

    >>> opset_of("onnx-17"), opset_of("onnx"), opset_of("openvino")
    (17, 25, None)
    """
    row = spec(name)
    if row.dialect != "onnx":
        return None
    return int(name.removeprefix("onnx-")) if name != DEFAULT else row.version
