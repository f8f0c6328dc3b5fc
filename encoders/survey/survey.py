"""The authored survey as a value: what its author decided, before any table is designed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from encoders.survey.compiling import questions_of
from encoders.survey.features import Feature, Label, entries
from encoders.survey.plan import Plan
from encoders.survey.projection import Projection


@dataclass(frozen=True)
class Survey:
    """An authored survey, checked but not yet compiled.

    Attributes
    ----------
    id : str
    epsilon : Decimal
        Budget of one report.
    label : Label
    features : tuple of Feature
    weights : tuple of int
        Public weights of the questions: the label's first, then each feature's. The label's is None
        where the author says nothing: then it is asked on its own, with weight 1, only if no other
        question tells of it.
    frequency : str
        Mechanism of what is discrete, or "auto": the best of each question by closed-form variance.
    numeric : str
        Mechanism of numbers, or "auto".
    projection : Projection or None
        Gives some of the features their numbers, out of other numbers of the row.
    """

    id: str
    epsilon: Decimal
    label: Label
    features: tuple[Feature, ...]
    weights: tuple[int | None, ...]
    frequency: str = "auto"
    numeric: str = "auto"
    projection: Projection | None = None

    @property
    def entries(self) -> tuple[Feature, ...]:
        """What a row must hold: the projection's inputs, and the features that are not projected."""
        return entries(self.features, self.projection)

    def compile(self) -> Plan:
        """Design every question's tables for `epsilon`, prove them, and return the plan.

        Raises
        ------
        SurveyError, PrivacyError
        """
        return Plan(self.id, self.epsilon, self.label, self.features, questions_of(self), self.projection)
