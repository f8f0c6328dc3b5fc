"""The check of words: what it reports, and what it permits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parent.parent / ".ci" / "check_words.py"


def check(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKER), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def test_a_listed_word_is_reported_with_file_line_and_replacement(page: Path) -> None:
    page.write_text("The first line is fine.\nThe verdict is in.\n", "utf-8")
    result = check(page)
    assert result.returncode == 1
    assert result.stdout == (f"{page}:2: do not write 'verdict'; write: validation result, outcome\n")


@pytest.mark.parametrize(
    "text", ["Told twice", "the one he_told", "test_told_again()", "'told'", "it was told."]
)
def test_capitals_underscores_and_punctuation_do_not_hide_a_word(page: Path, text: str) -> None:
    page.write_text(text, "utf-8")
    result = check(page)
    assert result.returncode == 1
    assert "observed" in result.stdout


@pytest.mark.parametrize(
    "text",
    [
        "SHE and THE are mechanisms, good-she.json is a file",
        "the chapter there, a fortune teller, this history",
        "offset = stream.tell()",
        '"non_uniform": "uneven"',
        "`label.uneven` → `label.non_uniform`",
        "`verdicts` is now `validation_result`",
    ],
)
def test_names_parts_of_words_and_old_keys_are_permitted(page: Path, text: str) -> None:
    page.write_text(text, "utf-8")
    result = check(page)
    assert (result.returncode, result.stdout) == (0, "")


def test_data_files_are_not_checked(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text('{"said": "she told her"}', "utf-8")
    assert check(data).returncode == 0
