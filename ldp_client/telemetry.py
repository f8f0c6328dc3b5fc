"""Telemetry of command-line tools: asked once on the terminal, one report per plan, sent in the background.

A tool makes one :class:`Telemetry`, calls `report` at the end of each run, and offers `command`. Nothing that
fails in `report` changes the tool's exit code or output. Importing this loads next to nothing.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from ldp_client.opt_out import active_opt_out
from ldp_client.stored_consent import absolute_path, journal_path

TYPE_CHECKING = False  # importing typing takes longer than all else here
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ldp_client.client import Client
    from ldp_client.receipt import Receipt

_CI = ("CI", "BUILD_ID", "BUILD_NUMBER", "GITHUB_ACTIONS", "JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD")
_AGAIN, _LATER, _NEVER = 3600, 86_400, 2**33
_LONGEST_JOB = 4096  # every pipe takes so much at once, even where the system limits their memory
_ASK, _YES, _NO = "ask", "yes", "no"
_REFUSED = ("no_consent", "rejected", "unavailable", "invalid")
_QUESTION = """May {0} report {1}?
At most one report per release, randomised on this computer before it is sent.
`{0} telemetry show` prints it, `{0} telemetry off` ends it. [y/N] """


class Telemetry:
    """What one command-line tool reports, if the person agrees.

    Parameters
    ----------
    tool : str
        The tool's command, for example "mytool".
    plan : path
        The compiled plan in the tool's package, with its signature beside it. It belongs to a series.
    url : str
        The survey's URL at its collector, or at its relay.
    lifetime_epsilon : float
        What all plans of the series together may spend.
    asks : str
        What is sent, in plain words: "whether a build fails, and how long it takes".
    spread : float
        As for :class:`~ldp_client.client.Client`, in seconds.
    **options
        As for `Client`: `public_key`, which is that of the series, `relay` and `journal`.
    """

    ACTIONS = ("status", "on", "off", "show")

    def __init__(
        self,
        tool: str,
        plan: str | os.PathLike[str],
        url: str,
        *,
        lifetime_epsilon: float,
        asks: str,
        spread: float = 10.0,
        **options: Any,
    ) -> None:
        self._tool, self._asks, self._url, self._options = tool, asks, url, options
        self._plan, self._lifetime, self._spread = os.fspath(plan), lifetime_epsilon, spread

    def report(self, row: Mapping[str, object], label: object = None) -> None:
        """Report this run, if it is time and the person agrees; ask once, if there is a terminal."""
        with suppress(Exception, KeyboardInterrupt):
            # a frozen tool has no Python beside it: it would start itself
            if active_opt_out() or any(map(os.environ.get, _CI)) or getattr(sys, "frozen", False):
                return
            answer, until, url = self._read_state()
            is_new = answer == _ASK
            # "no" before the question: who interrupts it, or closes the terminal, is not asked again
            if is_new and _can_ask() and self._write_state(_NO):
                _forget_typed()
                sys.stderr.write(_QUESTION.format(self._tool, self._asks))
                sys.stderr.flush()
                if sys.stdin.readline().strip().lower() in ("y", "yes") and self._write_state(_YES):
                    answer = _YES
            if answer == _YES and (is_new or url != self._url or until <= time.time()):
                self._start(row, label, is_new)

    def command(self, action: str, row: Mapping[str, object], label: object = None) -> str:
        """Do one of `ACTIONS`, and return the text to print: `show` is exactly what would be sent."""
        if action == "off":  # first: it holds even if plan or journal cannot be used
            self._write_state(_NO)
        with self._client() as client:
            if action == "show":
                return str(client.preview(row, label))
            if action == "on":
                granted = client.grant(series=True, lifetime_epsilon=self._lifetime)
                if granted.state not in _REFUSED:
                    self._write_state(_YES)
            if action == "off":
                client.withdraw()
            receipt = client.status()
        answer, forbidden = self._read_state()[0], active_opt_out()
        state = f"off, because {forbidden} is set" if forbidden else "on" if answer == _YES else "off"
        return "\n".join(filter(None, (f"telemetry of {self._tool}: {state}", str(receipt), receipt.series)))

    @property
    def _journal(self) -> str:
        given = self._options.get("journal")
        return journal_path("") if given is None else absolute_path(given)

    def _read_state(self) -> tuple[str, float, str]:
        """Return the answer, until when there is nothing to do, and for which survey; "no" if damaged."""
        try:
            with open(f"{self._journal}.{self._tool}", encoding="utf-8") as file:
                answer, until, url = file.read().split()
            return answer, float(until), url
        except FileNotFoundError:
            return _ASK, 0, ""
        except (OSError, ValueError):
            return _NO, 0, ""

    def _write_state(self, answer: str, until: float = 0) -> bool:
        with suppress(OSError):
            path = f"{self._journal}.{self._tool}"
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            # a new file, of the owner alone: never one that a link of somebody else leads to
            with open(f"{path}.{os.getpid()}", "x", encoding="utf-8", opener=_open_private) as file:
                file.write(f"{answer} {until:.0f} {self._url}\n")
            os.replace(file.name, path)
            return True
        return False

    def _client(self) -> Client:
        from ldp_client.client import Client

        options = self._options | {"journal": self._journal, "spread": self._spread}
        return Client(self._plan, self._url, **options)

    def _start(self, row: Mapping[str, object], label: object, agrees: bool) -> None:
        """Start a process that outlives the tool; it reads the row from a pipe, never from a file."""
        import json
        import subprocess

        named = {"lifetime_epsilon": self._lifetime, "spread": self._spread, "asks": ""} | self._options
        tool = self._tool, os.path.abspath(self._plan), self._url, named | {"journal": self._journal}
        job = json.dumps([*tool, dict(row), label, agrees])
        if len(job) > _LONGEST_JOB or not self._write_state(_YES, time.time() + _AGAIN):
            return
        reading, writing = os.pipe()
        os.write(writing, job.encode())
        os.close(writing)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ldp_client.telemetry"],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(self._journal),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        process.returncode = 0  # nobody waits for it
        os.close(reading)

    def _send(self, row: Mapping[str, object], label: object, agrees: bool) -> None:
        with self._client() as client:
            if self._read_state()[0] != _YES:  # `off` was faster than this process
                return
            receipt = client.grant(series=True, lifetime_epsilon=self._lifetime) if agrees else client.renew()
            if receipt.state == "ready":
                receipt = client.report(row, label)
                time.sleep(self._spread * int.from_bytes(os.urandom(4), "big") / 2**32)
            if receipt.state == "queued":
                receipt = client.flush(30)
            is_spent = receipt.reason == "asks-again" and self._is_spent(client)
        if self._read_state()[0] == _YES:
            self._write_state(*_next_state(receipt, is_spent))

    def _is_spent(self, client: Client) -> bool:
        """Return whether a new yes would change nothing, because the epsilon for life is spent."""
        from fractions import Fraction

        from ldp_client.journal.journal import Journal

        standing = Journal(self._journal).standing(client.plan.series_id)
        spent = (standing.spent if standing else 0) + Fraction(client.plan.epsilon)
        return spent > Fraction(str(self._lifetime))


def _can_ask() -> bool:
    """Return whether a person sees the question, not a pager, and can answer it."""
    if not all(each.isatty() for each in (sys.stdin, sys.stdout, sys.stderr)):
        return False
    with suppress(OSError, AttributeError):  # not the process's own terminal; Windows
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()  # in the background, reading stops the tool
    return True


def _forget_typed() -> None:
    """Drop what the person typed before they saw the question: it is no answer."""
    with suppress(ImportError):  # Windows
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _next_state(receipt: Receipt, is_spent: bool) -> tuple[str, float]:
    """Return the answer, and until when there is nothing to do."""
    if is_spent:
        return _YES, _NEVER
    if receipt.state == "no_consent":
        return (_ASK if receipt.reason == "asks-again" else _NO), 0
    if receipt.state == "waiting":
        return _YES, receipt.opens or 0
    return _YES, time.time() + _LATER if receipt.state in ("queued", "unavailable") else _NEVER


if __name__ == "__main__":
    import json

    tool, plan, url, named, *job = json.load(sys.stdin)
    Telemetry(tool, plan, url, **named)._send(*job)
