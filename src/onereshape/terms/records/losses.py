"""Losses: for each place its scores of all classes, its label, and the weights of all classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.along import softmax
from onereshape.terms.records.content import content, content_of
from onereshape.terms.tensor import Tensor


def _loss(call: Call) -> Sequence[Tensor]:
    scores, labels = call.tensor(0), call.tensor(1)
    if scores.rank < 2 or labels.shape != (scores.shape[0], *scores.shape[2:]):
        call.refuse(f"labels of {list(labels.shape)} do not go with scores of {list(scores.shape)}")
    operands = [content(call, scores, (1,)), labels.hashed(call.hashing)]
    if call.has(2):
        weights = call.tensor(2)
        if weights.shape != (scores.shape[1],):
            call.refuse(f"{list(weights.shape)} weights are not those of {scores.shape[1]} classes")
        operands.append(content(call, weights, (0,)))
    found = call.mixed(scores.dtype, call.key(call.attribute("ignore_index"), call.has(2)), *operands)
    how = call.attribute("reduction", "mean")
    if how not in {"none", "sum", "mean"}:
        call.refuse(f"there is no reduction {how!r}")
    if how != "none":
        found = call.mixed(scores.dtype, call.key(how), content_of(call, found.array, range(found.rank)))
    if call.op == "SoftmaxCrossEntropyLoss":
        return [found, softmax(call, scores, (1,), "LogSoftmax")]
    return [found]


RECORDS: Final[dict[str, Record]] = dict.fromkeys(
    ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), record(_loss)
)
