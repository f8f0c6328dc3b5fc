"""Seals reports for their collector, and once more for the relay in between; unsealing.py opens both seals.

Each seal is HPKE (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM; docs/wire-format.md has the bytes. An
envelope is what a person sends: one sealed message for each column, which is a question if each person
answers all. All messages of a column have the same length, and so have all envelopes of a plan.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from encoders.errors import LdpError
from encoders.late_imports import LateImport, MissingExtraError
from encoders.survey.plan import Plan
from encoders.survey.relay import CODE_BYTES, KEY_SUITE, LENGTH_BYTES, SEAL_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

REPORT_INFO, RELAY_INFO = b"ldp-bayes report\0", b"ldp-bayes relay\0"
"""Before the plan's digest, the `info` of the inner and of the outer seal."""
X25519 = LateImport("cryptography.hazmat.primitives.asymmetric.x25519")
_HPKE = LateImport("cryptography.hazmat.primitives.hpke")


class SealError(LdpError):
    """A message whose seal does not open, or a public key that cannot be used."""

    reason = "bad-seal"


def column_bytes(plan: Plan) -> list[int]:
    """Return the number of bytes of the messages of each column, which the collector opens."""
    return [LENGTH_BYTES + each + SEAL_BYTES for each in plan.longest_by_column]


def outer_bytes(plan: Plan) -> int:
    return sum(column_bytes(plan)) + SEAL_BYTES


def outer_info(plan: Plan, wave: int | None) -> bytes:
    """Return the `info` of the outer seal, which ends with the index of the wave, if there are waves."""
    if (wave is None) != (plan.waves is None):
        raise SealError("give the wave if the survey has waves, and only then")
    return RELAY_INFO + plan.digest_bytes + (b"" if wave is None else wave.to_bytes(2, "big"))


def seal_envelope(plan: Plan, reports: Sequence[bytes], code: bytes = b"", wave: int | None = None) -> bytes:
    """Seal a person's reports for the collector, and the results for the relay, with the keys in the plan.

    `reports` is one report, or one for each question if each person answers all. `code` is what the relay
    gave to the person, if it takes messages with codes only; the collector never gets it. Each call gives
    another envelope. Send only one of a person: reports of a second one would be missing in the crowd in
    which the first ones hide. The length depends only on the plan, and on whether there is a code.
    Raises SealError if the plan has no relay or an unusable key, or if the reports are not those of one
    person, and MissingExtraError if cryptography is not installed, or too old.
    """
    relay = plan.relay
    if relay is None:
        raise SealError("the survey has no relay: send its reports to the collector")
    if len(code) not in (0, CODE_BYTES):
        raise SealError(f"a code of the relay has {CODE_BYTES} bytes")
    columns = plan.longest_by_column
    if len(reports) != len(columns):
        raise SealError(f"a person sends {len(columns)} reports of this survey, not {len(reports)}")
    inner = b""
    for report, longest in zip(reports, columns, strict=True):
        if len(report) > longest:  # a longer message would show the question
            raise SealError(f"a report of this survey has at most {longest} bytes")
        padded = len(report).to_bytes(LENGTH_BYTES, "big") + report.ljust(longest, b"\0")
        inner += _seal(padded, relay.collector_key, REPORT_INFO + plan.digest_bytes)
    return _seal(code + inner, relay.relay_key, outer_info(plan, wave))


@contextmanager
def needs_hpke() -> Iterator[None]:
    """Return a context that raises MissingExtraError if cryptography is missing, or too old to have HPKE."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "sealing reports needs cryptography 47 or later: pip install 'ldp-bayes[device-relay]'"
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
    with needs_hpke():
        hpke = _HPKE.load()
    suite: Suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
    return suite
