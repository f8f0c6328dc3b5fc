"""Early looks: how often an interval excludes the truth at any look while reports arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.shares.populations import MADE_UP, MEAN, NUMBER, SHARE, read_population
from encoders.randomness import FastStream
from encoders.survey import NumericFeature, Plan, Question, read_survey
from ldp_aggregator.estimation import (
    Estimates,
    FeatureResult,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.intervals import estimate_share_intervals
from ldp_aggregator.estimation.number_result import NumberStatistics
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_total, true_answers
from ldp_aggregator.snapshot import Snapshot, Total

LOOKS, STEP = 200, 100
"""Number of looks at a survey, and reports of each question between two looks."""
FREQUENCIES = (10, 40, 200)
"""Numbers of looks, evenly spaced, that are counted."""
CHUNK = 20
"""Surveys of one job."""
TRUE_SHARE = 0.3
SURVEYS = {
    SHARE: '[features.f]\nvalues = ["yes", "no"]',
    MEAN: f"[features.{NUMBER}]\nrange = [0, 200]",
}


@dataclass(frozen=True)
class Watched:
    """A survey at epsilon 1 without a label, about one share or one mean."""

    what: str
    plan: Plan
    codes: NDArray[np.int64]
    """The people's answers, (people, 1)."""
    truth: float

    @classmethod
    def of(cls, what: str) -> Watched:
        questions = 1 if what == SHARE else 2
        head = f'[survey]\nid = "looks"\nepsilon = 1\nusers = {questions * LOOKS * STEP}\n'
        plan = read_survey(head + SURVEYS[what]).compile()
        if what == SHARE:
            people = 1000
            codes = (np.arange(people) >= TRUE_SHARE * people).astype(np.int64)
            return cls(what, plan, codes[:, None], TRUE_SHARE)
        numbers = np.array(read_population(MADE_UP, None).columns[NUMBER], dtype=np.float64)
        present = numbers[~np.isnan(numbers)]
        feature = plan.features[0]
        assert isinstance(feature, NumericFeature)
        return cls(what, plan, encode_numbers(feature, present)[:, None], float(present.mean()))

    def watch(self, seed: int) -> Iterator[tuple[bool, bool, float, float]]:
        """Yield, for each look, whether the two intervals exclude the truth, and their widths."""
        sums = {each.key: self._draw(each, seed) for each in self.plan.questions}
        start = estimate_snapshot(Snapshot(self.plan, {}, {}))
        for look in range(LOOKS):
            totals = {key: Total((look + 1) * STEP, cells[look]) for key, cells in sums.items()}
            estimates = self.estimate(Snapshot(self.plan, totals, {}), start)
            one = self._read(estimates)
            all_looks = self._read(hold_at_all_looks(estimates, self.plan))
            yield self._misses(one), self._misses(all_looks), _width(one), _width(all_looks)

    def estimate(self, snapshot: Snapshot, start: Estimates) -> Estimates:
        """Return the estimates at the start with the share or the mean of a snapshot."""
        [result], [raw] = start.features, compute_raw_estimates(snapshot).feature_estimates
        [feature] = self.plan.features
        if isinstance(raw, ClassMoments):
            assert isinstance(feature, NumericFeature)
            assert isinstance(result, NumberResult)
            question = replace(result.mean_question, n=raw.questions[0].n)
            overall = NumberStatistics.from_moments(feature, AllClasses.from_classes(raw))
            return replace(start, features=(replace(result, mean_question=question, overall=overall),))
        assert isinstance(result, FeatureResult)
        assert raw is not None
        shares = estimate_share_intervals(raw, 1)
        return replace(start, features=(replace(result, n=raw.n, shares=shares),))

    def _draw(self, question: Question, seed: int) -> NDArray[np.int64]:
        """Return the counters of a question at all looks, (looks, cells); each sum continues the last one."""
        rng = np.random.default_rng([29, seed, question.index, 1])
        devices = FastStream(np.random.SeedSequence([29, seed, question.index, 2]))
        rows = rng.integers(0, len(self.codes), (LOOKS, STEP))
        labels = np.zeros(len(self.codes), dtype=np.int64)
        parts = [
            simulate_total(question, true_answers(question, self.codes, labels, block), devices).cells
            for block in rows
        ]
        return np.cumsum(parts, axis=0)

    def _read(self, estimates: Estimates) -> IntervalEstimate:
        [result] = estimates.features
        return result.shares if isinstance(result, FeatureResult) else result.overall.means

    def _misses(self, estimate: IntervalEstimate) -> bool:
        return not estimate.low[0] <= self.truth <= estimate.high[0]


def _width(estimate: IntervalEstimate) -> float:
    return float(estimate.high[0] - estimate.low[0])


def watch_surveys(what: str, start: int, surveys: int) -> list[dict[str, object]]:
    """Return, for each survey, whether an interval excludes the truth at any look, and the last widths."""
    watched, found = Watched.of(what), []
    for seed in range(start, start + surveys):
        one, all_looks, width, wide = (np.array(each) for each in zip(*watched.watch(seed), strict=True))
        excluded = {
            str(count): bool(one[LOOKS // count - 1 :: LOOKS // count].any()) for count in FREQUENCIES
        }
        found.append(
            {"what": what, **excluded, "all": bool(all_looks.any()), "wider": float(wide[-1] / width[-1])}
        )
    return found
