"""The Kotlin and Java of docs/embedding-android.md run with a real collector, and stand-ins for Android."""

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
suspend fun main(arguments: Array<String>) {
    val application = android.app.Application(java.io.File(arguments[0]))
    val model = SurveyModel(application)
    println(model.status())
    println(model.describe())
    println(model.preview(exampleRow, "no"))
    println(model.grant())
    println(model.report(exampleRow, "no"))
    println(model.withdraw())
    check(model.preview(mapOf("age" to "unlisted"), "no") == null)
    check(surveyClient(application) === surveyClient(application))
    check(surveyClient(application, "p2").status().state() == State.NO_CONSENT)
    MissedPaymentsTest().aReportIsSentOnce()
}
"""
STAND_INS = {
    "org.junit": "annotation class Test",
    "android.app": "open class Application(folder: java.io.File) : android.content.Context(folder)",
    "android.content": """
        import java.io.File

        open class Context(private val folder: File) {
            val applicationContext get() = this
            val noBackupFilesDir get() = folder
            val assets get() = AssetManager()
            fun getSharedPreferences(name: String, mode: Int) = SharedPreferences()
            companion object { const val MODE_PRIVATE = 0 }
        }
        class AssetManager { fun open(name: String) = File(name).inputStream() }
        class SharedPreferences { fun getBoolean(key: String, otherwise: Boolean) = otherwise }
    """,
    "androidx.lifecycle": """
        import android.app.Application

        abstract class AndroidViewModel(private val application: Application) {
            fun <T : Application> getApplication(): T = application as T
        }
    """,
    "androidx.work": """
        import android.content.Context
        import java.util.concurrent.TimeUnit

        enum class NetworkType { CONNECTED }
        enum class ExistingWorkPolicy { KEEP }
        object Constraints {
            class Builder {
                fun setRequiredNetworkType(type: NetworkType) = this
                fun build() = Constraints
            }
        }
        class OneTimeWorkRequest(val worker: Class<out Worker>) {
            class Builder(private val worker: Class<out Worker>) {
                fun setConstraints(constraints: Constraints) = this
                fun setInitialDelay(delay: Long, unit: TimeUnit) = this
                fun build() = OneTimeWorkRequest(worker)
            }
        }
        class WorkerParameters
        abstract class Worker(val applicationContext: Context, parameters: WorkerParameters) {
            abstract fun doWork(): Result
            enum class Result {
                SUCCESS, RETRY;
                companion object { fun success() = SUCCESS; fun retry() = RETRY }
            }
        }
        class WorkManager(private val context: Context) {
            fun enqueueUniqueWork(name: String, policy: ExistingWorkPolicy, request: OneTimeWorkRequest) =
                println(request.worker.constructors[0].newInstance(context, WorkerParameters())
                    .let { (it as Worker).doWork() })
            companion object { fun getInstance(context: Context) = WorkManager(context) }
        }
    """,
    "kotlinx.coroutines": """
        object Dispatchers { val IO = Unit }
        suspend fun <T> withContext(context: Unit, block: suspend () -> T): T = block()
    """,
}
"""What the examples use of Android, coroutines and JUnit, by package. Work is done at once, and printed."""


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the blocks of code of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
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
    lines = "\n".join(blocks).splitlines()
    imports = sorted({line for line in lines if line.startswith("import ")})
    code = [line for line in lines if not line.startswith("import ")]
    sources = [tmp_path / "Main.kt"]
    sources[0].write_text("\n".join([*imports, *code, MAIN]))
    for name, text in STAND_INS.items():
        sources.append(tmp_path / f"{name}.kt")
        sources[-1].write_text(f"package {name}\n{text}")
    jar = tmp_path / "main.jar"
    run("kotlinc", *sources, "-classpath", CLASSES, "-include-runtime", "-d", jar)
    plan = tmp_path / "plan.json"
    with urllib.request.urlopen(f"{base}/v1/surveys/{SURVEY}") as response:
        plan.write_bytes(response.read())
    printed = run("java", "-classpath", f"{jar}:{CLASSES}:{tmp_path}", "MainKt", tmp_path / "journals")
    shown = re.findall(
        r"client\.(?:status|grant|report)\(.*// (?:at first: )?(.*)$", "\n".join(lines), re.MULTILINE
    )
    first, *texts, agreed, done, answered, withdrawn = printed.splitlines()
    assert [first, agreed, answered] == shown
    assert "What would be sent" in "\n".join(texts)
    assert "missed_payment: [yes, no]" in texts
    assert (done, withdrawn) == ("SUCCESS", "sent")


def test_the_java_example_runs(base, tmp_path):
    [code] = blocks_of(PAGE, "java")
    (tmp_path / "Main.java").write_text(with_url(code, base))
    run("javac", "-classpath", CLASSES, "-d", tmp_path, tmp_path / "Main.java")
    printed = run("java", "-classpath", f"{tmp_path}:{CLASSES}", "Main", folder=tmp_path)
    shown = re.findall(r"println\(client.*// (.*)$", code, re.MULTILINE)
    assert printed.splitlines() == shown == ["queued", "sent"]
