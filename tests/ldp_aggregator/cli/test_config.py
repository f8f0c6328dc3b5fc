"""The sources of the collector's settings, and the messages about invalid ones."""

import itertools
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from ldp_aggregator.collector.access_tokens import read_operator_token
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.stores import open_store
from tests.ldp_aggregator.collector.conftest import SURVEY
from tests.support.access import access, write_tokens
from tests.support.commands import command

VARIABLE = "LDP_COLLECTOR_SERVE_WORKERS"


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "survey.toml").write_text(SURVEY)
    return tmp_path


run = partial(command, "ldp-collector", check=False)


def show(*arguments, **environment: str):
    return run("serve", "--show-settings", *arguments, **environment)


def config(folder: Path, text: str) -> Path:
    path = folder / "collector.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("flag", "variable", "file"), list(itertools.product([False, True], repeat=3)))
def test_options_override_the_environment_which_overrides_the_file(folder, flag, variable, file):
    path = config(folder, "workers = 5" if file else "")
    result = show(
        *(folder / "survey.toml", "--config", path),
        *(["--workers", 3] if flag else []),
        **({VARIABLE: "4"} if variable else {}),
    )
    expected = (
        *([(3, "command line")] if flag else []),
        *([(4, f"environment, {VARIABLE}")] if variable else []),
        *([(5, path)] if file else []),
        (2, "default"),
    )
    value, origin = expected[0]
    assert f"workers = {value}  ({origin})\n" in result.output


def test_paths_in_a_file_are_relative_to_it(folder):
    (folder / "secret").write_text("hidden\n")
    path = config(folder, 'surveys = ["survey.toml"]\noperator_token_file = "secret"\n')
    result = show("--config", path)
    assert result.exit_code == 1  # "hidden" is too short for a token
    assert "hidden" not in result.output
    assert f"surveys = {folder}/survey.toml  ({path})\n" in result.output
    assert f"operator_token_file = {folder}/secret  ({path})\n" in result.output


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("sqlite:///data/ldp.db", "sqlite:///{folder}/data/ldp.db"),
        ("sqlite:////var/ldp.db", "sqlite:////var/ldp.db"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_the_path_of_a_store_in_a_file_is_relative_to_it(folder, store, shown):
    path = config(folder, f'surveys = ["survey.toml"]\nstore = "{store}"\n')
    result = show("--config", path)
    assert f"store = {shown.format(folder=folder)}  ({path})\n" in result.output


def test_all_commands_read_the_store_from_one_variable(folder):
    survey, url = folder / "survey.toml", f"sqlite:///{folder}/ldp.db"
    result = show(survey, LDP_STORE=url)
    assert f"store = {url}  (environment, LDP_STORE)\n" in result.output
    result = show(survey, LDP_STORE=url, LDP_COLLECTOR_SERVE_STORE="redis://host/1")
    assert "store = redis://host/1  (environment, LDP_COLLECTOR_SERVE_STORE)\n" in result.output
    store = open_store(url)
    store.publish("sleep", b"{}")
    store.close()
    for words in (["status"], ["close", "sleep"], ["open", "sleep"]):
        result = run(*words, LDP_STORE=url)
        assert (result.exit_code, "sleep" in result.output) == (0, True), result.output


def test_the_environment_can_set_every_option(folder):
    survey = folder / "survey.toml"
    result = show(LDP_COLLECTOR_SERVE_SURVEYS=f"{survey}:{survey}", LDP_COLLECTOR_SERVE_BIND="0.0.0.0:80")
    assert f"surveys = {survey} {survey}  (environment, LDP_COLLECTOR_SERVE_SURVEYS)\n" in result.output
    assert "bind = 0.0.0.0:80  (environment, LDP_COLLECTOR_SERVE_BIND)\n" in result.output
    path = config(folder, 'surveys = ["survey.toml"]')
    assert f"({path})" in show(LDP_COLLECTOR_SERVE_CONFIG=str(path)).output


def test_secrets_are_not_shown(folder):
    path = config(folder, 'surveys = ["survey.toml"]\nstore = "redis://user:hush-hush@host/1"')
    result = show("--config", path, LDP_OPERATOR_TOKEN="hush-hush-hush-hush")
    assert "store = redis://host/1" in result.output
    assert "the operator's token is set" in result.output
    assert "hush" not in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workerz = 3", "workerz: no such setting; choose one of allow_open_redis, bind,"),
        ("[serve]\nworkers = 3", "serve: no such setting"),
        ("config = 'x'", "config: no such setting"),
        ("workers = 99", "workers: 99 is not in the range 1<=x<=64"),
        ("workers = '3'", "workers: must be a whole number"),
        ("workers = true", "workers: must be a whole number"),
        ("workers = [3]", "workers: must be a whole number"),
        ("allow_open_redis = 1", "allow_open_redis: must be true or false"),
        ("store = 7", "store: must be a text"),
        ("bind = 'nowhere'", "bind: must be HOST:PORT"),
        ("durability = 'often'", "durability: 'often' is not one of"),
        ("surveys = 'survey.toml'", "surveys: must be a list, each a text"),
        ("surveys = ['survey.toml', 3]", "surveys: must be a list, each a text"),
        ("surveys = []", "surveys: must not be empty"),
        ("surveys = ['nowhere.toml']", "nowhere.toml' does not exist"),
        ("workers =", "not a TOML file"),
        (f"surveys = {'[' * 9000}", "not a TOML file"),
        (f"a{'.a' * 20_000} = 1", "not a TOML file: a key has more than 20 parts"),
    ],
)
def test_a_bad_setting_is_named_by_file_and_key(folder, text, message):
    path = config(folder, text)
    # the option overrides the file, but a mistake in the file is refused all the same
    result = show(folder / "survey.toml", "--config", path, "--workers", 2)
    assert result.exit_code == 2
    output = " ".join(result.output.split())
    assert f"{path}: " in output
    assert message in output


@pytest.mark.parametrize(
    ("file", "variable", "token"),
    [
        (None, None, None),
        (None, "", None),
        (None, "sixteen-variable", "sixteen-variable"),
        (b"sixteen-fromfile", None, "sixteen-fromfile"),
        (b"sixteen-fromfile\n", "sixteen-variable", "sixteen-fromfile"),
        (b"sixteen-fromfile\r\n", None, "sixteen-fromfile"),
    ],
)
def test_the_token_s_file_overrides_the_variable(tmp_path, file, variable, token):
    path = tmp_path / "token"
    path.write_bytes(file or b"")
    assert read_operator_token(path if file else None, "LDP_OPERATOR_TOKEN", variable) == token


@pytest.mark.parametrize("token", [b"", b"\n", b"two words", b"a\nb", b"\xc3\xa9", b"tab\t", b"nul\0"])
def test_the_error_of_a_token_that_cannot_be_sent_names_its_source_and_not_the_token(tmp_path, token):
    path = tmp_path / "token"
    path.write_bytes(token)
    with pytest.raises(SettingsError, match="operator's token") as caught:
        read_operator_token(path, "LDP_OPERATOR_TOKEN", "good")
    assert str(caught.value).startswith(f"{path}: ")
    assert not token.strip() or token.decode() not in str(caught.value)
    if token:
        with pytest.raises(SettingsError, match=r"^LDP_OPERATOR_TOKEN: "):
            read_operator_token(None, "LDP_OPERATOR_TOKEN", token.decode())


def test_the_error_of_a_short_token_names_its_source_and_not_the_token(tmp_path):
    path, short = tmp_path / "token", "fifteen-letters"
    path.write_text(f"{short}\n")
    for place, arguments in ((path, (path, "VARIABLE", None)), ("VARIABLE", (None, "VARIABLE", short))):
        with pytest.raises(SettingsError, match=r"operator's token needs at least 16 .*openssl") as caught:
            read_operator_token(*arguments)  # type: ignore[arg-type]
        assert str(caught.value).startswith(f"{place}: ")
        assert short not in str(caught.value)


def test_a_short_token_stops_the_start(folder):
    words = ["serve", folder / "survey.toml", "--store", f"sqlite:///{folder}/ldp.db"]
    result = run(*words, LDP_OPERATOR_TOKEN="a")
    assert result.exit_code == 1
    assert "LDP_OPERATOR_TOKEN: " in result.output
    assert "at least 16 characters" in result.output
    assert not (folder / "ldp.db").exists()


def test_the_operator_s_address_and_the_file_of_tokens_are_settings_like_any_other(folder):
    tokens = [access("gateway", "hush-hush"), access("analyst", "hush", "anna", date(2999, 1, 31))]
    write_tokens(folder / "t.toml", *tokens)
    path = config(folder, 'surveys = ["survey.toml"]\noperator_bind = "127.0.0.1:8001"\ntokens = "t.toml"')
    result = show("--config", path)
    assert f"operator_bind = 127.0.0.1:8001  ({path})\n" in result.output
    assert f"tokens = {folder}/t.toml  ({path})\n" in result.output
    assert "the operator's token is not set  (environment, LDP_OPERATOR_TOKEN)\n" in result.output
    assert "the token gateway is for gateway, and does not expire\n" in result.output
    assert "the token anna is for analyst, and expires 2999-01-31\n" in result.output
    result = show(folder / "survey.toml", LDP_COLLECTOR_SERVE_OPERATOR_BIND="[::1]:1")
    assert "operator_bind = [::1]:1  (environment, LDP_COLLECTOR_SERVE_OPERATOR_BIND)\n" in result.output
    result = show("--config", config(folder, "operator_bind = 'x'"))
    assert "operator_bind: must be HOST:PORT" in result.output


def test_a_token_file_is_checked_before_its_token_is_reported_as_set(folder):
    path = config(folder, 'surveys = ["survey.toml"]\noperator_token_file = "op-token"\n')
    result = show("--config", path)
    assert result.exit_code == 1
    assert "Error: the operator's token file cannot be read: No such file" in result.output
    assert "the operator's token is" not in result.output
    (folder / "op-token").write_text("long-enough-for-a-token\n")
    result = show("--config", path)
    assert result.exit_code == 0
    assert f"the operator's token is set  (file {folder}/op-token)\n" in result.output
    assert "long-enough" not in result.output


def test_a_token_instead_of_its_file_s_name_is_not_shown(folder):
    words = ["serve", folder / "survey.toml", "--store", f"sqlite:///{folder}/ldp.db"]
    result = run(*words, LDP_OPERATOR_TOKEN_FILE="s3cr3t")
    assert result.exit_code == 1
    assert "the operator's token file cannot be read: No such file" in result.output
    assert "s3cr3t" not in result.output


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:geheim@host:6379/0", "redis://host:6379/0"),
        ("redis://user:geheim@host/0?db=1", "redis://host/0"),
        ("redis://:geheim#1@host/0", "redis://host/0"),
        ("redis://:ge/heim@host/0", "redis://host/0"),
        ("redis://:ge?heim@host/0", "redis://host/0"),
        ("redis://:ge@heim@host/0", "redis://host/0"),
        ("redis://host/0?password=geheim", "redis://host/0"),
        ("redis://:geheim", "(not the URL of a store)"),
        ("redis:geheim@host", "(not the URL of a store)"),
        ("redis//:geheim@host/0", "(not the URL of a store)"),
        ("redis://:geheim@[::1", "redis://[::1"),
        ("redis://:geheim\u2100x@h/0", "redis://h/0"),
        ("", "(not the URL of a store)"),
        ("sqlite:///ldp.db", "sqlite:///{here}/ldp.db"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_a_store_s_password_is_not_shown_even_if_its_url_is_invalid(folder, url, shown):
    result = show(folder / "survey.toml", "--store", url)
    assert f"store = {shown.format(here=Path.cwd())}  (" in result.output
    assert "heim" not in result.output


@pytest.mark.parametrize(
    "url", ["redis://:geheim\u2100x@h/0", "redis://:p@h/0?nonsense=geheim", "redis://:g@[::1"]
)
def test_an_invalid_url_is_refused_without_being_shown(folder, url):
    result = run("serve", folder / "survey.toml", "--store", url)
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert "invalid Redis URL" in result.output
    assert "geheim" not in result.output


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://127.0.0.1:abc/0", "its port is not a number\n"),
        ("redis://127.0.0.1:99999/0", "its port is above 65535\n"),
        ("redis://127.0.0.1?db=x", "an option after the question mark has an invalid value\n"),
        ("redis://127.0.0.1?dbb=1", "it has an unknown option after the question mark\n"),
        (
            "redis://:a/b@h:1",
            "its port is not a number. Percent-encode the special characters of its password\n",
        ),
    ],
)
def test_the_fault_of_a_redis_url_is_named(url, why):
    result = run("status", "--store", url)
    assert result.output == f"Error: invalid Redis URL: {why}"


@pytest.mark.parametrize("command", ["status", "export x -o y", "tokens create x --count 1"])
def test_other_commands_do_not_show_the_store_s_password(command):
    for url in ("redis://:geheim\u2100x@h/0", "redis://:geheim@[::1"):
        result = run(*command.split(), "--store", url)
        assert (result.exit_code, type(result.exception)) == (1, SystemExit)
        assert "geheim" not in result.output


def test_a_survey_that_is_named_twice_is_refused(folder):
    twice = [folder / "survey.toml"] * 2
    result = run("serve", *twice, "--store", f"sqlite:///{folder}/ldp.db")
    assert result.exit_code == 1
    assert "two survey files have the id" in result.output


def test_a_bad_token_stops_the_start(folder):
    words = ["serve", folder / "survey.toml", "--store", f"sqlite:///{folder}/ldp.db"]
    result = run(*words, LDP_OPERATOR_TOKEN="two words")
    assert result.exit_code == 1
    assert (
        "LDP_OPERATOR_TOKEN: the operator's token needs at least 16 characters, which must be visible ASCII"
        in result.output
    )
