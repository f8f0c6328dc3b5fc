"""Signatures of plans: an app that pins the author's public key accepts only plans that the author signed.

A collector can serve a plan of its own to one device, but it cannot sign it. The signature is Ed25519
(RFC 8032) over ``PREFIX`` and the plan's digest, see docs/wire-format.md. Verifying a signature needs
cryptography, the extra [device-relay]; reading its text form does not. The author's side is in
:mod:`ldp_design.authoring.signing`.
"""

from __future__ import annotations

import base64
import hashlib

from encoders.errors import SignatureError
from encoders.late_imports import LateImport

PREFIX = b"ldp-bayes plan v1\0"
"""Beginning of the signed message: a key that signs other messages too does not sign a plan by accident."""
PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64

ED25519 = LateImport(
    "cryptography.hazmat.primitives.asymmetric.ed25519", "device-relay", "a signature", SignatureError
)
"""The module of the keys; loading it names the extra if cryptography is not installed."""
_INVALID_SIGNATURE = LateImport("cryptography.exceptions:InvalidSignature")


def verify(plan_json: bytes, signature: bytes, public_key: str) -> None:
    """Verify that a plan was signed with the private key of `public_key`, the author's line of base64.

    Verify the bytes as received, before you read the plan. Raises SignatureError if the plan was not signed
    with the key, if the key is malformed, or if cryptography is not installed.
    """
    raw = read_public_key(public_key)
    if len(signature) != SIGNATURE_BYTES:
        raise SignatureError(
            f"the signature is damaged ({len(signature)} bytes instead of {SIGNATURE_BYTES}): sign the plan "
            "again, or download the signature again"
        )
    ed25519 = ED25519.load()
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(raw).verify(signature, signed_message(plan_json))
    except _INVALID_SIGNATURE.load() as error:
        raise SignatureError(
            f"the plan is not signed with the key {public_key.strip()}: pin the author's key, or use the "
            "plan that this author signed"
        ) from error


def read_public_key(text: str) -> bytes:
    """Return the 32 bytes of a public key from its line of base64; raise SignatureError for another text.

    Not every 32 bytes are a key, but then no signature is valid.
    """
    why = f"not a public key: a key is {PUBLIC_KEY_BYTES} bytes in base64, as ldp-survey keygen prints it"
    return _bytes(text, PUBLIC_KEY_BYTES, why)


def read_signature(text: str | bytes) -> bytes:
    """Return the 64 bytes of a signature from its line of base64; raise SignatureError for another text."""
    why = f"not a signature: one is {SIGNATURE_BYTES} bytes in base64, as ldp-survey sign writes it"
    return _bytes(text, SIGNATURE_BYTES, why)


def signature_text(signature: bytes) -> str:
    return base64_text(signature) + "\n"


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str | bytes, size: int, why: str) -> bytes:
    try:
        line = (text if isinstance(text, str) else text.decode("ascii")).strip()
        data = base64.b64decode(line, validate=True)
    except ValueError as error:
        raise SignatureError(why) from error
    if len(data) != size or base64_text(data) != line:  # base64 has unused bits, which must be 0
        raise SignatureError(why)
    return data


def signed_message(plan_json: bytes) -> bytes:
    return PREFIX + hashlib.sha256(plan_json).digest()
