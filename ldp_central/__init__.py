"""Training by a trusted curator under differential privacy."""

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

__all__ = ["__version__"]
