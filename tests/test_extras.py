"""Without its extra, a command or an option ends in one line that names the extra, never in a traceback."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from encoders.late_imports import MODULES, MissingExtraError, needs_extra
from tests.support.servers import inherited_environment
from tests.support.surveys import survey_toml
from tests.test_layering import MAY_IMPORT, every_import, modules_of, top

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCRIPTS: dict[str, str] = PROJECT["scripts"]
"""The entry point of each command, of this source and not of an older installation; see test_wheel.py too."""

EXTRA_OF = {
    "ldp-audit": "audit",
    "ldp-central": "curator",
    "ldp-collector": "collector",
    "ldp-compare": "author",
    "ldp-predict": "analyst",
    "ldp-relay": "relay",
    "ldp-results": "analyst",
    "ldp-simulate": "author",
    "ldp-survey": "author",
    "ldp-train": "analyst",
}
PACKAGE_EXTRAS = {"ldp_aggregator": "analyst", "ldp_design": "author"}
WITHOUT = """
import importlib.metadata, sys
missing = set(sys.argv.pop(1).split(","))
class Finder:
    def find_spec(name, path=None, target=None):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder)
"""
COMMAND = (
    WITHOUT
    + """
target, sys.argv = sys.argv[1], sys.argv[2:]
importlib.metadata.EntryPoint(sys.argv[0], target, "console_scripts").load()()
"""
)
OPERATOR_PAGES = (
    WITHOUT
    + """
from encoders.survey import read_survey
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore
store, plan = MemoryStore(), read_survey(sys.argv[1]).compile()
store.publish(plan.id, plan.json)
web = create_app(CollectorSettings(operator_token="the-token"), store).test_client()
for page in ("progress", "progress.html", "estimates", "estimates.csv"):
    path = f"/v1/surveys/{plan.id}/{page}"
    print(web.get(path, headers={"Authorization": "Bearer the-token"}).status_code)
"""
)
EVERY = {module for modules in MODULES.values() for module in modules}


def run(code: str, missing: set[str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process that cannot import some modules, as if they were not installed."""
    command = [sys.executable, "-c", code, ",".join(missing), *map(str, arguments)]
    environment = inherited_environment()
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def run_command(missing: set[str], command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as its script does, in a process that cannot import some modules."""
    return run(COMMAND, missing, SCRIPTS[command], command, *arguments)


@pytest.mark.parametrize("command", EXTRA_OF)
def test_a_command_without_its_extra_names_it_in_one_line(command):
    extra = EXTRA_OF[command]
    line = f"{command} needs the extra [{extra}]: pip install 'ldp-bayes[{extra}]'\n"
    for missing in (EVERY, {*MODULES[extra]} - {"click", "numpy"}):  # the base install; another extra alone
        found = run_command(missing, command, "status")
        assert (found.returncode, found.stdout, found.stderr) == (1, "", line)
        for arguments in (["-h"], ["--help"], ["status", "-h"]):
            found = run_command(missing, command, *arguments)
            assert (found.returncode, found.stderr) == (0, "")
            purpose, empty, needs, then = found.stdout.splitlines()
            assert re.match(rf"{command}: [a-z].*\.$", purpose)
            assert (empty, f"{needs}\n", then) == ("", line, f"Then {command} -h shows all options.")


@pytest.mark.parametrize("command", ["ldp-client", "ldp-silo"])
def test_the_commands_of_the_client_need_no_extra(command):
    for option in ("-h", "--help"):
        found = run_command(EVERY, command, option)
        assert (found.returncode, found.stderr) == (0, "")
        assert "Commands:" in found.stdout


def test_a_command_names_another_extra_that_one_of_its_sources_needs():
    found = run_command({"redis"}, "ldp-train", "redis://127.0.0.1:9/0", "-o", "model.json")
    assert found.stderr == "ldp-train needs the extra [collector]: pip install 'ldp-bayes[collector]'\n"
    assert found.returncode == 1


def test_the_pages_of_the_operator_need_the_extra_of_the_collector_alone():
    found = run(OPERATOR_PAGES, EVERY - {*MODULES["collector"]}, survey_toml())
    assert (found.stdout.split(), found.stderr) == (["200"] * 4, "")


def test_the_conversion_of_an_xlsform_names_its_extra(tmp_path):
    (tmp_path / "form.xlsx").touch()
    found = run_command({"pyxform"}, "ldp-survey", "init", "--from", tmp_path / "form.xlsx")
    assert found.stderr == "ldp-survey needs the extra [author]: pip install 'ldp-bayes[author]'\n"
    assert found.returncode == 1


@pytest.mark.parametrize(
    ("package", "name"),
    [("ldp_aggregator", "to_sklearn"), ("ldp_aggregator", "load_model"), ("ldp_design", "simulate")],
)
def test_a_public_name_without_its_extra_names_it(package, name):
    found, extra = run(WITHOUT + f"from {package} import {name}", EVERY), PACKAGE_EXTRAS[package]
    assert f"{package}.{name} needs the extra [{extra}]: pip install 'ldp-bayes[{extra}]'" in found.stderr


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("ldp_audit", "ldp-audit", "audit"),
        ("ldp_aggregator.collector", "ldp_aggregator.collector", "collector"),
    ],
)
def test_a_public_module_without_its_extra_names_it(module, name, extra):
    assert f"{name} needs the extra [{extra}]" in run(WITHOUT + f"import {module}", EVERY).stderr


def test_other_import_errors_are_not_hidden(monkeypatch):
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), needs_extra("analyst", "training"):
        import no_such_module  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="no_such_part"), needs_extra("analyst", "training"):
        import sklearn.no_such_part  # noqa: F401
    with pytest.raises(ImportError, match="no_such_name"), needs_extra("analyst", "training"):
        from numpy import no_such_name  # noqa: F401
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # importing it now fails
    with (
        pytest.raises(MissingExtraError, match=r"^it needs the extra \[plot\]"),
        needs_extra("analyst", "it"),
    ):
        import matplotlib  # noqa: F401


@pytest.mark.parametrize("script", ["", "__version__ = '9'"], ids=["empty", "another"])
def test_a_command_says_that_another_package_replaced_encoders(tmp_path, script):
    for package in MAY_IMPORT:
        (tmp_path / package).symlink_to(ROOT / package)
    (tmp_path / "encoders").unlink()
    shutil.copytree(ROOT / "encoders", tmp_path / "encoders")
    (tmp_path / "encoders" / "__init__.py").write_text(script)
    why = "another package named 'encoders' was installed over a part of ldp-bayes: run `pip uninstall"
    for command, target in SCRIPTS.items():
        found = run_here(COMMAND, tmp_path, "-", target, command, "--help")
        assert (found.returncode, found.stdout) == (1, ""), command
        assert found.stderr.startswith(why)
        assert found.stderr.count("\n") == 1
    for package in (
        "ldp_client",
        "ldp_silo",
        "ldp_relay",
        "ldp_aggregator",
        "ldp_central",
        "ldp_design",
        "ldp_audit",
    ):
        assert f"InstallationError: {why}" in run_here(f"import {package}", tmp_path).stderr


@pytest.mark.parametrize("command", [*SCRIPTS, "python -m ldp_bayes"])
def test_a_command_names_another_package_that_hides_encoders(tmp_path, command):
    (tmp_path / "encoders").mkdir()
    other = tmp_path / "encoders" / "__init__.py"
    other.write_text("raise AssertionError('was run')")
    path = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    code = COMMAND if command in SCRIPTS else "import runpy; runpy.run_module('ldp_bayes')"
    words = [sys.executable, "-P", "-c", code, "-", SCRIPTS.get(command, ""), command, "--help"]
    environment = inherited_environment() | path
    found = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    why = f"Error: another package named 'encoders' hides a part of ldp-bayes: {other}. Rename it, "
    assert found.stderr.startswith(why)
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "package", sorted({*MAY_IMPORT} - {"encoders", "reduction", "ldp_silo", "ldp_bayes"})
)
def test_the_traceback_of_an_import_names_another_package_that_hides_encoders(tmp_path, package):
    (tmp_path / "encoders.py").touch()
    code = f"import sys; sys.path[:0] = {[str(tmp_path), str(ROOT)]}; import {package}"
    found = run_here(code, tmp_path)
    assert found.returncode == 1
    assert "# fails if another package 'encoders' hides ours" in found.stderr


def run_here(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code with the packages of a folder."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=inherited_environment() | {"PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_of_the_package_is_known_here():
    assert SCRIPTS.keys() == {*EXTRA_OF, "ldp-client", "ldp-silo"}


def required_by(extra: str) -> set[str]:
    """Return the names of the distributions that an extra installs, also by the extras that it names."""
    names: set[str] = set()
    for line in PROJECT["optional-dependencies"][extra]:
        name, *others = re.split(r"[^\w.-]", line)
        names |= {each for other in others if other in MODULES for each in required_by(other)} or {name}
    return names


def test_the_modules_of_each_extra_are_those_that_the_packages_import():
    homes = importlib.metadata.packages_distributions()
    for extra, modules in MODULES.items():
        required = {name.replace("_", "-").lower() for name in required_by(extra)}
        installed = {homes[module][0].replace("_", "-").lower() for module in modules if module in homes}
        assert installed - {"werkzeug"} == required, extra  # which Flask brings
    used = {top(name) for path in modules_of(*MAY_IMPORT) for name, _ in every_import(path)}
    known = sys.stdlib_module_names | MAY_IMPORT.keys() | {"msgpack", "pytest"}
    assert used - known <= EVERY
