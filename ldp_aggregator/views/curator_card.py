"""Describes a model of a trusted curator: its facts, its promise, and the sections of its card."""

from __future__ import annotations

from encoders.explain.text import Counted
from encoders.survey.plan_checks import CENTRAL
from ldp_aggregator.curator_privacy import CuratorPrivacy
from ldp_aggregator.render.document import Section
from ldp_aggregator.render.plain_table import PlainTable
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.privacy import find_promise
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.model_description import ModelDescription
from ldp_aggregator.views.sections import build_citation, build_limits
from ldp_aggregator.wording.values import Names, format_amount

LEARNER_NAMES = {
    "nb": "Naive Bayes from noisy tables",
    "linear": "linear model by objective perturbation",
    "tree": "decision tree with private splits",
}


def describe_curator(results: Results, name: str) -> ModelDescription:
    """Return the description of a curator's model; `name` is that of its class."""
    plan, privacy = results.plan, privacy_of(results)
    line = {
        "survey": repr(plan.id),
        "digest": repr(plan.digest[:8]),
        "learner": repr(results.classifier.kind),
        "trust": repr(CENTRAL),
        "epsilon": format_amount(privacy.epsilon),
        "adjacency": repr(privacy.adjacency),
    }
    return ModelDescription(
        name=f"{name} of {plan.id}",
        line=line,
        facts=list_curator_facts(results),
        title=f"Model card: {plan.id}",
        build_sections=lambda: _build_card(results),
    )


def _build_card(results: Results) -> list[Section]:
    accuracy = make_section("accuracy", [TEXTS.find("curator-model.not-validated")])
    return [
        build_facts(results),
        build_promise(results),
        *([accuracy] if results.has_label else []),
        build_limits(results),
        build_citation(results),
    ]


def privacy_of(results: Results) -> CuratorPrivacy:
    """Return what the curator promises."""
    assert results.privacy.curator
    return results.privacy.curator


def list_curator_facts(results: Results) -> dict[str, str]:
    """Return the facts of all descriptions, in order."""
    plan, privacy, used = results.plan, privacy_of(results), results.used_features
    rows = Counted(privacy.rows_per_person, "row")
    source = "survey" if privacy.are_rows_public else "noisy count"
    classes = {"classes": f"{plan.label.name}: {Names(plan.label.values)}"}
    return {
        "plan digest": plan.digest,
        "learner": LEARNER_NAMES[results.classifier.kind] if results.has_label else "none: noisy tables only",
        "trust": f"{CENTRAL}: a curator had the rows",
        "epsilon": format_amount(privacy.epsilon),
        "delta": format_amount(privacy.delta),
        "adjacency": f"{privacy.adjacency}, at most {rows} per person",
        "rows": f"about {privacy.expected_rows:,}, from the {source}",
        **(classes if results.has_label else {}),
        "features": f"{len(used)} of {len(plan.features)}: {Names(used)}",
    }


def build_facts(results: Results) -> Section:
    """Return the section with the table of facts."""
    facts = list(list_curator_facts(results).items())
    return make_section("model", [PlainTable(caption="The model", head=("Property", "Value"), rows=facts)])


def build_promise(results: Results) -> Section:
    """Return the promise of the curator, with what each step of the training spent."""
    privacy = privacy_of(results)
    steps = PlainTable(
        caption="What each step of the training spent, rounded up",
        head=("Step", "Epsilon", "Delta"),
        rows=[(each.step, format_amount(each.epsilon), format_amount(each.delta)) for each in privacy.steps],
        numeric={1, 2},
    )
    return make_section("privacy", [*find_promise(privacy), steps], people=False)
