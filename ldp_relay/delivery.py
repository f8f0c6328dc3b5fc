"""Releases messages at full hours, and passes them on to the collectors until they are counted."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from time import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from ldp_relay import release
from ldp_relay.held_messages import HeldMessages, Passage
from ldp_relay.networks import NetworkCount
from ldp_relay.settings import RelayedSurvey

log = logging.getLogger("ldp.relay")

TIMEOUT_SECONDS = 60.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 600.0
NAME_SECONDS = 90 * 86_400
"""How long after a survey has closed the names of its messages are kept."""
_CHECK_SECONDS = 5.0


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow nothing: the token and the messages are for the collector alone."""


_opener = build_opener(_NoRedirect, ProxyHandler({}))


def log_event(event: str, **fields: object) -> None:
    """Write one line about surveys and collectors; nothing about devices."""
    log.info(json.dumps({"event": event} | fields))


class Delivery(threading.Thread):
    """Releases and passes on the messages of all surveys, in the background.

    Parameters
    ----------
    surveys : iterable of RelayedSurvey
    held : HeldMessages
    networks : mapping of survey name to NetworkCount
    """

    def __init__(
        self, surveys: Iterable[RelayedSurvey], held: HeldMessages, networks: Mapping[str, NetworkCount]
    ) -> None:
        super().__init__(name="ldp-relay-delivery", daemon=True)
        self._surveys, self._held, self._networks = list(surveys), held, networks
        self._stopped = threading.Event()
        self._next_hour = _full_hour_after(time())  # a start never releases
        self._pauses: dict[str, tuple[float, float]] = {}
        """By survey, after a failure: when to try again, and the length of the pause."""

    def stop(self) -> None:
        """End the thread after the request that it is sending."""
        self._stopped.set()

    def run(self) -> None:
        """Release and pass on until stopped."""
        while not self._stopped.is_set():
            try:
                self.release_if_due()
                is_busy = sum(self.pass_on(each) for each in self._surveys) > 0
            except Exception as error:  # the thread must live; the database is as before
                log_event("database-unavailable", kind=type(error).__name__)
                is_busy = False
            if not is_busy:
                self._stopped.wait(min(_CHECK_SECONDS, max(self._next_hour - time(), 0.01)))

    def release_if_due(self) -> None:
        """Release the messages of all surveys if a full hour has passed."""
        if (now := time()) < self._next_hour:
            return
        for survey in self._surveys:
            closes = survey.relay.closes
            count = self._held.release(
                survey.name,
                survey.relay.batch,
                is_closed=now >= closes,
                hour=int(self._next_hour),
                count_networks=self._networks[survey.name].take,
            )
            if count:
                log_event("released", survey=survey.plan.id, batches=count)
            if now > closes + NAME_SECONDS:
                self._held.forget(survey.name)
        self._next_hour = _full_hour_after(now)

    def pass_on(self, survey: RelayedSurvey) -> bool:
        """Send the next messages of a survey, if there are any and no pause; return whether they arrived."""
        next_try, pause = self._pauses.get(survey.name, (0.0, FIRST_PAUSE_SECONDS))
        if time() < next_try:
            return False
        passage = self._held.next_passage(survey.name, survey.passage_size)
        if passage is None:
            return False
        status, answer, retry_after = post(survey, passage)
        if status != 200 or answer is None:
            wait = min(max(pause, retry_after), LONGEST_PAUSE_SECONDS)
            self._pauses[survey.name] = time() + wait, min(2 * pause, LONGEST_PAUSE_SECONDS)
            log_event("collector-failed", survey=survey.plan.id, status=status, next_try_seconds=round(wait))
            return False
        self._held.mark_passed_on(passage)
        self._pauses.pop(survey.name, None)
        for outcome, count in answer.items():
            self._held.count_event(survey.name, f"collector: {outcome}", count)
        log_event("passed-on", survey=survey.plan.id, messages=len(passage.names), **answer)
        return True


def post(survey: RelayedSurvey, passage: Passage) -> tuple[int, dict[str, int] | None, float]:
    """Send messages to a collector.

    Returns
    -------
    status : int
        The HTTP status; 0 if there is no response.
    answer : dict or None
        The counts by outcome; None if the response has none.
    retry_after : float
        The pause that the collector asks for, in seconds.
    """
    headers = {"Authorization": f"Bearer {survey.token}", "Content-Type": "application/octet-stream"}
    headers["User-Agent"] = "ldp-relay"
    request = Request(f"{survey.collector}/sealed", passage.body, headers)  # noqa: S310 - settings.py checks it
    try:
        with _opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            return response.status, _read_answer(response.read(10_000)), 0.0
    except HTTPError as error:
        with error:
            pause = error.headers.get("Retry-After") or ""
            return error.code, None, float(pause) if pause.isascii() and pause.isdigit() else 0.0
    except (OSError, HTTPException, ValueError):
        return 0, None, 0.0


def _read_answer(body: bytes) -> dict[str, int] | None:
    """Return the counts in a collector's response; None if it is another server's."""
    try:
        answer = json.loads(body)
        counts = {name: answer[name] for name in ("recorded", "duplicate", "rejected")}
    except (ValueError, TypeError, KeyError):
        return None
    return counts if all(type(each) is int for each in counts.values()) else None


def _full_hour_after(now: float) -> float:
    return (now // release.HOUR_SECONDS + 1) * release.HOUR_SECONDS
