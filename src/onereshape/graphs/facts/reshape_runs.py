"""run(): what onnxruntime makes of a Reshape at given sizes; None where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onereshape.ground.errors import ReshapeError
from onereshape.rule.semantics import resolve


def run(dims: Sequence[int], words: Sequence[int], *, copies: bool) -> tuple[int, ...] | None:
    """The output dims.

    Beside a literal 0 a -1 is refused by the specification, but onnxruntime infers it from the dims that are not 0, if
    the data are empty and the target is no constant.

    >>> run((0, 3), (0, -1), copies=False)
    (0, 3)
    """
    if not copies and 0 in words and words.count(-1) == 1 and 0 in dims and min(words) == -1:
        top, bottom = (prod(each for each in sizes if each > 0) for sizes in (dims, words))
        return tuple(top // bottom if word == -1 else word for word in words) if top % bottom == 0 else None
    try:
        return resolve(dims, words, "onnx-14", allowzero=int(not copies))
    except ReshapeError:
        return None
