"""The survey of good-texts.json: its plan contains the SHA-256 of its texts, which the file contains too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from encoders.survey import Plan, read_survey
from encoders.survey.display_texts import display_texts
from tools.vectors.common import case, first_draws, random_bytes, words

SURVEY = """
[survey]
id = "vectors-texts"
epsilon = 1
[label]
name = "rested"
values = ["yes", "no"]
[features.age]
values = ["young", "middle", "old"]
missing = "category"
[features.hours]
range = [0, 12]
missing = "category"
ask_if = { feature = "rested", value = "no" }
[about]
title = "Sleep"
contact = "A. Researcher\\n1 Main Street"
[texts.en]
title = "Sleep and shift work"
[texts.en.label]
title = "Do you feel rested?"
values = { yes = "Yes", no = "No" }
[texts.en.features.age]
title = "How old are you?"
help = "In years."
values = { young = "Under 30", middle = "30 to 59", old = "60 or older", "(missing)" = "No answer" }
[texts.pt.label]
title = "Sente-se descansado?"
[texts.pt-BR.features.age]
title = "Qual \u00e9 a sua idade?"
"""
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"age": "old", "hours": 7.5}, "yes"),
    ({"age": None, "hours": 0}, "no"),
]
LANGUAGES = ("en", "pt", "pt-BR", "PT-br", "pt-BR-abl1943", "pt_PT", "de", "")


def plan_with_texts() -> Plan:
    """Return the plan of the survey, with its texts."""
    return read_survey(SURVEY).compile()


def cases(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield every question for each row: texts change no report."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        for number, (row, label) in enumerate(ROWS):
            noise = random_bytes(f"{plan.id}/{question.index}/{number}", 16 + question.mechanism.random_bytes)
            yield case(plan, row, label, words(middle) + noise)


def displayed(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the texts that an application displays for each requested language."""
    for language in LANGUAGES:
        texts = display_texts(plan, language)
        yield {
            "requested": language,
            "language": texts.language,
            "title": texts.title,
            "label": asdict(texts.label) if texts.label else None,
            "features": {
                name: {**asdict(entry), "ask_if": entry.ask_if and entry.ask_if._asdict()}
                for name, entry in texts.features.items()
            },
        }
