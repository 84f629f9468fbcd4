"""Truth: whoever says what is wanted of the repaired model: the original sample by sample or whole, other exports.

A truth draws what the original is asked, says what terms and runs are put beside each other, and what can still be seen
where it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onereshape.prove.engines.engine import Session
from onereshape.prove.evidence import Terms
from onereshape.prove.runs.asking import OriginalAnswers, OriginalQuestion
from onereshape.prove.runs.extremes import Extreme
from onereshape.prove.runs.settings import Chooser
from onereshape.prove.runs.term_runs import Settings


class Truth(Protocol):
    """What is asked of the original, and what the repaired model is put beside."""

    @property
    def chooser(self) -> Chooser:
        """The settings that there are."""

    @property
    def settings(self) -> Settings | None:
        """The settings, where there is one alone and nobody need be asked for it."""

    def question(self) -> OriginalQuestion:
        """What the original is asked; little where terms prove the repaired model already."""

    def listen(self, asked: OriginalAnswers) -> None:
        """Asks whoever else knows an answer."""

    def terms(self, settings: Settings) -> list[Terms]:
        """What terms show in these settings."""

    def unusual(self, asked: OriginalAnswers) -> Sequence[Sequence[Extreme]]:
        """Answers to values beyond the usual: in inputs that each sample has for itself; in those that all share."""

    def compare(self, session: Session, asked: OriginalAnswers) -> None:
        """Puts the repaired model beside the answers."""

    def compare_unusual(self, session: Session, groups: Sequence[Sequence[Extreme]]) -> None:
        """Puts it beside the answers to values beyond the usual."""

    def look_further(self, session: Session, asked: OriginalAnswers) -> None:
        """Runs it where nobody has a whole answer: at other sizes, beside other neighbours."""
