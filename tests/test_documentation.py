"""Links, mentioned pages and line lengths of the documentation."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from benchmarks import oracle_choice, poisoning

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"node_modules", "build", "dist", "types"}


def find_files(folder: Path, *patterns: str) -> Iterator[Path]:
    """Yield the files of a folder with these names, without hidden and generated folders."""
    for where, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in GENERATED and not each.startswith(".")]
        yield from (Path(where, each) for each in names if any(fnmatch(each, every) for every in patterns))


PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "examples", "deploy") for page in find_files(ROOT / folder, "*.md")),
    ]
)
WRAPPED = [page for page in PAGES if page.parent == ROOT or "docs" in page.relative_to(ROOT).parts]
SOURCES = ("Makefile", "*.py", "*.toml", "*.yaml", "*.conf", "*.service", "*.sh", "*.html", "*.js")
MAX_WIDTH = 110
LINK = re.compile(r"\]\(([^)\s]+)\)")
LINKS_ONLY = re.compile(r"\s*([-*] +)?((!?\[[^\]]*\]\([^)]*\)|<?https?://\S+)\s*)+")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def lines_outside_code(page: Path) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page: those that GitHub gives to its headings, and `<a id="...">`."""
    anchors, repeated = set[str](), Counter[str]()
    for _, line in lines_outside_code(page):
        anchors.update(re.findall(r'<a id="([^"]+)">', line))
        if heading := re.match(r"#+ +(.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            anchors.add(f"{slug}-{repeated[slug]}" if repeated[slug] else slug)
            repeated[slug] += 1
    return anchors


def broken_links(page: Path) -> Iterator[str]:
    for number, line in lines_outside_code(page):
        for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if not target.exists():
                yield f"{name_of(page)}:{number}: no file {link}"
            elif anchor and anchor not in anchors_of(target):
                yield f"{name_of(page)}:{number}: no heading {link}"


def test_documentation_pages_are_found():
    assert {"README.md", "docs/privacy.md", "docs/results/README.md", "examples/README.md"} <= {
        name_of(page) for page in PAGES
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_and_anchors_resolve(page):
    assert list(broken_links(page)) == []


@pytest.mark.slow
def test_pages_that_source_files_mention_exist():
    files = list(find_files(ROOT, *SOURCES))
    missing = [
        f"{name_of(path)}: {page}"
        for path in files
        for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf-8", errors="replace"))
        if not (ROOT / page).exists()
    ]
    assert len(files) > 100
    assert missing == []


@pytest.mark.parametrize("page", WRAPPED, ids=name_of)
def test_prose_fits_into_the_maximum_width(page):
    long = [
        f"{name_of(page)}:{number}: {len(line)} characters"
        for number, line in lines_outside_code(page)
        if len(line) > MAX_WIDTH and not line.startswith(("|", "#")) and not LINKS_ONLY.fullmatch(line)
    ]
    assert long == []


@pytest.mark.parametrize("page", WRAPPED, ids=name_of)
def test_no_blank_line_cuts_a_table(page):
    text = "\n".join(line for _, line in lines_outside_code(page))
    assert re.findall(r"^\|.*\n\n\|.*\n(?!\|-)", text, re.M) == []


def test_index_of_results_lists_every_page():
    results = ROOT / "docs" / "results"
    listed = {link.partition("#")[0] for link in LINK.findall((results / "README.md").read_text("utf-8"))}
    assert {page.name for page in results.glob("*.md")} - {"README.md"} <= listed


def test_every_page_has_a_reader_in_the_index():
    docs = ROOT / "docs"
    listed = {link.partition("#")[0] for link in LINK.findall((docs / "README.md").read_text("utf-8"))}
    assert {page.name for page in docs.glob("*.md")} - {"README.md"} <= listed


def test_the_site_redirects_from_pages_that_are_gone_to_pages_that_exist():
    moved = re.findall(
        r'^    "([\w./-]+)": "([\w/ -]+)",', (ROOT / "docs/site/conf.py").read_text("utf-8"), re.MULTILINE
    )
    assert len(moved) > 15
    for page, former in moved:
        assert (ROOT / "docs" / f"{page}.md").exists(), page
        assert not [name for name in former.split() if (ROOT / "docs" / f"{name}.md").exists()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "print_table"),
    [("mechanisms.md", oracle_choice.main), ("poisoning.md", poisoning.influence_rows)],
)
def test_results_page_contains_the_closed_form_table_that_the_benchmark_prints(page, print_table, capsys):
    print_table()
    assert f"\n\n{capsys.readouterr().out}" in (ROOT / "docs" / "results" / page).read_text("utf-8")


@pytest.mark.parametrize("page", WRAPPED, ids=name_of)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page):
    """A bar in code ends a cell too, unless it is written as \\|."""
    wrong, cells = [], 0
    for number, line in lines_outside_code(page):
        if not line.startswith("|"):
            cells = 0
            continue
        count = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or count
        if count != cells:
            wrong.append(f"{name_of(page)}:{number}: {count - 1} cells, not {cells - 1}")
    assert wrong == []


@pytest.mark.parametrize("page", WRAPPED, ids=name_of)
def test_no_line_in_the_middle_of_code_begins_a_list(page):
    wrong, marks = [], 0
    for number, line in lines_outside_code(page):
        is_item = re.match(r"\s*(?:[-+*]|\d+\.) ", line)
        if is_item and marks % 2:
            wrong.append(f"{name_of(page)}:{number}: {line.strip()[:40]}")
        marks = line.count("`") + (marks if line.strip() and not is_item else 0)
    assert wrong == []
