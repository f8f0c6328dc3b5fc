"""Sealed reports: what each key opens, what it refuses, and that a message shows nothing but its survey.

HPKE itself is cryptography's. Messages of the JavaScript client, which implements it again, are opened here.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from encoders.late_imports import MissingExtraError
from encoders.randomness import FastStream
from encoders.report import MAX_REPORT_BYTES, OVERHEAD_BYTES
from encoders.survey import Plan, read_survey
from encoders.survey import sealing as module
from encoders.survey.randomise import randomise_all
from encoders.survey.relay import CODE_BYTES, is_key
from encoders.survey.sealing import SealError, column_bytes, outer_bytes, seal_envelope
from encoders.survey.unsealing import KeyFileError, load_private_key, open_inner, open_outer
from tests.support.relays import COLLECTOR, RELAY, relayed_plan, relayed_report
from tests.support.surveys import RELAY_KEYS, RELAYED

ROOT = Path(__file__).resolve().parents[3]
SEALING_MODULE = (ROOT / "clients/javascript/src/relay/sealing.js").as_uri()
SEAL_IN_NODE = f"""
import {{ sealEnvelope }} from "{SEALING_MODULE}";
const {{ ask, code, digest, keys, payloads, reports }} = JSON.parse(process.argv[1]);
const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));
const relay = {{ ask, collector_key: keys[0], relay_key: keys[1] }};
const questions = payloads.map((payloadBytes) => ({{ mechanism: {{ payloadBytes }} }}));
const plan = {{ digestBytes: bytes(digest), questions, relay }};
const message = await sealEnvelope(plan, reports.map(bytes), bytes(code));
process.stdout.write(Buffer.from(message).toString("hex"));
"""
WIDE = "[features.work]\nvalues = [" + ", ".join(f'"{n}"' for n in range(300)) + "]\n"
# public keys of low order: each shared secret with them is zero, so everybody could open the seal
LOW_ORDER = [
    "00" * 32,
    "01" + "00" * 31,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


PLAN = relayed_plan()
WIDE_PLAN = relayed_plan(RELAYED + WIDE)


def make_report(plan: Plan = PLAN, **more: Any) -> bytes:
    return relayed_report(plan, **more)


def seal_inner(plan: Plan, padded: bytes) -> bytes:
    """Seal the plaintext of the inner message as a device with a fault would."""
    return module._seal(padded, COLLECTOR.public_key, module.REPORT_INFO + plan.digest_bytes)


def test_the_relay_opens_the_outer_seal_and_the_collector_the_inner_one():
    report = make_report()
    message = seal_envelope(PLAN, [report])
    inner = open_outer(PLAN, message, RELAY)
    assert open_inner(PLAN, inner, COLLECTOR) == report
    assert (len(message), len(inner)) == (outer_bytes(PLAN), sum(column_bytes(PLAN)))


def test_all_messages_of_a_plan_have_one_length():
    reports = [make_report(WIDE_PLAN, work="7") for _ in range(40)]
    assert len(set(map(len, reports))) > 1
    messages = [seal_envelope(WIDE_PLAN, [each]) for each in reports]
    assert set(map(len, messages)) == {WIDE_PLAN.longest_report + 100}
    for report, message in zip(reports, messages, strict=True):
        assert open_inner(WIDE_PLAN, open_outer(WIDE_PLAN, message, RELAY), COLLECTOR) == report


def test_two_messages_of_one_report_have_nothing_in_common_but_the_id_of_the_key():
    report = make_report()
    first, second = seal_envelope(PLAN, [report]), seal_envelope(PLAN, [report])
    inner = [open_outer(PLAN, each, RELAY) for each in (first, second)]
    for one, other in ((first, second), inner):
        assert one[:1] == other[:1]
        assert one[1:33] != other[1:33]
        equal = sum(a == b for a, b in zip(one[33:], other[33:], strict=True))
        assert equal < 20  # of about 100 bytes; the probability of more is below 1e-20


def test_neither_key_opens_the_other_seal():
    message = seal_envelope(PLAN, [make_report()])
    with pytest.raises(SealError):
        open_outer(PLAN, message, COLLECTOR)
    with pytest.raises(SealError):
        open_inner(PLAN, open_outer(PLAN, message, RELAY), RELAY)


def test_a_message_opens_for_its_plan_only():
    other = relayed_plan(RELAYED.replace("night-work", "day-work"))
    message = seal_envelope(PLAN, [make_report()])
    assert outer_bytes(other) == outer_bytes(PLAN)
    with pytest.raises(SealError, match="not sealed for this survey"):
        open_outer(other, message, RELAY)
    with pytest.raises(SealError, match="not sealed for this survey"):
        open_inner(other, open_outer(PLAN, message, RELAY), COLLECTOR)


def test_a_changed_byte_is_refused_wherever_it_is():
    message = seal_envelope(PLAN, [make_report()])
    for at in range(len(message)):
        changed = bytearray(message)
        changed[at] ^= 1
        with pytest.raises(SealError):
            open_outer(PLAN, bytes(changed), RELAY)


@pytest.mark.parametrize("change", [b"", -1, 1])
def test_a_message_of_another_length_is_refused(change):
    message = seal_envelope(PLAN, [make_report()])
    changed = b"" if change == b"" else message[:change] if change < 0 else message + b"\0"
    with pytest.raises(SealError, match=f"{outer_bytes(PLAN)} bytes"):
        open_outer(PLAN, changed, RELAY)


@pytest.mark.parametrize("length", [0, 57, 59, 65_535])
def test_padding_other_than_zeros_is_refused(length):
    report = b"\x95" * PLAN.longest_report
    message = seal_inner(PLAN, length.to_bytes(2, "big") + report)
    with pytest.raises(SealError, match="padded with zeros"):
        open_inner(PLAN, message, COLLECTOR)


def test_the_longest_report_is_the_one_of_the_widest_question():
    assert PLAN.longest_report == len(make_report())
    lengths = {len(make_report(WIDE_PLAN, work="7")) for _ in range(60)}
    assert max(lengths) == WIDE_PLAN.longest_report


def test_a_report_that_is_longer_than_those_of_the_plan_is_refused():
    with pytest.raises(SealError, match=f"at most {PLAN.longest_report} bytes"):
        seal_envelope(PLAN, [bytes(PLAN.longest_report + 1)])


@pytest.mark.parametrize("point", LOW_ORDER)
@pytest.mark.parametrize("whose", ["collector", "relay"])
def test_a_key_of_low_order_is_refused(point, whose):
    key = base64.b64encode(b"\1\0\x20" + bytes.fromhex(point) + b"\0\1\0\1").decode()
    assert is_key(key)
    plan = relayed_plan(**{whose: key})
    with pytest.raises(SealError, match="public key of the relay's entry"):
        seal_envelope(plan, [make_report(plan)])


def test_a_message_with_an_ephemeral_key_of_low_order_is_refused():
    message = seal_envelope(PLAN, [make_report()])
    for point in LOW_ORDER:
        with pytest.raises(SealError):
            open_outer(PLAN, message[:1] + bytes.fromhex(point) + message[33:], RELAY)


def test_a_survey_without_a_relay_is_refused():
    plan = read_survey(RELAYED[: RELAYED.index("[relay]")] + RELAYED[RELAYED.index("[features.nights]") :])
    with pytest.raises(SealError, match="no relay"):
        seal_envelope(plan.compile(), [b""])


def test_a_private_key_is_read_again_from_its_file(tmp_path):
    file = tmp_path / "relay.key"
    file.write_bytes(RELAY.pem)
    assert load_private_key(file) == RELAY
    assert is_key(RELAY.public_key)
    assert RELAY.public_key != COLLECTOR.public_key


def test_a_private_key_shows_its_public_half_only():
    secret = RELAY.pem.decode().splitlines()[1]
    assert secret not in repr(RELAY)
    assert RELAY.public_key in repr(RELAY)


def test_a_file_that_is_not_a_key_is_refused_by_its_name(tmp_path):
    other = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "other.key").write_bytes(other)
    (tmp_path / "text.key").write_bytes(b"secret")
    for name, why in (("other", "another kind"), ("text", "not a private key"), ("none", "cannot be read")):
        with pytest.raises(KeyFileError, match=f"^{name}.key: .*{why}") as caught:
            load_private_key(tmp_path / f"{name}.key")
        assert "secret" not in str(caught.value)


ALL_PLAN = relayed_plan(
    f"{RELAYED}{WIDE}".replace("[relay]", '[relay]\nask = "all"').replace("epsilon = 2\n", "epsilon = 3\n", 1)
)


@pytest.mark.slow
@pytest.mark.parametrize("code", [b"", bytes(range(16))])
@pytest.mark.parametrize("plan", [WIDE_PLAN, ALL_PLAN], ids=["one", "all"])
def test_messages_of_the_javascript_client_are_opened(plan, code):
    """Node seals, with the keys in the plan; its own tests check the vectors of RFC 9180."""
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed")
    coded = plan.encode({"nights": "some", "rested": True, "work": "7"}, None)
    reports = [each.report for each in randomise_all(plan, coded, FastStream(1))]
    assert plan.relay is not None
    given = {
        "ask": plan.relay.as_dict().get("ask"),
        "code": code.hex(),
        "digest": plan.digest,
        "keys": [plan.relay.collector_key, plan.relay.relay_key],
        "payloads": [each.mechanism.payload_bytes for each in plan.questions],
        "reports": [each.hex() for each in reports],
    }
    result = subprocess.run(
        [node, "--input-type=module", "--eval", SEAL_IN_NODE, json.dumps(given)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    content = open_outer(plan, bytes.fromhex(result.stdout), RELAY, has_code=bool(code))
    assert content[: len(code)] == code
    start = len(code)
    for column, size in enumerate(column_bytes(plan)):
        assert open_inner(plan, content[start : start + size], COLLECTOR, column) == reports[column]
        start += size


@pytest.mark.slow
def test_the_longest_message_of_any_plan_is_one_that_every_relay_takes():
    """deploy/relay/nginx.conf takes 16 KiB, and a page may send 64 KiB when it ends."""
    values = ", ".join(f'"{number}"' for number in range(8 * (MAX_REPORT_BYTES - OVERHEAD_BYTES)))
    mechanism = '[mechanism]\nfrequency = "OUE"\n'
    plan = relayed_plan(f"{RELAYED}\n[features.work]\nvalues = [{values}]\n{mechanism}")
    assert plan.longest_report > MAX_REPORT_BYTES - 8
    report = bytes(plan.longest_report)
    message = seal_envelope(plan, [report], bytes(CODE_BYTES))
    assert len(message) == outer_bytes(plan) + CODE_BYTES <= 4212
    content = open_outer(plan, message, RELAY, has_code=True)
    assert open_inner(plan, content[CODE_BYTES:], COLLECTOR) == report


def test_a_message_that_was_sealed_for_other_keys_cannot_be_opened():
    plan = read_survey(RELAYED.replace("[features.nights]", f"{RELAY_KEYS}[features.nights]")).compile()
    message = seal_envelope(plan, [make_report(plan)])
    key_id = base64.b64decode(RELAY.public_key)[:1]
    for sealed, why in ((message, "names another key"), (key_id + message[1:], "not sealed for this survey")):
        with pytest.raises(SealError, match=why):
            open_outer(plan, sealed, RELAY)


def test_an_installation_without_hpke_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)  # as before version 47
    with pytest.raises(
        MissingExtraError, match=r"cryptography 47 or later: pip install 'ldp-bayes\[device-relay\]'"
    ):
        seal_envelope(PLAN, [make_report()])
