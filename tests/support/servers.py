"""Real servers for tests, each on a free port or socket; the code that starts a server stops it."""

import itertools
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

import pytest
import redis

TOKEN = "operator-token-of-the-tests"
SHIPPED_NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"
SHIPPED_PROXY = SHIPPED_NGINX.with_name("proxy.conf")
CHECKED_SETTINGS = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")
"""The settings of Redis that collectors check, and that tests change."""
_PATIENCE = 120.0
_PORTS = itertools.count(random.SystemRandom().randrange(1000))


class RedisServer:
    """A redis-server that can be killed and started again on its files."""

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
        self._command = [program, "--dir", str(folder), "--save", "", "--appendonly", "yes"]
        self._command += ["--appendfsync", "always", "--maxmemory-policy", "noeviction"]
        self._command += ["--hash-max-ziplist-entries", "0", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def await_response(self, client: redis.Redis) -> None:
        """Wait until the server responds, which it does after it has read its whole file; fail if it ends."""
        process = self._process
        assert process is not None
        wait_for(lambda: process.poll() is not None or responds_to_ping(client))
        assert process.poll() is None, f"redis-server ended at its start with {process.returncode}"

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        if self._process is not None:
            stop(self._process)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class LocalRedis(RedisServer):
    """A redis-server on a Unix socket."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.path = folder / "redis.sock"
        super().__init__(folder, "--port", "0", "--unixsocket", str(self.path), *options)
        self.url = f"unix://{self.path}"

    def start(self) -> None:
        super().start()
        with redis.Redis(unix_socket_path=str(self.path)) as client:
            self.await_response(client)


class TcpRedis(RedisServer):
    """A redis-server on a free port, with a password; in a network namespace if one is named."""

    scheme = "redis"

    def __init__(self, folder: Path, *options: str, host: str = "127.0.0.1", namespace: str = "") -> None:
        folder.mkdir(exist_ok=True)
        self.host, self.port = host, free_port()
        address = ("--port", str(self.port), "--bind", host, "--repl-diskless-sync-delay", "0")
        super().__init__(folder, *address, "--requirepass", TOKEN, "--masterauth", TOKEN, *options)
        if namespace:
            self._command = ["ip", "netns", "exec", namespace, *self._command]
        self.url = f"{self.scheme}://:{TOKEN}@{host}:{self.port}"
        self.client = redis.Redis(host, self.port, password=TOKEN)

    def start(self) -> None:
        super().start()
        self.await_response(self.client)

    def stop(self) -> None:
        self.client.close()
        super().stop()


class ClusterNode(TcpRedis):
    """One primary of a cluster; the other nodes keep serving without it."""

    scheme = "redis+cluster"

    def __init__(self, folder: Path, host: str = "127.0.0.1", namespace: str = "") -> None:
        options = {"cluster-port": free_port(), "cluster-enabled": "yes", "cluster-node-timeout": 1000}
        options |= {"cluster-require-full-coverage": "no"}
        words = (word for name, value in options.items() for word in (f"--{name}", str(value)))
        super().__init__(folder, *words, host=host, namespace=namespace)

    def sees_all(self) -> bool:
        """Return whether no node is unreachable in this node's view."""
        info = self.client.execute_command("CLUSTER", "INFO")
        return all(each in info for each in (b"state:ok", b"slots_pfail:0", b"slots_fail:0"))


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a redis-server on a Unix socket; yield its URL. Skips without redis-server."""
    with LocalRedis(folder) as server:
        yield server.url


@contextmanager
def redis_nodes(
    folder: Path, hosts: Sequence[tuple[str, str]] = (("127.0.0.1", ""),) * 3
) -> Iterator[list[ClusterNode]]:
    """Start a Redis Cluster of primaries at these addresses, each in a network namespace if it is named.

    Skips without redis-server.
    """
    for attempt in range(3):  # another process can take a port before the server does
        started = [ClusterNode(folder / f"node-{attempt}-{node}", *each) for node, each in enumerate(hosts)]
        try:
            for node in started:
                node.start()
            _join([node.client for node in started])
        except (AssertionError, OSError, redis.RedisError):
            for node in started:
                node.stop()
            if attempt == 2:
                raise
        else:
            break
    try:
        yield started
    finally:
        for node in started:
            node.stop()


@contextmanager
def emptied(nodes: Sequence[ClusterNode]) -> Iterator[Sequence[ClusterNode]]:
    """Lend a cluster to one test; then delete its data and restore its settings."""
    settings = [{name: node.client.config_get(name)[name] for name in CHECKED_SETTINGS} for node in nodes]
    for node in nodes:
        node.client.config_resetstat()
    wait_for(lambda: all(node.sees_all() for node in nodes))
    yield nodes
    for node, before in zip(nodes, settings, strict=True):
        for name, value in before.items():
            node.client.config_set(name, value)
        node.client.flushall()
        wait_for(lambda node=node: not rewrites_file(node.client))


def rewrites_file(client: redis.Redis) -> bool:
    """Return whether a Redis rewrites its append-only file, or is about to."""
    status = client.info("persistence")
    return bool(status["aof_rewrite_in_progress"] or status["aof_rewrite_scheduled"])


def rewrite_once(client: redis.Redis) -> None:
    """Rewrite a Redis's append-only file, so that a collector does not do so when it starts."""
    client.bgrewriteaof()
    wait_for(lambda: not rewrites_file(client))
    client.config_resetstat()


def _join(clients: Sequence[redis.Redis]) -> None:
    """Join servers into one cluster with equal shares of the slots."""
    for place, client in enumerate(clients):
        first, last = (16384 * each // len(clients) for each in (place, place + 1))
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
        where = client.connection_pool.connection_kwargs
        bus = client.config_get("cluster-port")["cluster-port"]
        clients[0].execute_command("CLUSTER", "MEET", where["host"], where["port"], bus)
    for client in clients:
        wait_for(lambda client=client: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        wait_for(lambda client=client: len(client.execute_command("CLUSTER", "SHARDS")) == len(clients))


def rewriting_process(client: redis.Redis) -> int:
    """Wait until a Redis rewrites its append-only file; return the id of the process that does."""
    server = client.info("server")["process_id"]
    wait_for(lambda: client.info("persistence")["aof_rewrite_in_progress"])
    (child,) = children_of(server)
    return child


@contextmanager
def paused_rewrite(client: redis.Redis) -> Iterator[None]:
    """Wait until a Redis rewrites its append-only file, and pause the rewrite."""
    process = rewriting_process(client)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def free_port() -> int:
    """Return a port that is free now, and that this process has not returned for a long time.

    It is below the ports that Debian and macOS give to outgoing connections, so that none of these takes it
    before the server does. Each worker of pytest has a thousand ports of its own.
    """
    first = 20_000 + 1000 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 12)
    while True:
        port = first + next(_PORTS) % 1000
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def responds_to_ping(client: redis.Redis) -> bool:
    with suppress(redis.RedisError):
        return bool(client.ping())
    return False


def inherited_environment() -> dict[str, str]:
    """Return this process's environment without LDP_ variables, which commands would read as settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("LDP_")}


def _program(prelude: str) -> list[str]:
    """Return the command that runs ldp-collector, after some lines of Python."""
    if not prelude:
        return [str(Path(sys.executable).parent / "ldp-collector")]
    return [sys.executable, "-c", f"{prelude}\nfrom encoders.extras import ldp_collector\nldp_collector()"]


@contextmanager
def collector(
    surveys: Sequence[Path],
    store: str | None,
    *,
    workers: int | None = 2,
    token: str | None = TOKEN,
    options: Sequence[object] = (),
    log: Path | None = None,
    prelude: str = "",
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start ldp-collector on a free port; yield its base URL and its process.

    `log`: a file for its log. `prelude`: Python that its processes run first, for example to shorten a pause.
    """
    command = [*_program(prelude), "serve", *map(str, surveys)]
    command += ["--bind", "127.0.0.1:0", *map(str, options)]
    command += ["--store", store] if store else []
    command += ["--workers", str(workers)] if workers else []
    environment = inherited_environment()
    if token:
        environment["LDP_OPERATOR_TOKEN"] = token
    with log.open("wb") if log else nullcontext(subprocess.STDOUT) as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        seen = ""
        for line in process.stdout or ():
            seen += line
            if match := re.search(r"(http://[\d.:]+)/v1/surveys/", line):
                break
        else:
            raise AssertionError(f"the collector did not start:\n{seen}")
        yield match[1], process
    finally:
        stop(process)


def local_nginx(
    folder: Path,
    port: int,
    upstream: int | Sequence[int],
    client_seconds: int = 10,
    *,
    name: str = "nginx.conf",
    tls: bool = False,
) -> Path:
    """Write shipped files of nginx with another address, other upstreams and other folders.

    `client_seconds`: how long it waits for a client. `name`: of the file in deploy/. `tls`: whether TLS
    stays; the certificate is then in the folder.
    """
    shipped_files = {"nginx.conf": SHIPPED_NGINX.parent / name, "proxy.conf": SHIPPED_PROXY}
    texts = {each: path.read_text() for each, path in shipped_files.items()}
    upstreams = [upstream] if isinstance(upstream, int) else upstream
    server = "relay:8100" if name.startswith("relay") else "collector:8000"
    changes = {
        "listen 8443 ssl;": f"listen 127.0.0.1:{port}{' ssl' * tls};",
        f"server {server};": " ".join(f"server 127.0.0.1:{each};" for each in upstreams),
        "_timeout 10s;": f"_timeout {client_seconds}s;",
    }
    for shipped, here in changes.items():
        assert any(shipped in text for text in texts.values())
        texts = {each: text.replace(shipped, here) for each, text in texts.items()}
    for shipped in ("/tmp/", "/etc/nginx/tls/", "/var/lib/nginx/"):
        texts = {each: text.replace(shipped, f"{folder}/") for each, text in texts.items()}
    if not tls:
        lines = texts["proxy.conf"].splitlines()
        texts["proxy.conf"] = "\n".join(line for line in lines if not line.strip().startswith("ssl_"))
    if os.geteuid() == 0:  # else its workers cannot access the folder of a test
        texts["nginx.conf"] = f"user root;\n{texts['nginx.conf']}"
    for each, text in texts.items():
        (folder / each).write_text(text)
    return folder / "nginx.conf"


def nginx(folder: Path, conf: Path, *options: str) -> list[str]:
    """Return the command that runs nginx with a configuration file. Skips without nginx."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("needs nginx (Debian: apt-get install nginx)")
    return [program, "-p", str(folder), "-e", "stderr", "-c", str(conf), *options]


@contextmanager
def front_proxy(
    folder: Path,
    upstream: int | Sequence[int],
    client_seconds: int = 10,
    *,
    name: str = "nginx.conf",
    tls: bool = False,
) -> Iterator[str]:
    """Start a shipped proxy, as in `local_nginx`; yield its base URL. Skips without nginx."""
    port = free_port()
    conf = local_nginx(folder, port, upstream, client_seconds, name=name, tls=tls)
    with (folder / "nginx.log").open("wb") as log:
        process = subprocess.Popen(nginx(folder, conf, "-g", "daemon off;"), stdout=log, stderr=log)
    try:
        wait_for(lambda: process.poll() is not None or listens(port))
        assert process.poll() is None, (folder / "nginx.log").read_text()
        yield f"http{'s' * tls}://127.0.0.1:{port}"
    finally:
        stop(process)


def listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class KillableCollector:
    """An ldp-collector on a fixed port that can be killed and started again; it prints to a file."""

    def __init__(
        self,
        survey: Path,
        store: str,
        log: Path,
        workers: int = 2,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        prelude: str = "",
    ) -> None:
        self.port, self._environment = free_port(), environment
        self.base = f"http://127.0.0.1:{self.port}"
        self._command = [*_program(prelude), "serve", str(survey)]
        self._command += ["--store", store, "--bind", f"127.0.0.1:{self.port}", "--workers", str(workers)]
        self._command += options
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.launch()
        self.wait()

    def launch(self) -> None:
        with self._log.open("ab") as log:
            self._before = log.tell()
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)

    def wait(self) -> None:
        """Wait until it accepts connections; its workers may not have started yet."""
        process = self.process
        assert process is not None
        wait_for(lambda: process.poll() is not None or "/v1/surveys/" in self.printed()[self._before :])
        assert process.poll() is None, self.printed()

    def printed(self) -> str:
        return self._log.read_text()

    def workers(self) -> list[int]:
        assert self.process is not None
        return workers_of(self.process)

    def kill(self, everything: bool = True) -> None:
        """Kill the master; kill its workers too if `everything`, else wait until they end."""
        assert self.process is not None
        workers = self.workers()
        self.process.kill()
        self.process.wait()
        for worker in workers if everything else ():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        wait_for(lambda: not any(map(_runs, workers)))

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process)


def _runs(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def workers_of(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> list[int]:
    """Return the process ids of a collector's workers (Linux only)."""
    return children_of(process.pid)


def children_of(process: int) -> list[int]:
    """Return the ids of a process's children (Linux only)."""
    children = Path(f"/proc/{process}/task/{process}/children")
    if not children.exists():
        pytest.skip("needs Linux's /proc to find the children of a process")
    return [int(child) for child in children.read_text().split()]


def resident(process: int) -> float:
    """Return a process's memory in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Stop a process: SIGTERM, then SIGKILL after 25 seconds."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(25)  # gunicorn itself kills a worker after 30 s
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


def wait_for(condition: object) -> None:
    """Wait until a condition is true; fail after two minutes."""
    end = time.monotonic() + _PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, f"the condition was not true within {_PATIENCE:.0f} s"
        time.sleep(0.01)
