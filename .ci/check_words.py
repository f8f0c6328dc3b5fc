"""Look in the repository's text for the words that words.txt lists; print each with its replacement.

    python .ci/check_words.py [FILE...]

Checks all tracked files if none are named. Exits with 1 if it finds a word.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The content of words.txt."""

    replacements: dict[str, str]
    words: re.Pattern[str]
    allowed: re.Pattern[str]
    skipped: list[str]

    def find(self, line: str) -> Iterator[tuple[str, str]]:
        """Yield each listed word of a line as it is written there, and its replacement."""
        for match in self.words.finditer(self.allowed.sub(" ", line)):
            found = match.group()
            yield found, self.replacements[found[0].lower() + found[1:]]

    def skips(self, name: str) -> bool:
        """Return whether a file is not checked."""
        return any(fnmatchcase(name, pattern) for pattern in self.skipped)


def read_rules(file: Path) -> Rules:
    """Read words.txt, which explains its form."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    replacements = dict(line.split(" | ", 1) for line in lines if " | " in line)
    words = "|".join(f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}" for word in replacements)
    allowed = [line.removeprefix("allow ") for line in lines if line.startswith("allow ")]
    return Rules(
        replacements=replacements,
        words=re.compile(f"(?<![A-Za-z])(?:{words})(?![A-Za-z])"),
        allowed=re.compile("|".join(allowed)),
        skipped=[line.removeprefix("skip ") for line in lines if line.startswith("skip ")],
    )


def check_file(name: str, rules: Rules) -> Iterator[str]:
    """Yield one message for each listed word of a file."""
    for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1):
        for found, replacement in rules.find(line):
            yield f"{name}:{number}: do not write {found!r}; write: {replacement}"


def main(names: list[str]) -> int:
    """Check the named files, or all tracked ones; return the exit code."""
    rules = read_rules(Path(__file__).with_name("words.txt"))
    if not names:
        listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)  # noqa: S607
        names = listed.split("\0")[:-1]
    messages = [message for name in names if not rules.skips(name) for message in check_file(name, rules)]
    sys.stdout.write("".join(f"{message}\n" for message in messages))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
