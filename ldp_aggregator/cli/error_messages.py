"""Prints the errors of a command as one line, without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from encoders.errors import LdpError


@contextmanager
def print_errors() -> Iterator[None]:
    """Return a context that turns the errors of a command into messages of click.

    A closed pipe is no error: with `ldp-train ... | head` click exits without a message.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except (LdpError, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from error
