"""Which surveys of a journal are the same: by origin, by the author's key, by family."""

from fractions import Fraction

import pytest

from ldp_client import BudgetError, ConsentError, Journal, State
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from tests.support.journals import IDENTITY, PLAN, URL, commit, plan_of

ELSEWHERE = URL.replace("collector.test", "elsewhere.test")


@pytest.mark.parametrize("family", ["sleep", "health"])
def test_an_unsigned_survey_of_another_origin_is_another_survey(tmp_path, family):
    journal = Journal(tmp_path / "j.db")
    plan, other = plan_of("sleep", family), SurveyIdentity("sleep", origin_of_url(ELSEWHERE))
    journal.grant(plan, URL)
    assert journal.commit(IDENTITY, plan, lambda _: b"first")[1]
    assert journal.find(other) is None  # consent is not inherited
    assert journal.find_answered(other, family) is None
    with pytest.raises(ConsentError):
        journal.commit(other, plan, lambda _: pytest.fail("was drawn"))
    journal.grant(plan, ELSEWHERE)
    with pytest.raises(BudgetError):  # but what it spends adds up
        journal.commit(other, plan, lambda _: pytest.fail("was drawn"), Fraction(2))
    assert journal.commit(other, plan, lambda _: b"second")[1]
    journal.withdraw(other)
    found = journal.find(IDENTITY)
    assert found is not None
    assert (found.state, found.report) == (State.QUEUED, b"first")


@pytest.mark.parametrize("family", ["sleep", "health"])
def test_a_signed_survey_is_the_same_at_every_origin(tmp_path, family):
    journal = Journal(tmp_path / "j.db")
    plan, moved = plan_of("sleep", family), SurveyIdentity("sleep", origin_of_url(ELSEWHERE), "key")
    journal.grant(plan, URL, "key")
    found = journal.find(moved)
    assert found is not None
    assert found.url == URL
    journal.grant(plan, ELSEWHERE, "key")
    assert [entry.url for entry in journal.entries()] == [ELSEWHERE]  # the consent has moved
    assert journal.commit(moved, plan, lambda _: b"first") == (journal.find(moved), True)
    back = SurveyIdentity("sleep", IDENTITY.origin, "key")
    assert journal.grant(plan, URL, "key").report == b"first"
    assert not journal.commit(back, plan, lambda _: pytest.fail("was drawn"))[1]
    assert journal.find_answered(SurveyIdentity("another", IDENTITY.origin, "key"), family) is not None
    assert journal.find_answered(SurveyIdentity("another", IDENTITY.origin, "other key"), family) is None
    journal.withdraw(back)
    assert journal.queued_surveys() == []


def test_pinning_a_key_later_allows_no_second_report(tmp_path):
    journal = Journal(tmp_path / "j.db")
    assert commit(journal, b"unsigned") == (b"unsigned", True)
    assert journal.grant(PLAN, URL, "key").report == b"unsigned"
    signed = SurveyIdentity("sleep", IDENTITY.origin, "key")
    assert not journal.commit(signed, PLAN, lambda _: pytest.fail("was drawn"))[1]


def test_find_prefers_a_report_to_a_consent_at_the_same_origin(tmp_path):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, ELSEWHERE, "key")
    journal.commit(SurveyIdentity("sleep", origin_of_url(ELSEWHERE), "key"), PLAN, lambda _: b"signed")
    journal.grant(PLAN, URL)  # an application without the key has consent, too
    found = journal.find(SurveyIdentity("sleep", IDENTITY.origin, "key"))
    assert found is not None
    assert found.report == b"signed"


def test_dropping_the_author_s_key_allows_no_second_report(tmp_path):
    journal = Journal(tmp_path / "j.db")
    first, second = plan_of("first", "health"), plan_of("second", "health")
    journal.grant(first, URL, "key")
    journal.grant(second, ELSEWHERE, "key")
    journal.commit(SurveyIdentity("first", IDENTITY.origin, "key"), first, lambda _: b"first")
    unpinned = SurveyIdentity("second", origin_of_url(ELSEWHERE))
    entry, created = journal.commit(unpinned, second, lambda _: pytest.fail("was drawn"))
    assert (entry.survey, created) == ("first", False)
    assert journal.find_answered(unpinned, "health") == entry
    journal.withdraw(unpinned)
    assert journal.queued_surveys() == []
