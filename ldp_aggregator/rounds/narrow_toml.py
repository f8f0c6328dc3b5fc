"""A further round of a survey that leaves out what the earlier rounds found to tell nothing of the label."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.plan_checks import TOKEN
from encoders.text_table import format_table
from ldp_aggregator.authoring.toml_edit import (
    add_suffix,
    check_edit,
    format_comment,
    parse_toml,
    quote,
    rename_survey,
    set_entry,
)
from ldp_aggregator.estimation.relevance import compute_relevance, format_relevance
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.model_file import Model
from ldp_aggregator.rounds.further_round import TOKENS_NOTE, further_round_entry, is_trained_on
from ldp_aggregator.rounds.narrow import CLEAR, Told, median_stderr, narrowed, validated_features

_ORIGIN = (
    "The survey {old}, narrowed. It is a further round of the family {family}: a device that answered "
    "another round does not answer this one. Serve it at the address of the other rounds, unless apps pin "
    "the author's key."
)
_LEFT_OUT = (
    "{left} of the {asked} features asked about are left out, weight = 0: the others hold {holds:.0%} of how "
    "much of {label} all of them explain, as the {reports} randomised reports tell that the model {source} "
    "was trained on. Their epsilon covers it; no other data was used. What the earlier rounds heard of these "
    "features still counts: train on all rounds together."
)
_CHOSEN = (
    "{left} of the {asked} features asked about are left out, weight = 0: by the verdicts of {judges} "
    "devices, the model {source} does not keep them. What earlier rounds heard still counts: train on all "
    "rounds together, the one that validated among them."
)
_MORE = (
    "Others that it does not keep are asked about all the same: in one question with some that it keeps, or "
    "because something must tell of {label}."
)
_RAW = "Of each: how much of {label} it explains, from 0 to 1, as raw reports say, with a 95% interval."
_CHOSEN_UNASKED = "this round asks for nothing that the validated model keeps: narrow an earlier round"
_CHOSEN_ALREADY = (
    "nothing to leave out: the survey asks only for what the validated model keeps, and what is asked with it"
)
_TABLE = (
    "Of each feature asked about so far: how much of {label} it explains, from 0 to 1, as the model has it, "
    "where what may be noise is taken off; its share of that, which decides; and what the raw reports say, "
    "with a 95% interval. Where that is wide, what is left out may tell after all."
)
_ROUND = re.compile(r"(.*)-round([2-9]|[1-9][0-9]{1,3})")


class NarrowError(LdpError):
    """A survey that cannot be narrowed, or need not be; says why, and what to do instead."""


def narrow(text: str, model: Model, source: str) -> str:
    """Return the next round of a survey: features that tell too little of the label have weight 0.

    All else stays as it is but for the survey's id, which gets a suffix such as -round2, its family, which
    becomes the first round's, and the label's weight, so that it is asked as often in proportion; if that
    takes it, the weights of all that is left are multiplied.

    Parameters
    ----------
    text : str
        The authored survey of the latest round, each feature in a table [features.NAME] of its own.
    model : Model
        Trained on the reports of all rounds so far.
    source : str
        What the model is called in comments.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts; its comments say what each feature explains.

    Raises
    ------
    NarrowError
        If nothing can be left out, or not yet; or if the model is of another survey.
    LayoutError
        If the tables of the text cannot be told apart.
    SurveyError
        If the text is no survey.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    survey = read_survey(text)
    refuse_validation(survey)
    if not is_trained_on(model, survey):
        raise NarrowError(
            f"{quote(source)} was not trained on this survey, nor on this and earlier rounds of it. Give the "
            f"survey that the latest round answered, unchanged"
        )
    told, chosen = _told(model), _chosen(model, survey)
    if chosen and not any(survey.weights[place + 1] for place in chosen):
        raise NarrowError(_CHOSEN_UNASKED)
    found = narrowed(survey, told, chosen)
    if found is survey:
        raise NarrowError(_CHOSEN_ALREADY if chosen else _why_not(survey, told))
    changed = rename_survey(text, survey.id, _entry(survey))
    for path, weight in _weights(survey, found):
        changed = set_entry(changed, (*path, "weight"), weight)
    check_edit(changed, _expected(text, survey, found))
    read_survey(changed).compile()
    return f"{_comments(survey, found, model, told, chosen, source)}\n{changed}"


def _chosen(model: Model, survey: Survey) -> frozenset[int]:
    """Return the features that a judged model keeps; see :func:`validated_features`."""
    judged = model.estimates.get("validation")
    if not judged:
        return frozenset()
    verdicts = judged["validation_result"]
    names = verdicts["features"][: verdicts["selected_k"]]
    kept = frozenset(place for place, each in enumerate(model.plan.features) if each.name in names)
    return validated_features(survey, kept, verdicts["selected_k"] is not None)


def _told(model: Model) -> list[Told]:
    try:
        raw = [each["relevance"] for each in model.estimates["features"]]
        return [
            Told(compute_relevance(table, model.prior), _finite(each["stderr"]), _finite(each["noise"]))
            for table, each in zip(model.conditionals, raw, strict=True)
        ]
    except KeyError as error:
        raise NarrowError("the model is of an older release, which told no relevance: train again") from error


def _finite(figure: float | None) -> float:
    return math.inf if figure is None else figure


def _why_not(survey: Survey, told: list[Told]) -> str:
    error = median_stderr(survey, told)
    if error > CLEAR:
        return (
            f"too early: what a feature explains of the label is between 0 and 1, and by these reports it is "
            f"off by {error:.2g} (median of the features). Let more people answer this round first; leaving "
            f"something out was found to pay from {CLEAR:g} on"
        )
    return (
        "nothing to leave out: asked about less, as many people again would not tell a tenth more of the "
        "label. Go on with the survey as it is"
    )


def _entry(survey: Survey) -> dict[str, str]:
    """Return what becomes of the survey's id and family."""
    match = _ROUND.fullmatch(survey.id)
    base, suffix = (match[1], f"-round{int(match[2]) + 1}") if match else (survey.id, "-round2")
    return further_round_entry(survey, add_suffix(base, suffix))


def _weights(survey: Survey, found: Survey) -> Iterator[tuple[tuple[str, ...], int]]:
    """Return the tables whose weight changes, and those weights."""
    paths = [("label",), *(("features", feature.name) for feature in survey.features)]
    for path, old, new in zip(paths, survey.weights, found.weights, strict=True):
        if new != old:
            assert new is not None
            yield path, new


def _expected(text: str, survey: Survey, found: Survey) -> dict[str, Any]:
    """Return what the text said, but for the survey's entry and the weights."""
    document = parse_toml(text)
    document["survey"] |= _entry(survey)
    for path, weight in _weights(survey, found):
        place = document
        for name in path:
            place = place[name]
        place["weight"] = weight
    return document


def _comments(
    survey: Survey, found: Survey, model: Model, told: list[Told], chosen: frozenset[int], source: str
) -> str:
    asked = [place for place, weight in enumerate(survey.weights[1:]) if weight]
    kept = [place for place, weight in enumerate(found.weights[1:]) if weight]
    whole = sum(told[place].explained for place in asked)
    judged = model.estimates.get("validation")
    words = {
        "old": quote(survey.id),
        "family": quote(survey.family or survey.id),
        "left": len(asked) - len(kept),
        "asked": len(asked),
        "holds": sum(told[place].explained for place in kept) / whole,
        "label": quote(survey.label.name),
        "reports": f"{model.reports:,}",
        "source": quote(source),
        "judges": f"{judged['reports']:,}" if judged else "no",
    }
    why = [_LEFT_OUT, _TABLE]
    if chosen:
        more = [_MORE] if not chosen.issuperset(kept) else []
        why = [_CHOSEN, *more, _RAW]
    said = [_ORIGIN, *([TOKENS_NOTE] if survey.enrolment == TOKEN else []), *why]
    header = format_comment(*(each.format(**words) for each in said))
    rows = _rows(model, told, asked, kept, bool(chosen))
    alignment = f"<{'>' * (len(rows[0]) - 2)}<"
    return "\n".join([f"{header}#", *(f"#   {line}".rstrip() for line in format_table(rows, alignment)), "#"])


def _rows(model: Model, told: list[Told], asked: list[int], kept: list[int], chosen: bool) -> list[list[str]]:
    """Lay out what each feature explains; where devices chose, the model's own figures decided nothing."""
    raw = [each["relevance"] for each in model.estimates["features"]]
    known = [-math.inf if each["value"] is None else float(each["value"]) for each in raw]
    shares = known if chosen else [each.explained for each in told]
    whole = sum(told[place].explained for place in asked)
    rows = [["", "explains", ""] if chosen else ["", "explains", "share", "raw", ""]]
    for place in sorted(asked, key=lambda place: -shares[place]):
        own, entry = told[place].explained, raw[place]
        figure = format_relevance(entry["value"], entry["low"], entry["high"]) or "unknown"
        figures = [figure] if chosen else [f"{own:.2f}", f"{own / whole:.0%}", figure]
        rows.append([model.plan.features[place].name, *figures, "" if place in kept else "left out"])
    return rows
