"""The files of deploy/, each run by its own program as far as possible on one machine."""

from __future__ import annotations

import configparser
import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from ldp_aggregator.collector.dashboard.page import assets_version
from ldp_aggregator.stores import StorePolicy, open_store
from ldp_client import make_report, transport
from ldp_client.collector_response import parse_outcome
from tests.support.servers import (
    SHIPPED_NGINX,
    TOKEN,
    collector,
    free_port,
    front_proxy,
    inherited_environment,
    listens,
    nginx,
    responds_to_ping,
    stop,
    wait_for,
)
from tests.support.surveys import SLEEP

DEPLOY = SHIPPED_NGINX.parent
ROW = {"age": "old", "hours": 7}
PAGE = "/v1/surveys/sleep/reports"
PASSWORD = "a-password-of-the-tests"


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SLEEP)
    return path


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def unit() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "ldp-collector.service")
    return parser["Service"]


# -- compose.yaml, redis.conf -------------------------------------------------------------------


def test_containers_are_confined_and_do_not_run_as_root(services: dict[str, Any]) -> None:
    for name, service in services["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if "build" not in service:
            assert not service["user"].startswith(("0", "root")), name
            assert ":" in service["image"], name
    last = (DEPLOY / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last


def test_only_the_proxy_is_reachable_and_only_the_proxy_is_trusted(services: dict[str, Any]) -> None:
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


def test_memory_is_limited_and_a_stop_waits_for_requests(services: dict[str, Any]) -> None:
    every = services["services"]
    for name, service in every.items():
        assert all(re.search(r"size=\d+m", place) for place in service["tmpfs"]), (
            name
        )  # no other writable place
    assert {name for name in every if "mem_limit" in every[name]} == {"collector", "proxy"}
    assert {every[name]["stop_grace_period"] for name in ("collector", "proxy")} == {"35s"}


@pytest.mark.slow
def test_the_redis_of_compose_is_as_durable_as_the_collector_requires(
    services: dict[str, Any], tmp_path: Path
) -> None:
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


# -- command lines -------------------------------------------------------------------------------


@contextmanager
def started(command: Sequence[str], environment: dict[str, str]) -> Iterator[int]:
    """Run a shipped command line with a local program, survey and port; yield the port."""
    port = free_port()
    program = str(Path(sys.executable).parent / "ldp-collector")
    words = [program, *command]
    words[words.index("--bind") + 1] = f"127.0.0.1:{port}"
    process = subprocess.Popen(
        words, env=inherited_environment() | environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "/v1/surveys/sleep" in (process.stdout.readline() if process.stdout else "")
        yield port
    finally:
        stop(process)


def request_status(port: int, page: str, token: str = "") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", page, headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status
    finally:
        connection.close()


def is_ready(port: int) -> bool:
    return request_status(port, "/readyz") == 200


@pytest.mark.slow
def test_the_command_of_compose_starts_a_collector(
    services: dict[str, Any], survey: Path, tmp_path: Path
) -> None:
    service = services["services"]["collector"]
    assert service["environment"]["LDP_STORE"].startswith("redis://:${REDIS_PASSWORD")
    command = [str(survey) if word == "/surveys/survey.toml" else word for word in service["command"]]
    with started(command, {"LDP_STORE": f"sqlite:///{tmp_path}/ldp.db"}) as port:
        assert is_ready(port)
    assert (tmp_path / "ldp.db").exists()


@pytest.mark.slow
def test_the_command_of_the_unit_starts_a_collector(
    unit: configparser.SectionProxy, survey: Path, tmp_path: Path
) -> None:
    _, *command = shlex.split(unit["ExecStart"])
    command = [str(survey) if word == "/etc/ldp-collector/survey.toml" else word for word in command]
    environment = dict(each.split("=", 1) for each in shlex.split(unit["Environment"]))
    assert unit["LoadCredential"] == "operator-token:/etc/ldp-collector/operator-token"
    (tmp_path / "operator-token").write_text("a-token-of-the-tests\n")
    places = {"/var/lib/ldp-collector": str(tmp_path), "%d": str(tmp_path)}
    for shipped, here in places.items():
        assert any(shipped in value for value in environment.values())
        environment = {name: value.replace(shipped, here) for name, value in environment.items()}
    with started(command, environment) as port:
        assert is_ready(port)
        assert request_status(port, "/metrics", "a-token-of-the-tests") == 200
        assert request_status(port, "/metrics", "another") == 401
    assert (tmp_path / "ldp.db").exists()


def test_the_unit_is_confined(unit: configparser.SectionProxy) -> None:
    expected = {
        "DynamicUser": "yes",
        "StateDirectory": "ldp-collector",
        "ProtectSystem": "strict",
        "NoNewPrivileges": "yes",
        "MemoryDenyWriteExecute": "yes",
        "CapabilityBoundingSet": "",
        "ExecReload": "/bin/kill -HUP $MAINPID",
    }
    assert {name: unit.get(name) for name in expected} == expected
    assert "LogsDirectory" not in unit
    assert "LDP_OPERATOR_TOKEN=" not in unit["Environment"]  # all users can read units


@pytest.mark.slow
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze (Debian: apt-get install systemd)")
    text = (DEPLOY / "ldp-collector.service").read_text()
    copy = tmp_path / "ldp-collector.service"
    copy.write_text(text.replace("/opt/ldp-bayes/bin/ldp-collector", "/bin/true"))
    run = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert (run.returncode, "ldp-collector.service" in run.stderr) == (0, False), run.stderr


# -- nginx.conf ----------------------------------------------------------------------------------


def make_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "collector.test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "privkey.pem").write_bytes(private)


@pytest.mark.slow
def test_nginx_accepts_the_file(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    text = SHIPPED_NGINX.read_text().replace("/tmp/", f"{tmp_path}/").replace("/etc/nginx/tls", str(tmp_path))
    conf = tmp_path / "nginx.conf"
    conf.write_text(text.replace("collector:8000", "127.0.0.1:8000"))  # nginx resolves names at its start
    run = subprocess.run(nginx(tmp_path, conf, "-t"), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "[warn]" not in run.stderr


@pytest.mark.slow
def test_the_documented_sed_command_adapts_the_file_to_a_machine_without_compose(
    tmp_path: Path,
) -> None:
    head = SHIPPED_NGINX.read_text().partition("\nworker_processes")[0]
    command = head[head.index("sed ") : head.index(" deploy/nginx.conf >")].replace("\\\n#", "")
    changed = subprocess.run(
        [*shlex.split(command), SHIPPED_NGINX], capture_output=True, text=True, check=True
    )
    directives = changed.stdout.partition("\nworker_processes")[2]
    assert "/tmp/" not in directives
    port, folders = free_port(), {"/run/", "/var/lib/nginx/", "/etc/nginx/tls/"}
    assert "listen 443 ssl;" in directives
    text = changed.stdout.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
    for folder in folders:
        assert folder in directives
        text = text.replace(folder, f"{tmp_path}/")
    conf = tmp_path / "nginx.conf"
    conf.write_text(f"user root;\n{text}" if os.geteuid() == 0 else text)
    make_certificate(tmp_path)
    server = subprocess.Popen(nginx(tmp_path, conf, "-g", "daemon off;"))
    try:
        wait_for(lambda: server.poll() is not None or listens(port))
        assert (tmp_path / "nginx.pid").read_text().strip() == str(server.pid)
        trusted = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
        with (
            socket.create_connection(("127.0.0.1", port), 20) as line,
            trusted.wrap_socket(line, server_hostname="collector.test") as secret,
        ):
            secret.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert secret.recv(100).startswith(b"HTTP/1.1 404")
    finally:
        stop(server)


class HeaderRecorder(BaseHTTPRequestHandler):
    """Replaces the collector, and stores the headers that it receives."""

    protocol_version = "HTTP/1.1"
    received: list[dict[str, str]]

    def do_POST(self) -> None:
        self.received.append({name.lower(): value for name, value in self.headers.items()})
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[tuple[int, list[dict[str, str]]]]:
    handler = type("Recorder", (HeaderRecorder,), {"received": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], handler.received
        server.shutdown()


ProxyResponse = tuple[int, dict[str, Any], http.client.HTTPMessage]


def post_report(front: str, body: bytes, source: str = "127.0.0.1", **headers: str) -> ProxyResponse:
    parts = urlsplit(front)
    line = http.client.HTTPConnection(str(parts.hostname), parts.port, 20, source_address=(source, 0))
    try:
        line.request("POST", PAGE, body, {"Content-Type": MEDIA_TYPE} | headers)
        response = line.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}, response.headers
    finally:
        line.close()


@pytest.mark.slow
def test_the_proxy_removes_headers_that_identify_devices(
    tmp_path: Path, listener: tuple[int, list[dict[str, str]]]
) -> None:
    port, received = listener
    identifying = {"User-Agent": "a-phone", "Cookie": "who=me", "Referer": "a-page", "Forwarded": "for=me"}
    identifying |= {"Origin": "https://a-page.example"}
    identifying |= {"X-Real-IP": "203.0.113.1", "X-Forwarded-For": "203.0.113.1", "Accept-Language": "en"}
    with front_proxy(tmp_path, port) as front:
        _, _, headers = post_report(front, b"a body", "127.0.1.9", **identifying)
    expected = {"host": "127.0.0.1", "content-type": MEDIA_TYPE, "content-length": "6"}
    assert received == [expected | {"x-forwarded-for": "127.0.1.9"}]
    assert headers["Server"] == "nginx"


@pytest.mark.slow
def test_the_rate_limit_applies_to_the_client_of_the_proxy_and_no_address_is_stored(
    survey: Path, tmp_path: Path
) -> None:
    plan = read_survey(SLEEP).compile()
    options = ("--rate", "2", "--trusted-proxy", "127.0.0.1")

    def post(front: str, source: str, claimed: str) -> tuple[int, Any]:
        body = make_report(plan, ROW, "yes")
        status, problem, _ = post_report(front, body, source, **{"X-Forwarded-For": claimed})
        return status, problem.get("reason")

    (tmp_path / "proxy").mkdir()
    url = f"sqlite:///{tmp_path}/ldp.db"
    with collector([survey], url, options=options, workers=1) as (base, process):
        with front_proxy(tmp_path / "proxy", urlsplit(base).port or 0) as front:
            one = [post(front, "127.0.1.7", f"203.0.113.{number}") for number in range(3)]
            assert one == [(200, None), (200, None), (429, "too-many-requests")]
            assert post(front, "127.0.1.8", "127.0.1.7") == (200, None)
            with socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)) as garbled:
                garbled.sendall(b"garbage\r\n\r\n")
                assert garbled.recv(100).startswith(b"HTTP/1.1 400")
        process.terminate()
        printed = process.stdout.read() if process.stdout else ""
    kept = printed.encode() + b"".join(path.read_bytes() for path in tmp_path.glob("ldp.db*"))
    kept += b"".join(path.read_bytes() for path in (tmp_path / "proxy").rglob("*.log"))
    for address in (b"127.0.1.", b"203.0.113."):
        assert address not in kept


@pytest.mark.slow
def test_errors_of_the_proxy_have_the_format_of_the_collector(tmp_path: Path) -> None:
    with ExitStack() as stack:
        nobody = stack.enter_context(socket.socket())
        nobody.bind(("127.0.0.1", 0))  # a reserved port on which nothing listens
        front = stack.enter_context(front_proxy(tmp_path, nobody.getsockname()[1]))
        status, problem, headers = post_report(front, b"a body")
        assert (status, problem["reason"], problem["retryable"]) == (503, "store-unavailable", True)
        assert headers["Retry-After"] == "5"
        assert headers["Content-Type"] == "application/problem+json"
        status, problem, _ = post_report(front, bytes((256 << 10) + 1))
        assert (status, problem["reason"], problem["retryable"]) == (413, "too-large", False)
        for _ in range(40):  # more than the limit of 32: earlier ones may still be open
            line = stack.enter_context(socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)))
            line.sendall(f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx".encode())
        responses: list[ProxyResponse] = []
        wait_for(lambda: responses.append(post_report(front, b"a body")) or responses[-1][0] == 429)  # type: ignore[func-returns-value]
        _, problem, headers = responses[-1]
        assert (problem["reason"], problem["retryable"]) == ("too-many-requests", True)
        assert headers["Retry-After"] == "5"
        assert cross_origin_headers(headers) == READABLE
        assert post_report(front, b"a body", "127.0.1.9")[0] == 503  # other addresses are served


def cross_origin_headers(headers: http.client.HTTPMessage) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.items() if name.lower().startswith("access-control-")]


READABLE = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", "Retry-After")]
CLOSED_PATHS = [
    *("/", "/metrics", "/openapi.json", "/v1/surveys", "/v1/surveys/", "/static/0/page.js", "/livez", "/x"),
    *(
        f"/v1/surveys/sleep/{page}"
        for page in ("snapshot", "estimates", "estimates.csv", "progress", "merge")
    ),
    *(
        "/v1/surveys/sleep/reports/x",
        "/v1/surveys/sleep%2fprogress?/v1/surveys/sleep",
        "/x?/v1/surveys/sleep",
    ),
]


def ask(
    front: str, method: str, path: str, body: bytes | None = None, origin: str = "https://page.example"
) -> http.client.HTTPResponse:
    """Send a request of a page of another origin; return the response, whose content was read."""
    parts = urlsplit(front)
    with closing(http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)) as line:
        preflight = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        headers = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"} | preflight
        line.request(method, path, body, headers | ({"Content-Type": "text/plain"} if body else {}))
        response = line.getresponse()
        response.read()
        return response


@pytest.mark.slow
def test_the_proxy_adds_and_removes_no_cross_origin_header(survey: Path, tmp_path: Path) -> None:
    report = make_report(read_survey(SLEEP).compile(), ROW, "yes")
    requests: list[tuple[str, str, bytes | None]] = [("OPTIONS", PAGE, None), ("POST", PAGE, report)]
    requests += [
        ("POST", PAGE, b"junk"),
        ("GET", "/v1/surveys/sleep", None),
        ("GET", "/v1/surveys/diet", None),
    ]
    requests += [(method, path, None) for method in ("GET", "OPTIONS") for path in CLOSED_PATHS]
    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        for number, request in enumerate(requests):
            direct, through = ask(base, *request), ask(front, *request)
            found = cross_origin_headers(through.headers)
            assert found == cross_origin_headers(direct.headers)
            assert through.status == direct.status or request[1] == "/livez"
            assert bool(found) == (number < 5)


@pytest.mark.slow
def test_the_documented_lines_make_the_proxy_refuse_pages_of_unknown_origins(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documented = (DEPLOY.parent / "docs" / "securing.md").read_text()
    of_http, of_location = re.findall(
        r"^    (map \$http_origin .*|if \(\$foreign\) .*?)  +#", documented, re.M
    )
    shipped = SHIPPED_NGINX.read_text()
    head, location = "http {\n", "metrics$) {\n"
    assert (shipped.count(head), shipped.count(location)) == (1, 1)
    changed = tmp_path / "changed.conf"
    changed.write_text(
        shipped.replace(head, f"{head}{of_http}\n").replace(location, f"{location}{of_location}\n")
    )
    monkeypatch.setattr("tests.support.servers.SHIPPED_NGINX", changed)
    plan = read_survey(SLEEP).compile()

    def post(front: str, **headers: str) -> int:
        return post_report(front, make_report(plan, ROW, "yes"), **headers)[0]

    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        assert post(front) == 200
        assert post(front, Origin="https://survey.example") == 200
        for origin in ("https://page.example", "http://survey.example", "null"):
            assert ask(front, "POST", PAGE, make_report(plan, ROW, "yes"), origin).status == 403


@pytest.mark.slow
def test_errors_of_the_proxy_are_readable_from_every_origin_for_the_paths_of_devices_only(
    tmp_path: Path,
) -> None:
    open_paths = [f"/v1/surveys/sleep{path}" for path in ("", "?x=/", "/texts", "/signature", "/reports")]
    with front_proxy(tmp_path, free_port()) as front:
        for paths, expected in ((open_paths, READABLE), (CLOSED_PATHS, [])):
            for path in paths:
                unreachable = ask(front, "GET", path)
                assert unreachable.status == (404 if path[:3] in ("/li", "/x", "/x?") else 503)
                assert cross_origin_headers(unreachable.headers) == expected
        for path, expected in ((PAGE, READABLE), ("/metrics", [])):
            large = ask(front, "POST", path, bytes((256 << 10) + 1))
            assert (large.status, cross_origin_headers(large.headers)) == (413, expected)
            odd = ask(front, "TRACE", path)
            assert (odd.status, cross_origin_headers(odd.headers)) == (405, expected)


H = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


def refusal(front: str, request: bytes) -> tuple[int, dict[str, Any]]:
    """Send bytes; return the status and the problem of the response, which must be a problem."""
    with socket.create_connection(("127.0.0.1", urlsplit(front).port or 0), 20) as line:
        line.sendall(request)
        response = http.client.HTTPResponse(line)
        response.begin()
        assert response.headers["Content-Type"] == "application/problem+json"
        return response.status, json.loads(response.read())


@pytest.mark.slow
def test_a_refusal_by_the_proxy_is_a_problem_that_does_not_reject_the_report(
    tmp_path: Path,
) -> None:
    requests = {
        b"GET /" + H + b"X: " + b"a" * 9000 + b"\r\n\r\n": 400,
        b"GET /%zz" + H + b"\r\n": 400,
        b"GET / HTTP/1.1\r\n\r\n": 400,  # without a Host
        b"POST /v1/surveys" + H + b"Content-Length: x\r\n\r\n": 400,
        b"POST /v1/surveys" + H + b"Transfer-Encoding: odd\r\n\r\n": 400,
        b"TRACE /" + H + b"\r\n": 405,
        b"GET /" + b"a" * 9000 + H + b"\r\n": 414,
    }
    with front_proxy(tmp_path, free_port()) as front:
        for request, status in requests.items():
            received, problem = refusal(front, request)
            assert (received, problem["status"], problem["reason"]) == (status, status, "no-such-page"), (
                request[:40]
            )
            response = transport.Response(received, json.dumps(problem).encode(), None)
            assert parse_outcome(response) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["/livez", "/readyz", "/%72eadyz", "/v1/..%2freadyz", "/v1", "/refused", "/x"]
)
def test_the_proxy_blocks_pages_that_neither_devices_nor_the_operator_need(tmp_path: Path, page: str) -> None:
    with front_proxy(tmp_path, free_port()) as front:
        status, problem = refusal(front, f"GET {page}".encode() + H + b"\r\n")
        assert (status, problem["reason"]) == (404, "no-such-page")


@pytest.mark.slow
def test_the_pages_of_devices_and_operator_pass_the_proxy(survey: Path, tmp_path: Path) -> None:
    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        port = urlsplit(front).port or 0
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        line.request("GET", "/")
        static = re.search(r'"(static/[^"]+)"', line.getresponse().read().decode())
        line.close()
        assert static
        pages = ["/v1/surveys", "/v1/surveys/sleep", "/openapi.json", f"/{static[1]}"]
        assert [request_status(port, page) for page in pages] == [200] * len(pages)
        for page in ("/metrics", "/v1/surveys/sleep/progress"):
            assert request_status(port, page, TOKEN) == 200
        assert request_status(port, "/metrics") == 401


@pytest.mark.slow
def test_single_reports_pass_the_proxy_when_it_has_no_space_for_larger_bodies(
    tmp_path: Path, listener: tuple[int, list[dict[str, str]]]
) -> None:
    port, received = listener
    with front_proxy(tmp_path, port) as front:
        shutil.rmtree(tmp_path / "nginx-body")
        assert post_report(front, bytes(4096))[0] == 200
        status, problem, headers = post_report(front, bytes(100_000))
        assert (status, problem["retryable"], headers["Retry-After"]) == (503, True, "5")
    assert len(received) == 1


@pytest.mark.slow
def test_the_proxy_waits_for_whole_requests(
    tmp_path: Path, listener: tuple[int, list[dict[str, str]]]
) -> None:
    port, received = listener
    with (
        front_proxy(tmp_path, port) as front,
        socket.create_connection(("127.0.0.1", urlsplit(front).port or 0)) as line,
    ):
        line.sendall(f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n".encode())
        line.sendall(bytes(199_999))
        time.sleep(0.3)
        assert received == []
        line.sendall(b"x")
        wait_for(lambda: received)


CHART = f"/static/{assets_version()}/vendor/chart.umd.min.js"
SLOW_REQUESTS = {
    "silent": "",
    "header": f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "body": f"POST {PAGE} HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 9\r\n\r\nx",
    "unread response": f"GET {CHART} HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW_REQUESTS)
def test_slow_clients_do_not_stop_others_behind_the_proxy(survey: Path, tmp_path: Path, kind: str) -> None:
    plan = read_survey(SLEEP).compile()
    with (
        ExitStack() as stack,
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        for number in range(40):  # the collector has 16 threads
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.bind((f"127.0.1.{number + 1}", 0))
            line.connect(("127.0.0.1", urlsplit(front).port or 0))
            line.sendall(SLOW_REQUESTS[kind].encode())
        start = time.monotonic()
        for _ in range(20):
            assert post_report(front, make_report(plan, ROW, "yes"))[0] == 200
        assert time.monotonic() - start < 5  # without a buffering proxy, none gets a response
