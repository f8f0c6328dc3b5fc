"""Signatures of plans: the committed vector, and everything that the expected key did not sign."""

import base64
import json
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from encoders.errors import SignatureError
from encoders.survey import Plan
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.signature import read_public_key, read_signature, signature_text, verify
from ldp_design.authoring.signing import make_keys, public_key_of, sign

# The private key of RFC 8032, section 7.1, test 1, in the PKCS #8 form of RFC 8410
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PKCS8 = bytes.fromhex("302e020100300506032b657004220420") + SEED
PEM = b"-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(PKCS8) + b"\n-----END PRIVATE KEY-----\n"
PUBLIC = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
VECTORS = Path(__file__).parents[2] / "vectors" / "good-de.json"
PLAN = Plan.from_json(json.loads(VECTORS.read_text(encoding="utf-8"))["plan"].encode())
SIGNATURE = "kBFWy+i39Q69H2tgQ9UCcfLMiCKrgw9dq7Z46nHePnvlcNOz9/uWEqn7Zpk1lJC3FwQimjEOcfKSqT1ON70cAw==\n"


def protected_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )


def other_kind_of_pem() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_signing_and_verifying_match_the_committed_signature():
    assert PLAN.digest == "9edc0fe6440526e899ec907adad8fb0ecd17b613f27fb2a2566665277dca9430"
    assert public_key_of(PEM) == PUBLIC
    assert signature_text(sign(PLAN, PEM)) == SIGNATURE
    verify(PLAN.json, read_signature(SIGNATURE), PUBLIC)


def test_what_is_signed_is_the_prefix_and_the_digest():
    # From docs/wire-format.md and the library alone: what a port in another language does.
    message = b"ldp-bayes plan v1\0" + bytes.fromhex(PLAN.digest)
    assert Ed25519PrivateKey.from_private_bytes(SEED).sign(message) == read_signature(SIGNATURE)


def test_a_new_key_signs_and_each_is_another():
    one, two = make_keys(), make_keys()
    assert one.public_key == public_key_of(one.private_pem) != two.public_key
    verify(PLAN.json, sign(PLAN, one.private_pem), one.public_key)
    with pytest.raises(SignatureError, match="not signed with the key"):
        verify(PLAN.json, sign(PLAN, one.private_pem), two.public_key)


def test_a_key_pair_does_not_show_its_private_half():
    pair = make_keys()
    assert "PRIVATE" not in repr(pair)
    assert pair.public_key in repr(pair)


@pytest.mark.parametrize("place", range(0, 64, 7))
def test_one_bit_of_plan_or_signature_changed_is_refused(place):
    def flipped(data: bytes) -> bytes:
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    signature = read_signature(SIGNATURE)
    for plan, mark in ((flipped(PLAN.json), signature), (PLAN.json, flipped(signature))):
        with pytest.raises(SignatureError, match="not signed with the key"):
            verify(plan, mark, PUBLIC)


def test_a_signature_of_the_plan_for_another_purpose_is_refused():
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    for message in (
        PLAN.json,
        bytes.fromhex(PLAN.digest),
        b"ldp-bayes plan v2\0" + bytes.fromhex(PLAN.digest),
    ):
        with pytest.raises(SignatureError, match="not signed with the key"):
            verify(PLAN.json, key.sign(message), PUBLIC)


def test_a_signature_with_a_too_large_scalar_is_refused():
    # S + L satisfies the equation too; RFC 8032 refuses it, so that a plan has one signature of a key.
    signature, order = read_signature(SIGNATURE), 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    with pytest.raises(SignatureError, match="not signed with the key"):
        verify(PLAN.json, signature[:32] + scalar.to_bytes(32, "little"), PUBLIC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "junk",
        PUBLIC[:-4],
        PUBLIC + "AAAA",
        PUBLIC.rstrip("="),
        PUBLIC.replace("Ro=", "Rp="),  # the same bytes: the last two bits are idle
        PUBLIC.replace("/", "_"),
        PUBLIC[:20] + "\n" + PUBLIC[20:],
        read_public_key(PUBLIC).hex(),
        "\u00e9" * 44,
        PEM.decode(),
        SIGNATURE,
    ],
)
def test_a_text_that_is_no_public_key_is_refused(text):
    with pytest.raises(SignatureError, match="not a public key: a key is 32 bytes in base64") as caught:
        verify(PLAN.json, read_signature(SIGNATURE), text)
    assert base64.b64encode(PKCS8).decode() not in str(caught.value)  # pasted by mistake, printed nowhere


@pytest.mark.parametrize("text", ["", PUBLIC, SIGNATURE[:-2], SIGNATURE * 2, b"\xff" * 88, b"<html></html>"])
def test_a_text_that_is_no_signature_is_refused(text):
    with pytest.raises(SignatureError, match="not a signature: one is 64 bytes in base64"):
        read_signature(text)


def test_space_around_a_line_does_no_harm():
    verify(PLAN.json, read_signature(b" " + SIGNATURE.encode() + b"\r\n"), f"\n{PUBLIC} \n")


@pytest.mark.parametrize("size", [0, 63, 65])
def test_a_signature_of_another_length_is_refused(size):
    with pytest.raises(SignatureError, match=rf"damaged \({size} bytes instead of 64\)"):
        verify(PLAN.json, bytes(size), PUBLIC)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "not a private key in PEM form"),
        (PUBLIC.encode(), "not a private key in PEM form"),
        (PEM.replace(b"MC4C", b"MC4D"), "not a private key in PEM form"),
        (protected_pem(), "protected by a password"),
        (other_kind_of_pem(), "not for Ed25519"),
    ],
)
def test_error_for_an_unusable_private_key_gives_the_reason(pem, why):
    with pytest.raises(SignatureError, match=why):
        sign(PLAN, pem)


def test_without_cryptography_the_extra_is_named_and_nothing_passes(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, module, None)  # importing it now fails
    for act in (
        lambda: verify(PLAN.json, read_signature(SIGNATURE), PUBLIC),
        lambda: sign(PLAN, PEM),
        make_keys,
    ):
        with pytest.raises(SignatureError, match=r"pip install 'ldp-bayes\[device-relay\]'"):
            act()


def test_a_signature_lies_beside_its_survey(tmp_path):
    path = signature_path(tmp_path / "survey.toml")
    assert path == tmp_path / "survey.toml.sig"
    assert load_signature_file(path) is None
    path.write_text(SIGNATURE)
    assert load_signature_file(path) == read_signature(SIGNATURE)
    path.write_text("junk")
    with pytest.raises(SignatureError, match=r"^survey\.toml\.sig: not a signature"):
        load_signature_file(path)
    with pytest.raises(SignatureError, match="cannot be read"):
        load_signature_file(tmp_path)
