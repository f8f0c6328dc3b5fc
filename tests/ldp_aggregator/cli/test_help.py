"""The help of the commands."""

import importlib

import click
import pytest
from click.testing import CliRunner

from tests.support.commands import module_of


@pytest.mark.parametrize("module", ["serve", "survey", "tokens"])
def test_the_list_of_commands_describes_each_by_a_whole_sentence(module):
    imported = importlib.import_module(module_of(module))
    group: click.Group = imported.tokens if module == "tokens" else imported.main
    shown = CliRunner().invoke(group, ["--help"], terminal_width=80).output
    lines = shown.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == sorted(group.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)
