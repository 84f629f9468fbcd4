"""The certificate of a repair in two steps: other dims first, and then the batch of what came out."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from onereshape.prove.certificate import Certificate, Status

_ORDER: Final[tuple[Status, ...]] = (
    "failed",
    "differs",
    "not proven",
    "out-of-time",
    "untested",
    "unwitnessed",
    "fitted",
    "certified",
    "equivalent",
    "proven",
)
"""The statuses of a certificate, the weakest first."""


def joined(first: Certificate | None, second: Certificate | None) -> Certificate | None:
    """The certificate of both steps, with the weaker of their statuses: the second, with the first as its `basis`.

    A step that changed nothing has none.
    """
    if first is None or second is None:
        return first or second
    status = min(first.status, second.status, key=_ORDER.index)
    then = f"then the batch, beside that model sample by sample, {second.status}: {second.reason}"
    reason = f"other dims, {first.status}: {first.reason}; {then}"
    example = second.counterexample or first.counterexample
    return replace(second, status=status, reason=reason, basis=first, counterexample=example)
