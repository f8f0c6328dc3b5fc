"""Every command and every package states one version, which the build reads from `encoders`."""

import importlib
import importlib.metadata
import sys

import pytest
from click.testing import CliRunner

from encoders import __version__
from ldp_aggregator.cli import serve

COMMANDS = importlib.metadata.distribution("ldp-bayes").entry_points.select(group="console_scripts")


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(COMMANDS.names))
def test_a_command_prints_its_name_and_version(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [command, "--version"])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)  # click prints the name of a script
    with pytest.raises(SystemExit) as exit_:
        COMMANDS[command].load()()
    printed = capsys.readouterr()
    assert (exit_.value.code, printed.out) == (0, f"{command} {__version__}\n"), printed.err


def test_a_variable_named_version_does_not_stop_the_collector(tmp_path):
    store = f"sqlite:///{tmp_path / 'missing.db'}"
    runner = CliRunner(env={"LDP_COLLECTOR_VERSION": "1"})
    result = runner.invoke(serve.main, ["status", "--store", store])
    assert __version__ not in result.stdout
    assert "missing.db" in result.stderr


@pytest.mark.parametrize("package", ["encoders", "reduction", "ldp_client", "ldp_aggregator", "ldp_audit"])
def test_the_version_of_a_package_is_that_of_the_installed_distribution(package):
    assert importlib.import_module(package).__version__ == importlib.metadata.version("ldp-bayes")
