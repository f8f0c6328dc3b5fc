"""The counts of a survey in progress as JSON, for scripts; /estimates has the estimates."""

from __future__ import annotations

from math import sqrt
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey import Plan
from encoders.survey.compiled_plan import SILO, CountedQuestion
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot


def describe_progress(snapshot: AnySnapshot, tokens: int = 0) -> dict[str, Any]:
    plan, totals = snapshot.plan, snapshot.totals
    document = {
        "survey": plan.id,
        "plan_digest": plan.digest,
        "epsilon": decimal_text(plan.epsilon),
        "reports": snapshot.people,
        "questions": [
            {
                "name": each.name,
                "mechanism": each.mechanism.name,
                "n": totals[each.key].n if each.key in totals else 0,
                **_wave_of(plan, each),
            }
            for each in plan.counted_questions
        ],
        "rejections": dict(snapshot.rejections),
    }
    if snapshot.losses.reports:
        document["lost"] = snapshot.losses.reports
    if isinstance(snapshot, SiloSnapshot):
        noise = snapshot.plan.mechanism.noise_variance
        document |= {"kind": SILO, "count_error": sqrt(snapshot.messages * noise), "tokens": tokens}
    return document


def _wave_of(plan: Plan | SiloPlan, question: CountedQuestion) -> dict[str, str]:
    waves = plan.waves if isinstance(plan, Plan) else None
    return {"wave": waves.list[question.index // len(plan.questions)].name} if waves else {}
