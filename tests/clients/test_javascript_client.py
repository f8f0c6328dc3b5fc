"""The JavaScript client in a real chromium, on a page of another origin than the collector."""

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from tests.support.servers import wait_for
from tests.support.web_client import (
    REPORT,
    REPORT_AT,
    START,
    Site,
    call,
    open_client,
    serve_collector,
    serve_site,
)
from tools.endurance.client import browser_kills

pytestmark = pytest.mark.slow

HOUR = 3600


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_collector(tmp_path_factory.mktemp("collector")) as started:
        yield started


@pytest.fixture
def site(base: str) -> Iterator[Site]:
    with serve_site(base) as served:
        yield served


@pytest.fixture
def visit(context: BrowserContext, origin: str, site: Site) -> Callable[..., Page]:
    """Return a function that opens a tab with a client; errors that nothing catches fail the test."""

    def go(**options: object) -> Page:
        page = context.new_page()
        open_client(page, origin, site, options)
        return page

    return go


def test_a_report_from_a_page_of_another_origin_is_counted_once(visit, site):
    page = visit()
    requests = []
    page.on("request", lambda request: requests.append(request))
    assert call(page, "report", {"age": "young", "hours": 7}, "yes")["reason"] == "no-consent"
    assert call(page, "grant")["state"] == "ready"
    receipt = page.evaluate(REPORT)
    assert (receipt["state"], receipt["epsilon"]) == ("queued", 1)
    assert page.evaluate(REPORT)["state"] == "already_reported"
    assert call(page, "flush")["state"] == "sent"
    first, second, *others = page.evaluate("outcomes")
    assert (first, second) == ("no_consent", "queued")
    assert sorted(others) == ["already_reported", "sent"]  # the report may be sent before the second call
    assert site.count() == len(site.bodies) == 1

    [posted] = [each for each in requests if each.method == "POST"]
    headers = posted.all_headers()
    assert headers["content-type"] == "text/plain"
    assert not {"cookie", "referer", "authorization"} & headers.keys()
    assert {each.method for each in requests} == {"GET", "POST"}


def test_a_page_shows_a_preview_before_consent(visit, site):
    page = visit()
    text = page.evaluate("async () => String(await client.preview({ age: 'young', hours: 7 }, 'yes'))")
    assert "What would be sent" in text
    assert call(page, "status")["reason"] == "no-consent"
    assert site.bodies == []


def test_a_report_is_drawn_and_stored_in_one_strict_transaction(visit):
    page = visit(spread=HOUR)
    call(page, "grant")
    page.evaluate("""() => {
        globalThis.transactions = [];
        const transaction = IDBDatabase.prototype.transaction;
        IDBDatabase.prototype.transaction = function (tables, mode, options) {
            transactions.push(`${mode} ${options?.durability}`);
            return transaction.call(this, tables, mode, options);
        };
        const random = crypto.getRandomValues.bind(crypto);
        crypto.getRandomValues = (array) => (transactions.push(`${array.length} bytes`), random(array));
    }""")
    assert page.evaluate(REPORT)["state"] == "queued"
    done = page.evaluate("transactions")
    written = done.index("readwrite strict")
    assert done[0] == "readonly strict"
    assert done[written + 1 : written + 3] == ["8 bytes", "16 bytes"]
    assert done.count("readwrite strict") == 1
    assert all(each.endswith("bytes") for each in done[written + 1 : written + 4])


def test_eight_tabs_at_once_make_one_report(visit, site):
    tabs = [visit() for _ in range(8)]
    call(tabs[0], "grant")
    start = time.time() * 1000 + 1000
    for tab in tabs:
        tab.evaluate(REPORT_AT, start)
    states = [tab.evaluate("async () => (await result).state") for tab in tabs]
    assert sorted(states) == ["already_reported"] * 7 + ["queued"]
    assert {call(tab, "flush")["state"] for tab in tabs} <= {"sent", "duplicate"}
    assert len(set(site.bodies)) == site.count() == 1


def test_two_people_in_one_browser_share_neither_consent_nor_answers(visit, site):
    ann, ben = visit(person="ann"), visit(person="ben")
    assert call(ann, "grant")["state"] == "ready"
    assert call(ben, "status")["reason"] == "no-consent"
    assert ben.evaluate(REPORT)["reason"] == "no-consent"
    call(ben, "grant")
    assert [page.evaluate(REPORT)["state"] for page in (ann, ben)] == ["queued", "queued"]
    assert [call(page, "flush")["state"] for page in (ann, ben)] == ["sent", "sent"]
    assert len(set(site.bodies)) == site.count() == 2


def test_nothing_is_stored_before_consent(visit):
    page = visit()
    call(page, "status")
    page.evaluate(REPORT)
    call(page, "withdraw")
    names = "async () => (await indexedDB.databases()).map(({ name }) => name)"
    assert page.evaluate(names) == []
    call(page, "grant")
    assert page.evaluate(names) == ["ldp-bayes"]


def test_a_reload_while_the_report_is_sent_sends_the_same_bytes(visit, site, origin):
    page = visit()
    call(page, "grant")
    site.proxy.delay = 1.5
    page.evaluate(REPORT)
    wait_for(lambda: site.bodies)
    page.reload()
    open_client(page, origin, site)
    assert call(page, "flush")["state"] in ("sent", "duplicate")
    assert len(set(site.bodies)) == site.count() == 1


def test_the_end_of_the_page_sends_a_report_that_was_not_tried(visit, site, origin):
    page = visit(spread=HOUR)
    call(page, "grant")
    page.evaluate(REPORT)
    assert site.bodies == []
    page.goto("about:blank")
    wait_for(lambda: site.count() == 1)
    open_client(page, origin, site)
    assert call(page, "flush")["state"] in ("sent", "duplicate")
    assert len(set(site.bodies)) == site.count() == 1


def test_a_withdrawn_report_is_not_sent_at_the_end_of_another_tab(visit, site):
    page, other = visit(spread=HOUR), visit(spread=HOUR)
    call(page, "grant")
    page.evaluate(REPORT)
    assert call(other, "withdraw")["state"] == "withdrawn"
    page.wait_for_timeout(500)
    page.goto("about:blank")
    other.goto("about:blank")
    time.sleep(1)
    assert site.bodies == []


def test_another_tab_sends_the_report_when_the_first_one_ends(visit, site):
    first = visit()
    call(first, "grant")
    first.route("**/reports", lambda route: route.abort())
    first.evaluate(REPORT)
    wait_for(lambda: call(first, "flush", 1)["reason"] == "collector-unreachable")
    second = visit()
    second.wait_for_timeout(500)
    assert site.bodies == []
    first.close()  # the browser may let a last attempt of this tab through, which the page no longer aborts
    wait_for(lambda: call(second, "status")["state"] in ("sent", "duplicate"))
    assert len(set(site.bodies)) == site.count() == 1


@pytest.mark.parametrize("sending", ["the tab that reported", "the other tab"])
def test_every_tab_learns_the_outcome_once(visit, site, sending):
    reporting, other, stranger = visit(spread=HOUR), visit(spread=HOUR), visit(spread=HOUR, person="ben")
    call(reporting, "grant")
    reporting.evaluate(REPORT)
    assert call(other, "status")["state"] == "queued"
    sender = reporting if sending == "the tab that reported" else other
    assert call(sender, "flush")["state"] == "sent"
    for page, states in ((reporting, ["queued", "sent"]), (other, ["sent"])):
        page.wait_for_function("(count) => outcomes.length === count", arg=len(states))
    reporting.wait_for_timeout(300)
    assert [page.evaluate("outcomes") for page in (reporting, other, stranger)] == [
        ["queued", "sent"],
        ["sent"],
        [],
    ]
    assert len(site.bodies) == site.count() == 1


def test_a_page_without_a_channel_to_other_tabs_reports(context, origin, site):
    context.add_init_script("globalThis.BroadcastChannel = class { constructor() { throw new Error() } }")
    page = context.new_page()
    open_client(page, origin, site)
    call(page, "grant")
    page.evaluate(REPORT)
    assert call(page, "flush")["state"] == "sent"


def respond(status: int, content_type: str, body: str, **headers: str) -> Callable[[Route], None]:
    """Return a handler that responds to every post."""
    fields = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return lambda route: route.fulfill(status=status, content_type=content_type, body=body, headers=fields)


PROBLEM = "application/problem+json"
HTML = "<!doctype html><p>Please accept our terms."


@pytest.mark.parametrize(
    ("reason", "handler"),
    [
        ("collector-unreachable", respond(200, "text/html", HTML)),
        ("collector-unreachable", respond(502, "text/html", HTML)),
        ("too-many-requests", respond(429, PROBLEM, '{"reason": "too-many-requests"}', Retry_After="1")),
        ("store-unavailable", respond(503, PROBLEM, '{"reason": "store-unavailable"}', Retry_After="1")),
    ],
    ids=["html with 200", "html with 502", "429", "503"],
)
def test_the_same_bytes_are_sent_until_the_collector_has_answered(visit, site, reason, handler):
    page = visit()
    posted = []

    def record(route: Route) -> None:
        posted.append(route.request.post_data_buffer)
        handler(route)

    call(page, "grant")
    page.route("**/reports", record)
    page.evaluate(REPORT)
    receipt = call(page, "flush", 0.8)
    assert (receipt["state"], receipt["reason"]) == ("queued", reason)
    assert posted
    assert site.bodies == []
    page.unroute("**/reports")
    assert call(page, "flush", 20)["state"] == "sent"
    assert len(set(site.bodies)) == site.count() == 1


def test_without_a_network_the_report_waits(visit, context, site):
    page = visit()
    call(page, "grant")
    context.set_offline(True)
    assert page.evaluate(REPORT)["state"] == "queued"
    assert call(page, "flush", 1)["reason"] == "collector-unreachable"
    context.set_offline(False)
    assert call(page, "flush", 20)["state"] == "sent"
    assert len(set(site.bodies)) == site.count() == 1


@pytest.mark.parametrize("fault", ["captive portal", "redirect", "cut response", "lost response", "garbage"])
def test_a_faulty_network_neither_loses_nor_repeats_a_report(visit, site, fault):
    page = visit()
    call(page, "grant")
    with site.proxy.failing(fault):
        page.evaluate(REPORT)
        assert call(page, "flush", 1)["state"] == "queued"
    assert call(page, "flush", 20)["state"] in ("sent", "duplicate")
    assert len(set(site.bodies)) == site.count() == 1


def test_global_privacy_control_stops_the_client(context, origin, site):
    context.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
    page = context.new_page()
    open_client(page, origin, site)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    assert call(page, "grant")["reason"] == "do-not-track"
    assert page.evaluate(REPORT)["reason"] == "do-not-track"
    assert requests == []


FORBIDDEN = """Object.defineProperty(globalThis, "indexedDB", {
    get() { throw new DOMException("no", "SecurityError") },
})"""
MISSING = "Object.defineProperty(globalThis, 'indexedDB', { value: undefined })"


@pytest.mark.parametrize("script", [FORBIDDEN, MISSING], ids=["forbidden", "missing"])
def test_without_a_database_nothing_is_drawn(context, origin, site, script):
    context.add_init_script(script)
    page = context.new_page()
    open_client(page, origin, site)
    page.evaluate("() => { crypto.getRandomValues = () => { throw new Error('bytes were drawn') } }")
    for receipt in (call(page, "grant"), call(page, "status"), page.evaluate(REPORT)):
        assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    assert site.bodies == []


def test_consent_is_not_recorded_beyond_the_quota(visit, context, origin):
    page = visit()
    session = context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 1})
    receipt = call(page, "grant")
    assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")


def test_a_report_that_the_storage_does_not_take_is_not_sent_and_can_be_made_later(visit, site):
    page = visit()
    call(page, "grant")
    page.evaluate("""() => {
        globalThis.put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = function (entry) {
            put.call(this, entry);
            this.transaction.abort();
        };
    }""")
    receipt = page.evaluate(REPORT)
    assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    assert receipt["epsilon"] == 0
    page.evaluate("() => { IDBObjectStore.prototype.put = put }")
    assert call(page, "flush")["state"] == "ready"
    assert page.evaluate(REPORT)["state"] == "queued"
    assert call(page, "flush")["state"] == "sent"
    assert len(set(site.bodies)) == site.count() == 1


FILL = """async () => {
    const database = await new Promise((resolve) => {
        const request = indexedDB.open("other", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("table", { autoIncrement: true });
        request.onsuccess = () => resolve(request.result);
    });
    for (const size of [20_000, 1000, 50]) {
        for (let isFull = false; !isFull; ) {
            const transaction = database.transaction("table", "readwrite");
            transaction.objectStore("table").put(new Uint8Array(size));
            isFull = await new Promise((resolve) => {
                transaction.oncomplete = () => resolve(false);
                transaction.onabort = () => resolve(transaction.error.name === "QuotaExceededError");
            });
        }
    }
    database.close();
}"""


def test_a_report_beyond_the_quota_is_not_sent_and_can_be_made_later(visit, context, origin, site):
    page = visit()
    session = context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 500_000})
    assert call(page, "grant")["state"] == "ready"
    page.evaluate(FILL)
    for _ in range(2):
        receipt = page.evaluate(REPORT)
        assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
        assert receipt["epsilon"] == 0
    assert call(page, "flush", 1)["state"] == "ready"
    assert site.bodies == []
    session.send("Storage.overrideQuotaForOrigin", {"origin": origin})
    assert page.evaluate(REPORT)["state"] == "queued"
    assert call(page, "flush")["state"] == "sent"
    assert len(set(site.bodies)) == site.count() == 1


HOLD_DATABASE = """() => new Promise((resolve) => {
    indexedDB.open("ldp-bayes").onsuccess = ({ target }) => resolve(globalThis.held = target.result);
}).then(() => undefined)"""
NO_BYTES = "() => { crypto.getRandomValues = () => { throw new Error('bytes were drawn') } }"


def test_a_frame_without_an_origin_of_its_own_has_no_storage_and_draws_nothing(context, origin, site):
    page = context.new_page()
    page.goto(f"{origin}/tests/client.html")
    page.set_content(f'<iframe sandbox="allow-scripts" src="{origin}/tests/client.html"></iframe>')
    frame = page.frames[1]
    frame.wait_for_function("() => 'ldp' in globalThis")
    frame.evaluate(START, [site.url, {}])
    frame.evaluate(NO_BYTES)
    for method in ("grant", "status", "withdraw"):
        receipt = frame.evaluate("async (method) => ({ ...(await client[method]()) })", method)
        assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    assert frame.evaluate(REPORT)["reason"] == "journal-unavailable"
    assert site.bodies == []


def test_a_database_of_another_version_is_unavailable_and_stays_as_it_is(visit, site):
    page = visit(spread=HOUR)
    call(page, "grant")
    page.evaluate("""() => new Promise((resolve) => {
        indexedDB.open("ldp-bayes", 2).onsuccess = ({ target }) => resolve(target.result.close());
    })""")
    page.evaluate(NO_BYTES)
    receipt = page.evaluate(REPORT)
    assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    assert call(page, "withdraw")["reason"] == "journal-unavailable"
    versions = "async () => (await indexedDB.databases()).map(({ name, version }) => [name, version])"
    assert page.evaluate(versions) == [["ldp-bayes", 2]]
    assert site.bodies == []


def test_calls_wait_while_another_tab_blocks_a_deletion_and_find_no_consent_afterwards(visit, site):
    page, other = visit(spread=HOUR), visit(spread=HOUR)
    call(page, "grant")
    other.evaluate(HOLD_DATABASE)
    page.evaluate(NO_BYTES)
    page.evaluate("""() => new Promise((resolve) => {
        indexedDB.deleteDatabase("ldp-bayes").onblocked = resolve;
    }).then(() => { globalThis.waiting = client.report({ age: "young", hours: 7 }, "yes") })
        .then(() => undefined)""")
    page.wait_for_timeout(200)
    other.evaluate("held.close()")
    assert page.evaluate("async () => (await waiting).reason") == "no-consent"
    assert call(page, "status")["reason"] == "no-consent"
    assert site.bodies == []


def test_a_database_that_stays_blocked_ends_calls_with_a_receipt_and_is_not_changed_later(visit, site):
    page, other = visit(spread=HOUR), visit(spread=HOUR)
    call(page, "grant")
    other.evaluate(HOLD_DATABASE)
    page.evaluate("""() => new Promise((resolve) => {
        const start = globalThis.setTimeout;
        globalThis.setTimeout = (call, milliseconds) => start(call, milliseconds / 50);
        indexedDB.deleteDatabase("ldp-bayes").onblocked = resolve;
    }).then(() => undefined)""")
    page.evaluate(NO_BYTES)
    for receipt in (page.evaluate(REPORT), call(page, "grant"), call(page, "status")):
        assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    other.evaluate("held.close()")
    page.wait_for_timeout(300)
    assert page.evaluate("async () => (await indexedDB.databases()).length") == 0
    assert call(page, "status")["reason"] == "no-consent"
    assert call(page, "grant")["state"] == "ready"
    assert site.bodies == []


def test_tabs_without_web_locks_make_and_count_one_report(context, visit, site):
    context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    tabs = [visit() for _ in range(3)]
    assert tabs[0].evaluate("navigator.locks === undefined")
    call(tabs[0], "grant")
    assert [tab.evaluate(REPORT)["state"] for tab in tabs] == ["queued"] + 2 * ["already_reported"]
    assert {call(tab, "flush")["state"] for tab in tabs} <= {"sent", "duplicate"}
    assert len(set(site.bodies)) == site.count() == 1


def test_without_web_locks_the_next_visit_sends_the_report_by_itself(context, visit, site):
    context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    page = visit()
    call(page, "grant")
    with site.proxy.failing("captive portal"):
        page.evaluate(REPORT)
        assert call(page, "flush", 1)["state"] == "queued"
        page.close()
    again = visit()
    wait_for(lambda: site.count() == 1)
    assert call(again, "flush")["state"] in ("sent", "duplicate")
    assert len(set(site.bodies)) == 1


def test_html_in_place_of_the_plan_is_a_fault_of_the_network_and_nothing_is_stored(visit, site):
    page = visit()
    page.route("**/sleep", respond(200, "text/html", HTML))
    receipt = call(page, "grant")
    assert (receipt["state"], receipt["reason"]) == ("unavailable", "collector-unreachable")
    assert page.evaluate("indexedDB.databases()") == []
    page.unroute("**/sleep")
    assert call(page, "grant")["state"] == "ready"


DELETE = """(resolve, reject) => {
    const request = indexedDB.deleteDatabase("ldp-bayes");
    request.onsuccess = resolve;
    request.onerror = reject;
}"""


def test_a_deleted_database_is_a_person_who_has_not_agreed(visit, site):
    page = visit(spread=HOUR)
    call(page, "grant")
    page.evaluate(f"() => new Promise({DELETE})")
    assert page.evaluate(REPORT)["reason"] == "no-consent"
    assert site.bodies == []


def test_a_database_that_is_deleted_during_calls_ends_them_with_receipts(visit, site):
    page = visit()
    states = page.evaluate(f"""async () => {{
        const states = [];
        for (let round = 0; round < 20; round++) {{
            await client.grant();
            const report = client.report({{ age: "young", hours: 7 }}, "yes");
            await new Promise((resolve) => setTimeout(resolve, round / 2));
            await new Promise({DELETE});
            states.push((await report).state, (await client.status()).state);
        }}
        return states;
    }}""")
    assert set(states) <= {"queued", "no_consent", "unavailable", "already_reported", "sent"}
    assert states[-1] == "no_consent"


# Each person has a first kill of another kind, and at most a second one: seven kills have all four kinds.
@pytest.mark.parametrize("kills", [7, pytest.param(10, marks=[pytest.mark.clients, pytest.mark.repeated])])
def test_kills_of_page_tab_and_browser_neither_lose_nor_repeat_a_report(chromium, tmp_path, kills):
    seen = browser_kills.kills(chromium.browser_type, tmp_path, kills)
    assert seen.kinds.total() >= kills
    assert min(seen.kinds[kind] for kind in browser_kills.KINDS) > 0
