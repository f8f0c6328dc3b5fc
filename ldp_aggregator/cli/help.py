"""The help of all commands of click: arguments, basic and advanced options, and examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import click

from encoders.build import find_build
from encoders.extras import EXPECTED_ERRORS, describe_error
from encoders.rows_csv import MISSING_CODES_HELP, MULTILINE_HELP

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True}
_EXAMPLES = "\n\n$ "
"""The lines of examples at the end of a docstring begin with a prompt, which is not printed."""
_METAVARS = dict.fromkeys(["INTEGER", "INTEGER RANGE", "FLOAT", "FLOAT RANGE"], "NUMBER") | {"PATH": "FILE"}
_HYPHEN = "\u2011"
"""Stands for hyphens while lines are wrapped, so that no line ends inside an option or a file name."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


class _Formatter(click.HelpFormatter):
    """Wraps lines between words only, so that whatever is shown can be copied."""

    def write(self, string: str) -> None:
        super().write(string.replace(_HYPHEN, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(term, text.replace("-", _HYPHEN)) for term, text in rows], col_max, col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


class _Argument(click.Argument):
    """An argument with a help text, which click offers only from version 8.5 on."""

    def __init__(self, *declarations: Any, **attributes: Any) -> None:
        text = attributes.pop("help")
        super().__init__(*declarations, **attributes)
        self.help = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.make_metavar(ctx), self.help or ""


class _Option(click.Option):
    """An option whose help shows neither the type's name nor its range."""

    def make_metavar(self, ctx: click.Context) -> str:
        metavar = super().make_metavar(ctx)
        return _METAVARS.get(metavar, metavar)

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default  # click adds parentheses
        return extra


class _AdvancedOption(_Option):
    """An option that most users do not need; it is listed after the others."""


class Command(click.Command):
    context_class = _Context

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        text, _, self.examples = inspect.cleandoc(attributes.get("help") or "").partition(_EXAMPLES)
        settings = _SETTINGS | (attributes.get("context_settings") or {})
        super().__init__(*arguments, **attributes | {"help": text, "context_settings": settings})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; if there are none although the command requires some, print the help."""
        is_empty = not args
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            if is_empty:
                raise click.exceptions.NoArgsIsHelpError(ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print expected errors as one line, without a traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # no error: click exits without a message
            raise
        except EXPECTED_ERRORS as error:
            raise click.ClickException(describe_error(error)) from error

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: format_options writes the arguments, too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Advanced options": []}
        for each in self.get_params(ctx):
            kind = "Arguments" if isinstance(each, click.Argument) else "Options"
            record = each.get_help_record(ctx)
            if record:
                sections["Advanced options" if isinstance(each, _AdvancedOption) else kind].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_text("\b\n" + self.examples.replace("\n$ ", "\n"))


class Group(Command, click.Group):
    command_class = Command
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


argument = partial(click.argument, cls=_Argument)
option = partial(click.option, cls=_Option)
advanced_option = partial(click.option, cls=_AdvancedOption)
json_option = option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
multiline_option = advanced_option("--multiline", is_flag=True, help=MULTILINE_HELP)
missing_codes_option = advanced_option(
    "--missing-codes", "codes", multiple=True, metavar="FEATURE=CODE,...", help=MISSING_CODES_HELP
)


def version_option(command: Decorated) -> Decorated:
    """Add --version to one command, because click stores the first program name in the option."""
    add = click.version_option(
        str(find_build()),
        message="%(prog)s %(version)s",
        allow_from_autoenv=False,  # LDP_COLLECTOR_VERSION=1 must not print the version
    )
    return add(command)
