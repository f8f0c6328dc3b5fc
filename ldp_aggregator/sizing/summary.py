"""A survey's size as a screen of plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from encoders.explain.text import wrap_text
from encoders.text_table import format_table
from ldp_aggregator.sizing.changes import NAMES, changes, epsilon_of
from ldp_aggregator.sizing.forecast import MAX_SIMULATED_USERS, Forecast
from ldp_aggregator.sizing.margins import Margin
from ldp_aggregator.sizing.size import FEATURE_STRENGTHS, PILOT, Size, label_alone

_NOTHING = 0.5
"""From this margin on a share of people may be anything."""
_DIFFERENT = 1.1
"""By this factor labels' margins are told apart."""
_READ = (
    "How to read +-: 19 times in 20 the truth is at most that far from the figure. Of a feature it is the "
    "share of one value among the people of one label: of the label whose figures are least exact."
)
_EVEN = (
    "Assumed: labels and values are all as frequent, and a number's standard deviation is a sixth of its "
    "range. --pilot model.json assumes what a first round has told instead."
)
_HEAD = ["", "asked", "reports", "", "a typical figure"]
_HARDLY = "would beat guessing in fewer than nine of ten surveys"
_TOLD = (
    "Where features tell {name}, each value is {times:g} times as frequent among the people of one label as "
    "among others, and a number's mean differs by {apart:.0%} of its standard deviation from label to label."
)


def screen(size: Size) -> str:
    """Return the whole screen, at most 100 columns wide where names allow it."""
    parts = [
        [f"{size.survey.id}: {_title(size)} at epsilon {epsilon_of(size)}", ""],
        format_table(
            [_HEAD, *(row for each in size.margins for row in _rows(each, size.pilot is None))], "<>><<"
        ),
        ["", *(line for part in (*_read(size), *_assumed(size)) for line in wrap_text(part))],
        *([*wrap_text(note)] for note in label_alone(size.survey, size.users)),
        list(_accuracy(size)),
        ["", *_verdict(size)],
    ]
    return "\n".join(line for part in parts for line in part)


def format_comparison(sizes: Sequence[Size]) -> str:
    """Return a small table of several numbers of people."""
    first = sizes[0]
    head = ["people", f"{first.plan.label.name} +-", "widest share +-", "features that are noise"]
    lines = [f"{first.survey.id}: how exact figures would be at epsilon {epsilon_of(first)}", ""]
    lines += format_table([head, *map(_brief, sizes)], ">>><")
    lines += ["", *(line for part in _assumed(first) for line in wrap_text(part))]
    lines += wrap_text(
        "Give --users, or users in [survey], for every feature's margins, the accuracy to expect and what to "
        "change; --margin 0.05 for how many people make every margin 5%."
    )
    return "\n".join(lines)


def _brief(size: Size) -> list[str]:
    asked = size.margins[1:]
    widest = _percent(max(each.share for each in asked)) if asked else "-"
    named, count = ", ".join(size.noise), f"{len(size.noise)} of {len(asked)}"
    noise = f"{count}: {named}" if 0 < len(named) < NAMES else count
    return [f"{size.users:,}", _percent(size.margins[0].margin), widest, noise]


def people(count: int) -> str:
    """Return so many people in words."""
    return "1 person" if count == 1 else f"{count:,} people"


def _title(size: Size) -> str:
    if size.wish is None:
        return f"what {people(size.users)} would tell"
    return f"margins of at most {100 * size.wish:g}% take {people(size.users)}"


def _read(size: Size) -> Iterator[str]:
    """Say what is behind +-, and whose figures are least exact."""
    widest = max(size.margins[1:], key=lambda each: each.share, default=size.margins[0]).labels
    rarest = size.plan.label.values[widest.index(max(widest))]
    yield _READ + (f" Here that is {rarest!r}." if max(widest) > _DIFFERENT * min(widest) else "")
    if size.wish is not None and any(each.kind == "numeric" for each in size.margins):
        yield f"Of a number's mean, {100 * size.wish:g}% is meant as a share of its range."


def _assumed(size: Size) -> Iterator[str]:
    if not size.pilot:
        yield _EVEN
        return
    yield f"Assumed: {size.pilot.caution}"
    asked = {each.name for each in size.margins}
    vague = [name for name in size.pilot.noise if name in asked]
    if vague:
        named = ", ".join(vague)
        which = named if len(named) < NAMES else f"{len(vague)} features"
        yield f"The pilot is mostly noise about {which}: there its people are largely a guess."


def _rows(margin: Margin, even: bool) -> Iterator[list[str]]:
    asked, reports = f"{margin.chance:.1%}", " + ".join(f"{n:,}" for n in margin.reports)
    if margin.kind == "label":
        asked, reports = (asked, reports) if margin.chance else ("with all", "-")
    yield [margin.name, asked, reports, "noise" if margin.is_noise else "", _figure(margin, even)]
    if margin.missing is not None:
        yield ["", "", "", "", f"share of missing +- {_percent(margin.missing)}"]


def _figure(margin: Margin, even: bool) -> str:
    if margin.values:
        share = f"{1 / margin.values:6.1%} " if even else ""
        return f"{share}+- {_percent(margin.margin)}"
    return f"mean +- {_three_digits(margin.margin)}, standard deviation +- {_three_digits(margin.deviation)}"


def _three_digits(margin: float | None) -> str:
    if margin is None or not math.isfinite(margin):
        return "unknown"
    return f"{float(f'{margin:.3g}'):,.0f}" if margin >= 100 else f"{margin:.3g}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < _NOTHING else "50% or more"


def _accuracy(size: Size) -> Iterator[str]:
    if not size.forecasts:
        return
    one = next(iter(size.forecasts.values()))
    head = ["a model's right answers", "average", "8 of 10 surveys", "at most, if nothing were hidden"]
    rows = [_forecast(name, each) for name, each in size.forecasts.items()]
    rows.append(["always the most frequent label", f"{one.majority:.1%}", "", ""])
    yield ""
    yield from format_table([head, *rows], "<>>>")
    yield ""
    for name, (times, apart) in ({} if size.pilot else FEATURE_STRENGTHS).items():
        yield from wrap_text(_TOLD.format(name=name, times=times, apart=apart))
    yield from wrap_text(
        f"Measured on {one.repeats} simulated surveys of {people(one.users)}, by the real code."
    )
    if one.users < size.users:
        yield from wrap_text(f"More than {MAX_SIMULATED_USERS:,} people are not simulated; they do no worse.")


def _forecast(name: str, found: Forecast) -> list[str]:
    told = "people as in the pilot" if name == PILOT else f"features tell {name} of the label"
    return [told, f"{found.mean:.1%}", f"{found.low:.1%} to {found.high:.1%}", f"{found.most:.1%}"]


def _verdict(size: Size) -> Iterator[str]:
    asked, noise = size.margins[1:], size.noise
    if not asked:
        yield "The survey asks about no feature: a model learns nothing but how frequent the labels are."
    elif not noise:
        yield from wrap_text("Every feature has a margin below what it is about: the figures are useful.")
    elif size.white_noise:
        yield from wrap_text(
            f"WHITE NOISE: {_so_few(size)} tell too little to read any single feature{_nor(size)}."
        )
    elif len(noise) == len(asked):
        yield from wrap_text(
            "Every feature is noise: its margin is larger than what it is about, and no single figure can be "
            "read. A model of all of them together may still beat guessing, as far as they tell of the label."
        )
    else:
        yield from wrap_text(f"Noise, their margins larger than what they are about: {', '.join(noise)}.")
    if asked and size.forecasts and not size.gains and not size.white_noise:
        yield from wrap_text(f"A model {_HARDLY}.")
    if size.remedies:
        yield from changes(size)


def _so_few(size: Size) -> str:
    return f"{people(size.users)} at epsilon {epsilon_of(size)}"


def _nor(size: Size) -> str:
    if not size.forecasts:
        return ""
    if PILOT in size.forecasts:
        return f", and a model {_HARDLY}"
    return f", and even if they told much of the label, a model {_HARDLY}"
