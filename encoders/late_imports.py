"""Optional features, imported on first use, and what to install for them; CONTRIBUTING.md has the rule."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from encoders.errors import LdpError

_ANALYST = ("click", "jinja2", "markupsafe", "numpy", "scipy", "sklearn", "threadpoolctl")
_COLLECTOR = (
    *("click", "cryptography", "flask", "gunicorn", "jinja2", "markupsafe", "numpy", "prometheus_client"),
    *("redis", "werkzeug"),
)
MODULES = {
    "device-relay": ("cryptography",),
    "silo": ("cryptography",),
    "relay": ("cryptography", "flask", "gunicorn", "prometheus_client", "werkzeug"),
    "collector": _COLLECTOR,
    "analyst": _ANALYST,
    "curator": _ANALYST,
    "audit": (*_ANALYST, "cryptography"),
    "author": (*_ANALYST, *_COLLECTOR, "openpyxl", "pyxform", "segno", "tomlkit"),
    "plot": ("matplotlib",),
    "pandas": ("pandas",),
    "onnx": ("onnx",),
    "dask": ("distributed", "numpy"),
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

    Any other failed import is raised unchanged. The message begins with `feature`, and names `extra` or, if
    it lacks the missing module, the extra that has it; `error_type` makes the error from the message.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        named = extra and next((each for each in (extra, *MODULES) if package in MODULES[each]), "")
        if not named or sys.modules.get(package):  # an installed package that lacks a part of it
            raise
        message = f"{feature} needs the extra [{named}]: pip install 'ldp-bayes[{named}]'"
        raise error_type(message) from error


@dataclass(frozen=True)
class LateImport:
    """A module, or an attribute of one, imported on first use; for the parameters see :func:`needs_extra`."""

    target: str
    extra: str = ""
    feature: str = ""
    error_type: Callable[[str], LdpError] = MissingExtraError

    def load(self) -> Any:
        module, _, attribute = self.target.partition(":")
        with needs_extra(self.extra, self.feature, self.error_type):
            loaded = import_module(module)
            return getattr(loaded, attribute) if attribute else loaded


class LateModule:
    """Imports a module when the first of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        module = import_module(self._name)
        vars(self).update(vars(module))  # the next use finds an attribute without __getattr__
        return getattr(module, attribute)


def late_names(package: str, modules: Mapping[str, str], extra: str = "") -> tuple[Callable[..., Any], ...]:
    """Return `__getattr__` and `__dir__` of a package: its names are imported from `modules` on first use."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return LateImport(f"{package}.{modules[name]}:{name}", extra, f"{package}.{name}").load()

    return load, lambda: sorted({*vars(sys.modules[package]), *modules})
