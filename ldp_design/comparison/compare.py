"""Compares trust models on labelled rows: each split trains and tests one for each of them and each epsilon.

Splits, coding and test rows are those of :func:`ldp_design.simulation.accuracies.simulate`. Noise comes
from a seeded generator, because nothing here may be published as private: not even with noise from the
operating system would an epsilon cover accuracies that are measured on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from encoders.randomness import FastStream
from encoders.survey.plan_checks import LOCAL, SILO
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, estimate_parameters
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_central.learner import CentralModel, train
from ldp_central.naive_bayes import CentralNaiveBayes
from ldp_design.comparison.learners import LEARNERS, RandomisedResponse, fit_logistic
from ldp_design.comparison.trust_comparison import Curve, TrustComparison
from ldp_design.comparison.trust_experiment import Experiment, ask_as_written, make_promise
from ldp_design.comparison.trusts import LABELS, NONE, RELAY, Trust
from ldp_design.simulation.experiment import EncodedRows, predict_labels, run_trial, seed_cell
from ldp_design.simulation.reports import simulate_silos


def compare(experiment: Experiment, progress: Callable[[int], object] | None = None) -> TrustComparison:
    """Run a comparison.

    Parameters
    ----------
    experiment : Experiment
        From :func:`~ldp_design.comparison.trust_experiment.prepare`.
    progress : callable, optional
        Called with 1 after every training.
    """
    advance = progress or int
    protected = [trust for trust in experiment.trusts if trust.kind != NONE]
    cells = [(trust, place) for trust in protected for place in range(len(experiment.epsilons))]
    ceilings: list[list[float]] = []
    accuracies: list[list[float]] = []
    learners: dict[tuple[Trust, int], str] = {}
    # Every split trains all models, so the accuracies of a split belong together.
    with _use_one_thread():
        for repeat, rows in enumerate(experiment.repeats):
            ceilings.append([])
            for learn in LEARNERS.values():
                ceilings[-1].append(_share_right(rows, learn(rows, experiment.coordinates)))
                advance(1)
            accuracies.append([])
            for trust, place in cells:
                accuracy, learners[trust, place] = _run_trial(experiment, trust, repeat, place)
                accuracies[-1].append(accuracy)
                advance(1)
    table = np.array(accuracies).reshape(len(ceilings), len(protected), len(experiment.epsilons))
    return TrustComparison(
        plan=experiment.published,
        epsilons=tuple(map(float, experiment.epsilons)),
        trusts=experiment.trusts,
        curves=tuple(
            Curve(
                trust=trust,
                learners=tuple(learners[trust, place] for place in range(len(experiment.epsilons))),
                accuracies=table[:, index].T,
            )
            for index, trust in enumerate(protected)
        ),
        ceilings=dict(zip(LEARNERS, np.array(ceilings).T, strict=True)),
        majorities=np.array([rows.majority for rows in experiment.repeats]),
        training_rows=len(experiment.repeats[0].split.train),
        test_rows=len(experiment.repeats[0].split.test),
    )


def _use_one_thread() -> AbstractContextManager[object]:
    """Return a context in which libraries use one thread: on a busy machine more are many times slower."""
    import scipy.optimize  # noqa: F401 - the limit applies to libraries that are loaded
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _share_right(rows: EncodedRows, predicted: IntArray) -> float:
    return float(np.mean(predicted == rows.table.labels[rows.split.test]))


def _run_trial(experiment: Experiment, trust: Trust, repeat: int, index: int) -> tuple[float, str]:
    """Train once under a trust model; return the accuracy on the test rows, and the learner."""
    rows, epsilon = experiment.repeats[repeat], experiment.epsilons[index]
    if trust.kind in (LOCAL, RELAY):  # seeded as in simulate, so that the accuracies are the same
        variant = ask_as_written(experiment.survey, trust.find_local_epsilon(epsilon))
        source = FastStream(seed_cell(experiment.seed, repeat, variant.epsilon, *variant.seed_settings))
        return run_trial(rows, variant, source).accuracy, "nb"
    seeds = seed_cell(experiment.seed, repeat, epsilon, trust.text)
    split, labels = rows.split, rows.table.labels
    if trust.kind == LABELS:
        response = RandomisedResponse(
            len(rows.plan.label.values), float(epsilon) / experiment.rows_per_person
        )
        sent = response.randomise(labels[split.train], np.random.default_rng(seeds))
        weights = fit_logistic(experiment.coordinates[split.train], sent, response)
        scores = experiment.coordinates[split.test] @ weights
        return _share_right(rows, scores.argmax(axis=1)), "logistic"
    source = FastStream(seeds)
    if trust.kind == SILO:  # the training rows of a split are in random order
        plan = experiment.silo_plans[epsilon]
        codes, of_rows = rows.codes[split.train], labels[split.train]
        found = estimate_parameters(simulate_silos(plan, codes, of_rows, trust.silos, source))
        return _share_right(rows, _predict_bayes(rows, found.prior, found.conditionals)), "nb"
    trained = train(
        experiment.take_rows(split.train),
        make_promise(epsilon, experiment.rows_per_person),
        users=experiment.users,
        learner=trust.learner,
        source=source,
    )
    return _share_right(rows, _predict(rows, trained.model)), trained.learner


def _predict(rows: EncodedRows, model: CentralModel) -> IntArray:
    if isinstance(model, CentralNaiveBayes):
        return _predict_bayes(rows, model.prior, model.conditionals)
    best: IntArray = model.scores(rows.codes[rows.split.test]).argmax(axis=1)
    return best


def _predict_bayes(
    rows: EncodedRows, prior: FloatArray, conditionals: Sequence[ClassConditional]
) -> IntArray:
    model = LogProbabilities.from_probabilities(prior, conditionals)
    return predict_labels(model, rows.codes, rows.split.test)
