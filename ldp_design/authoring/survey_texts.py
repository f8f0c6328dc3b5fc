"""The texts of a survey in the commands of its author: their file, and what is missing in a language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from encoders.errors import SurveyError
from encoders.survey import CategoricalFeature, Label, Plan
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.conditions import Term
from encoders.survey.features import BinnedFeature, NumericFeature
from encoders.survey.plan_files import texts_path
from encoders.survey.texts import ABOUT_KEYS
from ldp_aggregator.atomic_file import write_atomically
from ldp_design.authoring.toml_edit import is_whole_number

_MAX_LISTED = 6


def write_plan(plan: AnyPlan, output: Path) -> None:
    """Write a plan and its texts; raise SurveyError if they, or the keys of its relay, are missing."""
    if plan.texts_digest and not plan.texts:
        raise SurveyError("the file of its texts is not beside the plan: compile the TOML survey instead")
    if isinstance(plan, Plan) and plan.relay and not plan.relay.has_keys:
        raise SurveyError("needs collector_key and relay_key", "relay")
    if plan.texts:
        write_atomically(texts_path(output), plan.texts.json, public=True)
    write_atomically(output, plan.json, public=True)


def describe_texts(plan: AnyPlan) -> list[str]:
    """Return a line for each language of a survey's texts, with the texts that it lacks."""
    if not plan.texts:
        return ["texts: their file is not beside the plan"] if plan.texts_digest else []
    lines = [f"texts of the survey, SHA-256 {plan.texts_digest}"]
    for language, table in plan.texts.languages.items():
        missing = list(find_missing_texts(plan, table))
        listed = ", ".join(missing[:_MAX_LISTED])
        more = f" and {len(missing) - _MAX_LISTED} more" if len(missing) > _MAX_LISTED else ""
        lines.append(f"  {language}: " + (f"missing {listed}{more}" if missing else "complete"))
    return lines


def find_missing_texts(plan: AnyPlan, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the titles and texts of values that a language lacks; whole numbers need no text."""
    if "title" not in table:
        yield "title"
    assert plan.texts
    first, *others = plan.texts.languages.values()
    stated = [plan.texts.about, *(each.get("about", {}) for each in (first, *others))]
    own = {**table.get("about", {}), **(plan.texts.about if table is first else {})}
    for key in ABOUT_KEYS[1:]:
        if key not in own and any(key in each for each in stated):
            yield f"about.{key}"
    features = table.get("features", {})
    entries: Iterable[tuple[str, Label | CategoricalFeature | BinnedFeature | NumericFeature, Any]] = [
        *(("label", plan.row_label, table.get("label", {})) for _ in plan.row_label.names),
        *((f"features.{each.name}", each, features.get(each.name, {})) for each in plan.entries),
    ]
    for path, entry, texts in entries:
        if "title" not in texts:
            yield f"{path}.title"
        values = entry.values if isinstance(entry, Label | CategoricalFeature) else ()
        known = texts.get("values", {})
        for value in values:
            if value not in known and not is_whole_number(value):
                yield f"{path}.values.{value}"


def exclude_each_other(terms: Collection[Term], several: Collection[str]) -> bool:
    """Return whether terms can never hold together; `several` are the questions with several answers."""
    given = {(each.feature, each.value) for each in terms if not each.is_negated}
    single = [feature for feature, _ in given if feature not in several]
    negated = {(each.feature, each.value) for each in terms if each.is_negated}
    return len(set(single)) < len(single) or not given.isdisjoint(negated)
