"""The authored survey as a value, and its compilation: which questions, how often, by what mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from encoders.errors import SurveyError
from encoders.mechanisms import NUMERIC_MECHANISMS, Form, FrequencyOracle, NumericMechanism, design_numeric
from encoders.mechanisms import design as design_oracle
from encoders.survey.checks import OPEN
from encoders.survey.features import Feature, Label, entries
from encoders.survey.numbers import NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.projection import Projection
from encoders.survey.questions import MEAN, SQUARE, Question, form_of


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
    family : str
        See :class:`~encoders.survey.plan.Plan`; empty for the survey's own id.
    enrolment : str
        Who may answer: "open" or "token", see :mod:`encoders.survey.enrolment`.
    """

    id: str
    epsilon: Decimal
    label: Label
    features: tuple[Feature, ...]
    weights: tuple[int | None, ...]
    frequency: str = "auto"
    numeric: str = "auto"
    projection: Projection | None = None
    family: str = ""
    enrolment: str = OPEN

    @property
    def entries(self) -> tuple[Feature, ...]:
        """What a row must hold: the projection's inputs, and the features that are not projected."""
        return entries(self.features, self.projection)

    def compile(self) -> Plan:
        """Design every question's tables for `epsilon`, prove them, and return the plan.

        A numeric feature is two questions, mean and square, each with the feature's weight; then all
        other weights count double, so that a feature is asked about as often as its weight says.
        `laplace` asks for all numbers at once, as often as for all of them together.

        Raises
        ------
        SurveyError, PrivacyError
            If no mechanism fits a question, or nothing would tell of the label.
        """
        questions = tuple(_Compiler(self).questions())
        return Plan(
            self.id,
            self.epsilon,
            self.label,
            self.features,
            questions,
            self.projection,
            self.family,
            self.enrolment,
        )


_UNTOLD = "0 leaves no question that tells of the label: give it a weight, or ask numbers by auto or sign"


class _Compiler:
    """Designs each mechanism once, whatever number of questions share it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.oracles: dict[int, FrequencyOracle] = {}
        self.numeric: dict[Form, NumericMechanism] = {}
        asked = zip(range(len(survey.features)), survey.features, survey.weights[1:], strict=True)
        self.asked = [(place, feature, weight) for place, feature, weight in asked if weight]
        self.numbers = [each for each in self.asked if isinstance(each[1], NumericFeature)]
        self.several = survey.numeric == "laplace"
        self.scale = 2 if self.numbers else 1

    def questions(self) -> Iterator[Question]:
        drafts = [*self.label(), *self.features(), *self.all_numbers()]
        for index, (places, weight, moment) in enumerate(drafts):
            asked = tuple(self.survey.features[place] for place in places)
            mechanism = self.design(asked, moment)
            survey = self.survey
            yield Question(index, survey.label, places, asked, weight, mechanism, moment, survey.projection)

    def label(self) -> Iterator[tuple[tuple[int, ...], int, int | None]]:
        told = self.is_told()
        weight = self.survey.weights[0]
        if weight == 0 and self.asked and not told:
            raise SurveyError(_UNTOLD, "label.weight")
        if weight is None:
            weight = 0 if told else 1
        if weight:
            yield (), weight * self.scale, None

    def is_told(self) -> bool:
        """Tell whether the questions about features tell of the label too."""
        name = self.survey.numeric
        tells = name == "auto" or NUMERIC_MECHANISMS[name].tells_label
        return bool(self.asked) and (tells or len(self.numbers) < len(self.asked))

    def features(self) -> Iterator[tuple[tuple[int, ...], int, int | None]]:
        for place, feature, weight in self.asked:
            if not isinstance(feature, NumericFeature):
                yield (place,), weight * self.scale, None
            elif not self.several:
                yield (place,), weight, MEAN
                yield (place,), weight, SQUARE

    def all_numbers(self) -> Iterator[tuple[tuple[int, ...], int, int | None]]:
        if self.several and self.numbers:
            places = tuple(place for place, _, _ in self.numbers)
            weight = sum(weight for _, _, weight in self.numbers)
            yield places, weight, MEAN
            yield places, weight, SQUARE

    def design(self, asked: tuple[Feature, ...], moment: int | None) -> FrequencyOracle | NumericMechanism:
        try:
            if moment is None:
                return self.oracle(asked)
            form = form_of(self.survey.label, asked, moment)
            if form not in self.numeric:
                self.numeric[form] = design_numeric(self.survey.numeric, form, self.survey.epsilon)
            return self.numeric[form]
        except SurveyError as error:
            name = f"features.{asked[0].name}" if asked else "label"
            raise type(error)(error.why, name) from error

    def oracle(self, asked: tuple[Feature, ...]) -> FrequencyOracle:
        domain = (asked[0].size if asked else 1) * len(self.survey.label.values)
        if domain not in self.oracles:
            self.oracles[domain] = design_oracle(self.survey.frequency, domain, self.survey.epsilon)
        return self.oracles[domain]
