"""Compiles a survey to questions: chooses the features, the weight and the mechanism of each question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil, fsum, lcm, prod
from statistics import fmean
from typing import NamedTuple, cast

from encoders.errors import SurveyError, map_collecting_errors
from encoders.mechanisms import (
    DE,
    FrequencyOracle,
    Laplace,
    NumericDomain,
    NumericMechanism,
    design,
    design_numeric,
    estimates_both_better,
)
from encoders.mechanisms.auto_choice import AUTO
from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.survey.auto_questions import CrossTable, choose_widths, group_features
from encoders.survey.compiled_plan import LOCAL, OPEN
from encoders.survey.features import MEAN_ALONE, NO_LABEL, Feature, Label, NumericFeature
from encoders.survey.plan_checks import MAX_WEIGHT
from encoders.survey.projection import Projection
from encoders.survey.questions import (
    BOTH,
    MEAN,
    SQUARE,
    Question,
    build_numeric_domain,
    count_values,
    find_shift,
    join_values,
)
from encoders.survey.relay import Relay
from encoders.survey.relay_promise import EQUAL
from encoders.survey.texts import SurveyTexts
from encoders.survey.validation_round import Validation
from encoders.survey.waves import Series, Waves

MAX_PRIOR_ERROR = 0.1
"""Standard error of P(label) that is small enough: informative features still determine the prediction."""
MIN_INFORMATION_RATIO = 1.5
"""Factor by which a question about the label alone must be more informative about it than other questions."""
MAX_LABEL_WEIGHT = 8
"""Largest weight of the question about the label alone, as a multiple of a feature's weight."""

_TOO_MANY_COMBINATIONS = (
    "{:,} values{} x {:,} values of the label = {:,} combinations, and one question asks for at most "
    f"{MAX_DOMAIN:,}: merge rare values, use fewer bins, or do not ask for it (weight = 0)"
)
_TOO_MANY_VALUES = (
    f"{{:,}} values{{}}, and one question asks for at most {MAX_DOMAIN:,}: merge rare values, use fewer "
    "bins, or do not ask for it (weight = 0)"
)
_NO_LABEL_QUESTION = (
    "0 leaves no question that estimates the label's prior: give the label a weight above 0, or set "
    'mechanism.numeric to "auto" or "sign"'
)


class _Draft(NamedTuple):
    """A question without its index in the plan."""

    feature_indices: tuple[int, ...]
    weight: int
    moment: int | None
    mechanism: FrequencyOracle | NumericMechanism
    label: Label
    width: int = 1


@dataclass(frozen=True, kw_only=True)
class AuthoredSurvey:
    """What an author states of a survey; see :class:`~encoders.survey.survey.Survey`."""

    id: str
    epsilon: Decimal
    """Privacy budget of what one person sends: one report, or with `relay.ask` "all" all answers together."""
    label: Label
    features: tuple[Feature, ...]
    weights: tuple[int | None, ...]
    """Public weights of the questions: the label's first, then each feature's. The label's weight is None
    if the author gives none. The label is then asked for alone if no other question estimates its
    prior, or if few `users` are expected."""
    frequency: str = "auto"
    """Mechanism of discrete questions, or "auto": the one with the least closed-form variance for each."""
    numeric: str = "auto"
    projection: Projection | None = None
    tables: tuple[CrossTable, ...] = ()
    family: str = ""
    enrolment: str = OPEN
    """Who may answer: "open" or "token", see :mod:`encoders.survey.invitation`."""
    users: int | None = None
    """Number of people who are expected to answer, if the author gives it. Intervals during the survey are
    narrowest there, and it can determine the label's weight, see
    :func:`compute_label_weight`."""
    validation: Validation | None = None
    """A model that devices validate, see :meth:`~encoders.survey.survey.Survey.with_validation`."""
    relay: Relay | None = None
    divide: str = EQUAL
    """How epsilon is divided among the questions if each person answers all: "equal" parts, or "margins",
    see :mod:`encoders.survey.relay_promise`."""
    texts: SurveyTexts | None = None
    waves: Waves | None = None
    series: Series | None = None
    kind: str = LOCAL
    """One of "local", or "central" for a curator. A central survey is not compiled, and its epsilon not
    used."""

    @property
    def asks_all(self) -> bool:
        return self.relay is not None and self.relay.asks_all


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """Makes the questions of the people of a survey, or of one wave; each mechanism is designed once.

    If each person answers all questions, every rule that divides people is off.
    """

    survey: AuthoredSurvey
    epsilon: Decimal
    """Of one question."""
    joins_moments: bool = False
    """Whether "auto" asks for each number in one question if each person answers all. If they answer one,
    it does where that estimates both moments better."""
    _oracles: dict[int, FrequencyOracle] = field(init=False, default_factory=dict)
    _numeric_mechanisms: dict[NumericDomain, NumericMechanism] = field(init=False, default_factory=dict)

    def compile_questions(self) -> tuple[Question, ...]:
        """Return the questions in the order of a plan: the label, the features, all numbers at once."""
        self._check_sizes()
        weighted = {index: weight for index, weight in enumerate(self.survey.weights[1:]) if weight}
        numbers = [index for index in weighted if isinstance(self.survey.features[index], NumericFeature)]
        widths = self._choose_levels(weighted, numbers)
        moments = {index: self._choose_moments(index) for index in numbers}
        # a number is one question or two, and an ordered feature one for each of its levels
        scale = lcm(*map(len, moments.values()), *map(len, widths.values()))
        # 1. features with a list of values, each number alone, and tables
        drafts = list(self._draft_discrete(weighted, numbers, widths, scale))
        if self.survey.numeric != Laplace.name:
            drafts += [
                self._draft((index,), weighted[index] * scale // len(asked), moment)
                for index, asked in moments.items()
                for moment in asked
            ]
        for table in self.survey.tables:
            label = self.survey.label if table.with_label else NO_LABEL
            drafts.append(self._draft(table.feature_indices, table.weight * scale, None, label))
        drafts.sort(key=lambda draft: draft.feature_indices[0])
        # 2. or all numbers at once
        if self.survey.numeric == Laplace.name and numbers:
            weight = sum(weighted[index] for index in numbers) * scale // 2
            drafts += [self._draft(tuple(numbers), weight, moment) for moment in (MEAN, SQUARE)]
        # 3. the label alone, if the others do not estimate its prior, or not well enough
        if weight := self._choose_label_weight(drafts, weighted, scale):
            drafts.insert(0, self._draft((), weight * scale, None))
        return tuple(self._build_question(index, draft) for index, draft in enumerate(drafts))

    def _build_question(self, index: int, draft: _Draft) -> Question:
        asked = tuple(self.survey.features[each] for each in draft.feature_indices)
        shift = 0
        if draft.width > 1:
            shift, asked = find_shift(asked[0], draft.width), (join_values(asked[0], draft.width),)
        return Question(
            index=index,
            label=draft.label,
            feature_indices=draft.feature_indices,
            asked_features=asked,
            weight=1 if self.survey.asks_all else draft.weight,
            mechanism=draft.mechanism,
            width=draft.width,
            shift=shift,
            moment=draft.moment,
            projection=self.survey.projection,
            validation=self.survey.validation,
        )

    def _check_sizes(self) -> None:
        labels = len(self.survey.label.values)
        if labels > MAX_DOMAIN:
            raise SurveyError(
                f"{labels} values are more than the {MAX_DOMAIN} that a question may have: merge rare values",
                "label.values",
            )
        weighted = zip(self.survey.features, self.survey.weights[1:], strict=True)
        discrete = [each for each, weight in weighted if weight and not isinstance(each, NumericFeature)]
        map_collecting_errors(self._check_size, discrete)

    def _check_size(self, feature: Feature) -> None:
        labels = len(self.survey.label.values)
        if feature.size * labels > MAX_DOMAIN:
            counted = " (the missing one too)" * (feature.missing == "category")
            why = _TOO_MANY_COMBINATIONS.format(feature.size, counted, labels, feature.size * labels)
            if not self.survey.label.exists:
                why = _TOO_MANY_VALUES.format(feature.size, counted)
            raise SurveyError(why, f"features.{feature.name}")

    def _choose_levels(
        self, weighted: Mapping[int, int], numbers: Sequence[int]
    ) -> dict[int, tuple[int, ...]]:
        """Return the widths of intervals of ordered features; a label's classifier needs single values."""
        if self.survey.frequency != AUTO or self.survey.label.exists or self.survey.asks_all:
            return {}
        features = self.survey.features
        ordered = [index for index in weighted if index not in numbers and features[index].ordered]
        chosen = {index: self._choose_widths(features[index]) for index in ordered}
        return {index: widths for index, widths in chosen.items() if len(widths) > 1}

    def _choose_widths(self, feature: Feature) -> tuple[int, ...]:
        values = count_values(feature)

        def variance(intervals: int) -> float:
            return self._oracle(intervals + feature.size - values).independent_variance

        return choose_widths(values, variance)

    def _choose_moments(self, index: int) -> tuple[int, ...]:
        feature = self.survey.features[index]
        assert isinstance(feature, NumericFeature)
        if feature.moments == MEAN_ALONE:
            if self.survey.numeric != AUTO:
                raise SurveyError(
                    'is for mechanism.numeric = "auto": delete one of them',
                    f"features.{feature.name}.moments",
                )
            return (BOTH,)
        if self.survey.numeric != AUTO:
            return MEAN, SQUARE
        try:
            one = self._design_number((feature,), BOTH)
        except SurveyError:  # too many classes
            return MEAN, SQUARE
        if self.survey.asks_all:
            return (BOTH,) if self.joins_moments else (MEAN, SQUARE)
        mean, square = (self._design_number((feature,), moment) for moment in (MEAN, SQUARE))
        return (BOTH,) if estimates_both_better(one, mean, square, share=0.5) else (MEAN, SQUARE)

    def _draft_discrete(
        self,
        weighted: Mapping[int, int],
        numbers: Sequence[int],
        levels: Mapping[int, tuple[int, ...]],
        scale: int,
    ) -> Iterator[_Draft]:
        """Yield the questions about listed values; only "auto" asks about several features at once."""
        tabulated = {index for table in self.survey.tables for index in table.feature_indices}
        for index, widths in levels.items():
            for width in widths:
                weight = weighted[index] * scale // len(widths)
                yield self._draft((index,), weight, None, width=width)
        for index in tabulated & weighted.keys() - levels.keys():
            yield self._draft((index,), weighted[index] * scale, None)
        apart = {*numbers, *levels, *tabulated}
        discrete = [index for index in weighted if index not in apart]
        for weight in sorted({weighted[index] for index in discrete}):
            equal = [index for index in discrete if weighted[index] == weight]
            groups: list[tuple[int, ...]] = [(place,) for place in range(len(equal))]
            if self.survey.frequency == AUTO and not self.survey.asks_all:
                sizes = [self.survey.features[index].size for index in equal]
                groups = group_features(sizes, len(self.survey.label.values), self._variance)
            for group in groups:
                yield self._draft(tuple(equal[place] for place in group), weight * scale, None)

    def _variance(self, domain: int, parts: int) -> float:
        return self._oracle(domain).uniform_variance(parts)

    def _choose_label_weight(self, drafts: Sequence[_Draft], weighted: Mapping[int, int], scale: int) -> int:
        if not self.survey.label.exists:
            return 0
        informing = [draft for draft in drafts if draft.label.exists]
        estimated = any(
            isinstance(each.mechanism, FrequencyOracle) or each.mechanism.estimates_prior
            for each in informing
        )
        weight = self.survey.weights[0]
        if weight == 0 and drafts and not estimated:
            raise SurveyError(_NO_LABEL_QUESTION, "label.weight")
        if weight is not None:
            return weight
        if self.survey.asks_all:
            return int(not estimated)
        least = 0 if estimated else 1
        if not (drafts and self.survey.users):
            return least
        k = len(self.survey.label.values)
        total = sum(draft.weight for draft in drafts)
        information = fsum(draft.weight / _label_variance(draft.mechanism, k) for draft in informing) / total
        alone = _label_variance(self._design((), None, self.survey.label), k)
        mean = fmean([*weighted.values(), *(table.weight for table in self.survey.tables)])
        multiple = compute_label_weight(self.survey.users, total / (mean * scale), alone, information)
        return max(least, min(ceil(mean * multiple), MAX_WEIGHT))

    def _draft(
        self,
        indices: tuple[int, ...],
        weight: int,
        moment: int | None,
        label: Label | None = None,
        width: int = 1,
    ) -> _Draft:
        label = label or self.survey.label
        return _Draft(indices, weight, moment, self._design(indices, moment, label, width), label, width)

    def _design(
        self, indices: tuple[int, ...], moment: int | None, label: Label, width: int = 1
    ) -> FrequencyOracle | NumericMechanism:
        asked = tuple(self.survey.features[index] for index in indices)
        try:
            if moment is None:
                sizes = [join_values(asked[0], width).size] if width > 1 else [each.size for each in asked]
                return self._oracle(prod(sizes) * len(label.values))
            return self._design_number(asked, moment)
        except SurveyError as error:
            name = f"features.{asked[0].name}" if asked else "label"
            raise type(error)(error.why, name) from error

    def _design_number(self, asked: Sequence[Feature], moment: int) -> NumericMechanism:
        domain = build_numeric_domain(self.survey.label, asked, moment)
        if domain not in self._numeric_mechanisms:
            self._numeric_mechanisms[domain] = design_numeric(self.survey.numeric, domain, self.epsilon)
        return self._numeric_mechanisms[domain]

    def _oracle(self, domain: int) -> FrequencyOracle:
        if domain not in self._oracles:
            # direct encoding is the best at an equal promise, and its promise has a closed form
            name = self.survey.frequency
            if self.survey.asks_all and name == AUTO:
                name = DE.name
            self._oracles[domain] = design(name, domain, self.epsilon)
        return self._oracles[domain]


def estimate_all_better(joined: Sequence[Question], apart: Sequence[Question]) -> bool:
    """Return whether one question for each number estimates all moments better, if the same people answer."""
    one, two = (
        {(each.feature_indices, each.moment): cast(NumericMechanism, each.mechanism) for each in some}
        for some in (joined, apart)
    )
    return all(
        estimates_both_better(one[index, BOTH], two[index, MEAN], two[index, SQUARE], share=1)
        for index, moment in one.keys() - two.keys()
    )


def compute_label_weight(users: int, features: float, alone: float, information: float) -> float:
    """Return the weight of the question about the label alone, as a multiple of a feature's weight.

    It is zero if the questions about features estimate P(label) with a standard error of at most
    MAX_PRIOR_ERROR, or almost as well as a question about the label alone. Otherwise it gives this standard
    error, but is at most MAX_LABEL_WEIGHT. All inputs are public. `features` is the weight of all questions
    about features, as a multiple of a feature's weight. `alone` is the variance of one report's estimate of
    P(label) if the label is asked for alone, and `information` the average of one over this variance.
    """
    needed = 1 / (MAX_PRIOR_ERROR**2 * users) - information
    gained = 1 / alone - information
    if needed <= 0 or 1 / alone < MIN_INFORMATION_RATIO * information:
        return 0.0
    share = needed / gained
    return min(features * share / (1 - share), MAX_LABEL_WEIGHT) if share < 1 else MAX_LABEL_WEIGHT


def _label_variance(mechanism: FrequencyOracle | NumericMechanism, labels: int) -> float:
    if isinstance(mechanism, FrequencyOracle):
        return mechanism.uniform_variance(labels)
    return mechanism.label_variance
