"""Opens the seals of reports: at the relay the outer one, at the collector the inner one.

Each has a private key in a file. Devices do not load this module; their side is
:mod:`encoders.survey.sealing`.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.errors import LdpError
from encoders.file_kind import describe_other
from encoders.key_file import write_key_file
from encoders.late_imports import LateImport
from encoders.survey import sealing
from encoders.survey.plan import Plan
from encoders.survey.relay import CODE_BYTES, KEY_SUITE, LENGTH_BYTES, Relay

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

_SERIALIZATION = LateImport("cryptography.hazmat.primitives.serialization")
_INVALID_TAG = LateImport("cryptography.exceptions:InvalidTag")

MAX_MESSAGES, MAX_BODY_BYTES, MESSAGES_TYPE = 1000, 250_000, "application/octet-stream"
"""What a relay posts to a collector in one request: most messages and bytes, and the body's media type."""
BATCH_HEADER = "Ldp-Batch"
"""The size of the batch of these messages, and for each column how many the collector has rejected before,
with blanks in between."""
WAVE_HEADER = "Ldp-Wave"
"""The name of the wave of these messages, in a survey with waves."""


class KeyFileError(LdpError):
    """A file that is not a private key for sealed reports; the message names the file."""

    reason = "bad-key"


@dataclass(frozen=True)
class PrivateKey:
    public_key: str
    """The public key as the survey file names it; see :class:`~encoders.survey.relay.Relay`."""
    pem: bytes = field(repr=False)
    """PKCS #8 in PEM form, without a password; anyone with this text can open the seal."""
    secret: X25519PrivateKey = field(repr=False, compare=False)


def make_private_key() -> PrivateKey:
    """Make a key from the operating system's randomness; raise MissingExtraError without cryptography."""
    with sealing.needs_hpke():
        x25519, serialization = sealing.X25519.load(), _SERIALIZATION.load()
    pem = x25519.X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return read_private_key(pem)


def read_private_key(pem: bytes) -> PrivateKey:
    """Read a private key from its PEM form; raise KeyFileError if the text is not an X25519 key."""
    with sealing.needs_hpke():
        x25519, serialization = sealing.X25519.load(), _SERIALIZATION.load()
    try:
        secret = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise KeyFileError("not a private key: give the private key's file") from error
    if not isinstance(secret, x25519.X25519PrivateKey):
        raise KeyFileError("a key of another kind: give the private key's file")
    raw = secret.public_key().public_bytes_raw()
    before, after = KEY_SUITE
    key_id = hashlib.sha256(raw).digest()[:1]
    return PrivateKey(base64.b64encode(key_id + before + raw + after).decode(), pem, secret)


def write_private_key(path: Path) -> str:
    """Write a new key to a new file of its owner alone; return the public key, or raise KeyFileError."""
    key = make_private_key()
    write_key_file(path, key.pem, KeyFileError)
    return key.public_key


def load_private_key(path: Path) -> PrivateKey:
    """Load a private key; raise KeyFileError, with the file's name, if it cannot be read or is none."""
    try:
        return read_private_key(path.read_bytes())
    except OSError as error:
        raise KeyFileError(f"{path.name}: cannot be read: {error.strerror}") from error
    except KeyFileError as error:
        raise KeyFileError(f"{path.name}: {error}{describe_other(path, 'key')}") from error


def breaks_promise(relay: Relay, size: int, rejected: int) -> bool:
    """Return whether so many messages of a column of a batch were rejected that too few can be honest."""
    return size - rejected < relay.honest_reports


def most_records(plan: Plan) -> int:
    """Return how many records a relay posts in one request; a record is one message of each column."""
    sizes = sealing.column_bytes(plan)
    return min(MAX_MESSAGES // len(sizes), MAX_BODY_BYTES // sum(sizes))


def open_outer(
    plan: Plan, message: bytes, key: PrivateKey, *, has_code: bool = False, wave: int | None = None
) -> bytes:
    """Open a device's envelope at the relay; return the code, if any, and the inner messages.

    Raises SealError if the envelope is of another plan, key, wave, length or collector.
    """
    start = CODE_BYTES if has_code else 0
    content = _open(message, key, sealing.outer_info(plan, wave), sealing.outer_bytes(plan) + start)
    key_id = base64.b64decode(plan.relay.collector_key)[0] if plan.relay else None
    for size in sealing.column_bytes(plan):
        if content[start] != key_id:
            raise sealing.SealError("a message in the envelope names another key than the collector's")
        start += size
    return content


def open_inner(plan: Plan, message: bytes, key: PrivateKey, column: int = 0) -> bytes:
    """Return the bytes of a report in a message of a column; raise SealError for another message."""
    padded = _open(message, key, sealing.REPORT_INFO + plan.digest_bytes, sealing.column_bytes(plan)[column])
    end = LENGTH_BYTES + int.from_bytes(padded[:LENGTH_BYTES], "big")
    if end > len(padded) or any(padded[end:]):
        raise sealing.SealError("the report is not padded with zeros to the length of the longest report")
    return padded[LENGTH_BYTES:end]


def _open(message: bytes, key: PrivateKey, info: bytes, length: int) -> bytes:
    if len(message) != length:
        raise sealing.SealError(f"a sealed message of this survey has {length} bytes")
    if message[:1] != base64.b64decode(key.public_key)[:1]:
        raise sealing.SealError("the message names another key: its survey has another public key")
    with sealing.needs_hpke():
        invalid_tag = _INVALID_TAG.load()
    try:
        return sealing.hpke_suite().decrypt(message[1:], key.secret, info)
    except (invalid_tag, ValueError) as error:
        raise sealing.SealError("the message was not sealed for this survey with this key") from error
