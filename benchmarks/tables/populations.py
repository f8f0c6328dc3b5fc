"""Two populations with known tables and quantiles: respondents of a public survey, and made-up people.

A survey draws its people from the rows with replacement, so the values of the rows are the true ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.shares.populations import COMPARISONS, MADE_UP, SHARE, Estimate, Floats, Key
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, Plan, read_survey
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies
from ldp_aggregator.estimation.intervals import estimate_share_intervals
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.quantiles import PROBABILITIES, OrderedResult
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.table_result import describe_tables
from ldp_aggregator.rows.encode_table import encode_labels, encode_table
from ldp_aggregator.rows.table_input import read_text_columns
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot

Codes = NDArray[np.int64]

MADE_UP_PEOPLE, MADE_UP_SEED = 50_000, 13
CELL, ROW, COLUMN = "cell", "row percentage", "column percentage"
BELOW, QUANTILE, CLASS_BELOW, CLASS_QUANTILE = "P(x < t)", "quartile", "P(x < t), class", "quartile, class"
STATISTICS = (CELL, ROW, COLUMN, *COMPARISONS, SHARE, BELOW, QUANTILE, CLASS_BELOW, CLASS_QUANTILE)

SURVEY = """
[survey]
id = "tables"
epsilon = {epsilon}
{label}
[features.group]
values = {groups}
[features.first]
values = ["yes", "no"]
alone = true
[features.second]
values = ["yes", "no"]
[features.number]
range = {range}
bins = {bins}
[tables.groups]
features = ["group", "first"]
[tables.both]
features = ["first", "second"]
"""
LABEL = '[label]\nname = "label"\nvalues = ["yes", "no"]\n'
BINS = 64
GROUP, FIRST, SECOND, NUMBER = "group", "first", "second", "number"


@dataclass(frozen=True)
class TablePopulation:
    """Rows of a value, two answers yes or no and a number, and a label of two classes.

    The first answer is asked alone and in both tables; the number has several levels.
    """

    groups: Sequence[str]
    bounds: tuple[int, int]
    columns: Mapping[str, Sequence[object]]
    labels: Sequence[str]

    def plan(self, epsilon: str, labelled: bool) -> Plan:
        """Compile the survey; the tables are about values without the label."""
        groups, bounds = (str(list(each)).replace("'", '"') for each in (self.groups, self.bounds))
        label = LABEL if labelled else ""
        text = SURVEY.format(epsilon=epsilon, label=label, groups=groups, range=bounds, bins=BINS)
        return read_survey(text).compile()

    @cached_property
    def codes(self) -> Codes:
        """The coded rows; the same for each epsilon."""
        return encode_table(self.plan("1", True), self.columns)

    @cached_property
    def classes(self) -> Codes:
        """The coded labels."""
        return encode_labels(self.plan("1", True), self.labels)

    @cached_property
    def truths(self) -> dict[Key, Floats]:
        """The true value of every estimate."""
        group, first, second, binned = self.codes.T
        numbers = np.array(self.columns[NUMBER], dtype=np.float64)
        found: dict[Key, Floats] = {(SHARE, FIRST): np.bincount(first) / len(first)}
        for name, rows, columns in (
            (f"{GROUP} x {FIRST}", group, first),
            (f"{FIRST} x {SECOND}", first, second),
        ):
            cells = np.zeros((rows.max() + 1, 2))
            np.add.at(cells, (rows, columns), 1 / len(rows))
            found[CELL, name] = cells
            found[ROW, name] = cells / cells.sum(axis=1, keepdims=True)
            found[COLUMN, name] = given = cells / cells.sum(axis=0)
            a, b = given.T
            compared = (a - b, a / b, a / (1 - a) / (b / (1 - b)))
            found |= {(kind, name): each for kind, each in zip(COMPARISONS, compared, strict=True)}
        everyone = np.ones(len(binned), dtype=np.bool_)
        groups = [everyone, self.classes == 0, self.classes == 1]
        below = [np.bincount(binned[each], minlength=BINS)[:-1].cumsum() / each.sum() for each in groups]
        quartiles = [np.quantile(numbers[each], PROBABILITIES) for each in groups]
        found |= {(BELOW, NUMBER): below[0], (QUANTILE, NUMBER): quartiles[0]}
        found[CLASS_BELOW, NUMBER] = np.stack(below[1:], axis=1)
        found[CLASS_QUANTILE, NUMBER] = np.stack(quartiles[1:], axis=1)
        return found

    def width(self, statistic: str) -> float:
        """Return the width of a statistic's whole range."""
        if statistic in (QUANTILE, CLASS_QUANTILE):
            return float(self.bounds[1] - self.bounds[0])
        return {COMPARISONS[0]: 2.0}.get(statistic, np.inf if statistic in COMPARISONS else 1.0)

    def survey(self, plan: Plan, people: int, seed: Sequence[int]) -> dict[Key, Estimate]:
        """Draw people, let each send one report, and return all estimates."""
        rows = np.random.default_rng([*seed, 1]).integers(0, len(self.codes), people)
        devices = FastStream(np.random.SeedSequence([*seed, 2]))
        labels = self.classes if plan.label.exists else np.zeros_like(self.classes)
        return collect_estimates(simulate_reports(plan, self.codes, labels, devices, rows))


def collect_estimates(snapshot: Snapshot) -> dict[Key, Estimate]:
    """Return the statistics that the benchmark measures, as `estimate_snapshot` computes them."""
    raw, plan = compute_raw_estimates(snapshot), snapshot.plan
    found: dict[Key, Estimate] = {}
    for table in describe_tables(raw.tables):
        parts = (table.cells, table.row_shares, table.column_shares)
        found |= {(kind, table.name): each for kind, each in zip((CELL, ROW, COLUMN), parts, strict=True)}
        found |= {(kind, table.name): each for kind, each in table.comparisons.items()}
    places = {feature.name: place for place, feature in enumerate(plan.features)}
    first, number = raw.share_estimates[places[FIRST]], plan.features[places[NUMBER]]
    joint, shares = (each[places[NUMBER]] for each in (raw.feature_estimates, raw.share_estimates))
    assert isinstance(first, CombinedFrequencies)
    assert isinstance(number, BinnedFeature)
    assert not isinstance(joint, ClassMoments)
    assert not isinstance(shares, ClassMoments)
    found[SHARE, FIRST] = estimate_share_intervals(first, 1)
    ordered = OrderedResult.from_estimates(number, joint, shares, raw.k)
    found |= {(BELOW, NUMBER): ordered.cumulative, (QUANTILE, NUMBER): ordered.quantiles}
    if plan.label.exists:
        found[CLASS_BELOW, NUMBER] = ordered.by_class
        found[CLASS_QUANTILE, NUMBER] = ordered.class_quantiles
    return found


@lru_cache(maxsize=2)
def read_table_population(name: str, directory: Path | None) -> TablePopulation:
    """Return a population by its name; the public survey is read from yrbss.csv in the directory."""
    if name == MADE_UP:
        return make_up_tables()
    assert directory is not None
    columns = read_text_columns(directory / "yrbss.csv")
    asked = ("helmet_12m", "gender", "text_while_driving_30d", "weight", "hispanic")
    rows = [row for row in zip(*(columns[name] for name in asked), strict=True) if all(row)]
    helmets, genders, texts, weights, origins = zip(*rows, strict=True)
    return TablePopulation(
        groups=sorted(set(helmets)),
        bounds=(25, 185),
        columns={
            GROUP: helmets,
            FIRST: ["yes" if each == "female" else "no" for each in genders],
            SECOND: ["no" if each in ("0", "did not drive") else "yes" for each in texts],
            NUMBER: [float(each) for each in weights],
        },
        labels=["yes" if each == "hispanic" else "no" for each in origins],
    )


def make_up_tables() -> TablePopulation:
    """Return people with a rare group, dependent answers, and a skewed number."""
    rng = np.random.default_rng(MADE_UP_SEED)
    groups = rng.choice(4, MADE_UP_PEOPLE, p=[0.5, 0.3, 0.17, 0.03])
    first = rng.random(MADE_UP_PEOPLE) < np.array([0.5, 0.4, 0.3, 0.6])[groups]
    second = rng.random(MADE_UP_PEOPLE) < np.where(first, 0.1, 0.05)
    ill = rng.random(MADE_UP_PEOPLE) < 0.3
    numbers = np.minimum(rng.gamma(2.0, np.where(ill, 30.0, 20.0)), 200.0)
    return TablePopulation(
        groups=list("abcd"),
        bounds=(0, 200),
        columns={
            GROUP: np.array(list("abcd"))[groups].tolist(),
            FIRST: np.where(first, "yes", "no").tolist(),
            SECOND: np.where(second, "yes", "no").tolist(),
            NUMBER: numbers.tolist(),
        },
        labels=np.where(ill, "yes", "no").tolist(),
    )
