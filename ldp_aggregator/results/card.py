"""Describes a model: in one line, in a few lines, as HTML, and as a card in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from encoders.notebook_html import table_html
from encoders.survey import Plan
from encoders.survey.decimals import decimal_text
from encoders.survey.plan_checks import SILO
from encoders.survey.silo_plan import SiloPlan
from encoders.text_table import format_table
from ldp_aggregator.findings.bounds import factor_at_most
from ldp_aggregator.results.silo_text import (
    SILO_ERRORS,
    describe_sent,
    describe_silo_data,
    describe_silo_influence,
    describe_silo_privacy,
    name_counts,
)
from ldp_aggregator.results.statements import (
    METHOD_AUTHORS,
    METHOD_SOURCE,
    METHOD_TITLE,
    PRIVACY_LIMITS,
    SIMULATED_ORIGIN,
    cite_survey,
    describe_audit,
    describe_beliefs,
    describe_privacy,
    list_limits,
)
from ldp_aggregator.results.table import CLASS_PRIOR, build_table
from ldp_aggregator.results.unlabelled_text import describe_unlabelled, is_fitted, state_privacy

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_MAX_LISTED = 8
"""Number of features that a description of a few lines names."""


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """What descriptions of a model are made from."""

    plan: Plan | SiloPlan
    classes: Iterable[Any]
    """The labels as the model returns them."""
    estimates: Mapping[str, Any]
    """See :meth:`Estimates.as_dict`."""
    audit_passed: bool | None = None
    """Whether the audit in the model file passed; None without an audit."""
    simulated: bool = False
    """Whether the reports were simulated, by `fit` or by ldp-simulate."""
    unlabelled: Mapping[str, Any] | None = None
    """What rows without labels did to the classifier; None without such rows."""
    silos: Mapping[str, Any] | None = None
    """The privacy statement of silos; None for people alone."""

    @property
    def has_people(self) -> bool:
        """Whether people reported, not silos alone."""
        return not isinstance(self.plan, SiloPlan)

    @property
    def epsilon(self) -> str:
        """The nominal epsilon of one report."""
        return decimal_text(self.plan.epsilon)

    @property
    def odds_factor(self) -> float:
        """The factor e^epsilon by which a report changes odds at most."""
        return math.exp(float(self.plan.epsilon))

    @property
    def kept_features(self) -> list[str]:
        """Names of the features that the classifier uses: all, or those that a validation round selected."""
        validation = self._validation
        if validation is None:
            return [feature.name for feature in self.plan.features]
        result = validation["validation_result"]
        return list(result["features"][: result["selected_k"]])

    @property
    def _validation(self) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.estimates.get("validation")
        return found

    def format_line(self, name: str) -> str:
        """Return one line, for `repr`."""
        parts = {
            "survey": repr(self.plan.id),
            "digest": repr(self.plan.digest[:8]),
            "epsilon": self.epsilon,
            "reports": str(self.estimates["reports"]),
            **({"trust": repr(SILO)} if self.silos else {}),
            "classes": str([_to_plain(label) for label in self.classes]),
            "features": f"{len(self.kept_features)}/{len(self.plan.features)}",
            "validated": str(self._validation is not None),
        }
        if self.unlabelled:
            parts["classifier"] = repr(self.unlabelled["classifier"])
        return f"{name}({', '.join(f'{key}={value}' for key, value in parts.items())})"

    def format_lines(self, name: str) -> str:
        """Return a few lines, for `print`."""
        rows = [[f"  {key}", value] for key, value in self._list_facts().items()]
        return "\n".join([self._format_heading(name), *format_table(rows, "<<")])

    def format_html(self, name: str) -> str:
        """Return a small HTML table, in which all texts are escaped."""
        return table_html(self._format_heading(name), self._list_facts().items())

    def format_card(self) -> str:
        """Return the model card in Markdown."""
        sections = {
            f"Model card: {escape_markdown(self.plan.id)}": self._describe_model(),
            "Data": self._describe_data(),
            "Privacy": self._describe_privacy(),
            "How well it predicts": self._describe_accuracy(),
            "What it is not for": (f"- {limit}" for limit in self._list_limits()),
            "How to cite": self._describe_citation(),
        }
        lines: list[str] = []
        for place, (heading, content) in enumerate(sections.items()):
            lines += [f"{'##' if place else '#'} {heading}", "", *content, ""]
        return "\n".join(lines)

    def _format_heading(self, name: str) -> str:
        """Return the class and the survey; a classifier fitted to rows without labels is no Naive Bayes."""
        return f"{'Logistic regression' if is_fitted(self.unlabelled) else name} of {self.plan.id}"

    def _list_limits(self) -> list[str]:
        return list_limits(is_fitted(self.unlabelled), self.has_people, self.silos is not None)

    def _list_facts(self) -> dict[str, str]:
        silos = self.estimates.get("silos")
        people = self.estimates["reports"] - (silos["messages"] if silos else 0)
        kept = self.kept_features
        count = f"{len(kept)} of {len(self.plan.features)}"
        more = ", ..." if len(kept) > _MAX_LISTED else ""
        sender = "report" if self.has_people else "message of a silo"
        facts = {
            "plan digest": self.plan.digest,
            "epsilon": f"{self.epsilon}: a {sender} changes odds by a factor of at most "
            f"{factor_at_most(self.odds_factor)}",
            **({"trust": f"{SILO}: each silo has its own rows"} if self.silos else {}),
            **({"reports": f"{people:,}" + " (simulated)" * self.simulated} if self.has_people else {}),
            **({"messages": f"{silos['messages']:,}"} if silos else {}),
            "classes": f"{self.plan.label.name}: {_join(map(str, self.classes))}",
            "features": f"{count}: {_join(kept[:_MAX_LISTED])}{more}",
            "validation": self._summarise_validation(),
        }
        if self.unlabelled:
            facts["classifier"] = self.unlabelled["classifier"]
            covered = "declared public" if self.unlabelled["declared_public"] else "NOT covered by epsilon"
            facts["rows without labels"] = f"about {self.unlabelled['rows']:,}, {covered}"
        return facts

    def _summarise_validation(self) -> str:
        if self._validation is None:
            return "none"
        accuracy = self._validation["validation_result"]["accuracy"]
        if accuracy["value"] is None:
            return "without reports"
        value, low, high = (min(max(accuracy[key], 0.0), 1.0) for key in ("value", "low", "high"))
        devices = f"{self._validation['reports']:,} devices"
        return (
            f"accuracy {value:.3f} [{low:.3f}, {high:.3f}] of the model with all its features, on {devices}"
        )

    def _describe_model(self) -> Iterator[str]:
        plan = self.plan
        kind = "logistic regression" if is_fitted(self.unlabelled) else "Naive Bayes"
        classes = _join(escape_markdown(str(label)) for label in self.classes)
        yield (
            f"A {kind} classifier of **{escape_markdown(plan.label.name)}** ({classes}) from "
            f"{len(self.kept_features)} of {len(plan.features)} features, trained with ldp-bayes on "
            f"{' and '.join(self._list_data())}."
        )
        yield from ("", f"- survey: {escape_markdown(plan.id)}", f"- plan digest: `{plan.digest}`")
        yield f"- estimator: {self.estimates['estimator']}"
        if self.unlabelled:
            yield from ("", *describe_unlabelled(self._escape_rows(self.unlabelled)))

    def _list_data(self) -> Iterator[str]:
        if self.has_people:
            yield "randomised reports"
        if self.silos:
            yield "noisy counts of silos"

    def _escape_rows(self, unlabelled: Mapping[str, Any]) -> dict[str, Any]:
        """Return what describes the rows without labels, with the names of features escaped."""
        names = ("absent", "contradicting")
        return {**unlabelled, **{key: list(map(escape_markdown, unlabelled[key])) for key in names}}

    def _describe_data(self) -> Iterator[str]:
        silos = self.estimates.get("silos")
        if self.simulated:
            yield f"**The reports were simulated**: {SIMULATED_ORIGIN}"
        elif not silos:
            yield f"{self.estimates['reports']:,} randomised reports, one per person."
        if silos:
            yield from (describe_silo_data(silos), "", SILO_ERRORS, "")
            influence = describe_silo_influence(silos, self.plan.label.name, self.plan.label.values)
            yield escape_markdown(influence) if influence else ""
        counted = name_counts(silos)
        yield from ("", f"| feature | kind | {counted} | used by the model |", "|---|---|---:|---|")
        kept = set(self.kept_features)
        for entry in self.estimates["features"]:
            questions = [entry[key] for key in ("mean_question", "square_question") if key in entry] or [
                entry
            ]
            used = "yes" if entry["name"] in kept else "no"
            reports = sum(question["n"] for question in questions)
            yield f"| {escape_markdown(entry['name'])} | {entry['kind']} | {reports:,} | {used} |"
        warnings = self.estimates.get("warnings") or []
        if warnings:
            yield from ("", "Warnings:", "", *(f"- {escape_markdown(each)}" for each in warnings))

    def _describe_privacy(self) -> Iterator[str]:
        if self.has_people:
            yield describe_privacy(self.epsilon, self.odds_factor, self.simulated)
            examples = (
                f"{before} becomes at most {after}" for before, after in describe_beliefs(self.odds_factor)
            )
            yield from ("", f"A belief about a person's answer of {'; of '.join(examples)}.")
            yield from ("", PRIVACY_LIMITS)
        if self.silos:
            for sentence in describe_silo_privacy(self.silos):
                yield from ("", sentence)
        if self.unlabelled:
            yield from ("", f"**{state_privacy(self.unlabelled)}**")
        if self.audit_passed is not None:
            yield from ("", describe_audit(self.audit_passed, "`ldp-audit`"))

    def _describe_accuracy(self) -> Iterator[str]:
        prior = [row for row in build_table(self.estimates) if row["statistic"] == CLASS_PRIOR]
        known = [(row["estimate"], row["class"]) for row in prior if row["estimate"] is not None]
        if self._validation is None:
            yield (
                "The model was not validated, so its accuracy is unknown. Standard errors of estimates do "
                "not show it. `ldp-survey validate` measures it on devices; `ldp-simulate` estimates it on "
                "public rows."
            )
        else:
            result = self._validation["validation_result"]
            yield f"Validation: {self._summarise_validation()}."
            if result["selected_k"] is not None:
                place = result["top_k"].index(result["selected_k"])
                gain, ends = result["gains"]["value"][place], result["gains"]["simultaneous"]
                kept = _join(map(escape_markdown, self.kept_features))
                yield (
                    f"The kept features ({kept}) gain {gain:+.3f}, "
                    f"simultaneous 95% interval [{ends['low'][place]:+.3f}, {ends['high'][place]:+.3f}]."
                )
        if known:
            share, name = max(known)
            yield from (
                "",
                f"Always predicting {escape_markdown(name)} is right for an estimated {share:.1%}.",
            )

    def _describe_citation(self) -> Iterator[str]:
        yield f"- Method: {METHOD_AUTHORS}, *{METHOD_TITLE}*, {METHOD_SOURCE}."
        survey, digest = escape_markdown(self.plan.id), f"`{self.plan.digest}`"
        yield f"- Model: {cite_survey(survey, digest, self.epsilon, describe_sent(self.estimates))}"


def _to_plain(label: Any) -> Any:
    """Return a label of an array as a plain Python value."""
    return label.item() if hasattr(label, "item") else label


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)


def escape_markdown(text: str) -> str:
    """Put a backslash in front of what Markdown interprets; replace what HTML interprets by entities."""
    return escape(_MARKDOWN.sub(r"\\\1", text), quote=False)
