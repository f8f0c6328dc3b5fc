"""How a client informs its application: receipts for errors, a callback, a warning."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import count
from typing import Any, TypeVar, cast

from ldp_client.receipt import Receipt

REPEATS_BEFORE_WARNING = 10

log = logging.getLogger("ldp_client")
_repeat_numbers = count(1)
"""Numbers the `already_reported` receipts of this process; no row is kept to compare."""

Method = TypeVar("Method", bound=Callable[..., Receipt])


def return_errors(method: Method) -> Method:
    """Return an error of a client's method as a receipt, unless the client is strict.

    A survey must never stop the application that embeds it.
    """

    @wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Receipt:
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            if self._strict:
                raise
            return Receipt.from_error(error, self.survey)

    return cast(Method, call)


def warn_of_repeats() -> None:
    """Log once per process that several people may share one journal."""
    if next(_repeat_numbers) == REPEATS_BEFORE_WARNING:
        log.warning(
            "%d reports of this process were already_reported: if several people answer here, they share one "
            "journal and only the first answer counts, so make one client per person with person=ID",
            REPEATS_BEFORE_WARNING,
        )


def call_back(on_outcome: Callable[[Receipt], object], receipt: Receipt) -> None:
    """Call the application with a receipt, without `clipped`, which is for the caller of `report` alone."""
    try:
        on_outcome(replace(receipt, clipped=()))
    except Exception as error:  # only its type: its text, or its cause, may quote the row
        log.error("on_outcome failed: %s", type(error).__name__)
