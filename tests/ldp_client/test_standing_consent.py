"""Consent to a series: which later plans it covers, what they may spend, and how it ends."""

import threading
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from encoders.survey.invitation import draw_invitation
from encoders.survey.signature import signature_text
from encoders.survey.unsealing import make_private_key
from encoders.survey.waves import Series
from ldp_client import Client, Journal, Response, State
from ldp_client.cli import main
from ldp_design.authoring.signing import KeyPair, make_keys, sign
from tests.ldp_client.conftest import RECORDED, ROW
from tests.support.relays import ALL, SMALL, relayed_plan
from tests.support.relays import ROW as NIGHTS
from tests.support.surveys import RELAYED, SLEEP

ORIGIN = "https://relay.example"
OTHER_KEY = make_private_key().public_key
COLLECTOR = "http://collector.test/v1/surveys/"
AUTHOR, OTHER_AUTHOR = make_keys(), make_keys()
LIFETIME = 3
BASE = read_survey(SLEEP).compile()


def in_series(number: int, survey: str = SLEEP, author: KeyPair = AUTHOR, name: str = "sleep") -> Plan:
    return replace(
        read_survey(survey).compile(), id=f"sleep-{number}", family="", series=Series(name, author.public_key)
    )


class Author:
    """Serves the plans of an author with their signatures, and counts reports."""

    def __init__(self, author: KeyPair = AUTHOR) -> None:
        self.author, self.plans, self.bodies = author, dict[str, Plan](), list[tuple[str, bytes]]()
        self.deleted: list[str] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if method == "POST":
            self.bodies.append((url, body or b""))
            return RECORDED if "collector" in url else Response(202, b'{"status": "held"}')
        if method == "DELETE":
            self.deleted.append(url)
            return Response(204, b"")
        path = url.removesuffix("/signature").removesuffix("/plan")
        plan = self.plans[path]
        if url.endswith("/signature"):
            return Response(200, b64encode(sign(plan, self.author.private_pem)))
        return Response(200, plan.json)


class Unreachable(Author):
    """A network that passes nothing on."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        raise OSError


class Device:
    """A device with one journal; `host` is the collector, or the relay of a plan with one."""

    def __init__(self, folder: Path) -> None:
        self.network, self.journal = Author(), folder / "journal.db"

    def client(self, plan: Plan, host: str = COLLECTOR, **options: object) -> Client:
        url = plan.relay.url if plan.relay else host + plan.id
        self.network.plans[url] = plan
        options = {"public_key": AUTHOR.public_key, "journal": self.journal, "spread": 0} | options
        return Client(url, transport=self.network, **options)

    def agree(self, plan: Plan, lifetime: float = LIFETIME, **options: object) -> State:
        with self.client(plan, **options) as client:
            return client.grant(series=True, lifetime_epsilon=lifetime).state

    def answer(self, plan: Plan, label: str | None = "no", **options: object) -> tuple[State, str]:
        """Start the application once more, renew, and answer; return the receipt's state and reason."""
        with self.client(plan, **options) as client:
            receipt = client.renew()
            if receipt.state is State.READY:
                receipt = client.report(ROW, label)
                client.flush()
        return receipt.state, receipt.reason


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


ASKS_AGAIN = (State.NO_CONSENT, "asks-again")
ANSWERED = (State.QUEUED, "")


@pytest.mark.slow
def test_a_later_plan_needs_no_new_yes(device):
    assert device.agree(in_series(1)) is State.READY
    assert [device.answer(in_series(number)) for number in (1, 2, 3)] == [ANSWERED] * 3
    assert len(device.network.bodies) == 3


def test_the_sum_of_all_plans_stays_below_the_epsilon_for_life(device):
    device.agree(in_series(1), lifetime=2.5)
    found = [device.answer(in_series(number)) for number in range(1, 5)]
    assert found == [ANSWERED, ANSWERED, ASKS_AGAIN, ASKS_AGAIN]
    small = replace(in_series(5, SLEEP.replace("epsilon = 1.0", "epsilon = 0.5")))
    assert device.answer(small) == ANSWERED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("epsilon = 1.0", "epsilon = 1.001"),
        ('"young", "old"', '"young", "old", "older"'),
        ('"yes", "no"', '"yes", "no", "maybe"'),
        ("[features.hours]", '[features.more]\nvalues = ["a", "b"]\n[features.hours]'),
        ('missing = "category"', ""),
        ('"rested"', '"tired"'),
        ("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"'),
        ("[features.age]", '[texts.en]\ntitle = "Sleep"\n[features.age]'),
        ("[features.age]", '[waves]\nfirst = 2026-01-01\nevery = "year"\ncount = 9\n[features.age]'),
    ],
)
def test_whatever_was_not_shown_asks_again(device, old, new):
    assert old in SLEEP
    device.agree(in_series(1))
    later = in_series(2, SLEEP.replace(old, new))
    token = {"token": draw_invitation(later, SystemEntropy())} if later.by_invitation else {}
    assert device.answer(later, **token) == ASKS_AGAIN
    assert not device.network.bodies
    assert Journal(device.journal).find(device.client(in_series(2)).identity) is None


def test_a_table_that_was_not_shown_asks_again(device):
    plain = SLEEP.replace("range = [0, 12]\nbins = 4", 'values = ["few", "many"]')
    table = f'{plain}\n[tables.both]\nfeatures = ["age", "hours"]\nlabel = true\n'
    device.agree(in_series(1, plain))
    assert device.answer(in_series(2, table))[1] == "asks-again"
    device.agree(in_series(3, table))
    with device.client(in_series(4, plain)) as client:
        assert client.renew().state is State.READY


def test_fewer_values_and_features_need_no_new_yes(device):
    wider = SLEEP.replace('"young", "old"', '"young", "old", "older"')
    wider = wider.replace("[features.age]", '[features.more]\nvalues = ["a", "b"]\n[features.age]')
    device.agree(in_series(1, wider))
    assert device.answer(in_series(2)) == ANSWERED


def test_another_recipient_asks_again(device):
    device.agree(in_series(1))
    other = "http://other.test/v1/surveys/"
    assert device.answer(in_series(2), host=other) == ASKS_AGAIN


def relayed(number: int, relay: str = ORIGIN, survey: str = RELAYED, **changes: object) -> Plan:
    plan = relayed_plan(survey)
    assert plan.relay
    changed = replace(plan.relay, url=f"{relay}/nights-{number}", **changes)
    return replace(
        plan, id=f"nights-{number}", family="", relay=changed, series=Series("n", AUTHOR.public_key)
    )


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({}, False),
        ({"relay": "https://other.example"}, True),
        ({"relay_key": OTHER_KEY}, True),
        ({"collector_key": OTHER_KEY}, True),
        ({"delta": Decimal("1e-5")}, True),
    ],
)
def test_another_relay_or_key_of_it_asks_again(device, changes, asked):
    later = relayed(2, **changes)
    assert device.agree(relayed(1), relay=ORIGIN) is State.READY
    with device.client(later, relay=changes.get("relay", ORIGIN)) as client:
        receipt = client.renew()
    assert (receipt.state, receipt.reason) == (ASKS_AGAIN if asked else (State.READY, ""))


def test_all_answers_in_place_of_one_ask_again(device):
    device.agree(relayed(1, survey=SMALL), relay=ORIGIN)
    with device.client(relayed(2, survey=ALL), relay=ORIGIN) as client:
        receipt = client.renew()
    assert receipt.reason == "asks-again"
    assert "how many questions each person answers" in receipt.why


def test_a_withdrawal_takes_back_what_relays_hold_of_all_plans(device):
    device.agree(relayed(1), lifetime=4, relay=ORIGIN)
    for number in (1, 2):
        with device.client(relayed(number), relay=ORIGIN) as client:
            client.renew()
            client.report(NIGHTS, None)
            assert client.flush().state is State.SENT
    with device.client(relayed(2), relay=ORIGIN) as client:
        client.withdraw()
    assert len(device.network.deleted) == 2


def test_a_withdrawal_with_a_plan_that_was_never_read_takes_back_what_relays_hold(device):
    device.agree(relayed(1), lifetime=4, relay=ORIGIN)
    with device.client(relayed(1), relay=ORIGIN) as client:
        client.report(NIGHTS, None)
        client.flush()
    network, device.network = device.network, Unreachable()
    with device.client(relayed(2), relay=ORIGIN) as client:
        assert client.withdraw().reason == "relay-unreachable"
    device.network = network
    with device.client(relayed(2), relay=ORIGIN) as client:
        assert client.withdraw().reason != "relay-unreachable"
    assert len(network.deleted) == 1


def test_a_withdrawal_from_a_survey_without_a_series_ends_no_series(device):
    device.agree(in_series(1))
    with device.client(replace(BASE, id="sleep-9", family="")) as client:
        client.grant()
        client.withdraw()
    assert device.answer(in_series(2)) == ANSWERED


def test_another_key_or_name_is_another_series(device):
    device.agree(in_series(1))
    assert device.answer(in_series(2, name="work")) == (State.NO_CONSENT, "no-consent")
    device.network.author = OTHER_AUTHOR
    other = in_series(3, author=OTHER_AUTHOR)
    assert device.answer(other, public_key=OTHER_AUTHOR.public_key) == (State.NO_CONSENT, "no-consent")
    assert device.answer(other) == (State.REJECTED, "bad-signature")
    device.network.author = AUTHOR
    named = in_series(4, author=OTHER_AUTHOR)
    assert device.answer(named) == (State.NO_CONSENT, "no-consent")


def test_a_changed_plan_of_the_same_survey_is_never_answered(device, tmp_path):
    device.agree(in_series(1))
    changed = in_series(1, SLEEP.replace('"young", "old"', '"old", "young"'))
    (tmp_path / "plan.json").write_bytes(changed.json)
    (tmp_path / "plan.json.sig").write_text(signature_text(sign(changed, AUTHOR.private_pem)))
    options = {"public_key": AUTHOR.public_key, "journal": device.journal, "transport": device.network}
    with Client(tmp_path / "plan.json", COLLECTOR + changed.id, **options) as client:
        assert client.renew().state is State.READY
        assert client.report(ROW, "no").reason == "plan-changed"
    assert not device.network.bodies


def test_a_grant_names_the_epsilon_for_life(device):
    with device.client(in_series(1)) as client:
        assert client.grant(series=True).reason == "bad-option"
        assert client.grant(lifetime_epsilon=2).reason == "bad-option"
        assert client.grant(series=True, lifetime_epsilon=0).reason == "bad-option"
        assert client.grant(series=True, lifetime_epsilon=10**400).reason == "bad-option"
        assert client.grant(series=True, lifetime_epsilon=0.5).reason == "asks-again"
        assert client.status().state is State.NO_CONSENT
    with device.client(in_series(1), public_key=None) as client:
        assert client.grant(series=True, lifetime_epsilon=2).state is State.NO_CONSENT
    with device.client(replace(BASE, id="sleep-9", family="")) as client:
        assert client.grant(series=True, lifetime_epsilon=2).state is State.NO_CONSENT


def test_a_plain_yes_counts_in_the_sum_too(device):
    device.agree(in_series(1), lifetime=2)
    device.answer(in_series(1))
    with device.client(in_series(2)) as client:
        client.grant()
        assert client.report(ROW, "no").state is State.QUEUED
    with device.client(in_series(3)) as client:
        assert client.grant().reason == "asks-again"
    assert device.answer(in_series(3)) == ASKS_AGAIN
    assert device.agree(in_series(3), lifetime=3) is State.READY


def test_a_withdrawal_with_any_plan_ends_all(device):
    device.agree(in_series(1))
    device.answer(in_series(1))
    with device.client(in_series(2)) as waits, device.client(in_series(3)) as client:
        waits.renew()
        client.renew()
        client.withdraw()
        assert client.status().state is State.NO_CONSENT
        assert waits.report(ROW, "no").state is State.NO_CONSENT
    assert [device.answer(in_series(number)) for number in (3, 4)] == [(State.NO_CONSENT, "no-consent")] * 2
    assert device.agree(in_series(4)) is State.READY
    assert device.answer(in_series(5)) == ANSWERED


def test_a_withdrawal_with_a_plan_that_was_never_read_ends_the_authors_series(device):
    device.agree(in_series(1))
    with device.client(in_series(2)) as client:
        client.withdraw()
    assert device.answer(in_series(3))[0] is State.NO_CONSENT


def test_a_withdrawal_deletes_what_waits_of_other_plans(device):
    device.agree(in_series(1))
    with device.client(in_series(1), spread=3600) as client, device.client(in_series(2)) as other:
        client.report(ROW, "no")
        other.renew()
        other.withdraw()
        assert client.status().state is State.WITHDRAWN
    assert device.answer(in_series(1))[0] is State.WITHDRAWN


def test_status_and_preview_show_the_series(device, capsys):
    device.agree(in_series(1), lifetime=2.5)
    device.answer(in_series(1))
    line = "series sleep: epsilon 1 of 2.5 is spent, 1.5 is left"
    with device.client(in_series(1)) as client:
        assert client.status().series == line
        assert line in str(client.preview(ROW, "no"))
        main(["status", "--journal", str(device.journal)])
        assert line in capsys.readouterr().out
        client.withdraw()
        assert "withdrawn" in client.status().series
    main(["status", "--journal", str(device.journal)])
    assert "withdrawn: later plans are not answered" in capsys.readouterr().out


@pytest.mark.slow
def test_threads_do_not_overspend(device):
    device.agree(in_series(0), lifetime=2)
    clients = [device.client(in_series(number), spread=3600) for number in range(8)]
    for client in clients:
        assert client.renew().state is State.READY
    threads = [threading.Thread(target=partial(client.report, ROW, "no")) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    states = [client.status().state for client in clients]
    assert states.count(State.QUEUED) == 2
    standing = Journal(device.journal).standing(in_series(0).series_id)
    assert standing
    assert standing.spent == 2
    for client in clients:
        client.close(0)
