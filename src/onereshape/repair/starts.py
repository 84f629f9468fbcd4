"""Where the batch is looked for, if nobody says it: at the likely axes, and at others where those are no batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import onnx_ir as ir

from onereshape.graphs.likely_batch import Axes, other_starts, said
from onereshape.graphs.request import inputs_of, shapes_of
from onereshape.ground.errors import FixError
from onereshape.repair.step import Fixed
from onereshape.repair.work import Work

_MIXES = "mixes-samples"

_T = TypeVar("_T", Work, Fixed)


def from_starts(model: ir.Model, axes: Axes, attempt: Callable[[Axes], _T], *, likely: bool) -> _T:
    """What `attempt` makes of the first axes that it does not refuse; `likely`: others than `axes` may be taken.

    Where operators work along the likely ones, they are no batch, and the refusal is that of the others.
    """
    try:
        return attempt(axes)
    except FixError as refusal:
        first = refusal
    last = first
    if likely and first.code in {_MIXES, "cannot-free"}:
        for other in other_starts(shapes_of(inputs_of(model)), axes, mixes=first.code == _MIXES):
            try:
                found: _T = attempt(other)
            except FixError as refusal:
                if first.code == _MIXES:
                    last, last.axes = refusal, other
            else:
                why = f"as the batch at {said(axes)} cannot be freed: {first.sentence}"
                return replace(found, notes=(f"took {said(other)}, {why}", *found.notes))
    raise last


def has_others(model: ir.Model, axes: Axes) -> bool:
    """Whether the batch may be looked for elsewhere, in a model that must then be as it was."""
    return any(other_starts(shapes_of(inputs_of(model)), axes, mixes=True))
