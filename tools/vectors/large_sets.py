"""Subset selection of more than 64 values: the longest sets, and the smallest and the largest sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from encoders.mechanisms import load
from encoders.survey import Plan, read_survey
from encoders.table_design import keep_threshold
from tools.vectors import limits
from tools.vectors.common import case, first_draws, random_bytes, words

SIZES = ((65, 7), (128, 5), (255, 4), (256, 4), (256, 252))
"""Number of values of each question, with the missing one, and of its sets."""
FEATURE = '[features.of{index}]\nvalues = [{values}]\nmissing = "category"\n'
SURVEY = '[survey]\nid = "large-sets"\nepsilon = 3.5\n{features}[mechanism]\nfrequency = "SS"\n'


def plan_of_large_sets() -> Plan:
    """Return a plan without a label, with one question for each of the sizes."""
    listed = [
        FEATURE.format(index=index, values=", ".join(map(str, range(domain - 1))))
        for index, (domain, _) in enumerate(SIZES)
    ]
    plan = read_survey(SURVEY.format(features="".join(listed))).compile()
    questions = []
    for question, (domain, size) in zip(plan.questions, SIZES, strict=True):
        tables = {"keep": str(keep_threshold(domain, plan.epsilon, size)), "size": str(size)}
        questions.append(replace(question, mechanism=load("SS", domain, tables)))
    return replace(plan, questions=tuple(questions))


def rows() -> list[dict[str, Any]]:
    """Return rows with values at both ends, beside the ends of bytes and words, and missing."""
    codes = (0, 2, 3, 31, 62, 63)
    last: dict[str, Any] = {f"of{index}": domain - 2 for index, (domain, _) in enumerate(SIZES)}
    return [dict.fromkeys(last, code) for code in codes] + [last, dict.fromkeys(last)]


def cases(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield every question with drawn noise for every row, and with noise at the limits for two rows."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        for number, row in enumerate(rows()):
            seed = f"{plan.id}/{question.index}/{number}"
            yield case(plan, row, None, words(middle) + random_bytes(seed, 32))
        for row in rows()[-3:-1]:
            for noise in limits.noises(question, question.value(*plan.encode(row, None))):
                head = words(middle) + random_bytes(f"{plan.id}/{question.index}/limits", 16)
                yield case(plan, row, None, head + noise)


def large_sets() -> dict[str, Any]:
    """Return the content of good-large-sets.json."""
    plan = plan_of_large_sets()
    return {"cases": list(cases(plan)), "digest": plan.digest, "plan": plan.json.decode()}
