"""Statements on a model: what it is, whether it is useless, what a curator promises, limits and citation."""

from __future__ import annotations

from decimal import Decimal

from encoders.explain.text import Counted
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.curator_privacy import ADD_REMOVE, CuratorPrivacy
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.statements.data import count_sent
from ldp_aggregator.statements.privacy import list_beliefs
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.usefulness import Usefulness, Useless
from ldp_aggregator.wording.bounds import factor_at_most, format_amount
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Names, Share


def find_model(estimates: Estimates, usefulness: Usefulness | None) -> list[Statement]:
    """Return statements on the model: its kind, whether it is useless, and the majority share."""
    majority, sent = estimates.majority, count_sent(estimates)
    names = _name_useless(usefulness)
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


def find_notices(plan: AnyPlan, usefulness: Usefulness | None) -> list[Statement]:
    """Return what a user of predictions must not miss: fake reports, and a useless model."""
    found: list[Statement] = []
    if usefulness and usefulness.alarms:
        questions = Counted(usefulness.questions, "question")
        found.append(
            TEXTS.find("poisoning.result", alarm=True, tested=usefulness.tested, questions=questions)
        )
    if usefulness and usefulness.useless:
        values = {
            "majority": usefulness.majority,
            "majority_share": Share(usefulness.majority_share or 0.0),
            "people": not isinstance(plan, SiloPlan),
        }
        found.append(TEXTS.find("model.useless", **_name_useless(usefulness), **values))
    return found


def _name_useless(usefulness: Usefulness | None) -> dict[str, object]:
    """Return which text about a useless model holds, by the name of the condition."""
    useless = usefulness.useless if usefulness else None
    return {f"useless_{each}": useless == each for each in Useless}


def find_limits(*, people: bool, silos: bool, classes: bool = True, curator: bool = False) -> list[Statement]:
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


def find_citation(estimates: Estimates, epsilon: str) -> list[Statement]:
    """Return the statements that say how to cite the results and the method."""
    values = {
        "curator": False,
        "classes": estimates.has_label,
        "survey": estimates.survey,
        "digest": estimates.plan_digest,
    }
    return TEXTS.section("citation", count_sent(estimates) | values | {"epsilon": epsilon})


_MAX_FACTOR = Decimal("1e300")
"""Above this a double overflows, and beliefs are certain."""


def find_promise(privacy: CuratorPrivacy) -> list[Statement]:
    """Return statements on the promise of a curator: the guarantee and its limits."""
    factor = (Decimal(privacy.epsilon.numerator) / privacy.epsilon.denominator).exp()  # doubles end at e^709
    values = {
        "epsilon": format_amount(privacy.epsilon),
        "delta": format_amount(privacy.delta),
        "add_remove": privacy.adjacency == ADD_REMOVE,
        "factor": factor_at_most(factor),
        **list_beliefs(float(min(factor, _MAX_FACTOR))),
    }
    return TEXTS.section("curator", values)


def find_curator_citation(survey: str, digest: str, privacy: CuratorPrivacy) -> list[Statement]:
    """Return the statements that say how to cite the model."""
    return TEXTS.section(
        "citation",
        {
            "curator": True,
            "classes": True,
            "survey": survey,
            "digest": digest,
            "epsilon": format_amount(privacy.epsilon),
            "delta": format_amount(privacy.delta),
            "adjacency": privacy.adjacency,
        },
    )
