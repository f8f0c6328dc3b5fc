"""An author's keys, their files, and the signature of a plan; needs cryptography.

:mod:`encoders.survey.signature` has the device's side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.errors import SignatureError
from encoders.file_kind import describe_other
from encoders.key_file import write_key_file
from encoders.late_imports import LateImport
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.plan import Plan
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.signature import ED25519, base64_text, signature_text, signed_message
from ldp_aggregator.atomic_file import write_atomically

# -- the key of an author ---------------------------------------------------------------------------


if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SERIALIZATION = LateImport("cryptography.hazmat.primitives.serialization")
_UNSUPPORTED = LateImport("cryptography.exceptions:UnsupportedAlgorithm")


@dataclass(frozen=True)
class KeyPair:
    private_pem: bytes = field(repr=False)
    """PKCS #8 in PEM form, without a password; anyone with this text can sign."""
    public_key: str


def make_keys() -> KeyPair:
    """Make a new pair of keys; raise SignatureError if cryptography is not installed."""
    key, serialization = ED25519.load().Ed25519PrivateKey.generate(), _SERIALIZATION.load()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(pem, public_key_of(pem))


def public_key_of(private_key_pem: bytes) -> str:
    """Return the public key of a private one; raise SignatureError for another text."""
    return base64_text(_private(private_key_pem).public_key().public_bytes_raw())


def sign(plan: AnyPlan, private_key_pem: bytes) -> bytes:
    """Sign a plan with an Ed25519 key, PKCS #8 in PEM form; the signature has 64 bytes, always the same.

    Raises SignatureError if the text is not such a key, or cryptography is not installed.
    """
    return _private(private_key_pem).sign(signed_message(plan.json))


def _private(pem: bytes) -> Ed25519PrivateKey:
    ed25519 = ED25519.load()
    try:
        key: object = _SERIALIZATION.load().load_pem_private_key(pem, password=None)
    except TypeError as error:  # raised by the library if a password is needed
        raise SignatureError(
            "the private key is protected by a password; give a key without a password"
        ) from error
    except (ValueError, _UNSUPPORTED.load()) as error:
        why = f"not a private key in PEM form; ldp-survey keygen makes one{describe_other(pem, 'key')}"
        raise SignatureError(why) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SignatureError("a private key, but not for Ed25519; ldp-survey keygen makes one")
    private: Ed25519PrivateKey = key
    return private


# -- the signature of a plan ------------------------------------------------------------------------


@dataclass(frozen=True)
class SignatureFile:
    path: Path
    digest: str
    public_key: str


def write_key(path: Path) -> str:
    """Write a new private key to a new file; return the public key, or raise SignatureError."""
    keys = make_keys()
    write_key_file(path, keys.private_pem, SignatureError)
    return keys.public_key


def sign_file(survey: Path, key: Path, output: Path | None = None) -> SignatureFile:
    """Sign a survey or compiled plan, and write the signature beside it, or to `output`.

    An older signature is replaced, any other file is not. Raises SurveyError, SignatureError or OSError if a
    file cannot be used; the message begins with its name.
    """
    plan, pem = ANY_PLANS.load(survey), key.read_bytes()
    path = output or signature_path(survey)
    try:
        signature, public_key = sign(plan, pem), public_key_of(pem)
    except SignatureError as error:
        raise SignatureError(f"{key.name}: {error.why}") from error
    if isinstance(plan, Plan) and plan.series and plan.series.key != public_key:
        raise SignatureError(f"{key.name}: the key in [series] is another: sign with that one, or replace it")
    _check_replaceable(path)
    write_atomically(path, signature_text(signature).encode("ascii"), public=True)
    return SignatureFile(path, plan.digest, public_key)


def _check_replaceable(path: Path) -> None:
    try:
        load_signature_file(path)
    except SignatureError as error:
        raise SignatureError(f"{error.why}. It is not overwritten: give another output file") from error
