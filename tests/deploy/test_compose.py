"""compose.yaml, redis.conf and Dockerfile: confined, durable, and its command starts a collector."""

import re
import shutil
import socket
import subprocess
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
import yaml

from encoders.build import find_build
from ldp_aggregator.stores import StorePolicy, open_store
from tests.deploy.shipped_commands import is_ready, started
from tests.support.servers import (
    SHIPPED_NGINX,
    SHIPPED_PROXY,
    free_port,
    inherited_environment,
    listens,
    responds_to_ping,
    stop,
    wait_for,
)

DEPLOY = SHIPPED_NGINX.parent
PASSWORD = "a-password-of-the-tests"


def test_containers_are_confined_and_do_not_run_as_root(services, relay_services, cluster_services):
    every = [*services["services"].items(), *relay_services["services"].items()]
    for name, service in [*every, *cluster_services["services"].items()]:
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if "build" not in service:
            assert not service["user"].startswith(("0", "root")), name
            assert ":" in service["image"], name
    last = (DEPLOY / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last


def test_the_image_is_labelled_with_version_and_commit(services):
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert f"org.opencontainers.image.version={find_build().version} " in dockerfile
    assert "org.opencontainers.image.revision=$LDP_COMMIT\n" in dockerfile
    relay = yaml.safe_load((DEPLOY / "relay" / "compose.yaml").read_text())
    for service in (services["services"]["collector"], relay["services"]["relay"]):
        assert service["build"]["args"] == {"LDP_COMMIT": "${LDP_COMMIT:-unknown}"}


def test_the_image_has_every_package_of_the_wheel():
    pyproject = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    packages = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert {f"!{package}" for package in packages} <= set(sent)


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


def test_commands_in_the_container_write_to_a_folder_of_the_host_that_the_page_makes(services):
    assert "./backups:/backups" in services["services"]["collector"]["volumes"]
    pages = [(DEPLOY.parent / "docs" / page).read_text() for page in ("running.md", "moving.md")]
    user = re.findall(r"^USER (\d+)", (DEPLOY / "Dockerfile").read_text(), re.M)[0]
    assert f"install -d -o {user} -m 700 backups\n" in pages[0]
    assert "exec collector ldp-collector backup -o /backups/" in pages[1]


def test_the_proxy_of_a_relay_is_that_of_a_collector_with_other_files(services, relay_services):
    ours, relays = (each["services"]["proxy"] for each in (services, relay_services))
    different = {"volumes", "networks", "depends_on"}
    assert {name: relays[name] for name in relays.keys() - different} == {
        name: ours[name] for name in ours.keys() - different
    }
    files = {each.split(":")[1] for each in relays["volumes"]}
    assert files == {f"/etc/nginx/{name}" for name in ("nginx.conf", "proxy.conf", "tls")} | {
        "/var/lib/nginx"
    }
    assert files <= {each.split(":")[1] for each in ours["volumes"]}
    for service in (ours, relays):
        assert any(each.endswith("proxy.conf:/etc/nginx/proxy.conf:ro") for each in service["volumes"])


def test_only_the_proxy_of_a_relay_is_reachable_and_the_relay_reaches_its_collector(relay_services):
    every, networks = relay_services["services"], relay_services["networks"]
    assert [name for name, service in every.items() if "ports" in service] == ["proxy"]
    assert networks["front"]["internal"]
    assert "outside" in every["relay"]["networks"]
    head = (DEPLOY / "relay" / "compose.yaml").read_text().partition("\nx-hardened")[0]
    assert f'proxies = ["{every["proxy"]["networks"]["front"]["ipv4_address"]}"]' in head
    assert not any("enable_ipv6" in (network or {}) for network in networks.values())


def test_collector_and_relay_read_the_count_of_their_proxy_and_cannot_change_it(services, relay_services):
    (file,) = re.findall(r"access_log (\S+) ", SHIPPED_PROXY.read_text())
    command = services["services"]["collector"]["command"]
    head = (DEPLOY / "relay" / "compose.yaml").read_text().partition("\nx-hardened")[0]
    for found, name, setting in (
        (services, "collector", command[command.index("--proxy-refusals") + 1]),
        (relay_services, "relay", re.findall(r'proxy_refusals = "(.*?)"', head)[0]),
    ):
        every = found["services"]
        (written,) = (each for each in every["proxy"]["volumes"] if each.startswith("refusals:"))
        (read,) = (each for each in every[name]["volumes"] if each.startswith("refusals:"))
        folder, _, mode = read.removeprefix("refusals:").partition(":")
        assert (written, mode) == (f"refusals:{Path(file).parent}", "ro")
        assert setting == f"{folder}/{Path(file).name}"
        options = found["volumes"]["refusals"]["driver_opts"]
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
def test_the_nodes_of_compose_join_a_cluster_once(cluster_services, tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    every, ports = cluster_services["services"], {}
    environment = inherited_environment() | {"REDIS_PASSWORD": PASSWORD, "REDISCLI_AUTH": PASSWORD}
    with ExitStack() as stack:
        for name in ("redis-1", "redis-2", "redis-3"):
            address = every[name]["networks"]["inside"]["ipv4_address"]
            port = ports[address] = free_port()
            folder, conf = tmp_path / name, tmp_path / f"{name}.conf"
            folder.mkdir()
            conf.write_text((DEPLOY / "redis.conf").read_text().replace("dir /data", f"dir {folder}"))
            script = every[name]["command"][2].replace("$$", "$").replace("/etc/redis.conf", str(conf))
            own = f"bind 127.0.0.1\nport {port}\ncluster-port {free_port()}"
            words = ["sh", "-c", script.replace("bind 0.0.0.0", own)]
            stack.callback(stop, subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL))
            wait_for(lambda port=port: listens(port))
        join = every["join"]["command"][2]
        for address, port in ports.items():
            join = join.replace(f"{address}:6379", f"127.0.0.1:{port}")
            join = join.replace(f"-h {address}", f"-h 127.0.0.1 -p {port}")
        for _ in range(2):
            subprocess.run(["sh", "-c", join], env=environment, check=True, timeout=60, capture_output=True)
        for each in ports.values():  # a node needs a moment after it has joined
            with redis.Redis(port=each, password=PASSWORD) as client:
                wait_for(lambda client=client: b"state:ok" in client.execute_command("CLUSTER", "INFO"))
        store = open_store(f"redis+cluster://:{PASSWORD}@127.0.0.1:{port}")
        store.publish("sleep", b"{}", ["question"])
        assert "on disk" in store.check_durability(StorePolicy("always"))
        store.close()


def test_the_collectors_of_a_cluster_and_their_proxy_are_those_of_one_server(services, cluster_services):
    ours, others = services["services"], cluster_services["services"]
    for name, different in (
        ("collector", {"build", "command", "environment", "volumes", "networks", "depends_on", "deploy"}),
        ("proxy", {"volumes", "tmpfs"}),
    ):
        assert {key: others[name][key] for key in others[name].keys() - different} == {
            key: ours[name][key] for key in ours[name].keys() - different
        }
    command = others["collector"]["command"]
    assert command[command.index("--shards") + 1] == "3"
    assert (
        command[command.index("--trusted-proxy") + 1] == others["proxy"]["networks"]["front"]["ipv4_address"]
    )


@pytest.mark.slow
def test_the_command_of_compose_starts_a_collector(services, survey, tmp_path):
    service = services["services"]["collector"]
    assert service["environment"]["LDP_STORE"].startswith("redis://:${REDIS_PASSWORD")
    command = [str(survey) if word == "/surveys/survey.toml" else word for word in service["command"]]
    with started(command, {"LDP_STORE": f"sqlite:///{tmp_path}/ldp.db"}) as port:
        assert is_ready(port)
    assert (tmp_path / "ldp.db").exists()
