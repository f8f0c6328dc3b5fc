"""Writes an author's key file, and the signature file of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from encoders.errors import SignatureError
from encoders.key_file import write_key_file
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.signature import signature_text
from ldp_aggregator.atomic_file import write_atomically
from ldp_design.authoring.author_key import make_keys, public_key_of, sign


@dataclass(frozen=True)
class SignatureFile:
    """A signature file that was written."""

    path: Path
    """Path of the signature file."""
    digest: str
    """Digest of the plan."""
    public_key: str
    """Public key of the author."""


def write_key(path: Path) -> str:
    """Make a key pair, and write the private key to a new file that only its owner can read.

    Returns
    -------
    str
        The public key.

    Raises
    ------
    SignatureError
        If the file exists or cannot be written, or if cryptography is not installed.
    """
    keys = make_keys()
    write_key_file(path, keys.private_pem, SignatureError)
    return keys.public_key


def sign_file(survey: Path, key: Path, output: Path | None = None) -> SignatureFile:
    """Sign a survey, and write the signature to a file.

    Parameters
    ----------
    survey : Path
        A survey in TOML, or a compiled plan.
    key : Path
        The private key, as :func:`write_key` writes it.
    output : Path, optional
        The signature file; by default in the survey's folder. An older signature is replaced, any other file
        is not.

    Raises
    ------
    SurveyError, SignatureError, OSError
        If a file cannot be used; the message begins with its name.
    """
    plan, pem = ANY_PLANS.load(survey), key.read_bytes()
    path = output or signature_path(survey)
    try:
        signature, public_key = sign(plan, pem), public_key_of(pem)
    except SignatureError as error:
        raise SignatureError(f"{key.name}: {error.why}") from error
    _check_replaceable(path)
    write_atomically(path, signature_text(signature).encode("ascii"), public=True)
    return SignatureFile(path, plan.digest, public_key)


def _check_replaceable(path: Path) -> None:
    try:
        load_signature_file(path)
    except SignatureError as error:
        raise SignatureError(f"{error.why}. It is not overwritten: give another output file") from error
