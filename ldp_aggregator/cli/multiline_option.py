"""The option --multiline of every command that reads rows."""

from __future__ import annotations

import click

from encoders.rows_csv import MULTILINE_HELP

multiline_option = click.option("--multiline", is_flag=True, help=MULTILINE_HELP)
