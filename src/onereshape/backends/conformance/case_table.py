"""The case table, as data: what is put to every engine, under both meanings of 0.

A row names the dims of data and the target; the groups gather rows that try the same thing.  What a specification says
to a row is computed, never written down here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from onereshape.arrays.operator import Reshape
from onereshape.backends.conformance.questions import Answer, EngineQuestion, show_dims
from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.ground.integers import Dims
from onereshape.rule.semantics import resolve
from onereshape.rule.specs import SPECS, Spec, spec as find_spec

_KINDS = ("onnx-1", "onnx-13", "onnx-24")
"""Of ONNX one of each kind; onnx-1 and onnx-13 always copy a 0, and the versions between them differ only in types."""
SPECIFICATIONS = tuple(row.name for row in SPECS if row.dialect != "onnx" or row.name in _KINDS)

_MOST_ELEMENTS = 10**6
"""Data with more is put only to engines that infer without any."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table: data, a target and their types, and who can be asked."""

    name: str
    data: Dims
    target: Dims
    group: str = ""
    data_type: str = "float32"
    shape_type: str = "int64"
    shape_rank: int = 1
    flag: Mapping[str, Any] | None = None
    """Attributes that no specification defines a meaning for, in place of the two meanings of 0."""
    specs: tuple[str, ...] = ()
    """The specifications that the row makes sense for; none named: all."""
    infer_only: bool = False
    """Whether only engines that infer can be asked."""

    @property
    def zeros(self) -> tuple[str, ...]:
        """The meanings of 0 under which the case is put: `copied` and `literal`, or its own flag: `allowzero=2`."""
        if self.flag is None:
            return "copied", "literal"
        return (", ".join(f"{name}={value}" for name, value in self.flag.items()) or "no flag",)

    @property
    def is_held(self) -> bool:
        """Whether data can be made, and the case executed."""
        return prod(self.data) <= _MOST_ELEMENTS and not self.infer_only

    @property
    def has_plain_shape(self) -> bool:
        return (self.shape_type, self.shape_rank) == ("int64", 1)

    def show_data(self) -> str:
        kind = "" if self.data_type == "float32" else f" {self.data_type}"
        return show_dims(self.data) + kind

    def show_target(self) -> str:
        shown = show_dims(self.target)
        shown = {0: shown[1:-1], 1: shown, 2: f"[{shown}]"}[self.shape_rank]
        return shown if self.shape_type == "int64" else f"{shown} {self.shape_type}"


def question(case: Case, zero: str, spec: str | Spec) -> EngineQuestion | None:
    """The case in the words of one specification, or None where it cannot be said in them."""
    row = find_spec(spec)
    if case.specs and row.name not in case.specs:
        return None
    if row.target_in == "attribute" and not case.has_plain_shape:
        return None
    if case.flag is not None:
        attributes = dict(case.flag)
    elif row.flag is None:
        if zero == "literal":
            return None
        attributes = {}
    else:
        attributes = {row.flag.name: row.flag.value(copies=zero == "copied")}
    tensors = (case.data_type, case.shape_type, case.shape_rank)
    return EngineQuestion(case.data, case.target, row.name, attributes, *tensors)


def says(asked: EngineQuestion) -> Answer:
    """What the specification says to a question."""
    try:
        if asked.shape_type == "int64" and asked.shape_rank == 1 and asked.data_type == "float32":
            return Answer("dims", resolve(asked.data, asked.target, asked.spec, **asked.attributes))
        row = find_spec(asked.spec)
        if row.target_in == "attribute":
            output = Reshape(row, shape=asked.target, **asked.attributes)(asked.elements)
        else:
            plain = asked.shape_type == "int64" and asked.shape_rank == 1
            shape = list(asked.target) if plain else asked.shape_tensor
            output = Reshape(row, **asked.attributes)(asked.elements, shape)
    except ReshapeError as refusal:
        return Answer("refused", why=refusal.code)
    return Answer("dims", output.shape)


def _group(name: str, *cases: Case) -> tuple[Case, ...]:
    return tuple(dataclasses.replace(case, group=name) for case in cases)


_ONNX = ("onnx-24",)

CASES: tuple[Case, ...] = (
    *_group(
        "Sizes",
        Case("basic", (2, 3, 4), (4, 6)),
        Case("same_dims", (2, 3), (2, 3)),
        Case("neg1", (2, 3, 4), (2, -1)),
        Case("neg1_is_1", (2, 3), (6, -1)),
        Case("neg1_nondiv", (2, 5, 4), (10, -1, 3)),
        Case("neg1_bigger_than_volume", (2, 3), (7, -1)),
        Case("vol_mismatch", (2, 3), (7,)),
        Case("vol_mismatch_rank_2", (2, 3), (2, 4)),
        Case("two_neg1", (2, 3), (-1, -1)),
        Case("neg2", (2, 3), (2, -2)),
        Case("neg2_and_neg1", (2, 3), (-1, -2)),
        Case("neg3_exact_volume", (2, 3), (-2, -3)),
        Case("i64min", (2, 3), (2, -(2**63))),
    ),
    *_group(
        "Zeros",
        Case("zero_basic", (2, 3, 4), (2, 0, 4, 1)),
        Case("zero_and_neg1", (2, 3, 4), (0, -1)),
        Case("neg1_zero", (2, 3, 4), (-1, 0)),
        Case("zeros_all", (2, 3, 4), (0, 0, 0)),
        Case("zeros_all_neg1", (2, 3, 2, 1, 4), (0, 0, -1, 0, 0)),
        Case("vol_mismatch_with_0", (2, 3), (0, 5)),
        Case("zeros_drop_a_dim", (2, 3, 4), (0, 0)),
        Case("zero_beyond_rank", (2, 3), (2, 3, 0)),
        Case("zero_beyond_rank_neg1", (2, 3), (-1, 3, 0)),
        Case("nonempty_to_empty", (2, 1), (0,)),
        Case("nonempty_to_empty_neg1", (2, 5, 4), (5, 0, -1)),
    ),
    *_group(
        "Scalars",
        Case("scalar_to_1", (), (1,)),
        Case("scalar_to_1_1", (), (1, 1)),
        Case("scalar_to_2", (), (2,)),
        Case("scalar_to_neg1", (), (-1,)),
        Case("scalar_to_scalar", (), ()),
        Case("one_to_scalar", (1, 1, 1), ()),
        Case("six_to_scalar", (2, 3), ()),
        Case("empty_to_scalar", (0,), ()),
        Case("zero_on_scalar", (), (0,)),
        Case("zero_1_on_scalar", (), (0, 1)),
        Case("two_neg1_scalar", (), (-1, -1)),
    ),
    *_group(
        "Empty data",
        Case("empty_neg1", (0, 3), (-1,)),
        Case("empty_neg1_3", (0, 3), (3, -1)),
        Case("empty_neg1_5", (0, 3), (5, -1)),
        Case("empty_0_neg1", (0, 3), (0, -1)),
        Case("empty_neg1_0", (0, 3), (-1, 0)),
        Case("empty_mid_0_neg1", (2, 0, 3), (0, -1)),
        Case("empty_mid_neg1_0", (4, 0, 2), (-1, 0)),
        Case("empty_mid_0_0_neg1", (2, 0, 3), (0, 0, -1)),
        Case("empty_0_2_neg1", (4, 0), (0, 2, -1)),
        Case("empty_1_0_neg1", (1, 0), (1, 0, -1)),
        Case("empty_0_neg1_7", (0, 3), (0, -1, 7)),
        Case("two_zeros_empty", (0, 0), (0, -1)),
        Case("empty_0_0", (0, 3), (0, 0)),
        Case("empty_0_neg2", (0, 3), (0, -2)),
        Case("empty_literal", (0, 3, 4), (3, 4, 0)),
        Case("empty_literal2", (2, 5, 5, 0), (0, 4)),
        Case("empty_exact", (0, 10), (0, 10, 1)),
        Case("empty_to_nonempty", (0, 2, 2), (3, 3)),
        Case("vol_mismatch_0_swallows", (2, 0, 2, 8), (1, 2, 0, 32)),
        Case("zero_beyond_rank_empty_data", (0, 3), (3, 4, 0)),
    ),
    *_group(
        "Large sizes",
        Case("ovf_req", (1,), (INT64_MAX, INT64_MAX)),
        Case("ovf_req_wrap1", (1,), (2**32, 2**32)),
        Case("ovf_wrap_equal", (4,), (2**62 + 1, 4)),
        Case("ovf_int32", (2, 3), (2**32 + 2, 3)),
        Case("ovf_with_zero", (0,), (2**32, 2**32, 0)),
        Case("ovf_neg1", (1,), (2**32, 2**32, -1)),
        Case("ovf_neg1_empty", (0,), (2**32, 2**32, -1)),
        Case("ovf_data", (2**32, 2**32), (-1,)),
        Case("exact_quotient", (2**53 + 1,), (3, -1)),
        Case("exact_remainder", (2**53 + 1,), (2, -1)),
        Case("exact_last_digit", (3 * (2**53 + 1),), (3, -1)),
    ),
    *_group(
        "Ranks",
        Case("rank_12", (1,), (1,) * 12),
        Case("rank_13", (1,), (1,) * 13),
        Case("rank_32", (1,), (1,) * 32),
        Case("rank0_shape_len_33", (1,), (1,) * 33),
        Case("data_rank_33", (1,) * 33, (-1,)),
        Case("rank_65", (1,), (1,) * 65),
    ),
    *_group(
        "The shape tensor",
        Case("shape_int32", (2, 3), (3, -1), shape_type="int32"),
        Case("shape_uint8", (2, 3), (3, 2), shape_type="uint8"),
        Case("shape_uint64_max", (2, 3), (2**64 - 1, 3), shape_type="uint64"),
        Case("shape_float32", (2, 3), (3, 2), shape_type="float32"),
        Case("shape_bool", (1, 1), (1,), shape_type="bool"),
        Case("shape_0d", (2, 3), (6,), shape_rank=0),
        Case("shape_2d", (2, 3), (3, 2), shape_rank=2),
    ),
    *_group(
        "Types of data",
        Case("data_float16", (2, 3), (3, 2), data_type="float16"),
        Case("data_int32", (2, 3), (3, 2), data_type="int32"),
        Case("data_bool", (2, 3), (3, 2), data_type="bool"),
        Case("data_complex64", (2, 3), (3, 2), data_type="complex64"),
        Case("data_string", (2, 3), (3, 2), data_type="string"),
    ),
    *_group(
        "The flag",
        Case("allowzero_2", (0, 3), (0, 0), flag={"allowzero": 2}, specs=_ONNX),
        Case("allowzero_neg1", (0, 3), (0, 0), flag={"allowzero": -1}, specs=_ONNX),
        Case("allowzero_before_14", (0, 3), (0, 0), flag={"allowzero": 1}, specs=("onnx-1", "onnx-13")),
        Case("special_zero_missing", (0, 3), (0, 0), flag={}, specs=("openvino",), infer_only=True),
    ),
)
