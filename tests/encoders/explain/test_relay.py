"""What a person reads about a relay."""

from __future__ import annotations

from encoders.explain.preview import describe_relay, explain_report, preview
from encoders.randomness import FastStream
from encoders.survey import read_survey
from tests.support.surveys import RELAY_KEYS, RELAYED, SLEEP

PLAN = read_survey(RELAYED.replace("[features.nights]", f"{RELAY_KEYS}[features.nights]")).compile()


def test_the_promise_is_rounded_up_and_names_both_organisations_and_the_crowd():
    text = " ".join(describe_relay(PLAN))
    assert "by at most 2.8 times, with a remainder of at most 1 in 1,000,000" in text  # e is 2.718
    assert "if at least 438 of the 600 reports" in text
    assert "If relay and collector work together, by at most 7.4 times" in text  # e^2 is 7.389


def test_previews_and_explained_reports_contain_it():
    shown = preview(PLAN, {"nights": "some", "rested": True}, None, FastStream(1))
    for text in (str(shown), explain_report(PLAN, shown.report)):
        assert "\n".join(describe_relay(PLAN)) in text


def test_a_survey_without_a_relay_has_no_such_text():
    assert describe_relay(read_survey(SLEEP).compile()) == []
