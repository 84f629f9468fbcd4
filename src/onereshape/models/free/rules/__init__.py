"""How the dims of each operator's outputs follow from those of its inputs, when some of them are free."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onereshape.models.free.rules import contractions, indexing, layout, pointwise, reshape, spatial
from onereshape.models.free.state import Answer
from onereshape.models.free.view import View

RULES: dict[str, Callable[[View], Iterator[Answer]]] = {
    **pointwise.RULES,
    **contractions.RULES,
    **layout.RULES,
    **reshape.RULES,
    **indexing.RULES,
    **spatial.RULES,
}
"""By operator of ONNX's own domain."""
