"""Test vectors of surveys by invitation: the content of tokens, and tokens to refuse."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from encoders.survey import Plan, read_survey
from encoders.survey.invitation import format_token
from tools.vectors.common import case, random_bytes

SURVEY = """
[survey]
id = "token-vectors"
epsilon = 1
enrolment = "token"
[label]
name = "rested"
values = ["never", "often"]
weight = 1
[features.age]
values = ["young", "old"]
[features.hours]
range = [0, 12]
"""
ROW, LABEL = {"age": "old", "hours": 7.5}, "often"


def tokens() -> dict[str, Any]:
    plan = read_survey(SURVEY).compile()
    return {
        "cases": [*taken(plan), *refused(plan)],
        "digest": plan.digest,
        "plan": plan.json.decode(),
    }


def taken(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield a token for every question, and one token spelled as people write."""
    for question in plan.questions:
        token = format_token(plan, id_of(plan, question.index))
        noise = random_bytes(f"{plan.id}/{question.index}", question.mechanism.random_bytes)
        yield case(plan, ROW, LABEL, noise, token=token)
    grouped = "-".join(token[start : start + 4] for start in range(0, 32, 4))
    yield case(plan, ROW, LABEL, noise, "in capitals, hyphens, white space", token=f" {grouped.upper()}\n")


def refused(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield tokens with one mistake each; nothing may be drawn."""
    token = format_token(plan, id_of(plan, 1))
    other = replace(plan, id="another-survey")
    wrong = {
        "no token": None,
        "an empty token": "",
        "a token cut short": token[:-1],
        "a token with a letter more": token + "a",
        "a token with a letter changed": ("b" if token[0] == "a" else "a") + token[1:],
        "a token with a digit that base32 lacks": "1" + token[1:],
        "a token of another survey": format_token(other, id_of(plan, 1)),
        "a token for a question beyond the last": format_token(plan, id_of(plan, len(plan.questions))),
        "a token in base64": base64.b64encode(base64.b32decode(token.upper())).decode(),
        "a token with padding": token + "======",
    }
    for name, text in wrong.items():
        yield {"error": "token", "label": LABEL, "name": name, "random": "", "row": ROW, "token": text}


def id_of(plan: Plan, index: int) -> bytes:
    return index.to_bytes(2, "big") + random_bytes(f"{plan.id}/token/{index}", 14)
