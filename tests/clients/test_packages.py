"""Two builds of all packages are equal; each package sends a first report, which is counted."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoders import __version__
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from tests.clients.test_reproducible_builds import COMMIT, COPIED, JAVASCRIPT, ROOT, check_out
from tests.support.java import require_java_client
from tests.support.javascript import require_packages
from tests.support.servers import collector
from tools.release import build_packages, find_difference

pytestmark = [pytest.mark.slow, pytest.mark.clients]

EXAMPLES = ROOT / "examples" / "first_report"
EXAMPLE_SURVEY = ROOT / "ldp_design" / "authoring" / "example.toml"
TSC = ROOT / JAVASCRIPT / "node_modules" / ".bin" / "tsc"
DEBIAN = "<settings><mirrors><mirror><id>debian</id><mirrorOf>central</mirrorOf><url>file://{}</url></mirror></mirrors></settings>"
MAVEN_PLUGINS = Path("/usr/share/maven-repo")
"""Of Debian's packages; a build from them needs no network."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build the packages of two copies of the sources, whose files have other times."""
    pytest.importorskip("hatchling")
    require_packages()
    require_java_client()
    folder, outputs = tmp_path_factory.mktemp("packages"), []
    for copy in (folder / "one", folder / "two" / "deeper"):
        shutil.copytree(ROOT, copy, ignore=COPIED)
        check_out(copy, COMMIT)
        for path in copy.rglob("*"):
            os.utime(path, (time.time() - 1e6 * len(outputs),) * 2)
        (copy / JAVASCRIPT / "node_modules").symlink_to(ROOT / JAVASCRIPT / "node_modules")
        outputs.append(copy / "output")
        build_packages(copy, outputs[-1], "1700000000")
    return outputs


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[str]:
    """Run a collector; yield the survey's address, and check that one report was counted."""
    store = f"sqlite:///{tmp_path}/ldp.db"
    with collector([EXAMPLE_SURVEY], store) as (base, _):
        yield f"{base}/v1/surveys/missed-payments-2026"
    opened = open_store(store, create=False)
    assert sum(each.n for each in take_snapshot(opened, "missed-payments-2026").totals.values()) == 1
    opened.close()


def run(folder: Path, *command: object) -> str:
    """Run a command whose home is its folder, and return what it prints."""
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    words = list(map(str, command))
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(program: str, files: Path = ROOT) -> pytest.MarkDecorator:
    """Skip a test before its fixtures, which count its report."""
    missing = not shutil.which(program) or not files.exists()
    return pytest.mark.skipif(missing, reason=f"needs Debian's {program} and its plugins")


def test_two_builds_of_all_packages_are_equal(builds):
    one, two = builds
    assert find_difference(one, two) == []
    names = {path.name for path in one.rglob("*")}
    maven = {f"ldp-bayes-{__version__}{end}" for end in (".jar", ".pom", "-sources.jar", "-javadoc.jar")}
    assert names >= {
        f"ldp_bayes-{__version__}.tar.gz",
        f"ldp-bayes-{__version__}.tgz",
        "ldp-bayes.jar",
        *maven,
    }


def test_the_npm_package_sends_a_first_report_from_node(builds, survey, tmp_path):
    run(tmp_path, "npm", "install", "--offline", "--no-audit", builds[0] / f"ldp-bayes-{__version__}.tgz")
    shutil.copy(EXAMPLES / "report.mjs", tmp_path)
    assert run(tmp_path, "node", "report.mjs", survey).split() == ["queued", "sent"]


def test_typescript_finds_the_types_of_the_npm_package(builds, tmp_path):
    run(tmp_path, "npm", "install", "--offline", "--no-audit", builds[0] / f"ldp-bayes-{__version__}.tgz")
    shutil.copy(EXAMPLES / "report.ts", tmp_path)
    options = ("--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom")
    run(tmp_path, TSC, *options, "--types", "", "report.ts")


@needs("mvn", MAVEN_PLUGINS / "org/apache/maven/plugins/maven-compiler-plugin")
def test_a_maven_project_sends_a_first_report(builds, survey, tmp_path):
    shutil.copytree(EXAMPLES / "java", tmp_path / "java")
    (tmp_path / "settings.xml").write_text(DEBIAN.format(MAVEN_PLUGINS))
    options = (f"-Drepository={builds[0] / 'maven'}", f"-Dldp-bayes.version={__version__}")
    local = (f"-Dmaven.repo.local={tmp_path / 'm2'}", "-s", "../settings.xml")
    run(tmp_path / "java", "mvn", "-q", "-B", *local, *options, "compiler:compile")
    [jar] = (tmp_path / "m2").rglob(f"ldp-bayes-{__version__}.jar")
    assert send(tmp_path, tmp_path / "java/target/classes", jar, survey) == ["queued", "sent"]


@needs("gradle")
def test_a_gradle_project_sends_a_first_report(builds, survey, tmp_path):
    shutil.copytree(EXAMPLES / "java", tmp_path / "java")
    options = (f"-Prepository={builds[0] / 'maven'}", f"-PldpBayesVersion={__version__}")
    run(tmp_path / "java", "gradle", "-q", "--offline", "--no-daemon", *options, "classes")
    [jar] = builds[0].glob(f"maven/ldpbayes/ldp-bayes/*/ldp-bayes-{__version__}.jar")
    assert send(tmp_path, tmp_path / "java/build/classes/java/main", jar, survey) == ["queued", "sent"]


def send(folder: Path, classes: Path, jar: Path, survey: str) -> list[str]:
    """Run the example's class, and return the states that it prints."""
    path = f"{classes}{os.pathsep}{jar}"
    return run(folder, "java", "-cp", path, "FirstReport", survey, folder / "journal").split()


def test_the_first_report_of_python_is_counted(tmp_path):
    printed = run(tmp_path, sys.executable, "-m", "ldp_bayes")
    assert "agreed and answered: sent\ncounted    1 report\n" in printed
