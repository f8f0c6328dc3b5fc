"""The results and counts that an operator sees now, with wider intervals until the survey has closed."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey import Plan
from encoders.survey.compiled_plan import SILO, CountedQuestion
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.privacy_statement import state_privacy
from ldp_aggregator.results import Results
from ldp_aggregator.series.series import estimate_series
from ldp_aggregator.snapshot import ALL_WAVES, AnySnapshot, SiloSnapshot, Snapshot

ONE_LOOK, ALL_LOOKS = "one look", "all looks"


@dataclass(frozen=True)
class CurrentResults:
    """The results of a survey so far, without the usefulness of predictions."""

    results: Results
    looks: str
    """Whether the intervals are valid for "one look" or for "all looks"."""

    @classmethod
    def from_snapshot(
        cls, snapshot: AnySnapshot, plan: Plan | SiloPlan, *, is_closed: bool, poisoning: bool = False
    ) -> CurrentResults:
        """Estimate; the intervals of silos, which send few messages, and of validation are for one look.

        Of a survey with waves, these are the results of the last wave with reports. `plan` is the snapshot's
        with what a store does not have: texts, and the number of expected people. `poisoning` checks the
        reports of people for fake ones.
        """
        snapshot = snapshot.select()
        found, classifier = estimate_survey(snapshot, poisoning=poisoning)
        looks = ONE_LOOK
        if isinstance(plan, Plan) and not (plan.validation or is_closed):
            looks, found = ALL_LOOKS, hold_at_all_looks(found, plan)
        series = estimate_series(snapshot, ALL_WAVES) if isinstance(snapshot, Snapshot) else None
        privacy = state_privacy(snapshot)
        results = Results(plan=plan, privacy=privacy, estimates=found, classifier=classifier, series=series)
        return cls(results, looks)


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
    waves = plan.waves
    return {"wave": waves.list[question.index // len(plan.questions)].name} if waves else {}
