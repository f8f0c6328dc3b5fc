"""Reads plans of one kind: plans that people answer, or plans of silos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from encoders.survey.compiled_plan import PlanT
from encoders.survey.plan import Plan
from encoders.survey.plan_files import load_plan_file


@dataclass(frozen=True)
class PlanReader(Generic[PlanT]):
    """The functions that read plans of one kind; each refuses the other kind."""

    plan_type: type[PlanT]
    from_json: Callable[[bytes], PlanT]
    """Reads and checks the bytes of a compiled plan."""
    load_file: Callable[[Path], PlanT]
    """Reads a survey in TOML, or a compiled plan."""


PEOPLE = PlanReader(Plan, Plan.from_json, load_plan_file)
"""Reads the plans that people answer."""
