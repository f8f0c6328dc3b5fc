"""A client in another language as a device that the audit can measure: a process, asked by HTTP.

The core makes the reports of `report`. The whole client, with its journal and its requests, makes those of
`attempts` and `send`.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.invitation import draw_invitation
from ldp_audit import Request
from ldp_audit.device import Row

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
ADAPTERS = {
    "javascript": ("node", "tests/adapter.js"),
    "java": ("java", "-classpath", "build/classes:build/tests", "ldpbayes.Adapter"),
}
"""The commands of the adapters, by the folder of the client; `make -C clients/java tests` builds Java's."""
MAX_BATCH = 512


class PortClient:
    """A client of the folder `clients` behind its adapter, until `close`.

    A forked copy of this process asks an adapter of its own.

    Parameters
    ----------
    name : str
        One of `ADAPTERS`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked: tuple[Plan, dict[str, object], str | None] | None = None
        self._reports: list[bytes] = []
        self._batch = 1
        self._start()

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        """Return a report that the core makes; it makes equal reports in batches of growing size."""
        if self._owner != os.getpid():
            self._start()
        asked = plan, dict(row), label
        if asked != self._asked:
            self._asked, self._reports, self._batch = asked, [], 1
        if not self._reports:
            tokens = [_draw_token(plan) for _ in range(self._batch)]
            posted = {"answer": _answer(plan, row, label), "tokens": tokens}
            self._reports = [bytes.fromhex(each) for each in self._ask("/audit/reports", posted)]
            self._batch = min(2 * self._batch, MAX_BATCH)
        return self._reports.pop()

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        """Return the bodies that a client posts while the network fails, and after a restart."""
        bodies = self._ask("/audit/attempts", {"answer": _answer(plan, row, label)})
        return [bytes.fromhex(each) for each in bodies]

    def send(self, plans: Sequence[Plan], row: Row, label: str | None) -> list[Request]:
        """Return the whole requests of the client."""
        answers = [_answer(plan, row, label) for plan in plans]
        requests = self._ask("/audit/requests", {"answers": answers})
        return [Request(bytes.fromhex(each["head"]), bytes.fromhex(each["body"])) for each in requests]

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> PortClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*ADAPTERS[self._name], "--port", "0", "--with-parent"],
            cwd=CLIENTS / self._name,
            stdin=pipe,
            stdout=pipe,
            text=True,
        )
        assert self._process.stdout is not None
        _, _, place = self._process.stdout.readline().strip().partition("//")
        self._connection = http.client.HTTPConnection(place, timeout=600)
        self._owner = os.getpid()
        self._asked = None

    def _ask(self, path: str, posted: Mapping[str, Any]) -> Any:
        if self._owner != os.getpid():
            self._start()
        self._connection.request("POST", path, json.dumps(posted, allow_nan=False))
        response = self._connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path} of the adapter responded with status {response.status}")
        return json.loads(content)


def _answer(plan: Plan, row: Row, label: str | None) -> dict[str, object]:
    return {"plan": plan.json.decode(), "row": dict(row), "label": label, "token": _draw_token(plan)}


def _draw_token(plan: Plan) -> str | None:
    return draw_invitation(plan, SystemEntropy()) if plan.by_invitation else None
