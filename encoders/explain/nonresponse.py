"""Warns of features for which some people have no answer: not reporting then reveals something about them.

A list of values counts as complete in three cases: it has at most two values, it consists of consecutive
whole numbers, or it has a value for all other answers, such as "other" or "none". The rule knows only English
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from encoders.survey.display_texts import display_texts
from encoders.survey.features import CategoricalFeature, Choices
from encoders.survey.plan import Plan

OTHER = "other"
"""The suggested value for all answers that are not listed."""

_FIRST_WORDS = {"other", "others", "none", "neither", "unknown"}
_TEXTS = {
    "anything else",
    "something else",
    "don't know",
    "do not know",
    "not sure",
    "n/a",
    "not applicable",
    "no answer",
    "prefer not to say",
    "rather not say",
}


def is_complete(values: Sequence[str]) -> bool:
    """Return whether a list of values covers every answer, by the rule of this module."""
    return len(values) <= 2 or any(map(_is_for_the_rest, values)) or _are_consecutive(values)


@dataclass(frozen=True, kw_only=True)
class NonresponseCauses:
    incomplete: tuple[str, ...]
    """The features whose values may not cover every answer, and that cannot be left out."""
    required: tuple[str, ...]
    is_label_incomplete: bool
    is_label_required: bool
    """Whether the label has no value for people without an answer."""


def find_nonresponse_causes(plan: Plan) -> NonresponseCauses:
    label = plan.row_label
    listed = [each for each in plan.entries if isinstance(each, CategoricalFeature)]
    is_label_complete = is_complete(label.values)
    return NonresponseCauses(
        incomplete=tuple(
            each.name
            for each in listed
            if each.missing == "error" and not (is_complete(each.values) or isinstance(each, Choices))
        ),
        required=tuple(each.name for each in plan.entries if each.missing == "error"),
        is_label_incomplete=not is_label_complete,
        is_label_required=label.exists and is_label_complete and not any(map(_is_for_the_rest, label.values)),
    )


def nonresponse_warnings(plan: Plan) -> list[str]:
    """Return one warning for each reason why some people cannot answer a survey, with the correction."""
    return [warning for _, warning in locate_nonresponse(plan)]


def locate_nonresponse(plan: Plan) -> list[tuple[tuple[str, ...], str]]:
    """Return each warning of :func:`nonresponse_warnings`, after the path of the first entry it is about."""
    label, causes, quoted = plan.row_label, find_nonresponse_causes(plan), _quote_titles(plan)
    inputs = {each.name for each in plan.projection.inputs} if plan.projection else set()

    def path_of(name: str) -> tuple[str, ...]:
        return ("projection", "inputs", name) if name in inputs else ("features", name)

    incomplete = [quoted[each] for each in causes.incomplete]
    path = path_of(causes.incomplete[0]) if incomplete else ("label", "values")
    if causes.is_label_incomplete:
        incomplete.append(f"{quoted[label.name]} (the label)")
    found: list[tuple[tuple[str, ...], str]] = []
    if incomplete:
        text = (
            f"{', '.join(incomplete)}: a person whose answer is not listed cannot report, and their silence "
            f'reveals that: add "{OTHER}" to values, and let the app pass it for all unlisted answers '
            "(nothing to do if the list covers everybody)"
        )
        found.append((path, text))
    if causes.required:
        text = (
            f"{', '.join(quoted[each] for each in causes.required)}: a person without an answer cannot "
            'report, and their silence reveals that: add missing = "category" '
            "(nothing to do if everybody has an answer)"
        )
        found.append((path_of(causes.required[0]), text))
    if causes.is_label_required:
        text = (
            f"{quoted[label.name]} (the label): a person without a label cannot report, and their silence "
            'reveals that: add a value such as "unknown", which becomes a class and costs precision '
            "(nothing to do if everybody has a label)"
        )
        found.append((("label", "values"), text))
    return found


def _quote_titles(plan: Plan) -> dict[str, str]:
    """Return the question of each entry in quotes, or its name if the survey has no text for it."""
    texts = display_texts(plan)
    titles = {name: entry.title for name, entry in texts.features.items()}
    if texts.label:
        titles[plan.row_label.name] = texts.label.title
    return {name: name if title == name else f"“{title}”" for name, title in titles.items()}


def _is_for_the_rest(value: str) -> bool:
    words = value.casefold().replace("\u2019", "'").replace(",", " ").split()
    return bool(words) and (words[0] in _FIRST_WORDS or " ".join(words) in _TEXTS)


def _are_consecutive(values: Sequence[str]) -> bool:
    if not all(value.removeprefix("-").isdecimal() and value.isascii() for value in values):
        return False
    numbers = sorted(map(int, values))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
