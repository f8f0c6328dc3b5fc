"""Errors of the collector's configuration; errors over HTTP are in encoders/problem.py."""

from __future__ import annotations

from encoders.errors import LdpError


class SettingsError(LdpError):
    """A setting of the collector that is invalid; the message names it."""
