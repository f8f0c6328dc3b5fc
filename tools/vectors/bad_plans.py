"""Plans that a client must refuse: forged, damaged or inconsistent, with one mistake each."""

from __future__ import annotations

from collections.abc import Iterable

from encoders.errors import PrivacyError, SurveyError
from encoders.randomness import GivenBytes
from encoders.survey import Plan
from ldp_client import make_report
from tools.vectors.common import first_draws, random_bytes, words
from tools.vectors.plan_mistakes import without_label
from tools.vectors.plan_mistakes.entries import entries
from tools.vectors.plan_mistakes.honest import LABEL, ROW, Document, text_of
from tools.vectors.plan_mistakes.levels import levels
from tools.vectors.plan_mistakes.projections import projections
from tools.vectors.plan_mistakes.series import series
from tools.vectors.plan_mistakes.several_features import numbers, together
from tools.vectors.plan_mistakes.spellings import spellings
from tools.vectors.plan_mistakes.tables import tables
from tools.vectors.plan_mistakes.validations import validations
from tools.vectors.plan_mistakes.waves import waves


def bad_plans() -> Document:
    """Return the plans, and a row that fits the honest ones."""
    features = (*numbers(), *together(), *levels(), *projections())
    named = (*spellings(), *entries(), *features, *validations(), *tables(), *waves(), *series())
    return _file(text_of(), ROW, LABEL, "plans", named)


def bad_plans_without_label() -> Document:
    """Return plans without a label, and a row that fits the honest one."""
    return _file(
        without_label.honest(),
        without_label.ROW,
        None,
        "unlabelled plans",
        without_label.plans_without_label(),
    )


def _file(
    honest_text: str, row: Document, label: str | None, seed: str, named: Iterable[tuple[str, str]]
) -> Document:
    honest = Plan.from_json(honest_text.encode())
    random = words(first_draws(honest)[1]) + random_bytes(
        seed, 16 + honest.questions[1].mechanism.random_bytes
    )
    refused: dict[str, str] = {}
    for name, text in named:
        assert name not in refused, name
        refused[name] = text
    return {
        "honest": honest_text,
        "honest_report": make_report(honest, row, label, GivenBytes(random)).hex(),
        "label": label,
        "plans": [{"name": name, "plan": text} for name, text in refused.items() if _is_refused(name, text)],
        "random": random.hex(),
        "row": row,
    }


def _is_refused(name: str, text: str) -> bool:
    try:
        Plan.from_json(text.encode())
    except PrivacyError:
        return True
    except SurveyError:
        assert not name.endswith("spends more than epsilon"), name
        return True
    raise AssertionError(f"{name}: accepted")
