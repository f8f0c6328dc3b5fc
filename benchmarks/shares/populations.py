"""Two populations whose true values are known: the respondents of a public survey, and made-up people.

A survey draws its people from the rows with replacement, so the values of the rows are the true ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, CategoricalFeature, NumericFeature, Plan, read_survey
from encoders.survey.features import Choices
from ldp_aggregator.estimation import FeatureResult, IntervalEstimate
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.estimation.intervals import estimate_conditional_intervals, estimate_share_intervals
from ldp_aggregator.estimation.number_result import NumberStatistics
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.odds_ratios import Comparison, estimate_class_correlation
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.relevance import UNKNOWN
from ldp_aggregator.rows.encode_table import encode_labels, encode_table
from ldp_aggregator.rows.table_input import read_text_columns
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""What is estimated, and of which entry of the row."""
Estimate = IntervalEstimate | Comparison

YRBSS, MADE_UP = "yrbss", "made-up"
MADE_UP_PEOPLE, MADE_UP_SEED = 50_000, 11
SHARE, MEAN, DEVIATION, MISSING = "P(value)", "mean", "standard deviation", "P(missing)"
CHOICE = "P(choice)"
DIFFERENCE, RISK_RATIO, ODDS_RATIO = COMPARISONS = "risk difference", "risk ratio", "odds ratio"
STATISTICS = (SHARE, CHOICE, MEAN, DEVIATION, MISSING, *COMPARISONS)

SURVEY = """
[survey]
id = "shares"
epsilon = {epsilon}
"""
YRBSS_LABEL = """
[label]
name = "gender"
values = ["female", "male"]
"""
YRBSS_FEATURES = """
[features.helmet]
values = ["never", "did not ride", "rarely", "always", "sometimes", "most of time"]
missing = "category"
[features.weight]
range = [25, 185]
missing = "category"
[features.habits]
choices = ["texts while driving", "active", "much television"]
"""
MADE_UP_LABEL = """
[label]
name = "ill"
values = ["yes", "no"]
"""
MADE_UP_FEATURES = """
[features.helmet]
values = ["a", "b", "c", "rare"]
[features.weight]
range = [0, 200]
missing = "category"
[features.habits]
choices = ["often", "sometimes", "seldom"]
"""
DISCRETE, NUMBER, TICKED = "helmet", "weight", "habits"


@dataclass(frozen=True)
class Population:
    """Rows of three entries (a value, a number and several answers) and a label of two classes."""

    name: str
    label_toml: str
    features_toml: str
    columns: Mapping[str, Sequence[object]]
    labels: Sequence[str]

    def plan(self, epsilon: str, labelled: bool) -> Plan:
        """Compile the survey about these entries."""
        label = self.label_toml if labelled else ""
        return read_survey(SURVEY.format(epsilon=epsilon) + label + self.features_toml).compile()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The coded rows; the same for each epsilon."""
        return encode_table(self.plan("1", True), self.columns)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The coded labels."""
        return encode_labels(self.plan("1", True), self.labels)

    @cached_property
    def truths(self) -> dict[Key, Floats]:
        """The true value of every estimate."""
        helmet, numbers = self.codes[:, 0], np.array(self.columns[NUMBER], dtype=np.float64)
        ticked, present = self.codes[:, 2:], numbers[~np.isnan(numbers)]
        size = self.plan("1", True).features[0].size
        values = (helmet[:, None] == np.arange(size)).astype(np.float64)
        found = {
            (SHARE, DISCRETE): values.mean(axis=0),
            (CHOICE, TICKED): ticked.mean(axis=0),
            (MEAN, NUMBER): np.array([present.mean()]),
            (DEVIATION, NUMBER): np.array([present.std()]),
            (MISSING, NUMBER): np.array([np.isnan(numbers).mean()]),
        }
        for name, table in ((DISCRETE, values), (TICKED, ticked)):
            first, second = (table[self.classes == label].mean(axis=0) for label in (0, 1))
            found[DIFFERENCE, name] = first - second
            found[RISK_RATIO, name] = first / second
            found[ODDS_RATIO, name] = first / (1 - first) / (second / (1 - second))
        return found

    def width(self, statistic: str) -> float:
        """Return the width of a statistic's whole range."""
        number = self.plan("1", True).features[1]
        assert isinstance(number, NumericFeature)
        low, high = number.bounds
        widths = {MEAN: high - low, DEVIATION: (high - low) / 2, DIFFERENCE: 2.0}
        return widths.get(statistic, np.inf if statistic in COMPARISONS else 1.0)

    def survey(self, plan: Plan, people: int, seed: Sequence[int]) -> dict[Key, Estimate]:
        """Draw people, let each send one report, and return all estimates."""
        rows = np.random.default_rng([*seed, 1]).integers(0, len(self.codes), people)
        devices = FastStream(np.random.SeedSequence([*seed, 2]))
        labels = self.classes if plan.label.exists else np.zeros_like(self.classes)
        return collect_estimates(simulate_reports(plan, self.codes, labels, devices, rows))


def collect_estimates(snapshot: Snapshot) -> dict[Key, Estimate]:
    """Return what `estimate_snapshot` returns of these statistics, in a third of the time."""
    raw, features = compute_raw_estimates(snapshot), snapshot.plan.features
    results = []
    found: dict[Key, Estimate] = {}
    for feature, each in zip(features, raw.feature_estimates, strict=True):
        if isinstance(each, ClassMoments):
            assert isinstance(feature, NumericFeature)
            overall = NumberStatistics.from_moments(feature, AllClasses.from_classes(each))
            found[MEAN, feature.name], found[DEVIATION, feature.name] = overall.means, overall.deviations
            if overall.missing:
                found[MISSING, feature.name] = overall.missing
        else:
            assert each is not None
            assert not isinstance(feature, NumericFeature)
            results.append((feature, _describe(feature, each, raw.k)))
    for entry, result in join_choices(*zip(*results, strict=True)):
        assert isinstance(result, FeatureResult)
        found[CHOICE if isinstance(entry, Choices) else SHARE, result.name] = result.shares
        found |= {(kind, result.name): each for kind, each in result.comparisons.items()}
    return found


def _describe(feature: CategoricalFeature | BinnedFeature, raw: TableEstimate, k: int) -> FeatureResult:
    """Return the shares and the shares by class; the other parts are left out."""
    conditionals = estimate_conditional_intervals(raw, k)
    return FeatureResult(
        name=feature.name,
        kind=feature.kind,
        values=tuple(feature.texts),
        mechanism=raw.mechanism,
        n=raw.n,
        asked_with=(),
        shares=estimate_share_intervals(raw, k),
        frequencies=conditionals,
        conditionals=conditionals,
        distinguishable_entries=np.zeros(feature.size, dtype=bool),
        relevance=UNKNOWN,
        correlation=estimate_class_correlation(raw) if k == 2 else None,
    )


@lru_cache(maxsize=2)
def read_population(name: str, directory: Path | None) -> Population:
    """Return a population by its name; the public survey is read from yrbss.csv in the directory."""
    if name == MADE_UP:
        return make_up()
    assert directory is not None
    columns = read_text_columns(directory / "yrbss.csv")
    rows = [row for row, gender in enumerate(columns["gender"]) if gender]
    texts = {column: [cells[row] for row in rows] for column, cells in columns.items()}
    weights = [float(cell) if cell else np.nan for cell in texts["weight"]]
    return Population(
        YRBSS,
        YRBSS_LABEL,
        YRBSS_FEATURES,
        {
            DISCRETE: [cell or None for cell in texts["helmet_12m"]],
            NUMBER: weights,
            TICKED: list(_read_habits(texts)),
        },
        texts["gender"],
    )


def _read_habits(texts: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the habits of each respondent; an unanswered question counts as no."""
    columns = ("text_while_driving_30d", "physically_active_7d", "hours_tv_per_school_day")
    for texting, active, television in zip(*(texts[name] for name in columns), strict=True):
        ticks = (
            texting not in ("", "0", "did not drive"),
            active in ("5.0", "6.0", "7.0"),
            television in ("4", "5+"),
        )
        yield [
            habit
            for habit, ticked in zip(("texts while driving", "active", "much television"), ticks, strict=True)
            if ticked
        ]


def make_up() -> Population:
    """Return people with a rare value, a skewed number, and answers of 50, 20 and 4% of people."""
    rng = np.random.default_rng(MADE_UP_SEED)
    ill = rng.random(MADE_UP_PEOPLE) < 0.3
    given = np.where(ill[:, None], [0.3, 0.4, 0.25, 0.05], [0.5, 0.35, 0.14, 0.01])
    values = (rng.random((MADE_UP_PEOPLE, 1)) >= given.cumsum(axis=1)[:, :-1]).sum(axis=1)
    numbers = np.minimum(rng.gamma(2.0, np.where(ill, 30.0, 20.0)), 200.0)
    numbers[rng.random(MADE_UP_PEOPLE) < 0.15] = np.nan
    ticks = rng.random((MADE_UP_PEOPLE, 3)) < np.where(ill[:, None], [0.6, 0.3, 0.08], [0.45, 0.15, 0.02])
    choices = np.array(["often", "sometimes", "seldom"])
    return Population(
        MADE_UP,
        MADE_UP_LABEL,
        MADE_UP_FEATURES,
        {
            DISCRETE: np.array(["a", "b", "c", "rare"])[values].tolist(),
            NUMBER: numbers.tolist(),
            TICKED: [choices[row].tolist() for row in ticks],
        },
        np.where(ill, "yes", "no").tolist(),
    )
