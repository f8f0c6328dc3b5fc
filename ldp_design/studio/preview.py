"""What the page's frames need: the plan and texts of a survey, so that the real form runs without a server."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey import Plan
from encoders.survey.relay import KEY_SUITE, LAST_TIME
from ldp_design.studio.checked import compile_survey

_KEY_BYTES = 32


def describe_preview(text: str) -> dict[str, Any]:
    """Return what a rehearsal of the form needs; raises SurveyError if there are mistakes.

    The survey is open, whatever its times are, and its relay has made-up keys if it has none yet.
    """
    survey, plan = compile_survey(text)
    if survey.waves or survey.relay:
        relay = survey.relay and replace(survey.relay, opens=1, closes=LAST_TIME - 1)
        if relay and not relay.has_keys:
            relay = replace(relay, collector_key=_make_key(), relay_key=_make_key())
        plan = replace(survey, waves=None, relay=relay).compile()
    url = plan.relay.url if plan.relay else f"https://collector.example/v1/surveys/{plan.id}"
    return describe_plan(plan, url)


def _make_key() -> str:
    before, after = KEY_SUITE
    return base64.b64encode(bytes(1) + before + secrets.token_bytes(_KEY_BYTES) + after).decode()


def describe_plan(plan: Plan, url: str) -> dict[str, Any]:
    """Return a plan, its texts, and the attributes of the form's element."""
    attributes = {"src": url, "digest": plan.digest, "max-epsilon": decimal_text(plan.epsilon)}
    if plan.relay:
        attributes["relay"] = url.rpartition("/")[0]
        attributes["max-epsilon"] = decimal_text(plan.relay.epsilon)
        attributes["max-local-epsilon"] = decimal_text(plan.epsilon)
    return {
        "plan": plan.json.decode(),
        "texts": plan.texts.json.decode() if plan.texts else "",
        "languages": [*plan.texts.languages] if plan.texts else [],
        "attributes": attributes,
    }
