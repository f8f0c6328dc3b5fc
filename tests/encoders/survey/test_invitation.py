"""Invitations: a token is the report's id and determines the question; other surveys refuse tokens."""

from collections import Counter

import pytest

from encoders.errors import Reason, ReportError, SurveyError, TokenError
from encoders.explain.preview import explain_report, preview
from encoders.randomness import GivenBytes, SystemEntropy
from encoders.report import Report, pack, unpack
from encoders.survey import Plan
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.invitation import format_token, hash_token
from encoders.survey.randomise import read_report
from ldp_client import make_report
from tests.support.surveys import make_plan

ROW = {"smokes": "yes", "weight": 70}


def plan_of(enrolment: str | None = "token") -> Plan:
    features = {"smokes": ["yes", "no"], "weight": {"range": [0, 200]}}
    return make_plan(id="clinic", enrolment=enrolment, label={"name": "ill"}, features=features)


def token_for(plan: Plan, index: int) -> str:
    return format_token(plan, draw_report_id(plan, plan.questions[index], SystemEntropy()))


def test_an_open_survey_s_plan_does_not_mention_enrolment():
    plan = plan_of("open")
    assert b"enrolment" not in plan.json
    assert plan == plan_of(None)
    assert plan.enrolment == "open"


def test_a_survey_by_invitation_is_another_plan_that_reads_back():
    plan = plan_of()
    assert Plan.from_json(plan.json) == plan
    assert plan.enrolment == "token"
    assert plan.digest != plan_of("open").digest


def test_a_survey_file_names_a_kind_of_enrolment_that_exists():
    with pytest.raises(SurveyError, match=r'line 4: survey.enrolment: must be "open" .* or "token"'):
        plan_of("invited")


def test_a_token_decides_the_question_and_is_the_id():
    plan = plan_of()
    for index in range(len(plan.questions)):
        token = draw_report_id(plan, plan.questions[index], SystemEntropy())
        text = format_token(plan, token)
        assert len(text) == 32
        report = read_report(plan, make_report(plan, ROW, "no", token=text))
        assert (report.question, report.id) == (index, token)


def test_only_the_mechanism_draws_where_there_is_a_token():
    plan = plan_of()
    noise = bytes(plan.questions[0].mechanism.random_bytes)
    assert make_report(plan, ROW, "no", GivenBytes(noise), token_for(plan, 0))


def test_tokens_that_are_missing_or_not_asked_for_are_refused_before_anything_is_drawn():
    nothing = GivenBytes(b"")
    with pytest.raises(TokenError, match="token: is missing: give the person's invitation"):
        make_report(plan_of(), ROW, "no", nothing)
    with pytest.raises(TokenError, match="is not needed"):
        make_report(plan_of("open"), ROW, "no", nothing, token_for(plan_of(), 0))


def test_error_for_a_token_of_another_plan_does_not_contain_it():
    token = token_for(plan_of("open"), 0)
    with pytest.raises(TokenError, match="misspelt, or an invitation to another survey") as caught:
        make_report(plan_of(), ROW, "no", GivenBytes(b""), token)
    assert token not in str(caught.value)


def test_only_plain_letters_are_read():
    plan = plan_of()
    token = token_for(plan, 0)
    ids = {
        unpack(make_report(plan, ROW, "no", token=each)).id for each in (token, f"\t{token.upper()} \r\n-")
    }
    assert len(ids) == 1
    for odd in (
        token.replace("a", "\u0430"),
        token + "\u00a0",
        token + "\0",
        token.replace("i", "\u0131", 1) + "\u200b",
    ):
        with pytest.raises(TokenError, match="misspelt"):
            make_report(plan, ROW, "no", GivenBytes(b""), odd)
    with pytest.raises(TokenError, match="misspelt"):
        make_report(plan, ROW, "no", GivenBytes(b""), token.encode())


def test_an_id_that_no_token_of_its_question_has_is_refused():
    plan = plan_of()
    sent = unpack(make_report(plan, ROW, "no", token=token_for(plan, 0)))
    moved = Report(sent.plan_digest, 0, b"\0\1" + sent.id[2:], sent.payload)
    with pytest.raises(ReportError) as caught:
        read_report(plan, pack(moved))
    assert caught.value.reason is Reason.NOT_ENROLLED
    assert read_report(plan_of("open"), make_report(plan_of("open"), ROW, "no"))


def test_what_a_collector_keeps_depends_on_plan_and_token():
    plan, other = plan_of(), plan_of("open")
    one, two = (draw_report_id(plan, plan.questions[0], SystemEntropy()) for _ in range(2))
    assert len({hash_token(plan, one), hash_token(plan, two), hash_token(other, one), one, two}) == 5


def test_a_preview_without_a_token_looks_at_a_question_drawn_as_tokens_are():
    plan = plan_of()
    seen = Counter(preview(plan, ROW, "no", SystemEntropy()).question for _ in range(300))
    assert len(seen) == len(plan.questions)  # misses one with 2^-140 or so
    assert preview(plan, ROW, "no", SystemEntropy(), question_name="smokes").question == "smokes"


def test_preview_explains_that_an_invitation_identifies_the_report():
    plan, token = plan_of(), token_for(plan_of(), 1)
    shown = preview(plan, ROW, "no", SystemEntropy(), token=token)
    assert shown.question == plan.questions[1].name
    texts = [" ".join(text.split()) for text in (str(shown), explain_report(plan, shown.report))]
    assert all("know that the report is yours" in text for text in texts)
    assert all("chosen by the invitation" in text for text in texts)
    assert "invitation" not in str(preview(plan_of("open"), ROW, "no", SystemEntropy()))
