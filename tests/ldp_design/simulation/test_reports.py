"""One report of each row, made by the protocol of a device."""

from collections import Counter

import pytest

from encoders.errors import RowError
from encoders.randomness import SystemEntropy
from encoders.survey import read_survey
from encoders.survey.randomise import read_report
from ldp_design.simulation.reports import make_row_reports
from tests.support.relays import all_answers_text
from tests.support.surveys import TEA

ROWS = {"tea": ["black", "green"] * 50, "hours": [3.0, float("nan")] * 50, "tired": ["yes", "no"] * 50}


def test_each_row_makes_one_valid_report_with_an_id_of_its_own():
    survey = read_survey(TEA)
    plan = survey.compile()
    reports = [read_report(plan, data) for data in make_row_reports(survey, ROWS, SystemEntropy())]
    assert len({report.id for report in reports}) == 100
    assert set(Counter(report.question for report in reports)) == {0, 1}  # false alarm: 2^-99


def test_reports_are_those_of_the_true_answers_at_a_large_epsilon():
    survey = read_survey(TEA.replace("1.0", "32.0"))
    plan = survey.compile()
    for index, data in enumerate(make_row_reports(survey, ROWS, SystemEntropy())):
        report = read_report(plan, data)
        question = plan.questions[report.question]
        likelihood = question.mechanism.likelihood(report.payload)
        likeliest = question.meaning(likelihood.index(max(likelihood)))
        del likeliest["hours"]
        assert likeliest == {name: ROWS[name][index] for name in likeliest}


def test_a_survey_by_invitation_gets_reports_with_ids_of_its_questions():
    survey = read_survey(TEA.replace("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"'))
    plan = survey.compile()
    for data in make_row_reports(survey, ROWS, SystemEntropy()):
        read_report(plan, data)  # raises ReportError for an id that no token can have


@pytest.mark.slow
def test_each_row_answers_every_question_if_the_survey_asks_all():
    entries = '[features.x]\nvalues = ["p", "q"]\n[features.y]\nvalues = ["p", "q"]\n'
    survey = read_survey(all_answers_text(entries, 2))
    plan, rows = survey.compile(), {"x": ["p"] * 5, "y": ["q"] * 5}
    reports = [read_report(plan, data) for data in make_row_reports(survey, rows, SystemEntropy())]
    assert [report.question for report in reports] == [0, 1] * 5
    assert len({report.id for report in reports}) == 10


class _NoEntropy:
    def take(self, count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn")


def test_all_rows_are_checked_before_anything_is_drawn():
    rows = ROWS | {"tea": ["black"] * 99 + ["mint"]}
    with pytest.raises(RowError, match="tea: row 100: ") as caught:
        make_row_reports(read_survey(TEA), rows, _NoEntropy())
    assert "mint" not in str(caught.value)


def test_progress_is_reported_after_every_report():
    steps: list[int] = []
    make_row_reports(read_survey(TEA), ROWS, SystemEntropy(), steps.append)
    assert steps == [1] * 100
