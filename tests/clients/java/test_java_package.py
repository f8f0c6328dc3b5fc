"""The Java client as a package: its own tests, sizes, speed, the JDK it needs, and its javadoc."""

import re
import subprocess
from zipfile import ZipFile

import pytest

from encoders import __version__
from tests.support.java import CLASSES, FOLDER, require_java_client, run_java, run_make
from tools import android_api

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ROOT = FOLDER.parents[1]
MAX_JAR_BYTES, MAX_RELAY_BYTES, MAX_CORE_BYTES = 190_000, 16_500, 64_700
"""Of any JDK: the first without the package of relays, the second that package, both with line numbers. The
goals, with JDK 17, are 120,000 without line numbers, and 60,000 for the core."""
MAX_ANDROID_LEVEL = 26
MAX_SOURCE_LINES, MAX_TEST_LINES, MAX_LINE = 450, 600, 110
LAYERS = ["", "mechanisms", "survey", "relay", "explain", "client", "testing"]
"""Packages of the sources, from below. `Core` is above the packages of the core."""
CORE = LAYERS[:3]


@pytest.fixture(autouse=True)
def built() -> None:
    require_java_client()


def test_the_junit_tests_pass():
    printed = run_make("test")
    [found] = re.findall(r"(\d+) tests found", printed)
    assert int(found) > 100
    for kind in ("skipped", "aborted", "failed"):
        assert f" 0 tests {kind}" in printed, printed


def test_the_jars_are_small():
    jar = FOLDER / "build" / "ldp-bayes.jar"
    with ZipFile(jar) as opened:
        relay = sum(each.compress_size for each in opened.infolist() if "/relay/" in each.filename)
    assert relay <= MAX_RELAY_BYTES
    assert jar.stat().st_size - relay <= MAX_JAR_BYTES
    assert (FOLDER / "build" / "ldp-bayes-core.jar").stat().st_size <= MAX_CORE_BYTES


@pytest.mark.parametrize(
    ("jar", "module"),
    [
        ("ldp-bayes", "ldpbayes"),
        ("ldp-bayes-core", "ldpbayes.core"),
        ("ldp-bayes-testing", "ldpbayes.testing"),
    ],
)
def test_a_jar_names_its_version_and_module(jar, module):
    with ZipFile(FOLDER / "build" / f"{jar}.jar") as opened:
        manifest = opened.read("META-INF/MANIFEST.MF").decode().split("\r\n")
    assert {f"Implementation-Version: {__version__}", f"Automatic-Module-Name: {module}"} <= set(manifest)


def test_stack_traces_have_lines(tmp_path):
    jar = FOLDER / "build" / "ldp-bayes.jar"
    with ZipFile(jar) as opened:
        opened.extract("ldpbayes/client/Client.class", tmp_path)
    code = subprocess.run(
        ["javap", "-l", str(tmp_path / "ldpbayes" / "client" / "Client.class")],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert 'Compiled from "Client.java"' in code
    assert "LineNumberTable" in code


def test_times_are_measured():
    plan = ROOT / "clients" / "javascript" / "benchmarks" / "typical.json"
    names = "first read|first report|read|report"
    assert re.fullmatch(rf"((, )?({names}) [0-9.]+){{4}}\n", run_java("ldpbayes.Speed", str(plan)))


def test_the_listed_members_of_the_jdk_are_those_that_are_used_and_android_has_them():
    lines = android_api.LIST.read_text("utf-8").splitlines()
    listed = dict(reversed(line.split(" ", 1)) for line in lines if not line.startswith("#"))
    assert listed.keys() == android_api.used_members(CLASSES), "run tools/android_api.py"
    assert all(int(level) <= MAX_ANDROID_LEVEL for level in listed.values())


def test_javadoc_gives_no_warning():
    assert run_make("javadoc") == ""


def test_files_and_lines_are_short_and_the_license_is_the_projects():
    for folder, most in (("src", MAX_SOURCE_LINES), ("tests", MAX_TEST_LINES)):
        files = list(FOLDER.glob(f"{folder}/**/*.java"))
        assert len(files) > 20
        for path in files:
            lines = path.read_text("utf-8").splitlines()
            assert len(lines) <= most, path
            assert max(map(len, lines)) <= MAX_LINE, path
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_a_package_imports_only_the_packages_below_it():
    source = FOLDER / "src" / "ldpbayes"
    broken = []
    for path in source.glob("**/*.java"):
        if path.name == "Core.java":
            continue
        layer = layer_of(path.relative_to(source).parts[:-1])
        for name in re.findall(
            r"^import (?:static )?ldpbayes\.((?:[a-z]+\.)*)", path.read_text("utf-8"), re.M
        ):
            if layer_of(tuple(name.split(".")[:-1])) > layer:
                broken.append(f"{path.relative_to(source)} imports {name}")
    assert broken == []


def layer_of(package: tuple[str, ...]) -> int:
    return LAYERS.index(package[0] if package else "")


def test_the_core_has_no_other_packages():
    with ZipFile(FOLDER / "build" / "ldp-bayes-core.jar") as opened:
        names = [each for each in opened.namelist() if each.endswith(".class")]
    assert {name.rpartition("/")[0] for name in names} == {f"ldpbayes/{each}".rstrip("/") for each in CORE}
    assert {f"ldpbayes/{each}.class" for each in ("Core", "RandomSource", "Reason")} <= set(names)
    assert not [name for name in names if "Texts" in name or "Ed25519" in name]
