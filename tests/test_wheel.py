"""The wheel that README builds holds all that the packages need, and its commands run from it alone."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.servers import inherited_environment
from tests.test_layering import MAY_IMPORT

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*PIP, "wheel", *options, str(ROOT)], check=True)
    [built] = folder.glob("ldp_bayes-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [*PIP, "install", "--no-deps", "--no-index", "--target", str(folder), str(wheel)], check=True
    )
    return folder


def run(installed: Path, *command: str) -> str:
    """Run a command of the installed wheel, outside the folder of its sources."""
    environment = inherited_environment() | {"PYTHONPATH": str(installed)}
    program, *arguments = command
    words = [sys.executable, "-P", str(installed / "bin" / program), *arguments]
    result = subprocess.run(
        words, env=environment, cwd=installed, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    files = {
        path.relative_to(ROOT).as_posix()
        for package in MAY_IMPORT
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    held = set(ZipFile(wheel).namelist())
    assert {name for name in held if ".dist-info/" not in name} == files
    for needed in (
        "ldp_aggregator/stores/lua/record.lua",
        "ldp_aggregator/collector/dashboard/static/index.html",
        "ldp_aggregator/collector/dashboard/static/vendor/chart.umd.min.js",
        "ldp_aggregator/authoring/example.toml",
        *(f"{package}/py.typed" for package in MAY_IMPORT),
    ):
        assert needed in held


def test_the_wheel_declares_the_commands_and_the_extras(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        [scripts] = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
        declared = configparser.ConfigParser()
        declared.read_string(archive.read(scripts).decode())
        metadata = archive.read(scripts.replace("entry_points.txt", "METADATA")).decode()
    assert dict(declared["console_scripts"]) == PROJECT["scripts"]
    extras = {line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Provides-Extra")}
    assert extras == set(PROJECT["optional-dependencies"])


def test_every_command_of_the_wheel_runs_from_it(installed: Path) -> None:
    for name in PROJECT["scripts"]:
        assert run(installed, name, "--help").lower().startswith("usage")
    survey = run(installed, "ldp-survey", "init")
    assert survey.encode() == (ROOT / "ldp_aggregator" / "authoring" / "example.toml").read_bytes()
    modules = "ldp_aggregator.stores.redis, ldp_aggregator.collector.dashboard.page as page"
    code = f"import {modules}; print(page.__file__)"
    environment = inherited_environment() | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", "-c", code]
    loaded = subprocess.run(
        command, env=environment, cwd=installed, capture_output=True, text=True, check=True
    )
    assert Path(os.path.realpath(loaded.stdout.strip())).is_relative_to(os.path.realpath(installed))


def test_the_documentation_installs_from_no_index() -> None:
    """A first install names a folder or a file; `ldp-bayes[extra]` only adds to what is installed."""
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = [line.strip() for line in readme.splitlines() if line.strip().startswith("pip install")]
    assert lines[0].split()[2] == "."
    wheel = next(place for place, line in enumerate(lines) if "dist/ldp_bayes-" in line)
    named = [place for place, line in enumerate(lines) if line.split()[2].strip("'").startswith("ldp-bayes")]
    assert named
    assert min(named) > wheel
