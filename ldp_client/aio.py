"""The client for asyncio applications: a Client whose methods never block the event loop.

The journal is read and written on another thread. The client's own thread sends, and may outlive the loop.
An asyncio transport is called on the loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from encoders.survey.plan import Plan
from ldp_client.client import Client
from ldp_client.errors import TransportError
from ldp_client.receipt import Receipt
from ldp_client.traceback_redaction import redact
from ldp_client.transport import Response

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def _awaiting(
    method: Callable[Concatenate[Client, Arguments], Result],
) -> Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, Result]]:
    """Return the coroutine function of a client's method; no frame of its errors contains the arguments.

    What fails on the way to the method becomes a receipt, as in the method.
    """

    @wraps(method)
    async def call(self: AsyncClient, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return await self._call(partial(method, self.client, *arguments, **named))
        except BaseException as error:
            failure = redact(error)
        del arguments, named
        try:
            is_raised = self.client._strict or method.__name__ in ("texts", "preview")
            if is_raised or not isinstance(failure, Exception):
                raise failure
            return cast(Result, Receipt.from_error(failure, self.client.survey))
        finally:
            del failure  # else the error and this frame refer to each other

    return call


class AsyncTransport(Protocol):
    """Carries one request, as :class:`~ldp_client.transport.Transport` does, on the event loop."""

    async def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Return the server's response, or raise if there is none."""


class AsyncClient:
    """A :class:`~ldp_client.client.Client` whose methods are coroutines.

    Parameters
    ----------
    survey, url
        As for `Client`.
    transport : AsyncTransport, optional
        For example the application's own HTTP library; by default the client's transport, on a thread.
    on_outcome : callable, optional
        Called on the event loop.
    **options
        As for `Client`.

    Attributes
    ----------
    client : Client
        The synchronous client, which has attributes such as `survey` and `outcomes`.
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Plan,
        url: str | None = None,
        *,
        transport: AsyncTransport | None = None,
        on_outcome: Callable[[Receipt], object] | None = None,
        **options: Any,
    ) -> None:
        self._bridge = _LoopBridge(transport, on_outcome)
        self.client = Client(
            survey,
            url,
            transport=self._bridge if transport else None,
            on_outcome=self._bridge.deliver_outcome if on_outcome else None,
            **options,
        )

    async def plan(self) -> Plan:
        """Await :attr:`Client.plan`."""
        return await self._call(lambda: self.client.plan)

    texts = _awaiting(Client.texts)
    preview = _awaiting(Client.preview)
    grant = _awaiting(Client.grant)
    renew = _awaiting(Client.renew)
    withdraw = _awaiting(Client.withdraw)
    status = _awaiting(Client.status)
    report = _awaiting(Client.report)
    flush = _awaiting(Client.flush)
    close = _awaiting(Client.close)
    __getstate__ = Client.__getstate__

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _call(self, function: Callable[[], Result]) -> Result:
        """Run a function on a new thread, and await its result.

        The loop's executor is not used, because a flush that is no longer awaited would delay the end of the
        loop and of the interpreter.
        """
        self._bridge.loop = asyncio.get_running_loop()
        future: Future[Result] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)

        try:
            threading.Thread(target=work, name="ldp-client-call", daemon=True).start()
        except RuntimeError:  # no thread can start: the loop waits
            work()
        return await asyncio.wrap_future(future)


class _LoopBridge:
    """Carries requests and outcomes from the client's threads to the event loop that used it last."""

    def __init__(
        self, transport: AsyncTransport | None, on_outcome: Callable[[Receipt], object] | None
    ) -> None:
        self._transport, self._on_outcome = transport, on_outcome
        self.loop: asyncio.AbstractEventLoop | None = None

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Run the request on the loop, and wait on this thread for the response."""
        if self._transport is None or self.loop is None or not self.loop.is_running():
            raise TransportError("no response from the collector: the event loop has ended")
        if asyncio._get_running_loop() is self.loop:  # no thread could start
            raise TransportError("no response from the collector: the event loop waits for this call")
        request = self._transport.request(method, url, body, timeout)
        future = asyncio.run_coroutine_threadsafe(request, self.loop)
        try:
            return future.result(timeout)
        except Exception as error:
            future.cancel()
            raise TransportError(f"no response from the collector: {type(error).__name__}") from error

    def deliver_outcome(self, receipt: Receipt) -> None:
        """Call `on_outcome` on the application's loop, if the loop still runs."""
        if self._on_outcome and self.loop is not None and self.loop.is_running():
            self.loop.call_soon_threadsafe(self._on_outcome, receipt)
