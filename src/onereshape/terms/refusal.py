"""NotProven: what stops a term run.  It says nothing against the model."""

from __future__ import annotations


class NotProven(Exception):  # noqa: N818 - no error: something is not known
    """The term run has no answer; `why` is a sentence that names the operator, type or size."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class NeedsNumbers(NotProven):
    """An operator needs numbers where there are only terms: an input may serve as a size."""
