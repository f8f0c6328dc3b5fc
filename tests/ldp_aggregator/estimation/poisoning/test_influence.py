"""The influence bound: no payload moves an estimate further, and some payload attains it."""

import itertools
import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from encoders.errors import ReportError
from encoders.mechanisms import Mechanism
from encoders.randomness import FastStream
from encoders.survey import Question
from ldp_aggregator.estimation import Estimates, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.poisoning.influence import Influence, Reach, find_moves
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, Total
from tests.ldp_aggregator.estimation.conftest import make_world, number_world, raw_results, without_intervals
from tests.support.relays import all_answers_plan
from tests.support.surveys import make_plan

ESTIMATES = ("frequencies", "conditionals", "prior", "means", "variances", "missing")


def payloads(mechanism: Mechanism, most: int | None = None) -> list[list[int]]:
    """Return what valid payloads add to the counters: all, or about `most` from the first to the last.

    For vectors of numbers, only the extreme ones.
    """
    if mechanism.payload_bytes > 2:
        largest = -int(mechanism.contribution_range(np.eye(1, mechanism.cells)[0])[0])
        return [list(each) for each in itertools.product((-largest, largest), repeat=mechanism.cells)]
    valid = []
    for each in itertools.product(range(256), repeat=mechanism.payload_bytes):
        with suppress(ReportError):
            mechanism.check(bytes(each))
            valid.append(bytes(each))
    if most and len(valid) > most:
        valid = valid[:: len(valid) // most] + valid[-1:]
    return [mechanism.contribution(each) for each in valid]


def without(snapshot: Snapshot, question: Question, fakes: list[int]) -> Snapshot:
    """Return the snapshot without one fake report."""
    total = snapshot.totals[question.key]
    rest = Total(total.n - 1, total.cells - np.array(fakes, dtype=np.int64))
    return Snapshot(snapshot.plan, {**snapshot.totals, question.key: rest})


def influences(estimates: Estimates, question: Question) -> dict[str, Influence]:
    meter = next(each for each in estimates.poisoning.questions if each.question == question.name)
    return {each.estimate: each for each in meter.influences}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["DE", "OUE", "SUE", "THE", "SS"])
def test_no_payload_moves_frequencies_and_conditionals_beyond_the_bound_and_one_attains_it(
    mechanism,
):
    snapshot = make_world(mechanism).snapshot(20_000, 1)
    question = next(each for each in snapshot.plan.questions if each.name == "two")
    now = estimate_snapshot(snapshot, poisoning=True)
    bound, two = influences(now, question), now.features[1]
    with without_intervals():
        before = [
            raw_results(without(snapshot, question, each), [1]).features[1]
            for each in payloads(question.mechanism)
        ]
    # ratios are first-order: not valid for the label whose share is hardly above zero
    for name, labels, slack in (("frequencies", 3, 1e-9), ("conditionals", 2, 0.03)):
        values = np.stack([getattr(each, name).value for each in before])
        moved = abs(getattr(two, name).value - values).max(axis=0)
        assert np.allclose(moved[:, :labels], bound[name].one[:, :labels], rtol=slack)


@pytest.mark.parametrize("mechanism", ["DE", "OUE", "SS"])
def test_no_payload_moves_the_prior_beyond_the_bound_and_one_attains_it(mechanism):
    """Up to changes of the pooling weights, which depend on the noise."""
    snapshot = make_world(mechanism).snapshot(20_000, 1)
    now = estimate_snapshot(snapshot, poisoning=True)
    for question in snapshot.plan.questions[:1]:
        with without_intervals():
            before = [
                raw_results(without(snapshot, question, each), []).raw_prior.value
                for each in payloads(question.mechanism)
            ]
        moved = abs(now.raw_prior.value - np.stack(before)).max(axis=0)
        assert np.allclose(moved, influences(now, question)["prior"].one, rtol=0.1)


@pytest.mark.slow
def test_a_report_to_one_of_several_questions_moves_a_share_by_its_influence():
    """The feature's share is the mean of both questions' estimates."""
    features = {"a": {"values": ["x", "y"], "alone": True}, "b": ["u", "v"]}
    tables, mechanism = {"t": {"features": ["a", "b"]}}, {"frequency": "OUE"}
    plan = make_plan(label=None, features=features, tables=tables, mechanism=mechanism)
    codes = np.random.default_rng(1).integers(0, 2, (20_000, 2))
    snapshot = simulate_reports(plan, codes, np.zeros(20_000, dtype=np.int64), FastStream(1))
    now = estimate_snapshot(snapshot, poisoning=True)
    for question, name in zip(plan.questions, ("shares", "shares of a"), strict=True):
        before = [
            estimate_snapshot(without(snapshot, question, each)).features[0].shares.value
            for each in payloads(question.mechanism)
        ]
        moved = abs(now.features[0].shares.value - np.stack(before)).max(axis=0)
        bound = influences(now, question)[name].one
        # up to changes of the weights, which depend on the noise
        assert np.allclose(moved, bound, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", ["laplace", "onebit", "sampled-laplace", "sign", "sign-vector", "piecewise"]
)
def test_no_payload_moves_numbers_beyond_the_bound_and_one_nearly_attains_it(mechanism):
    """To first order, and up to changes of the pooling weights, which depend on the noise."""
    snapshot = number_world(mechanism).snapshot(400_000, 1)
    now = estimate_snapshot(snapshot, poisoning=True)
    assert isinstance(now.features[2], NumberResult)
    for question in snapshot.plan.questions:
        if question.moment is None or "degrees" not in question.name:
            continue
        bound = influences(now, question)
        of = " of degrees" if question.mechanism.multivariate else ""
        chosen = payloads(question.mechanism, most=40)
        if question.mechanism.multivariate:  # of the six cells of the income, four patterns of ends
            chosen = [each for each in chosen if len({*each[:6:2]}) == len({*each[1:6:2]}) == 1]
            assert len(chosen) == 4 * 2**3
        before = [raw_results(without(snapshot, question, each), [2]).features[2] for each in chosen]
        for name in ("means", "variances"):
            values = np.stack([getattr(each.by_class, name).value for each in before])
            moved = abs(getattr(now.features[2].by_class, name).value - values)[:, :2].max(axis=0)
            furthest = bound[name + of].one[:2]
            assert (moved <= furthest * 1.1 + 1e-3 * furthest.max()).all()
            assert (moved >= furthest * 0.8 - 1e-4).all()


def test_the_influence_of_one_report_of_a_hundredth_and_of_the_only_one():
    [question, *_] = make_world("DE").plan.questions
    reach = Reach(question, 1000, np.array([[1.0], [2.0]]), np.array([33.0]))
    bound = Influence.from_moves("frequencies", find_moves([reach], np.array([0.5])), np.array([0.01]))
    assert bound.one[0] == pytest.approx(2 / 999)
    assert bound.one_percent[0] == pytest.approx(2 * 10 / 990)
    assert bound.one_percent_in_stderrs[0] == pytest.approx(2 / 99 / 0.01)
    only = find_moves([replace(reach, n=1)], np.array([0.5]))
    assert np.isinf(Influence.from_moves("frequencies", only, np.array([0.01])).one[0])


def test_a_ratio_whose_bottom_falls_moves_further_up_to_the_end_of_its_range():
    [question, *_] = make_world("DE").plan.questions
    reach = Reach(
        question, 1000, np.array([[1.0], [2.0]]), np.array([33.0])
    )  # 1% moves the bottom by a third
    assert find_moves([reach], np.array([0.2]), (0.0, 1.0))[1][0] == pytest.approx(2 / 99 / (1 - 33 / 99))
    all_of_it = replace(reach, bottom=np.array([99.0]))
    assert find_moves([all_of_it], np.array([0.2]), (0.0, 1.0))[1][0] == pytest.approx(0.8)
    both = find_moves([reach, reach], np.array([0.2]), (0.0, 1.0))[1][0]
    assert both == pytest.approx(4 / 99 / (1 - 66 / 99))


@pytest.mark.parametrize("users", [0, 1, 50])
@pytest.mark.parametrize("estimator", ["default", "paper"])
def test_few_reports_and_every_estimator_give_json(users, estimator):
    for snapshot in (make_world("OUE").snapshot(users, 1), number_world().snapshot(users, 1)):
        if estimator == "default" or snapshot.plan.questions[0].kind == "label":
            document = estimate_snapshot(snapshot, estimator, poisoning=True).as_dict()["poisoning"]
            assert len(document["questions"]) == len(snapshot.plan.questions)
            assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.slow
def test_fake_messages_move_the_prior_by_every_question_if_each_person_answers_all():
    label = '[label]\nname = "y"\nvalues = ["a", "b"]\n'
    plan = all_answers_plan(label + "".join(f'[features.x{i}]\nvalues = ["p", "q"]\n' for i in range(3)), 6)
    rng = np.random.default_rng(1)
    codes, labels = rng.integers(2, size=(1000, 3)), rng.integers(2, size=1000)
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    now = estimate_snapshot(snapshot, poisoning=True)
    found = [influences(now, each)["prior"] for each in plan.questions]
    assert all((each.one == found[0].one).all() for each in found)
    moves = []
    for fakes in itertools.product(*(payloads(each.mechanism) for each in plan.questions)):
        rest = snapshot
        for question, fake in zip(plan.questions, fakes, strict=True):
            rest = without(rest, question, fake)
        moves.append(np.abs(estimate_snapshot(rest).raw_prior.value - now.raw_prior.value))
    assert np.max(moves, axis=0) == pytest.approx(found[0].one, rel=0.01)
