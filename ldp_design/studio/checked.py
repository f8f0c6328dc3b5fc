"""What `ldp-survey check` says about a survey's text, and what the page's frames need of its plan."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from encoders.canonical import decimal_text
from encoders.errors import SurveyError
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.plan_files import named_lines
from encoders.survey.relay import KEY_SUITE, LAST_TIME
from encoders.survey.toml_reader import find_line
from ldp_aggregator.form_page.words import ENGLISH, find_untranslated
from ldp_design.authoring.overview import find_missing_texts, find_warnings
from ldp_design.authoring.relay_overview import describe_relay
from ldp_design.authoring.toml_patch import parse_tables
from ldp_design.studio.edits import find

_UNTITLED = "missing: people would read the short name"


def compile_survey(text: str) -> tuple[Survey, Plan]:
    """Return a survey and its plan; raises SurveyError with the field and line of every mistake."""
    survey = read_survey(text)
    with named_lines(text, survey.features):
        return survey, survey.compile()


def describe_text(text: str) -> dict[str, Any]:
    """Return the tables of a survey, its problems, and facts about its plan, None if there are mistakes."""
    tables = facts = None
    with suppress(ValueError):
        tables = parse_tables(text)
    try:
        _, plan = compile_survey(text)
    except SurveyError as error:
        found = [("error", each.field, each.line, each.why or str(each)) for each in error.problems]
    else:
        found = [
            ("warning", ".".join(one.path), find_line(text, one.path), one.message)
            for one in find_warnings(plan)
        ]
        found += _find_untitled(plan, text)
        facts = _describe_facts(plan)
    keys = ("severity", "field", "line", "message")
    problems = [dict(zip(keys, each, strict=True)) for each in found]
    return {"tables": tables, "problems": problems, "facts": facts}


def _find_untitled(plan: Plan, text: str) -> Iterator[tuple[str, str, int | None, str]]:
    """Yield a mistake for each question without a text in the survey's first language.

    An application may have texts of its own, so that `ldp-survey check` only calls them missing.
    """
    for first, table in [*plan.texts.languages.items()][:1] if plan.texts else ():
        for path in [*(("features", each.name) for each in plan.entries), ("label",)]:
            if find(table, *path, "title") is None and (path != ("label",) or plan.row_label.exists):
                place = ("texts", first, *path, "title")
                yield "error", ".".join(place), find_line(text, place), _UNTITLED


def _describe_facts(plan: Plan) -> dict[str, Any]:
    languages = plan.texts.languages if plan.texts else {}
    untranslated = find_untranslated(languages, {})
    return {
        "id": plan.id,
        "digest": plan.digest,
        "missing": {name: list(find_missing_texts(plan, table)) for name, table in languages.items()},
        "untranslated": [name for name, words in untranslated.items() if len(words) == len(ENGLISH)],
        "relay": describe_relay(plan, plan.relay) if plan.relay else None,
    }


# -- frames ---------------------------------------------------------------------------------------------


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
    return describe_plan(plan, plan.relay.url if plan.relay else f"https://collector.example/{plan.id}")


def _make_key() -> str:
    before, after = KEY_SUITE
    return base64.b64encode(bytes(1) + before + secrets.token_bytes(32) + after).decode()


def describe_plan(plan: Plan, url: str) -> dict[str, Any]:
    """Return a plan, its texts, and the attributes of the form's element."""
    attributes = {"src": url, "digest": plan.digest, "max-epsilon": decimal_text(plan.epsilon)}
    if plan.relay:
        promised, together = decimal_text(plan.relay.epsilon), decimal_text(plan.epsilon)
        origin = url.rpartition("/")[0]
        attributes |= {"relay": origin, "max-epsilon": promised, "max-local-epsilon": together}
    texts = plan.texts.json.decode() if plan.texts else ""
    return {"plan": plan.json.decode(), "texts": texts, "attributes": attributes}
