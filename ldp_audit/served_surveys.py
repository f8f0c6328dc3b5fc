"""Lists the surveys that a collector serves, if it does not serve the survey of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from encoders.errors import LdpError, Reason
from encoders.survey.compiled_plan import is_survey_id
from ldp_client import HttpTransport, TransportError

_PATH = "/v1/surveys"
_TIMEOUT_SECONDS = 10.0
_MAX_LISTED = 20


def describe_served_surveys(url: str, error: LdpError) -> str:
    """Return the surveys of the collector of `url`, if `error` is that it does not serve this one."""
    if not isinstance(error, TransportError) or error.reason not in (
        Reason.UNKNOWN_SURVEY,
        Reason.NO_SUCH_PAGE,
    ):
        return ""
    list_url = _list_url(url)
    try:
        response = HttpTransport().request("GET", list_url, None, _TIMEOUT_SECONDS)
    except TransportError:
        return ""
    ids = list(_survey_ids(response.entry("surveys")))
    if response.status != 200 or not ids:
        return ""
    more = f" and {len(ids) - _MAX_LISTED} more" if len(ids) > _MAX_LISTED else ""
    return f"; {list_url} lists: {', '.join(ids[:_MAX_LISTED])}{more}"


def _list_url(url: str) -> str:
    """Return the URL of the list of surveys of the collector that serves `url`."""
    base, separator, _ = url.rpartition(f"{_PATH}/")
    if separator:
        return base + _PATH
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{_PATH}"


def _survey_ids(entries: object) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else []:
        identifier = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(identifier, str) and is_survey_id(identifier):
            yield identifier
