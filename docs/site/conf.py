"""The documentation as a site, which Sphinx builds (`make docs`). It requests nothing from other hosts."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import encoders

project, version, release = "ldp-bayes", encoders.__version__, encoders.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*/*.md", "clients/*/*.md"]
root_doc = "docs/README"
html_theme, html_title, html_copy_source = "furo", f"{project} {version}", False
myst_heading_anchors, myst_links_external_new_tab = 4, True
# A link to an anchor must not lead to a Python name that resembles it, such as Choices.codes.
myst_ref_domains = ["std"]
# MyST does not know anchors in tables and paragraphs, so check_links looks at the finished pages instead.
suppress_warnings = [
    "myst.xref_missing",
    "myst.header",
    "toc.not_included",
    "ref.python",
    "ref.ref",
    "ref.term",
]
autodoc_default_options = {"members": True}
autodoc_typehints = "none"

DECISIONS = """
absent-features archives dashboard distinguishable-classes grouped-features invitations journal
label-question numbers payloads posterior-tables prediction projections randomness relay rounds
rows-of-one-class sending-times silos stores surveys-without-a-label
"""
MOVED = {
    "analysing": "intervals",
    "central": "central-guarantee compare trust-models",
    "embedding-web": "embedding-frameworks hosts",
    "formats": "json-output model-file public-api",
    "methods": "numeric-mechanisms",
    "moving": "deleting",
    "page": "xlsform",
    "results/clients": "results/client results/java results/javascript",
    "results/interval-coverage": "results/waves",
    "results/mechanisms": "results/numeric-mechanisms results/oracle-choice",
    "results/models": "results/numeric-accuracy results/silos results/validation",
    "results/replication": "accuracy references replication",
    "results/speed": "speed-libraries",
    "series": "validation",
    "running": "scale",
    "securing": "order-of-arrival",
    "silos": "silos-guarantee silos-report",
    "size-and-epsilon": "dossier made-up-answers",
    "survey-file": "numbers",
    "../CONTRIBUTING": "architecture",
}
MOVED["decisions"] = " ".join(f"decisions/{name}" for name in DECISIONS.split())
"""The pages that moved, by the page that they are in now."""


def add_navigation(_app: Any, docname: str, source: list[str]) -> None:
    """Add the navigation: the pages by reader, as the index lists them."""
    if docname == root_doc:
        for title, section in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", source[0], re.MULTILINE):
            found = dict.fromkeys(re.findall(r"\]\(([\w./-]+)\.md", section))  # each page once
            pages = [os.path.normpath(f"/docs/{page}") for page in found]
            source[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```\n"])
    if docname == "docs/results/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def write_redirects(app: Any, _error: Exception | None) -> None:
    """Write a page for each old address, and for the folder of the site and of its version."""
    docs = Path(app.outdir, "docs")
    pages = {docs / old: docs / new for new, names in MOVED.items() for old in names.split()}
    pages |= {Path(app.outdir, place, "index"): docs / "README" for place in ("", "..")}
    for old, new in pages.items():
        target = os.path.relpath(f"{new}.html", old.parent)
        refresh = f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">{target}</a>'
        old.parent.mkdir(exist_ok=True)
        old.with_suffix(".html").write_text(refresh, "utf-8")


def check_links(app: Any, error: Exception | None) -> None:
    """Raise a ValueError if a page links to what does not exist, or to a Python name that Sphinx guessed."""
    pages = {page: page.read_text("utf-8") for page in Path(app.outdir).rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in re.findall(r'<\w[^<>]* (?:href|src)="(?!\w+:)([^"]*)"', text):
            path, _, anchor = unquote(link).partition("#")
            target = Path(os.path.normpath(page.parent / path.partition("?")[0])) if path else page
            is_guess = "site/api.html#" in link and page.stem not in ("genindex", "py-modindex")
            if is_guess or not target.exists() or (anchor and anchor not in anchors.get(target, ())):
                broken.append(f"{page.relative_to(app.outdir)}: {link}")
    if broken and not error:
        raise ValueError("broken links:\n" + "\n".join(broken))


def setup(app: Any) -> None:
    """Connect what runs when the site is built."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", write_redirects)
    app.connect("build-finished", check_links, priority=900)
