"""The entry points of the commands; `python -m ldp_bayes` counts a first report on this machine.

Other packages are named `encoders` too, one of them on PyPI, and Python imports the first on its path. An
entry point therefore checks where `encoders` is before it imports from it. For one that was installed over
ours, see :mod:`encoders.installation`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def require_first_encoders() -> None:
    """End the process with a message if Python finds another package named `encoders` first."""
    spec = find_spec("encoders")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if os.path.join(os.path.dirname(os.path.dirname(__file__)), "encoders") not in folders:
        found = (spec and spec.origin) or "".join(folders[:1])
        sys.exit(
            f"Error: another package named 'encoders' hides a part of ldp-bayes: {found}. Rename it, take "
            "its folder off PYTHONPATH, or install ldp-bayes in a separate virtual environment"
        )


def __getattr__(name: str) -> Any:
    if not name.startswith("ldp_"):
        raise AttributeError(f"module 'ldp_bayes' has no attribute {name!r}")
    require_first_encoders()
    return getattr(import_module("encoders.extras"), name)
