"""compose.yaml, redis.conf and Dockerfile: confined, durable, and its command starts a collector."""

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import redis

from ldp_aggregator.stores import StorePolicy, open_store
from tests.deploy.shipped_commands import is_ready, started
from tests.support.servers import (
    SHIPPED_NGINX,
    free_port,
    inherited_environment,
    listens,
    responds_to_ping,
    stop,
    wait_for,
)

DEPLOY = SHIPPED_NGINX.parent
PASSWORD = "a-password-of-the-tests"


def test_containers_are_confined_and_do_not_run_as_root(services):
    for name, service in services["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if "build" not in service:
            assert not service["user"].startswith(("0", "root")), name
            assert ":" in service["image"], name
    last = (DEPLOY / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last


def test_only_the_proxy_is_reachable_and_only_the_proxy_is_trusted(services):
    every, networks = services["services"], services["networks"]
    assert [name for name, service in every.items() if "ports" in service] == ["proxy"]
    assert every["redis"]["networks"] == ["inside"]
    assert networks["inside"]["internal"]
    assert networks["front"]["internal"]
    command = every["collector"]["command"]
    proxy = every["proxy"]["networks"]["front"]["ipv4_address"]
    assert command[command.index("--trusted-proxy") + 1] == proxy
    assert every["collector"]["networks"]["front"]["ipv4_address"] != proxy
    assert every["proxy"]["ports"] == ["0.0.0.0:443:8443"]  # else all IPv6 clients have one address
    assert not any("enable_ipv6" in (network or {}) for network in networks.values())


def test_the_collector_reads_the_count_of_the_proxy_and_cannot_change_it(services):
    every = services["services"]
    (file,) = re.findall(r"access_log (\S+) ", SHIPPED_NGINX.read_text())
    (written,) = (each for each in every["proxy"]["volumes"] if each.startswith("refusals:"))
    (read,) = (each for each in every["collector"]["volumes"] if each.startswith("refusals:"))
    folder, _, mode = read.removeprefix("refusals:").partition(":")
    assert (written, mode) == (f"refusals:{Path(file).parent}", "ro")
    command = every["collector"]["command"]
    assert command[command.index("--proxy-refusals") + 1] == f"{folder}/{Path(file).name}"
    options = services["volumes"]["refusals"]["driver_opts"]
    assert options["type"] == "tmpfs"
    assert re.search(r"size=\d+m,uid=101\b", options["o"])  # limited, and the proxy can write to it


def test_memory_is_limited_and_a_stop_waits_for_requests(services):
    every = services["services"]
    for name, service in every.items():
        assert all(re.search(r"size=\d+m", place) for place in service["tmpfs"]), (
            name
        )  # no other writable place
    assert {name for name in every if "mem_limit" in every[name]} == {"collector", "proxy"}
    assert {every[name]["stop_grace_period"] for name in ("collector", "proxy")} == {"35s"}


@pytest.mark.slow
def test_the_redis_of_compose_is_as_durable_as_the_collector_requires(services, tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    port, conf = free_port(), tmp_path / "redis.conf"
    conf.write_text((DEPLOY / "redis.conf").read_text().replace("dir /data", f"dir {tmp_path}"))
    shell, option, script = services["services"]["redis"]["command"]
    script = script.replace("$$", "$").replace("/etc/redis.conf", str(conf))
    script = script.replace("bind 0.0.0.0", f"bind 127.0.0.1\nport {port}")
    environment = inherited_environment() | {"REDIS_PASSWORD": PASSWORD}
    server = subprocess.Popen([shell, option, script], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(port))
        with redis.Redis(port=port, password=PASSWORD) as client:
            wait_for(lambda: responds_to_ping(client))
            assert client.config_get("slowlog-log-slower-than")["slowlog-log-slower-than"] == "-1"
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"PING\r\n")
            assert stranger.recv(100).startswith(b"-NOAUTH")
        store = open_store(f"redis://:{PASSWORD}@127.0.0.1:{port}/0")
        assert "on disk" in store.check_durability(StorePolicy("always"))
        store.close()
        assert PASSWORD not in Path(f"/proc/{server.pid}/cmdline").read_text()
    finally:
        stop(server)


@pytest.mark.slow
def test_the_command_of_compose_starts_a_collector(services, survey, tmp_path):
    service = services["services"]["collector"]
    assert service["environment"]["LDP_STORE"].startswith("redis://:${REDIS_PASSWORD")
    command = [str(survey) if word == "/surveys/survey.toml" else word for word in service["command"]]
    with started(command, {"LDP_STORE": f"sqlite:///{tmp_path}/ldp.db"}) as port:
        assert is_ready(port)
    assert (tmp_path / "ldp.db").exists()
