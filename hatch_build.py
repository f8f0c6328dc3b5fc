"""Writes into wheels and sdists the commit, which `encoders/build.py` reads, and README with full links."""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))  # the project is not installed where its wheel is built

from encoders.build import COMMIT, COMMIT_FILE, UNKNOWN, find_commit

VARIABLE = "LDP_COMMIT"
"""Gives the commit of sources without .git. An image is labelled with it, so a wrong one is refused."""


class CommitHook(BuildHookInterface[Any]):
    """Adds the file with the commit; it replaces that of an unpacked sdist, which has the same content."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file outside the sources, where a build that is killed leaves nothing."""
        self._folder = TemporaryDirectory()
        if version == "editable":
            return
        commit, given = find_commit(Path(self.root)), os.environ.get(VARIABLE) or UNKNOWN
        if given != UNKNOWN and not COMMIT.fullmatch(given):
            raise ValueError(f"{VARIABLE}: needs the whole name of a commit: git rev-parse HEAD prints it")
        if commit == UNKNOWN:
            commit = given
        elif given not in (UNKNOWN, commit):
            raise ValueError(
                f"{VARIABLE} is {given}, but the sources are of commit {commit}: set it to this, or unset it"
            )
        file = Path(self._folder.name) / "commit.txt"
        file.write_text(f"{commit}\n", "ascii")
        build_data["force_include"][str(file)] = COMMIT_FILE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the file."""
        self._folder.cleanup()


class ReadmeHook(MetadataHookInterface):
    """Makes the links and pictures of README absolute, beside the changelog: an index has no other files."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = write_full_links((Path(self.root) / "README.md").read_text("utf-8"), metadata["urls"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def write_full_links(text: str, urls: dict[str, str]) -> str:
    """Return Markdown whose links and pictures lead to the repository."""
    base = urls["Changelog"].removesuffix("CHANGELOG.md")
    text = re.sub(r"(!\[[^]]*\]\()(?!\w+:)([^)]*)", rf"\1{base}\2?raw=true", text)
    return re.sub(r"(\]\()(?!\w+:|#)", rf"\1{base}", text)
