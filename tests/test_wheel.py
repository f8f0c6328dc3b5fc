"""The wheel of docs/running.md contains all that the packages need; its commands run from it alone."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from encoders.build import COMMIT_FILE, find_build
from tests.support.servers import inherited_environment
from tests.test_layering import MAY_IMPORT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RUN_EVERY_COMMAND = """
import contextlib, io, json, runpy, sys

def run(folder, *words):
    sys.argv = list(words)
    output = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        runpy.run_path(f"{folder}/{words[0]}", run_name="__main__")
    output.flush()
    return output.buffer.getvalue().decode()

folder, *names = sys.argv[1:]
printed = {name: run(folder, name, "--help") for name in names}
printed["build"] = run(folder, "ldp-client", "--version")
printed["survey"] = run(folder, "ldp-survey", "init")
import ldp_aggregator.collector.dashboard.dashboard_page as page, ldp_aggregator.stores.redis
print(json.dumps(printed | {"page": page.__file__}))
"""
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def build_wheel(sources: Path, folder: Path, **variables: str) -> Path:
    pytest.importorskip("hatchling")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    environment = inherited_environment() | variables
    subprocess.run([*PIP, "wheel", *options, str(sources)], env=environment, check=True)
    [built] = folder.glob("ldp_bayes-*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [*PIP, "install", "--no-deps", "--no-index", "--target", str(folder), str(wheel)], check=True
    )
    return folder


def test_links_and_pictures_of_the_description_are_absolute(wheel):
    with ZipFile(wheel) as files:
        [name] = [each for each in files.namelist() if each.endswith("METADATA")]
        description = files.read(name).decode().partition("\n\n")[2]
    links = re.findall(r"\]\(([^)\s]+)\)", description)
    assert len(links) > 30
    assert [each for each in links if not each.startswith(("https://", "#"))] == []
    assert all(each.endswith("?raw=true") for each in links if ".png" in each)


def test_the_wheel_contains_every_file_of_the_packages_and_no_other(wheel):
    files = {
        path.relative_to(ROOT).as_posix()
        for package in MAY_IMPORT
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    contained = set(ZipFile(wheel).namelist())
    assert {name for name in contained if ".dist-info/" not in name} == files | {COMMIT_FILE}
    for needed in (
        "ldp_aggregator/stores/lua/record.lua",
        "ldp_aggregator/collector/dashboard/static/index.html",
        "ldp_design/authoring/example.toml",
        "ldp_design/dossier/templates/dossier.css",
        "ldp_design/dossier/templates/dossier.html",
        "ldp_design/dossier/texts/summary.md",
        "ldp_design/sizing/texts/margins.md",
        "ldp_aggregator/views/templates/page.html",
        "ldp_aggregator/render/style.css",
        *(f"{package}/py.typed" for package in MAY_IMPORT),
    ):
        assert needed in contained


def test_the_image_is_built_from_files_that_give_the_same_wheel(wheel, tmp_path):
    lines = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    patterns = [line.removeprefix("!") for line in lines if line.startswith("!")]
    assert {".git/HEAD", ".git/refs/heads", ".git/packed-refs"} <= set(patterns)
    for path in (path for each in patterns if not each.startswith(".git") for path in ROOT.glob(each)):
        copy = tmp_path / "src" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    built = build_wheel(tmp_path / "src", tmp_path / "wheel", LDP_COMMIT=find_build().commit)
    assert built.read_bytes() == wheel.read_bytes()


def test_the_wheel_declares_the_commands_and_the_extras(wheel):
    with ZipFile(wheel) as archive:
        [scripts] = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
        declared = configparser.ConfigParser()
        declared.read_string(archive.read(scripts).decode())
        metadata = archive.read(scripts.replace("entry_points.txt", "METADATA")).decode()
    assert dict(declared["console_scripts"]) == PROJECT["scripts"]
    extras = {line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Provides-Extra")}
    assert extras == set(PROJECT["optional-dependencies"])


def test_every_command_of_the_wheel_runs_from_it(installed):
    environment = inherited_environment() | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", "-c", RUN_EVERY_COMMAND, str(installed / "bin"), *PROJECT["scripts"]]
    run = subprocess.run(command, env=environment, cwd=installed, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    for name in PROJECT["scripts"]:
        assert printed[name].lower().startswith("usage"), name
    assert printed["build"] == f"ldp-client {find_build()}\n"
    example = ROOT / "ldp_design" / "authoring" / "example.toml"
    assert printed["survey"].encode() == example.read_bytes()
    assert Path(os.path.realpath(printed["page"])).is_relative_to(os.path.realpath(installed))


def test_the_documentation_installs_from_no_index():
    """A first install names a folder or a file; `ldp-bayes[extra]` only adds to what is installed."""
    pages = [(ROOT / page).read_text("utf-8") for page in ("README.md", "docs/running.md")]
    lines = [
        line.strip() for page in pages for line in page.splitlines() if line.strip().startswith("pip install")
    ]
    assert lines[0].split()[2].strip("'").partition("[")[0] == "."
    wheel = next(place for place, line in enumerate(lines) if "dist/ldp_bayes-" in line)
    named = [place for place, line in enumerate(lines) if line.split()[2].strip("'").startswith("ldp-bayes")]
    assert all(place > wheel for place in named)
