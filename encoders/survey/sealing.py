"""Seals a report for its collector, and once more for the relay in between; unsealing.py opens both seals.

Each seal is HPKE (RFC 9180) in base mode with one suite: X25519, HKDF-SHA256 and AES-128-GCM. The relay opens
the outer seal and cannot read the report. The collector opens the inner seal and cannot learn the sender.
docs/wire-format.md has the bytes. All messages of a plan have the same length. Needs cryptography, the extra
[relay].
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from encoders.errors import LdpError
from encoders.late_imports import LateImport, MissingExtraError
from encoders.survey.plan import Plan
from encoders.survey.relay import KEY_SUITE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

REPORT_INFO, RELAY_INFO = b"ldp-bayes report\0", b"ldp-bayes relay\0"
"""Before the plan's digest, the `info` of the inner and of the outer seal."""
LENGTH_BYTES, CODE_BYTES = 2, 16
X25519 = LateImport("cryptography.hazmat.primitives.asymmetric.x25519")
_HPKE = LateImport("cryptography.hazmat.primitives.hpke")
SEAL_BYTES = 1 + 32 + 16
"""Bytes that a seal adds: the key's id, an ephemeral public key, and the tag of AES-GCM."""


class SealError(LdpError):
    """A message whose seal does not open, or a public key that cannot be used."""

    reason = "bad-seal"


def inner_bytes(plan: Plan) -> int:
    """Return the number of bytes of each message that the collector opens."""
    return LENGTH_BYTES + plan.longest_report + SEAL_BYTES


def outer_bytes(plan: Plan) -> int:
    """Return the number of bytes of each message that the relay opens."""
    return inner_bytes(plan) + SEAL_BYTES


def seal_report(plan: Plan, report: bytes, code: bytes = b"") -> bytes:
    """Seal a report for the collector, and the result for the relay, with the keys in the plan.

    Each call gives another message. Send only one message of a report: a second one would be counted once,
    but would be missing in the crowd in which the first one hides.

    Parameters
    ----------
    plan : Plan
        A plan with a relay.
    report : bytes
        A report of this plan.
    code : bytes
        The code of 16 bytes that the relay gave to the person, if it takes messages with codes only. It is
        inside the outer seal, so the collector never gets it.

    Returns
    -------
    bytes
        The message for the relay; its length depends only on the plan, and on whether there is a code.

    Raises
    ------
    SealError
        If the plan has no relay, if a public key in it cannot be used, or if the report is too long.
    MissingExtraError
        If cryptography is not installed, or too old.
    """
    relay = plan.relay
    if relay is None:
        raise SealError("the survey has no relay: send its reports to the collector")
    if len(code) not in (0, CODE_BYTES):
        raise SealError(f"a code of the relay has {CODE_BYTES} bytes")
    if len(report) > plan.longest_report:  # a longer message would show the question
        raise SealError(f"a report of this survey has at most {plan.longest_report} bytes")
    padded = len(report).to_bytes(LENGTH_BYTES, "big") + report.ljust(plan.longest_report, b"\0")
    inner = _seal(padded, relay.collector_key, REPORT_INFO + plan.digest_bytes)
    return _seal(code + inner, relay.relay_key, RELAY_INFO + plan.digest_bytes)


@contextmanager
def needs_hpke() -> Iterator[None]:
    """Return a context that raises MissingExtraError if cryptography is missing, or too old to have HPKE."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "sealing reports needs cryptography 47 or later: pip install 'ldp-bayes[relay]'"
        ) from error


def _seal(plaintext: bytes, public_key: str, info: bytes) -> bytes:
    with needs_hpke():
        x25519 = X25519.load()
    key = base64.b64decode(public_key)
    before, after = KEY_SUITE
    try:
        recipient = x25519.X25519PublicKey.from_public_bytes(key[1 + len(before) : -len(after)])
        return key[:1] + hpke_suite().encrypt(plaintext, recipient, info)
    except ValueError as error:  # a point of low order gives a secret that everybody knows
        raise SealError("a public key of the relay's entry in the plan cannot be used") from error


def hpke_suite() -> Suite:
    """Return the only suite of HPKE that is used."""
    with needs_hpke():
        hpke = _HPKE.load()
    suite: Suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
    return suite
