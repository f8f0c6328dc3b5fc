"""The core of the JavaScript client in Node: vectors, its own tests, types, size and package."""

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from encoders import __version__
from tests.support.javascript import FOLDER, find_node, require_packages, run_node
from tests.support.surveys import make_plan
from tools.vectors import check_port

ROOT = FOLDER.parents[1]
MAX_CORE_BYTES, MAX_ESBUILD_CORE_BYTES, MAX_CLIENT_BYTES, MAX_FORM_BYTES = 8010, 8495, 15_195, 10_165
MAX_RELAY_BYTES = 5000
"""With gzip: minified with terser, and with esbuild alone, which minifies less."""
MAX_READ_MILLISECONDS, MAX_REPORT_MILLISECONDS = 40, 1
MAX_MODULE_LINES = 400
MAX_LINE = 120

LAYERS = [".", "relay", "mechanisms", "survey", "client", "explain", "form"]
"""Folders of the sources, from below; the entries of the package are above all."""
ENTRIES = (
    "answers.js",
    "core.js",
    "form.js",
    "index.js",
    "preview.js",
    "rehearsal.js",
    "relay.js",
    "testing.js",
    "texts.js",
    "waves.js",
)
LATE = {
    "client.js": 2,
    "participation.js": 2,
    "plan_source.js": 1,
    "relay.js": 1,
    "survey_form.js": 2,
    "words.js": 2,
}
"""The modules that load others when they need them, and how many."""

FORM_WORDS = f"""
import {{ ENGLISH }} from {json.dumps(str(FOLDER / "src/form/words.js"))};
import {{ FURTHER }} from {json.dumps(str(FOLDER / "src/form/further_words.js"))};
const english = {{ ...ENGLISH, ...FURTHER }};
"""
"""The English words of the form, in JavaScript."""
PACKAGE = json.loads((FOLDER / "package.json").read_text("utf-8"))

TYPED_FORM = """
import type { OutcomeEvent, SurveyAttributes } from "ldp-bayes/form";
import type { Row } from "ldp-bayes";

const attributes: SurveyAttributes = { src: "https://collector.example/v1/surveys/sleep", level: 2 };
const tell = ({ detail }: OutcomeEvent) => console.log(detail.state === "sent", detail.reason === "framed");
export const form = <ldp-survey {...attributes} public-key="key" rehearsal onldp-outcome={tell} ref={null} />;
export const row: Row = { age: "young", hours: 7.5 };
document.querySelector("ldp-survey")?.addEventListener("ldp-outcome", (event) => tell(event));
// @ts-expect-error no such state
addEventListener("ldp-outcome", (event: OutcomeEvent) => event.detail.state === "done");
// @ts-expect-error the survey is missing
export const empty = <ldp-survey />;
// @ts-expect-error no number
export const wrong = <ldp-survey src="" level={true} />;
"""
OWN_JSX = "\ndeclare global { namespace JSX { interface Element { readonly tag: string } } }\n"
REACT = (
    "export namespace JSX { interface Element { readonly type: string } interface IntrinsicElements {} }\n"
)
REACT_RUNTIME = (
    'export { JSX } from "./index.js";\nexport function jsx(type: unknown, props: unknown): unknown;\n'
)
"""As much of React's types, from 18 on, as an application with one element uses."""
TYPED_APPLICATION = """
import { makeReport, readPlan, RowError, type Plan } from "./core.js";
import { Client, type LdpError, type Reason, type Receipt } from "./index.js";
import { preview } from "./preview.js";
import { fromAnswers } from "./answers.js";
import { rehearse } from "./rehearsal.js";
import { throughRelay } from "./relay.js";
import { displayTexts, type DisplayTexts } from "./texts.js";
import { checkWaves } from "./waves.js";

export const words = (plan: Plan): DisplayTexts => displayTexts(plan, undefined, "de");
export const mapped = (plan: Plan, data: FormData): string[] => fromAnswers(plan, data).unused;
export const wavy = (bytes: Uint8Array): Plan => readPlan(bytes, { check: checkWaves });
export const opens = async (client: Client): Promise<number | undefined> => (await client.plan()).wave?.opens;
export const rehearsing = new Client("", rehearse({ person: null }));
export const relayed = new Client("", { person: null, relay: throughRelay("https://relay.example.org") });
// @ts-expect-error the relay is not its address
export const wrongRelay = new Client("", { person: null, relay: "https://relay.example.org" });

export function answer(bytes: Uint8Array, row: Record<string, unknown>): Uint8Array | string {
  const plan: Plan = readPlan(bytes);
  try {
    const beliefs: number[] = preview(plan, row, "yes").possibleAnswers.map((each) => each.belief);
    return beliefs.length ? makeReport(plan, row, "yes", { token: null }) : plan.digest;
  } catch (error) {
    return error instanceof RowError ? error.problems.map((each) => each.field).join() : "";
  }
}
// @ts-expect-error a plan is not its bytes
export const wrong = (bytes: Uint8Array) => makeReport(bytes, {}, "yes");

type Row = Record<string, unknown>;
export const alone = (plan: Plan, row: Row): Uint8Array =>
  preview(plan, row).report.length ? makeReport(plan, row) : makeReport(plan, row, null, {});
export const answerAlone = (client: Client, row: Row): Promise<Receipt> => client.report(row);
export const isSeveral = ({ entries }: Plan) => entries[0].kind === "choices";

export const kinds = ({ entries }: Plan) => entries[0].kind === "numeric" && entries[0].missing === "error";
// @ts-expect-error no entry has this kind
export const wrongKind = ({ entries }: Plan) => entries[0].kind === "number";
// @ts-expect-error
export const wrongMissing = ({ entries }: Plan) => entries[0].missing === "none";

export const documented: Reason[] = REASONS;
export const isFull = (receipt: Receipt) => receipt.reason === "queue-full";
// @ts-expect-error a misspelt reason
export const wrongReceipt = (receipt: Receipt) => receipt.reason === "queue-ful";
// @ts-expect-error
export const wrongError = (error: LdpError) => error.reason === "queue-ful";

export const members: Record<keyof Client, true> = {
  survey: true, plan: true, grant: true, withdraw: true, status: true, report: true, preview: true,
  flush: true, close: true, texts: true,
};
"""
PYTHON_REASONS = {"asks-again", "journal-damaged", "not-configured"}


def test_the_package_has_the_version_of_the_project_and_no_dependencies():
    locked = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))
    assert PACKAGE["version"] == locked["version"] == locked["packages"][""]["version"] == __version__
    assert "dependencies" not in PACKAGE
    assert "peerDependencies" not in PACKAGE
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_modules_and_their_lines_are_short():
    modules = [path for folder in ("src", "tests", "benchmarks") for path in FOLDER.glob(f"{folder}/**/*.js")]
    assert len(modules) > 30
    for path in modules:
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= MAX_MODULE_LINES, path
        assert max(map(len, lines)) <= MAX_LINE, path


def test_a_layer_imports_only_the_layers_below_it():
    source = FOLDER / "src"
    broken = []
    for path in source.glob("**/*.js"):
        layer = layer_of(path.relative_to(source))
        text = path.read_text("utf-8")
        assert text.count("await import(") == LATE.get(path.name, 0)
        for keyword, name in re.findall(r'(from |(?<!await )import\()"(\.[^"]+)"', text):
            imported = (path.parent / name).resolve().relative_to(source)
            assert (source / imported).is_file() or (source / imported).with_suffix(".ts").is_file()
            is_type_of_late_module = keyword == "import(" and path.name in {*LATE, "sections.js"}
            if layer_of(imported) > layer and not is_type_of_late_module:
                broken.append(f"{path.relative_to(source)} imports {imported}")
    assert broken == []


def layer_of(module: Path) -> int:
    if module.name in ENTRIES:
        return len(LAYERS)
    return LAYERS.index(module.parts[0] if module.parts[1:] else ".")


@pytest.mark.slow
def test_the_own_tests_of_the_core_pass():
    files = sorted(FOLDER.glob("tests/unit/*.test.js"))
    assert len(files) > 1
    imports = "".join(f"import {json.dumps(str(path))};" for path in files)  # one process for all
    printed = run_node("--test-reporter=tap", "--input-type=module", "--eval", imports)
    assert "# fail 0" in printed
    assert "# skipped 0" in printed


@pytest.mark.slow
def test_the_examples_of_the_readme_run(tmp_path):
    label = {"name": "rested", "values": ["never", "often"]}
    plan = make_plan(id="sleep", label=label, features={"age": ["young", "old"], "hours": {"range": [0, 12]}})
    (tmp_path / "plan.json").write_bytes(plan.json)
    examples = re.findall(r"^```js\n(.*?)^```$", (FOLDER / "README.md").read_text("utf-8"), re.M | re.S)
    examples = [each for each in examples if re.search('from "ldp-bayes/(core|preview)"', each)]
    assert len(examples) == 2
    program = f"""
        import {{ readFileSync }} from "node:fs";
        globalThis.fetch = async () => new Response(readFileSync({json.dumps(str(tmp_path / "plan.json"))}));
        {"".join(examples)}
        console.log(report.length > 50, shown.epsilon, Object.fromEntries(shown.truth).rested);
    """
    assert run_node("--input-type=module", "--eval", program) == "true 1 often\n"


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the declarations that TypeScript makes of the client."""
    require_packages()
    folder = tmp_path_factory.mktemp("types")
    run_node("node_modules/typescript/bin/tsc", "-p", ".", "--outDir", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.clients
def test_types_are_correct_and_declared(types, tmp_path):
    shutil.copytree(types, tmp_path, dirs_exist_ok=True)
    for entry in PACKAGE["exports"].values():
        assert (tmp_path / Path(entry["types"]).relative_to("types")).is_file()
    user = tmp_path / "application.ts"
    user.write_text(TYPED_APPLICATION.replace("REASONS", json.dumps(documented_reasons())), "utf-8")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--types", ""]
    run_node(
        str(FOLDER / "node_modules/typescript/bin/tsc"), "--noEmit", *options, str(user), folder=tmp_path
    )


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("jsx", ["preserve", "react-jsx"])
def test_the_form_is_typed_in_tsx_with_and_without_react(types, tmp_path, jsx):
    package = tmp_path / "node_modules" / "ldp-bayes"
    shutil.copytree(types, package / "types")
    shutil.copy(FOLDER / "package.json", package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "application.tsx").write_text(TYPED_FORM + (OWN_JSX if jsx == "preserve" else ""))
    if jsx == "react-jsx":
        react = tmp_path / "node_modules" / "react"
        react.mkdir()
        exports = {".": "./index.d.ts", "./jsx-runtime": "./jsx-runtime.d.ts"}
        (react / "package.json").write_text(json.dumps({"name": "react", "exports": exports}))
        (react / "index.d.ts").write_text(REACT)
        (react / "jsx-runtime.d.ts").write_text(REACT_RUNTIME)
    options = f"--noEmit --strict --target es2022 --module nodenext --lib es2022,dom --jsx {jsx}".split()
    compiler = str(FOLDER / "node_modules/typescript/bin/tsc")
    run_node(compiler, *options, "--types", "", "application.tsx", folder=tmp_path)


def documented_reasons() -> list[str]:
    """Return the reasons in the table of states, except those of Python alone."""
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    table = page.split("| `state` | `reason` |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| `[a-z_]+` \| (.*?) \|", table, re.M)
    reasons = {reason for cell in cells for reason in re.findall("`([a-z-]+)`", cell)} - PYTHON_REASONS
    assert len(reasons) > 25
    return sorted(reasons)


@pytest.fixture(scope="module")
def sizes() -> dict[str, dict[str, int]]:
    """Return the size of each entry of the package, with gzip, by the program that minified it."""
    require_packages()
    found: dict[str, dict[str, int]] = json.loads(run_node("tests/size.js"))
    return found


@pytest.mark.slow
@pytest.mark.clients
def test_core_and_client_are_small(sizes):
    assert sizes["./core"]["terser"] <= MAX_CORE_BYTES
    assert sizes["./core"]["esbuild"] <= MAX_ESBUILD_CORE_BYTES
    assert sizes["."]["terser"] <= MAX_CLIENT_BYTES
    assert sizes["./form"]["terser"] <= MAX_FORM_BYTES
    assert sizes["./relay"]["terser"] <= MAX_RELAY_BYTES


@pytest.mark.slow
@pytest.mark.clients
def test_documented_sizes_are_what_the_documented_commands_print(sizes, tmp_path):
    client, core, preview, form, fakes = (
        f"{sizes[entry]['terser'] / 1000:.1f} kB"
        for entry in (".", "./core", "./preview", "./form", "./testing")
    )
    sentence = f"the client has {client}, the core {core}, previews have {preview}, "
    sentence += f"the form has {form} and the fakes {fakes}"
    assert sentence in " ".join((FOLDER / "README.md").read_text("utf-8").split())
    assert f"The web client is {client} compressed." in (ROOT / "README.md").read_text("utf-8")

    web = " ".join((ROOT / "docs" / "embedding-web.md").read_text("utf-8").split())
    found = re.search(r"`esbuild (page\.js [^`]*)` writes one file of (\d+) kB, (\d+) kB compressed", web)
    assert found
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "ldp-bayes").symlink_to(FOLDER, target_is_directory=True)
    (tmp_path / "page.js").write_text('import { Client } from "ldp-bayes"; new Client("", { person: null });')
    esbuild = [str(FOLDER / "node_modules" / ".bin" / "esbuild"), *found[1].split()]
    subprocess.run(esbuild, cwd=tmp_path, capture_output=True, check=True)
    bundle = (tmp_path / "bundle.js").read_bytes()
    assert found.groups()[1:] == (f"{len(bundle) / 1000:.0f}", f"{len(gzip.compress(bundle)) / 1000:.0f}")


@pytest.mark.slow
def test_a_typical_plan_is_read_and_answered_quickly():
    *_, line = run_node("benchmarks/core.js", "benchmarks/typical.json").splitlines()
    *_, read, report = map(float, line.split()[1:])
    assert read <= MAX_READ_MILLISECONDS
    assert report <= MAX_REPORT_MILLISECONDS


@pytest.mark.slow
@pytest.mark.clients
def test_the_source_distribution_of_the_project_has_no_packages_for_development(tmp_path):
    sdist = pytest.importorskip("hatchling.builders.sdist")
    [built] = sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as archive:
        names = archive.getnames()
    assert any(name.endswith("clients/javascript/src/core.js") for name in names)
    assert not [name for name in names if "node_modules" in name or "/javascript/types/" in name]


@pytest.mark.slow
@pytest.mark.clients
def test_the_packed_package_makes_a_report_in_an_empty_project(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm")
    find_node()
    options = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(tmp_path / "cache")]
    packed = subprocess.run(
        [npm, "pack", "--json", "--pack-destination", str(tmp_path), *options],
        cwd=FOLDER, capture_output=True, text=True, check=True,
    )  # fmt: skip
    [description] = json.loads(packed.stdout)
    names = {each["path"] for each in description["files"]}
    assert {"package.json", "README.md", "LICENSE", "src/core.js"} <= names
    assert not [name for name in names if name.startswith(("tests/", "node_modules/", "benchmarks/"))]

    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"private": true, "type": "module"}')
    tarball = tmp_path / description["filename"]
    subprocess.run([npm, "install", str(tarball), *options], cwd=project, capture_output=True, check=True)
    vectors = json.loads((check_port.VECTORS / "good-de.json").read_text("utf-8"))
    (project / "plan.json").write_text(vectors["plan"], "utf-8")
    case = vectors["cases"][0]
    (project / "report.js").write_text(
        f"""
        import {{ readFileSync }} from "node:fs";
        import {{ Client }} from "ldp-bayes";
        import {{ makeReport, readPlan }} from "ldp-bayes/core";
        import {{ MemoryStore, Recorder }} from "ldp-bayes/testing";
        const plan = readPlan(new Uint8Array(readFileSync("plan.json")));
        const report = makeReport(plan, {json.dumps(case["row"])}, {json.dumps(case["label"])});
        const {{ send }} = new Recorder(readFileSync("plan.json"));
        const url = "https://collector.example/v1/surveys/" + plan.id;
        const options = {{ person: null, store: new MemoryStore(), send, maxEpsilon: 100 }};
        const {{ state }} = await new Client(url, options).grant();
        console.log(plan.digest, report.length, state);
        """,
        "utf-8",
    )
    digest, length, state = run_node("report.js", folder=project).split()
    assert digest in case["report"]
    assert 50 < int(length) < 100
    assert state == "ready"


@pytest.mark.slow
@pytest.mark.clients
def test_single_files_are_built_again_with_the_same_bytes_and_are_those_of_the_python_package(tmp_path):
    require_packages()
    copy = tmp_path / "javascript"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("node_modules", "dist", "types"))
    (copy / "node_modules").symlink_to(FOLDER / "node_modules", target_is_directory=True)
    run_node("build.js", folder=copy)
    built = {path.name: path.read_bytes() for path in (copy / "dist").iterdir()}
    committed = ROOT / "ldp_aggregator" / "form_page"
    assert built["ldp-survey.js"] == (committed / "ldp-survey.js").read_bytes(), "run `node build.js --page`"
    for name, digest in json.loads(built["integrity.json"]).items():
        computed = base64.b64encode(hashlib.sha384(built[name]).digest()).decode()
        assert digest == f"sha384-{computed}"
        assert built[name].isascii()
    printed = run_node("--input-type=module", "--eval", f"{FORM_WORDS} console.log(JSON.stringify(english))")
    assert json.loads(printed) == json.loads((committed / "words.json").read_text("utf-8"))


@pytest.mark.slow
def test_previews_have_the_words_of_the_python_package():
    words = f"import * as words from {json.dumps(str(FOLDER / 'src/explain/english.js'))};"
    printed = run_node("--input-type=module", "--eval", f"{words} console.log(JSON.stringify(words))")
    expected = json.loads((ROOT / "encoders/explain/words.json").read_text("utf-8"))
    copied = {name.lower(): texts for name, texts in json.loads(printed).items()}
    assert copied == expected, "run `node build.js --page`"


@pytest.mark.slow
def test_each_language_of_the_form_has_all_words_with_the_same_holes():
    program = f"""
        {FORM_WORDS}
        import {{ GERMAN }} from {json.dumps(str(FOLDER / "src/form/german.js"))};
        console.log(JSON.stringify([english, GERMAN]));
    """
    english, german = json.loads(run_node("--input-type=module", "--eval", program))
    assert german.keys() == english.keys()
    for name, text in english.items():
        assert sorted(set(re.findall(r"\{\d\}", text))) == sorted(set(re.findall(r"\{\d\}", german[name]))), (
            name
        )
