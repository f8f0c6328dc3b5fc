"""Comparisons with made-up accuracies."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from encoders.survey import read_survey
from ldp_design.comparison.trust_comparison import Curve, TrustComparison
from ldp_design.comparison.trusts import Trust, parse_trust
from tests.support.central_surveys import survey_text

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
CURVES = {
    "central": [0.92, 0.95, 0.96, 0.97, 0.98],
    "labels": [0.91, 0.95, 0.97, 0.98, 0.99],
    "silo:10": [0.80, 0.88, 0.93, 0.95, 0.97],
    "local": [0.50, 0.60, 0.80, 0.91, 0.95],
}
"""Mean accuracies at these epsilons."""
SPLITS = 10
SURVEY = read_survey(survey_text())
PLAN = SURVEY.compile()


def spread(mean: float, deviation: float) -> np.ndarray:
    """Return one accuracy per split: half of them above the mean, half of them below."""
    return mean + deviation * np.resize([1.0, -1.0], SPLITS)


def make_comparison(
    curves: Mapping[str, Sequence[float]],
    deviation: float | Mapping[str, float] = 0.0,
    ceiling: float = 1.0,
    majority: float = 0.5,
    naive_bayes: float = 0.99,
) -> TrustComparison:
    """Return a comparison with these accuracies, by the trusts' names.

    Parameters
    ----------
    curves : dict
        The mean accuracies of each trust at EPSILONS.
    deviation : float, or dict of trust to float
        How far the splits are from the mean: of all trusts, or of each.
    ceiling, majority, naive_bayes : float
        The ceiling is that of logistic regression.
    """
    trusts: list[Trust] = [parse_trust(name) for name in curves]
    deviations = deviation if isinstance(deviation, Mapping) else dict.fromkeys(curves, deviation)
    return TrustComparison(
        plan=PLAN,
        epsilons=EPSILONS,
        trusts=(parse_trust("none"), *trusts),
        sent={
            (trust, each): trust.ask(SURVEY, Decimal(repr(each))).epsilon
            for trust in trusts
            for each in EPSILONS
            if trust.kind == "relay"
        },
        curves=tuple(
            Curve(
                trust=trust,
                learners=("nb",) * len(EPSILONS),
                accuracies=np.array([spread(mean, deviations[trust.text]) for mean in curves[trust.text]]),
            )
            for trust in trusts
        ),
        ceilings={"nb": spread(min(naive_bayes, ceiling - 0.01), 0.0), "logistic": spread(ceiling, 0.0)},
        majorities=spread(majority, 0.0),
        training_rows=8000,
        test_rows=2000,
    )
