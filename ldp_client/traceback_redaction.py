"""Removes a person's answer from tracebacks: crash reporters record the local variables of frames."""

from __future__ import annotations

from contextlib import suppress
from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])
_NOTE_PREFIX = "lines of the dropped traceback: "


def redact_traceback(function: Function) -> Function:
    """Decorate a function of a row and a label: no frame of an error that it raises contains row or label.

    The error keeps its type, message and attributes, and loses its traceback, cause and context. An error
    that is not an LdpError gets a note with the line numbers of the traceback instead.
    """

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except BaseException as error:
            failure = redact(error)
        del arguments, named  # the new traceback begins with this frame
        try:
            raise failure
        finally:
            del failure  # else the error and this frame refer to each other

    return call  # type: ignore[return-value]


def redact(error: BaseException) -> BaseException:
    """Remove an error's traceback, cause and context; see :func:`redact_traceback`."""
    walked = error.__traceback__
    error.__traceback__ = error.__cause__ = error.__context__ = None
    with suppress(Exception):  # the error's class is a stranger's
        from traceback import walk_tb  # late: importing ldp_client loads this module

        from encoders.errors import LdpError

        noted = any(note.startswith(_NOTE_PREFIX) for note in getattr(error, "__notes__", ()))
        if isinstance(error, Exception) and not isinstance(error, LdpError) and not noted:
            lines = [f"{frame.f_code.co_filename}:{line}" for frame, line in walk_tb(walked)]
            error.add_note(_NOTE_PREFIX + " > ".join(lines))
    return error
