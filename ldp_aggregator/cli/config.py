"""Reads a command's settings from a TOML file; options and environment variables override them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from encoders.file_kind import describe_other
from encoders.survey.toml_reader import parse_toml
from ldp_aggregator.cli.help import Command
from ldp_aggregator.collector.errors import SettingsError

_ARGUMENTS = "ldp.arguments"
_SQLITE = "sqlite:///"
_NOT_IN_FILES = {"config", "show_settings", "help"}


class ReloadableCommand(Command):
    """A command whose settings can be reloaded while it runs; its help shows their environment variables."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.name != "show_settings":
                parameter.show_envvar = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        arguments = list(args)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[_ARGUMENTS] = arguments
        return context


def reload_options(context: click.Context) -> dict[str, Any]:
    """Return the settings that the command would start with now; raise SettingsError as its start would."""
    try:
        arguments = list(context.meta[_ARGUMENTS])
        return context.command.make_context(context.info_name, arguments, context.parent).params
    except click.ClickException as error:
        raise SettingsError(error.format_message()) from error


def read_config(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Use a file's settings as defaults of the options; errors name the file and the key."""
    if path is not None:
        known = {each.name: each for each in context.command.params if each.name not in _NOT_IN_FILES}
        context.default_map = {
            key: _check_value(context, path, known.get(key), key, value) for key, value in _load(path).items()
        }
    return path


def _load(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_bytes().decode(), float)
    except OSError as error:
        raise click.BadParameter(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise click.BadParameter(f"{path}: not a TOML file: {error}{describe_other(path, 'text')}") from error


def _check_value(
    context: click.Context, path: Path, parameter: click.Parameter | None, key: str, value: Any
) -> Any:
    if parameter is None:
        names = sorted(str(each.name) for each in context.command.params if each.name not in _NOT_IN_FILES)
        raise click.BadParameter(f"{path}: {key}: no such setting; choose one of {', '.join(names)}")
    types = _toml_types(parameter)
    is_list = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    values = value if is_list and isinstance(value, list) else [value]
    if is_list != isinstance(value, list) or any(type(each) not in types for each in values):
        wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[types[0]]
        raise click.BadParameter(f"{path}: {key}: must be {'a list, each ' * is_list}{wanted}")
    if isinstance(parameter.type, click.Path):
        values = [str(path.parent / each) for each in values]
    if key == "store":
        values = [resolve_store_path(each, path.parent) for each in values]
    value = values if is_list else values[0]
    try:
        parameter.process_value(context, value)
    except click.MissingParameter as error:
        raise click.BadParameter(f"{path}: {key}: must not be empty: leave it out") from error
    except click.BadParameter as error:
        raise click.BadParameter(f"{path}: {key}: {error.message}") from error
    return value


def resolve_store_path(url: str, folder: Path) -> str:
    """Return the URL of a store; a relative path of SQLite becomes absolute, as a path in `folder`."""
    path = url.removeprefix(_SQLITE)
    return f"{_SQLITE}{(folder / path).absolute()}" if path and path != url else url


def _toml_types(parameter: click.Parameter) -> tuple[type, ...]:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return (bool,)
    if isinstance(parameter.type, click.types.FloatParamType):
        return (float, int)
    return (int,) if isinstance(parameter.type, click.types.IntParamType) else (str,)


def setting_origins(context: click.Context) -> dict[str, str]:
    source_by_name = {}
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name not in _NOT_IN_FILES and source is not None:
            own = parameter.envvar or f"{context.auto_envvar_prefix}_{name.upper()}"
            variables = [own] if isinstance(own, str) else list(own)
            variable = next(filter(os.environ.get, variables), variables[0])
            source_by_name[name] = {
                ParameterSource.COMMANDLINE: "command line",
                ParameterSource.ENVIRONMENT: f"environment, {variable}",
                ParameterSource.DEFAULT_MAP: str(context.params["config"]),
            }.get(source, "default")
    return source_by_name
