"""make_report: the pure way from a row to bytes."""

import pytest

from encoders.randomness import GivenBytes
from encoders.report import unpack
from ldp_client import RowError, make_report

ROW = {"age": "old", "hours": 7.5}


def test_a_report_follows_from_the_row_and_its_random_bytes(plan):
    question = plan.questions[0]
    draws = bytes(8) + bytes(range(16)) + bytes(question.mechanism.random_bytes)
    report = unpack(make_report(plan, ROW, "no", GivenBytes(draws)))
    assert report.plan_digest.hex() == plan.digest
    assert report.question == 0  # the lowest draw is the first question
    assert report.id == bytes(range(16))
    assert report.payload == question.mechanism.perturb(
        question.value(*plan.encode(ROW, "no")), GivenBytes(bytes(question.mechanism.random_bytes))
    )


def test_the_length_of_a_report_depends_on_the_question_alone(plan):
    rows = [
        ({"age": age, "hours": hours}, label)
        for age in ("young", None)
        for hours in (0, 99)
        for label in ("yes", "no")
    ]
    lengths: dict[int, set[int]] = {}
    for _ in range(20):
        for row, label in rows:
            report = make_report(plan, row, label)
            lengths.setdefault(unpack(report).question, set()).add(len(report))
    assert set(lengths) == {0, 1}
    assert all(len(seen) == 1 for seen in lengths.values())


@pytest.mark.parametrize(
    ("row", "label", "field"),
    [
        ({"age": "ancient-secret", "hours": 1}, "yes", "age"),
        ({"age": "old", "hours": "secret"}, "yes", "hours"),
        ({"age": ["secret"], "hours": 1}, "yes", "age"),
        ({"age": "old", "hours": 1}, "secret", "rested"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_before_anything_is_drawn(plan, row, label, field):
    with pytest.raises(RowError) as caught:
        make_report(plan, row, label, GivenBytes(b""))  # a single draw would fail otherwise
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


def test_a_missing_value_is_an_answer_like_any_other(plan):
    assert plan.encode_row({"age": None, "hours": 1}) == (2, 0)
    assert unpack(make_report(plan, {"age": None, "hours": 1}, "yes")).payload
