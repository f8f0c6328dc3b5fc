"""What the pages and comparisons of results are made from: plan, estimates and privacy statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan


@dataclass(frozen=True, kw_only=True)
class SurveyResults:
    """The results of one survey."""

    plan: Plan | SiloPlan
    estimates: Mapping[str, Any]
    """The JSON form, see :meth:`Estimates.as_dict`."""
    privacy: Mapping[str, Any] = field(default_factory=dict)
    """The privacy statement, see :func:`build_privacy_statement`; empty if the file has none."""
    unlabelled: Mapping[str, Any] | None = None
    """What rows without labels did to the classifier; None without such rows."""
