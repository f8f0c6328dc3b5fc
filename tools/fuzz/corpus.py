"""Read the fuzzer's corpus, the archive tests/fuzz_corpus.zip, or add inputs, for example those of defects:

    python -m tools.fuzz.corpus TARGET FILE...

The archive has a folder for each target. To unpack it: `python -m zipfile -e tests/fuzz_corpus.zip FOLDER`
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from zipfile import ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "fuzz_corpus.zip"


def read_corpus() -> dict[str, bytes]:
    """Return each input by its name in the archive, TARGET/NAME."""
    with ZipFile(CORPUS) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_corpus(inputs: dict[str, bytes], path: Path = CORPUS) -> None:
    """Write the archive: sorted, uncompressed and without times, so that equal inputs give equal bytes."""
    with ZipFile(path, "w") as archive:
        for name, data in sorted(inputs.items()):
            archive.writestr(ZipInfo(name), data)


def main(target: str, *files: str) -> None:
    """Add files to a target's folder, named by their digests."""
    added = [Path(file).read_bytes() for file in files]
    names = (f"{target}/{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]}" for data in added)
    write_corpus(read_corpus() | dict(zip(names, added, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
