"""ldp-survey page: writes the page on which people answer a survey."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import click

from encoders.errors import LdpError, SurveyError
from encoders.extras import needs_extra
from encoders.survey import Plan
from encoders.survey.plan_files import load_plan_file
from encoders.survey.signature import read_public_key
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE
from ldp_aggregator.cli.help import Command, advanced_option, argument, option
from ldp_aggregator.form_page.page import SCRIPT, read_script, render_page
from ldp_aggregator.form_page.words import read_words

_MAX_EPSILON = 2
"""The largest epsilon that the page accepts, like every client, unless the author raises it."""
_MARK = b"<ldp-survey "
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?")


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="A survey, as a TOML file or a compiled plan.")
@option(
    "--collector",
    metavar="URL",
    required=True,
    help="The collector's address, for example https://collector.example.",
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
    "--public-key",
    metavar="KEY",
    default="",
    show_default=False,
    help="Accept only a plan that was signed with this key.",
)
@option("--qr", metavar="ADDRESS", help="Also write qr.svg, a QR code of the page's address.")
@advanced_option("--max-epsilon", type=click.FloatRange(0.001, 32), help="Accept a survey with more than 2.")
def page(
    survey: Path,
    collector: str,
    output: Path,
    words: Path | None,
    public_key: str,
    qr: str | None,
    max_epsilon: float | None,
) -> None:
    """Write the page on which people answer SURVEY.

    The folder contains index.html and one script. Any host of static files can serve it by https. The page
    accepts only this version of the survey, connects only to the collector, and shows the survey's texts in
    all their languages.

    $ ldp-survey page survey.toml --collector https://collector.example -o site
    $ ldp-survey page survey.toml --collector https://collector.example -o site --qr https://survey.example
    """
    plan = load_plan_file(survey)
    limit = max_epsilon or _MAX_EPSILON
    if float(plan.epsilon) > limit:
        raise click.UsageError(
            f"the survey's epsilon is {plan.epsilon}, and the page accepts at most {limit:g}: choose a "
            f"smaller one, or give --max-epsilon {plan.epsilon}"
        )
    if plan.texts_digest and not plan.texts:
        raise click.UsageError("the file of the survey's texts is not beside the plan: give the TOML survey")
    content = render_page(
        plan,
        f"{_check_collector(collector)}/v1/surveys/{plan.id}",
        public_key=_check_key(public_key),
        max_epsilon=max_epsilon,
        words=_read_words(words),
    )
    files = {"index.html": content, SCRIPT: read_script()}
    if qr:
        files["qr.svg"] = _draw_qr(qr)
    _write(output, files)
    click.echo(f"wrote {output}: {', '.join(files)}")
    _print_next(plan, collector, output)


def _check_collector(url: str) -> str:
    """Return the URL of a collector without a final slash."""
    parts = urlsplit(url)
    if not _URL.fullmatch(url) or "/v1/surveys" in parts.path:
        raise click.BadParameter("must be the address of a collector, https://HOST", param_hint="--collector")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise click.BadParameter(
            "needs https: a page that was loaded by https may not use http", param_hint="--collector"
        )
    return url.rstrip("/")


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


def _read_words(path: Path | None) -> Mapping[str, Mapping[str, str]]:
    try:
        return read_words(path.read_bytes()) if path else {}
    except SurveyError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--words") from error


def _draw_qr(address: str) -> bytes:
    if urlsplit(address).scheme != "https":
        raise click.BadParameter("must be the https address of the page", param_hint="--qr")
    with needs_extra("page", "--qr"):
        import segno
    code: str = segno.make(address, error="m").svg_inline(scale=8, border=4, light="#fff", title=address)
    return code.encode()


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files; refuse to replace a page that this command did not write."""
    former = folder / "index.html"
    try:
        if former.exists() and _MARK not in former.read_bytes():
            raise click.UsageError(f"{former} is another page, which is not replaced: give a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(folder / name, content, public=True)
    except OSError as error:
        raise click.ClickException(f"{folder}: cannot be written: {error.strerror}") from error


def _print_next(plan: Plan, collector: str, folder: Path) -> None:
    where = shlex.quote(str(folder))
    click.echo(f"the page accepts only the plan with the digest {plan.digest}")
    click.echo(f"try it here: python3 -m http.server 8080 --bind 127.0.0.1 --directory {where}")
    if urlsplit(collector).scheme == "http":
        click.echo("people on other machines need a collector and a page with https: see docs/page.md")
