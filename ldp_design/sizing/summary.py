"""Formats sizes as text: margins, accuracy and remedies for one number of people, or a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from encoders.explain.text import wrap_text
from encoders.survey.decimals import decimal_text
from encoders.text_table import format_table
from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.sizing.assumptions import MAX_NAMES_LENGTH, list_assumptions
from ldp_design.sizing.forecast import MAX_SIMULATED_USERS, Forecast
from ldp_design.sizing.margins import Margin
from ldp_design.sizing.size import (
    FEATURE_STRENGTHS,
    PILOT,
    ExpectedMargins,
    Size,
    explain_label_question,
)

UNINFORMATIVE_MARGIN = 0.5
"""From this margin on, the interval of a share carries no information."""
_DIFFERENT_RATIO = 1.1
"""Classes whose margins differ by less than this factor count as equally precise."""
_HOW_TO_READ = (
    "asked: share of the people who get the question; every question about a feature includes the label. "
    "+-: half of a 95% confidence interval (single, not simultaneous). For a feature it is that of the share "
    "of one value among the people of one label: of the label with the least precise estimates."
)
NOISE_MEANING = (
    "noise: the margin is larger than the typical estimate, which is the average share of a value (at most "
    "25%), or the standard deviation of a number. A smaller margin can still be wide: 20% +- 19% is not "
    "noise."
)
MARGINS_HEAD = ["", "asked", "reports", "", "typical estimate"]
_RARELY_BEATS_MAJORITY = "would beat guessing in fewer than nine of ten surveys"
_RELATIONS = {"little": "weakly", "much": "strongly"}
_STRENGTH = (
    "Features {relation} related to the label: each value is {ratio:g} times as frequent among the people of "
    "one label as among others, and a number's mean differs by {shift:.0%} of its standard deviation from "
    "label to label."
)


def format_size(size: Size) -> str:
    """Return one size as text, at most 100 columns wide unless names are longer."""
    lines = [f"{size.survey.id}: {_title(size)} at epsilon {_format_epsilon(size)}", ""]
    lines += [*format_table([MARGINS_HEAD, *build_margin_rows(size)], "<>><<"), ""]
    for text in explain_margins(size):
        lines += wrap_text(text)
    lines += [*_accuracy_lines(size), "", *_conclusion(size)]
    return "\n".join(lines)


def format_comparison(sizes: Sequence[Size]) -> str:
    """Return a small table that compares several numbers of people."""
    first = sizes[0]
    lines = [f"{first.survey.id}: margins to expect at epsilon {_format_epsilon(first)}", ""]
    lines += format_table(build_comparison(sizes), ">>><")
    lines += ["", *(line for part in explain_comparison(first) for line in wrap_text(part))]
    lines += wrap_text(
        "--users, or users in [survey], prints the margins of each feature, the accuracy to expect and what "
        "to change; --margin 0.05 prints how many people make every margin 5%."
    )
    return "\n".join(lines)


def build_comparison(sizes: Sequence[Size]) -> list[list[str]]:
    """Return the head and the rows of the table that compares several numbers of people."""
    head = ["people", f"{sizes[0].plan.label.name} +-", "widest share +-", "features that are noise"]
    return [head, *map(_comparison_row, sizes)]


def explain_comparison(size: Size) -> list[str]:
    """Return sentences that explain the table of a comparison, and what it assumes."""
    return [_HOW_TO_READ, NOISE_MEANING, *list_assumptions(size)]


def format_epsilons(sizes: Sequence[Size]) -> str:
    """Return a small table that compares values of epsilon, and possibly numbers of people for each."""
    first = sizes[0]
    head = ["epsilon", "people", f"{first.plan.label.name} +-", "widest share +-", "features that are noise"]
    title = "what to expect by epsilon"
    if first.requested_margin is not None:
        title = f"people for margins of at most {100 * first.requested_margin:g}%, by epsilon"
    lines = [f"{first.survey.id}: {title}", ""]
    lines += format_table(
        [head, *([_format_epsilon(size), *_comparison_row(size)] for size in sizes)], ">>>><"
    )
    lines += ["", *(line for part in explain_comparison(first) for line in wrap_text(part))]
    return "\n".join(lines)


def _comparison_row(size: Size) -> list[str]:
    return [f"{size.users:,}", *compare_margins(size)]


def compare_margins(size: ExpectedMargins) -> list[str]:
    """Return the margin of the label, the widest share, and the features that are noise."""
    margins = size.margins[1:]
    widest = _format_percent(max(margin.share for margin in margins)) if margins else "-"
    names, count = ", ".join(size.noise), f"{len(size.noise)} of {len(margins)}"
    noise = f"{count}: {names}" if 0 < len(names) < MAX_NAMES_LENGTH else count
    return [_format_percent(size.margins[0].margin), widest, noise]


def format_people(count: int) -> str:
    """Return a number of people as text: "1 person", "2,000 people"."""
    return "1 person" if count == 1 else f"{count:,} people"


def _format_epsilon(size: Size) -> str:
    return decimal_text(size.survey.epsilon)


def _title(size: Size) -> str:
    if size.requested_margin is None:
        return f"what to expect from {format_people(size.users)}"
    return f"margins of at most {100 * size.requested_margin:g}% need {format_people(size.users)}"


def explain_margins(size: Size) -> Iterator[str]:
    """Yield sentences that explain the table of margins, what it assumes, and the question of the label."""
    yield from _explain_terms(size)
    yield from list_assumptions(size)
    yield from explain_label_question(size.survey, size.users)


def _explain_terms(size: Size) -> Iterator[str]:
    """Yield what +- and "noise" mean, and which class is the least precise."""
    widest = max(size.margins[1:], key=lambda each: each.share, default=size.margins[0]).class_margins
    rarest = size.plan.label.values[widest.index(max(widest))]
    is_different = max(widest) > _DIFFERENT_RATIO * min(widest)
    yield _HOW_TO_READ + (f" Here that is {rarest!r}." if is_different else "")
    yield NOISE_MEANING
    if size.requested_margin is not None and any(each.kind == "numeric" for each in size.margins):
        yield f"For a number's mean, {100 * size.requested_margin:g}% is a share of its range."


# -- margins ------------------------------------------------------------------------------------


def typical_share(size: ExpectedMargins, margin: Margin) -> float | None:
    """Return the share that a margin is about: of the rarest label, or of one of equally frequent values."""
    if size.pilot or not margin.values:
        return None
    return min(size.label_shares) if size.label_shares and margin.kind == "label" else 1 / margin.values


def build_margin_rows(size: ExpectedMargins) -> list[list[str]]:
    """Return the rows of the table of margins: one or two for the label and for each feature."""
    return [row for margin in size.margins for row in _margin_rows(margin, typical_share(size, margin))]


def _margin_rows(margin: Margin, share: float | None) -> Iterator[list[str]]:
    asked, reports = f"{margin.question_probability:.1%}", " + ".join(f"{n:,}" for n in margin.reports)
    if margin.kind == "label" and not margin.question_probability:
        asked, reports = "with all", "-"
    noise = "noise" if margin.is_noise else ""
    yield [margin.name, asked, reports, noise, _format_margin(margin, share)]
    if margin.missing is not None:
        yield ["", "", "", "", f"share of missing +- {_format_percent(margin.missing)}"]


def _format_margin(margin: Margin, share: float | None) -> str:
    if margin.values:
        estimate = f"{share:6.1%} " if share is not None else ""
        return f"{estimate}+- {_format_percent(margin.margin)}"
    if not math.isfinite(margin.margin):
        return f"mean unknown ({'label too rare' if all(margin.reports) else 'no reports'})"
    return (
        f"mean +- {_format_number(margin.margin)}, standard deviation +- {_format_number(margin.deviation)}"
    )


def _format_number(margin: float | None) -> str:
    if margin is None or not math.isfinite(margin):
        return "unknown"
    return f"{float(f'{margin:.3g}'):,.0f}" if margin >= 100 else f"{margin:.3g}"


def _format_percent(share: float) -> str:
    return f"{share:.1%}" if share < UNINFORMATIVE_MARGIN else "50% or more"


# -- accuracy -----------------------------------------------------------------------------------


def _accuracy_lines(size: Size) -> Iterator[str]:
    if not size.forecasts:
        return
    yield ""
    yield from format_table(build_accuracy_table(size), "<>>>")
    yield ""
    for text in explain_accuracy(size):
        yield from wrap_text(text)


def build_accuracy_table(size: Size) -> list[list[str]]:
    """Return the head and the rows of the table of accuracies, for a size with forecasts."""
    first = next(iter(size.forecasts.values()))
    head = ["accuracy of a model", "average", "8 of 10 surveys", "best possible without privacy"]
    rows = [_forecast_row(name, forecast) for name, forecast in size.forecasts.items()]
    return [head, *rows, ["always the most frequent label", f"{first.majority:.1%}", "", ""]]


def explain_accuracy(size: Size) -> Iterator[str]:
    """Yield sentences on the populations of the accuracies, for a size with forecasts."""
    first = next(iter(size.forecasts.values()))
    for name, (ratio, shift) in ({} if size.pilot else FEATURE_STRENGTHS).items():
        yield _STRENGTH.format(relation=_RELATIONS[name], ratio=ratio, shift=shift)
    yield f"Accuracies are from {first.repeats} simulated surveys of {format_people(first.users)}."
    if first.users < size.users:
        yield f"At most {MAX_SIMULATED_USERS:,} people are simulated; more are no less accurate."


def _forecast_row(name: str, forecast: Forecast) -> list[str]:
    assumption = (
        "people as in the pilot" if name == PILOT else f"features {_RELATIONS[name]} related to the label"
    )
    interval = f"{forecast.low:.1%} to {forecast.high:.1%}"
    return [assumption, f"{forecast.mean:.1%}", interval, f"{forecast.best_possible:.1%}"]


# -- conclusion and remedies --------------------------------------------------------------------


def _conclusion(size: Size) -> Iterator[str]:
    for text in describe_noise(size):
        yield from wrap_text(text)
    if size.remedies:
        if rows := _remedy_rows(size):
            yield "With any one of these changes no feature is noise:"
            yield from format_table(rows, "<<")
        if insufficient := _insufficient_changes(size):
            yield from wrap_text(f"Not enough by themselves: {', '.join(insufficient)}.")


def describe_noise(size: Size) -> Iterator[str]:
    """Yield sentences on which features are noise, and whether a model beats guessing."""
    features, noise = size.margins[1:], size.noise
    if not features:
        yield "The survey asks about no feature: a model learns only how frequent the labels are."
    elif not noise:
        yield "No feature is noise: no margin is larger than the typical estimate."
    elif size.white_noise:
        assumption = "" if PILOT in size.forecasts else "even if features are strongly related to the label, "
        yield (
            f"Too few people: with {format_people(size.users)} at epsilon {_format_epsilon(size)} every "
            f"feature is noise, and {assumption}a model {_RARELY_BEATS_MAJORITY}."
        )
    elif len(noise) == len(features):
        yield (
            "Every feature is noise: each margin is larger than the typical estimate. A model of all "
            "features may still beat guessing, if they are related to the label."
        )
    else:
        yield f"Noise: {', '.join(noise)}."
    if features and size.forecasts and not size.beats_majority and not size.white_noise:
        yield f"A model {_RARELY_BEATS_MAJORITY}."


def _remedy_rows(size: Size) -> list[list[str]]:
    remedies = size.remedies
    assert remedies is not None
    rows = []
    if remedies.users is not None:
        rows.append(["  more people", f"{remedies.users:,} instead of {size.users:,}"])
    if remedies.survey_users is not None:
        authored = "none" if size.survey.users is None else f"{size.survey.users:,}"
        change = f"{remedies.survey_users:,} instead of {authored}"
        rows.append(["  users in [survey]", f"{change}, so that fewer people are asked for the label alone"])
    if remedies.epsilon is not None:
        rows.append(["  a larger epsilon", f"{remedies.epsilon:f} instead of {_format_epsilon(size)}"])
    if remedies.features is not None:
        names = ", ".join(remedies.features)
        kept = f": {names}" if len(names) < MAX_NAMES_LENGTH else ""
        change = f"{len(remedies.features)} instead of {len(size.margins) - 1}"
        rows.append(["  fewer features", f"{change}{kept}"])
    if remedies.values is not None:
        change = f"at most {remedies.values} for each feature, not counting missing answers"
        rows.append(["  fewer values or bins", change])
    return rows


def _insufficient_changes(size: Size) -> list[str]:
    """Return the kinds of change that are not enough by themselves."""
    remedies = size.remedies
    assert remedies is not None
    changes = {
        "more people": remedies.users is None,
        f"an epsilon up to {DEFAULT_MAX_EPSILON}, the maximum that clients accept by default": (
            remedies.epsilon is None and size.survey.epsilon < DEFAULT_MAX_EPSILON
        ),
        "fewer features": remedies.features is None and len(size.margins) > 2,
        "fewer values or bins": remedies.values is None and any(each.values for each in size.margins[1:]),
    }
    return [change for change, insufficient in changes.items() if insufficient]
