"""Options that commands share: files, checked before the command computes, stores, numbers and languages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from encoders.errors import SurveyError
from encoders.survey import Feature
from encoders.survey.texts import SurveyTexts
from ldp_aggregator.atomic_file import require_replaceable
from ldp_aggregator.cli.help import advanced_option, option
from ldp_aggregator.rows.encode_table import describe_rows
from ldp_aggregator.rows.table_input import read_typed_columns
from ldp_aggregator.wording.language import Language, Words, choose_language, read_words
from ldp_aggregator.wording.statement import Texts


def read_rows(path: Path, features: Sequence[Feature], multiline: bool) -> dict[str, Sequence[object]]:
    """Read a CSV file of rows, and print how many cells are clipped and how many rows are left out."""
    columns = read_typed_columns(path, features, multiline=multiline)
    print_notes(describe_rows(features, columns))
    return columns


def print_notes(notes: Iterable[str]) -> None:
    """Print what only those who hold the rows may see; it is in no output file and no log."""
    for note in notes:
        click.echo(note, err=True)


INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class OutputFile(click.Path):
    """The path of a file that :func:`~ldp_aggregator.atomic_file.write_atomically` will write."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        option = param.opts[-1] if param else "output"
        if not path.parent.is_dir():
            raise click.UsageError(f"{option}: there is no folder {path.parent}", ctx)
        try:
            require_replaceable(path)
        except OSError as error:
            raise click.UsageError(f"{option}: {path} {error.strerror}", ctx) from error
        try:
            TemporaryFile(dir=path.parent).close()  # permissions alone do not show a read-only file system
        except OSError as error:
            why = f"no file can be written to {path.parent}: {error.strerror}; choose another folder"
            raise click.UsageError(f"{option}: {why}", ctx) from error
        return path


def require_no_input(output: Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Raise UsageError if the output is also an input of the command: a path, or a URL of a store."""
    for each in filter(None, inputs):
        path = str(each).removeprefix("sqlite:///")
        if output and output.exists() and os.path.exists(path) and os.path.samefile(output, path):
            raise click.UsageError(f"{output} is an input of this command too; give another output file")


def require_distinct(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    option_of: dict[Path, str] = {}
    for name, path in outputs.items():
        require_no_input(path, inputs)
        if path and (other := option_of.setdefault(path.resolve(), name)) != name:
            raise click.UsageError(f"{other} and {name} are the same file, {path}: give two different files")


_AMOUNT = re.compile(r"\+?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\s*[+-]?(\d+|\d{1,3}(,\d{3})+|\d{1,3}(_\d{3})+)\s*", re.ASCII)


class Count(click.IntRange):
    """A number of people, rows or reports, perhaps with separators of thousands: 3000, 3,000 or 3_000."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            if not _COUNT.fullmatch(value):
                self.fail(f"{value!r} is not a whole number: write it as 3000 or 3,000", param, ctx)
            value = value.replace(",", "")
        return super().convert(value, param, ctx)


def amount_parser(low: Fraction, high: Fraction) -> Callable[..., Fraction | None]:
    """Return the callback of an option that reads a decimal as an exact fraction: 0.5 and .5 are one half."""

    def parse(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Fraction | None:
        if text is None:
            return None
        amount = Fraction(text) if _AMOUNT.fullmatch(text) else None
        if amount is None or not low <= amount <= high:
            raise click.BadParameter(f"{text!r} is not a number from {float(low):g} to {float(high):g}")
        return amount

    return parse


STORE_VARIABLE = "LDP_STORE"
"""The environment variable that all commands read: a password in it is not on the command line."""

store_option = option(
    "--store",
    "url",
    envvar=STORE_VARIABLE,
    default="sqlite:///ldp.db",
    metavar="URL",
    show_envvar=True,
    help="The store: sqlite:///FILE, redis://HOST:PORT/DB, rediss://, redis+cluster:// or unix:///SOCKET.",
)
durability_option = advanced_option(
    "--durability",
    type=click.Choice(["always", "everysec", "unchecked"]),
    default="always",
    help="When Redis must write a report to disk: before it acknowledges the report (always), or within a "
    "second (everysec); unchecked accepts any configuration of Redis.",
)


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
