"""Formats sizes of surveys of silos as text: margins and remedies for one size, or a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.explain.text import wrap_text
from encoders.survey.decimals import decimal_text
from encoders.text_table import format_table
from ldp_design.sizing.silos import SiloSize, find_silo_remedies
from ldp_design.sizing.summary import NOISE_MEANING, build_margin_rows, compare_margins

_HOW_TO_READ = (
    "+-: the noise moves an estimate by less in about 19 of 20 surveys (1.96 standard errors). For a feature "
    "it is the share of one value among the rows of one label, of the least precise label. A comparison "
    "takes a number's mean as a share of its range. The margins are about these rows. The intervals of "
    "ldp-train are wider, because they are about all people for whom the rows stand."
)
_PROPORTION = (
    "The noise of an estimate is proportional to features x rows_per_person x sqrt(messages) / (epsilon x "
    "rows). Each silo sends one message; one that reports E epochs counts as E silos."
)
_ASSUMED = (
    "Assumed: all {labels}values are equally frequent, a number's standard deviation is a sixth of its "
    "range, and a tenth of the numbers are missing if they may be.{rare}"
)
_RARE = " The margins of a label with half of that share are twice as wide; --label-shares states the shares."


def format_silo_sizes(sizes: Sequence[SiloSize]) -> str:
    """Return one size in detail, or a table that compares several."""
    first, *others = sizes
    if others:
        lines = [f"{first.survey.id}: margins to expect from the noise", ""]
        lines += format_table(build_silo_comparison(sizes), ">>>>><")
    else:
        count = f"{first.silos:,} {'silo' if first.silos == 1 else 'silos'}"
        lines = [f"{first.survey.id}: what to expect from {first.rows:,} rows of {count} at epsilon "]
        lines[0] += decimal_text(first.survey.epsilon)
        lines += ["", *format_table([["", "", "typical estimate"], *build_silo_rows(first)], "<<<")]
    lines += ["", *(line for text in explain_silo_size(first) for line in wrap_text(text)), ""]
    return "\n".join([*lines, *([] if others else _conclusion(first))]).rstrip()


def build_silo_comparison(sizes: Sequence[SiloSize]) -> list[list[str]]:
    """Return the head and the rows of the table that compares sizes."""
    label = sizes[0].survey.label.name
    head = ["epsilon", "rows", "silos", f"{label} +-", "widest share +-", "features that are noise"]
    return [
        head,
        *(
            [decimal_text(each.survey.epsilon), f"{each.rows:,}", f"{each.silos:,}", *compare_margins(each)]
            for each in sizes
        ),
    ]


def build_silo_rows(size: SiloSize) -> list[list[str]]:
    """Return the name, whether it is noise, and the typical estimate of the label and of each feature."""
    return [[name, noise, estimate] for name, _, _, noise, estimate in build_margin_rows(size)]


def explain_silo_size(size: SiloSize) -> list[str]:
    """Return sentences that explain the margins, and what they assume."""
    assumed = _ASSUMED.format(labels="labels and all ", rare=_RARE)
    if size.label_shares:
        shares = zip(size.survey.label.values, size.label_shares, strict=True)
        given = ", ".join(f"{name} {share:.3g}" for name, share in shares)
        assumed = f"{_ASSUMED.format(labels='', rare='')} Shares of the labels, as given: {given}."
    return [_HOW_TO_READ, NOISE_MEANING, _PROPORTION, assumed]


def describe_silo_noise(size: SiloSize) -> str:
    """Return which features are noise."""
    if size.noise:
        return f"Noise: {', '.join(size.noise)}."
    return "No feature is noise: no margin is larger than the typical estimate."


def _conclusion(size: SiloSize) -> Iterator[str]:
    yield from wrap_text(describe_silo_noise(size))
    if size.noise:
        yield "With any one of these changes no feature is noise:"
        yield from format_table([[f"  {name}", text] for name, text in find_silo_remedies(size)], "<<")
