"""ldp-survey init -o."""

from functools import partial

import pytest

from tests.support.commands import command

run = partial(command, "ldp-survey", "init", check=False)

SAMPLE = "a,b\n" + "x,1\ny,0\n" * 2


def test_the_file_is_what_is_printed_without_the_option(tmp_path):
    sample = tmp_path / "sample.csv"
    sample.write_text(SAMPLE, "utf-8")
    for number, arguments in enumerate([[], ["--from", sample, "--label", "b"]]):
        output = tmp_path / f"survey {number}.toml"
        result = run(*arguments, "-o", output)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"wrote {output}\nnext: edit it, then ldp-survey check '{output}'\n"
        assert output.read_bytes() == run(*arguments).stdout_bytes
        assert output.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["sample.csv", "edited.toml"])
def test_an_existing_file_is_not_replaced(tmp_path, name):
    sample, output = tmp_path / "sample.csv", tmp_path / name
    sample.write_text(SAMPLE, "utf-8")
    output.write_text(SAMPLE, "utf-8")
    result = run("--from", sample, "--label", "b", "-o", output)
    assert result.exit_code == 2
    assert f"{output} exists and is not replaced" in result.stderr
    assert output.read_text("utf-8") == SAMPLE


def test_a_symbolic_link_and_a_missing_folder_are_refused(tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "target.toml")
    refused = run("-o", link)
    assert (refused.exit_code, "is a symbolic link" in refused.stderr) == (2, True)
    assert not (tmp_path / "target.toml").exists()
    refused = run("-o", tmp_path / "no" / "survey.toml")
    assert (refused.exit_code, "there is no folder" in refused.stderr) == (2, True)


def test_a_failed_draft_writes_no_file(tmp_path):
    sample, output = tmp_path / "sample.csv", tmp_path / "survey.toml"
    sample.write_text("a,b\nx,y\n", "utf-8")
    assert run("--from", sample, "--label", "b", "-o", output).exit_code == 1
    assert not output.exists()
