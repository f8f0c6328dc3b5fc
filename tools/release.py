"""Builds all packages of a release from a clean checkout, twice, and refuses them if the bytes differ.

    python -m tools.release VERSION [--output dist] [--tag]

Writes the wheel, the sdist, the npm package, the jar, a Maven repository, SBOMs (CycloneDX), the notes from
CHANGELOG.md, and SHA256SUMS. Nothing is uploaded. `--tag` also makes the tag of the version, unless it exists
for this commit. Needs git, npm and a JDK, and what `make release` installs: hatchling, twine, cyclonedx-bom.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from hatch_build import write_full_links

ROOT = Path(__file__).resolve().parents[1]
NEVER_SET = "ldp-bayes.example"
"""The host of the project's addresses until the owner sets them."""
REPEATED = {
    "clients/javascript/package.json": r'"version": "(.+)"',
    "clients/javascript/package-lock.json": r'"version": "(.+)"[^}]+"version": "\1"',
    "deploy/Dockerfile": r"image\.version=(\S+)",
    "CITATION.cff": r"\nversion: (\S+)",
    "docs/embedding-web.md": r"ldp-bayes-(\S+)\.tgz",
    "docs/embedding-android.md": r"ldpbayes:ldp-bayes:([^\"]+)",
}
"""The files that repeat the version, with its place."""


class ReleaseError(Exception):
    """What must be mended before the release."""


def run(*command: object, folder: Path = ROOT, **variables: str) -> str:
    """Return what a command prints; raise ReleaseError with its errors."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        umask=0o022,  # npm packs the modes of files
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, command[:3]))}: {done.stderr or done.stdout}")
    return done.stdout


def read_version(root: Path) -> str:
    """Return the version of the packages, which `encoders/__init__.py` states."""
    found = re.search(r'__version__ = "(.+)"', (root / "encoders/__init__.py").read_text("utf-8"))
    assert found
    return found[1]


def find_other_versions(root: Path, version: str) -> list[str]:
    """Return the files that repeat another version; the Java client reads it from `encoders`."""
    found = {file: re.search(stated, (root / file).read_text("utf-8")) for file, stated in REPEATED.items()}
    return [file for file, stated in found.items() if not stated or stated[1] != version]


def read_notes(changelog: str, version: str) -> tuple[str, str]:
    """Return the date and the section of a version in the text of CHANGELOG.md."""
    head = rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)\n"
    found = re.search(rf"{head}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not found or not found[2].strip():
        raise ReleaseError(f"CHANGELOG.md: needs a section '## [{version}] - YYYY-MM-DD'")
    return found[1], found[2].strip()


def find_unreleased(root: Path) -> str:
    """Return what to do with the changes that are in no version yet; "" if there are none."""
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if changelog.partition("\n## [Unreleased]\n")[2].partition("\n## [")[0].strip():
        return "move the lines of Unreleased in CHANGELOG.md to the version"
    surface = "".join(path.read_text("utf-8") for path in (root / "tests/surface").glob("*.txt"))
    return "run python -m tools.surface --release" if re.search("^[+-] ", surface, re.MULTILINE) else ""


def check(root: Path, version: str) -> str:
    """Return the notes of a version if `root` is ready for its release."""
    if (stated := read_version(root)) != version:
        raise ReleaseError(f"encoders/__init__.py: __version__ is {stated}, not {version}")
    if others := find_other_versions(root, version):
        raise ReleaseError(f"set the version to {version} in {', '.join(others)}")
    date, notes = read_notes((root / "CHANGELOG.md").read_text("utf-8"), version)
    if f"\ndate-released: {date}\n" not in (root / "CITATION.cff").read_text("utf-8"):
        raise ReleaseError(f"CITATION.cff: set date-released to {date}, the date in CHANGELOG.md")
    if changed := run("git", "status", "--porcelain", "--", ".", ":!tests/earlier_builds", folder=root):
        raise ReleaseError(f"commit these files first, or delete them:\n{changed}")
    return notes


def make_tag(root: Path, version: str) -> None:
    """Make the tag of a version for HEAD; a second call finds it."""
    tag, head = f"v{version}", run("git", "rev-parse", "HEAD", folder=root)
    if not run("git", "tag", "--list", tag, folder=root):
        run("git", "tag", "-a", tag, "-m", version, folder=root)
    elif run("git", "rev-parse", f"{tag}^{{commit}}", folder=root) != head:
        raise ReleaseError(f"the tag {tag} exists for another commit: choose another version")


def build_packages(source: Path, output: Path, epoch: str) -> None:
    """Build the packages of one folder of sources; equal sources and times give equal bytes."""
    output.mkdir(parents=True)
    program = (sys.executable, "-m", "hatchling", "build", "-d", output)
    run(*program, folder=source, SOURCE_DATE_EPOCH=epoch)
    javascript = source / "clients/javascript"
    if not (javascript / "node_modules").exists():
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=javascript)
    run("npm", "pack", "--offline", "--pack-destination", output, folder=javascript)
    run("make", "-C", "clients/java", "maven", f"REPO={output / 'maven'}", folder=source)
    shutil.copy(source / "clients/java/build/ldp-bayes.jar", output)


def write_sboms(source: Path, output: Path) -> None:
    """Write an SBOM for the wheel, of the locked packages of a collector, and one for the npm package."""
    options = ("--pyproject", "pyproject.toml", "--mc-type", "library", "--output-reproducible")
    python = output / "ldp-bayes-python.cdx.json"
    cyclonedx = Path(sys.executable).with_name("cyclonedx-py")
    run(cyclonedx, "requirements", *options, "-o", python, "deploy/requirements.lock", folder=source)
    bom, version = json.loads(python.read_text("utf-8")), read_version(source)
    bom["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/ldp-bayes@{version}"}
    bom["metadata"].pop("timestamp", None)  # there if SOURCE_DATE_EPOCH is set
    python.write_text(json.dumps(bom, indent=2) + "\n", "utf-8")
    wanted = ("--package-lock-only", "--omit", "dev", "--sbom-type", "library", "--sbom-format", "cyclonedx")
    npm = json.loads(run("npm", "sbom", *wanted, folder=source / "clients/javascript"))
    del npm["serialNumber"], npm["metadata"]["timestamp"]  # differ in each run
    npm["metadata"]["component"]["name"] = "ldp-bayes"  # npm takes the name of the folder
    (output / "ldp-bayes-npm.cdx.json").write_text(json.dumps(npm, indent=2) + "\n", "utf-8")


def write_notes(source: Path, output: Path, notes: str) -> None:
    """Write the notes of the release, with the origin of the build and the address of each package."""
    version, commit = read_version(source), run("git", "rev-parse", "HEAD", folder=source).strip()
    tools = [f"Python {sys.version.split()[0]}", f"Node {run('node', '--version').strip()}"]
    tools.append(run("javac", "-version").strip())
    origin = f"Built from commit {commit} with {', '.join(tools)}; a second build gave the same bytes."
    repeat = f"To repeat it: git checkout {commit} && make release VERSION={version}"
    urls = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    notes = write_full_links(notes, urls)
    (output / "NOTES.md").write_text(f"# ldp-bayes {version}\n\n{notes}\n\n{origin}\n{repeat}\n", "utf-8")


def write_sums(output: Path) -> None:
    """Write the digests of all files, as sha256sum -c reads them."""
    files = sorted(path for path in output.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(output)}\n" for file in files
    ]
    (output / "SHA256SUMS").write_text("".join(lines), "ascii")


def build_release(folder: Path, notes: str) -> Path:
    """Build a release from a new clone of HEAD in a folder; return the folder of its files."""
    source, output = folder / "source", folder / "dist"
    run("git", "clone", "--quiet", "--no-local", ROOT, source)
    run("git", "checkout", "--quiet", run("git", "rev-parse", "HEAD").strip(), folder=source)
    build_packages(source, output, run("git", "log", "-1", "--format=%ct", folder=source).strip())
    run(sys.executable, "-m", "twine", "check", "--strict", *output.glob("*.whl"), *output.glob("*.tar.gz"))
    write_sboms(source, output)
    write_notes(source, output, notes)
    write_sums(output)
    return output


def find_difference(one: Path, two: Path) -> list[str]:
    """Return the names of the files that differ between two folders, or are in one of them only."""
    names = {str(path.relative_to(folder)) for folder in (one, two) for path in folder.rglob("*")}
    files = sorted(name for name in names if not (one / name).is_dir())
    _, differing, missing = filecmp.cmpfiles(one, two, files, shallow=False)
    return sorted([*differing, *missing])


def main() -> None:
    parser = argparse.ArgumentParser(description="Build all packages of a release.")
    parser.add_argument("version")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "dist", help="an empty folder, or an earlier build"
    )
    parser.add_argument("--tag", action="store_true", help="make the tag, too")
    options = parser.parse_args()
    notes = check(ROOT, options.version)
    if (unreleased := find_unreleased(ROOT)) and options.tag:
        raise ReleaseError(f"before the tag, {unreleased}, and commit")
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        built, again = (
            build_release(Path(folder, *deeper), notes) for folder, deeper in ((one, ()), (two, ("b",)))
        )
        if differing := find_difference(built, again):
            raise ReleaseError(f"two builds differ in {', '.join(differing)}")
        shutil.rmtree(options.output, ignore_errors=True)
        shutil.copytree(built, options.output)
    if options.tag:
        make_tag(ROOT, options.version)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    print(run("sh", "-c", "cat SHA256SUMS", folder=options.output), end="")
    if unreleased:
        print(f"Before TAG=1, {unreleased}, and commit (CONTRIBUTING.md, Release).")
    if any(NEVER_SET in url for url in urls.values()):
        print(f"Before an upload, set the addresses https://{NEVER_SET} (CONTRIBUTING.md, Release).")


if __name__ == "__main__":
    try:
        main()
    except ReleaseError as error:
        sys.exit(f"Error: {error}")
