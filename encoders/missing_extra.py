"""What to install if a module of an extra is missing: the base install has only msgpack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from encoders.errors import LdpError

MODULES = {
    "train": ("click", "jinja2", "markupsafe", "numpy", "scipy", "sklearn", "threadpoolctl", "tomlkit"),
    "central": ("click", "numpy", "sklearn"),
    "collector": (
        *("click", "flask", "gunicorn", "jinja2", "markupsafe", "numpy", "prometheus_client"),
        *("redis", "werkzeug"),
    ),
    "audit": ("click", "jinja2", "markupsafe", "numpy", "scipy"),
    "plot": ("matplotlib",),
    "dask": ("distributed", "numpy"),
    "onnx": ("onnx",),
    "pandas": ("pandas",),
    "signed": ("cryptography",),
    "relay": ("cryptography",),
    "relay-server": ("cryptography", "flask", "gunicorn", "werkzeug"),
    "page": ("segno",),
    "xlsform": ("openpyxl", "pyxform"),
}
"""The modules that the packages import from each extra of pyproject.toml."""


class MissingExtraError(LdpError, ImportError):
    """A module of an extra is not installed; the message names the extra and the command to install it."""

    reason = "missing-extra"


@contextmanager
def needs_extra(
    extra: str, feature: str, error_type: Callable[[str], LdpError] = MissingExtraError
) -> Iterator[None]:
    """Return a context that raises an error with the name of the extra if one of its modules is missing.

    Any other failed import is raised unchanged: it is a bug, or a damaged installation.

    Parameters
    ----------
    extra : str
        The extra to name. If it does not contain the missing module, the extra that does is named.
    feature : str
        What needs the extra; the message begins with it.
    error_type : callable
        Makes the error from its message.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        named = next((each for each in (extra, *MODULES) if package in MODULES[each]), None)
        if named is None or sys.modules.get(package):  # an installed package that lacks a part of it
            raise
        message = f"{feature} needs the extra [{named}]: pip install 'ldp-bayes[{named}]'"
        raise error_type(message) from error
