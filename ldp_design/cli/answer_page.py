"""ldp-survey page: writes the page on which people answer a survey."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import click

from encoders.errors import LdpError
from encoders.late_imports import LateImport
from encoders.survey import Plan
from encoders.survey.display_texts import display_texts
from encoders.survey.plan_files import PEOPLE_PLANS
from encoders.survey.signature import read_public_key
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, read_word_files
from ldp_aggregator.cli.help import Command, advanced_option, argument, option
from ldp_aggregator.form_page.page import SCRIPT, read_script, render_page
from ldp_aggregator.form_page.words import ENGLISH, find_untranslated
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON

_SEGNO = LateImport("segno", "author", "--qr")
_MAX_EPSILON = 2
"""The largest epsilon that the page accepts, like every client, unless the author raises it."""
_MARK = b'<meta name="generator" content="ldp-survey page">'
_HOST = r"https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_COLLECTOR = re.compile(_HOST + "(/[A-Za-z0-9._~/-]*)?")
_PAGE = re.compile(_HOST + r'([/?#][^\s"<>]*)?')


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="A survey, as a TOML file or a compiled plan.")
@option(
    "--collector",
    metavar="URL",
    help="The collector's address, for example https://collector.example. A survey with a relay needs none.",
)
@option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to write.",
)
@option("--words", type=INPUT_FILE, help="The form's own words in further languages, a JSON file.")
@option(
    "--allow-english",
    is_flag=True,
    help="Let the form ask for consent in English below a survey in another language.",
)
@option(
    "--public-key",
    metavar="KEY",
    default="",
    show_default=False,
    help="Accept only a plan that was signed with this key.",
)
@option("--codes", is_flag=True, help="Ask only people whose link has a code, from ldp-relay codes.")
@option("--qr", metavar="ADDRESS", help="Also write qr.svg, a QR code of the page's address.")
@advanced_option("--max-epsilon", type=click.FloatRange(0.001, 32), help="Accept a survey with more than 2.")
def page(
    survey: Path,
    collector: str | None,
    output: Path,
    words: Path | None,
    allow_english: bool,
    public_key: str,
    codes: bool,
    qr: str | None,
    max_epsilon: float | None,
) -> None:
    """Write the page on which people answer SURVEY.

    The folder contains index.html and one script. Any host of static files can serve it by https. The page
    accepts only this version of the survey, connects only to the collector, and shows the survey's texts in
    all their languages. The page of a survey with a relay connects only to the relay; do not put it on the
    collector's host, which would see who loads it.

    $ ldp-survey page survey.toml --collector https://collector.example -o site
    $ ldp-survey page survey.toml --collector https://collector.example -o site --qr https://survey.example
    """
    plan = PEOPLE_PLANS.load(survey)
    url = _survey_url(plan, collector)
    _check_epsilon(plan, max_epsilon)
    if codes and not plan.relay:
        raise click.UsageError("--codes: the survey has no relay, which gives codes")
    if plan.texts_digest and not plan.texts:
        raise click.UsageError("the file of the survey's texts is not beside the plan: give the TOML survey")
    translated = read_word_files([words] if words else [], ENGLISH)
    if not allow_english:
        _require_words(plan, translated)
    content = render_page(
        plan, url, public_key=_check_key(public_key), max_epsilon=max_epsilon, codes=codes, words=translated
    )
    files = {"index.html": content, SCRIPT: read_script()}
    if qr:
        files["qr.svg"] = _draw_qr(qr)
    _write(output, files)
    click.echo(f"wrote {output}: {', '.join(files)}")
    if untitled := _find_untitled(plan):
        names = f"{', '.join(untitled[:5])}{' and others' if len(untitled) > 5 else ''}"
        click.echo(
            f"warning: people read the names {names}: add titles in [texts] (docs/survey-file.md)", err=True
        )
    _print_next(plan, url, output)


def _check_epsilon(plan: Plan, max_epsilon: float | None) -> None:
    limit, epsilon = max_epsilon or _MAX_EPSILON, plan.relay.epsilon if plan.relay else plan.epsilon
    if float(epsilon) > limit:
        raise click.UsageError(
            f"the survey's epsilon is {epsilon}, and the page accepts at most {limit:g}: choose a "
            f"smaller one, or give --max-epsilon {epsilon}"
        )
    if plan.epsilon > MAX_LOCAL_EPSILON and not plan.asks_all:  # of all answers, the page names the sum
        raise click.UsageError(
            f"the survey's epsilon is {plan.epsilon}, and with a relay the page accepts at most "
            f"{MAX_LOCAL_EPSILON}: choose a smaller one"
        )


def _survey_url(plan: Plan, collector: str | None) -> str:
    """Return the address to which the page connects: the survey's at its relay, or at its collector."""
    if plan.relay:
        if collector:
            raise click.UsageError(
                "the survey has a relay, and its page connects to that: leave --collector out"
            )
        if not plan.relay.has_keys:
            raise click.UsageError("relay: needs collector_key and relay_key, which the page's plan contains")
        return plan.relay.url
    if not collector:
        raise click.UsageError("give the collector's address: --collector https://collector.example")
    return f"{_check_collector(collector)}/v1/surveys/{plan.id}"


def _check_collector(url: str) -> str:
    parts = _split(url) if _COLLECTOR.fullmatch(url) else None
    if not parts or "/v1/surveys" in parts.path or ".." in parts.path.split("/"):
        raise click.BadParameter("must be the address of a collector, https://HOST", param_hint="--collector")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise click.BadParameter(
            "needs https: a page that was loaded by https may not use http", param_hint="--collector"
        )
    return url.rstrip("/")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def _find_untitled(plan: Plan) -> list[str]:
    texts = display_texts(plan)
    entries = {**texts.features, **({plan.row_label.name: texts.label} if texts.label else {})}
    return [name for name, entry in entries.items() if entry.title == name]


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _check_key(text: str) -> str:
    try:
        if text:
            read_public_key(text)
    except LdpError as error:
        raise click.BadParameter(str(error), param_hint="--public-key") from error
    return text.strip()


def _require_words(plan: Plan, words: Mapping[str, Mapping[str, str]]) -> None:
    found = find_untranslated(plan.texts.languages if plan.texts else (), words)
    without = [language for language, missing in found.items() if len(missing) == len(ENGLISH)]
    partly = [f"{each} for {', '.join(found[each])}" for each in found if each not in without]
    if listed := "; ".join(filter(None, [", ".join(without), *partly])):
        raise click.UsageError(
            f"the form has no words in {listed}: translate them in the file of --words (docs/page.md), or "
            "give --allow-english"
        )


def _draw_qr(address: str) -> bytes:
    if not (_PAGE.fullmatch(address) and address.startswith("https:") and _split(address)):
        raise click.BadParameter("must be the https address of the page", param_hint="--qr")
    segno = _SEGNO.load()
    try:
        code = segno.make(address, error="m")
    except segno.DataOverflowError as error:
        raise click.BadParameter(
            "is too long for a QR code: use a shorter address", param_hint="--qr"
        ) from error
    picture: str = code.svg_inline(scale=8, border=4, light="#fff", title=address)
    return picture.encode()


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    page = folder / "index.html"
    former = [name for name in files if (folder / name).exists()]
    if former and not (page.exists() and _MARK in page.read_bytes()):
        why = "was not written by this command, and is not replaced: give a new folder"
        raise click.UsageError(f"{folder / former[0]} {why}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content, public=True)


def _print_next(plan: Plan, url: str, folder: Path) -> None:
    where = shlex.quote(str(folder))
    click.echo(f"the page accepts only the plan with the digest {plan.digest}")
    click.echo(f"try it here: python3 -m http.server 8080 --bind 127.0.0.1 --directory {where}")
    if urlsplit(url).scheme == "http":
        server = "relay" if plan.relay else "collector"
        click.echo(f"people on other machines need a {server} and a page with https: see docs/page.md")
