"""The public names of the packages: other programs import them, so they stay."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.surface import list_public_names, public_modules, read_section

ROOT = Path(__file__).resolve().parents[1]
OURS = re.compile(r"(encoders|reduction|ldp_\w+)(\.|$)")

MODULES = sorted(each for each in public_modules() if hasattr(importlib.import_module(each), "__all__"))


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_listed_once_and_resolve(name):
    module = importlib.import_module(name)
    assert public_modules()[name] <= set(module.__all__)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        assert getattr(module, public) is not None
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("name", MODULES)
def test_public_classes_and_functions_have_a_docstring(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert value.__doc__, public
            assert not value.__doc__.startswith(f"{public}("), public  # that of a dataclass


@pytest.mark.parametrize("name", ["ldp_client", "ldp_aggregator", "ldp_design"])
def test_the_names_that_load_on_first_use_are_those_that_they_are_listed_by(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        assert getattr(getattr(module, public), "__name__", public) == public


@pytest.mark.parametrize("name", ["ldp_client", "ldp_aggregator", "ldp_design"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        importlib.import_module(name).no_such_name  # noqa: B018


def read_names(heading: str) -> list[str]:
    """Return the commands and npm modules that docs/formats.md names below a heading."""
    return sorted(re.findall(r"`(ldp-[\w/-]+)`", read_section(heading)))


def imports_on_pages() -> Iterator[tuple[str, str, list[str]]]:
    """Yield page, module and names of the imports of our packages that the documentation shows."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for code in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and OURS.match(node.module or ""):
                    yield page.name, node.module or "", [each.name for each in node.names]
                elif isinstance(node, ast.Import):
                    yield from ((page.name, each.name, []) for each in node.names if OURS.match(each.name))


def test_the_page_lists_the_public_modules_and_their_names():
    listed = public_modules()
    for module, names in listed.items():
        assert names <= list_public_names(module), module
        assert all(hasattr(importlib.import_module(module), name) for name in names), module


def test_pages_import_public_names_only():
    shown = list(imports_on_pages())
    assert len(shown) > 5
    for page, module, names in shown:
        assert module in public_modules(), f"{page} imports the internal module {module}"
        assert set(names) <= list_public_names(module), f"{page} imports internal names of {module}"


def test_the_page_lists_every_command_and_every_entry_of_the_npm_package():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    entries = json.loads((ROOT / "clients" / "javascript" / "package.json").read_text("utf-8"))["exports"]
    assert read_names("Commands") == sorted(scripts)
    modules = sorted(f"ldp-bayes{entry[1:]}" for entry in entries)
    assert read_names("JavaScript modules") == modules


UNWANTED_MODULES = {
    "ldp_client": {"sqlite3", "http.client", "ssl", "numpy", "tomllib", "asyncio", "importlib.metadata"},
    "ldp_aggregator.estimation": {"sklearn", "scipy"},
    **{
        f"{module}": {"sklearn", "scipy", "pandas", "matplotlib"}
        for module in (
            *(f"ldp_aggregator.cli.{command}" for command in ("predict", "results", "train")),
            *(f"ldp_design.cli.{command}" for command in ("compare", "simulate", "survey")),
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNWANTED_MODULES)
def test_importing_a_package_loads_no_more_than_it_needs(name):
    # a client reports without a database, network or numbers until it is used; a collector estimates
    # without scikit-learn, and a command of which only some options need it starts without it
    code = f"import sys, {name}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not UNWANTED_MODULES[name] & set(run.stdout.split())
