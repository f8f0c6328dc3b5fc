"""nginx.conf is accepted by nginx, also as adapted to a machine without compose."""

import os
import shlex
import socket
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from tests.support.servers import SHIPPED_NGINX, free_port, listens, nginx, stop, wait_for


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


def in_folder(folder: Path, text: str) -> str:
    """Return the configuration with its files in one folder."""
    for shipped in ("/tmp/", "/var/lib/nginx/", "/etc/nginx/tls/"):
        text = text.replace(shipped, f"{folder}/")
    return text


@pytest.mark.slow
def test_nginx_accepts_the_file(tmp_path):
    make_certificate(tmp_path)
    text = in_folder(tmp_path, SHIPPED_NGINX.read_text())
    conf = tmp_path / "nginx.conf"
    conf.write_text(text.replace("collector:8000", "127.0.0.1:8000"))  # nginx resolves names at its start
    run = subprocess.run(nginx(tmp_path, conf, "-t"), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "[warn]" not in run.stderr


@pytest.mark.slow
def test_the_documented_sed_command_adapts_the_file_to_a_machine_without_compose(tmp_path):
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
        pid_file = tmp_path / "nginx.pid"  # nginx listens before it writes this file
        wait_for(lambda: pid_file.exists() and pid_file.read_text().strip() == str(server.pid))
        trusted = ssl.create_default_context(cafile=tmp_path / "fullchain.pem")
        with (
            socket.create_connection(("127.0.0.1", port), 20) as line,
            trusted.wrap_socket(line, server_hostname="collector.test") as secret,
        ):
            secret.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert secret.recv(100).startswith(b"HTTP/1.1 404")
    finally:
        stop(server)


@pytest.mark.slow
def test_every_connection_has_forward_secrecy_and_every_response_requires_https(tmp_path):
    make_certificate(tmp_path, is_rsa=True)
    port = free_port()
    text = in_folder(tmp_path, SHIPPED_NGINX.read_text())
    text = text.replace("collector:8000", f"127.0.0.1:{free_port()}")
    conf = tmp_path / "nginx.conf"
    conf.write_text(text.replace("listen 8443 ssl;", f"listen 127.0.0.1:{port} ssl;"))
    server = subprocess.Popen(nginx(tmp_path, conf, "-g", "daemon off;"))
    try:
        wait_for(lambda: server.poll() is not None or listens(port))
        for cipher in ("AES128-GCM-SHA256", "AES256-SHA", "ECDHE-RSA-AES256-SHA"):
            with pytest.raises(ssl.SSLError):
                request(tmp_path, port, "/", cipher)
        for path, status in {"/nothing": 404, "/": 503, "/%00": 400}.items():
            shown = request(tmp_path, port, path, "ECDHE-RSA-AES128-GCM-SHA256")
            assert shown.startswith(f"HTTP/1.1 {status} "), shown
            assert shown.count("\r\nStrict-Transport-Security: max-age=63072000\r\n") == 1
    finally:
        stop(server)


def request(folder: Path, port: int, path: str, cipher: str) -> str:
    """Return the response to a request over TLS 1.2 with one cipher."""
    trusted = ssl.create_default_context(cafile=folder / "fullchain.pem")
    trusted.maximum_version = ssl.TLSVersion.TLSv1_2
    trusted.set_ciphers(cipher)
    with (
        socket.create_connection(("127.0.0.1", port), 20) as line,
        trusted.wrap_socket(line, server_hostname="collector.test") as secret,
    ):
        secret.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: secret.recv(10_000), b"")).decode()
