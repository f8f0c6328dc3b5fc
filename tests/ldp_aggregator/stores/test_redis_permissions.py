"""The table of permissions in running.md is all that collectors and commands need of Redis."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
import redis

from encoders.survey import Plan, read_survey
from ldp_aggregator.stores import Store, StoreError, StoreFailure, StorePolicy, open_store
from ldp_aggregator.stores.redis_errors import SCRIPT_COMMANDS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import INVITED, REPORTS, ROW, SURVEY, ask
from tests.ldp_aggregator.collector.test_durability import SHORT_CACHE
from tests.ldp_aggregator.stores.conftest import count
from tests.support.commands import command
from tests.support.servers import TOKEN, TcpRedis, collector, wait_for

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "running.md").read_text()
SECTION = PAGE.partition("\n### Permissions of a Redis user\n")[2].partition("\n### ")[0]
ALL_CLUSTER, ALL_SELECT, READER, WRITER = (
    [word.replace("\\", "") for word in re.findall(r"\+[a-z\\|]+", row.split(" | ")[1])]
    for row in re.findall(r"^\| .*\+.*$", SECTION, re.MULTILINE)
)
"""The commands of each row of the table."""


class Server(NamedTuple):
    """A Redis with a user for a collector, and one that may only read."""

    clients: Sequence[redis.Redis]
    """An administrator's connection to each node."""
    url: str
    """With the placeholder USER."""

    def url_of(self, user: str) -> str:
        return self.url.replace("USER", user)

    def denied(self) -> list[str]:
        """Return which commands and keys were denied, also those of which no error was shown.

        redis-py tells its name to Redis (CLIENT SETINFO), and goes on if it may not.
        """
        denied = [
            (str(each["reason"]), str(each["object"])) for one in self.clients for each in one.acl_log()
        ]
        return [f"{reason} {what}" for reason, what in denied if not what.startswith("client|")]


@pytest.fixture(params=["single", "cluster"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with ExitStack() as stack:
        if request.param == "single":
            started = stack.enter_context(TcpRedis(tmp_path / "redis"))
            clients, more = [started.client], ALL_SELECT
            url = started.url.replace("redis://:", "redis://USER:") + "/1"
        else:
            nodes = request.getfixturevalue("cluster_nodes")
            clients, more = [node.client for node in nodes], ALL_CLUSTER
            url = nodes[0].url.replace("://:", "://USER:")
        for client in clients:
            for user, words in {"writer": READER + WRITER, "reader": READER}.items():
                stack.callback(client.acl_deluser, user)
                client.execute_command("ACL", "SETUSER", user, "on", f">{TOKEN}", "~ldp:*", *more, *words)
            client.acl_log_reset()
        yield Server(clients, f"{url}?rewrite_seconds=1")


def run_all(server: Server, folder: Path, plans: Sequence[Plan], paths: Sequence[Path]) -> None:
    """Run a collector through a survey's life, and all commands on its store."""
    url, reader, copy = server.url_of("writer"), server.url_of("reader"), f"sqlite:///{folder}/copy.db"
    with collector(paths, url, prelude=SHORT_CACHE) as (base, _):
        made = command("ldp-collector", "tokens", "create", "invited", "--count", 3, LDP_STORE=url)
        invited = make_report(plans[1], ROW, "yes", token=made.stdout.split()[0])
        assert ask(f"{base}/v1/surveys/invited/reports", invited)[0] == 200
        for _ in range(20):
            assert ask(f"{base}{REPORTS}", make_report(plans[0], ROW, "yes"))[0] == 200
        assert ask(f"{base}{REPORTS}", b"no report")[0] == 400
        assert ask(f"{base}/readyz")[0] == 200
        for page in ("/metrics", "/v1/surveys/sleep/snapshot", "/v1/surveys/sleep/estimates"):
            assert ask(f"{base}{page}", token=TOKEN)[0] == 200
        command("ldp-collector", "open", "sleep", LDP_STORE=url)
        command("ldp-collector", "close", "sleep", "--grace", 1, LDP_STORE=url)
        wait_for(lambda: all("cmdstat_bgrewriteaof" in one.info("commandstats") for one in server.clients))
    files = {"export": ["sleep", "-o", folder / "snapshot.json"], "backup": ["-o", folder / "backup.db"]}
    for words in (["status"], ["log"], *([name, *each] for name, each in files.items())):
        command("ldp-collector", *words, LDP_STORE=reader)
    command("ldp-train", reader, "--survey", "sleep", "-o", folder / "model.json")
    command("ldp-collector", "import", "sleep", LDP_OLD_STORE=reader, LDP_STORE=copy)
    for client in server.clients:
        client.flushall()
    command("ldp-collector", "import", "sleep", LDP_OLD_STORE=copy, LDP_STORE=url)
    command("ldp-collector", "delete", "sleep", "--even-open", LDP_STORE=url)
    store = open_store(url)
    for plan in (b"{}", b"[]"):
        store.publish("replaced", plan, ["q"])
    store.close()


def test_a_user_with_the_permissions_of_the_table_can_do_everything(server: Server, tmp_path: Path):
    texts = [SURVEY, INVITED.replace('id = "sleep"', 'id = "invited"')]
    paths = [tmp_path / f"{number}.toml" for number in range(2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    run_all(server, tmp_path, [read_survey(text).compile() for text in texts], paths)
    assert set(server.denied()) <= {"command hset"}  # an export by the reader is not in the operators' log


def test_the_example_has_the_commands_of_the_table():
    (example,) = re.findall(r"^ {4}user ldp on .*$", SECTION, re.MULTILINE)
    assert re.findall(r"\+\S+", example) == READER + WRITER


@pytest.mark.parametrize("server", ["single"], indirect=True)
@pytest.mark.parametrize("name", ["eval", "bitfield", "info", "set", "config|get"])
def test_a_missing_permission_is_named_with_the_table(server: Server, name: str):
    (client,) = server.clients
    store = open_store(server.url_of("writer"))
    client.execute_command("ACL", "SETUSER", "writer", f"-{name}")
    advice = f"(?i){name.replace('|', '.')}.*Permissions of a Redis user"
    with pytest.raises(StoreError, match=advice) as caught:
        use(store, client)
    assert caught.value.reason == StoreFailure.NO_PERMISSION
    store.close()


def test_the_message_lists_the_commands_of_the_scripts():
    scripts = "".join(each.read_text() for each in (files("ldp_aggregator.stores") / "lua").iterdir())
    called = re.findall(r"redis\.call\('(\w+)'", scripts)
    assert sorted(set(called)) == list(SCRIPT_COMMANDS)


def use(store: Store, client: redis.Redis) -> None:
    """Check and count, also after `appendonly` was off for a moment."""
    store.check_durability(StorePolicy())
    count(store)
    client.config_set("appendonly", "no")
    with suppress(StoreError):
        store.check_ready()
    client.config_set("appendonly", "yes")
    store.check_ready()
