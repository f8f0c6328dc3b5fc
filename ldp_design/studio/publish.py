"""Writes what an author publishes, by the project's commands: page, plan, dossier and signature."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from encoders.survey.plan_files import signature_path
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.form_page.page import SCRIPT, read_script
from ldp_design.authoring.signing import public_key_of, sign_file, write_key
from ldp_design.studio.checked import describe_preview
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
        folder, keys = Path(name), describe_keys(survey)
        (folder / survey.name).write_bytes(survey.read_bytes())
        if all(keys.values()):
            options += ["--public-key", public_key_of(Path(keys["key"]).read_bytes())]
            (folder / Path(keys["signature"]).name).write_bytes(Path(keys["signature"]).read_bytes())
        run_command("ldp-survey", "page", survey.name, *options, "-o", "site", folder=folder)
        run_command("ldp-survey", "compile", survey.name, "-o", "plan.json", folder=folder)
        run_command("ldp-survey", "dossier", survey.name, "-o", "dossier.html", folder=folder)
        (folder / "README.txt").write_bytes(_read_me("readme", survey, facts, request))
        return {name: (folder / name).read_bytes() for name in _list_names(folder)}


def make_draft(survey: Path, facts: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the page in rehearsal, with made-up keys of its relay: to look at, not to publish."""
    content = json.dumps(describe_preview(survey.read_text("utf-8-sig")))
    files = {name: (_STATIC / name).read_bytes() for name in ("draft.html", "frame.js", "frame.css")}
    return files | {
        SCRIPT: read_script(),
        "content.js": f'postMessage({{ ...{content}, language: navigator.language }}, "*");'.encode(),
        "README.txt": _read_me("readme_draft", survey, facts, request),
    }


def _read_me(name: str, survey: Path, facts: Mapping[str, str], request: Mapping[str, Any]) -> bytes:
    language = "de" if request["language"] == "de" else "en"
    words = json.loads((_STATIC / f"words-{language}.json").read_text("utf-8"))
    return str(words[name]).format(facts["id"], facts["digest"], survey.name).encode()


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


def describe_keys(survey: Path) -> dict[str, str]:
    """Return where the author's key and the signature are; empty if they do not exist."""
    paths = {"key": survey.with_name(_KEY), "signature": signature_path(survey)}
    return {name: str(path) if path.exists() else "" for name, path in paths.items()}
