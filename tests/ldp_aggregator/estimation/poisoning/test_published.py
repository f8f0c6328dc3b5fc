"""The stated moves of every published estimate, against a search over the payloads of fake reports.

One in 100 reports is fake. For sums, the stated move is that of 1% of the present reports, 1/99, while fake
reports that are added move them by 1/100. Where several questions are pooled, fake reports change the weights
and the coefficients, which the influence takes as constants: the search found moves up to 2% larger.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan, Question, read_survey
from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.poisoning.influence import Influence
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_total, true_answers
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.statements.warnings import find_poisoning
from tests.ldp_aggregator.estimation.conftest import without_intervals
from tests.ldp_aggregator.estimation.poisoning.test_influence import payloads
from tests.support.surveys import RELAY_KEYS, RELAYED, make_plan, survey_toml

HONEST = 99
"""Each report of the simulated people counts 99 times, each fake one once."""
SLACK = 0.02
"""By how much a true move may exceed the stated one."""
LABEL = {"values": ["yes", "no"]}
THREE = {"values": ["p", "q", "r"], "ordered": True}
SURVEYS = {
    "label": {"label": LABEL, "features": {"a": THREE, "b": ["u", "v"]}},
    "rare class": {"label": {"values": ["x", "y", "z"]}, "features": {"a": ["p", "q"], "b": ["u", "v"]}},
    "tables": {
        "label": None,
        "features": {"a": THREE | {"alone": True}, "b": ["u", "v"]},
        "tables": {"t": {"features": ["a", "b"]}},
    },
    "table with label": {
        "label": LABEL,
        "features": {"a": {"values": ["p", "q"], "alone": True}, "b": ["u", "v"]},
        "tables": {"t": {"features": ["a", "b"], "label": True}},
    },
    "levels": {"label": None, "features": {"a": {"range": [0, 48], "bins": 48}}},
    "numbers": {
        "label": LABEL,
        "features": {"a": {"range": [-10, 30], "missing": "category"}, "b": ["u", "v"]},
    },
    "number": {"label": None, "features": {"a": {"range": [5, 30]}}},
    "number of one question": {"label": LABEL, "features": {"a": {"range": [-10, 30], "moments": "mean"}}},
}
FACTORS = {"variances": 3.0, "deviations": 3.0}
FACTORS |= dict.fromkeys(("prior", "shares", "frequencies", "cells", "cumulative"), 1.03)
RATIO = 1.7
"""How many times larger than the true move the stated one is, at most: of some estimates, and of others."""


def simulate(plan: Plan, people: int = 6000) -> Snapshot:
    """Let every person answer every question, and count each report `HONEST` times."""
    rng = np.random.default_rng(3)
    labels = rng.choice(3, people, p=[0.55, 0.35, 0.1]) % len(plan.label.values)
    codes = []
    for feature in plan.features:
        if feature.kind == "numeric":
            low, high = feature.bounds
            x = np.clip(rng.normal(0.1 + 0.4 * labels, 0.3), -1, 1)
            answers = (low + high) / 2 + x * (high - low) / 2
            answers[rng.random(people) < 0.15 * (feature.missing == "category")] = np.nan
            codes.append(encode_numbers(feature, answers))
        else:
            codes.append(np.minimum(rng.poisson(feature.size / 4 + labels / 2, people), feature.size - 1))
    totals = {}
    for question in plan.questions:
        values = true_answers(question, np.column_stack(codes), labels, np.arange(people))
        total = simulate_total(question, values, FastStream(question.index))
        totals[question.key] = Total(HONEST * people, HONEST * total.cells)
    return Snapshot(plan, totals, {})


def with_fakes(snapshot: Snapshot, fakes: dict[str, list[int]]) -> Snapshot:
    """Add fake reports, each with the same payload, to the questions with these keys."""
    totals = dict(snapshot.totals)
    for key, payload in fakes.items():
        n = totals[key].n // HONEST
        totals[key] = Total(totals[key].n + n, totals[key].cells + n * np.array(payload, dtype=np.int64))
    return Snapshot(snapshot.plan, totals, {})


def list_published(estimates: Estimates, plan: Plan) -> dict[tuple[str, str], np.ndarray]:
    """Return every published estimate by its name and feature; ratios are cut to their ranges, as shown."""
    found = {("prior", ""): estimates.raw_prior.value}
    for feature, each in zip(plan.features, estimates.features, strict=True):
        shown = _list_number(estimates, feature, each) if isinstance(each, NumberResult) else _list(each)
        found |= {(name, each.name): value for name, value in shown.items()}
    for table in estimates.tables:
        name = ", ".join(table.features)
        found["cells", name] = table.cells.value
        found["row_shares", name] = np.clip(table.row_shares.value, 0, 1)
        found["column_shares", name] = np.clip(table.column_shares.value, 0, 1)
        if table.comparisons:
            found["risk_differences", name] = table.comparisons["risk difference"].value
    return found


def _list_number(estimates: Estimates, feature, result: NumberResult) -> dict[str, np.ndarray]:
    (low, high), width = feature.bounds, feature.width
    squares = (0 if low < 0 < high else min(low**2, high**2)), max(low**2, high**2)
    ranges = {
        "means": (low, high),
        "squares": squares,
        "variances": (-np.inf, width**2),
        "deviations": (0, width),
        "missing": (0, 1),
    }
    sides = [("", result.by_class), ("overall_", result.overall)][: len(estimates.classes)]
    return {
        f"{prefix}{name}": np.clip(shown.value, *ranges[name])
        for prefix, side in sides
        for name, shown in vars(side).items()
        if shown
    }


def _list(result: FeatureResult) -> dict[str, np.ndarray]:
    found = {"shares": result.shares.value}
    if result.ordered:
        found["cumulative"] = np.clip(result.ordered.cumulative.value, 0, 1)
    if result.frequencies.value.shape[1] > 1:
        found["frequencies"] = result.frequencies.value
        found["conditionals"] = np.clip(result.conditionals.value, 0, 1)
        if result.ordered:
            found["class_cumulative"] = np.clip(result.ordered.by_class.value, 0, 1)
    if result.comparisons:
        found["risk_differences"] = result.comparisons["risk difference"].value
    return found


def find_worst_moves(snapshot: Snapshot, attacks: Iterable[dict[str, list[int]]]) -> dict:
    """Return the largest move of every published estimate by any of the attacks."""
    now = list_published(estimate_snapshot(snapshot), snapshot.plan)
    worst = {key: np.zeros_like(value) for key, value in now.items()}
    for attack in attacks:
        with without_intervals():
            moved = list_published(estimate_snapshot(with_fakes(snapshot, attack)), snapshot.plan)
        worst = {key: np.fmax(worst[key], abs(moved[key] - value)) for key, value in now.items()}
    return worst


def list_stated(estimates: Estimates, question: Question) -> dict[tuple[str, str], Influence]:
    """Return the stated influences of a question by name and feature."""
    check = estimates.poisoning.questions[question.index]
    own, found = ", ".join(each.name for each in question.asked_features), {}
    for each in check.influences:
        name, _, feature = each.estimate.partition(" of ")
        found[name, "" if name == "prior" else feature or own] = each
    assert len(found) == len(check.influences)
    return found


def check_stated(
    worst: dict, stated: dict[tuple[str, str], Influence], scales: dict, others: dict | None = None
) -> None:
    """Compare true moves with stated ones; moves far below those by other questions are rounding.

    Only its own questions state a number's estimates; `others` has the largest stated moves of all questions.
    """
    for key, moved in worst.items():
        if key not in stated:
            assert (moved <= (others or {}).get(key, 0.0) + 1e-9 * scales[key].max()).all(), key
            continue
        move = np.nan_to_num(stated[key].one_percent, nan=0.0)  # of what is unknown
        assert move.shape == moved.shape, key
        name = key[0].removeprefix("overall_")
        assert (moved <= (1 + SLACK) * move + 1e-3 * scales[key].max()).all(), (key, moved / move)
        factor = FACTORS.get(name, RATIO)
        if moved.max() > 0.01 * scales[key].max():
            assert move.max() <= factor * moved.max(), (key, move.max() / moved.max())


def find_extreme_payloads(snapshot: Snapshot, question: Question) -> list[list[int]]:
    """Return the payloads of a question with too many of them that move an entry down and up the furthest.

    A payload is a set of values. The effect of each value on every entry is measured.
    """
    d, ones = question.domain, question.mechanism.support_counters.ones

    def measure(payload: np.ndarray) -> np.ndarray:
        with without_intervals():
            moved = estimate_snapshot(with_fakes(snapshot, {question.key: payload.tolist()}))
        return np.concatenate([each.ravel() for each in list_published(moved, snapshot.plan).values()])

    effects = np.stack([measure(unit) for unit in np.eye(d, dtype=int)]) - measure(np.zeros(d, dtype=int))
    found = set()
    for each in (*effects.T, *-effects.T):
        chosen = np.argsort(-each)[:ones] if ones else np.flatnonzero(each > 0)
        found.add(tuple(np.isin(np.arange(d), chosen).astype(int).tolist()))
    return [list(each) for each in found]


def keep_extreme(snapshot: Snapshot, key: str, chosen: list[list[int]]) -> list[list[int]]:
    """Return the payloads of a question that alone move some published estimate down or up the furthest."""
    moved = []
    for each in chosen:
        with without_intervals():
            shown = list_published(estimate_snapshot(with_fakes(snapshot, {key: each})), snapshot.plan)
        moved.append(np.concatenate([values.ravel() for values in shown.values()]))
    known = np.nan_to_num(np.stack(moved))
    return [chosen[place] for place in np.union1d(known.argmin(axis=0), known.argmax(axis=0))]


@cache
def compile_survey(name: str, mechanism: str) -> Plan:
    kind = "numeric" if name.startswith("number") else "frequency"
    return make_plan(**SURVEYS[name], epsilon=1 if name == "levels" else 2, mechanism={kind: mechanism})


CASES = [
    *product(["label", "tables"], ["DE", "OUE", "SS"]),
    *[("rare class", "SS"), ("table with label", "DE"), ("levels", "auto")],
    *product(["number", "numbers"], ["sign", "onebit", "piecewise"]),
    ("number of one question", "auto"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("survey", "mechanism"), CASES)
def test_no_payload_moves_a_published_estimate_further_than_stated(survey, mechanism):
    plan = compile_survey(survey, mechanism)
    snapshot = simulate(plan)
    estimates = estimate_snapshot(snapshot, poisoning=True)
    moves = []
    for question in plan.questions:
        if not question.moment and question.domain > 12:
            chosen = find_extreme_payloads(snapshot, question)
        else:
            chosen = payloads(question.mechanism, most=40 if question.moment else None)
        moves.append(find_worst_moves(snapshot, ({question.key: each} for each in chosen)))
    scales = {key: np.max([each[key].max() for each in moves]) for key in moves[0]}
    listed = [list_stated(estimates, each) for each in plan.questions]
    largest = {
        key: np.nan_to_num(np.max([each[key].one_percent for each in listed if key in each], axis=0))
        for key in moves[0]
        if key[1] == "a" and survey == "numbers"
    }
    for stated, worst in zip(listed, moves, strict=True):
        check_stated(worst, stated, scales, largest)


def ask_all(name: str) -> Plan:
    """Return the plan of a survey with a relay through which each person answers every question."""
    relay = RELAYED[RELAYED.index("[relay]") : RELAYED.index("[features.nights]")]
    relay = relay.replace("batch = 600", f'batch = 60000\nask = "all"\n{RELAY_KEYS}')
    text = survey_toml(**SURVEYS[name], id="night-work", epsilon=6, users=100_000)
    return read_survey(text + relay).compile()


@pytest.mark.slow
@pytest.mark.parametrize("survey", ["label", "tables", "numbers"])
def test_an_envelope_moves_all_questions_at_once(survey):
    plan = ask_all(survey)
    snapshot = simulate(plan)
    estimates = estimate_snapshot(snapshot, poisoning=True)
    keys = [each.key for each in plan.questions]
    chosen = [
        keep_extreme(snapshot, each.key, payloads(each.mechanism, most=150 if each.moment else 12))
        for each in plan.questions
    ]
    worst = find_worst_moves(snapshot, (dict(zip(keys, each, strict=True)) for each in product(*chosen)))
    stated: dict[tuple[str, str], Influence] = {}
    for question in plan.questions:
        for key, each in list_stated(estimates, question).items():
            assert (stated.setdefault(key, each).one_percent == each.one_percent).all()
    check_stated(worst, stated, worst)


@pytest.mark.slow
def test_an_envelope_moves_a_pooled_estimate_by_the_sum_of_the_moves():
    snapshot = simulate(ask_all("label"))
    single, all_of_them = (
        estimate_snapshot(each, poisoning=True).poisoning
        for each in (replace(snapshot, plan=replace(snapshot.plan, relay=None)), snapshot)
    )
    moves = [check.influences[-1] for check in single.questions]
    assert {each.estimate for each in moves} == {"prior"}
    for check in all_of_them.questions:
        # of the same people, questions are weighed by their noise alone, which changes the weights a little
        np.testing.assert_allclose(check.influences[-1].one, sum(each.one for each in moves), rtol=0.02)
    assert "of the envelopes were fake" in str(find_poisoning(all_of_them, "tired")[1])
    assert "of the reports at" in str(find_poisoning(single, "tired")[1])


def test_a_file_without_the_entry_is_of_reports_to_one_question():
    summary = estimate_snapshot(simulate(compile_survey("label", "DE")), poisoning=True).poisoning
    document = to_json(replace(summary, asks_all=True))
    assert from_json(PoisoningSummary, document).asks_all
    del document["asks_all"]
    assert not from_json(PoisoningSummary, document).asks_all


@pytest.mark.slow
def test_an_envelope_moves_a_number_through_the_prior_too():
    """The question about the other feature moves the number's means, besides its own question."""
    snapshot = simulate(ask_all("numbers"))
    mean, _ = snapshot.plan.questions
    single, all_of_them = (
        list_stated(estimate_snapshot(each, poisoning=True), mean)["means", "a"].one
        for each in (replace(snapshot, plan=replace(snapshot.plan, relay=None)), snapshot)
    )
    assert (all_of_them > 1.001 * single).all()
