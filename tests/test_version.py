"""Every command prints its build; every package has one version, which builds read from `encoders`."""

import importlib
import importlib.metadata

import pytest

from encoders import __version__
from encoders.build import find_build
from tests.support.commands import command
from tools.release import REPEATED, ROOT, find_other_versions

COMMANDS = importlib.metadata.distribution("ldp-bayes").entry_points.select(group="console_scripts")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS.names))
def test_a_command_prints_its_name_and_build(name):
    assert command(name, "--version").stdout == f"{name} {__version__} (commit {find_build().commit})\n"


def test_a_variable_named_version_does_not_stop_the_collector(tmp_path):
    store = f"sqlite:///{tmp_path / 'missing.db'}"
    found = command("ldp-collector", "status", "--store", store, check=False, LDP_COLLECTOR_VERSION="1")
    assert __version__ not in found.stdout
    assert "missing.db" in found.stderr


@pytest.mark.parametrize("package", ["encoders", "reduction", "ldp_client", "ldp_aggregator", "ldp_audit"])
def test_the_version_of_a_package_is_that_of_the_installed_distribution(package):
    assert importlib.import_module(package).__version__ == importlib.metadata.version("ldp-bayes")


def test_all_files_repeat_one_version():
    assert find_other_versions(ROOT, __version__) == []
    assert find_other_versions(ROOT, "9.9.9") == list(REPEATED)
