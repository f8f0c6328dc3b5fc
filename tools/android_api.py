"""List what the Java client uses of the JDK, with the first Android level that has it.

`python -m tools.android_api CLASSES` prints each class, method and field of the JDK to which the class files
of a folder refer. `python -m tools.android_api CLASSES DECLARATIONS` writes them with their levels to
`clients/java/android-api.txt`. DECLARATIONS is the folder `lib/android` of the npm package
`@nativescript/types-android` 8.8.0, which describes the platform of each level from 17 on. So level 17 stands
for 17 and below, and "none" for a member that no level up to 26 has. The declarations leave out the
interfaces of `java.util.function`, which Android has from level 24 on.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).resolve().parents[1] / "clients" / "java" / "android-api.txt"
LEVELS = range(17, 27)
NOT_LISTED = ("ldpbayes.", "java.lang.invoke.")
"""The client itself, and what lambdas are compiled to, which the build tools of Android replace."""
FUNCTIONS = "java.util.function."
HEADER = """\
# What the client uses of the JDK, with the first Android level that has it; 17 stands for 17 and below.
# tools/android_api.py writes this file, and explains where the levels come from.
"""

_CONSTANT_BYTES = dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4) | {5: 8, 6: 8, 15: 3}
"""Bytes of a constant in a class file, by its kind; the others have 2."""
_TEXT, _WIDE, _CLASS, _FIELD, _METHODS = 1, (5, 6), 7, 9, (10, 11)
_PRIMITIVES = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "Z": "boolean",
}
_TYPESCRIPT = dict.fromkeys(("byte", "double", "float", "int", "long", "short"), "number") | {
    "boolean": "boolean",
    "char": "string",
    "java.lang.CharSequence": "string",
    "java.lang.String": "string",
}


class PlatformClass(NamedTuple):
    """A class or interface of a platform."""

    above: list[str]
    """Names of what it extends and implements."""
    members: list[str]
    """One line of TypeScript for each public member."""


Platform = dict[str, PlatformClass]


def used_members(classes: Path) -> set[str]:
    """Return the JDK's classes, methods and fields in the constants of all class files of a folder.

    A method is written like ``java.io.File.renameTo(java.io.File)``, and ``<init>`` is a constructor.
    """
    found = {member for file in classes.rglob("*.class") for member in _referred(file.read_bytes())}
    return {member for member in found if not member.startswith(NOT_LISTED)}


def _referred(data: bytes) -> Iterator[str]:
    """Return the classes and members to which one class file refers; chapter 4.4 of the JVM specification."""
    constants: dict[int, tuple[int, bytes]] = {}
    (count,), position, index = struct.unpack_from(">H", data, 8), 10, 1
    while index < count:
        kind = data[position]
        length = struct.unpack_from(">H", data, position + 1)[0] + 2 if kind == _TEXT else 0
        length = length or _CONSTANT_BYTES.get(kind, 2)
        constants[index] = kind, data[position + 1 : position + 1 + length]
        position += 1 + length
        index += 2 if kind in _WIDE else 1

    def text(index: int) -> str:
        return constants[index][1][2:].decode("utf-8", "surrogatepass").replace("/", ".")

    def indices(index: int) -> tuple[int, ...]:
        content = constants[index][1]
        return struct.unpack(f">{len(content) // 2}H", content)

    for index, (kind, _) in constants.items():
        if kind == _CLASS:
            name = text(*indices(index))
            if not name.startswith("["):
                yield name
            elif name.endswith(";"):
                yield name.lstrip("[")[1:-1]
        elif kind in (_FIELD, *_METHODS):
            owner, signature = indices(index)
            of, (name, descriptor) = text(*indices(owner)), map(text, indices(signature))
            if not of.startswith("["):  # clone() of an array
                yield f"{of}.{name}" + ("" if kind == _FIELD else _parameters(descriptor))


def _parameters(descriptor: str) -> str:
    types = re.findall(r"(\[*)(?:L([^;]+);|([BCDFIJSZ]))", descriptor.partition(")")[0])
    return (
        "(" + ", ".join((name or _PRIMITIVES[code]) + "[]" * len(depth) for depth, name, code in types) + ")"
    )


def first_levels(members: Iterable[str], declarations: Path) -> dict[str, str]:
    """Return the first level of each member, or "none"."""
    levels = dict.fromkeys(members, "none")
    for level in reversed(LEVELS):
        platform = read_platform((declarations / f"android-platform-{level}.d.ts").read_text("utf-8"))
        levels |= {member: str(level) for member in levels if has_member(platform, member)}
    levels |= {member: "24" for member in levels if member.startswith(FUNCTIONS)}
    return levels


def read_platform(text: str) -> Platform:
    """Return the classes in a file of TypeScript declarations by their full names."""
    platform: Platform = {}
    names: list[str] = []  # of the modules and classes around a line; "" is an interface in a constructor
    for line in map(str.strip, text.splitlines()):
        if module := re.match(r"(?:declare|export) module (\w+) \{", line):
            names.append(module[1])
        elif declared := re.match(r"export (?:abstract )?class (\w+)(.*)\{$", line):
            names.append(declared[1])
            above = set(_without_type_arguments(declared[2]).replace(",", " ").split())
            platform[".".join(names)] = PlatformClass(sorted(above - {"extends", "implements"}), [])
        elif line.startswith("public constructor(implementation: {"):
            names.append("")
        elif line in ("}", "});"):
            names.pop()
        elif line.startswith("public ") and "" not in names:
            platform[".".join(names)].members.append(_without_type_arguments(line))
    return platform


def _without_type_arguments(text: str) -> str:
    text = re.sub(r" ?/\*.*?\*/", "", text)
    while text != (shorter := re.sub(r"<[^<>]*>", "", text)):
        text = shorter
    return text


def has_member(platform: Platform, member: str) -> bool:
    """Return whether a platform has a class, or a class that has or inherits a method or field."""
    path, bracket, inside = member.replace("$", ".").partition("(")
    owner, _, name = path.rpartition(".")
    if path in platform:
        return True
    return owner in platform and _finds(platform, owner, name, inside[:-1].split(", ") if bracket else None)


def _finds(platform: Platform, owner: str, name: str, parameters: list[str] | None) -> bool:
    above, members = platform.get(owner, PlatformClass([], []))
    shown = "constructor" if name == "<init>" else re.escape(name)
    for line in members:
        found = re.match(rf"public (?:static )?{shown}(?:\((.*)\))?(?::|;)", line)
        if found and _accepts(found[1], parameters):
            return True
    if name == "<init>" or owner == "java.lang.Object":
        return False
    return any(_finds(platform, each, name, parameters) for each in [*above, "java.lang.Object"])


def _accepts(declared: str | None, parameters: list[str] | None) -> bool:
    if declared is None or parameters is None:
        return declared is None and parameters is None
    types = re.findall(r"param\d+: ([^,]+)", declared)
    expected = [each for each in parameters if each]
    return len(types) == len(expected) and all(map(_is_type, types, expected))


def _is_type(declared: str, parameter: str) -> bool:
    if parameter.endswith("[]"):
        return declared == "androidNative.Array"
    expected = _TYPESCRIPT.get(parameter, parameter)
    is_variable = "." not in declared and declared not in _TYPESCRIPT.values()
    return declared == expected or (is_variable and expected not in _TYPESCRIPT.values())


def main(classes: str, declarations: str = "") -> None:
    members = sorted(used_members(Path(classes)))
    if declarations:
        levels = first_levels(members, Path(declarations))
        LIST.write_text(HEADER + "".join(f"{levels[each]} {each}\n" for each in members), "utf-8")
    else:
        print("\n".join(members))


if __name__ == "__main__":
    main(*sys.argv[1:])
