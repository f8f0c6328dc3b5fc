"""Which surveys are one on a device: the same id, at one origin or under one author's key."""

import pytest

from ldp_client.survey_identity import SurveyIdentity, origin_of_url


@pytest.mark.parametrize(
    "url",
    [
        "https://collector.test/v1/surveys/sleep",
        "https://collector.test:443/v1/surveys/sleep",
        "HTTPS://Collector.Test./behind/v1/surveys/diet",
        "https://somebody@collector.test/v1/surveys/sleep",
    ],
)
def test_one_origin_has_one_spelling(url):
    assert origin_of_url(url) == "https://collector.test:443"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://collector.test/v1/surveys/sleep", "http://collector.test:80"),
        ("https://collector.test:8443/v1/surveys/sleep", "https://collector.test:8443"),
        ("https://b\u00fccher.test/v1/surveys/sleep", "https://xn--bcher-kva.test:443"),
        ("https://b\u00fccher..test/v1/surveys/sleep", "https://b\u00fccher..test:443"),
        ("http://[::1]:8000/v1/surveys/sleep", "http://::1:8000"),
        ("http://[0:0:0:0:0:0:0:1]:8000/v1/surveys/sleep", "http://::1:8000"),
        ("https://b\u3002test\u3002/v1/surveys/sleep", "https://b.test:443"),
    ],
)
def test_scheme_host_and_port_make_an_origin(url, origin):
    assert origin_of_url(url) == origin


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (SurveyIdentity("sleep", "https://a:443"), True),
        (SurveyIdentity("sleep", "https://a:443", "other key"), True),
        (SurveyIdentity("sleep", "https://b:443", "key"), True),
        (SurveyIdentity("sleep", "https://b:443"), False),
        (SurveyIdentity("sleep", "https://b:443", "other key"), False),
        (SurveyIdentity("diet", "https://a:443", "key"), False),
    ],
)
def test_a_survey_is_the_same_by_origin_or_by_key(other, same):
    signed = SurveyIdentity("sleep", "https://a:443", "key")
    assert signed.matches(other) is same
    assert other.matches(signed) is same


def test_two_unsigned_surveys_share_no_author():
    assert not SurveyIdentity("sleep", "https://a:443").matches(SurveyIdentity("sleep", "https://b:443"))
