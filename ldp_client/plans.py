"""Where a client gets its plan: a collector's URL, a compiled plan or an authored survey."""

from __future__ import annotations

import os
from pathlib import Path

from encoders.errors import SurveyError
from encoders.survey.files import load_plan_file
from encoders.survey.plan import Plan
from ldp_client.errors import TransportError
from ldp_client.transport import HttpTransport, Transport, check_url

_TIMEOUT = 10.0


def load_plan(source: str | os.PathLike[str], transport: Transport | None = None) -> Plan:
    """Load and check a plan.

    Parameters
    ----------
    source : str or path
        A collector's URL (http://host/v1/surveys/ID), or a file: authored TOML or a compiled plan.
    transport : Transport, optional

    Raises
    ------
    SurveyError, PrivacyError
        If it is no plan, or one that would spend more than its epsilon.
    TransportError
        If the collector does not answer with one.
    """
    if not is_url(source):
        return load_plan_file(Path(source))
    url = check_url(str(source))
    answer = (transport or HttpTransport()).request("GET", url, None, _TIMEOUT)
    if answer.status != 200:
        raise TransportError(f"the collector answers {answer.status} instead of the survey's plan")
    plan = Plan.from_json(answer.body)
    if plan.id != url.rsplit("/", 1)[-1]:
        raise SurveyError("the collector sent the plan of another survey", "id")
    return plan


def is_url(source: object) -> bool:
    """Tell a URL from a path."""
    return isinstance(source, str) and "://" in source
