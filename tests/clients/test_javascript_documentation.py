"""The JavaScript in the documentation runs: in a page with a plan of README's survey, or in Node."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from encoders.survey.plan_files import PEOPLE_PLANS
from tests.support.javascript import FOLDER, run_node

pytestmark = pytest.mark.slow

ROOT = FOLDER.parents[1]
WEB = ROOT / "docs" / "embedding-web.md"
URL = "https://collector.example/v1/surveys/missed-payments-2026"
HEADERS = {"Access-Control-Allow-Origin": "*"}


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the blocks of code of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The plan of README's survey."""
    path = tmp_path_factory.mktemp("survey") / "survey.toml"
    path.write_text(blocks_of(ROOT / "README.md", "toml")[0])
    return PEOPLE_PLANS.load(path).json


def run_in_page(chromium: Browser, origin: str, plan: bytes, code: str) -> tuple[list[str], list[str], str]:
    """Run a block as a module; return what it logs, the methods of its requests, and the page's address."""
    logged, methods = [], []

    def respond(route: Route) -> None:
        methods.append(route.request.method)
        content: Any = {"json": {"status": "recorded"}} if methods[-1] == "POST" else {"body": plan}
        route.fulfill(headers=HEADERS, **content)

    module = re.sub('from "ldp-bayes/([a-z]+)"', rf'from "{origin}/src/\1.js"', code)
    module = module.replace('from "ldp-bayes"', f'from "{origin}/src/index.js"')
    prelude = f'import {{ Client }} from "{origin}/src/index.js"; const url = "{URL}";'
    if "import { Client }" not in module:
        module = f"{prelude}\n{module}"
    with chromium.new_context() as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: logged.append(message.text))
        page.route(f"{URL}**", respond)
        page.goto(f"{origin}/tests/client.html#token=a-misspelt-token")
        page.evaluate(
            """(code) => new Promise((resolve) => {
                globalThis.finish = resolve;
                const script = document.createElement("script");
                script.type = "module";
                script.onerror = resolve;
                addEventListener("error", resolve);
                addEventListener("unhandledrejection", resolve);
                script.textContent = `${code}\\nglobalThis.made = client;\\nfinish();`;
                document.head.append(script);
            })""",
            module,
        )
        assert errors == []
        if "report(" in code:
            page.evaluate("async () => made.flush()")
        return logged, methods, page.url


def test_the_quick_start_prints_what_its_comments_show(chromium, origin, plan):
    start = blocks_of(WEB, "js")[0]
    logged, methods, _ = run_in_page(chromium, origin, plan, start)
    assert [logged[0], logged[2]] == re.findall(
        r"console\.log.*// (no_consent .*|queued)$", start, re.MULTILINE
    )
    assert "What would be sent" in logged[1]
    assert methods == ["GET", "POST"]


def test_the_example_of_the_readme_sends_one_report(chromium, origin, plan):
    [example] = blocks_of(ROOT / "README.md", "js")
    logged, methods, _ = run_in_page(chromium, origin, plan, example)
    assert logged == ["queued"]
    assert methods == ["GET", "POST"]


CLIENT = "const client = new Client(url, { person: null }); await client.grant();\n"


def test_the_answers_of_a_form_are_reported(chromium, origin, plan):
    form = """
        const form = document.createElement("form");
        const answers = { age: "old", income: "21000", debt: "", missed_payment: "no" };
        for (const [name, value] of Object.entries(answers)) {
            const input = Object.assign(document.createElement("input"), { name, value });
            form.append(input);
        }
    """
    block = blocks_of(WEB, "js")[1]
    logged, methods, _ = run_in_page(
        chromium, origin, plan, f"{CLIENT}{form}{block}console.log(problems.length);"
    )
    assert logged == ["0"]
    assert methods == ["GET", "POST"]


def test_every_question_is_shown_with_its_text(chromium, origin, plan):
    form = """const form = { add: (name, { title, choices }) => console.log(name, title, choices.length),
        hide: (names) => names.forEach((name) => console.log("hidden", name)) }, answers = {};"""
    logged, methods, _ = run_in_page(chromium, origin, plan, f"{CLIENT}{form}{blocks_of(WEB, 'js')[2]}")
    assert logged == ["age age 5", "income income 1", "debt debt 1"]
    assert methods == ["GET"]


def test_a_rehearsal_posts_nothing(chromium, origin, plan):
    steps = ["grant()", "report({ age: 'old', income: 1, debt: null }, 'no')", "flush(0.1)"]
    calls = "\n".join(f"await client.{step};" for step in steps)
    block = f"{blocks_of(WEB, 'js')[3]}{calls}console.log((await client.status()).reason);"
    logged, methods, _ = run_in_page(chromium, origin, plan, block)
    assert logged == ["rehearsal"]
    assert methods == ["GET"]


def test_an_invitation_is_taken_out_of_the_address(chromium, origin, plan):
    invitation = blocks_of(WEB, "js")[4]
    logged, _, address = run_in_page(chromium, origin, plan, f"{invitation}\nconsole.log(token);")
    assert logged == ["a-misspelt-token"]
    assert address.endswith("/tests/client.html")


def test_the_example_of_a_test_passes_in_node(plan, tmp_path):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "ldp-bayes").symlink_to(FOLDER, target_is_directory=True)
    (tmp_path / "plan.json").write_bytes(plan)
    (tmp_path / "page.test.mjs").write_text(blocks_of(WEB, "js")[5])
    assert "# pass 1" in run_node("--test", "--test-reporter=tap", "page.test.mjs", folder=tmp_path)


def test_every_block_of_the_page_is_run():
    assert len(blocks_of(WEB, "js")) == 6
