"""Writes the survey file of a further round without the features that are hardly informative."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.toml_lines import parse_toml
from encoders.text_table import format_table
from ldp_aggregator.classifiers.model_file import Model
from ldp_aggregator.views.feature_sections import format_relevance
from ldp_design.authoring.toml_edit import (
    add_suffix,
    check_edit,
    format_comment,
    quote,
    read_editable_survey,
    rename_survey,
    rename_tables,
    set_entry,
)
from ldp_design.rounds.further_round import further_round_entry, is_trained_on, list_notes, require_label
from ldp_design.rounds.narrow import (
    MAX_MEDIAN_STDERR,
    FeatureRelevance,
    find_validated_features,
    list_relevances,
    median_stderr,
    narrow_survey,
)

_ORIGIN = (
    "The survey {old}, narrowed. It is a further round of the family {family}: a device that answered "
    "another round does not answer this one. Serve it at the address of the other rounds, unless apps pin "
    "the author's key."
)
_LEFT_OUT = (
    "{left} of the {asked} features asked about are left out, weight = 0. The others hold {holds:.0%} of "
    "what all of them explain of {label}, estimated by the model {source} from {reports} randomised reports. "
    "Their epsilon covers it; no other data was used. The reports of earlier rounds on these features still "
    "count: train on all rounds together."
)
_LEFT_OUT_BY_VALIDATION = (
    "{left} of the {asked} features asked about are left out, weight = 0: by the validation of {validators} "
    "devices, the model {source} does not keep them. The reports of earlier rounds still count: train on all "
    "rounds together, including the validation round."
)
_KEPT_ALL_THE_SAME = (
    "Other features that it does not keep are still asked: in one question with features that it keeps, or "
    "because a question must estimate the shares of {label}."
)
_RAW_TABLE = (
    "explains: how much of {label} each feature explains, from 0 to 1, in the raw reports; 95% intervals are "
    "single."
)
_HAS_TABLES = (
    "a survey with tables is not narrowed, because a table asks for several features together. To ask more "
    "people, keep this survey open"
)
_NOTHING_VALIDATED_ASKED = (
    "this round asks about nothing that the validated model keeps: narrow an earlier round"
)
_ALREADY_VALIDATED = (
    "nothing to leave out: the survey asks only about features that the validated model keeps, and about "
    "those in the same questions"
)
_TABLE = (
    "explains: how much of {label} each feature asked so far explains in the model, from 0 to 1, after "
    "shrinkage. share: its part of the sum, which decides. raw: the same from the raw reports, with a single "
    "95% interval. If that is wide, a feature that is left out may be informative after all."
)
_ROUND_ID = re.compile(r"(.*)-round([2-9]|[1-9][0-9]{1,3})")


class NarrowError(LdpError):
    """A survey that cannot or need not be narrowed; the message explains why and what to do instead."""


def write_narrowed_round(text: str, model: Model, source: str) -> str:
    """Return the text of the next round: features that explain too little of the label have weight 0.

    The survey's id gets a suffix such as -round2, and its family becomes that of the first round. The label's
    weight changes so that the label is asked in the same proportion; if necessary, the weights of the
    remaining features are multiplied. Everything else is unchanged.

    Parameters
    ----------
    text : str
        The authored survey of the latest round, with each feature in its own table [features.NAME].
    model : Model
        The model trained on the reports of all rounds so far.
    source : str
        Name of the model in comments.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts; its comments state what each feature explains.

    Raises
    ------
    NarrowError
        If the survey has tables, if nothing can be left out, if it is too early, or if the model belongs to
        another survey.
    LayoutError
        If the tables of the text cannot be found.
    SurveyError, LdpError
        If the text is not a survey, or has no label.
    """
    text, survey = read_editable_survey(text)
    require_label(survey)
    if survey.tables:
        raise NarrowError(_HAS_TABLES)
    if not is_trained_on(model, survey):
        raise NarrowError(
            f"{quote(source)} was not trained on this survey, nor on this and earlier rounds of it. Give the "
            f"unchanged survey of the latest round"
        )
    # Decide which features the round asks about.
    relevances, validated = list_relevances(model.estimates), find_validated_features(model.estimates, survey)
    if validated and not any(survey.weights[index + 1] for index in validated):
        raise NarrowError(_NOTHING_VALIDATED_ASKED)
    narrowed = narrow_survey(survey, relevances, validated)
    if narrowed is survey:
        raise NarrowError(_ALREADY_VALIDATED if validated else _explain_nothing_to_do(survey, relevances))
    # Change the id, the family and the weights where the author wrote them.
    match = _ROUND_ID.fullmatch(survey.id)
    base, suffix = (match[1], f"-round{int(match[2]) + 1}") if match else (survey.id, "-round2")
    entry = further_round_entry(survey, add_suffix(base, suffix))
    changed = rename_survey(text, survey.id, entry)
    document = parse_toml(text)
    document |= rename_tables(document, entry)
    paths = [("label",), *(("features", feature.row_name) for feature in survey.features)]
    for path, old, new in zip(paths, survey.weights, narrowed.weights, strict=True):
        if new != old:
            assert new is not None
            changed = set_entry(changed, (*path, "weight"), new)
            table = document["label"] if path == ("label",) else document["features"][path[-1]]
            table["weight"] = new
    check_edit(changed, document)
    read_survey(changed).compile()
    return f"{_format_comments(survey, narrowed, model, relevances, validated, source)}\n{changed}"


def _explain_nothing_to_do(survey: Survey, relevances: Sequence[FeatureRelevance]) -> str:
    stderr = median_stderr(survey, relevances)
    if stderr > MAX_MEDIAN_STDERR:
        return (
            f"too early: what a feature explains of the label is between 0 and 1, and its standard error is "
            f"{stderr:.2g} with these reports (median of the features). Let more people answer this round "
            f"first; leaving features out pays if the standard error is at most {MAX_MEDIAN_STDERR:g}"
        )
    return (
        "nothing to leave out: with fewer features, as many people again would not explain 10% more of the "
        "label. Continue with the survey as it is"
    )


def _format_comments(
    survey: Survey,
    narrowed: Survey,
    model: Model,
    relevances: Sequence[FeatureRelevance],
    validated: frozenset[int],
    source: str,
) -> str:
    asked = [index for index, weight in enumerate(survey.weights[1:]) if weight]
    kept = [index for index, weight in enumerate(narrowed.weights[1:]) if weight]
    validation = model.estimates.validation
    total = sum(relevances[index].explained for index in asked)
    words = {
        "old": quote(survey.id),
        "family": quote(survey.family or survey.id),
        "left": len(asked) - len(kept),
        "asked": len(asked),
        "holds": sum(relevances[index].explained for index in kept) / total,
        "label": quote(survey.label.name),
        "reports": f"{model.reports:,}",
        "source": quote(source),
        "validators": f"{validation.reports:,}" if validation else "no",
    }
    paragraphs = [_ORIGIN, *list_notes(survey)]
    if validated:
        more = [] if validated.issuperset(kept) else [_KEPT_ALL_THE_SAME]
        paragraphs += [_LEFT_OUT_BY_VALIDATION, *more, _RAW_TABLE]
    else:
        paragraphs += [_LEFT_OUT, _TABLE]
    header = format_comment(*(each.format(**words) for each in paragraphs))
    rows = _relevance_rows(model, None if validated else relevances, asked, kept)
    lines = format_table(rows, f"<{'>' * (len(rows[0]) - 2)}<")
    return "\n".join([f"{header}#", *(f"#   {line}".rstrip() for line in lines), "#"])


def _relevance_rows(
    model: Model, relevances: Sequence[FeatureRelevance] | None, asked: list[int], kept: list[int]
) -> list[list[str]]:
    """Return a table of the raw relevances; without a validation, of the model's relevances too."""
    entries = [feature.relevance for feature in model.estimates.features]
    raw = [float(np.nan_to_num(each.estimate.value, nan=-math.inf)) for each in entries]
    explained = [each.explained for each in relevances] if relevances else raw
    total = sum(explained[index] for index in asked)
    rows = [["", "explains", "share", "raw", ""] if relevances else ["", "explains", ""]]
    for index in sorted(asked, key=lambda index: -explained[index]):
        cells = [format_relevance(entries[index])]
        if relevances:
            cells = [f"{explained[index]:.2f}", f"{explained[index] / total:.0%}", *cells]
        rows.append([model.plan.features[index].name, *cells, "" if index in kept else "left out"])
    return rows
