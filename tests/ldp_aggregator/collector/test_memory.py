"""Refused requests leave nothing in memory, for any number of them and every reason."""

import gc
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import pytest
from flask.testing import FlaskClient

from encoders.errors import Reason, ReportError
from encoders.randomness import SystemEntropy
from encoders.report import MEDIA_TYPE, Report, pack
from encoders.survey import Plan, read_survey
from encoders.survey.compiled_plan import report_id_prefix
from encoders.survey.sealing import column_bytes
from encoders.survey.unsealing import BATCH_HEADER, MESSAGES_TYPE
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import create_tokens
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, StoreError
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import INVITED, ROW, SURVEY, make_client
from tests.support.access import access
from tests.support.relays import ALL, COLLECTOR, RELAY_TOKEN, inner_message, relayed_plan, relayed_reports

OPERATOR = "the-token-of-the-operator"
RELAYED = relayed_plan(ALL.replace('"none", "some", "many", "other"', '"none", "some"'))
"""Each person answers both questions, whose reports have one length."""
PAGES = ("snapshot", "estimates", "progress", "progress.html")
MARK = b"\xb7marked\xb7"
"""Part of every body; the test then searches memory for it."""
ADDRESS = ("198.51.100", "77")
"""The address of every request, in two parts; the test searches memory for the whole."""
MOST_GROWTH = 1000
"""Maximum growth in blocks of memory, less than if 50 refused requests were kept: each holds more than 20."""


class Store(MemoryStore):
    """A store that fails on request."""

    failure: type[Exception] | None = None

    def __getattribute__(self, name: str) -> object:
        found = super().__getattribute__(name)
        # buffered writes run in other threads
        is_request = threading.current_thread() is threading.main_thread()
        if name in ("find_recorded", "record", "totals", "check_ready") and self.failure and is_request:
            return self.fail
        return found

    def fail(self, *_: object) -> None:
        assert self.failure
        raise self.failure("away")


def plans() -> tuple[Plan, Store]:
    """Return the plan of a survey by invitation, and a store that also has other surveys."""
    store, plan = Store(), read_survey(INVITED).compile()
    store.publish(plan.id, plan.json)
    now = int(time.time())
    for name, window in (("early", Schedule(opens=now + 9999)), ("late", Schedule(closes=now - 9))):
        other = read_survey(SURVEY.replace('"sleep"', f'"{name}"')).compile()
        store.publish(name, other.json)
        store.set_note(SCHEDULES, name, window.to_json())
    store.publish(RELAYED.id, RELAYED.json)
    return plan, store


def report(plan: Plan, number: int, **changed: object) -> bytes:
    """Make a report without an invitation, and damage it in some cases."""
    question = plan.questions[0]
    parts: dict[str, object] = {
        "plan_digest": plan.digest_bytes,
        "question": 0,
        "id": report_id_prefix(plan, question) + MARK + number.to_bytes(16 - len(MARK) - 2, "big"),
        "payload": question.mechanism.perturb(1, SystemEntropy()),
    }
    return pack(Report(**(parts | changed)))


def reused(plan: Plan, token: str) -> bytes:
    """Return a report under the id of another report."""
    first = make_report(plan, ROW, "yes", token=token)
    while (other := make_report(plan, ROW, "yes", token=token)) == first:
        pass
    return first + other


def kinds(plan: Plan) -> dict[Reason, Callable[[int], bytes]]:
    """Return, by reason, a function that makes a report that is refused for it."""
    payload = bytes(4096)
    return {
        Reason.NOT_ENROLLED: lambda number: report(plan, number),
        Reason.WRONG_PLAN: lambda number: report(plan, number, plan_digest=bytes(32)),
        Reason.UNKNOWN_QUESTION: lambda number: report(plan, number, question=99),
        Reason.BAD_PAYLOAD: lambda number: report(plan, number, payload=b"\x77"),
        Reason.MALFORMED: lambda number: report(plan, number).replace(b"\x95\x01", b"\x95\x02", 1),
        Reason.TOO_LARGE: lambda number: report(plan, number, payload=payload),
    }


def refuse_by_intake(intake: Intake, plan: Plan, token: str, count: int) -> Counter[Reason]:
    """Send bodies of many reports that are refused, about `count` reports in total; return the reasons."""
    seen: Counter[Reason] = Counter()
    used = reused(plan, token)
    makers = [*kinds(plan).values(), lambda number: used]
    for make in makers:
        body = b"".join(make(number) for number in range(count // 200))
        for _ in range(-(-200 // len(makers))):
            outcomes = intake.record_body(body)
            seen.update(each.error.reason for each in outcomes if each.error)
    for number in range(50):
        try:
            intake.record_body(report(plan, number)[:-1])
        except ReportError as error:
            seen[error.reason] += 1
    return seen


class Web:
    """Sends requests to applications from one address."""

    def __init__(self, plan: Plan, store: Store, token: str) -> None:
        self.plan, self.store, self.token = plan, store, token
        tokens = access("relay", RELAY_TOKEN), access("gateway", "of-gateways")
        settings = CollectorSettings(operator_token=OPERATOR, tokens=tokens)
        self.app = create_app(settings, store, keys={RELAYED.id: COLLECTOR}).test_client()
        self.once = make_client(store, rate=1)
        self.limited = make_client(store, rate=60_000, operator_token=OPERATOR, tokens=tokens)

    def ask(self, method: str, path: str, web: FlaskClient | None = None, **options: object) -> Reason | None:
        """Send a request that is refused; return the reason."""
        options.setdefault("content_type", MEDIA_TYPE)
        peer = {"REMOTE_ADDR": ".".join(ADDRESS)}
        environ = options.pop("environ", {}) | peer
        response = (web or self.app).open(path, method=method, environ_overrides=environ, **options)
        return Reason(response.json["reason"]) if response.status_code >= 400 else None

    def post(self, body: bytes, survey: str = "sleep", **options: object) -> Reason | None:
        return self.ask("POST", f"/v1/surveys/{survey}/reports", data=body, **options)

    def fail(self, failure: type[Exception], body: bytes) -> list[Reason | None]:
        """Request all pages that use the store, while it fails."""
        token = {"Authorization": f"Bearer {OPERATOR}"}
        pages = ["/readyz", "/metrics", *(f"/v1/surveys/sleep/{page}" for page in PAGES)]
        self.store.failure = failure
        try:
            return [self.post(body), *(self.ask("GET", page, headers=token) for page in pages)]
        finally:
            self.store.failure = None

    def refuse_sealed(self) -> list[Reason]:
        """Pass on two messages, which are refused; return the reasons that are counted."""
        size, reports = column_bytes(RELAYED)[0], relayed_reports(RELAYED)
        body = MARK.ljust(size, b"\0") + inner_message(RELAYED, reports[0], reports[0])[size:]
        headers = {"Authorization": f"Bearer {RELAY_TOKEN}", BATCH_HEADER: "20 6 6"}
        path = f"/v1/surveys/{RELAYED.id}/sealed"
        assert self.ask("POST", path, data=body, headers=headers, content_type=MESSAGES_TYPE) is None
        return [Reason.BAD_SEAL, Reason.WRONG_QUESTION, Reason.PROMISE_BROKEN]

    def refuse(self, number: int) -> list[Reason | None]:
        """Send one request for each reason of refusal; return the reasons."""
        plan, one = self.plan, report(self.plan, number)
        snapshot = "/v1/surveys/sleep/snapshot"
        used = reused(plan, self.token)
        return [
            *(self.post(make(number)) for make in kinds(plan).values()),
            self.post(used[: len(used) // 2]),
            self.post(used[len(used) // 2 :]),
            self.post(one, content_type="text/html"),
            self.post(one, headers={"Transfer-Encoding": "chunked"}),
            self.post(one, environ={"CONTENT_LENGTH": "4096"}),
            self.post(one, survey="early"),
            self.post(one, survey="late"),
            self.post(one, survey="nowhere"),
            self.post(one, survey=RELAYED.id),
            *self.refuse_sealed(),
            self.post(one, web=self.once),
            self.post(one + one, web=self.limited),
            self.post(one, web=self.limited, headers={"Authorization": "Bearer wrong"}),
            self.ask("GET", "/v1/surveys/sleep/signature"),
            self.ask("GET", "/v1/surveys/sleep/texts"),
            self.ask("GET", "/nowhere"),
            self.ask("PUT", snapshot),
            self.ask("GET", snapshot),
            self.ask("GET", snapshot, web=self.limited, headers={"Authorization": "Bearer wrong"}),
            *(each for failure in (StoreError, RuntimeError) for each in self.fail(failure, one)),
        ]


def found(pattern: re.Pattern[bytes]) -> list[object]:
    """Search all objects that are reachable from live objects, modules and frames for a pattern."""
    seen: set[int] = set()
    left, matches = gc.get_objects(), []
    while left:
        each = left.pop()
        if id(each) in seen or each is seen or each is left or each is matches:
            continue
        seen.add(id(each))
        if isinstance(each, bytes | bytearray | str):
            text = each.encode(errors="replace") if isinstance(each, str) else each
            if pattern.search(text):
                matches.append(each)
        elif not isinstance(each, int | float | type | ModuleType):
            left += gc.get_referents(each)
    return matches


def traces() -> list[object]:
    """Return the bodies and addresses that are still referenced."""
    address = re.escape(".".join(ADDRESS).encode())
    return found(re.compile(MARK + b"[^[]|" + address))  # more than the constants of this module


@pytest.mark.slow
def test_refusals_of_every_kind_leave_no_body_address_or_memory():
    plan, store = plans()
    tokens = create_tokens(store, plan, 2, SystemEntropy())
    intake, web = Intake(plan, store), Web(plan, store, next(tokens))
    used = next(tokens)

    def refuse(reports: int, rounds: int) -> Counter[Reason]:
        seen = refuse_by_intake(intake, plan, used, reports)
        for number in range(rounds):
            seen.update(reason for reason in web.refuse(number) if reason)
        return seen

    assert refuse(reports=4000, rounds=4).keys() == set(Reason)
    gc.collect()
    before = sys.getallocatedblocks()
    assert refuse(reports=20_000, rounds=100).total() > 20_000
    gc.collect()
    assert sys.getallocatedblocks() - before < MOST_GROWTH
    assert not traces()
