"""Envelopes: what a person sends who answers every question through a relay, from row to sealed bytes."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from encoders.randomness import GivenBytes
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise_all
from encoders.survey.relay import CODE_BYTES
from encoders.survey.sealing import RELAY_INFO, REPORT_INFO
from encoders.survey.unsealing import PrivateKey, read_private_key
from tools.vectors.common import random_bytes, spelled, spelled_row

COLLECTOR, RELAY = (
    read_private_key(
        X25519PrivateKey.from_private_bytes(random_bytes(f"envelopes/{name}", 32)).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
    )
    for name in ("collector", "relay")
)
PUBLIC_KEYS = {"collector": COLLECTOR.public_key, "relay": RELAY.public_key}
SURVEY = """
[survey]
id = "envelopes"
epsilon = {epsilon}
[relay]
ask = "all"
url = "https://relay.example/envelopes"
batch = 2000
honest = 0.73
epsilon = 1
delta = 1e-6
{times}
collector_key = "{collector}"
relay_key = "{relay}"
"""
TIMES = """
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
"""
WAVES = """
[waves]
first = 2026-11-01
every = "day"
count = 90
"""
"""So many that questions have indices of one, two and three bytes."""
LABELLED = """
[label]
name = "rested"
values = ["yes", "no"]
[features.smokes]
values = [true, false]
[features.age]
values = ["young", "middle", "old"]
missing = "category"
[features.sleep]
range = [0, 12]
missing = "category"
"""
UNLABELLED = """
[features.smokes]
values = [true, false]
[features.snacks]
choices = ["nuts", "fruit"]
missing = "category"
[features.district]
values = [{districts}]
"""
ROWS: list[tuple[dict[str, Any], str | None]] = [
    ({"smokes": True, "age": None, "sleep": 7.5}, "no"),
    ({"smokes": False, "age": "old", "sleep": None}, "yes"),
]
UNLABELLED_ROWS: list[tuple[dict[str, Any], str | None]] = [
    ({"smokes": True, "snacks": ["fruit"], "district": 1000}, None),
    ({"smokes": False, "snacks": None, "district": 1299}, None),
]


def envelopes() -> dict[str, Any]:
    """Return plans, and for rows and random bytes the reports of a person, and their envelope.

    Under "waves", the survey has waves, and each case names the index of its wave.
    """
    districts = ", ".join(
        str(1000 + i) for i in range(300)
    )  # a payload of two bytes: not all columns are equal
    surveys = [
        (_compile(LABELLED, "4.5"), ROWS),
        (_compile(UNLABELLED.format(districts=districts), "3"), UNLABELLED_ROWS),
    ]
    return {
        "collector_key": COLLECTOR.secret.private_bytes_raw().hex(),
        "relay_key": RELAY.secret.private_bytes_raw().hex(),
        "surveys": [_describe(plan, rows) for plan, rows in surveys],
        "waves": [_describe(_compile(LABELLED + WAVES, "4.5", times=""), ROWS, (3, 89))],
    }


def _describe(
    plan: Plan,
    rows: list[tuple[dict[str, Any], str | None]],
    waves: tuple[int | None, int | None] = (None, None),
) -> dict[str, Any]:
    cases = list(_cases(plan, rows, waves))
    return {"plan": plan.json.decode(), "digest": plan.digest, "cases": cases}


def _compile(features: str, epsilon: str, times: str = TIMES) -> Plan:
    return read_survey(SURVEY.format(epsilon=epsilon, times=times, **PUBLIC_KEYS) + features).compile()


def _cases(
    plan: Plan, rows: list[tuple[dict[str, Any], str | None]], waves: tuple[int | None, int | None]
) -> Iterator[dict[str, Any]]:
    wanted = sum(16 + each.mechanism.random_bytes for each in plan.questions)
    for number, ((row, label), wave) in enumerate(zip(rows, waves, strict=True)):
        random = random_bytes(f"{plan.digest}/{number}", wanted)
        code = random_bytes(f"{plan.digest}/{number}/code", CODE_BYTES * number)
        ephemeral = random_bytes(f"{plan.digest}/{number}/keys", 32 * (len(plan.questions) + 1))
        keys = [ephemeral[start : start + 32] for start in range(0, len(ephemeral), 32)]
        made = randomise_all(plan, plan.encode(row, label), GivenBytes(random), wave=wave)
        reports = [each.report for each in made]
        yield {
            "code": code.hex(),
            "envelope": _seal_all(plan, reports, code, keys, wave).hex(),
            "ephemeral_keys": [each.hex() for each in keys],
            "label": spelled(label),
            "random": random.hex(),
            "reports": [each.hex() for each in reports],
            "row": spelled_row(row),
            **({} if wave is None else {"wave": wave}),
        }


def _seal_all(plan: Plan, reports: list[bytes], code: bytes, keys: list[bytes], wave: int | None) -> bytes:
    digest, inner = plan.digest_bytes, b""
    for key, report, longest in zip(keys, reports, plan.longest_by_column, strict=False):
        padded = len(report).to_bytes(2, "big") + report.ljust(longest, b"\0")
        inner += seal(key, COLLECTOR, REPORT_INFO + digest, padded)
    of_wave = b"" if wave is None else wave.to_bytes(2, "big")
    return seal(keys[-1], RELAY, RELAY_INFO + digest + of_wave, code + inner)


def seal(ephemeral: bytes, recipient: PrivateKey, info: bytes, text: bytes) -> bytes:
    """Seal a text with a given ephemeral key: RFC 9180, sections 4.1 and 5.1, without a choice of suites."""
    own = X25519PrivateKey.from_private_bytes(ephemeral)
    named = base64.b64decode(recipient.public_key)
    enc, public = own.public_key().public_bytes_raw(), recipient.secret.public_key().public_bytes_raw()
    agreed = own.exchange(X25519PublicKey.from_public_bytes(public))
    kem, suite = b"KEM\0\x20", b"HPKE\0\x20\0\1\0\1"
    shared = _expand(kem, _extract(kem, b"", b"eae_prk", agreed), b"shared_secret", enc + public, 32)
    context = b"\0" + _extract(suite, b"", b"psk_id_hash", b"") + _extract(suite, b"", b"info_hash", info)
    secret = _extract(suite, shared, b"secret", b"")
    key, nonce = (
        _expand(suite, secret, name, context, size) for name, size in ((b"key", 16), (b"base_nonce", 12))
    )
    return named[:1] + enc + AESGCM(key).encrypt(nonce, text, None)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, secret: bytes, label: bytes, info: bytes, size: int) -> bytes:
    """Return one block of HKDF, cut to length."""
    head = size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(secret, head + b"\1", hashlib.sha256)[:size]
