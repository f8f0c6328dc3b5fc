"""Entry points of the commands; if a module of an extra is missing, the message says which extra to install.

The base install has only the standard library and msgpack. The commands start here, because this module can
be imported without any extra.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from encoders.errors import LdpError
from encoders.installation import InstallationError

MODULES = {
    "train": ("click", "jinja2", "markupsafe", "numpy", "scipy", "sklearn", "threadpoolctl"),
    "central": ("click", "numpy", "sklearn"),
    "collector": ("click", "flask", "gunicorn", "numpy", "prometheus_client", "redis", "werkzeug"),
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


def _require_modules(extra: str) -> None:
    """Raise ModuleNotFoundError if a module of an extra is not installed, without importing any."""
    for module in MODULES[extra]:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def _command(name: str, module: str, extra: str) -> Callable[[], None]:
    """Return the entry point of a command: it runs `main` of a module that needs an extra."""

    def run() -> None:
        from encoders.command_output import EXPECTED_ERRORS, describe_error, safe_output  # late

        with safe_output():
            try:
                with needs_extra(extra, name):
                    if extra in ("train", "central", "relay-server"):  # their commands import modules late
                        _require_modules(extra)
                    import_module(module).main()
            except MissingExtraError as error:
                if not {"-h", "--help"} & set(sys.argv):
                    sys.exit(str(error))
                sys.stdout.write(f"{_read_purpose(module)}\n\n{error}\nThen {name} -h shows all options.\n")
            except InstallationError as error:
                sys.exit(str(error))
            except EXPECTED_ERRORS as error:
                sys.exit(f"Error: {describe_error(error)}")

    return run


def _read_purpose(module: str) -> str:
    """Return the first line of a module's docstring, without importing the module."""
    import ast

    path = Path(__file__).parents[1].joinpath(*module.split("."))
    docstring = ast.get_docstring(ast.parse(path.with_suffix(".py").read_text("utf-8")))
    return (docstring or "").partition("\n")[0]


ldp_audit = _command("ldp-audit", "ldp_audit.cli", "audit")
ldp_central = _command("ldp-central", "ldp_aggregator.cli.central", "central")
ldp_client = _command("ldp-client", "ldp_client.cli", "signed")
ldp_collector = _command("ldp-collector", "ldp_aggregator.cli.serve", "collector")
ldp_compare = _command("ldp-compare", "ldp_design.cli.compare", "train")
ldp_predict = _command("ldp-predict", "ldp_aggregator.cli.predict", "train")
ldp_relay = _command("ldp-relay", "ldp_relay.cli", "relay-server")
ldp_results = _command("ldp-results", "ldp_aggregator.cli.results", "train")
ldp_silo = _command("ldp-silo", "ldp_silo.cli", "signed")
ldp_simulate = _command("ldp-simulate", "ldp_design.cli.simulate", "train")
ldp_survey = _command("ldp-survey", "ldp_design.cli.survey", "train")
ldp_train = _command("ldp-train", "ldp_aggregator.cli.train", "train")
