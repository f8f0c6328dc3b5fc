"""The Kotlin and Java of docs/embedding-android.md run with a real collector, and stand-ins for Android."""

import hashlib
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.support.java import CLASSES, FOLDER, QUICK, require_java_client
from tests.support.servers import collector

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ROOT = FOLDER.parents[1]
QUICK_COMPILER = [f"-J{each}" for each in QUICK]
PAGE = ROOT / "docs" / "embedding-android.md"
SURVEY = "missed-payments-2026"
NOWHERE = f"http://127.0.0.1:1/v1/surveys/{SURVEY}"
SHIPPED = 'Client(readAsset(context, "plan.json"), url, options)'
RELAY = ('.relay("https://relay.example")', ".maxLocalEpsilon(14.1)")
MAIN = """
suspend fun main(arguments: Array<String>) {
    val application = android.app.Application(java.io.File(arguments[0]))
    val model = surveyModel(object : ViewModelStoreOwner {}, application, URL, null)
    println(model.status())
    println((model.describe() as Form).text())
    println(model.preview(exampleRow, "no"))
    println(model.grant())
    println(model.report(exampleRow, "no"))
    println(model.withdraw())
    check(model.preview(mapOf("age" to "unlisted"), "no").startsWith("age: "))
    check(surveyClient(application, URL, null) === surveyClient(application, URL, null))
    check(surveyClient(application, URL, null) !== surveyClient(application, URL, null, "a token"))
    val second = surveyModel(object : ViewModelStoreOwner {}, application, URL, "p2")
    open(second)
    check(second.shown.value is Form)
    agree(second)
    check((second.shown.value as Receipt).state() == State.READY)
    submit(second, exampleRow, "no")
    check((second.shown.value as Receipt).state() == State.QUEUED)
    check(surveyClient(application, URL, "p2").status().state() == State.SENT)
    MissedPaymentsTest().aReportIsSentOnce()
    val lost = SurveyModel(application, NOWHERE, null, null)
    check((lost.describe() as Refused).reason == "collector-unreachable")
    val offline = shipped(application, NOWHERE, optionsOf("p3"))
    check(offline.grant().state() == State.READY)
    check(offline.report(exampleRow, "no").state() == State.QUEUED)
    relayed(application, "https://relay.example/missed-payments-2026", optionsOf("p4"))
}

fun optionsOf(person: String) = ClientOptions().journal(File("others")).person(person)
"""
VARIANTS = f"""
const val NOWHERE = "{NOWHERE}"

fun shipped(context: Context, url: String, options: ClientOptions) = {SHIPPED}

fun relayed(context: Context, url: String, direct: ClientOptions): Client {{
    val options = direct{"".join(RELAY)}
    return {SHIPPED}
}}
"""
"""What the page describes in a sentence: a shipped plan, a relay."""
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

        interface ViewModelStoreOwner
        val AndroidViewModel.viewModelScope get() = Unit
        abstract class AndroidViewModel(private val application: Application) {
            fun <T : Application> getApplication(): T = application as T
        }
        class ViewModelProvider(owner: ViewModelStoreOwner, private val factory: Factory) {
            interface Factory { fun create(): Any }
            fun <T> get(key: String, type: Class<T>): T = type.cast(factory.create())
        }
    """,
    "androidx.lifecycle.viewmodel": """
        import androidx.lifecycle.ViewModelProvider

        class Builder : ViewModelProvider.Factory {
            lateinit var creator: () -> Any
            override fun create() = creator()
        }
        fun Builder.initializer(creator: () -> Any) { this.creator = creator }
        fun viewModelFactory(build: Builder.() -> Unit): ViewModelProvider.Factory = Builder().apply(build)
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
        class Data(private val entries: Map<String, Any?>) {
            fun getString(key: String) = entries[key] as String?
        }
        fun workDataOf(vararg entries: Pair<String, Any?>) = Data(entries.toMap())
        class OneTimeWorkRequest(val worker: Class<out Worker>, val data: Data) {
            class Builder(private val worker: Class<out Worker>) {
                private var data = workDataOf()
                fun setInputData(data: Data) = apply { this.data = data }
                fun setConstraints(constraints: Constraints) = this
                fun setInitialDelay(delay: Long, unit: TimeUnit) = this
                fun build() = OneTimeWorkRequest(worker, data)
            }
        }
        class WorkerParameters(val data: Data)
        abstract class Worker(val applicationContext: Context, parameters: WorkerParameters) {
            val inputData = parameters.data
            abstract fun doWork(): Result
            enum class Result {
                SUCCESS, RETRY;
                companion object { fun success() = SUCCESS; fun retry() = RETRY }
            }
        }
        class WorkManager(private val context: Context) {
            fun enqueueUniqueWork(name: String, policy: ExistingWorkPolicy, request: OneTimeWorkRequest) =
                println(request.worker.constructors[0].newInstance(context, WorkerParameters(request.data))
                    .let { (it as Worker).doWork() })
            companion object { fun getInstance(context: Context) = WorkManager(context) }
        }
    """,
    "kotlinx.coroutines.flow": "class MutableStateFlow<T>(var value: T)",
    "kotlinx.coroutines": """
        import kotlin.coroutines.*

        object Dispatchers { val IO = Unit }
        suspend fun <T> withContext(context: Unit, block: suspend () -> T): T = block()
        fun Unit.launch(block: suspend () -> Unit) =
            block.startCoroutine(Continuation(EmptyCoroutineContext) { it.getOrThrow() })
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


def with_survey(code: str, base: str, plan: bytes) -> str:
    """Return code with the collector's URL and the digest of its plan."""
    digest = hashlib.sha256(plan).hexdigest()
    return code.replace("https://collector.example", base).replace("5824...", digest)


def fetch_plan(base: str) -> bytes:
    with urllib.request.urlopen(f"{base}/v1/surveys/{SURVEY}") as response:
        return bytes(response.read())


def test_the_kotlin_examples_run(base, tmp_path):
    if not shutil.which("kotlinc"):
        pytest.skip("needs Kotlin (Debian: apt-get install kotlin)")
    plan = fetch_plan(base)
    kotlin = with_survey("\n".join(blocks_of(PAGE, "kotlin")), base, plan)
    assert all(f"`{each}`" in PAGE.read_text("utf-8") for each in (SHIPPED, *RELAY))
    two_surveys = rf'mapOf(URL to \1, "{NOWHERE}" to \1)'
    lines = re.sub(r'mapOf\(URL to ("\w+")\)', two_surveys, kotlin).splitlines()
    imports = sorted({line for line in lines if line.startswith("import ")})
    code = [line for line in lines if not line.startswith("import ")]
    sources = [tmp_path / "Main.kt"]
    sources[0].write_text("\n".join([*imports, *code, MAIN, VARIANTS]))
    for name, text in STAND_INS.items():
        sources.append(tmp_path / f"{name}.kt")
        sources[-1].write_text(f"package {name}\n{text}")
    jar = tmp_path / "main.jar"
    run("kotlinc", *QUICK_COMPILER, *sources, "-classpath", CLASSES, "-include-runtime", "-d", jar)
    (tmp_path / "plan.json").write_bytes(plan)
    call = ["java", *QUICK, "-classpath", f"{jar}:{CLASSES}:{tmp_path}", "MainKt", tmp_path / "journals"]
    printed = run(*call, folder=tmp_path)
    shown = re.findall(
        r"client\.(?:status|grant|report)\(.*// (?:at first: )?(.*)$", "\n".join(lines), re.MULTILINE
    )
    first, *texts, agreed, done, answered, withdrawn, done_again = printed.splitlines()
    assert [first, agreed, answered] == shown
    assert "What would be sent" in "\n".join(texts)
    assert "missed_payment: [yes, no]" in texts
    assert (done, withdrawn, done_again) == ("SUCCESS", "sent", "SUCCESS")


def test_the_java_example_runs(base, tmp_path):
    [code] = blocks_of(PAGE, "java")
    (tmp_path / "Main.java").write_text(with_survey(code, base, fetch_plan(base)))
    run("javac", *QUICK_COMPILER, "-classpath", CLASSES, "-d", tmp_path, tmp_path / "Main.java")
    printed = run("java", *QUICK, "-classpath", f"{tmp_path}:{CLASSES}", "Main", folder=tmp_path)
    shown = re.findall(r"println\(client.*// (.*)$", code, re.MULTILINE)
    assert printed.splitlines() == shown == ["queued", "sent"]
