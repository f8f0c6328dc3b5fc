"""Findings on a model: what it is, whether it is useless, what it is not for, and how to cite it."""

from __future__ import annotations

from enum import StrEnum

from encoders.explain.text import Counted
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.statements.data import count_sent
from ldp_aggregator.statements.finding import Finding
from ldp_aggregator.statements.rules import find_majority
from ldp_aggregator.statements.values import Names, Share
from ldp_aggregator.statements.words import TEXTS


class Useless(StrEnum):
    """Why a model supports no prediction but the most frequent class."""

    WEAK = "weak"
    """The features that distinguish the classes change hardly any prediction."""
    NOTHING = "nothing"
    """No feature distinguishes the classes, and the model predicts one class for nearly everyone."""
    UNSUPPORTED = "unsupported"
    """No feature distinguishes the classes, although the model predicts several."""


def find_model(estimates: Estimates, useless: Useless | None) -> list[Finding]:
    """Return findings on the model: its kind, whether it is useless, and the majority share."""
    majority, sent = find_majority(estimates), count_sent(estimates)
    names = {f"useless_{each}": useless == each for each in Useless}
    return TEXTS.section(
        "model",
        sent
        | names
        | {
            "label": estimates.label,
            "classes": Names(estimates.classes),
            "used": len(estimates.used_features),
            "features": Counted(len(estimates.features), "feature"),
            "validated": estimates.validation,
            "majority_known": majority,
            "majority": majority.name if majority else "",
            "majority_share": Share(majority.share if majority else 0.0),
        },
    )


def find_limits(*, people: bool, silos: bool, classes: bool = True, curator: bool = False) -> list[Finding]:
    """Return the limits of a model, or of results without one.

    Parameters
    ----------
    people, silos, curator : bool
        Whose data it was trained on.
    classes : bool
        Whether the survey has a label, and therefore a model.
    """
    values = {"people": people, "silos": silos, "classes": classes, "curator": curator}
    return TEXTS.section("limits", values)


def find_citation(estimates: Estimates, epsilon: str) -> list[Finding]:
    """Return the findings that say how to cite the results and the method."""
    values = {
        "curator": False,
        "classes": estimates.has_label,
        "survey": estimates.survey,
        "digest": estimates.plan_digest,
    }
    return TEXTS.section("citation", count_sent(estimates) | values | {"epsilon": epsilon})
