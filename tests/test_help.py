"""The help of all commands: its frame, its words, and examples that the commands accept."""

import argparse
import re
import shlex
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

import ldp_client.cli
import ldp_relay.cli
import ldp_silo.cli
from tests.support.commands import command, module_of

_AUDITS = import_module("ldp_audit.cli")
_CLICK = {
    "ldp-audit": _AUDITS.main,
    "ldp-collector": import_module(module_of("serve")).main,
    **{
        f"ldp-{name}": import_module(module_of(name)).main
        for name in ("central", "compare", "predict", "results", "simulate", "survey", "train")
    },
}
_ARGPARSE = {
    f"ldp-{each.__name__[4:-4]}": each._parser() for each in (ldp_client.cli, ldp_relay.cli, ldp_silo.cli)
}


def list_click_commands(name: str, found: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, found
    commands = _AUDITS._AUDITS if found is _AUDITS.main else getattr(found, "commands", {})
    for each in commands:
        yield from list_click_commands(f"{name} {each}", commands[each])


def list_parsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        for each, child in action.choices.items():
            yield from list_parsers(f"{name} {each}", child)


COMMANDS = dict(pair for name, main in _CLICK.items() for pair in list_click_commands(name, main))
PARSERS = dict(pair for name, parser in _ARGPARSE.items() for pair in list_parsers(name, parser))
ALL = [*COMMANDS, *PARSERS]


def show_help(name: str, *, option: str = "-h", columns: int = 80) -> str:
    return command(*name.split(), option, COLUMNS=str(columns)).stdout


def find_examples(shown: str) -> list[str]:
    lines = shown.partition("\nExamples:\n")[2].splitlines()
    return [line.strip() for line in lines if line.strip()]


@pytest.mark.parametrize("name", ALL)
def test_the_help_has_one_frame(name):
    shown = show_help(name)
    assert shown == show_help(name, option="--help")
    assert shown.startswith(f"Usage: {name} [OPTIONS]")
    titles = re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE)
    assert titles[-1] == "Examples"
    order = ["Commands", "Arguments", "Options", "Advanced options", "Examples"]
    assert titles == [title for title in order if title in titles]
    assert "Options" in titles
    assert not re.search(r"INTEGER|FLOAT|RANGE|<=|\btrusts\b|by default,|\(default", shown)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("columns", [50, 80, 100, 200])
def test_lines_use_the_width_of_the_terminal_and_end_between_words(name, columns):
    shown = show_help(name, columns=columns)
    words = {word for line in show_help(name, columns=10_000).splitlines() for word in line.split()}
    assert {word for line in shown.splitlines() for word in line.split()} <= words
    prose = shown.partition("\nExamples:\n")[0].splitlines()
    assert max(map(len, prose)) <= (min(columns, 120) if columns >= 80 else 90)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_and_option_of_click_is_described(name):
    for each in COMMANDS[name].params:
        assert each.help, each.name
        assert each.help[0].isupper(), each.name
        assert each.help.endswith((".", "]")), each.name


@pytest.mark.parametrize("name", PARSERS)
def test_every_argument_and_option_of_a_device_is_described(name):
    for each in PARSERS[name]._actions:
        assert each.help or each.nargs == argparse.PARSER, each.dest


@pytest.mark.parametrize("name", ALL)
def test_every_example_is_accepted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = find_examples(show_help(name))
    assert examples
    (tmp_path / "collector.toml").write_text('surveys = ["survey.toml"]')
    for example in examples:
        assert example.startswith(name), example
        program, *words = shlex.split(example.partition(" > ")[0])
        for word in words:
            if re.fullmatch(r"[\w-]+\.(toml|csv|xlsx|json|bin|txt|key)", word):
                (tmp_path / word).touch()
        if program in _ARGPARSE:
            _ARGPARSE[program].parse_args(words)
        else:
            parse(program, words)


def parse(program: str, words: list[str]) -> None:
    """Parse words as the commands do, without running the command that they name."""
    found = COMMANDS[program]
    path = program
    while words and f"{path} {words[0]}" in COMMANDS:
        path, words = f"{path} {words[0]}", words[1:]
        found = COMMANDS[path]
    found.make_context(path, words)


@pytest.mark.parametrize("name", ALL)
def test_a_command_that_needs_arguments_prints_its_help_without_them(name):
    required = (
        isinstance(COMMANDS[name], click.Group) or any(each.required for each in COMMANDS[name].params)
        if name in COMMANDS
        else name not in ("ldp-client status", "ldp-client preview", "ldp-relay selftest")
    )
    if required:
        result = command(*name.split(), check=False, COLUMNS="80")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.strip() == show_help(name).strip()


def test_commands_are_listed_in_the_order_of_work():
    def listed(name: str) -> list[str]:
        section = show_help(name).partition("Commands:\n")[2].partition("\n\n")[0]
        assert all(line.endswith(".") and not line.endswith("...") for line in section.splitlines())
        return [line.split()[0] for line in section.splitlines()]

    assert listed("ldp-survey")[:5] == ["init", "studio", "check", "size", "preview"]
    assert listed("ldp-collector")[:4] == ["serve", "status", "open", "close"]
    assert listed("ldp-central") == ["train", "status"]
    assert listed("ldp-audit") == ["central", "silo"]
    assert listed("ldp-silo")[:3] == ["grant", "preview", "report"]
    assert listed("ldp-collector tokens") == ["create"]


def test_the_help_of_serve_shows_the_environment_variable_of_each_setting():
    shown = " ".join(show_help("ldp-collector serve", columns=120).split())
    for each in COMMANDS["ldp-collector serve"].params:
        if each.name not in ("show_settings", "help") and not each.envvar:
            assert f"[env var: LDP_COLLECTOR_SERVE_{each.name.upper()}" in shown, each.name
    for variable in ("SERVE_SURVEYS", "SERVE_STORE, LDP_STORE"):
        assert f"LDP_COLLECTOR_{variable}" in shown


@pytest.mark.parametrize(
    "words",
    [
        "ldp-survey check {}",
        "ldp-survey size {}",
        "ldp-survey dossier {} -o page.html",
        "ldp-survey project {} --from rows.csv",
        "ldp-simulate {} rows.csv",
        "ldp-compare {} rows.csv",
        "ldp-central train {} rows.csv --epsilon 1 -o model.json",
        "ldp-audit {}",
        "ldp-audit central {}",
        "ldp-audit silo {}",
    ],
)
def test_a_mistake_in_a_survey_is_printed_with_the_file_and_the_line(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = 'kind = "silo"' if words == "ldp-audit silo {}" else ""
    (tmp_path / "wrong.toml").write_text(f'[survey]\nid = "sleep"\nepsilon = 400\n{kind}\n')
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    result = command(*words.format("wrong.toml").split(), check=False)
    assert result.exit_code
    assert "wrong.toml: line 3: survey.epsilon" in result.stderr
    assert "wrong.toml: wrong.toml" not in result.stderr
