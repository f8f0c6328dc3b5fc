"""A simulated population follows the devices' protocol bit by bit."""

from itertools import product

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.randomness import FastStream
from encoders.survey import Plan, Question, read_survey
from ldp_aggregator.rows.encode_table import encode_labels, encode_table
from ldp_aggregator.simulated_population import draw_questions, parse_epsilon, simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import VALIDATED, make_plan


@pytest.fixture(params=["DE", "OUE", "SHE", "SS"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return make_plan(
        label={"values": ["a", "b"], "weight": 3},
        features={"x": {"values": ["1", "2", "3"], "weight": 5}, "y": ["u", "v"]},
        mechanism={"frequency": request.param},
    )


@pytest.mark.parametrize("text", ["1e-99999999", "1e99999999", "nan", "inf", "0", "-1", "1" * 21, "one"])
def test_an_epsilon_without_a_short_exact_form_is_refused(text):
    with pytest.raises(SurveyError, match="epsilon: needs a number above 0"):
        parse_epsilon(text)


def test_questions_are_drawn_as_on_a_device(plan):
    many, one = FastStream(1), FastStream(1)
    assert draw_questions(plan, 200, many).tolist() == [plan.draw(one).index for _ in range(200)]


def assert_total(snapshot: Snapshot, question: Question, truths: list[int], stream: FastStream) -> None:
    """Check a question's counters against reports that devices make one by one."""
    payloads = b"".join(question.mechanism.perturb(truth, stream) for truth in truths)
    width = question.mechanism.payload_bytes
    tally = question.mechanism.tally(np.frombuffer(payloads, np.uint8).reshape(-1, width))
    assert snapshot.totals[question.key].n == len(truths)
    assert snapshot.totals[question.key].cells.tolist() == tally.tolist()


def test_totals_are_those_of_the_same_users_one_by_one(plan):
    rng = np.random.default_rng(2)
    codes = np.column_stack([rng.integers(0, 3, 300), rng.integers(0, 2, 300)])
    labels = rng.integers(0, 2, 300)
    snapshot = simulate_reports(plan, codes, labels, FastStream(3))
    stream = FastStream(3)
    drawn = [plan.draw(stream) for _ in range(300)]
    for question in plan.questions:
        users = [user for user, each in enumerate(drawn) if each.index == question.index]
        truths = [question.value(codes[user].tolist(), int(labels[user])) for user in users]
        assert_total(snapshot, question, truths, stream)


def test_only_the_given_users_report(plan):
    codes, labels = np.zeros((50, 2), dtype=np.int64), np.zeros(50, dtype=np.int64)
    snapshot = simulate_reports(plan, codes, labels, FastStream(4), users=np.arange(7))
    assert snapshot.total() == 7


def test_no_users_make_empty_totals(plan):
    snapshot = simulate_reports(
        plan, np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64), FastStream(5)
    )
    assert {total.n for total in snapshot.totals.values()} == {0}
    assert not any(total.cells.any() for total in snapshot.totals.values())


@pytest.mark.parametrize("frequency", ["DE", "OUE", "SHE", "SS"])
def test_totals_of_a_validation_are_those_of_the_same_users_one_by_one(frequency):
    plan = read_survey(VALIDATED.replace('"DE"', f'"{frequency}"')).compile()
    rows = [
        {"age": age, "income": income, "city": city, "hours": hours}
        for age, income, city, hours in product(
            (0, 40, 99, None), (0, 150_000), ("north", "south"), (0, 1, 6, 12)
        )
    ]
    known = [("yes", "no")[place % 3 // 2] for place in range(len(rows))]
    codes = encode_table(plan, {name: [row[name] for row in rows] for name in rows[0]})
    users = np.array([*range(len(rows) - 1, 2, -1), 5, 5, 0])
    snapshot = simulate_reports(plan, codes, encode_labels(plan, known), FastStream(6), users)
    stream = FastStream(6)
    drawn = [plan.draw(stream) for _ in users]
    for question in plan.questions:
        asked = [user for user, each in zip(users, drawn, strict=True) if each.index == question.index]
        truths = [question.value(*plan.encode(rows[user], known[user])) for user in asked]
        assert set(truths) == {0, 1, 2, 3}
        assert_total(snapshot, question, truths, stream)
