"""Records the public surface, which docs/formats.md promises, in tests/surface/: one line for each item.

    python -m tools.surface              after a change: marks new lines with + and lost ones with -
    python -m tools.surface --release    at a release: removes the marks

Each marked line is an item that changed since the last release, and CHANGELOG.md names it under Unreleased;
tests/test_surface.py checks both. A part whose program is missing (Node, a JDK) stays as it is.
"""

from __future__ import annotations

import enum
import fcntl
import importlib
import inspect
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import is_dataclass
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import click

from encoders.errors import Reason
from ldp_aggregator import codec, results_file, snapshot
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.openapi import describe
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.results import Results
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.memory import MemoryStore
from ldp_aggregator.stores.store import SURVEY_KINDS
from ldp_central import curator_ledger
from ldp_client.journal.table import create_tables
from ldp_relay.held_messages import HeldMessages, Outcome
from ldp_relay.relay_app import CODE_MISSING, OTHER_PLAN
from ldp_relay.relay_app import create_app as make_relay
from ldp_relay.relay_settings import RelaySettings

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "surface"
NEW, LOST = "+ ", "- "
_JAVA_FORMAT = r"(?:HEADER|\w*VERSION|texts) = [^;]*|(?:out|content)\.write\w*\([^;]*"
_JAVASCRIPT = """
for (const [entry, files] of Object.entries(exports)) {
  const module = await import(`${folder}/${files.default}`);
  const parameters = (code) =>
    `(${String(code).match(/\\(([^]*?)\\)\\s*\\{/)?.[1].replace(/\\s+/g, " ").trim() ?? ""})`;
  for (const [name, value] of Object.entries(module)) {
    const item = `ldp-bayes${entry.slice(1)} ${name}`;
    const isClass = /^class\\b/.test(String(value));
    console.log(isClass || typeof value !== "function" ? item : item + parameters(value));
    for (const [owner, dot] of isClass ? [[value.prototype, "."], [value, ":"]] : []) {
      for (const [method, found] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        if (/^_|^(constructor|prototype|length|name)$|Callback$/.test(method)) continue;
        console.log(`${item}${dot}${method}${found.get ? "" : parameters(found.value)}`);
      }
    }
  }
}
"""


def read_page() -> str:
    return (ROOT / "docs" / "formats.md").read_text("utf-8")


def read_section(heading: str) -> str:
    """Return the part of docs/formats.md below a heading of level 2."""
    return read_page().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def public_modules() -> dict[str, set[str]]:
    """Return the public Python modules with the main names that the page lists."""
    modules: dict[str, set[str]] = {}
    for module, names in re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", read_section("Python modules"), re.M):
        modules.setdefault(module, set()).update(re.findall(r"`(\w+)`", names))
    return modules


def list_public_names(module: str) -> set[str]:
    return set(getattr(importlib.import_module(module), "__all__", public_modules()[module]))


def list_stable_names(module: str) -> set[str]:
    """Return the names that stay until the next major version: for devices all, of others the main ones."""
    is_of_devices = module.startswith(("ldp_client", "ldp_silo"))
    return list_public_names(module) if is_of_devices else public_modules()[module]


# -- the parts -----------------------------------------------------------------------------------------


def list_python() -> Iterator[str]:
    """Yield names with the names, kinds and defaults of their parameters; annotations may change."""
    for module in public_modules():
        for name in list_stable_names(module):
            value = getattr(importlib.import_module(module), name)
            yield from _describe(f"{module}.{name}", value)


def _describe(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield from (f"{name}.{each.name} = {each.value!r}" for each in value)
    elif inspect.isclass(value):
        bases = [each.__name__ for each in value.__mro__[1:] if issubclass(each, Exception)]
        error = f" = {', '.join(takewhile('Exception'.__ne__, bases)) or 'Exception'}"
        yield name + (error if bases else _describe_parameters(value))
        for each, member in _list_members(value):
            yield from _describe(f"{name}.{each}", member)
    elif inspect.isroutine(value):
        yield name + _describe_parameters(value)
    else:
        yield name
        if name == "encoders.mechanisms.MECHANISMS":
            yield from (f"{name} {each}" for each in value)


def _list_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods, properties and fields that our packages define, also in base classes."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] in _PACKAGES:
            fields = dict.fromkeys(inspect.get_annotations(base)) if is_dataclass(base) else {}
            found |= {**fields, **{name: getattr(base, name) for name in vars(base)}}
    hidden = ("_", "set_score_request")  # scikit-learn adds the second
    yield from ((name, value) for name, value in found.items() if not name.startswith(hidden))


def _describe_parameters(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    plain = [
        each.replace(annotation=each.empty, default=_show_default(each.default))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def _show_default(default: Any) -> Any:
    """Return a default that is written as itself; others, such as functions, are only three dots."""
    is_plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return default if is_plain else ...


def list_javascript() -> Iterator[str]:
    node, folder = _require("node"), ROOT / "clients" / "javascript"
    exports = json.dumps(json.loads((folder / "package.json").read_text("utf-8"))["exports"])
    program = f"const folder = {json.dumps(str(folder))}, exports = {exports};{_JAVASCRIPT}"
    yield from _run(node, "--input-type=module", "--eval", program).splitlines()


def list_java() -> Iterator[str]:
    javap, folder = _require("javap"), ROOT / "clients" / "java"
    _require("javac")
    with (folder / "Makefile").open() as locked:  # as tests/support/java.py
        fcntl.flock(locked, fcntl.LOCK_EX)
        _run(_require("make"), "--silent", "-C", folder, "build/classes")
    packages = ["", "/client", "/client/journal", "/survey", "/relay", "/explain", "/testing"]
    paths = (path for each in packages for path in (folder / f"build/classes/ldpbayes{each}").glob("*.class"))
    kind = ""
    for line in _run(javap, "-public", *sorted(paths)).splitlines():
        if line.endswith("{"):
            kind = (
                re.sub(r"^.*?(class|interface) ([\w.$]+).*", r"\2", line) if line.startswith("public") else ""
            )
            yield from [f"{kind} = {line.removesuffix(' {')}"] * bool(kind)
        elif kind and line.startswith("  ") and "$" not in line:
            yield f"{kind} {line.strip().removesuffix(';').removeprefix('public ')}"


def list_commands() -> Iterator[str]:
    """Yield commands with their options, exit codes and the extras that install them."""
    for name, command in _list_commands():
        yield name
        yield from (f"{name} {option}" for option in command)
    for command, code in re.findall(r"^\| ([^|]+) \| (\d) \|", read_section("Exit codes"), re.M):
        yield f"exit code {code} of {command.replace('`', '')}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    yield from (f"extra {name}" for name in extras if not re.match("dev|docs|fuzz|bench|examples", name))


def _list_commands() -> Iterator[tuple[str, list[str]]]:
    tests: Any = importlib.import_module("tests.test_help")
    for name, command in tests.COMMANDS.items():
        shown = [each for each in command.params if not getattr(each, "hidden", False)]
        yield name, [_show_parameter(each) for each in shown]
    for name, parser in tests.PARSERS.items():
        actions = (each for each in parser._actions if not isinstance(each.choices, dict))
        yield name, [" ".join(each.option_strings) or str(each.dest).upper() for each in actions]


def _show_parameter(parameter: click.Parameter) -> str:
    values = getattr(parameter.type, "choices", ())
    return " ".join(parameter.opts) + (f" = {', '.join(map(str, values))}" if values else "")


def list_http() -> Iterator[str]:
    """Yield the addresses of collector and relay, reasons, and the metrics with their labels."""
    for path, methods in describe(create_app(CollectorSettings(), MemoryStore()))["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path} = {' '.join(sorted(operation['responses']))}"
    with TemporaryDirectory() as name, closing(HeldMessages(Path(name, "relay.db"))) as held:
        relay = make_relay(RelaySettings(Path(), "", (), {}), held, {})
    for rule in relay.url_map.iter_rules():
        yield f"relay {' '.join(sorted((rule.methods or set()) - {'HEAD'}))} {rule.rule}"
    yield from (f"reason {each}" for each in Reason)
    others = {Outcome.NEW, Outcome.KNOWN, Outcome.CLOSED}  # those give no reason of relays alone
    yield from (f"relay reason {each}" for each in {*Outcome, OTHER_PLAN, CODE_MISSING} - others)
    page = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("monitoring.md", "relay.md"))
    for names, labels in re.findall(r"^\| (`ldp_[^|]*) \|([^|]*)\|", page, re.M):
        given = ", ".join(re.findall("`(.*?)`", labels))
        yield from (f"metric {name} = {given}".removesuffix(" = ") for name in re.findall("`(.*?)`", names))


def list_json() -> Iterator[str]:
    """Yield the keys of a model file, by the types of its entries, and those of JSON output on the page."""
    types = get_type_hints(Results, include_extras=True)
    for name in ("estimates", "privacy", "classifier", "usefulness", "series", "build"):
        yield from _list_keys(f"model {name}", types[name], ())
    section = read_section("Check a survey from a program")
    for keys in re.findall(r"^\| (`[^|]*) \|", section, re.M):
        yield from (f"ldp-survey check --json {key}" for key in re.findall("`([^`]+)`", keys))
    for command, keys in re.findall(
        r"^\| ([^|]*`) \| (.*) \|$", read_section("JSON output of other commands"), re.M
    ):
        yield from (f"{command.replace('`', '')} {key}" for key in re.findall("`([^`]+)`", keys))


def _list_keys(name: str, kind: Any, inside: tuple[object, ...]) -> Iterator[str]:
    if not is_dataclass(kind):
        for each in get_args(kind):
            yield from _list_keys(name, each, inside)
    elif kind not in inside:
        entries = list_entries(kind)
        yield from (f"{name}.{key}" for key in (*entries, *getattr(kind, "JSON_DERIVED", ())))
        for key, inner in entries.items():
            yield from _list_keys(f"{name}.{key}", inner, (*inside, kind))


def list_files() -> Iterator[str]:
    """Yield the tables and versions of files; and digests of the vectors of wire format, plans, envelopes."""
    versions = {"model": results_file.VERSION, "snapshot": snapshot.VERSION, "ledger": curator_ledger.VERSION}
    yield from (f"{name} = version {version}" for name, version in versions.items())
    with TemporaryDirectory() as name:
        folder = Path(name)
        open_store(f"sqlite:///{folder}/store.db").close()
        with closing(sqlite3.connect(folder / "journal.db")) as journal:
            create_tables(journal)
        HeldMessages(folder / "relay.db").close()
        for path in sorted(folder.glob("*.db")):
            with closing(sqlite3.connect(path)) as database:
                [(version,)] = database.execute("PRAGMA user_version")
                yield f"{path.stem} = version {version}"
                for item, sql in database.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL"):
                    yield f"{path.stem} {item} = {' '.join(sql.split())}"
    yield from _list_sources()
    for path in sorted((ROOT / "tests" / "vectors").glob("*.json")):
        yield f"vectors {path.name} = {sha256(path.read_bytes()).hexdigest()[:16]}"


def _list_sources() -> Iterator[str]:
    """Yield the key names of Redis and the layout of the Java client's journal, as in the sources."""
    for path in sorted((ROOT / "ldp_aggregator" / "stores").glob("redis*.py")):
        for key in re.findall('"(ldp:[^"*]*[^":*])"', path.read_text("utf-8")):
            yield f"redis key {key.replace('{{', '{').replace('}}', '}')}"
    yield f"redis kind = {', '.join(SURVEY_KINDS)}"
    for name in ("FileStore", "JournalEntry"):
        source = ROOT / f"clients/java/src/ldpbayes/client/journal/{name}.java"
        written = re.findall(_JAVA_FORMAT, source.read_text("utf-8"))
        yield f"java journal {name} = {' '.join('; '.join(written).split())}"


list_entries: Callable[[Any], dict[str, Any]] = codec._list_fields
_PACKAGES = ("encoders", "reduction", "ldp_client", "ldp_silo", "ldp_aggregator", "ldp_design", "ldp_audit")
PARTS: dict[str, Callable[[], Iterable[str]]] = {
    "python": list_python,
    "javascript": list_javascript,
    "java": list_java,
    "commands": list_commands,
    "http": list_http,
    "json": list_json,
    "files": list_files,
}


class MissingProgramError(Exception):
    pass


def _require(program: str) -> str:
    found = shutil.which(program)
    if not found:
        raise MissingProgramError(program)
    return found


def _run(*words: object) -> str:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


# -- the record ----------------------------------------------------------------------------------------


def read_record(part: str) -> list[str]:
    path = FOLDER / f"{part}.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def mark_changes(record: Iterable[str], found: Iterable[str]) -> list[str]:
    """Return the lines of the last release and those that are found, with marks where they differ."""
    released = {line.removeprefix(LOST) for line in record if not line.startswith(NEW)}
    present = set(found)
    marks = dict.fromkeys(released & present, "") | dict.fromkeys(present - released, NEW)
    marks |= dict.fromkeys(released - present, LOST)
    return [marks[line] + line for line in sorted(marks)]


def list_unnamed(record: Iterable[str], unreleased: str) -> list[str]:
    """Return the names of the marked lines that a text does not contain as whole words."""
    changed = {name_item(line[2:]) for line in record if line.startswith((NEW, LOST))}
    return sorted(
        name for name in changed if not re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", unreleased)
    )


def name_item(line: str) -> str:
    """Return what a changelog must name: in `a.B.c(d)` or `e.c = f` the name c; of a command the option."""
    last = re.split(r"\(| = ", line)[0].split()[-1]
    return last if re.search(r"^[-/]|\.json$", last) else re.split(r"[.:]", last.removesuffix("[]"))[-1]


def read_unreleased() -> str:
    return (ROOT / "CHANGELOG.md").read_text("utf-8").partition("\n## [Unreleased]")[2].partition("\n## [")[0]


def main(arguments: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for part, find in PARTS.items():
        try:
            found = set(find())
        except MissingProgramError as missing:
            print(f"{part}: needs {missing}, and stays as it is")
            continue
        lines = mark_changes(found if "--release" in arguments else read_record(part), found)
        (FOLDER / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        unnamed = list_unnamed(lines, read_unreleased())
        missing_names = f"; CHANGELOG.md does not name {', '.join(unnamed)}" if unnamed else ""
        print(f"{part}: {len(found)} items{missing_names}")


if __name__ == "__main__":
    main(sys.argv[1:])
