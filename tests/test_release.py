"""`make release` refuses what is not ready, and takes its notes from the changelog."""

import os
import subprocess
from pathlib import Path

import pytest

from tools import release
from tools.release import ROOT, ReleaseError, check, find_unreleased, make_tag, read_notes

VERSION = "7.1.0"
DATE = "2027-03-01"
OLD = "\n\n## [0.1.0] - 2026-11-22\n- Old.\n"
CHANGELOG = f"# Changelog\n\n## [Unreleased]\n\n## [7.1.0] - 2027-03-01\n\n### Added\n- Tea.{OLD}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a git repository with the files that a release reads."""
    files = {name: (ROOT / name).read_text("utf-8") for name in release.REPEATED}
    dated = files["CITATION.cff"].partition("date-released: ")[2].split()[0]
    files["CITATION.cff"] = files["CITATION.cff"].replace(dated, DATE)
    files["encoders/__init__.py"] = f'__version__ = "{release.read_version(ROOT)}"\n'
    old = release.read_version(ROOT)
    for name, text in {**files, "CHANGELOG.md": CHANGELOG}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text if name == "CHANGELOG.md" else text.replace(old, VERSION), "utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        git(tmp_path, *words)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Test", "-c", "user.email=test@ldp.example"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_a_project_that_is_ready_gives_its_notes(project):
    assert check(project, VERSION) == "### Added\n- Tea."
    (project / "tests/earlier_builds").mkdir(parents=True)
    (project / "tests/earlier_builds/7.1.0.zip").touch()  # the release writes it
    assert check(project, VERSION)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("new.py", "", "commit these files first, or delete them:\n?? new.py"),
        ("encoders/__init__.py", '__version__ = "7.0.0"\n', "__version__ is 7.0.0, not 7.1.0"),
        ("CITATION.cff", "cff-version: 1.2.0\nversion: 7.0.0\n", "set the version to 7.1.0 in CITATION.cff"),
        ("CITATION.cff", f"cff-version: 1.2.0\nversion: {VERSION}\n", f"set date-released to {DATE}"),
        ("CHANGELOG.md", "## [Unreleased]\n- Tea.\n", "needs a section '## [7.1.0] - YYYY-MM-DD'"),
    ],
)
def test_a_project_that_is_not_ready_is_refused(project, file, text, why):
    (project / file).write_text(text)
    with pytest.raises(ReleaseError) as caught:
        check(project, VERSION)
    assert why in str(caught.value)


def test_a_section_without_a_line_is_refused():
    with pytest.raises(ReleaseError, match="needs a section"):
        read_notes(f"## [7.1.0] - 2027-03-01{OLD}", VERSION)


def test_a_tag_needs_a_section_and_a_record_without_later_changes(tmp_path):
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    record = tmp_path / "tests/surface/python.txt"
    record.parent.mkdir(parents=True)
    record.write_text("ldp_client.report\n")
    assert find_unreleased(tmp_path) == ""
    record.write_text("+ ldp_client.report\n")
    assert "tools.surface --release" in find_unreleased(tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG.replace("ased]\n", "ased]\n\n- Milk.\n"))
    assert "move the lines of Unreleased" in find_unreleased(tmp_path)


def test_notes_link_to_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "run", lambda *_, **__: "1")
    (tmp_path / "encoders").mkdir()
    for name in ("encoders/__init__.py", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"))
    release.write_notes(tmp_path, tmp_path, "[Tea](docs/glossary.md)")
    assert "[Tea](https://ldp-bayes.example/source/docs/glossary.md)" in (tmp_path / "NOTES.md").read_text()


def test_the_umask_does_not_change_a_release(tmp_path):
    umask = os.umask(0o077)
    try:
        release.run("touch", "file", folder=tmp_path)
    finally:
        os.umask(umask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


@pytest.mark.slow
def test_a_tag_is_made_once_and_never_moved(project, monkeypatch):
    for name, value in {"NAME": "Test", "EMAIL": "test@ldp.example"}.items():
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    make_tag(project, VERSION)
    make_tag(project, VERSION)
    assert git(project, "tag").split() == ["v7.1.0"]
    git(project, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(ReleaseError, match=r"v7\.1\.0 exists for another commit"):
        make_tag(project, VERSION)
