"""Releases messages at full hours, and passes on those of each survey in a separate thread."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from math import inf
from time import monotonic, sleep, time
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from encoders.survey.sealing import column_bytes
from encoders.survey.unsealing import BATCH_HEADER, MESSAGES_TYPE, WAVE_HEADER, breaks_promise, most_records
from ldp_relay import release
from ldp_relay.held_messages import FAILED, HeldMessages, Passage
from ldp_relay.relay_settings import Pool, RelayedSurvey

log = logging.getLogger("ldp.relay")

TIMEOUT_SECONDS = 60.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 600.0
CHECK_SECONDS = 5.0
_PROBE_SECONDS = 5.0
MAX_DISAGREEMENT_SECONDS = 60.0
"""How far wall and monotonic time may drift apart between two full hours."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow nothing: the token and the messages are for the collector alone."""


_opener = build_opener(_NoRedirect, ProxyHandler({}))
_logged: set[tuple[object, ...]] = set()


def log_event(event: str, **fields: object) -> None:
    """Write one line about surveys and collectors, with the hour; nothing about devices."""
    hour = datetime.now(UTC).strftime("%Y-%m-%dT%HZ")
    log.info(json.dumps({"hour": hour, "event": event} | fields))


def log_event_once(event: str, **fields: object) -> None:
    """Write a line that this process has not written before."""
    if (key := (event, *fields.values())) not in _logged:
        _logged.add(key)
        log_event(event, **fields)


def start(surveys: Iterable[RelayedSurvey], held: HeldMessages, refusals: Mapping[str, Counter[str]]) -> None:
    """Start the daemon threads; each full hour one writes the refusals by reason to the database."""
    hourly = HourlyRelease(list(surveys), held, refusals)
    threading.Thread(target=hourly.run, daemon=True).start()
    for each in hourly.surveys:
        threading.Thread(target=pass_on_for_ever, args=(each, held), daemon=True).start()


class HourlyRelease:
    """Releases the messages of all pools at full hours; see :func:`start`.

    The clock may be wrong, so nothing leaves because of a single reading. If wall and monotonic time
    disagree, the next full hour is waited for. A pool ends if its end has passed at two full hours in a row,
    and if the collector's clock does not contradict.
    """

    def __init__(
        self, surveys: list[RelayedSurvey], held: HeldMessages, refusals: Mapping[str, Counter[str]]
    ) -> None:
        self.surveys, self._held, self._refusals = surveys, held, refusals
        self._ended: set[str] = set()
        self._wait_for_hour(time())  # a start never releases

    def _wait_for_hour(self, now: float) -> None:
        self._next_hour = (now // release.HOUR_SECONDS + 1) * release.HOUR_SECONDS
        self._difference = now - monotonic()

    def run(self) -> None:
        while True:
            sleep(min(CHECK_SECONDS, max(self._next_hour - time(), 0.01)))
            self.release_if_due()
            self.write_refusals()

    def release_if_due(self) -> None:
        """Release the messages of all surveys if a full hour has passed; a failure skips this hour."""
        now = time()
        if abs(now - monotonic() - self._difference) > MAX_DISAGREEMENT_SECONDS:
            log_event("clock-set", fix="nothing leaves before the next full hour: check the machine's clock")
            self._ended.clear()
            self._wait_for_hour(now)
        if now < self._next_hour:
            return
        hour = int(self._next_hour)
        self._wait_for_hour(now)
        for each in self.surveys:
            ends = [pool.closes for pool in each.pools.values() if now >= pool.closes]
            latest = min(now, find_collector_time(each, max(ends))) if ends else now
            for pool in each.pools.values():
                self._release(each, pool, has_ended=latest >= pool.closes, hour=hour)
        try:
            self._held.forget_arrivals()
        except sqlite3.Error as error:
            log_event("arrivals-kept", kind=type(error).__name__)

    def _release(self, survey: RelayedSurvey, pool: Pool, *, has_ended: bool, hour: int) -> None:
        is_closed = has_ended and pool.name in self._ended
        (self._ended.add if has_ended else self._ended.discard)(pool.name)
        try:
            if count := self._held.release(pool.name, survey.relay.batch, is_closed=is_closed, hour=hour):
                log_event("released", survey=survey.plan.id, batches=count)
        except Exception as error:  # the other pools and the thread go on
            log_event("release-failed", survey=survey.plan.id, kind=type(error).__name__)

    def write_refusals(self) -> None:
        for digest, found in self._refusals.items():
            refused = {f"refused, {reason}": found.pop(reason) for reason in list(found)}
            with suppress(sqlite3.Error):  # a full disk; these counts are not worth more
                if refused:
                    self._held.count_events(digest, refused)


def pass_on_for_ever(survey: RelayedSurvey, held: HeldMessages) -> None:
    """Pass the messages of a survey on until the process ends; pause for longer after each failure."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            wait = pass_on(survey, held)
        except Exception as error:  # the database is as before
            event = "release-failed" if isinstance(error, release.OrderError) else "delivery-failed"
            log_event(event, survey=survey.plan.id, kind=type(error).__name__)
            wait = -1.0
        if wait < 0:
            sleep(min(max(pause, -wait), LONGEST_PAUSE_SECONDS))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        else:
            pause = FIRST_PAUSE_SECONDS
            sleep(wait)


def pass_on(survey: RelayedSurvey, held: HeldMessages) -> float:
    """Send the next messages of a survey; return the seconds to wait, negative (at least) after a failure."""
    plan = survey.plan
    passage = held.next_passage(plan.digest, most_records(plan), column_bytes(plan))
    if passage is None:
        return CHECK_SECONDS
    status, answer, retry_after = post(survey, passage)
    if answer is None:
        log_event("collector-failed", survey=plan.id, status=status)
        held.count_events(plan.digest, {FAILED: 1})
        return min(-1.0, -retry_after)
    outcomes, rejected = answer
    held.mark_passed_on(passage, outcomes, rejected)
    log_event("passed-on", survey=plan.id, messages=passage.records * len(rejected), **outcomes)
    worst = max(map(sum, zip(passage.rejected, rejected, strict=True)))
    if breaks_promise(survey.relay, passage.size, worst):
        log_event_once("promise-broken", survey=survey.plan.id, batch=passage.batch)
    return 0.0


Answer = tuple[dict[str, int], list[int]]
"""The numbers of messages by outcome, and how many of each column are rejected."""


def post(survey: RelayedSurvey, passage: Passage) -> tuple[int, Answer | None, float]:
    """Send messages to a collector; return its HTTP status, its answer, and the pause that it asks for, in s.

    The status is 0 if there is no response, and the answer None if the collector has not answered.
    """
    try:
        with _opener.open(_request(survey, passage), timeout=TIMEOUT_SECONDS) as response:
            columns = len(passage.rejected)
            return response.status, _read_answer(response.read(10_000), passage.records, columns), 0.0
    except HTTPError as error:
        with error:
            pause = error.headers.get("Retry-After") or ""
            is_number = pause.isascii() and pause.isdigit() and len(pause) < 9
            return error.code, None, float(pause) if is_number else 0.0
    except (OSError, HTTPException, ValueError):
        return 0, None, 0.0


def find_collector_time(survey: RelayedSurvey, end: int) -> float:
    """Return the collector's time, which is infinite without an answer.

    A line of the log says so if the survey, or a wave of it, that has ended by `end`, has not by that clock.
    """
    try:
        request = Request(survey.collector, method="HEAD")  # noqa: S310 - settings.py checks the URL
        with _opener.open(request, timeout=_PROBE_SECONDS) as response:
            headers = response.headers
    except HTTPError as error:
        headers = error.headers
        error.close()
    except (OSError, HTTPException, ValueError):
        return inf
    try:
        collector_time = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        return inf
    if collector_time < end:
        log_event(
            "clock-differs", survey=survey.plan.id, fix="the collector's clock is before the survey's end"
        )
    return collector_time


def probe(survey: RelayedSurvey) -> str:
    """Return what a collector says to a request without messages: whether it would take some."""
    try:
        _opener.open(_request(survey), timeout=_PROBE_SECONDS).close()
        reason = ""
    except HTTPError as error:
        with error:
            document = _parse(error.read(10_000))
            reason = document.get("reason", "") if isinstance(document, dict) else ""
    except (OSError, HTTPException, ValueError):
        reason = ""
    return _PROBES.get(reason, "cannot be reached, or another server answers")


_PROBES = dict.fromkeys(("malformed", "survey-not-open"), "takes messages with this token") | {
    "not-authorised": "refuses the token: ask its operator",
    "unknown-survey": "does not serve this survey, or lacks its private key: ask its operator",
    "survey-closed": "has closed the survey",
}


def _request(survey: RelayedSurvey, passage: Passage | None = None) -> Request:
    headers = {
        "Authorization": f"Bearer {survey.token}",
        "Content-Type": MESSAGES_TYPE,
        "User-Agent": "ldp-relay",
    }
    if passage:
        headers[BATCH_HEADER] = " ".join(map(str, (passage.size, *passage.rejected)))
        if wave := passage.pool.partition("/")[2]:
            headers[WAVE_HEADER] = wave
    return Request(f"{survey.collector}/sealed", passage.body if passage else b"", headers)  # noqa: S310 - settings.py checks the URL


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _read_answer(body: bytes, records: int, columns: int) -> Answer | None:
    answer = _parse(body)
    try:
        counts = {name: answer[name] for name in ("recorded", "duplicate", "rejected")}  # type: ignore[index]
        rejected = [counts["rejected"]] if columns == 1 else answer["rejected_by_question"]  # type: ignore[index]
        whole = all(type(each) is int and each >= 0 for each in (*counts.values(), *rejected))
    except (TypeError, KeyError):
        return None
    fits = whole and len(rejected) == columns and sum(rejected) == counts["rejected"]
    return (counts, rejected) if fits and sum(counts.values()) == records * columns else None
