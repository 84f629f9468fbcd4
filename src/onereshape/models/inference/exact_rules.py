"""Shape rules of our own, for operators of which the engine's rule says more than is so, or takes too long.

Most were wrong somewhere in the small world of the law of shapes: where sizes or axes are known only at run time, where
a dim may be 0 or 1, or where rounding goes another way.  A rule takes the engine's context and a node, and says of the
outputs what holds in every run; what it does not say stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from onereshape.models.inference import exact_moves as moves, exact_windows as windows
from onereshape.models.inference.asked import Asked

Rule = Callable[[Asked], None]
RULES: dict[str, Rule] = {
    "Concat": moves.concat,
    "Squeeze": moves.squeeze,
    "Split": moves.split,
    "Slice": moves.slice_,
    "Einsum": moves.einsum,
    "Expand": moves.expand,
    "PRelu": moves.prelu,
    "Compress": moves.compress,
    "Unique": moves.unique,
    "NonZero": moves.nonzero,
    "Range": moves.range_,
    "AveragePool": windows.pool,
    "MaxPool": windows.pool,
    "LpPool": windows.pool,
    "Resize": windows.resize,
    "Upsample": windows.resize,
}
"""By operator of ONNX's own domain."""
