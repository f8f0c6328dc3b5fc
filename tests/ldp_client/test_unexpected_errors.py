"""Each internal step of a call fails in turn: a receipt comes back, and one report is counted in the end."""

import asyncio
import logging
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

import ldp_client
from encoders.survey import Plan
from ldp_client import AsyncClient, Client, Receipt, Response, State
from ldp_client.debug_log import describe_error
from ldp_client.sending.sender import Sender
from tests.ldp_client.conftest import RECORDED, URL, FakeTransport

ROOT = str(Path(ldp_client.__file__).parent.parent)
PARTS = tuple(f"{ROOT}/{package}/" for package in ("ldp_client", "encoders"))
SECRET = "7.123456"
ANSWER = {"age": "old", "hours": float(SECRET)}
ERRORS = (RuntimeError, OSError, MemoryError, AttributeError)
Step = tuple[str, int]
"""The file and the first line of a function."""


def _step(frame: types.FrameType) -> Step:
    return frame.f_code.co_filename, frame.f_code.co_firstlineno


def steps_of(call: Callable[[], object]) -> list[Step]:
    """Return the functions of the project that a call enters on this thread, without the call's own."""
    found: list[Step] = []

    def note(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PARTS):
            found.append(_step(frame))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [each for each in dict.fromkeys(found) if each != found[0]]


@contextmanager
def failing(step: Step, error: type[Exception]) -> Iterator[None]:
    """Return a context in which one function fails as soon as it is entered on this thread, once."""

    def fail(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call" and _step(frame) == step:
            sys.settrace(None)
            raise error(f"it was {SECRET}")

    former = sys.gettrace()
    sys.settrace(fail)
    try:
        yield
    finally:
        sys.settrace(former)


def build(plan: Plan, folder: Path, transport: FakeTransport, **options: object) -> Client:
    return Client(plan, URL, journal=folder / "j.db", transport=transport, spread=0, **options)


def require_no_answer(receipt: Receipt, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(receipt, Receipt)
    assert SECRET not in f"{receipt!r} {receipt} {caplog.text}"


def bodies(transport: FakeTransport) -> set[bytes | None]:
    return set(transport.bodies)


@pytest.mark.slow
def test_a_report_of_which_any_step_fails_is_made_once(plan, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    caplog.set_level(logging.DEBUG, "ldp_client")
    first = build(plan, tmp_path, FakeTransport(RECORDED), on_outcome=lambda _: None)
    first.grant()
    steps = steps_of(lambda: first.report(ANSWER, "no"))
    first.close()
    assert len(steps) > 60
    states = set()
    for number, (step, error) in enumerate(zip(steps, cycle(ERRORS), strict=False)):
        caplog.clear()
        folder, transport = tmp_path / str(number), FakeTransport(RECORDED)
        with build(plan, folder, transport, on_outcome=lambda _: None) as one:
            one.grant()
            with failing(step, error):
                receipt = one.report(ANSWER, "no")
            require_no_answer(receipt, caplog)
            states.add((receipt.state, receipt.reason))
            assert receipt.state in (State.QUEUED, State.UNAVAILABLE), step
            again = one.report(ANSWER, "no")
            if receipt.state is State.QUEUED:
                assert (receipt.epsilon, again.state) == (1.0, State.ALREADY_REPORTED), step
            assert one.flush(60).state is State.SENT, step
            assert len(bodies(transport)) == 1, step
            (entry,) = one._journal.entries()
            assert float(entry.epsilon) == 1.0
    assert (State.QUEUED, "internal-error") in states
    assert (State.UNAVAILABLE, "internal-error") in states


@pytest.mark.slow
@pytest.mark.parametrize("call", ["grant", "withdraw", "status", "flush"])
def test_other_calls_of_which_any_step_fails_return_a_receipt(plan, tmp_path, caplog, call):
    def make(folder: Path) -> Client:
        one = build(plan, folder, FakeTransport(Response(503, b"")))
        if call != "grant":
            one.grant()
            one.report(ANSWER, "no")
        return one

    arguments = (0.01,) if call == "flush" else ()
    with make(tmp_path) as first:
        steps = steps_of(lambda: getattr(first, call)(*arguments))
    for number, (step, error) in enumerate(zip(steps, cycle(ERRORS), strict=False)):
        one = make(tmp_path / str(number))
        with failing(step, error):
            receipt = getattr(one, call)(*arguments)
        require_no_answer(receipt, caplog)
        one.close(0)


def test_a_client_closes_whatever_fails(plan, tmp_path):
    with build(plan, tmp_path, FakeTransport(RECORDED)) as first:
        first.grant()
        steps = steps_of(first.close)
    for number, step in enumerate(steps):
        one = build(plan, tmp_path / str(number), FakeTransport(RECORDED))
        one.grant()
        with failing(step, RuntimeError):
            one.close()
        one.close()


def test_a_strict_client_raises_the_error_of_its_close(plan, tmp_path, monkeypatch):
    one = build(plan, tmp_path, FakeTransport(RECORDED), strict=True)
    with monkeypatch.context() as patch:
        patch.setattr(one, "_close", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            one.close()


def test_the_module_s_report_returns_a_receipt_whatever_fails(plan, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(ldp_client, "_client", None)
    client = ldp_client.configure(plan, url=URL, journal=tmp_path / "j", transport=FakeTransport(RECORDED))
    client.grant()
    monkeypatch.setattr(Client, "report", lambda *_: 1 / 0)
    receipt = ldp_client.report(ANSWER, "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "internal-error")
    client.close()
    monkeypatch.setattr(ldp_client, "_client", None)
    monkeypatch.setattr(ldp_client, "configure", lambda: 1 / 0)
    require_no_answer(ldp_client.report(ANSWER, "no"), caplog)


def test_a_strict_client_raises_after_the_report_is_stored_too(plan, tmp_path, monkeypatch):
    transport = FakeTransport(RECORDED)
    with build(plan, tmp_path, transport, strict=True) as one:
        one.grant()
        with monkeypatch.context() as patch:
            patch.setattr(Client, "_start_sender", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                one.report(ANSWER, "no")
        assert one.flush().state is State.SENT
        assert len(transport.bodies) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", ["_start_sender", "_report", "handle_outcome"])
def test_interrupts_pass(plan, tmp_path, monkeypatch, error, name):
    def interrupt(*_: object, **__: object) -> None:
        raise error

    with build(plan, tmp_path, FakeTransport(RECORDED)) as one:
        one.grant()
        with monkeypatch.context() as patch:
            patch.setattr(Client, name, interrupt)
            with pytest.raises(error):
                one.report(ANSWER, "no")
        assert one.report(ANSWER, "no").state in (State.QUEUED, State.ALREADY_REPORTED)
        assert one.flush().state is State.SENT


def test_an_application_s_log_handler_that_fails_stops_nothing(plan, tmp_path):
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("no disk")

    def fail(_: Receipt) -> None:
        raise ValueError("no window")

    logger, handler = logging.getLogger("ldp_client"), Broken()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with build(plan, tmp_path, FakeTransport(RECORDED), on_outcome=fail) as one:
            assert one.grant().state is State.READY
            receipt = one.report(ANSWER, "no")
            assert (receipt.state, receipt.reason) == (State.QUEUED, "")
            assert one.flush().state is State.SENT
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.mark.parametrize(
    "name", ["_wait_for_due", "_read_journal", "_choose_next", "_attempt", "_begin_attempt"]
)
def test_a_step_of_the_sender_that_fails_once_delays_the_report(plan, tmp_path, monkeypatch, name):
    monkeypatch.setattr("ldp_client.sending.sender.JOURNAL_RETRY_SECONDS", 0.001)
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    original, failures = getattr(Sender, name), [1]

    def fail_once(*arguments: object) -> object:
        if failures:
            failures.pop()
            raise AttributeError(name)
        return original(*arguments)

    transport = FakeTransport(RECORDED)
    with build(plan, tmp_path, transport) as one:
        one.grant()
        monkeypatch.setattr(Sender, name, fail_once)
        assert one.report(ANSWER, "no").state is State.QUEUED
        assert one.flush(60).state is State.SENT
    assert not failures
    assert len(transport.bodies) == 1


def test_a_report_beside_the_first_import_of_ssl(plan, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ssl", types.ModuleType("ssl"))  # as while another thread imports it
    assert describe_error(ValueError("no")) == "ValueError"
    with build(plan, tmp_path, FakeTransport(RECORDED)) as one:
        assert one.report({"age": "nobody", "hours": 1}, "no").state is State.NO_CONSENT
        one.grant()
        assert one.report({"age": "nobody", "hours": 1}, "no").state is State.INVALID


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("no_threads")
def test_where_no_thread_starts_a_report_waits_for_the_next_run(plan, tmp_path):
    with build(plan, tmp_path, FakeTransport(RECORDED)) as one:
        assert one.grant().state is State.READY
        assert one.report(ANSWER, "no").state is State.QUEUED
        assert one.flush(0.01).state is State.QUEUED


class _Unused:
    async def request(self, *_: object) -> Response:
        raise AssertionError("not reached")


@pytest.mark.usefixtures("no_threads")
def test_an_asynchronous_client_works_where_no_thread_starts(plan, tmp_path):
    async def main() -> list[Receipt]:
        one = AsyncClient(plan, URL, journal=tmp_path / "j.db")
        made = [await one.grant(), await one.report(ANSWER, "no"), await one.status(), await one.withdraw()]
        await one.close(0)
        fetching = AsyncClient(URL, journal=tmp_path / "other.db", transport=_Unused())
        return [*made, await fetching.grant()]

    states = [receipt.state for receipt in asyncio.run(main())]
    assert states == [State.READY, State.QUEUED, State.QUEUED, State.WITHDRAWN, State.UNAVAILABLE]


@pytest.mark.parametrize(
    "name", ["asyncio.wrap_future", "ldp_client.aio.Future", "ldp_client.aio.AsyncClient._call"]
)
def test_an_asynchronous_call_of_which_a_step_fails_returns_a_receipt(plan, tmp_path, monkeypatch, name):
    async def main() -> None:
        one = AsyncClient(plan, URL, journal=tmp_path / "j.db")
        await one.grant()
        with monkeypatch.context() as patch:
            patch.setattr(name, lambda *_: 1 / 0)
            for call in (one.grant, one.status, one.flush, one.withdraw, lambda: one.report(ANSWER, "no")):
                assert (await call()).reason == "internal-error"
            await one.close(0)

    asyncio.run(main())
