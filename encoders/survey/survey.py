"""The authored survey as a value, and its compilation: which questions, how often, by what mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, fsum, prod

from encoders.errors import SurveyError, map_collecting_errors
from encoders.mechanisms import (
    NUMERIC_MECHANISMS,
    FrequencyOracle,
    NumericDomain,
    NumericMechanism,
    design_numeric,
)
from encoders.mechanisms import design as design_oracle
from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.survey.compiler import label_weight
from encoders.survey.features import Feature, Label, entries
from encoders.survey.grouping import grouped
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.plan_checks import MAX_WEIGHT, OPEN
from encoders.survey.projection import Projection
from encoders.survey.questions import MEAN, SQUARE, Question, build_numeric_domain
from encoders.survey.validation_round import Validation


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
        where the author says nothing: then it is asked on its own if no other question tells of it, or
        if few `users` need it.
    frequency : str
        Mechanism of what is discrete, or "auto": the best of each question by closed-form variance.
    numeric : str
        Mechanism of numbers, or "auto".
    projection : Projection or None
        Gives some of the features their numbers, out of other numbers of the row.
    family : str
        See :class:`~encoders.survey.plan.Plan`; empty for the survey's own id.
    enrolment : str
        Who may answer: "open" or "token", see :mod:`encoders.survey.invitation`.
    users : int or None
        How many people are expected to answer, if the author says so; it decides the label's weight where
        the author says nothing of that, see :func:`label_weight`.
    validation : Validation or None
        A model that devices validate, see :meth:`with_validation`.
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
    users: int | None = None
    validation: Validation | None = None

    @property
    def entries(self) -> tuple[Feature, ...]:
        """What a row must hold: the projection's inputs, and the features that are not projected."""
        rows = self.validation or self
        return entries(rows.features, rows.projection)

    def with_validation(self, validation: Validation) -> Survey:
        """Return the survey that asks whether a model is right, as often with each of its tops."""
        return replace(
            self,
            label=validation.question_label,
            features=validation.question_features,
            weights=(0, *(1 for _ in validation.top_k)),
            projection=None,
            users=None,
            validation=validation,
        )

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
            self.validation,
        )


_Draft = tuple[tuple[int, ...], int, int | None, FrequencyOracle | NumericMechanism]
"""Of a question: the features asked about, its weight, its moment and its mechanism."""

_TOO_MANY = (
    "{:,} values{} x {:,} values of the label = {:,} combinations, and one question asks for at most "
    f"{MAX_DOMAIN:,}: merge rare values, use fewer bins, or do not ask for it (weight = 0)"
)
_UNTOLD = "0 leaves no question that tells of the label: give it a weight, or ask numbers by auto or sign"


class _Compiler:
    """Designs each mechanism once, whatever number of questions share it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.oracles: dict[int, FrequencyOracle] = {}
        self.numeric: dict[NumericDomain, NumericMechanism] = {}
        asked = zip(range(len(survey.features)), survey.features, survey.weights[1:], strict=True)
        self.asked = [(place, feature, weight) for place, feature, weight in asked if weight]
        self.numbers = [each for each in self.asked if isinstance(each[1], NumericFeature)]
        self.discrete = [each for each in self.asked if not isinstance(each[1], NumericFeature)]
        self.several = survey.numeric == "laplace"
        self.scale = 2 if self.numbers else 1

    def questions(self) -> Iterator[Question]:
        self.check_sizes()
        single = sorted([*self.categories(), *self.numbers_alone()], key=lambda draft: draft[0][0])
        coupled = [*single, *self.all_numbers()]
        drafts = [*self.label(coupled), *coupled]
        for index, (places, weight, moment, mechanism) in enumerate(drafts):
            survey = self.survey
            asked = tuple(survey.features[place] for place in places)
            more = survey.projection, survey.validation
            yield Question(index, survey.label, places, asked, weight, mechanism, moment, *more)

    def check_sizes(self) -> None:
        """Refuse every feature whose combinations of value and label are too many for one question."""
        labels = len(self.survey.label.values)
        if labels > MAX_DOMAIN:
            raise SurveyError(
                f"{labels:,} values are more than the {MAX_DOMAIN:,} of a question", "label.values"
            )
        map_collecting_errors(self.check_size, [feature for _, feature, _ in self.discrete])

    def check_size(self, feature: Feature) -> None:
        labels = len(self.survey.label.values)
        if feature.size * labels > MAX_DOMAIN:
            counted = " (the missing one too)" * (feature.missing == "category")
            why = _TOO_MANY.format(feature.size, counted, labels, feature.size * labels)
            raise SurveyError(why, f"features.{feature.name}")

    def label(self, coupled: Sequence[_Draft]) -> Iterator[_Draft]:
        told = self.is_told()
        weight = self.survey.weights[0]
        if weight == 0 and self.asked and not told:
            raise SurveyError(_UNTOLD, "label.weight")
        if weight is None:
            least, users = 0 if told else 1, self.survey.users
            weight = max(least, self.label_weight(coupled, users)) if coupled and users else least
        if weight:
            yield self.draft((), weight * self.scale, None)

    def label_weight(self, coupled: Sequence[_Draft], users: int) -> int:
        """Weigh the label against the average feature, see :func:`weights.label_weight`."""
        k = len(self.survey.label.values)
        total = sum(weight for _, weight, *_ in coupled)
        told = fsum(weight / _label_variance(mechanism, k) for _, weight, _, mechanism in coupled)
        alone = _label_variance(self.design((), None), k)
        mean = sum(weight for *_, weight in self.asked) / len(self.asked)
        weight = label_weight(users, total / (mean * self.scale), alone, told / total)
        return min(ceil(mean * weight), MAX_WEIGHT)

    def is_told(self) -> bool:
        """Tell whether the questions about features tell of the label too."""
        name = self.survey.numeric
        tells = name == "auto" or NUMERIC_MECHANISMS[name].estimates_prior
        return bool(self.asked) and (tells or len(self.numbers) < len(self.asked))

    def categories(self) -> Iterator[_Draft]:
        """Draft the questions about what is discrete; only "auto" asks about several features at once."""
        for weight in sorted({weight for _, _, weight in self.discrete}):
            alike = [(place, feature.size) for place, feature, each in self.discrete if each == weight]
            for group in self.groups([size for _, size in alike]):
                yield self.draft(tuple(alike[number][0] for number in group), weight * self.scale, None)

    def groups(self, sizes: Sequence[int]) -> list[tuple[int, ...]]:
        if self.survey.frequency == "auto":
            return grouped(sizes, len(self.survey.label.values), self.variance)
        return [(number,) for number in range(len(sizes))]

    def variance(self, domain: int, parts: int) -> float:
        return self.oracle(domain).uniform_variance(parts)

    def numbers_alone(self) -> Iterator[_Draft]:
        for place, _, weight in [] if self.several else self.numbers:
            yield self.draft((place,), weight, MEAN)
            yield self.draft((place,), weight, SQUARE)

    def all_numbers(self) -> Iterator[_Draft]:
        if self.several and self.numbers:
            places = tuple(place for place, _, _ in self.numbers)
            weight = sum(weight for _, _, weight in self.numbers)
            yield self.draft(places, weight, MEAN)
            yield self.draft(places, weight, SQUARE)

    def draft(self, places: tuple[int, ...], weight: int, moment: int | None) -> _Draft:
        asked = tuple(self.survey.features[place] for place in places)
        return places, weight, moment, self.design(asked, moment)

    def design(self, asked: tuple[Feature, ...], moment: int | None) -> FrequencyOracle | NumericMechanism:
        try:
            if moment is None:
                return self.oracle(prod(each.size for each in asked) * len(self.survey.label.values))
            form = build_numeric_domain(self.survey.label, asked, moment)
            if form not in self.numeric:
                self.numeric[form] = design_numeric(self.survey.numeric, form, self.survey.epsilon)
            return self.numeric[form]
        except SurveyError as error:
            name = f"features.{asked[0].name}" if asked else "label"
            raise type(error)(error.why, name) from error

    def oracle(self, domain: int) -> FrequencyOracle:
        if domain not in self.oracles:
            self.oracles[domain] = design_oracle(self.survey.frequency, domain, self.survey.epsilon)
        return self.oracles[domain]


def _label_variance(mechanism: FrequencyOracle | NumericMechanism, labels: int) -> float:
    if isinstance(mechanism, FrequencyOracle):
        return mechanism.uniform_variance(labels)
    return mechanism.label_variance
