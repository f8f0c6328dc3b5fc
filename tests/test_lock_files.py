"""The lock files fit pyproject.toml: they have each dependency, in a version that it allows, with hashes."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("packaging")

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("3.11", "3.12", "3.13")
LOCKS = ("deploy/requirements.lock", "deploy/build.lock", ".ci/requirements.lock")


def required(extra: str) -> Iterator[Requirement]:
    """Yield the requirements of the base install and of an extra, and those of the extras that it names."""
    project = PYPROJECT["project"]
    for line in (*project["dependencies"], *project["optional-dependencies"][extra]):
        requirement = Requirement(line)
        if requirement.name == project["name"]:
            for each in requirement.extras:
                yield from required(each)
        else:
            yield requirement


def requirements(lock: str) -> list[Requirement]:
    if lock == "deploy/build.lock":
        return [Requirement(line) for line in PYPROJECT["build-system"]["requires"]]
    extras = ("collector",) if lock.startswith("deploy") else ("dev",)
    return [each for extra in extras for each in required(extra)]


def entries(lock: str) -> list[str]:
    """Return the entries of a lock file, each with its hashes on one line."""
    text = (ROOT / lock).read_text("utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def locked(lock: str) -> list[Requirement]:
    return [Requirement(entry.partition(" --hash=")[0]) for entry in entries(lock)]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_locked_once_for_each_python_in_a_version_that_the_project_allows(lock):
    for python in PYTHONS:
        environment = {
            **default_environment(),
            "python_version": python,
            "python_full_version": f"{python}.9",
        }
        versions: dict[str, list[str]] = {}
        for each in locked(lock):
            if each.marker is None or each.marker.evaluate(environment):
                [pin] = each.specifier
                assert pin.operator == "=="
                versions.setdefault(canonicalize_name(each.name), []).append(pin.version)
        for requirement in requirements(lock):
            [version] = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), f"{requirement}: run make lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_has_hashes_and_names_no_other_index(lock):
    for entry in entries(lock):
        assert re.fullmatch(r"[a-z0-9.-]+==\S+( ;.*?)?( +--hash=sha256:[0-9a-f]{64})+", entry), entry[:80]


def test_the_lock_files_agree_on_versions():
    # without markers: more dependants need a package on more platforms
    pins = [{f"{each.name}{each.specifier}" for each in locked(lock)} for lock in LOCKS]
    assert pins[0] | pins[1] <= pins[2]


def test_the_image_is_installed_from_lock_files_alone():
    build, image = (ROOT / "deploy/Dockerfile").read_text("utf-8").split("\nFROM ")[1:]
    assert build.count("--require-hashes") == 2
    assert "--no-build-isolation" in build
    assert "--no-index" in image
