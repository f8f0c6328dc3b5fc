"""Applies operations to a survey's text, with those about a relay, which need the compiled survey.

With a relay, the epsilon of a survey follows from the promise: it is the largest that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from encoders.canonical import decimal_text
from encoders.errors import SurveyError
from encoders.survey import Survey, read_survey
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, MIN_DELTA
from encoders.survey.relay_promise import EQUAL
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON
from ldp_design.studio.blocks import Literal
from ldp_design.studio.edits import SurveyText

DEFAULT_USERS = 1_000
_BATCH_SHARE = 0.6
_MAX_FAILURES = Decimal("0.01")
_MAX_EPSILON = 2


def apply_operations(text: str, operations: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a survey after operations; raises EditError or LayoutError."""
    survey = SurveyText(text)
    for each in operations:
        if each.get("op") == "relay":
            _set_relay(survey, each.get("value"))
        elif each.get("op") == "fit":
            survey = SurveyText(_fit_epsilon(survey.finish()))
        else:
            survey.apply(each)
    return survey.finish()


def _set_relay(survey: SurveyText, ask: Any) -> None:
    """Add a relay, or change how many questions each person answers; without `ask`, delete the relay."""
    promised = survey.find("relay", "epsilon")
    if not ask:
        survey.delete(("relay",))
        if promised is not None:
            survey.set(("survey", "epsilon"), Literal(str(promised)))
    elif promised is None:
        survey.add(("relay",), _default_relay(survey) | ({"ask": ask} if ask == ALL else {}))
    elif ask == ALL:
        survey.set(("relay", "ask"), ask)
    else:
        for key in ("ask", "divide"):
            survey.delete(("relay", key))


def _default_relay(survey: SurveyText) -> dict[str, Any]:
    """Return the entries of a relay whose address and times the author replaces."""
    users, epsilon = survey.find("survey", "users"), str(survey.find("survey", "epsilon"))
    people = users if isinstance(users, int) and users > 0 else DEFAULT_USERS
    delta = max(min(Decimal("1e-6"), Decimal(10) ** (_MAX_FAILURES / people).adjusted()), MIN_DELTA)
    now = datetime.now(UTC)
    months = [(now.year + (now.month + each) // 12, (now.month + each) % 12 + 1) for each in (0, 1)]
    opens, closes = (Literal(f"{year}-{month:02}-01T00:00:00Z") for year, month in months)
    return {
        "url": f"https://relay.example/{survey.find('survey', 'id') or 'my-survey'}",
        "batch": batch_of(people),
        "honest": Literal("0.73"),
        "epsilon": Literal(epsilon if _can_be_promised(epsilon) else "1"),
        "delta": Literal(decimal_text(delta)),
        **({} if survey.find("waves") else {"opens": opens, "closes": closes}),
    }


def _can_be_promised(epsilon: str) -> bool:
    try:
        return 0 < Decimal(epsilon) <= _MAX_EPSILON
    except ArithmeticError:  # it is no number
        return False


def batch_of(people: int) -> int:
    """Return the largest batch that does not risk that too few people answer."""
    return max(int(people * _BATCH_SHARE), 2)


def _fit_epsilon(text: str) -> str:
    """Return a survey with a relay with the largest epsilon that keeps the promise, if it has no mistakes."""
    with suppress(SurveyError):  # `check` tells the author what is wrong
        survey = read_survey(text)
        if survey.relay:
            changed = SurveyText(text)
            changed.set(("survey", "epsilon"), Literal(decimal_text(_find_largest_epsilon(survey))))
            return changed.finish()
    return text


def _find_largest_epsilon(survey: Survey) -> Decimal:
    assert survey.relay
    most = MAX_SUM if survey.asks_all else MAX_LOCAL_EPSILON
    return replace(survey, epsilon=max(most, survey.relay.epsilon), divide=EQUAL).fit_promise().epsilon
