"""Signatures of plans: an app that pins the author's public key accepts only plans that the author signed.

A collector can serve a plan of its own to one device, but it cannot sign it. The signature is Ed25519
(RFC 8032) over ``PREFIX`` and the plan's digest, see docs/wire-format.md. Making and verifying signatures
needs cryptography, the extra [signed]; reading their text form does not.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from encoders.errors import SignatureError
from encoders.extras import needs_extra
from encoders.survey.plan import Plan

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PREFIX = b"ldp-bayes plan v1\0"
"""Beginning of the signed message: a key that signs other messages too does not sign a plan by accident."""
PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class KeyPair:
    """An author's keys.

    Attributes
    ----------
    private_pem : bytes
        PKCS #8 in PEM form, without a password; anyone with this text can sign.
    public_key : str
        One line of base64, which apps pin.
    """

    private_pem: bytes = field(repr=False)
    public_key: str


def make_keys() -> KeyPair:
    """Make a new pair of keys from the operating system's randomness.

    Raises
    ------
    SignatureError
        If cryptography is not installed.
    """
    with _library():
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(pem, public_key_of(pem))


def public_key_of(private_key_pem: bytes) -> str:
    """Return the public key that belongs to a private one.

    Raises
    ------
    SignatureError
        If the text is not a private key, or cryptography is not installed.
    """
    return _text(_private(private_key_pem).public_key().public_bytes_raw())


def sign(plan: Plan, private_key_pem: bytes) -> bytes:
    """Sign a plan; the same plan and key give the same signature.

    Parameters
    ----------
    plan : Plan
    private_key_pem : bytes
        An Ed25519 key, PKCS #8 in PEM form, without a password.

    Returns
    -------
    bytes
        The signature, 64 bytes; see also :func:`signature_text`.

    Raises
    ------
    SignatureError
        If the text is not such a key, or cryptography is not installed.
    """
    return _private(private_key_pem).sign(_message(plan.json))


def verify(plan_json: bytes, signature: bytes, public_key: str) -> None:
    """Verify that a plan was signed with the private key of `public_key`.

    Parameters
    ----------
    plan_json : bytes
        The plan as received. All bytes are allowed, so verify them before you read them.
    signature : bytes
        As :func:`read_signature` returns it.
    public_key : str
        The author's key, one line of base64.

    Raises
    ------
    SignatureError
        If the plan was not signed with the key, if the key is malformed, or if cryptography is not installed:
        a plan that cannot be verified is refused.
    """
    raw = read_public_key(public_key)
    if len(signature) != SIGNATURE_BYTES:
        raise SignatureError(f"a signature has {SIGNATURE_BYTES} bytes, this one {len(signature)}")
    with _library():
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, _message(plan_json))
    except InvalidSignature as error:
        raise SignatureError(f"the plan is not signed with the key of {public_key.strip()}") from error


def read_public_key(text: str) -> bytes:
    """Return the 32 bytes of a public key from its line of base64; needs no library.

    Raises
    ------
    SignatureError
        If the text is not such a line. Not every 32 bytes are a key, but then no signature is valid.
    """
    try:
        return _bytes(text, PUBLIC_KEY_BYTES)
    except ValueError as error:
        raise SignatureError(
            f"not a public key: a key is {PUBLIC_KEY_BYTES} bytes in base64, as ldp-survey keygen prints it"
        ) from error


def read_signature(text: str | bytes) -> bytes:
    """Return the 64 bytes of a signature from its line of base64; needs no library.

    Raises
    ------
    SignatureError
        If the text is not such a line.
    """
    try:
        return _bytes(text, SIGNATURE_BYTES)
    except ValueError as error:
        raise SignatureError(
            f"not a signature: one is {SIGNATURE_BYTES} bytes in base64, as ldp-survey sign writes it"
        ) from error


def signature_text(signature: bytes) -> str:
    """Return a signature as a line of base64, with a newline."""
    return _text(signature) + "\n"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str | bytes, size: int) -> bytes:
    line = (text if isinstance(text, str) else text.decode("ascii")).strip()
    data = base64.b64decode(line, validate=True)
    if len(data) != size or _text(data) != line:  # base64 has unused bits, so the text may not be canonical
        raise ValueError("another length or spelling")
    return data


def _message(plan_json: bytes) -> bytes:
    return PREFIX + hashlib.sha256(plan_json).digest()


def _private(pem: bytes) -> Ed25519PrivateKey:
    with _library():
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError as error:  # raised by the library if a password is needed
        raise SignatureError("the private key is protected by a password; give it without") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SignatureError("not a private key in PEM form; ldp-survey keygen makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError("a private key, but not for Ed25519; ldp-survey keygen makes one")
    return key


def _library() -> AbstractContextManager[None]:
    """Return a context that names the extra if cryptography is not installed."""
    return needs_extra("signed", "a signature", SignatureError)
