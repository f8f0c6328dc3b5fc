"""The options of commands that write pages in a language: --language and --words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from encoders.errors import SurveyError
from encoders.survey.texts import SurveyTexts
from ldp_aggregator.cli.file_options import INPUT_FILE
from ldp_aggregator.cli.help import option
from ldp_aggregator.wording.language import Language, Words, choose_language, read_words
from ldp_aggregator.wording.statement import Texts


def language_options(command: Callable[..., Any]) -> Callable[..., Any]:
    words = option(
        "--words",
        type=INPUT_FILE,
        multiple=True,
        help="Translated words of the page, a JSON file; repeatable.",
    )
    return option(
        "--language",
        metavar="TAG",
        default="",
        show_default="the survey's first language if it has words, otherwise English",
        help="The language of the page: en, de, or one of --words.",
    )(words(command))


def read_language(
    asked: str,
    stated: SurveyTexts | None,
    paths: Sequence[Path],
    texts: Sequence[Texts],
    needed: tuple[str, ...] = ("",),
) -> Language:
    """Return the language of a page with these texts; raise a usage error that names what is wrong.

    `stated` are the survey's texts, and `needed` the beginnings of the names of words that the page needs.
    """
    english = {name: body for each in texts for name, body in each.english.items()}
    own = (Path(str(files(each.package).joinpath("texts/words-de.json"))) for each in texts)
    words = read_word_files([*filter(Path.is_file, own), *paths], english)
    shown = (name for name in english if name.startswith(needed))
    try:
        return choose_language(asked, stated.languages if stated else (), words, shown)
    except SurveyError as error:
        raise click.BadParameter(str(error), param_hint="--language") from error


def read_word_files(paths: Iterable[Path], english: Mapping[str, str]) -> Words:
    """Return the words of several files; raise a usage error if one is not of the form of English words."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        try:
            for tag, words in read_words(path.read_bytes(), english).items():
                found.setdefault(tag, {}).update(words)
        except SurveyError as error:
            raise click.BadParameter(f"{path}: {error}", param_hint="--words") from error
    return found
