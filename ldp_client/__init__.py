"""The device's side: randomises one answer, writes the report to a journal, and sends it once.

>>> import ldp_client
>>> client = ldp_client.configure("https://collector.example/v1/surveys/sleep-2026")
>>> client.grant()  # once the person has agreed
Receipt(state=<State.READY: 'ready'>, survey='sleep-2026')
>>> ldp_client.report({"age": "young", "income": 21_000}, "no")
Receipt(state=<State.QUEUED: 'queued'>, survey='sleep-2026', epsilon=1.0)

The raw row never leaves this process and is never written anywhere. Nothing here imports more than
the standard library and msgpack, and importing this package loads next to nothing: each name below
loads on first use, so that a survey does not slow the start of an application.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours
from ldp_client.traceback_redaction import redact_traceback

TYPE_CHECKING = False  # importing typing takes longer than all else here
if TYPE_CHECKING:
    from collections.abc import Mapping

    from encoders import __version__
    from encoders.errors import (
        LdpError,
        PrivacyError,
        ReportError,
        RowError,
        SignatureError,
        SurveyError,
        TokenError,
    )
    from encoders.survey import BinnedFeature, CategoricalFeature, Choices, NumericFeature, Plan
    from ldp_client.aio import AsyncClient, AsyncTransport
    from ldp_client.client import Client
    from ldp_client.errors import (
        BudgetError,
        ClientError,
        ClosedError,
        ConsentError,
        ExpiredError,
        JournalError,
        OptionError,
        PlanError,
        TransportError,
    )
    from ldp_client.journal import Journal
    from ldp_client.plan_source import load_plan
    from ldp_client.receipt import Receipt, State
    from ldp_client.report_maker import make_report
    from ldp_client.stored_consent import has_consent
    from ldp_client.transport import HttpTransport, Response, Transport

require_own_encoders()

__all__ = [
    "AsyncClient",
    "AsyncTransport",
    "BinnedFeature",
    "BudgetError",
    "CategoricalFeature",
    "Choices",
    "Client",
    "ClientError",
    "ClosedError",
    "ConsentError",
    "ExpiredError",
    "HttpTransport",
    "Journal",
    "JournalError",
    "LdpError",
    "NumericFeature",
    "OptionError",
    "Plan",
    "PlanError",
    "PrivacyError",
    "Receipt",
    "ReportError",
    "Response",
    "RowError",
    "SignatureError",
    "State",
    "SurveyError",
    "TokenError",
    "Transport",
    "TransportError",
    "__version__",
    "configure",
    "has_consent",
    "load_plan",
    "make_report",
    "report",
]

_SHARED = (
    "LdpError",
    "PrivacyError",
    "ReportError",
    "RowError",
    "SignatureError",
    "SurveyError",
    "TokenError",
)
_HOMES = {
    "encoders.errors": _SHARED,
    "encoders.survey": ("BinnedFeature", "CategoricalFeature", "Choices", "NumericFeature", "Plan"),
    "aio": ("AsyncClient", "AsyncTransport"),
    "client": ("Client",),
    "errors": tuple(name for name in __all__ if name.endswith("Error") and name not in _SHARED),
    "journal": ("Journal",),
    "plan_source": ("load_plan",),
    "report_maker": ("make_report",),
    "receipt": ("Receipt", "State"),
    "stored_consent": ("has_consent",),
    "transport": ("HttpTransport", "Response", "Transport"),
}

_client: Client | None = None
_configuring = threading.RLock()


def configure(survey: str | os.PathLike[str] | Plan | None = None, **options: object) -> Client:
    """Choose the survey that :func:`report` answers.

    Parameters
    ----------
    survey : str, path or Plan, optional
        As for :class:`Client`; by default the URL in the environment variable ``LDP_SURVEY_URL``.
    **options
        As for :class:`Client`.

    Returns
    -------
    Client
        The client. It is closed when the process exits, or when `configure` is called again.

    Raises
    ------
    LdpError
        If there is no URL of a survey, or an option cannot be used: mistakes of the application.
    TypeError
        If there is no such option.
    """
    from ldp_client.client import Client
    from ldp_client.errors import TransportError

    global _client
    survey = survey or os.environ.get("LDP_SURVEY_URL")
    if not survey:
        raise TransportError("no survey: call configure(URL) or set LDP_SURVEY_URL", "not-configured")
    with _configuring:
        former, _client = _client, Client(survey, **options)  # type: ignore[arg-type]
        client = _client
    if former is not None:
        with suppress(Exception):
            former._close(
                "a later configure() closed this client: use the client that it returned, or make several "
                "with ldp_client.Client"
            )
    return client


@redact_traceback
def report(row: Mapping[str, object], label: object = None) -> Receipt:
    """Answer the survey that `configure` chose: see :meth:`Client.report`.

    If `configure` was not called, the survey's URL is in ``LDP_SURVEY_URL``. If that is not set either, no
    error is raised: the receipt gives the reason.
    """
    client = None
    try:
        with _configuring:
            client = _client or configure()
        return client.report(row, label)
    except Exception as error:
        if client and client._strict:
            raise
        from dataclasses import replace

        from ldp_client.opt_out import REHEARSAL_VARIABLE, is_variable_set
        from ldp_client.receipt import Receipt

        receipt = Receipt.from_error(error, client.survey if client else "")
        return replace(receipt, rehearsal=is_variable_set(REHEARSAL_VARIABLE))


def __getattr__(name: str) -> object:
    if name == "__version__":
        return __import__("encoders").__version__
    for home, names in _HOMES.items():
        if name in names:
            module = home if "." in home else f"ldp_client.{home}"
            return getattr(__import__(module, fromlist=[name]), name)  # importlib would load more modules
    raise AttributeError(f"module 'ldp_client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
