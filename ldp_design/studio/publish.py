"""Writes what an author publishes, by the project's commands: page, plan, dossier and signature."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.signature import verify
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.form_page.page import SCRIPT, read_script
from ldp_design.authoring.signing import public_key_of, sign_file, write_key
from ldp_design.studio.checked import compile_survey, describe_preview
from ldp_design.studio.commands import CommandError, run_command

_KEY = "author.key"
_STATIC = Path(__file__).with_name("static")


def make_files(survey: Path, facts: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files to publish, by their names; `facts` are id and digest. Raises CommandError.

    The request has the keys collector, allowEnglish, and language, in which the studio speaks.
    """
    options = ["--collector", collector] if (collector := request["collector"].strip()) else []
    options += ["--allow-english"] * request["allowEnglish"]
    with tempfile.TemporaryDirectory(prefix="ldp-survey-publish-") as name:
        folder, keys = Path(name), describe_keys(survey, survey.read_text("utf-8-sig"))
        (folder / survey.name).write_bytes(survey.read_bytes())
        if keys["signature"]:
            options += ["--public-key", keys["public"]]
            signature_path(folder / "plan.json").write_bytes(Path(keys["signature"]).read_bytes())
        run_command("ldp-survey", "page", survey.name, *options, "-o", "site", folder=folder)
        run_command("ldp-survey", "compile", survey.name, "-o", "plan.json", folder=folder)
        spoken = ("--language", request["language"], "-o", "dossier.html")
        run_command("ldp-survey", "dossier", survey.name, *spoken, folder=folder)
        about = (facts["id"], facts["digest"], survey.name)
        (folder / "README.txt").write_bytes(read_words(request["language"], "readme", *about).encode())
        return {name: (folder / name).read_bytes() for name in _list_names(folder)}


def make_draft(survey: Path, facts: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the page in rehearsal, with made-up keys of its relay: to look at, not to publish."""
    content = json.dumps(describe_preview(survey.read_text("utf-8-sig")))
    files = {name: (_STATIC / name).read_bytes() for name in ("draft.html", "frame.js", "frame.css")}
    return files | {
        SCRIPT: read_script(),
        "content.js": f'postMessage({{ ...{content}, language: navigator.language }}, "*");'.encode(),
        "README.txt": read_words(request["language"], "readme_draft", facts["id"]).encode(),
    }


def read_words(language: str, name: str, *holes: str) -> str:
    """Return a text of the page in its language."""
    return str(json.loads((_STATIC / f"words-{language}.json").read_text("utf-8"))[name]).format(*holes)


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files; equal files give equal bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def write_folder(survey: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files to the folder beside the survey, and return it; refuse one with other files."""
    folder = survey.with_name(f"{survey.stem}-publish")
    if others := set(_list_names(folder)) - files.keys():
        raise CommandError(f"{folder} contains other files, such as {min(others)}: move it away")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, content, public=True)
    return folder


def _list_names(folder: Path) -> list[str]:
    return [each.relative_to(folder).as_posix() for each in sorted(folder.rglob("*")) if each.is_file()]


def sign_survey(survey: Path) -> None:
    """Sign the survey with the author's key beside it, which is made if there is none."""
    if not (key := survey.with_name(_KEY)).exists():
        write_key(key)
    sign_file(survey, key)


def describe_keys(survey: Path, text: str) -> dict[str, str]:
    """Return the author's key, its public part, and the signature if it is of this text, or empty texts."""
    key, path = survey.with_name(_KEY), signature_path(survey)
    found = {"key": str(key) * key.exists(), "public": "", "signature": ""}
    with suppress(LdpError, OSError):
        found["public"] = public_key_of(key.read_bytes())
        if signature := load_signature_file(path):
            verify(compile_survey(text)[1].json, signature, found["public"])
            found["signature"] = str(path)
    return found
