"""Loads the templates of pages, which share one document, one style and one look of statements and tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import cycle

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from encoders.survey.display_texts import DisplayText
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import WORDS, Names, localise, quote

_SHARED = "ldp_aggregator.render"


@cache
def load_template(package: str, name: str, style: str = "") -> Template:
    """Return a template, which escapes texts, writes statements and languages, and has the variable `style`.

    A file that the folder `templates` of the package lacks is taken from the shared ones. `style` is a file
    with more rules, which follow those that all pages share.
    """
    loader = ChoiceLoader([PackageLoader(package), PackageLoader(_SHARED)])
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    rules = [files(_SHARED).joinpath("style.css").read_text(encoding="utf-8")]
    rules += [loader.get_source(environment, style)[0]] if style else []
    environment.globals["style"] = Markup("\n".join(rules))  # noqa: S704 - files of this project
    environment.globals |= {
        "word": _find_word,
        "language": lambda: LANGUAGE.get().tag or "en",
        "localise": localise,
        "quote": quote,
    }
    return environment.get_template(name)


def _find_word(name: str, **values: object) -> str:
    """Return what templates say, an entry of page.md, as HTML that attributes may contain too."""
    return escape(WORDS.write(f"page.{name}", **values)).replace("&#39;", Markup("'"))


def write_text(statement: Statement) -> Markup:
    """Return a statement as HTML that attributes in double quotes may contain too, unless it has names."""
    return write_statement(statement).replace("&#39;", Markup("'"))


def _finalize(value: object) -> object:
    if isinstance(value, DisplayText):
        return Markup('<span lang="{}">{}</span>').format(value.language, str(value))
    return write_statement(value) if isinstance(value, Statement) else value


def write_statement(statement: Statement) -> Markup:
    """Return a statement as HTML: names are isolated, since they may be in a right-to-left script."""
    tags = cycle((Markup("<code>"), Markup("</code>")))
    return Markup(statement.fill(_write_value, lambda words: "".join(_write_words(words, tags))))  # noqa: S704 - escaped


def _write_value(value: object) -> str:
    if isinstance(value, DisplayText):
        return Markup('<bdi lang="{}">{}</bdi>').format(value.language, str(value))
    is_name = isinstance(value, str | Names) and not isinstance(value, Markup)
    return Markup("<bdi>{}</bdi>").format(str(value)) if is_name else escape(str(value))


def _write_words(words: str, tags: Iterator[Markup]) -> Iterator[Markup]:
    for index, part in enumerate(words.split("`")):
        yield (next(tags) if index else Markup("")) + escape(part)
