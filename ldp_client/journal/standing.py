"""Standing consent: what a person was shown of a series, and what all its plans may spend."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.features import Feature, Label
from encoders.survey.plan import Plan
from encoders.survey.questions import Question
from encoders.survey.relay import DECIMALS, Relay
from ldp_client.errors import ASKS_AGAIN, ConsentError
from ldp_client.survey_identity import origin_of_url

TABLE = """
    CREATE TABLE series (
        series   TEXT PRIMARY KEY,
        url      TEXT NOT NULL,
        plan     BLOB NOT NULL,
        lifetime TEXT NOT NULL,
        agreed   INTEGER NOT NULL
    )
    """


class Standing(NamedTuple):
    """A person's consent to a series, which `series` names with its author's key."""

    series: str
    url: str
    plan: bytes
    """The plan that was shown; `url` is where its report is sent."""
    lifetime: Fraction
    """What all plans may spend; `spent` counts reports from the moment that they are drawn."""
    agreed: bool
    spent: Fraction

    def __str__(self) -> str:
        state = "" if self.agreed else "; withdrawn: later plans are not answered"
        left = float(max(self.lifetime - self.spent, Fraction(0)))
        spent = f"epsilon {float(self.spent):g} of {float(self.lifetime):g} is spent, {left:g} is left"
        return f"series {self.series.partition(' ')[0]}: {spent}{state}"


def find_standing(connection: sqlite3.Connection, series: str) -> Standing | None:
    """Return the consent to a series; None if there never was one."""
    row = connection.execute("SELECT * FROM series WHERE series = ?", (series,)).fetchone()
    if row is None:
        return None
    reports = connection.execute("SELECT epsilon FROM surveys WHERE series = ?", (series,))
    spent = sum((Fraction(epsilon) for (epsilon,) in reports), Fraction(0))
    series, url, plan, lifetime, agreed = row
    return Standing(series, url, plan, Fraction(lifetime), bool(agreed), spent)


def record_standing(connection: sqlite3.Connection, plan: AnyPlan, url: str, lifetime: Fraction) -> None:
    """Record that a person agrees to a plan and to later ones of its series."""
    shown = plan.series_id, url, plan.json, str(lifetime)
    connection.execute("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, TRUE)", shown)


def end_standing(connection: sqlite3.Connection, series: set[str], signer: str) -> set[str]:
    """End the consent to some series; without any, to all of an author's. Returns their names and keys."""
    known = {name for (name,) in connection.execute("SELECT series FROM series")}
    ended = series - {""} or {name for name in known if signer and name.endswith(f" {signer}")}
    for name in ended:
        connection.execute("UPDATE series SET agreed = FALSE WHERE series = ?", (name,))
    return ended


def require_left(connection: sqlite3.Connection, plan: AnyPlan) -> None:
    """Raise ConsentError if a report would exceed what the person agreed that the plan's series may spend."""
    standing = find_standing(connection, plan.series_id)
    if standing and standing.spent + Fraction(plan.epsilon) > standing.lifetime:
        raise ConsentError(f"{standing}, and this plan has epsilon {plan.epsilon}: ask again", ASKS_AGAIN)


def require_shown(connection: sqlite3.Connection, plan: AnyPlan, url: str) -> None:
    """Raise ConsentError unless the person has agreed to the series, and was shown all that a plan asks."""
    standing = find_standing(connection, plan.series_id)
    if standing is None or not standing.agreed:
        raise ConsentError("the person has not agreed to the plan's series: call grant() when they agree")
    assert isinstance(plan, Plan)
    found = [*_differences(Plan.from_json(standing.plan), plan)]
    if origin_of_url(standing.url) != origin_of_url(url):
        found.append("another recipient")
    if found:
        raise ConsentError(f"the person was not shown {', '.join(found)}: ask again", ASKS_AGAIN)


def _differences(agreed: Plan, later: Plan) -> Iterator[str]:
    """Yield what the agreed plan did not show."""
    if later.epsilon > agreed.epsilon:
        yield "a larger epsilon"
    for name in ("enrolment", "projection", "texts_digest", "validation"):
        if getattr(agreed, name) != getattr(later, name):
            yield f"another {name.partition('_')[0]}"
    if (agreed.waves is None) != (later.waves is None):
        yield "waves" if later.waves else "a survey without waves"
    yield from _other_recipients(agreed.relay, later.relay)
    shown = {each.name: _split_values(each) for each in (agreed.row_label, *agreed.entries)}
    for each in filter(lambda part: part.name, (later.row_label, *later.entries)):  # a label may be absent
        rest, values = _split_values(each)
        known_rest, known_values = shown.get(each.name, (None, values))
        if rest != known_rest or not values <= known_values:
            yield f"what is asked as {each.name!r}"
    asked = [_topic(each) for each in agreed.questions]
    for question in later.questions:
        kind, topic = _topic(question)
        if not any(kind == known_kind and topic <= known for known_kind, known in asked):
            yield f"the question {question.name!r}"


def _other_recipients(one: Relay | None, other: Relay | None) -> Iterator[str]:
    keys = [(each.relay_key, each.collector_key) if each else () for each in (one, other)]
    if keys[0] != keys[1]:
        yield "another recipient"
    if one and other and one.ask != other.ask:
        yield "how many questions each person answers"
    if one and other and any(getattr(other, name) > getattr(one, name) for name in DECIMALS):
        yield "another promise of the relay"


# of both, a later plan may have less of the second


def _split_values(entry: Feature | Label) -> tuple[dict[str, object], set[str]]:
    rest = entry.as_dict()
    return rest, set(rest.pop("values", ()))


def _topic(question: Question) -> tuple[object, set[str]]:
    asked = {each.name for each in question.asked_features} | set(question.label.names)
    return (question.moment, question.width), asked
