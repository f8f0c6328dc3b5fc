"""Which responses are final for a report, and which concern all surveys of a collector."""

import pytest

from ldp_client import Response
from ldp_client.collector_response import concerns_collector, parse_outcome
from ldp_client.sending.scheduled_report import QueuedReport
from ldp_client.sending.sending_times import SendingSchedule
from ldp_client.survey_identity import SurveyIdentity


def test_a_response_without_a_collector_s_reason_concerns_all_its_surveys():
    unknown = Response(404, b'{"reason":"unknown-survey","retryable":true}')
    assert not concerns_collector(unknown)
    for foreign in (
        Response(200, b"<html>sign in</html>"),
        Response(404, b"not found"),
        Response(403, b'{"reason":"x"}'),
    ):
        assert concerns_collector(foreign)


@pytest.mark.parametrize("status", [301, 404, 408, 429, 500, 502, 503])
def test_a_response_without_an_outcome_is_not_final(status):
    assert parse_outcome(Response(status, b"whatever")) is None
    assert parse_outcome(Response(status, b'{"status":"recorded"}')) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"reason":"unknown-survey","retryable":false}',
        b'{"reason":"wrong-plan","retryable":false}',
        b'{"reason":"unsupported-media-type","retryable":false}',
        b'{"reason":"\\ud800","retryable":false}',
        b'{"reason":"' + b"x" * 100_000 + b'","retryable":false}',
        b"[" * 100_000,
    ],
)
def test_only_a_response_about_the_bytes_is_final(body):
    assert parse_outcome(Response(404, body)) is None


def test_a_token_that_the_collector_does_not_know_is_kept_and_tried_again():
    # the operator may have named the wrong store: that must not lose the report
    refused = Response(403, b'{"reason": "not-enrolled", "retryable": true}', 3600.0)
    assert parse_outcome(refused) is None
    survey, times = SurveyIdentity("sleep", "http://collector.test:80"), SendingSchedule(lambda: 0.0)
    times.update([QueuedReport(survey, spread=0.0, is_new=True)])
    times.begin_attempt(survey)
    times.report_failed(survey, refused)
    assert times.next_due() == (3600.0, survey)
