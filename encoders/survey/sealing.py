"""Seals a report for its collector, and once more for the relay in between; opens both seals.

Each seal is HPKE (RFC 9180) in base mode with one suite: X25519, HKDF-SHA256 and AES-128-GCM. The relay opens
the outer seal and cannot read the report. The collector opens the inner seal and cannot learn the sender.
docs/wire-format.md has the bytes. All messages of a plan have the same length. Needs cryptography, the extra
[relay].
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.errors import LdpError
from encoders.extras import MissingExtraError
from encoders.key_file import write_key_file
from encoders.survey.plan import Plan
from encoders.survey.relay import KEY_SUITE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import Suite

REPORT_INFO, RELAY_INFO = b"ldp-bayes report\0", b"ldp-bayes relay\0"
"""Before the plan's digest, the `info` of the inner and of the outer seal."""
LENGTH_BYTES = 2
SEAL_BYTES = 1 + 32 + 16
"""Bytes that a seal adds: the key's id, an ephemeral public key, and the tag of AES-GCM."""


class KeyFileError(LdpError):
    """A file that is not a private key for sealed reports; the message names the file."""

    reason = "bad-key"


class SealError(LdpError):
    """A message whose seal does not open, or a public key that cannot be used."""

    reason = "bad-seal"


@dataclass(frozen=True)
class PrivateKey:
    """The private key of a collector or a relay."""

    public_key: str
    """The public key as the survey file names it; see :class:`~encoders.survey.relay.Relay`."""
    pem: bytes = field(repr=False)
    """PKCS #8 in PEM form, without a password; anyone with this text can open the seal."""
    secret: X25519PrivateKey = field(repr=False, compare=False)
    """The same key, parsed."""


def make_private_key() -> PrivateKey:
    """Make a key from the operating system's randomness.

    Raises
    ------
    MissingExtraError
        If cryptography is not installed.
    """
    with _needs_hpke():
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    pem = X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return read_private_key(pem)


def read_private_key(pem: bytes) -> PrivateKey:
    """Read a private key from its PEM form.

    Raises
    ------
    KeyFileError
        If the text is not an X25519 key.
    MissingExtraError
        If cryptography is not installed.
    """
    with _needs_hpke():
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        secret = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise KeyFileError("not a private key: give the private key's file") from error
    if not isinstance(secret, X25519PrivateKey):
        raise KeyFileError("a key of another kind: give the private key's file")
    raw = secret.public_key().public_bytes_raw()
    before, after = KEY_SUITE
    key_id = hashlib.sha256(raw).digest()[:1]
    return PrivateKey(base64.b64encode(key_id + before + raw + after).decode(), pem, secret)


def write_private_key(path: Path) -> str:
    """Make a key, and write it to a new file that only its owner can read; return the public key.

    Raises
    ------
    KeyFileError
        If the file exists or cannot be written; the message begins with the file's name.
    MissingExtraError
        If cryptography is not installed.
    """
    key = make_private_key()
    write_key_file(path, key.pem, KeyFileError)
    return key.public_key


def load_private_key(path: Path) -> PrivateKey:
    """Load a private key from its file.

    Raises
    ------
    KeyFileError
        If the file cannot be read or is not a key; the message begins with the file's name.
    """
    try:
        return read_private_key(path.read_bytes())
    except OSError as error:
        raise KeyFileError(f"{path.name}: cannot be read: {error.strerror}") from error
    except KeyFileError as error:
        raise KeyFileError(f"{path.name}: {error}") from error


def inner_bytes(plan: Plan) -> int:
    """Return the number of bytes of each message that the collector opens."""
    return LENGTH_BYTES + plan.longest_report + SEAL_BYTES


def outer_bytes(plan: Plan) -> int:
    """Return the number of bytes of each message that the relay opens."""
    return inner_bytes(plan) + SEAL_BYTES


def seal_report(plan: Plan, report: bytes) -> bytes:
    """Seal a report for the collector, and the result for the relay, with the keys in the plan.

    Each call gives another message. Send only one message of a report: a second one would be counted once,
    but would be missing in the crowd in which the first one hides.

    Parameters
    ----------
    plan : Plan
        A plan with a relay.
    report : bytes
        A report of this plan.

    Returns
    -------
    bytes
        The message for the relay; its length depends only on the plan.

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
    if len(report) > plan.longest_report:  # a longer message would show the question
        raise SealError(f"a report of this survey has at most {plan.longest_report} bytes")
    padded = len(report).to_bytes(LENGTH_BYTES, "big") + report.ljust(plan.longest_report, b"\0")
    inner = _seal(padded, relay.collector_key, REPORT_INFO + plan.digest_bytes)
    return _seal(inner, relay.relay_key, RELAY_INFO + plan.digest_bytes)


def open_outer(plan: Plan, message: bytes, key: PrivateKey) -> bytes:
    """Open a device's message at the relay; return the message for the collector.

    Raises
    ------
    SealError
        If the message was not sealed for this plan and this key, or has another length.
    """
    return _open(message, key, RELAY_INFO + plan.digest_bytes, outer_bytes(plan))


def open_inner(plan: Plan, message: bytes, key: PrivateKey) -> bytes:
    """Open a relay's message at the collector; return the bytes of the report.

    Raises
    ------
    SealError
        If the message was not sealed for this plan and this key, has another length, or is not padded with
        zeros.
    """
    padded = _open(message, key, REPORT_INFO + plan.digest_bytes, inner_bytes(plan))
    end = LENGTH_BYTES + int.from_bytes(padded[:LENGTH_BYTES], "big")
    if end > len(padded) or any(padded[end:]):
        raise SealError("the report is not padded with zeros to the length of the plan's longest report")
    return padded[LENGTH_BYTES:end]


@contextmanager
def _needs_hpke() -> Iterator[None]:
    """Return a context that raises MissingExtraError if cryptography is missing, or too old to have HPKE."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "sealing reports needs cryptography 47 or later: pip install 'ldp-bayes[relay]'"
        ) from error


def _seal(plaintext: bytes, public_key: str, info: bytes) -> bytes:
    with _needs_hpke():
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    key = base64.b64decode(public_key)
    before, after = KEY_SUITE
    try:
        recipient = X25519PublicKey.from_public_bytes(key[1 + len(before) : -len(after)])
        return key[:1] + _suite().encrypt(plaintext, recipient, info)
    except ValueError as error:  # a point of low order gives a secret that everybody knows
        raise SealError("a public key of the relay's entry in the plan cannot be used") from error


def _open(message: bytes, key: PrivateKey, info: bytes, length: int) -> bytes:
    if len(message) != length:
        raise SealError(f"a sealed message of this survey has {length} bytes")
    if message[:1] != base64.b64decode(key.public_key)[:1]:
        raise SealError("the message names another key: its survey has another public key")
    with _needs_hpke():
        from cryptography.exceptions import InvalidTag
    try:
        return _suite().decrypt(message[1:], key.secret, info)
    except (InvalidTag, ValueError) as error:
        raise SealError("the message was not sealed for this survey with this key") from error


def _suite() -> Suite:
    with _needs_hpke():
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
