"""Describes a model of reports or of a curator: in one line, in a few lines, as HTML, and as a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from encoders.canonical import decimal_text
from encoders.explain.text import format_table
from encoders.notebook_html import table_html
from encoders.survey.compiled_plan import CENTRAL, SILO
from ldp_aggregator.privacy_statement import CuratorPrivacy
from ldp_aggregator.render.document import PlainTable, Section
from ldp_aggregator.render.markdown import write_document
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.privacy import find_promise
from ldp_aggregator.views import sections
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.feature_sections import build_shares, list_share_facts, make_section
from ldp_aggregator.wording.values import Count, Counted, Names, format_amount


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    name: str
    """The name of the class, or of the classifier, and the survey."""
    line: Mapping[str, str]
    facts: Mapping[str, str]
    """The facts of one line, and of a few lines, by name."""
    title: str
    build_sections: Callable[[], Sequence[Section]]

    def format_line(self, name: str) -> str:
        return f"{name}({', '.join(f'{key}={value}' for key, value in self.line.items())})"

    def format_lines(self) -> str:
        rows = [[f"  {key}", value] for key, value in self.facts.items()]
        return "\n".join([self.name, *format_table(rows, "<<")])

    def format_html(self) -> str:
        return table_html(self.name, self.facts.items())

    def format_card(self) -> str:
        return write_document(self.title, self.build_sections())


def describe_model(results: Results, classes: Iterable[Any], name: str) -> ModelDescription:
    """Describe a model of the class `name` with labels as it returns them; or estimates without a model."""
    if results.is_curator:
        return describe_curator(results, name)
    plan, estimates = results.plan, results.estimates
    has_label = estimates.has_label
    facts = sections.list_facts(results) | (
        {"validation": _describe_validation(results)} if has_label else {}
    )
    if results.usefulness and results.usefulness.useless:
        facts["useless"] = "predicts nothing but the most frequent class; see the card"
    facts |= list_share_facts(results)
    used = len(results.used_features)
    line = {
        "survey": repr(plan.id),
        **({"wave": repr(results.series.wave)} if results.series else {}),
        "digest": repr(plan.digest[:8]),
        "epsilon": decimal_text(plan.epsilon),
        "reports": str(estimates.reports),
        **({"trust": repr(SILO)} if estimates.silos else {}),
        **(
            {"classes": str([each.item() if hasattr(each, "item") else each for each in classes])}
            if has_label
            else {}
        ),
        "features": f"{used}/{len(plan.features)}" if has_label else str(len(results.joined_features)),
        **({"validated": str(estimates.validation is not None)} if has_label else {}),
    }
    return ModelDescription(
        name=f"{name} of {plan.id}",
        line=line,
        facts=facts,
        title=f"Model card: {plan.id}" if has_label else f"Results of {plan.id}",
        build_sections=lambda: _build_sections(results),
    )


def _build_sections(results: Results) -> list[Section]:
    shares = build_shares(results, build_table(results.estimates, results.plan))
    chosen = [
        replace(shares, parts=[*sections.point_to_warnings(results), *shares.parts]),
        sections.build_model(results),
        sections.build_data(results),
        sections.build_privacy(results),
        sections.build_accuracy(results),
        sections.build_warnings(results),
        sections.build_limits(results),
        sections.build_citation(results),
    ]
    return sections.drop_empty(chosen)


def _describe_validation(results: Results) -> str:
    validation = results.estimates.validation
    if not validation or not validation.validation_result:
        return "none"
    accuracy = validation.validation_result.accuracy
    if accuracy.value != accuracy.value:
        return "without reports"
    value, low, high = (
        min(max(float(each), 0.0), 1.0) for each in (accuracy.value, accuracy.low, accuracy.high)
    )
    devices = Counted(validation.reports, "device")
    return f"accuracy {value:.3f} [{low:.3f}, {high:.3f}] with all features, on {devices}"


# -- models of a curator ----------------------------------------------------------------------------


def describe_curator(results: Results, name: str) -> ModelDescription:
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
        sections.build_limits(results),
        sections.build_citation(results),
    ]


def privacy_of(results: Results) -> CuratorPrivacy:
    assert results.privacy.curator
    return results.privacy.curator


def list_curator_facts(results: Results) -> dict[str, str]:
    plan, privacy, used = results.plan, privacy_of(results), results.used_features
    learner = results.classifier.kind if results.has_label else ""
    stated = TEXTS.section(
        "curator-facts",
        digest=plan.digest,
        **{f"learner_{each}": each == learner for each in ("nb", "linear", "tree")},
        epsilon=format_amount(privacy.epsilon),
        delta=format_amount(privacy.delta),
        adjacency=privacy.adjacency,
        rows_per_person=Counted(privacy.rows_per_person, "row"),
        rows=Count(privacy.expected_rows),
        public=privacy.are_rows_public,
        label=plan.label.name if results.has_label else "",
        classes=Names(plan.label.values),
        used=len(used),
        features=len(plan.features),
        names=Names(used),
    )
    return {each.title: str(each) for each in stated}


def build_facts(results: Results) -> Section:
    facts = list(list_curator_facts(results).items())
    return make_section("model", [PlainTable(**TEXTS.table("model"), rows=facts)])


def build_promise(results: Results) -> Section:
    privacy = privacy_of(results)
    steps = PlainTable(
        **TEXTS.table("steps"),
        rows=[
            (_name_step(each.step), format_amount(each.epsilon), format_amount(each.delta))
            for each in privacy.steps
        ],
        numeric={1, 2},
    )
    return make_section("privacy", [*find_promise(privacy), steps], people=False)


def _name_step(step: str) -> str:
    """Return the name of a step; "splits of level 3" has a number."""
    name, number = step.rstrip("0123456789").rstrip(), step.split(" ")[-1]
    return TEXTS.write(f"steps.{name.replace(' ', '-')}", number=number)
