"""Constants of several samples: rows that are the same for all of them, or that count them, as `arange(2)` does.

What an export of two samples has for `x[arange(2), last]` is a constant, `[0, 1]`.  Sample n has there what the first
one has, plus n times what the second has more than it; so much is known of the samples that were exported, and it is
taken for a number of the sample only where it picks from the batch what belongs to that sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.spreading import offsets
from onereshape.graphs.rewrite import Entry, Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size, product, symbol

_MOST_BEHIND: Final = 64
"""Values behind another one among which a constant is looked for."""


def rows_from(
    value: ir.Value,
    size: int,
    dims_of: Callable[[ir.Value], Sequence[Size] | None],
    array: Callable[[ir.Value], Array | None],
) -> str:
    """From which constant something that is none has a row for each of so many samples, in words."""
    if value.is_initializer():
        return ": it is an input too, and may be given as anything"
    seen = [value]
    for each in seen:  # it grows
        maker = each.producer()
        for other in () if maker is None else maker.inputs:
            if other is None or other in seen or len(seen) > _MOST_BEHIND:
                continue
            held = array(other)
            if held is not None and (size in (dims_of(other) or ()) or (held.dtype.kind == "i" and size in held)):
                return f": it is computed from the constant {other.name}"
            seen.append(other)
    return ""


def added(array: Array, mark: Mark, size: int) -> Array | None:
    """What each of so many samples adds to the rows of the one before, in the dims of the array: 0 where all are alike.

    None: the rows differ otherwise.
    """
    moved = np.moveaxis(array, mark.axis, 0)
    rows = moved.reshape(size, -1)
    if all(rows[0].tobytes() == row.tobytes() for row in rows):
        return np.zeros(array.shape, np.int64)
    if rows.dtype not in (np.int64, np.int32):
        return None
    more = rows[1] - rows[0]
    if (more < 0).any() or not all((rows[0] + n * more == row).all() for n, row in enumerate(rows)):
        return None
    return np.moveaxis(np.resize(more, moved.shape), 0, mark.axis)


def numbered(writer: Rewriter, array: Array, more: Array, mark: Mark) -> ir.Value:
    """A constant that counts the samples, for N of them: the rows of the first, and so much more for each other one."""
    inner = mark.inner if isinstance(mark.inner, int) else 0
    alone, more = (np.take(each, range(inner), mark.axis) for each in (array, more))
    dims = [*alone.shape[: mark.axis], 1, *alone.shape[mark.axis :]]
    batch = symbol(writer.symbols[0])

    def make() -> ir.Value:
        numbers = offsets(writer, 1, Mark(mark.axis), len(dims))
        if alone.dtype == np.int32:
            numbers = writer.front("Cast", [numbers], {"to": int(ir.DataType.INT32)})
        numbers = writer.front("Mul", [numbers, writer.constant(more.astype(alone.dtype).reshape(dims))])
        numbers = writer.front("Add", [numbers, writer.constant(alone.reshape(dims))])
        joined: list[Entry] = [*alone.shape]
        joined[mark.axis] = product([batch, inner])
        return writer.front("Reshape", [numbers, writer.vector(joined)])

    if alone.shape == (1,) and alone.dtype == np.int64 and alone[0] == 0 and more[0] == 1:
        return offsets(writer, 1, Mark(0), 1)
    return writer.once(("numbered", alone.tobytes(), alone.dtype.str, alone.shape, more.tobytes(), mark), make)
