"""Tests what the packages may be installed with: each extra, and the lowest and newest dependencies.

    python -m tools.versions [extras] [pythons] [lowest] [newest]

Builds the wheel, serves it as an index of 127.0.0.1, and takes all else from PyPI.

- `extras`: installs the base and each extra alone, runs its commands and `python -m ldp_bayes`, also by pipx.
- `pythons`: resolves all extras for versions of Python that are not here, from wheels alone. It runs nothing.
- `lowest`, `newest`: run the quick tests with the lowest and the newest versions of all dependencies.

Needs uv and pipx (`make test-versions`). Ends with 1 if anything failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMMANDS = {
    "": ("ldp-client", "ldp-silo"),
    "device-relay": ("ldp-client",),
    "silo": ("ldp-silo",),
    "relay": ("ldp-relay",),
    "collector": ("ldp-collector",),
    "analyst": ("ldp-train", "ldp-results", "ldp-predict"),
    "curator": ("ldp-central", "ldp-results"),
    "audit": ("ldp-audit",),
    "author": ("ldp-survey", "ldp-simulate", "ldp-compare", "ldp-collector"),
    **dict.fromkeys(("plot", "pandas", "onnx", "dask"), ("ldp-client",)),
}
"""The commands that each extra runs; the base install is "" ."""
WITH_NUMPY = ("onnxruntime", "polars", "pyarrow")
"""Packages for tests alone, in versions that fit to those of numpy and pandas."""
LATER_PYTHONS = ("3.12", "3.13", "3.14")
QUICK = ("-q", "-n", "2", "-m", "not slow and not clients and not statistics", "-p", "no:cacheprovider")
OLD_BESIDE_NEW = (
    *("-W", "ignore::pytest.PytestRemovedIn10Warning"),
    *("-W", "ignore::pyparsing.warnings.PyparsingDeprecationWarning"),
)
"""scikit-learn 1.6 gives a generator to pytest's parametrize; matplotlib 3.8 uses old names of pyparsing."""


def list_dependencies() -> list[str]:
    """Return the requirements of the base install and of each extra, and those of WITH_NUMPY."""
    extras = PROJECT["optional-dependencies"]
    named = {each for extra in filter(None, COMMANDS) for each in extras[extra]} | {*PROJECT["dependencies"]}
    named |= {each for each in extras["dev"] if each.startswith(WITH_NUMPY)}
    return sorted(each for each in named if not each.startswith("ldp-bayes"))


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serve_index(folder: Path) -> Iterator[str]:
    """Build the wheel, and serve it as PEP 503 describes; yield the address of the index."""
    wheels = folder / "index" / "ldp-bayes"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels, folder=ROOT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(wheels.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def run(*command: object, folder: Path, home: Path | None = None) -> None:
    """Run a command in a folder, its home by default; raise OSError with the last lines if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LDP_", "PYTHON"))}
    environment = clean | {"PATH": path, "HOME": str(home or folder)}
    words = list(map(str, command))
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)[:200]}\n{(done.stdout + done.stderr)[-2000:]}")


class Versions:
    """The trials, each with a folder of its own and the address of the index."""

    def __init__(self, folder: Path, index: str) -> None:
        self._folder, self._index, self.failed = folder, index, 0
        self._requirement = f"ldp-bayes{{}}=={re.findall(r'[0-9][^-]*', next(folder.rglob('*.whl')).name)[0]}"
        self._everything = self._requirement.format(f"[{','.join(filter(None, COMMANDS))}]")

    def attempt(self, name: str, trial: Callable[[], None]) -> None:
        """Run one trial, and print its time or its error."""
        start = time.monotonic()
        try:
            trial()
            print(f"ok      {name} ({time.monotonic() - start:.0f} s)", flush=True)
        except OSError as error:
            self.failed += 1
            print(f"failed  {name}: {error}", flush=True)

    def _install(self, environment: Path, *words: object) -> None:
        if not environment.exists():
            run("uv", "venv", "-q", "-p", sys.executable, environment, folder=self._folder)
        options = ("-q", "--python", environment / "bin" / "python", "--extra-index-url", self._index)
        run("uv", "pip", "install", *options, *words, folder=self._folder)

    def _one_extra(self, extra: str) -> None:
        environment = self._folder / (extra or "base")
        self._install(environment, self._requirement.format(f"[{extra}]" if extra else ""))
        for command in COMMANDS[extra]:
            for option in ("--help", "--version"):
                run(environment / "bin" / command, option, folder=self._folder)
        if extra == "author":
            run(environment / "bin" / "python", "-P", "-m", "ldp_bayes", folder=self._folder)

    def extras(self) -> None:
        for extra in COMMANDS:
            self.attempt(
                f"extra [{extra}] alone" if extra else "base install", partial(self._one_extra, extra)
            )
        pipx = ("pipx", "run", f"--pip-args=--extra-index-url={self._index}", "--spec")
        words = (*pipx, self._requirement.format("[analyst]"), "ldp-train", "--version")
        self.attempt("pipx run --spec", partial(run, *words, folder=self._folder))

    def pythons(self) -> None:
        for python in LATER_PYTHONS:
            options = ("--python-version", python, "--only-binary", ":all:", "--extra-index-url", self._index)
            target = ("--dry-run", "--ignore-installed", "--target", self._folder / python)
            words = (sys.executable, "-m", "pip", "install", "-q", *target, *options, self._everything)
            name = f"wheels of all dependencies for Python {python} (not run)"
            self.attempt(name, partial(run, *words, folder=self._folder))

    def _quick_tests(self, resolution: str) -> None:
        environment = self._folder / resolution
        # uv takes the lowest versions of what is named here; the tools of [dev] are the newest that fit
        words = ("--resolution", resolution, self._requirement.format("[dev]"), *list_dependencies())
        self._install(environment, *words)
        run(
            environment / "bin" / "python",
            "-m",
            "pytest",
            *QUICK,
            *OLD_BESIDE_NEW,
            folder=ROOT,
            home=self._folder,
        )

    def lowest(self) -> None:
        self.attempt("quick tests, lowest versions", partial(self._quick_tests, "lowest-direct"))

    def newest(self) -> None:
        self.attempt("quick tests, newest versions", partial(self._quick_tests, "highest"))


def main() -> None:
    names = ("extras", "pythons", "lowest", "newest")
    chosen = sys.argv[1:] or names
    if not set(chosen) <= set(names):
        sys.exit(f"choose among {', '.join(names)}")
    assert set(COMMANDS) - {""} <= set(PROJECT["optional-dependencies"])
    with TemporaryDirectory() as folder, serve_index(Path(folder)) as index:
        versions = Versions(Path(folder), index)
        for name in chosen:
            getattr(versions, name)()
    sys.exit(min(versions.failed, 1))


if __name__ == "__main__":
    main()
