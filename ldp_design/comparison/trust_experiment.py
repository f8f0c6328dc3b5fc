"""Compares trust models on labelled rows: each trust model, at each epsilon, trains and tests in each split.

Splits, coding and test rows are those of :func:`ldp_design.simulation.accuracies.simulate`. Noise comes from
a seeded generator: no epsilon covers accuracies that are measured on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from encoders.epsilon_proof import MIN_EPSILON
from encoders.randomness import FastStream, RandomSource
from encoders.survey import Plan, Survey
from encoders.survey.compiled_plan import CENTRAL, LOCAL, SILO, AnyPlan
from encoders.survey.compiled_plan import LOCAL as PEOPLE
from encoders.survey.silo_plan import SiloPlan, SiloSurvey
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction import NAIVE_BAYES
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.privacy_statement import REPLACE
from ldp_aggregator.simulated_population import parse_epsilon
from ldp_aggregator.snapshot import SiloSnapshot, Total
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import CentralNaiveBayes, exact_tables
from ldp_central.learner import train
from ldp_central.noise import draw_laplace_array
from ldp_central.promise import Promise
from ldp_design.comparison.learners import LEARNERS, RandomisedResponse, fit_logistic, place_rows
from ldp_design.comparison.trust_comparison import Curve, TrustComparison
from ldp_design.comparison.trusts import LABELS, NONE, RELAY, Trust, TrustComparisonError
from ldp_design.simulation.experiment import (
    EncodedRows,
    LabelledTable,
    Progress,
    encode_repeats,
    read_labelled_table,
    run_trial,
    run_trials,
    seed_trials,
    split_rows,
    train_model,
)
from ldp_design.simulation.variants import Variant

MIN_ROWS = 10
"""With fewer rows a split would test on a single one."""
MIN_SPLITS = 2
"""One split has no spread, so nothing would have an interval."""
_NO_EPSILON = Decimal("Infinity")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A comparison that can be run: its arguments are checked."""

    survey: Survey
    published: AnyPlan
    trusts: tuple[Trust, ...]
    epsilons: tuple[Decimal, ...]
    """Ascending."""
    repeats: tuple[EncodedRows, ...]
    seed: int
    rows_per_person: int
    """Most rows of one person; epsilon is about all of them."""
    silo_plans: Mapping[Decimal, SiloPlan]
    """What silos report at each epsilon; empty if they are not compared."""

    def __len__(self) -> int:
        protected = sum(trust.kind != NONE for trust in self.trusts)
        return len(self.repeats) * (len(LEARNERS) + protected * len(self.epsilons))

    @property
    def plan(self) -> Plan:
        return self.repeats[0].plan

    @cached_property
    def coordinates(self) -> FloatArray:
        return place_rows(self.plan.features, self.repeats[0].codes)

    @property
    def users(self) -> int:
        """The public number of people, as in ldp-simulate: the survey's, or the number of training rows."""
        return self.survey.users or len(self.repeats[0].split.train)

    def take_rows(self, rows: IntArray) -> CodedRows:
        first = self.repeats[0]
        labels = first.table.labels[rows]
        return CodedRows(self.plan.features, len(self.plan.label.values), first.codes[rows], labels)


def prepare(
    written: Survey | SiloSurvey,
    rows: Any,
    trusts: Sequence[Trust],
    epsilons: Sequence[float | str | Decimal],
    *,
    splits: int = 10,
    seed: int = 0,
) -> Experiment:
    """Check everything that can fail, and return the comparison.

    For the rows see :func:`~ldp_design.simulation.accuracies.simulate`. Each split is four fifths for
    training and one fifth for tests. Equal seeds give equal results.
    Raises SurveyError, RowError, SimulationError, CentralError or TrustComparisonError if the survey has no
    label, a row does not fit it, or a trust model cannot serve it; nothing was trained.
    """
    if not written.label.exists:
        raise TrustComparisonError(
            "the survey has no label, so there is no accuracy to compare: compare the margins that "
            "ldp-survey size prints for this survey, and for a survey of silos with the same features"
        )
    ascending = tuple(sorted(set(map(parse_epsilon, epsilons))))
    if not ascending or not trusts or splits < MIN_SPLITS:
        raise TrustComparisonError(
            f"a comparison needs a trust model, an epsilon and at least {MIN_SPLITS} splits: the intervals "
            "follow from the differences between splits"
        )
    survey = _ask_people(written, trusts)
    table = read_labelled_table(survey, rows)
    _require_comparable(table)
    as_written = Variant(epsilon=survey.epsilon, mechanism=survey.frequency)
    repeats = tuple(encode_repeats(table, split_rows(len(table.labels), splits, seed, 0.0), as_written))
    people = len(repeats[0].split.train)
    rows_per_person = written.rows_per_person if isinstance(written, SiloSurvey) else 1
    _require_possible(survey, people, rows_per_person, trusts, ascending)
    return Experiment(
        survey=survey,
        published=(written if isinstance(written, SiloSurvey) else survey).compile(),
        trusts=tuple(dict.fromkeys(trusts)),
        epsilons=ascending,
        repeats=repeats,
        seed=seed,
        rows_per_person=rows_per_person,
        silo_plans={each: _ask_silos(survey, each, people, rows_per_person) for each in ascending}
        if any(trust.kind == SILO for trust in trusts)
        else {},
    )


def _ask_people(survey: Survey | SiloSurvey, trusts: Sequence[Trust]) -> Survey:
    """Return a survey that codes rows as the given one, which people answer if a trust is local."""
    if isinstance(survey, Survey) and survey.kind == PEOPLE:
        return survey
    if any(trust.kind in (LOCAL, RELAY) for trust in trusts):
        who = "organisations" if isinstance(survey, SiloSurvey) else "a curator"
        raise TrustComparisonError(
            f"{LOCAL}: the survey {survey.id} is for {who}, so people answer nothing. Compare other trust "
            f"models: --trust {NONE},{CENTRAL},{LABELS},{SILO}:10"
        )
    if isinstance(survey, Survey):
        return replace(survey, kind=PEOPLE)
    return Survey(
        id=survey.id,
        epsilon=survey.epsilon,
        label=survey.label,
        features=survey.features,
        weights=(None, *(1 for _ in survey.features)),
    )


def _require_comparable(table: LabelledTable) -> None:
    if len(table.labels) < MIN_ROWS:
        raise TrustComparisonError(
            f"there are {len(table.labels)} rows, but a comparison needs at least {MIN_ROWS}: a fifth "
            "of them is for tests"
        )
    if len(set(table.labels.tolist())) == 1:
        value = table.survey.label.values[table.labels[0]]
        raise TrustComparisonError(
            f"all rows have the label {value!r}, so every model is always right: a comparison needs rows of "
            "at least two labels"
        )


def _require_possible(
    survey: Survey, people: int, rows_per_person: int, trusts: Sequence[Trust], epsilons: Sequence[Decimal]
) -> None:
    """Raise an error if a trust model cannot serve the survey or its rows; silos have separate plans."""
    for trust in trusts:
        if trust.silos > people:
            raise TrustComparisonError(
                f"{trust.text}: there are only {people} training rows, so some silos would be empty: use at "
                f"most {SILO}:{people}, or more rows"
            )
        if trust.batch > people:
            raise TrustComparisonError(
                f"{trust.text}: there are only {people} training rows, so no batch would be full: use at "
                f"most {RELAY}:{people}, or more rows"
            )
        for epsilon in epsilons:
            if trust.kind in (LOCAL, RELAY):
                trust.ask(survey, epsilon).compile()
            elif trust.kind == CENTRAL:
                make_promise(epsilon, rows_per_person)


def ask_as_written(survey: Survey, epsilon: Decimal) -> Variant:
    return Variant(epsilon=epsilon, mechanism=survey.frequency)


def _ask_silos(survey: Survey, epsilon: Decimal, rows: int, rows_per_person: int) -> SiloPlan:
    """Return the plan of silos with the promise of a local survey, where a replaced row is two changes."""
    if epsilon / 2 < MIN_EPSILON:
        raise TrustComparisonError(
            f"{SILO}: epsilon {epsilon} is too small: silos spend half of it on a row that is added or "
            f"removed, and that half must be at least {MIN_EPSILON}: give a larger epsilon"
        )
    return SiloPlan(
        id=survey.id,
        epsilon=epsilon / 2,
        label=survey.label,
        features=survey.features,
        rows=max(rows, rows_per_person),
        rows_per_person=rows_per_person,
    )


def make_promise(epsilon: Decimal, rows_per_person: int) -> Promise:
    """Return the promise of a curator that equals that of a local survey: about replaced rows."""
    return Promise(Fraction(epsilon), adjacency=REPLACE, rows_per_person=rows_per_person)


# -- training and testing -----------------------------------------------------------------------


def compare(experiment: Experiment, progress: Progress = int) -> TrustComparison:
    """Run a comparison; call `progress` with 1 after every training."""
    with _use_one_thread():
        unprotected = [Trust(text=NONE, kind=NONE, learner=each) for each in LEARNERS]
        ceilings = [_run_trials(experiment, trust, _NO_EPSILON, progress) for trust in unprotected]
        curves = {
            trust: [_run_trials(experiment, trust, epsilon, progress) for epsilon in experiment.epsilons]
            for trust in experiment.trusts
            if trust.kind != NONE
        }
    split = experiment.repeats[0].split
    return TrustComparison(
        plan=experiment.published,
        epsilons=tuple(map(float, experiment.epsilons)),
        trusts=experiment.trusts,
        sent={
            (trust, float(epsilon)): trust.ask(experiment.survey, epsilon).epsilon
            for trust in experiment.trusts
            for epsilon in experiment.epsilons
            if trust.kind == RELAY
        },
        curves=tuple(
            Curve(
                trust=trust,
                learners=tuple(learner for _, learner in found),
                accuracies=np.array([accuracies for accuracies, _ in found]),
            )
            for trust, found in curves.items()
        ),
        ceilings={learner: accuracies for accuracies, learner in ceilings},
        majorities=np.array([rows.majority for rows in experiment.repeats]),
        training_rows=len(split.train),
        test_rows=len(split.test),
    )


def _use_one_thread() -> AbstractContextManager[object]:
    """Return a context in which libraries use one thread: on a busy machine more are many times slower."""
    import scipy.optimize  # noqa: F401 - the limit applies to libraries that are loaded
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _run_trials(
    experiment: Experiment, trust: Trust, epsilon: Decimal, progress: Progress
) -> tuple[FloatArray, str]:
    settings: tuple[object, ...] = (trust.text,)
    local = epsilon
    if trust.kind in (LOCAL, RELAY):  # seeded as in simulate, so that the accuracies are the same
        local = trust.ask(experiment.survey, epsilon).epsilon
        settings = ask_as_written(experiment.survey, local).seed_settings
    seeds = seed_trials(experiment.seed, len(experiment.repeats), local, *settings)

    def trial(rows: EncodedRows, seed: np.random.SeedSequence) -> tuple[float, str]:
        predicted, learner = _predict(experiment, trust, epsilon, rows, seed)
        return float(np.mean(predicted == rows.table.labels[rows.split.test])), learner

    found = run_trials(trial, experiment.repeats, seeds, progress)
    return np.array([accuracy for accuracy, _ in found]), found[-1][1]


def _predict(
    experiment: Experiment, trust: Trust, epsilon: Decimal, rows: EncodedRows, seeds: np.random.SeedSequence
) -> tuple[IntArray, str]:
    split, labels, people = rows.split, rows.table.labels, experiment.rows_per_person
    if trust.kind == NONE:
        return LEARNERS[trust.learner](rows, experiment.coordinates), trust.learner
    if trust.kind == LABELS:
        response = RandomisedResponse(len(rows.plan.label.values), float(epsilon) / people)
        sent = response.randomise(labels[split.train], np.random.default_rng(seeds))
        weights = fit_logistic(experiment.coordinates[split.train], sent, response)
        return (experiment.coordinates[split.test] @ weights).argmax(axis=1), "logistic"
    source = FastStream(seeds)
    if trust.kind in (LOCAL, RELAY):
        asked = trust.ask(replace(experiment.survey, users=experiment.users), epsilon)
        variant = ask_as_written(asked, asked.epsilon)
        return rows.predict(run_trial(rows, variant, source, asked).model), NAIVE_BAYES
    if trust.kind == SILO:  # the training rows of a split are in random order
        plan = experiment.silo_plans[epsilon]
        messages = simulate_silos(plan, rows.codes[split.train], labels[split.train], trust.silos, source)
        return rows.predict(train_model(messages)), NAIVE_BAYES
    promise = make_promise(epsilon, people)
    coded = experiment.take_rows(split.train)
    trained = train(coded, promise, users=experiment.users, learner=trust.learner, source=source)
    if not isinstance(model := trained.model, CentralNaiveBayes):
        return model.scores(rows.codes[split.test]).argmax(axis=1), trained.learner
    bayes = LogProbabilities.from_probabilities(model.prior, model.conditionals)
    return rows.predict(bayes), trained.learner


def simulate_silos(
    plan: SiloPlan, codes: IntArray, labels: IntArray, silos: int, source: RandomSource
) -> SiloSnapshot:
    """Divide rows among silos in order, and return the counters after each has sent one message.

    The noise has the distribution of :meth:`CountTable.perturb`, drawn for many cells at once.
    """
    k, mechanism = len(plan.label.values), plan.mechanism
    cells = np.zeros(mechanism.cells, dtype=np.int64)
    for rows in np.array_split(np.arange(len(labels)), silos):
        tables = exact_tables(CodedRows(plan.features, k, codes[rows], labels[rows]))
        for table, (counts, _) in zip(mechanism.tables, tables, strict=True):
            noisy = counts.ravel() + draw_laplace_array(table.scale, counts.size, source)
            cells[table.start : table.end] += np.clip(noisy, *table.clamp)
    return SiloSnapshot(plan, {plan.question.key: Total(silos, cells)})
