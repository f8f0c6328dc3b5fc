"""Shares of the labels: what an author expects, as in "yes=0.12,no=0.8,unknown=0.08", or one rare label."""

from __future__ import annotations

import math
from collections.abc import Sequence

from encoders.errors import LdpError
from ldp_design.authoring.toml_edit import quote

_MAX_SUM_ERROR = 0.01
_RARE_SHARE = 0.1
"""The share of the example of a rare label; smaller if the survey has many labels."""


class LabelSharesError(LdpError):
    """Shares that do not describe the labels of a survey."""


def make_rare_shares(labels: int) -> tuple[float, ...]:
    """Return shares of the labels of which the first is rare, and all others are equally frequent."""
    share = min(_RARE_SHARE, 1 / (2 * labels))
    return share, *[(1 - share) / max(labels - 1, 1)] * (labels - 1)


def parse_label_shares(text: str, labels: Sequence[str]) -> tuple[float, ...]:
    """Return the share of each label, in the order of `labels`; they add up to 1.

    A label may contain commas and equals signs: names are matched from the longest one on.

    Raises
    ------
    LabelSharesError
        If the survey has no label, if a label is unknown, missing or named twice, if a share is not a
        number above 0, or if the shares do not add up to 1 within 0.01.
    """
    if len(labels) < 2:
        raise LabelSharesError("the survey has no label: leave this option out")
    shares: dict[str, float] = {}
    rest = text.strip()
    while rest:
        name = next(
            (each for each in sorted(labels, key=len, reverse=True) if rest.startswith(f"{each}=")), None
        )
        if name is None:
            unknown = rest.partition("=")[0]
            raise LabelSharesError(f"{quote(unknown)} is not a label: choose among {_join(labels)}")
        value, _, rest = rest[len(name) + 1 :].partition(",")
        if name in shares:
            raise LabelSharesError(f"{quote(name)} occurs twice: give each label once")
        shares[name] = _parse_share(name, value.strip())
        rest = rest.lstrip()
    missing = [label for label in labels if label not in shares]
    if missing:
        raise LabelSharesError(
            f"there is no share of {_join(missing)}: give each label a share, as in yes=0.1,no=0.9"
        )
    total = math.fsum(shares.values())
    if abs(total - 1) > _MAX_SUM_ERROR:
        raise LabelSharesError(f"the shares add up to {total:.4g}: change them so that they add up to 1")
    return tuple(shares[label] / total for label in labels)


def _parse_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise LabelSharesError(f"{quote(name)} has the share {text!r}: write a number as in 0.05")
    return share


def _join(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))
