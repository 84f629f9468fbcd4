"""How the cases of the small world of shapes are written: an operator under all its versions and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import onnx

from tests.laws.shape_law import Case, In

NEWEST = 23
"""The newest opset that is asked: onnxruntime knows it whole."""

SMALL = (1, 2, 3, 0)
LONG = (1, 2, 3, 4, 5, 6, 7, 0)


@cache
def changes() -> dict[tuple[str, str], list[int]]:
    """The opsets at which each operator changed, by its domain and its name."""
    found: dict[tuple[str, str], set[int]] = {}
    for each in onnx.defs.get_all_schemas_with_history():
        found.setdefault((each.domain, each.name), set()).add(each.since_version)
    return {of: sorted(since) for of, since in found.items()}


def versions(op: str, domain: str = "") -> list[int]:
    """The opsets at which the operator changed, from 7 on."""
    if domain:
        return [NEWEST]
    since = changes()["", op]
    found = [each for each in since if 7 <= each <= NEWEST]
    return found if any(each == 7 for each in since) else [*([7] if since[0] < 7 else []), *found]


def each(op: str, *inputs: In | None, **rest: Any) -> Iterator[Case]:
    """The case under every version of the operator, or under `opsets`; what is no field of a case is an attribute."""
    fields = {name: rest.pop(name) for name in ("outputs", "sizes", "domain", "reference", "chain") if name in rest}
    opsets = rest.pop("opsets", None)
    for opset in versions(op, fields.get("domain", "")) if opsets is None else opsets:
        yield Case(op, opset, inputs, rest, **fields)


def grid(op: str, *inputs: In | None, options: Mapping[str, Sequence[Any]], **rest: Any) -> Iterator[Case]:
    """All combinations of values of attributes; None leaves one out."""
    for chosen in product(*options.values()):
        attributes = {name: value for name, value in zip(options, chosen, strict=True) if value is not None}
        yield from each(op, *inputs, **attributes, **rest)


FULL = dict.fromkeys("NMK", (1, 2, 3))
"""Sizes without 0.

Of what is empty onnxruntime makes other dims than the specification: Concat passes over it, reductions along an axis that
is counted from the end mistake the axis, and Einsum divides by the size.
"""


def signed(opsets: Iterable[int]) -> list[int]:
    """Those in which an axis may be counted from the end."""
    return [opset for opset in opsets if opset >= 11]


PAIRS: list[tuple[tuple[int | str, ...], tuple[int | str, ...]]] = [
    (("N", 3), ("N", 3)),
    (("N", 3), (3,)),
    (("N", 3), (1,)),
    (("N", 3), ()),
    (("N", 3), ("M", 1)),
    (("N",), ("M",)),
    (("N", 1), ("M",)),
    (("N", 4), (2, 1)),
    (("N", "M"), (3, 1)),
    (("N", 2), (2, "M", 2)),
    ((1, "N"), ("N", 1)),
    ((3,), ("N", "M")),
]
