"""A small plan, and commits of its reports to journals."""

from dataclasses import replace

from encoders.survey import Plan, read_survey
from ldp_client import Journal, State
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from tests.support import surveys

PLAN_TEXT = surveys.SLEEP.replace("epsilon = 1.0", "epsilon = 1.5")
PLAN = read_survey(PLAN_TEXT).compile()
URL = "https://collector.test/v1/surveys/sleep"
IDENTITY = SurveyIdentity("sleep", origin_of_url(URL))
RELAYED = read_survey(surveys.RELAYED.replace("[relay]", f"[relay]\n{surveys.RELAY_KEYS}")).compile()
RELAYED_IDENTITY = SurveyIdentity(RELAYED.id, origin_of_url(RELAYED.relay.url))


def identity_of(survey: str) -> SurveyIdentity:
    return SurveyIdentity(survey, IDENTITY.origin)


def plan_of(survey: str = "sleep", family: str = "") -> Plan:
    return replace(PLAN, id=survey, family=family or survey)


def commit(
    journal: Journal, report: bytes, survey: str = "sleep", family: str = ""
) -> tuple[bytes | None, bool]:
    plan = plan_of(survey, family)
    journal.grant(plan, URL)
    entry, created = journal.commit(identity_of(survey), plan, lambda _: report)
    return entry.report, created


def state_of(journal: Journal, survey: str = "sleep") -> State | None:
    entry = journal.find(identity_of(survey))
    return entry.state if entry else None
