"""The exception of this package."""

from __future__ import annotations

from encoders.errors import LdpError


class FitError(LdpError):
    """Rows from which no projection can be fitted; the message names the column, never a value."""
