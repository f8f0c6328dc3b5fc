"""nginx accepts the files of both proxies, also without compose; they share TLS, limits and headers."""

import http.client
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from tests.deploy.proxy_requests import READABLE, cross_origin_headers, refusal
from tests.support.http_servers import QuietHandler, serve
from tests.support.servers import (
    SHIPPED_NGINX,
    SHIPPED_PROXY,
    free_port,
    front_proxy,
    listens,
    local_nginx,
    nginx,
    stop,
    wait_for,
)

COLLECTOR, RELAY = "nginx.conf", "relay/nginx.conf"
FILES = pytest.mark.parametrize("name", [COLLECTOR, RELAY])
MESSAGE_PATH = f"/night-work/{'0' * 64}"


def make_certificate(folder: Path, is_rsa: bool = False) -> None:
    key = rsa.generate_private_key(65537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())
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
@FILES
def test_nginx_accepts_the_file(tmp_path, name):
    make_certificate(tmp_path)
    conf = local_nginx(tmp_path, free_port(), free_port(), name=name, tls=True)
    run = subprocess.run(nginx(tmp_path, conf, "-t"), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "[warn]" not in run.stderr


def directives(text: str) -> set[str]:
    """Return the names of the directives in a file of nginx, outside of `upstream`."""
    text = re.sub(r"upstream backend \{.*?\n    \}", "", text, flags=re.S)
    return set(re.findall(r"^ *([a-z_]+) [^{\n]*;", text, re.M)) - {"default"}


def test_collector_and_relay_differ_only_in_their_paths_limits_of_bodies_and_names():
    texts = [(SHIPPED_NGINX.parent / name).read_text() for name in (COLLECTOR, RELAY)]
    assert all("\n    include proxy.conf;\n}\n" in text for text in texts)
    shared = directives(SHIPPED_PROXY.read_text())
    assert {"ssl_protocols", "ssl_ciphers", "limit_conn", "client_body_timeout", "error_page"} <= shared
    assert {"add_header", "proxy_set_header", "proxy_pass"} <= shared
    repeated = {"server_tokens", "default_type"}
    for text in texts:
        assert not directives(text) & (shared - repeated)
        assert not re.search(
            r"\b(ssl|limit_conn|limit_req|add_header|error_page|location)\b", text.partition("\nhttp {")[2]
        )
    different = directives(texts[0]) ^ directives(texts[1])
    assert not [each for each in different if each.startswith(("ssl_", "client_", "limit_", "proxy_"))]


@pytest.mark.slow
@FILES
def test_the_documented_command_adapts_the_files_to_a_machine_without_compose(tmp_path, name):
    head = (SHIPPED_NGINX.parent / name).read_text().partition("\nworker_processes")[0]
    command = head[head.index("for file in") : head.index("; done")].replace("\n#", "\n")
    assert "/etc/nginx/" in command
    (tmp_path / "etc").mkdir()
    command = f"{command.replace('> /etc/nginx/', f'> {tmp_path}/etc/')}; done"
    subprocess.run(["sh", "-ec", command], cwd=SHIPPED_NGINX.parents[1], check=True)
    changed = {path.name: path.read_text() for path in (tmp_path / "etc").iterdir()}
    assert set(changed) == {"nginx.conf", "proxy.conf"}
    port, folders = free_port(), {"/run/", "/var/lib/nginx/", "/etc/nginx/tls/"}
    assert "listen 443 ssl;" in changed["proxy.conf"]
    without_comments = re.sub("#.*", "", "".join(changed.values()))
    assert "/tmp/" not in without_comments
    for each, text in changed.items():
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
        for folder in folders:
            assert folder in without_comments
            text = text.replace(folder, f"{tmp_path}/")
        is_root = each == "nginx.conf" and os.geteuid() == 0
        (tmp_path / "etc" / each).write_text(f"user root;\n{text}" if is_root else text)
    make_certificate(tmp_path)
    server = subprocess.Popen(nginx(tmp_path, tmp_path / "etc" / "nginx.conf", "-g", "daemon off;"))
    try:
        wait_for(lambda: server.poll() is not None or listens(port))
        pid_file = tmp_path / "nginx.pid"  # nginx listens before it writes this file
        wait_for(lambda: pid_file.exists() and pid_file.read_text().strip() == str(server.pid))
        assert request(tmp_path, port, "/readyz").startswith("HTTP/1.1 404")
    finally:
        stop(server)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@FILES
def test_every_connection_has_forward_secrecy_and_every_response_requires_https(tmp_path, name):
    make_certificate(tmp_path, is_rsa=True)
    with front_proxy(tmp_path, free_port(), name=name, tls=True) as front:
        port = int(front.rpartition(":")[2])
        for cipher in ("AES128-GCM-SHA256", "AES256-SHA", "ECDHE-RSA-AES256-SHA"):
            with pytest.raises(ssl.SSLError):
                request(tmp_path, port, "/", cipher)
        for path, status in {"/nothing": 404, "/metrics": 503, "/%00": 400}.items():
            shown = request(tmp_path, port, path, "ECDHE-RSA-AES128-GCM-SHA256")
            assert shown.startswith(f"HTTP/1.1 {status} "), shown
            assert shown.count("\r\nStrict-Transport-Security: max-age=63072000\r\n") == 1
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            with pytest.raises(ssl.SSLError, match="alert protocol version"):
                request(tmp_path, port, "/", "ALL:@SECLEVEL=0", version)
        assert request(tmp_path, port, "/metrics", version=ssl.TLSVersion.TLSv1_3).startswith("HTTP/1.1 503")


@pytest.mark.slow
@FILES
def test_new_connections_have_a_renewed_certificate_after_a_reload(tmp_path, name):
    make_certificate(tmp_path)
    with front_proxy(tmp_path, free_port(), name=name, tls=True) as front:
        port = int(front.rpartition(":")[2])
        request(tmp_path, port, "/metrics")
        make_certificate(tmp_path)
        with pytest.raises(ssl.SSLError):
            request(tmp_path, port, "/metrics")
        os.kill(int((tmp_path / "nginx.pid").read_text()), signal.SIGHUP)

        def is_renewed() -> bool:
            with suppress(ssl.SSLError):
                return request(tmp_path, port, "/metrics").startswith("HTTP/1.1 503")
            return False

        wait_for(is_renewed)


class RelayHandler(QuietHandler):
    """Replaces a relay."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, dict[str, str]]]

    def do_POST(self) -> None:
        self.read_body()
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.answer(202)


@pytest.mark.slow
def test_errors_of_the_proxy_of_a_relay_are_readable_from_every_origin_and_retried(tmp_path):
    with front_proxy(tmp_path, free_port(), name=RELAY) as front:
        of_wave = f"{MESSAGE_PATH}/2027-03"
        for path in (MESSAGE_PATH, of_wave, "/night-work/plan", "/metrics"):
            expected = [] if path == "/metrics" else READABLE
            status, problem, headers = post(front, path, b"a message")
            assert (status, problem["reason"], problem["retryable"]) == (503, "store-unavailable", True)
            assert headers["Retry-After"] == "5"
            assert cross_origin_headers(headers) == expected
        for path in ("/", "/livez", "/readyz", "/v1/surveys/night-work/sealed", "/%72eadyz"):
            status, problem = refusal(front, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (status, problem["reason"]) == (404, "no-such-page")


@pytest.mark.slow
def test_the_proxy_of_a_relay_passes_no_header_that_identifies_a_device_and_writes_no_body_to_a_disk(
    tmp_path,
):
    identifying = {
        "User-Agent": "a-phone",
        "Cookie": "who=me",
        "Referer": "a-page",
        "Origin": "https://a-page.example",
    }
    handler = type("Recorder", (RelayHandler,), {"seen": []})
    with serve(handler) as origin, front_proxy(tmp_path, int(origin.rpartition(":")[2]), name=RELAY) as front:
        (tmp_path / "nginx-body").rmdir()
        body = bytes(60_000)
        assert post(front, MESSAGE_PATH, body, identifying)[0] == 202
        assert post(front, MESSAGE_PATH, bytes((64 << 10) + 1))[0] == 413
    expected = {"host": "127.0.0.1", "content-type": "text/plain", "content-length": str(len(body))}
    assert handler.seen == [(MESSAGE_PATH, expected | {"x-forwarded-for": "127.0.0.1"})]


@pytest.mark.slow
def test_the_proxy_of_a_relay_counts_the_requests_that_it_refuses_and_writes_nothing_else(tmp_path):
    handler = type("Recorder", (RelayHandler,), {"seen": []})
    with (
        serve(handler) as origin,
        front_proxy(tmp_path, int(origin.rpartition(":")[2]), name=RELAY) as front,
        ExitStack() as stack,
    ):
        address, begin = (
            ("127.0.0.1", int(front.rpartition(":")[2])),
            f"POST {MESSAGE_PATH} HTTP/1.1\r\nHost: x\r\n",
        )
        lines = [stack.enter_context(socket.create_connection(address)) for _ in range(64)]
        for line in lines:
            line.sendall(f"{begin}Content-Length: 9\r\n\r\nx".encode())
        # The limit of one address is 32. The others wait for the rest of their bodies.
        wait_for(lambda: len(select.select(lines, [], [], 0)[0]) == 32)
        assert [post(front, MESSAGE_PATH, b"a message")[0] for _ in range(5)] == [429] * 5
        wait_for(lambda: (tmp_path / "refusals").stat().st_size == 37)  # written after 5 s at most
    assert not (tmp_path / "refusals").read_bytes().strip(b"\n")
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert written <= {"nginx.conf", "proxy.conf", "nginx.log", "refusals", "nginx.pid"}


def post(
    front: str, path: str, body: bytes, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
    """Post a message to the proxy of a relay; return the status, the problem and the headers."""
    line = http.client.HTTPConnection("127.0.0.1", int(front.rpartition(":")[2]), timeout=60)
    with closing(line):
        line.request("POST", path, body, {"Content-Type": "text/plain"} | (headers or {}))
        response = line.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}, response.headers


def request(
    folder: Path, port: int, path: str, cipher: str = "", version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
) -> str:
    """Return the response to a request over one version of TLS with one cipher."""
    trusted = ssl.create_default_context(cafile=folder / "fullchain.pem")
    trusted.minimum_version = trusted.maximum_version = version
    if cipher:
        trusted.set_ciphers(cipher)
    with (
        socket.create_connection(("127.0.0.1", port), 20) as line,
        trusted.wrap_socket(line, server_hostname="collector.test") as secret,
    ):
        secret.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: secret.recv(10_000), b"")).decode()
