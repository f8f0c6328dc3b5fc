"""Tampered plans: change one place of a plan's document, and read the result."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from encoders import canonical
from encoders.errors import SurveyError
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from tests.support.json_walk import Path, inner
from tests.support.reference import e_to_the


def document(plan: Plan | SiloPlan) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(plan.json)
    return read


def accepted(changed: Any) -> Plan | None:
    """Read a tampered document; a plan that is read must have the same bytes and keep its epsilon."""
    try:
        data = canonical.dump_canonical_json(changed)
        plan = Plan.from_json(data)
    except SurveyError:
        return None
    assert plan.json == data
    assert plan.digest == hashlib.sha256(data).hexdigest()
    bound = e_to_the(Fraction(plan.epsilon))[0]
    assert all(question.mechanism.ratio <= bound for question in plan.questions)
    categories = [question for question in plan.questions if question.moment is None]
    assert all(question.mechanism.domain == question.domain for question in categories)
    return plan


def accepted_changes(plan: Plan, path: Path, value: Any, others: Iterable[Any]) -> Iterator[Plan]:
    """Yield the plans that are read with one of the other values in one place; each has another digest."""
    for other in others:
        if other != value or type(other) is not type(value):
            changed = document(plan)
            inner(changed, path[:-1])[path[-1]] = other
            if (read := accepted(changed)) is not None:
                assert read.digest != plan.digest
                yield read


def starred(path: Path) -> Path:
    """Return a path with a star for each number in it."""
    return tuple("*" if isinstance(key, int) else key for key in path)


def accepted_without(plan: Plan, path: Path, node: Any) -> Iterator[Path]:
    """Yield the places of an object or list whose entry may be left out; the plan without it is another."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        changed = document(plan)
        del inner(changed, path)[key]
        if (read := accepted(changed)) is not None:
            assert read.digest != plan.digest
            yield (*path, key)


def accepted_with_more(plan: Plan, path: Path) -> Plan | None:
    """Read a plan with one entry more in an object or list."""
    changed = document(plan)
    inside = inner(changed, path)
    if isinstance(inside, dict):
        inside["more"] = "1"
    else:
        inside.append(inside[0])
    return accepted(changed)
