"""The poisoning meter: whether reports look made up, and how far made-up ones could move the estimates.

It tells, and corrects nothing: which reports are made up is not known, and an estimate that was silently
mended could neither be checked nor added to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.survey import Question
from ldp_aggregator.estimation.alarms import SupportTests
from ldp_aggregator.estimation.poisoning.goodness_of_fit import Support
from ldp_aggregator.estimation.poisoning.influence import SHARE, Influence
from ldp_aggregator.snapshot import Snapshot

FALSE_ALARMS = 1e-6
"""Chance that any test of any question of an honest survey raises an alarm."""


@dataclass(frozen=True)
class QuestionMeter:
    """What the meter says of one question.

    Attributes
    ----------
    question, mechanism : str
    n : int
        Its reports.
    support : SupportTests or str
        Or why there are none.
    influences : tuple of Influence
        Of each figure that the question informs.
    """

    question: str
    mechanism: str
    n: int
    support: SupportTests | str
    influences: tuple[Influence, ...]

    @property
    def warning(self) -> str | None:
        """What a reader must know before trusting any figure that the question informs."""
        if isinstance(self.support, str) or not self.support.findings:
            return None
        found = "; ".join(self.support.findings)
        return f"some reports are not what devices send: {found}. Nothing was corrected"

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        tested = not isinstance(self.support, str)
        return {
            "question": self.question,
            "mechanism": self.mechanism,
            "n": self.n,
            "support": self.support.as_dict() if isinstance(self.support, SupportTests) else None,
            "untested": None if tested else self.support,
            "influence": {each.figure: each.as_dict() for each in self.influences},
        }


@dataclass(frozen=True)
class Poisoning:
    """What the meter says of a survey.

    Attributes
    ----------
    questions : tuple of QuestionMeter
    """

    questions: tuple[QuestionMeter, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "false_alarms": FALSE_ALARMS,
            "share": SHARE,
            "questions": [each.as_dict() for each in self.questions],
        }

    @property
    def lines(self) -> tuple[str, ...]:
        """What a model's card says: the alarms, and the worst that a hundredth of made-up reports can do."""
        tested = [each for each in self.questions if isinstance(each.support, SupportTests)]
        alarmed = [each.question for each in tested if each.warning]
        said = f"ALARM at {'; '.join(alarmed)}" if alarmed else "no alarm" if tested else "nothing to test"
        head = f"poisoning: {said}; {len(tested)} of {len(self.questions)} questions can be tested"
        return (head, *self._worst())

    def _worst(self) -> tuple[str, ...]:
        moves = [
            (float(np.nanmax(each.in_stderrs)), each, meter.question)
            for meter in self.questions
            for each in meter.influences
            if np.isfinite(each.in_stderrs).any()
        ]
        if not moves:
            return ()
        most, worst, question = max(moves, key=lambda move: move[0])
        at = f"  if {SHARE:.0%} of the reports at {question} were made up"
        return (f"{at}, they could move {worst.figure} by {most:.3g} standard errors",)


def measure(snapshot: Snapshot, influences: Mapping[int, Sequence[Influence]]) -> Poisoning:
    """Test every question of a survey.

    Parameters
    ----------
    snapshot : Snapshot
        With the support counters, where the store has them.
    influences : mapping of question index to the influences on its figures
    """
    questions = snapshot.plan.questions
    level = FALSE_ALARMS / (
        2 * max(sum(each.mechanism.support_counters is not None for each in questions), 1)
    )
    return Poisoning(
        tuple(
            QuestionMeter(
                each.name,
                each.mechanism.name,
                snapshot.totals[each.key].n if each.key in snapshot.totals else 0,
                _tests(snapshot, each, level),
                tuple(influences.get(each.index, ())),
            )
            for each in questions
        )
    )


def _tests(snapshot: Snapshot, question: Question, level: float) -> SupportTests | str:
    bits, counted = question.mechanism.support_counters, snapshot.totals.get(question.support_key)
    if bits is None:
        return f"a report of {question.mechanism.name} is no set of values: nothing tells a made-up one"
    if counted is None:
        return "the collector did not count which values reports support together"
    return SupportTests.from_support(question, Support.from_cells(bits, counted.cells), level)
