"""Detects that PyPI's other package "encoders" was installed over this one; pip does it without a warning."""

from __future__ import annotations

import encoders


class InstallationError(ImportError):
    """A part of ldp-bayes was replaced or deleted by another package."""


def require_own_encoders() -> None:
    """Raise InstallationError unless `encoders` is the package of this project."""
    if getattr(encoders, "PROJECT", None) != "ldp-bayes":
        raise InstallationError(
            "another package named 'encoders' was installed over a part of ldp-bayes: run `pip uninstall "
            "encoders`, then install ldp-bayes again with the option --force-reinstall"
        )
