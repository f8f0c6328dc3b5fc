"""Estimates of all people from silos, with and without a label, alone and pooled; several answers."""

import json
import math
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator.codec import from_json
from ldp_aggregator.estimation import (
    Estimates,
    EstimationError,
    IntervalEstimate,
    NaiveBayesParameters,
    estimate_snapshot,
)
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.pooling import check_same_features
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import SiloSnapshot, Snapshot
from ldp_design.comparison.trust_experiment import simulate_silos
from tests.ldp_aggregator.estimation.tables.test_silo_estimates import (
    FEATURES,
    GIVEN,
    MEANS,
    MISSING,
    PRIOR,
    SPREAD,
    draw_rows,
    people_plan,
    silo_plan,
)
from tests.support.statistical_checks import small_and_full

ROWS = 2000
WITHOUT_LABEL = re.sub(r"\[label\].*?(?=\[features)", "", FEATURES, flags=re.DOTALL)
MEAN = float(PRIOR @ MEANS)
DEVIATION = math.sqrt(PRIOR @ (SPREAD**2 + MEANS**2) - MEAN**2)
TRUTH = {"shares": GIVEN @ PRIOR, "means": [MEAN], "deviations": [DEVIATION], "missing": [MISSING]}
CHOICES = '[features.cups]\nchoices = ["small", "large"]\n'


@cache
def draw_silos(features: str, epsilon: float, silos: int, seed: int) -> SiloSnapshot:
    plan = silo_plan(epsilon, features=features)
    codes, labels = draw_rows(ROWS, np.random.default_rng([seed, silos]))
    return simulate_silos(plan, codes, labels * plan.label.exists, silos, FastStream([seed, silos]))


@cache
def draw_people(features: str, seed: int) -> Snapshot:
    plan = people_plan(features=features)
    codes, labels = draw_rows(4 * ROWS, np.random.default_rng([seed, 9]))
    return simulate_reports(plan, codes, labels * plan.label.exists, FastStream([seed, 9]))


def estimate(features: str, kind: str, seed: int) -> Estimates:
    return estimate_with_classifier(features, kind, seed)[0]


def estimate_with_classifier(features: str, kind: str, seed: int) -> tuple[Estimates, NaiveBayesParameters]:
    first, further = draw_silos(features, 1.0, 4, seed), draw_silos(features, 0.5, 3, seed)
    if kind == "silos":
        return estimate_survey(first)
    if kind == "both silos":
        return estimate_survey(first, silos=[further])
    return estimate_survey(draw_people(features, seed), silos=[first, further])


def list_overall(estimates: Estimates) -> Iterator[tuple[IntervalEstimate, np.ndarray]]:
    """Yield each estimate of all people, and the truth."""
    yield estimates.features[0].shares, TRUTH["shares"]
    for name in ("means", "deviations", "missing"):
        yield getattr(estimates.features[1].overall, name), np.array(TRUTH[name])


@pytest.mark.slow
@pytest.mark.parametrize("surveys", small_and_full(40, 120, long=True))
@pytest.mark.parametrize("features", [WITHOUT_LABEL, FEATURES], ids=["without label", "with label"])
@pytest.mark.parametrize("kind", ["silos", "both silos", "with people"])
def test_standard_errors_of_all_people_are_correct(features, kind, surveys):
    # the root mean square of z is within 4 of its standard errors of 1; a false alarm of any of the 36
    # figures has a probability below 0.3%
    scores = []
    for seed in range(surveys):
        pairs = list(list_overall(estimate(features, kind, seed)))
        scores.append(np.concatenate([(found.value - truth) / found.stderr for found, truth in pairs]))
    found = np.sqrt(np.mean(np.square(scores), axis=0))
    assert abs(found - 1).max() < 4 / math.sqrt(2 * surveys), found
    assert abs(np.mean(scores, axis=0)).max() < 4.5 / math.sqrt(surveys)


@pytest.mark.parametrize("kind", ["silos", "both silos", "with people"])
def test_one_class_has_a_known_share_and_no_entry_in_json(kind):
    estimates, classifier = estimate_with_classifier(WITHOUT_LABEL, kind, 1)
    assert (estimates.raw_prior.value, estimates.raw_prior.stderr, classifier.prior) == (1, 0, 1)
    document = json.loads(json.dumps(estimates.as_dict(), allow_nan=False))
    assert from_json(Estimates, document).as_dict() == estimates.as_dict()
    text = json.dumps(document)
    assert "label" not in text
    assert '""' not in text
    overall, by_class = (getattr(estimates.features[1], name) for name in ("overall", "by_class"))
    np.testing.assert_allclose(overall.means.value, by_class.means.value, rtol=1e-3)
    np.testing.assert_allclose(overall.means.stderr, by_class.means.stderr, rtol=1e-3)


def test_a_lying_silo_cannot_move_the_share_of_the_only_class():
    influence = estimate(WITHOUT_LABEL, "silos", 1).silos.influence
    assert (influence.prior, influence.prior_with_noise) == (0, 0)
    assert 0 < influence.conditionals < influence.conditionals_with_noise <= 1


def test_without_messages_nothing_is_known():
    estimates = estimate_snapshot(SiloSnapshot(silo_plan(features=WITHOUT_LABEL), {}))
    assert np.isinf(estimates.features[0].shares.stderr).all()
    assert np.isinf(estimates.features[1].overall.means.stderr).all()
    pooled = estimate_snapshot(draw_people(WITHOUT_LABEL, 1), silos=[estimates.silos.snapshots[0]])
    assert np.isfinite(pooled.features[1].overall.means.stderr).all()


def test_a_feature_in_which_silos_and_people_differ_is_named():
    assert estimate(WITHOUT_LABEL, "with people", 1).silos.contradictions == ()
    plan = silo_plan(features=WITHOUT_LABEL)
    codes, labels = draw_rows(20_000, np.random.default_rng(3), means=MEANS + 0.4)
    silos = simulate_silos(plan, codes, labels * 0, 2, FastStream(3))
    found = estimate_snapshot(draw_people(WITHOUT_LABEL, 1), silos=[silos])
    assert found.silos.contradictions == ("x",)


@pytest.mark.parametrize(
    ("people", "silos", "why"),
    [
        (FEATURES, WITHOUT_LABEL, "only people has a label"),
        (WITHOUT_LABEL, FEATURES, "only silos has a label"),
        (WITHOUT_LABEL + CHOICES, WITHOUT_LABEL, "only people has the feature cups"),
        (CHOICES, CHOICES.replace("large", "huge"), r"the feature cups differs: values is .*large.*huge"),
        (CHOICES, CHOICES.replace("choices", "values"), "the feature cups differs: kind is choices and "),
    ],
)
def test_the_first_difference_of_two_surveys_is_named(people, silos, why):
    with pytest.raises(EstimationError, match=why):
        check_same_features(people_plan(features=people), silo_plan(features=silos))


def test_surveys_with_the_same_choices_are_pooled():
    plan, asked = silo_plan(features=CHOICES), people_plan(features=CHOICES)
    ticks = (np.random.default_rng(1).random((4000, 2)) < [0.2, 0.7]).astype(np.int64)
    none = np.zeros(4000, dtype=np.int64)
    silos = simulate_silos(plan, ticks, none, 3, FastStream(1))
    estimates = estimate_snapshot(simulate_reports(asked, ticks, none, FastStream(2)), silos=[silos])
    assert [each.name for each in estimates.features] == ["cups: small", "cups: large"]
    for feature, share in zip(estimates.features, (0.2, 0.7), strict=True):
        assert abs(feature.shares.value[1] - share) < 6 * feature.shares.stderr[1] < 0.06


def test_fake_reports_move_shares_where_there_is_no_label():
    plan = people_plan(features=WITHOUT_LABEL + CHOICES)
    codes, labels = draw_rows(4000, np.random.default_rng(5))
    codes = np.column_stack([codes, codes[:, 0] == 1, codes[:, 0] == 2]).astype(np.int64)
    estimates = estimate_snapshot(simulate_reports(plan, codes, labels * 0, FastStream(5)), poisoning=True)
    summary = estimates.poisoning
    names = {each.estimate.partition(" of ")[0] for check in summary.questions for each in check.influences}
    of_numbers = {"means", "squares", "variances", "deviations", "missing"}
    of_tables = {"cells", "row_shares", "column_shares", "risk_differences"}
    assert names == {"shares"} | of_numbers | of_tables
    assert summary.largest_influence[1].largest > 0
