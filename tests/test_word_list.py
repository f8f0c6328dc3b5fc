"""The check of words: what it reports, and what it permits."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKER = Path(__file__).resolve().parent.parent / ".ci" / "check_words.py"


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the checker as a module; its folder is no package."""
    specification = importlib.util.spec_from_file_location("check_words", CHECKER)
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "check_words", module)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def test_a_listed_word_is_reported_with_file_line_and_replacement(checker, page, capsys):
    page.write_text("The first line is fine.\nThe verdict is in.\n", "utf-8")
    assert checker.main([str(page)]) == 1
    message = f"{page}:2: do not write 'verdict'; write: validation result, outcome\n"
    assert capsys.readouterr().out == message


@pytest.mark.parametrize(
    "text", ["Heard twice", "the one he_heard", "test_heard_again()", "'heard'", "it was heard."]
)
def test_capitals_underscores_and_punctuation_do_not_hide_a_word(checker, page, capsys, text):
    page.write_text(text, "utf-8")
    assert checker.main([str(page)]) == 1
    assert "observed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "SHE and THE are mechanisms, good-she.json is a file",
        "the chapter there, a hearsay, this history",
        "it tells you what to do",
        "`label.uneven` → `label.non_uniform`",
        "`verdicts` is now `validation_result`",
    ],
)
def test_names_parts_of_words_and_old_names_are_permitted(checker, page, capsys, text):
    page.write_text(text, "utf-8")
    assert (checker.main([str(page)]), capsys.readouterr().out) == (0, "")


def test_data_files_are_not_checked(checker, tmp_path):
    data = tmp_path / "data.json"
    data.write_text('{"said": "she heard her"}', "utf-8")
    assert checker.main([str(data)]) == 0
