"""Test vectors of surveys with waves: draws of the wave, reports of several waves, tokens that name one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.randomness import GivenBytes
from encoders.survey import Plan, read_survey
from encoders.survey.invitation import format_token
from tools.vectors.common import WORD, case, first_draws, random_bytes, words
from tools.vectors.tokens import id_of

SURVEY = """
[survey]
id = "{name}"
epsilon = 1
enrolment = "{enrolment}"
[label]
name = "rested"
values = ["never", "often"]
weight = 1
[features.age]
values = ["young", "old"]
[features.hours]
range = [0, 12]
[mechanism]
frequency = "DE"
numeric = "sign"
[waves]
first = 2027-01-31
every = "{every}"
count = {count}
open_days = 1
assign = "{assign}"
"""
ROW, LABEL = {"age": "old", "hours": 7.5}, "often"


def files() -> dict[str, dict[str, Any]]:
    """Return the files of this module by their names."""
    plan = _plan("wave-vectors", "open", "day", 130, "drawn")
    invited = _plan("wave-token-vectors", "token", "month", 3, "now")
    tokens = {"cases": [*_tokens(invited)], "digest": invited.digest, "plan": invited.json.decode()}
    reports = {"cases": [*_reports(plan)], "digest": plan.digest, "draws": [*_draws(plan)]}
    return {"good-waves.json": reports | {"plan": plan.json.decode()}, "tokens-waves.json": tokens}


def _plan(name: str, enrolment: str, every: str, count: int, assign: str) -> Plan:
    filled = SURVEY.format(name=name, enrolment=enrolment, every=every, count=count, assign=assign)
    return read_survey(filled).compile()


def _draws(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the first and the last draw of every wave."""
    assert plan.waves
    count = len(plan.waves.list)
    for wave in range(count):
        for limit in (WORD * wave // count, WORD * (wave + 1) // count - 1):
            random = words(limit)
            yield {"random": random.hex(), "wave": plan.waves.draw(GivenBytes(random))}


def _reports(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield every question in several waves; their indices take one byte of a report, two and three."""
    assert plan.waves
    for wave in (0, 1, 31, 32, 63, 64, 129):
        for question, middle in zip(plan.questions, first_draws(plan), strict=True):
            seed = f"{plan.id}/{wave}/{question.index}"
            random = words(middle) + random_bytes(seed, 16 + question.mechanism.random_bytes)
            yield case(plan, ROW, LABEL, random, wave=plan.waves.list[wave].name)


def _tokens(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield a token for every question of every wave, and one for a question beyond the last wave."""
    for question in plan.counted_questions:
        token = format_token(plan, id_of(plan, question.index))
        noise = random_bytes(f"{plan.id}/{question.index}", question.mechanism.random_bytes)
        yield case(plan, ROW, LABEL, noise, token=token)
    beyond = format_token(plan, id_of(plan, len(plan.counted_questions)))
    name = "a token for a wave beyond the last"
    yield {"error": "token", "label": LABEL, "name": name, "random": "", "row": ROW, "token": beyond}
