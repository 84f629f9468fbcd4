"""The batching rules: one per operator, in families."""

from __future__ import annotations

from onereshape.models.batch.rules import contractions, counting, indexing, layout, pointwise, reshape, spatial
from onereshape.models.batch.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: dict[str, Rule] = {
    **pointwise.RULES,
    **contractions.RULES,
    **counting.RULES,
    **layout.RULES,
    **reshape.RULES,
    **indexing.RULES,
    **spatial.RULES,
}
"""By operator; those of other domains than ONNX's are written `domain::operator`."""
