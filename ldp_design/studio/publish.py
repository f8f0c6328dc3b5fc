"""Writes what an author publishes, by the project's commands: page, plan, dossier and signature."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from encoders.survey.plan_files import signature_path
from ldp_aggregator.atomic_file import write_atomically
from ldp_design.authoring.signing import public_key_of, sign_file, write_key
from ldp_design.studio.commands import CommandError, run_command

_README = """\
Files of the survey {id}, digest {digest}

site/           the page: put it on a host that the collector's operator does not control
plan.json       the compiled survey; plan.texts.json has its texts
dossier.html    for a review board
{survey}     the survey itself
"""


def make_files(
    survey: Path, facts: Mapping[str, str], collector: str, *, allows_english: bool
) -> dict[str, bytes]:
    """Return the files to publish, by their names; `facts` are id and digest. Raises CommandError."""
    options = ["--collector", collector] if collector else []
    options += ["--allow-english"] * allows_english
    with tempfile.TemporaryDirectory(prefix="ldp-survey-publish-") as name:
        folder, keys = Path(name), describe_keys(survey)
        (folder / survey.name).write_bytes(survey.read_bytes())
        if all(keys.values()):
            options += ["--public-key", public_key_of(Path(keys["key"]).read_bytes())]
            (folder / Path(keys["signature"]).name).write_bytes(Path(keys["signature"]).read_bytes())
        run_command("ldp-survey", "page", survey.name, *options, "-o", "site", folder=folder)
        run_command("ldp-survey", "compile", survey.name, "-o", "plan.json", folder=folder)
        run_command("ldp-survey", "dossier", survey.name, "-o", "dossier.html", folder=folder)
        (folder / "README.txt").write_text(_README.format(**facts, survey=survey.name), "utf-8")
        return {name: (folder / name).read_bytes() for name in _list_names(folder)}


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
    if not (key := _key_path(survey)).exists():
        write_key(key)
    sign_file(survey, key)


def describe_keys(survey: Path) -> dict[str, str]:
    """Return where the author's key and the signature are; empty if they do not exist."""
    paths = {"key": _key_path(survey), "signature": signature_path(survey)}
    return {name: str(path) if path.exists() else "" for name, path in paths.items()}


def _key_path(survey: Path) -> Path:
    return survey.with_name("author.key")
