"""Detects that another package named "encoders" was installed over this one.

PyPI has such a package. pip replaces `encoders/__init__.py` without a warning, and every other module stays.
"""

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
