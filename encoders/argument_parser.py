"""An argument parser whose help looks like that of the commands of click."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from typing import Any

from encoders.build import find_build


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 120) - 2


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps lines between words only, and uses the width of the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=_width())

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def _format_action(self, action: Any) -> str:
        if action.nargs == argparse.PARSER:  # list the commands without a heading
            return "".join(map(self._format_action, action._get_subactions()))
        return super()._format_action(action)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrap(text, width)


class ArgumentParser(argparse.ArgumentParser):
    """A parser of a command or of a subcommand; its help ends with examples."""

    def __init__(self, *, description: str, examples: str, **options: Any) -> None:
        paragraphs = ["\n".join(_wrap(each, _width() - 2)) for each in description.split("\n\n")]
        description = textwrap.indent("\n\n".join(paragraphs), "  ")
        super().__init__(description=description, formatter_class=_HelpFormatter, add_help=False, **options)
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.examples = examples
        self.add_argument("-h", "--help", action="help", help="Show this message and exit.")

    def add_subparsers(self, **options: Any) -> Any:
        """Add a required COMMAND, and the option --version."""
        self.add_argument(
            "--version",
            action="version",
            version=f"%(prog)s {find_build()}",
            help="Show the version and exit.",
        )
        self._positionals.title = "Commands"
        return super().add_subparsers(required=True, metavar="COMMAND", **options)

    def format_help(self) -> str:
        return f"{super().format_help()}\nExamples:\n{textwrap.indent(self.examples, '  ')}\n"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; if there are none although the command requires some, print the help."""
        words = sys.argv[1:] if args is None else list(args)
        items: list[Any] = [*self._actions, *self._mutually_exclusive_groups]
        if not words and any(each.required for each in items):
            self.print_help(sys.stderr)
            self.exit(2)
        return super().parse_known_args(words, namespace)
