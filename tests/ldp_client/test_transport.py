"""HTTP as devices send it, against a real socket."""

import datetime
import ipaddress
import logging
import os
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ldp_client import HttpTransport, OptionError, TransportError
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from ldp_client.transport import post_report
from tests.support.http_servers import QuietHandler, serve


class _Handler(QuietHandler):
    seen: list[tuple[str, dict[str, str], bytes]]
    retry_after = "7"

    def do_POST(self) -> None:
        type(self).seen.append((self.path, dict(self.headers), self.read_body()))
        self.answer(503, b"busy", Retry_After=self.retry_after, Set_Cookie="id=1")


@pytest.fixture
def server() -> Iterator[tuple[str, type[_Handler]]]:
    handler = type("Handler", (_Handler,), {"seen": []})
    with serve(HTTPServer(("127.0.0.1", 0), handler)) as origin:  # without a thread for each request
        yield origin, handler


def test_requests_carry_the_body_and_nothing_about_the_device(server):
    base, handler = server
    for _ in range(2):
        response = HttpTransport().request("POST", f"{base}/v1/surveys/sleep/reports", b"body", 5.0)
    assert (response.status, response.body, response.retry_after) == (503, b"busy", 7.0)
    (path, headers, body), second = handler.seen
    assert (path, body) == ("/v1/surveys/sleep/reports", b"body")
    assert second == (path, headers, body)  # no cookie comes back
    assert list(headers) == [
        "Host",
        "Accept-Encoding",
        "Content-Length",
        "User-Agent",
        "Accept",
        "Content-Type",
    ]
    assert headers["User-Agent"] == "ldp-client"


def test_connection_without_a_server_is_a_transport_error():
    with pytest.raises(TransportError):
        HttpTransport().request("GET", "http://127.0.0.1:9/", None, 1.0)


@contextmanager
def _dripping(start: bytes) -> Iterator[int]:
    """Accept one connection and send it some bytes at once, then one at a time for two minutes."""
    done, end = threading.Event(), time.monotonic() + 120.0

    def drip() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(start)
                while time.monotonic() < end and not done.wait(0.02):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5.0)  # on a busy machine the client may give up before it connects
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "start"),
    [
        ("http", b""),
        ("http", b"HTTP/1.1 200 OK\r\nX-Endless: "),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        ("http", b"HTTP/1.0 200 OK\r\n\r\n{}"),
        ("https", b"\x16\x03\x03\x3f\xff"),  # one long record of a handshake
    ],
)
def test_a_server_that_drips_is_cut_off_in_time(scheme, start):
    with _dripping(start) as port:
        began = time.monotonic()
        with pytest.raises(TransportError) as raised:
            HttpTransport().request("GET", f"{scheme}://127.0.0.1:{port}/", None, 0.15)
        assert time.monotonic() - began > 0.12
        assert isinstance(raised.value.__cause__, TimeoutError)  # the server has not ended the connection


def test_a_request_needs_no_thread(server, monkeypatch):
    def refuse(thread: threading.Thread) -> None:  # as Python 3.12.1 does once it exits
        raise RuntimeError("can't create new thread at interpreter shutdown")

    http, _ = server
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert HttpTransport().request("POST", f"{http}/", b"body", 5.0).status == 503


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], threading.Event]]:
    """Let every lookup of a name hang until an event is set; yield the names and the event."""
    names, ended, find = list[str](), threading.Event(), socket.getaddrinfo
    monkeypatch.setattr("ldp_client.transport._lookups", lookups := {})

    def hang(host: str, *arguments: object, **options: object) -> object:
        names.append(host)
        ended.wait(30.0)
        return find("127.0.0.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    yield names, ended
    ended.set()
    for thread, _ in lookups.values():
        thread.join()


@pytest.mark.slow
def test_a_name_server_that_hangs_ends_a_request_in_time(hanging):
    for _ in range(3):
        with pytest.raises(TransportError, match="TimeoutError"):
            HttpTransport().request("GET", "http://collector.test/", None, 0.05)
    assert hanging[0] == ["collector.test"]  # one thread, however often a device tries
    with pytest.raises(TransportError, match="TimeoutError"):
        HttpTransport().request("GET", "http://other.test/", None, 0.05)
    assert hanging[0] == ["collector.test", "other.test"]


def test_a_late_answer_of_a_name_server_serves_the_request_that_waits(server, hanging):
    names, ended = hanging
    url = f"http://collector.test:{server[0].rpartition(':')[2]}/"
    with pytest.raises(TransportError, match="TimeoutError"):
        HttpTransport().request("POST", url, b"body", 0.01)
    threading.Timer(0.05, ended.set).start()
    assert HttpTransport().request("POST", url, b"body", 10.0).status == 503
    assert names == ["collector.test"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.usefixtures("hanging")
def test_a_forked_child_does_not_wait_for_a_lookup_of_its_parent():
    with pytest.raises(TransportError):
        HttpTransport().request("GET", "http://collector.test/", None, 0.01)
    if (child := os.fork()) == 0:
        socket.getaddrinfo = lambda *_, **__: []
        try:
            HttpTransport().request("GET", "http://collector.test/", None, 30.0)
        except TransportError as error:
            os._exit("OSError" not in str(error))
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_an_unknown_name_is_named_by_its_error(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(TransportError, match=r"gaierror$"):
        HttpTransport().request("GET", "http://collector.test/", None, 5.0)


@contextmanager
def _unaccepting() -> Iterator[tuple[str, int]]:
    """An address whose backlog is full, so that on Linux a connection attempt waits."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            line = stack.enter_context(socket.socket())
            line.setblocking(False)
            line.connect_ex(listener.getsockname())
        time.sleep(0.01)
        yield listener.getsockname()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse where Linux lets wait")
def test_a_host_s_addresses_share_one_deadline(server, monkeypatch):
    port, timeouts, set_timeout = int(server[0].rpartition(":")[2]), list[float](), socket.socket.settimeout
    this_thread = threading.get_ident()

    def record_timeout(line: socket.socket, seconds: float | None) -> None:
        if threading.get_ident() == this_thread:  # the server's threads have their own
            timeouts.append(seconds or 0.0)
        set_timeout(line, seconds)

    monkeypatch.setattr(socket.socket, "settimeout", record_timeout)
    with _unaccepting() as nowhere:
        for places, answered in (([nowhere, ("127.0.0.1", port)], True), ([nowhere] * 4, False)):
            found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
            found.insert(0, (socket.AF_INET, -1, 0, "", nowhere))  # of a kind that this machine lacks
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=found, **__: found)
            timeouts.clear()
            if answered:
                assert HttpTransport().request("POST", "http://collector.test/", b"", 2.0).status == 503
            else:
                with pytest.raises(TransportError):
                    HttpTransport().request("POST", "http://collector.test/", b"", 0.5)
                assert sum(timeouts) < 0.6  # each attempt lasts for as long as it may


def test_retry_after_date_is_compared_with_the_server_s_clock(server):
    base, handler = server
    for wait, expected in ((90, 90.0), (-90, 0.0)):
        moment = datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
        later = moment + datetime.timedelta(seconds=wait)
        handler.retry_after = later.strftime("%a, %d %b %Y %H:%M:%S GMT")
        handler.date_time_string = lambda *_, now=moment: now.strftime("%a, %d %b %Y %H:%M:%S GMT")
        assert HttpTransport().request("POST", f"{base}/", b"", 5.0).retry_after == expected
    handler.retry_after = "soon"
    assert HttpTransport().request("POST", f"{base}/", b"", 5.0).retry_after is None


# -- TLS and names ------------------------------------------------------------------------------

Secured = Callable[[str], tuple[int, type[_Handler]]]


def _certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """Make a certificate that signs itself; return its file and its key's."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    numbers = map(ipaddress.ip_address, ("127.0.0.1", "::1") if host == "localhost" else ())
    names = [x509.DNSName(host), *map(x509.IPAddress, numbers)]
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - day).not_valid_after(now + day)
    builder = builder.add_extension(x509.SubjectAlternativeName(names), True)
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(pem))
    plain = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return certificate, secret


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secured]:
    """Start servers over TLS, whose certificates this device trusts."""

    with ExitStack() as stack:

        def start(host: str) -> tuple[int, type[_Handler]]:
            files = _certificate(tmp_path, host)
            monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*files)
            handler = type("Handler", (_Handler,), {"seen": []})
            http = HTTPServer(("127.0.0.1", 0), handler)
            http.handle_error = lambda *_: None
            http.socket = context.wrap_socket(http.socket, server_side=True)
            stack.enter_context(serve(http))
            return http.server_port, handler

        yield start


def test_a_report_goes_to_a_secured_server(secured):
    port, handler = secured("localhost")
    for host in ("localhost", "127.0.0.1"):
        response = HttpTransport().request("POST", f"https://{host}:{port}/", b"body", 5.0)
        assert (response.status, response.body) == (503, b"busy")
    assert [(headers["Host"], body) for _, headers, body in handler.seen] == [
        (f"localhost:{port}", b"body"),
        (f"127.0.0.1:{port}", b"body"),
    ]


def test_server_without_a_trusted_certificate_gets_nothing(secured, tmp_path, monkeypatch):
    port, handler = secured("another.test")  # trusted, but another host's
    with pytest.raises(TransportError, match=r"SSLCertVerificationError \(Hostname mismatch\)$"):
        HttpTransport().request("POST", f"https://localhost:{port}/", b"body", 5.0)
    port, _ = secured("localhost")
    (tmp_path / "nobody.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nobody.pem"))
    with pytest.raises(TransportError, match=r"SSLCertVerificationError \(self.signed certificate\)$"):
        HttpTransport().request("POST", f"https://localhost:{port}/", b"body", 5.0)
    assert handler.seen == []


def test_https_to_a_port_without_tls_has_another_cause_than_a_certificate(server, caplog):
    caplog.set_level(logging.DEBUG, "ldp_client")
    url = server[0].replace("http://", "https://")
    survey = SurveyIdentity("sleep", origin_of_url(url))
    assert post_report(HttpTransport(), survey, f"{url}/v1/a-secret-path/reports", b"body", 5.0) is None
    [line] = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"sleep at \S+: no response: SSLError \([a-z ]+\)", line)
    assert "certificate" not in line


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "[::1]", "[::1]:8080"])
def test_host_header_has_the_port_unless_it_is_the_default(scheme, host, secured, server, monkeypatch):
    plain = int(server[0].rpartition(":")[2]), server[1]
    port, handler = secured("localhost") if scheme == "https" else plain
    connections: list[tuple[str, int]] = []

    def connect(name: str, number: int, *_: object) -> socket.socket:
        connections.append((name, number))
        return socket.create_connection(("127.0.0.1", port), 5.0)

    monkeypatch.setattr("ldp_client.transport._connect", connect)
    HttpTransport().request("POST", f"{scheme}://{host}/v1", b"body", 5.0)
    default = 443 if scheme == "https" else 80
    assert connections == [
        (host.partition(":8080")[0].strip("[]"), 8080 if host.endswith(":8080") else default)
    ]
    assert [headers["Host"] for _, headers, _ in handler.seen] == [host]


def test_a_gateway_s_token_goes_to_its_collector_only():
    transport = HttpTransport({"https://mine.test/v1/surveys/sleep": "a-token-of-the-gateway"})
    mine = transport._headers("https://mine.test:443/v1/surveys/diet/reports", b"report")
    assert mine["Authorization"] == "Bearer a-token-of-the-gateway"
    for url in ("https://other.test/v1/surveys/sleep/reports", "http://mine.test/v1/surveys/sleep/reports"):
        assert "Authorization" not in transport._headers(url, b"report")
    assert "Authorization" not in transport._headers("https://mine.test/v1/surveys/sleep", None)


def test_a_gateway_token_for_a_url_without_a_valid_port_is_refused():
    with pytest.raises(OptionError, match="gateway_tokens: the port"):
        HttpTransport(gateway_tokens={"https://collector.example:none": "token"})
