"""The Kotlin and Java of docs/embedding-android.md run with a real collector."""

import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.support.java import CLASSES, FOLDER, require_java_client
from tests.support.servers import collector

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "embedding-android.md"
SURVEY = "missed-payments-2026"
MAIN = """
fun main(arguments: Array<String>) {
    val survey = MissedPayments(ClientOptions().journal(java.io.File(arguments[0])).person(null))
    println(survey.screenOpened())
    println(survey.preview(exampleRow, "no"))
    println(survey.personAgreed(exampleRow, "no"))
    MissedPaymentsTest().aReportIsSentOnce()
}
"""
JUNIT_TEST = "package org.junit\n\nannotation class Test\n"
"""Stands for JUnit 4, which the example's test imports."""
JAVA_MAIN = """
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import ldpbayes.client.Client;
import ldpbayes.client.ClientOptions;

final class Main {
    public static void main(String[] arguments) {
        File folder = new File(arguments[0]);
        String url = arguments[1];
        CODE
    }
}
"""


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the blocks of code of a page that need no class of Android."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [each for each in blocks if "import android" not in each]


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a collector of README's survey."""
    require_java_client()
    folder = tmp_path_factory.mktemp("survey")
    [survey, *_] = blocks_of(ROOT / "README.md", "toml")
    (folder / "survey.toml").write_text(survey)
    with collector([folder / "survey.toml"], f"sqlite:///{folder}/ldp.db") as (base, _):
        yield base


def with_url(code: str, base: str) -> str:
    return code.replace("https://collector.example", base)


def test_the_kotlin_examples_run(base, tmp_path):
    if not shutil.which("kotlinc"):
        pytest.skip("needs Kotlin (Debian: apt-get install kotlin)")
    blocks = [with_url(each, base) for each in blocks_of(PAGE, "kotlin")]
    assert len(blocks) == 2
    imports = sorted({line for each in blocks for line in each.splitlines() if line.startswith("import ")})
    code = "\n".join(line for each in blocks for line in each.splitlines() if not line.startswith("import "))
    (tmp_path / "Main.kt").write_text("\n".join([*imports, code, MAIN]))
    jar = tmp_path / "main.jar"
    (tmp_path / "Test.kt").write_text(JUNIT_TEST)
    run(
        "kotlinc",
        tmp_path / "Main.kt",
        tmp_path / "Test.kt",
        "-classpath",
        CLASSES,
        "-include-runtime",
        "-d",
        jar,
    )
    plan = tmp_path / "plan.json"
    with urllib.request.urlopen(f"{base}/v1/surveys/{SURVEY}") as response:
        plan.write_bytes(response.read())
    printed = run("java", "-classpath", f"{jar}:{CLASSES}:{tmp_path}", "MainKt", tmp_path / "journals")
    shown = re.findall(r"client\.(?:status|report)\(.*// (?:at first: )?(.*)$", blocks[0], re.MULTILINE)
    assert len(shown) == 2
    lines = printed.splitlines()
    assert [lines[0], lines[-1]] == shown
    assert "What would be sent" in printed


def test_the_java_example_runs(base, tmp_path):
    [code] = blocks_of(PAGE, "java")
    (tmp_path / "Main.java").write_text(JAVA_MAIN.replace("CODE", code))
    run("javac", "-classpath", CLASSES, "-d", tmp_path, tmp_path / "Main.java")
    url = f"{base}/v1/surveys/{SURVEY}"
    printed = run("java", "-classpath", f"{tmp_path}:{CLASSES}", "Main", tmp_path / "journals", url)
    [shown] = re.findall(r"println\(client\.report.*// (.*)$", code, re.MULTILINE)
    assert printed == f"{shown}\n" == "queued\n"
