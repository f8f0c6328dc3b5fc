"""ldp-survey keygen and sign."""

import stat
import sys
from functools import partial
from pathlib import Path

import pytest

from encoders.survey import read_survey
from encoders.survey.signature import read_signature, verify
from ldp_design.authoring.signing import public_key_of
from tests.support.commands import command
from tests.support.surveys import TEA

run = partial(command, "ldp-survey", check=False)

PLAN = read_survey(TEA).compile()


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(TEA)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    run("keygen", tmp_path / "author.pem")
    return tmp_path / "author.pem"


def test_keygen_writes_a_file_for_its_owner_and_prints_the_public_key_only(tmp_path):
    path = tmp_path / "author.pem"
    result = run("keygen", path)
    assert result.exit_code == 0
    assert result.stdout == public_key_of(path.read_bytes()) + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keygen_never_overwrites(key):
    before = key.read_bytes()
    result = run("keygen", key)
    assert (result.exit_code, key.read_bytes()) == (1, before)
    assert "author.pem: already exists" in result.stderr


def test_keygen_names_the_file_that_it_cannot_write(tmp_path):
    result = run("keygen", tmp_path / "nowhere" / "author.pem")
    assert result.exit_code == 1
    assert "author.pem: cannot be written" in result.stderr


def test_sign_writes_a_signature_that_the_public_key_verifies(survey, key):
    result = run("sign", survey, "--key", key)
    public, written = public_key_of(key.read_bytes()), survey.with_name("survey.toml.sig")
    assert result.exit_code == 0
    assert result.stdout == f"wrote {written}\ndigest {PLAN.digest}\npublic key {public}\n"
    assert written.read_bytes().endswith(b"==\n")
    verify(PLAN.json, read_signature(written.read_bytes()), public)


def test_a_survey_and_its_compiled_plan_have_one_signature(survey, key, tmp_path):
    compiled = tmp_path / "plan.json"
    run("compile", survey, "-o", compiled)
    run("sign", survey, "--key", key)
    run("sign", compiled, "--key", key)
    assert (tmp_path / "plan.json.sig").read_bytes() == (tmp_path / "survey.toml.sig").read_bytes()


def test_an_older_signature_is_replaced_and_no_other_file(survey, key, tmp_path):
    output = tmp_path / "out.sig"
    assert run("sign", survey, "--key", key, "-o", output).exit_code == 0
    older = output.read_bytes()
    assert not (tmp_path / "survey.toml.sig").exists()
    survey.write_text(TEA.replace("epsilon = 1.0", "epsilon = 2.0"))
    assert run("sign", survey, "--key", key, "-o", output).exit_code == 0
    assert output.read_bytes() != older
    for precious in (key, survey):
        before = precious.read_bytes()
        result = run("sign", survey, "--key", key, "-o", precious)
        assert (result.exit_code, precious.read_bytes()) == (1, before)
        assert f"{precious.name}: not a signature" in result.stderr
        assert "It is not overwritten" in result.stderr


def test_the_error_names_the_file_that_cannot_be_signed(survey, key, tmp_path):
    assert "survey.toml: not a private key" in run("sign", survey, "--key", survey).stderr
    away = run("sign", survey, "--key", key, "-o", tmp_path / "nowhere" / "s.sig")
    assert "s.sig: cannot be written" in away.stderr
    survey.write_text(TEA.replace("epsilon = 1.0", "epsilon = 0"))
    broken = run("sign", survey, "--key", key)
    assert (broken.exit_code, "survey.toml: line 3: survey.epsilon" in broken.stderr) == (1, True)
    assert not (tmp_path / "survey.toml.sig").exists()


def test_without_cryptography_the_extra_is_named(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, module, None)  # the import fails now
    result = run("keygen", tmp_path / "author.pem")
    assert (result.exit_code, (tmp_path / "author.pem").exists()) == (1, False)
    assert "needs the extra [author]: pip install 'ldp-bayes[author]'" in result.stderr
