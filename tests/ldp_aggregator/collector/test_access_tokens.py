"""Tokens with names, roles and an expiry: their file, what each may do, and how one replaces another."""

import json
import re
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from ldp_aggregator.collector.access_tokens import Role, log_tokens, parse_tokens
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.serving.rate_limit import MAX_WRONG_TOKENS_PER_MINUTE
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, StoreError
from ldp_aggregator.stores.operator_log import read_log
from tests.ldp_aggregator.collector.conftest import ask, make_client, make_store
from tests.support.access import access, write_tokens
from tests.support.commands import command
from tests.support.servers import collector, inherited_environment, wait_for, workers_of

HASH = "0" * 64
TODAY = datetime.now(UTC).date()
READERS, METRICS = {"operator", "analyst"}, {"operator", "metrics"}
PAGES = {f"/v1/surveys/sleep/{page}": READERS for page in ("snapshot", "estimates", "estimates.csv")}
PAGES |= {f"/v1/surveys/sleep/{page}": READERS for page in ("progress", "progress.html")}
PAGES |= {"/metrics": METRICS}
TOKENS = tuple(access(role, f"secret-of-{role}") for role in Role)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


# -- what tokens may do -----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_each_role_may_read_its_pages_only(plan, page):
    web = make_client(make_store(plan), tokens=TOKENS)
    found = {role: web.get(page, headers=bearer(f"secret-of-{role}")) for role in Role}
    assert {role for role, response in found.items() if response.status_code == 200} == PAGES[page]
    for role in set(Role) - PAGES[page]:
        response = found[role]
        assert (response.status_code, response.json["reason"]) == (403, "not-authorised")
        assert response.json["detail"].startswith(f"the token {role} is for {role}, and not for operator or ")


def test_a_page_for_which_there_is_no_token_is_closed(plan):
    web = make_client(make_store(plan), tokens=(access("metrics", "secret"),))
    response = web.get("/v1/surveys/sleep/estimates", headers=bearer("secret"))
    assert response.status_code == 403
    assert "the collector has no token for operator or analyst" in response.json["detail"]
    assert web.get("/metrics", headers=bearer("secret")).status_code == 200


@pytest.mark.parametrize(
    ("expires", "status"), [(TODAY + timedelta(1), 200), (TODAY, 401), (date(2020, 1, 1), 401)]
)
def test_an_expired_token_is_refused_with_its_date_and_is_not_a_guess(plan, expires, status):
    web = make_client(make_store(plan), tokens=(access("operator", "secret", "anna", expires),))
    for _ in range(2 * MAX_WRONG_TOKENS_PER_MINUTE):
        response = web.get("/metrics", headers=bearer("secret"))
        assert response.status_code == status
    if status == 401:
        assert response.json["detail"] == (
            f"the token anna expired on {expires}: ask the collector's operator for a new one"
        )


def test_a_snapshot_is_logged_with_the_name_of_its_token_once_a_day(plan):
    store = make_store(plan)
    web = make_client(
        store, tokens=(access("analyst", "secret-1", "anna"),), operator_token="secret-2-and-more"
    )
    for secret in ("secret-1", "secret-1", "secret-2-and-more", "wrong"):
        web.get("/v1/surveys/sleep/snapshot", headers=bearer(secret))
    assert sorted((each.who, each.what, each.survey) for each in read_log(store)) == [
        ("anna", "exported", "sleep"),
        ("operator", "exported", "sleep"),
    ]
    assert not any(b"secret" in note for note in store.notes("log").values())


def test_a_snapshot_is_served_from_a_store_that_cannot_be_written(plan, monkeypatch):
    store = make_store(plan)
    web = make_client(store, operator_token="secret")

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("full")

    monkeypatch.setattr(store, "set_note", refuse)
    assert web.get("/v1/surveys/sleep/snapshot", headers=bearer("secret")).status_code == 200


# -- the file -----------------------------------------------------------------------------------


WRONG = "tokens.a: must have role (operator, analyst, metrics, relay, gateway), sha256 (64"
RELAY = f"[tokens.a]\nrole = 'relay'\nsha256 = '{HASH}'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tokens = 1", "must have only entries tokens.NAME"),
        ("[token.a]", "must have only entries tokens.NAME"),
        ("[tokens", "not a TOML file"),
        ("[tokens.A]", "tokens.A: a name has 1 to 40 of a-z, 0-9 and -"),
        ("[tokens.a]\nrole = 'analyst'", WRONG),
        (f"{RELAY}name = 'a'", WRONG),
        (RELAY.replace("relay", "boss"), WRONG),
        (RELAY.replace("'relay'", "['boss']"), WRONG),
        (RELAY.replace("0", "x"), WRONG),
        (f"{RELAY}expires = '2027-01-31'", WRONG),
        (f"{RELAY}expires = 2027-01-31T00:00:00", WRONG),
    ],
)
def test_the_error_of_a_wrong_file_names_the_entry(text, message):
    with pytest.raises(SettingsError, match=f"^t.toml: {re.escape(message)}"):
        parse_tokens(text, "t.toml")


def run(*arguments: object) -> tuple[int, str]:
    result = command("ldp-collector", "access", *arguments, check=False)
    return result.exit_code, result.output.strip()


def test_the_command_adds_and_removes_tokens_and_keeps_the_rest_of_the_file(tmp_path):
    path = tmp_path / "tokens.toml"
    write_tokens(path, access("metrics", "secret", "by-hand"))
    path.write_text(f"# ours\n{path.read_text()}\n# the end")
    code, secret = run("add", "anna", "--role", "analyst", "--expires", "2999-12-31", "--file", path)
    assert (code, len(secret)) == (0, 32)
    assert secret not in path.read_text()
    assert parse_tokens(path.read_text(), "")[0] == access("analyst", secret, "anna", date(2999, 12, 31))
    _, other = run("add", "ben", "--role", "operator", "--file", path)
    assert other != secret
    assert "has a token ben already" in run("add", "ben", "--role", "relay", "--file", path)[1]
    assert run("remove", "anna", "--file", path) == (0, f"removed anna from {path}: reload the collector")
    assert [each.name for each in parse_tokens(path.read_text(), "")] == ["ben", "by-hand"]
    assert "# ours" in path.read_text()
    assert "has no token anna: ben, by-hand" in run("remove", "anna", "--file", path)[1]
    settings = CollectorSettings(tokens=parse_tokens(path.read_text(), ""))
    assert settings.roles == {Role.METRICS, Role.OPERATOR}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["anna", "--role", "boss"], "'boss' is not one of"),
        (["Anna", "--role", "analyst"], "a name has 1 to 40 of a-z"),
        (["anna", "--role", "analyst", "--expires", "2020-01-01"], "this day is not in the future"),
        (["anna", "--role", "analyst", "--expires", "soon"], "does not match the format"),
    ],
)
def test_a_wrong_argument_is_named_and_no_file_is_written(tmp_path, arguments, message):
    code, output = run("add", *arguments, "--file", tmp_path / "tokens.toml")
    assert code > 0
    assert message in " ".join(output.split())
    assert not list(tmp_path.iterdir())


def test_a_table_that_is_written_in_another_way_is_removed_by_hand(tmp_path):
    path = tmp_path / "tokens.toml"
    path.write_text(f'tokens = {{ anna = {{ role = "relay", sha256 = "{HASH}" }} }}')
    assert "remove it with an editor" in run("remove", "anna", "--file", path)[1]


@pytest.mark.slow
def test_operators_who_add_tokens_at_once_lose_none(tmp_path):
    program = str(Path(sys.executable).parent / "ldp-collector")
    names = [f"token-{number}" for number in range(6)]
    adding = [
        subprocess.Popen(
            [program, "access", "add", name, "--role", "relay", "--file", str(tmp_path / "tokens.toml")],
            env=inherited_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    secrets = [each.communicate()[0].strip() for each in adding]
    found = {each.name: each for each in parse_tokens((tmp_path / "tokens.toml").read_text(), "")}
    assert found == {name: access("relay", secret, name) for name, secret in zip(names, secrets, strict=True)}


# -- rotation -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_token_replaces_another_without_a_gap(survey, url, tmp_path):
    path, log = tmp_path / "tokens.toml", tmp_path / "log"
    _, old = run("add", "anna", "--role", "operator", "--file", path)
    with collector([survey], url, token=None, options=["--tokens", path], log=log) as (base, process):

        def statuses(*tokens: str) -> list[set[int]]:
            return [{ask(f"{base}/metrics", token=token)[0] for _ in range(6)} for token in tokens]

        def reload() -> None:
            former, reloads = set(workers_of(process)), log.read_text().count('"reloaded"')
            process.send_signal(signal.SIGHUP)
            wait_for(lambda: log.read_text().count('"reloaded"') > reloads)
            wait_for(lambda: not former & set(workers_of(process)) and len(workers_of(process)) == 2)

        _, new = run("add", "anna-2", "--role", "operator", "--expires", TODAY + timedelta(9), "--file", path)
        assert statuses(old, new) == [{200}, {401}]
        reload()
        assert statuses(old, new) == [{200}, {200}]
        run("remove", "anna", "--file", path)
        reload()
        assert statuses(old, new) == [{401}, {200}]
        metrics = ask(f"{base}/metrics", token=new)[1].decode()
        assert 'ldp_token_expiry_timestamp_seconds{token="anna-2"}' in metrics
        path.write_text("[tokens")
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: '"reload-failed"' in log.read_text())
        assert statuses(new) == [{200}]
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    warned = [line for line in lines if line["event"] == "token-expires"]
    assert {(line["token"], line["expires"]) for line in warned} == {("anna-2", f"{TODAY + timedelta(9)}")}
    entries = json.loads(command("ldp-collector", "log", "--json", "--store", url).stdout)
    read = [re.sub(", [0-9a-f]{8}", "", each["detail"]) for each in entries if each["what"] == "read tokens"]
    assert read == ["anna (operator)", "anna-2 (operator), anna (operator)", "anna-2 (operator)"]


def test_entries_of_one_second_are_in_their_order():
    store = MemoryStore()
    for roles in [("operator",), ("metrics", "operator"), ("metrics",), ("operator",)]:
        log_tokens(store, [access(each, each) for each in roles])
    read = [re.findall(r"(\w+) \(", each.detail) for each in read_log(store)]
    assert read == [["metrics", "operator"], ["metrics"], ["operator"]]


def test_a_token_with_the_same_name_and_another_secret_is_logged():
    store, tokens = MemoryStore(), [access("relay", secret) for secret in ("one", "one", "two")]
    for token in tokens:
        log_tokens(store, [token])
    entries = read_log(store)
    assert [each.what for each in entries] == ["read tokens"] * 2
    assert not any(token.sha256[:8] in each.detail for token in tokens for each in entries)


def test_collectors_with_different_files_of_tokens_do_not_disturb_each_other():
    store, files = MemoryStore(), [(access("relay", "one"),), (access("metrics", "two", expires=TODAY),)]
    webs = [make_client(store, tokens=tokens, operator_token="the-token-of-all") for tokens in files]
    for _ in range(3):
        for tokens in files:
            log_tokens(store, tokens)
    assert len(read_log(store)) == 2
    shown = [web.get("/metrics", headers=bearer("the-token-of-all")).text for web in webs]
    assert ['ldp_token_expiry_timestamp_seconds{token="metrics"}' in each for each in shown] == [False, True]
