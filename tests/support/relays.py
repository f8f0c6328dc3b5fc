"""A survey with a relay whose private keys the tests have, and sealed reports of it."""

from __future__ import annotations

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise
from encoders.survey.sealing import make_private_key, open_outer, seal_report
from tests.support.surveys import RELAYED

COLLECTOR, RELAY = make_private_key(), make_private_key()
RELAY_TOKEN = "relay-token-of-the-tests"
ROW = {"nights": "some", "rested": True}
_STREAM = FastStream(4)


def relayed_text(survey: str = RELAYED, collector: str = "", relay: str = "") -> str:
    """Return a survey file with the public keys of the tests, or with others."""
    keys = f'collector_key = "{collector or COLLECTOR.public_key}"\n'
    keys += f'relay_key = "{relay or RELAY.public_key}"\n'
    return survey.replace("[features.nights]", f"{keys}[features.nights]")


def relayed_plan(survey: str = RELAYED, collector: str = "", relay: str = "") -> Plan:
    """Compile such a survey."""
    return read_survey(relayed_text(survey, collector, relay)).compile()


def relayed_report(plan: Plan, **more: object) -> bytes:
    """Make a report of one person."""
    return randomise(plan, ROW | more, None, _STREAM).report


def inner_message(plan: Plan, report: bytes) -> bytes:
    """Seal a report, and open the outer seal as the relay does."""
    return open_outer(plan, seal_report(plan, report), RELAY)
