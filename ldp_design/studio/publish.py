"""Writes what an author publishes: the page, the plan, the dossier and a signature, by the project's commands."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.survey.plan_files import signature_path
from ldp_aggregator.atomic_file import write_atomically
from ldp_design.authoring.signing import public_key_of, sign_file, write_key
from ldp_design.studio.processes import run_command

KEY_NAME = "author.key"
_README = """\
Files of the survey {id}, digest {digest}

site/           the page: put it on a host that the collector's operator does not control
plan.json       the compiled survey; plan.texts.json has its texts
dossier.html    for a review board
{survey}     the survey itself
"""


class PublishError(LdpError):
    """A survey that cannot be published yet."""


@dataclass(frozen=True)
class Choices:
    """What the author chose on the page."""

    collector: str = ""
    """The collector's address; empty for a survey with a relay."""
    allow_english: bool = False

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Choices:
        """Read the page's form."""
        return cls(str(document.get("collector", "")).strip(), bool(document.get("allowEnglish")))


def make_files(survey: Path, facts: Mapping[str, Any], choices: Choices) -> dict[str, bytes]:
    """Return the files to publish, by their names; raises CommandError with the message of a command."""
    with tempfile.TemporaryDirectory(prefix="ldp-survey-publish-") as name:
        folder = Path(name)
        (folder / survey.name).write_bytes(survey.read_bytes())
        options = ["--collector", choices.collector] if choices.collector else []
        options += ["--allow-english"] * choices.allow_english
        signature, key = signature_path(survey), survey.with_name(KEY_NAME)
        if signature.exists() and key.exists():
            options += ["--public-key", public_key_of(key.read_bytes())]
            (folder / signature.name).write_bytes(signature.read_bytes())
        run_command("ldp-survey", "page", survey.name, *options, "-o", "site", folder=folder)
        run_command("ldp-survey", "compile", survey.name, "-o", "plan.json", folder=folder)
        run_command("ldp-survey", "dossier", survey.name, "-o", "dossier.html", folder=folder)
        readme = _README.format(**facts, survey=survey.name)
        (folder / "README.txt").write_text(readme, "utf-8")
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files; equal files give equal bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def write_folder(survey: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files to the folder beside the survey, and return it; refuse one with other files."""
    folder = survey.with_name(f"{survey.stem}-publish")
    others = [each for each in folder.rglob("*") if each.is_file() and _name(each, folder) not in files]
    if others:
        raise PublishError(f"{folder} contains other files, such as {_name(others[0], folder)}: move it away")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content, public=True)
    return folder


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def sign_survey(survey: Path) -> dict[str, str]:
    """Sign the survey with the author's key beside it, which is made if there is none."""
    key = survey.with_name(KEY_NAME)
    if not key.exists():
        write_key(key)
    signed = sign_file(survey, key)
    return {"key": str(key), "signature": str(signed.path), "publicKey": signed.public_key}


def describe_keys(survey: Path) -> dict[str, Any]:
    """Return where the key and the signature are, if they exist."""
    key, signature = survey.with_name(KEY_NAME), signature_path(survey)
    return {
        "key": str(key) if key.exists() else "",
        "signature": str(signature) if signature.exists() else "",
    }
