"""Plans that a client must refuse: forged, damaged or inconsistent, with one mistake each."""

from __future__ import annotations

from encoders.errors import PrivacyError, SurveyError
from encoders.randomness import GivenBytes
from encoders.survey import Plan
from ldp_client import make_report
from tools.vectors.common import first_draws, random_bytes, words
from tools.vectors.plan_mistakes.entries import entries
from tools.vectors.plan_mistakes.honest import LABEL, ROW, Document, text_of
from tools.vectors.plan_mistakes.projections import projections
from tools.vectors.plan_mistakes.several_features import numbers, together
from tools.vectors.plan_mistakes.spellings import spellings
from tools.vectors.plan_mistakes.tables import tables
from tools.vectors.plan_mistakes.validations import validations


def bad_plans() -> Document:
    """Return the plans, and a row that fits the honest ones."""
    honest = Plan.from_json(text_of().encode())
    random = words(first_draws(honest)[1]) + random_bytes(
        "plans", 16 + honest.questions[1].mechanism.random_bytes
    )
    refused: dict[str, str] = {}
    for name, text in (
        *spellings(),
        *entries(),
        *numbers(),
        *together(),
        *projections(),
        *validations(),
        *tables(),
    ):
        assert name not in refused, name
        refused[name] = text
    return {
        "honest": text_of(),
        "honest_report": make_report(honest, ROW, LABEL, GivenBytes(random)).hex(),
        "label": LABEL,
        "plans": [{"name": name, "plan": text} for name, text in refused.items() if _is_refused(name, text)],
        "random": random.hex(),
        "row": ROW,
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
