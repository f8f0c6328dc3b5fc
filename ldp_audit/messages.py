"""Many messages of one person, as an eavesdropper sees them: bytes and lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from encoders.errors import LdpError, Reason
from encoders.survey.compiled_plan import is_survey_id
from ldp_client import HttpTransport, TransportError

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Messages:
    """Messages as one array."""

    data: NDArray[np.uint8]
    """One message per row, followed by zeros. Shape (n, longest)."""
    lengths: NDArray[np.int64]
    """Shape (n,)."""

    @classmethod
    def from_bytes(cls, messages: Sequence[bytes]) -> Messages:
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        width = int(lengths.max(initial=0))
        joined = b"".join(each.ljust(width, b"\0") for each in messages)
        return cls(np.frombuffer(joined, np.uint8).reshape(len(messages), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def slice(self, start: int, end: int) -> Messages:
        return Messages(self.data[start:end], self.lengths[start:end])

    def pad(self, width: int) -> Messages:
        """Return the messages as an array of at least `width` columns; added columns are zero."""
        more = max(0, width - self.data.shape[1])
        return Messages(np.pad(self.data, ((0, 0), (0, more))), self.lengths) if more else self

    def first(self, count: int) -> list[bytes]:
        pairs = zip(self.data[:count], self.lengths[:count], strict=True)
        return [row.tobytes()[:length] for row, length in pairs]


MessagesByPerson = dict[str, Messages]


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
