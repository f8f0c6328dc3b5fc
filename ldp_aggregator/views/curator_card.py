"""Describes a model of a trusted curator: its facts, its promise, and the sections of its card."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.explain.text import Counted
from encoders.survey import Plan
from encoders.survey.plan_checks import CENTRAL
from ldp_aggregator.curator_privacy import CentralPrivacy
from ldp_aggregator.render.document import Bullets, Section
from ldp_aggregator.render.text_table import PlainTable
from ldp_aggregator.statements.bounds import format_amount
from ldp_aggregator.statements.curator import find_citation, find_promise
from ldp_aggregator.statements.model import find_limits
from ldp_aggregator.statements.values import Names
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.model_card import ModelDescription

LEARNER_NAMES = {
    "nb": "Naive Bayes from noisy tables",
    "linear": "linear model by objective perturbation",
    "tree": "decision tree with private splits",
}


def describe_central(
    plan: Plan, learner: str, privacy: CentralPrivacy, selected: Sequence[int] | None, name: str
) -> ModelDescription:
    """Return the description of a curator's model.

    Parameters
    ----------
    plan : Plan
    learner : {"nb", "linear", "tree"}
    privacy : CentralPrivacy
    selected : sequence of int or None
        Indices of the features that Naive Bayes uses; None for other learners.
    name : str
        The name of the model's class.
    """
    line = {
        "survey": repr(plan.id),
        "digest": repr(plan.digest[:8]),
        "learner": repr(learner),
        "trust": repr(CENTRAL),
        "epsilon": format_amount(privacy.epsilon),
        "adjacency": repr(privacy.adjacency),
    }
    facts = list_central_facts(plan, learner, privacy, selected)
    return ModelDescription(
        name=f"{name} of {plan.id}",
        line=line,
        facts=facts,
        title=f"Model card: {plan.id}",
        build_sections=lambda: [
            make_section("model", [build_facts_table(facts)]),
            build_promise(privacy),
            *(
                [make_section("accuracy", [TEXTS.find("curator-model.not-validated")])]
                if plan.label.exists
                else []
            ),
            build_central_limits(plan),
            build_central_citation(plan, privacy),
        ],
    )


def list_central_facts(
    plan: Plan, learner: str, privacy: CentralPrivacy, selected: Sequence[int] | None
) -> dict[str, str]:
    """Return the facts of all descriptions, in order."""
    names = [feature.name for feature in plan.features]
    used = names if selected is None else [names[index] for index in selected]
    rows = Counted(privacy.rows_per_person, "row")
    source = "survey" if privacy.are_rows_public else "noisy count"
    return {
        "plan digest": plan.digest,
        "learner": LEARNER_NAMES[learner] if plan.label.exists else "none: noisy tables only",
        "trust": f"{CENTRAL}: a curator had the rows",
        "epsilon": format_amount(privacy.epsilon),
        "delta": format_amount(privacy.delta),
        "adjacency": f"{privacy.adjacency}, at most {rows} per person",
        "rows": f"about {privacy.expected_rows:,}, from the {source}",
        **({"classes": f"{plan.label.name}: {Names(plan.label.values)}"} if plan.label.exists else {}),
        "features": f"{len(used)} of {len(names)}: {Names(used)}",
    }


def build_facts_table(facts: dict[str, str]) -> PlainTable:
    """Return the table of facts."""
    return PlainTable(caption="The model", head=("Property", "Value"), rows=list(facts.items()))


def build_promise(privacy: CentralPrivacy) -> Section:
    """Return the promise of the curator, with what each step of the training spent."""
    steps = PlainTable(
        caption="What each step of the training spent, rounded up",
        head=("Step", "Epsilon", "Delta"),
        rows=[(each.step, format_amount(each.epsilon), format_amount(each.delta)) for each in privacy.steps],
        numeric={1, 2},
    )
    return make_section("privacy", [*find_promise(privacy), steps], people=False)


def build_central_limits(plan: Plan) -> Section:
    """Return the section that lists uses to avoid."""
    limits = find_limits(people=False, silos=False, curator=True, classes=plan.label.exists)
    return make_section("limits", [Bullets(limits)], classes=plan.label.exists)


def build_central_citation(plan: Plan, privacy: CentralPrivacy) -> Section:
    """Return the findings that say how to cite the model."""
    return make_section("citation", find_citation(plan.id, plan.digest, privacy))
