"""The logger `ldp_client`: at level DEBUG it shows what happens to a report, and nothing of its content.

Messages contain states, reasons, times, types of errors, and of a survey its id and its collector's origin.
They never contain a value, a field's name, a report or its id, a token, a person's id, or a path: a path of a
URL may be a secret too. Nothing is printed unless the application configures logging.
"""

from __future__ import annotations

import logging
import re
import sys
from contextlib import suppress
from typing import Any

from ldp_client.survey_identity import SurveyIdentity


class _Log(logging.LoggerAdapter[logging.Logger]):
    """A logger of which no error of the application's handlers stops a report."""

    def log(self, *arguments: Any, **named: Any) -> None:
        with suppress(Exception):
            super().log(*arguments, **named)


log = _Log(logging.getLogger("ldp_client"))
log.logger.addHandler(logging.NullHandler())


def log_report(survey: SurveyIdentity, message: str) -> None:
    """Log at level DEBUG what happens to a survey's report."""
    if is_debugging():
        log_debug(f"{survey.survey} at {survey.origin}: {message}")


def log_debug(message: str) -> None:
    log.debug("%s", message)


def describe_error(error: BaseException) -> str:
    """Return the name of the type of an error or of its cause: its text may contain anything.

    For an error of TLS, OpenSSL's word for the cause is added.
    """
    error = error.__cause__ or error
    name, ssl = type(error).__name__, sys.modules.get("ssl")  # without the module there is no error of TLS
    tls_error = getattr(ssl, "SSLError", None)  # another thread may just be importing the module
    if tls_error is None or not isinstance(error, tls_error):
        return name
    message = getattr(error, "verify_message", "").partition(",")[0]  # a host's name may follow
    cause = message or str(error.reason).replace("_", " ").lower()
    return f"{name} ({cause})" if re.fullmatch("[A-Za-z0-9 ()-]+", cause) else name


def is_debugging() -> bool:
    """Return whether messages of level DEBUG are logged."""
    return log.isEnabledFor(logging.DEBUG)
