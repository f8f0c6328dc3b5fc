"""Simulates the reports of a population in memory: every user answers one question, like a device.

The plan, the mechanisms and the integers are the same as on devices; only the network, the journal and the
system's entropy are left out.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import numpy as np

from encoders.epsilon_proof import MAX_EPSILON
from encoders.errors import SurveyError
from encoders.randomness import RandomSource
from encoders.survey import Plan, Question
from encoders.survey.canonical import parse_decimal
from encoders.survey.questions import thresholds
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.rows.encode_table import true_answers, validate_table
from ldp_aggregator.snapshot import Snapshot, Total


def parse_epsilon(value: float | str | Decimal) -> Decimal:
    """Return epsilon as a decimal with the digits as written.

    Raises
    ------
    SurveyError
        If epsilon is not above 0 and at most MAX_EPSILON, or has more than 20 digits.
    """
    try:
        epsilon = parse_decimal(Decimal(str(value)))
    except InvalidOperation:
        epsilon = None
    if epsilon is None or not 0 < epsilon <= MAX_EPSILON:
        raise SurveyError(f"needs a number above 0 and at most {MAX_EPSILON}", "epsilon")
    return epsilon


def draw_questions(plan: Plan, count: int, rng: RandomSource) -> IntArray:
    """Return the index of the question of each of `count` users, drawn like :meth:`Plan.draw`."""
    limits = np.array(thresholds([question.weight for question in plan.questions]), dtype=np.uint64)
    return np.searchsorted(limits, np.frombuffer(rng.take(8 * count), "<u8"), side="right")


def simulate_reports(
    plan: Plan, codes: IntArray, labels: IntArray, rng: RandomSource, users: IntArray | None = None
) -> Snapshot:
    """Return the totals after one report of each user; in a validation round the users validate the model.

    Parameters
    ----------
    plan : Plan
    codes : (m, n) int array
        Encoded rows, see :func:`ldp_aggregator.rows.encode_table.encode_table`.
    labels : (m,) int array
        Codes of the labels.
    rng : RandomSource
        Draws the questions and runs the devices.
    users : int array, optional
        Indices of the rows that report; all rows by default.
    """
    users = np.arange(len(codes)) if users is None else users
    if plan.validation:
        codes, labels = validate_table(plan.validation, codes[users], labels[users])
        users = np.arange(len(users))
    questions = draw_questions(plan, len(users), rng)
    order = users[np.argsort(questions, kind="stable")]
    ends = np.cumsum(np.bincount(questions, minlength=len(plan.questions)))
    groups = np.split(order, ends[:-1])
    totals = {
        question.key: simulate_total(question, true_answers(question, codes, labels, group), rng)
        for question, group in zip(plan.questions, groups, strict=True)
    }
    return Snapshot(plan, totals, {})


def simulate_total(question: Question, values: IntArray, rng: RandomSource) -> Total:
    """Return the total of one question after one report for each true value in `values`."""
    mechanism = question.mechanism
    if not len(values):
        return Total(0, np.zeros(question.cells, dtype=np.int64))
    return Total(len(values), mechanism.tally(mechanism.perturb_many(values, rng)))
