"""The file of the studio: saving, drafts, undo, and what other programs do to the file meanwhile."""

import os
import stat
from contextlib import suppress

import pytest

from ldp_design.studio.workfile import WorkFile, WorkFileError

FIRST, MINE, THEIRS = '[survey]\nid = "first"\n', '[survey]\nid = "mine"\n', '[survey]\nid = "theirs"\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(FIRST)
    return path


@pytest.fixture
def open_file(path, tmp_path):
    opened = []

    def go():
        opened.append(WorkFile(path, tmp_path / "state"))
        return opened[-1]

    yield go
    for each in opened:
        with suppress(OSError):  # the test has closed it
            each.close()


def test_saving_replaces_the_file_and_keeps_permissions_line_ends_and_mark(open_file, path):
    path.write_bytes(b"\xef\xbb\xbf" + FIRST.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    file = open_file()
    assert file.text == FIRST
    assert file.is_saved
    file.change(MINE)
    assert not file.is_saved
    file.save()
    assert path.read_bytes() == b"\xef\xbb\xbf" + MINE.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert file.is_saved
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == ["survey.toml"]


def test_what_is_not_saved_is_there_after_the_studio_has_ended(open_file, path):
    file = open_file()
    file.change(MINE)
    file.close()
    again = open_file()
    assert again.text == MINE
    assert again.notice == "draft"
    assert path.read_text() == FIRST
    again.save()
    again.close()
    assert open_file().notice == ""


def test_undo_and_redo(open_file):
    file = open_file()
    file.change(MINE)
    file.change(THEIRS)
    file.undo()
    file.undo()
    file.undo()
    assert file.text == FIRST
    assert file.is_saved
    file.redo()
    assert file.text == MINE
    file.change(THEIRS)
    file.redo()
    assert file.text == THEIRS


def test_a_file_that_another_program_changes_is_loaded_again(open_file, path):
    file = open_file()
    path.write_text(THEIRS)
    assert file.look()
    assert not file.look()
    assert file.text == THEIRS
    assert file.notice == "reloaded"
    file.undo()
    assert file.text == FIRST


@pytest.mark.parametrize("keep_mine", [True, False])
def test_both_versions_are_kept_if_both_have_changed(open_file, path, keep_mine):
    file = open_file()
    file.change(MINE)
    path.write_text(THEIRS)
    with pytest.raises(WorkFileError, match="another program"):
        file.save()
    assert file.conflict == THEIRS.encode()
    file.resolve(keep_mine=keep_mine)
    chosen, other = (MINE, THEIRS) if keep_mine else (THEIRS, MINE)
    assert path.read_text() == file.text == chosen
    assert path.with_name(file.kept).read_text() == other
    assert file.is_saved
    with pytest.raises(WorkFileError, match="nothing to choose"):
        file.resolve(keep_mine=True)


def test_a_conflict_is_noticed_when_the_studio_starts(open_file, path):
    file = open_file()
    file.change(MINE)
    file.close()
    path.write_text(THEIRS)
    again = open_file()
    assert again.text == MINE
    assert again.conflict == THEIRS.encode()


def test_a_deleted_file_is_written_again(open_file, path):
    file = open_file()
    path.unlink()
    assert file.look()
    assert file.notice == "deleted"
    assert not file.is_saved
    file.save()
    assert path.read_text() == FIRST


def test_a_new_file_is_made_by_saving(open_file, path):
    path.unlink()
    file = open_file()
    assert file.saved is None
    assert file.text == ""
    file.change(MINE)
    file.save()
    assert path.read_text() == MINE


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_without_write_permission_is_named(open_file, path):
    file = open_file()
    path.parent.chmod(0o500)
    try:
        file.change(MINE)
        with pytest.raises(WorkFileError, match="Permission denied"):
            file.save()
    finally:
        path.parent.chmod(0o700)


def test_a_file_that_cannot_be_replaced_is_named_and_the_draft_stays(open_file, path, tmp_path):
    target = tmp_path / "elsewhere.toml"
    path.rename(target)
    file = open_file()  # the path does not exist now
    file.change(MINE)
    path.mkdir()
    with pytest.raises(WorkFileError, match=r"survey\.toml"):
        file.save()
    assert file.text == MINE
    assert list((tmp_path / "state").glob("*.toml"))


def test_a_symbolic_link_is_followed_once_so_that_its_target_is_saved(open_file, path, tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    file = WorkFile(link, tmp_path / "state")
    file.change(MINE)
    file.save()
    file.close()
    assert link.is_symlink()
    assert path.read_text() == MINE


def test_a_second_studio_on_the_same_file_is_refused(open_file):
    open_file()
    with pytest.raises(WorkFileError, match="open in another studio"):
        open_file()


@pytest.mark.parametrize("content", [b"\xff\xfe[survey]", b"x" * 4_000_001])
def test_a_file_that_is_no_text_is_refused(open_file, path, content):
    path.write_bytes(content)
    with pytest.raises(WorkFileError, match=r"survey\.toml: (is not UTF-8|has more than 4 MB)"):
        open_file()
