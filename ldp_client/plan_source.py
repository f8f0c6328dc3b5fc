"""Loads a client's plan: from a collector's URL, a compiled plan or a survey file."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from encoders.errors import Reason, SignatureError, SurveyError
from encoders.survey.compiled_plan import AnyPlan, CompiledPlan, PlanT, is_survey_id
from encoders.survey.plan import Plan
from encoders.survey.plan_files import PEOPLE_PLANS, PlanReader, load_signature_file, signature_path
from encoders.survey.signature import read_signature, verify
from ldp_client.collector_response import collector_reason, describe_reason, is_survey_closed
from ldp_client.errors import BAD_OPTION, ExpiredError, OptionError, PlanError, TransportError
from ldp_client.survey_identity import origin_of_url
from ldp_client.transport import HttpTransport, Response, Transport

COLLECTOR, RELAY = "collector", "relay"
_TIMEOUT_SECONDS = 10.0


def load_plan(
    source: str | os.PathLike[str], transport: Transport | None = None, public_key: str | None = None
) -> Plan:
    """Load and check a plan.

    Parameters
    ----------
    source : str or path
        A survey's URL (http://host/v1/surveys/ID), or a file: a survey in TOML, or a compiled plan.
    transport : Transport, optional
    public_key : str, optional
        Accept only a plan that was signed with this key, see `ldp-survey sign`. Needs the extra
        [device-relay].

    Raises
    ------
    SurveyError, PrivacyError, SignatureError
        If the source is not a plan, would spend more than its epsilon, or is not signed with the key.
    TransportError, ExpiredError
        If the collector does not send the plan, or says that the survey is closed.
    """
    return load_any_plan(PEOPLE_PLANS, source, transport, public_key)


def load_any_plan(
    reader: PlanReader[PlanT],
    source: str | os.PathLike[str],
    transport: Transport | None = None,
    public_key: str | None = None,
    server: str = COLLECTOR,
) -> PlanT:
    """Load and check a plan of the reader's kind; see :func:`load_plan`. `server`: COLLECTOR or RELAY."""
    if not is_url(source):
        path = Path(source)
        plan = reader.load(path)
        if public_key is not None:
            signature = load_signature_file(signature_path(path))
            if signature is None:
                raise SignatureError(
                    f"{signature_path(path).name}, the plan's signature, is not beside the plan: run "
                    "`ldp-survey sign`"
                )
            verify(plan.json, signature, public_key)
        return plan
    url, survey = check_survey_url(str(source))
    transport = transport or HttpTransport()
    page = f"{url}/plan" if server == RELAY else url
    data = _fetch(transport, page, f"the plan of {survey!r}", server)
    if public_key is not None:
        what = f"the signature of {survey!r}"
        line = _fetch(transport, f"{url}/signature", what, server, _is_base64)
        verify(data, read_signature(line), public_key)
    plan = reader.from_json(data)
    if plan.id != survey:
        raise SurveyError("the collector sent the plan of another survey: check the URL", "id")
    return plan


def refuse_relay(plan: AnyPlan) -> None:
    """Raise TransportError for a survey with a relay: sent directly, its reports would reveal too much."""
    if isinstance(plan, Plan) and plan.relay:
        raise TransportError(
            f'the survey needs a relay: give the option relay="{origin_of_url(plan.relay.url)}"',
            "relay-unsupported",
        )


def fetch_texts(plan: Plan, url: str, transport: Transport) -> Plan:
    """Return a plan with its texts, fetched from the survey's URL; PlanError if these are other texts."""
    server = RELAY if plan.relay else COLLECTOR
    data = _fetch(transport, f"{url}/texts", "the survey's texts", server)
    try:
        return plan.with_texts(data)
    except SurveyError as error:
        raise PlanError(f"the {server} does not send the texts of the agreed plan: {error.why}") from error


def _is_document(body: bytes) -> bool:
    """Return whether a body is meant as a plan or as texts, valid or not."""
    version = Response(200, body).entry("format")
    return isinstance(version, (int, float)) and not isinstance(version, bool)


def _is_base64(body: bytes) -> bool:
    """Return whether a body is meant as a signature, valid or not."""
    with suppress(ValueError):
        return bool(b64decode(body.strip(), validate=True))
    return False


def _fetch(
    transport: Transport, url: str, what: str, server: str, is_wanted: Callable[[bytes], bool] = _is_document
) -> bytes:
    """Fetch `what`; a body that is not wanted is a fault of the network, such as its sign-in page."""
    unreachable = f"{server}-unreachable"
    try:
        response = transport.request("GET", url, None, _TIMEOUT_SECONDS)
    except TransportError as error:
        if server == RELAY and error.reason == TransportError.reason:
            raise TransportError("no response from the relay", unreachable) from error
        raise
    if is_survey_closed(response):
        raise ExpiredError(f"the {server} has closed the survey")
    if response.entry("reason") == Reason.NO_SIGNATURE:
        raise SignatureError(f"the {server} has no signature of the plan: ask its operator to add one")
    if reason := collector_reason(response):
        raise TransportError(f"the {server} does not send {what}: {describe_reason(reason)}", reason)
    if response.status != 200 or not is_wanted(response.body):
        raise TransportError(
            f"the response with HTTP status {response.status} is not {what}: it may be from a proxy or a "
            "network's sign-in page; try again later, and check the URL",
            unreachable,
        )
    return response.body


def find_survey_url(
    source: str | os.PathLike[str] | AnyPlan, url: str | None, public_key: str | None
) -> tuple[str, str]:
    """Return the URL and the id of the survey that a client is made for; the arguments are the client's.

    Raises TransportError, PlanError or OptionError if there is no URL of a survey, if `public_key` is given
    together with a `Plan` object, or if the plan's file cannot be read.
    """
    if url is None and not is_url(source):
        raise TransportError(
            "give the url of the survey at its collector: https://host/v1/surveys/ID", BAD_OPTION
        )
    if public_key is not None and isinstance(source, CompiledPlan):
        raise PlanError(
            "a Plan object does not contain a signature: give the plan's file, or leave public_key out",
            BAD_OPTION,
        )
    if not isinstance(source, CompiledPlan) and not is_url(source):
        _require_file(source)
    return check_survey_url(str(source) if url is None else url)


def _require_file(file: str | os.PathLike[str]) -> None:
    """Raise OptionError unless a file of the application can be read; it is read when the plan is needed."""
    try:
        with Path(file).open("rb"):
            pass
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise OptionError("survey must be a URL, a Plan, or the path of a file of a plan") from error


def check_survey_url(url: str) -> tuple[str, str]:
    """Return a survey's URL without a final slash, and the id at its end; TransportError for another URL."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except (ValueError, AttributeError):
        good = False
    if not good or parts.query or parts.fragment:
        raise TransportError("a survey's URL looks like https://host/v1/surveys/ID", BAD_OPTION)
    path = parts.path.rstrip("/")
    survey = path.rpartition("/")[2]
    if not is_survey_id(survey) or path.endswith("/v1/surveys"):
        raise TransportError("a survey's URL ends with its id: https://host/v1/surveys/ID", BAD_OPTION)
    return url.rstrip("/"), survey


def is_url(source: object) -> bool:
    return isinstance(source, str) and "://" in source
