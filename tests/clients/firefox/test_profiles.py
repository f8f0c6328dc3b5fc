"""The JavaScript client in Firefox when Firefox is killed, without storage, and in private windows."""

import pytest

from tests.support.firefox import Firefox
from tests.support.firefox_profile import BLOCKED_STORAGE, PRIVATE_WINDOWS
from tests.support.servers import wait_for
from tests.support.web_client import REPORT, STORED, call, open_client

pytestmark = [pytest.mark.slow, pytest.mark.clients]

YEAR = 365 * 86_400  # a report is almost certainly not sent during the test


@pytest.mark.parametrize("moment", ["before the post", "before the response"])
def test_a_start_after_a_kill_sends_the_same_bytes_once(tmp_path, origin, site, moment):
    profile = tmp_path / "profile"
    with Firefox(profile) as firefox:
        tab = firefox.open_tab()
        open_client(tab, origin, site, {"spread": YEAR if moment == "before the post" else 0})
        call(tab, "grant")
        site.proxy.delay = 10
        assert tab.evaluate(REPORT)["state"] == "queued"
        [[_, stored]] = tab.evaluate(STORED, "ldp-bayes")
        if moment == "before the response":
            wait_for(lambda: site.bodies)
        firefox.kill()
    site.proxy.delay = 0
    with Firefox(profile) as firefox:
        tab = firefox.open_tab()
        open_client(tab, origin, site, {"spread": 0})
        assert call(tab, "flush", 20)["state"] in ("sent", "duplicate")
        assert tab.evaluate(REPORT)["state"] == "already_reported"
    assert site.bodies == [bytes(stored)] * (1 if moment == "before the post" else 2)
    assert site.count() == 1


def test_without_storage_nothing_is_drawn(tmp_path, origin, site):
    with Firefox(tmp_path / "profile", BLOCKED_STORAGE) as firefox:
        tab = firefox.open_tab()
        open_client(tab, origin, site)
        tab.evaluate("() => { crypto.getRandomValues = () => { throw new Error('bytes were drawn') } }")
        for receipt in (call(tab, "grant"), call(tab, "status"), tab.evaluate(REPORT)):
            assert (receipt["state"], receipt["reason"]) == ("unavailable", "journal-unavailable")
    assert site.bodies == []


def test_global_privacy_control_which_private_windows_have_stops_the_client(tmp_path, origin, site):
    with Firefox(tmp_path / "profile", PRIVATE_WINDOWS) as firefox:
        tab = firefox.open_tab()
        open_client(tab, origin, site)
        for receipt in (call(tab, "grant"), tab.evaluate(REPORT)):
            assert (receipt["state"], receipt["reason"]) == ("no_consent", "do-not-track")
    assert site.bodies == []


def test_a_private_window_without_global_privacy_control_reports_once(tmp_path, origin, site):
    preferences = {**PRIVATE_WINDOWS, "privacy.globalprivacycontrol.pbmode.enabled": False}
    with Firefox(tmp_path / "profile", preferences) as firefox:
        tab = firefox.open_tab()
        open_client(tab, origin, site)
        call(tab, "grant")
        assert tab.evaluate(REPORT)["state"] == "queued"
        assert tab.evaluate(REPORT)["state"] == "already_reported"
        assert call(tab, "flush")["state"] == "sent"
    assert site.count() == len(site.bodies) == 1
