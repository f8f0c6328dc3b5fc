"""Writes the page of a survey: an HTML file with the element `<ldp-survey>`, and the script that defines it.

The script is clients/javascript/dist/ldp-survey.js, which `node build.js --page` copies here.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey import Plan
from encoders.survey.display_texts import display_texts
from ldp_aggregator.form_page.words import BLANK

SCRIPT = "ldp-survey.js"
_STYLE = "body{margin:0}main{max-width:44rem;margin:0 auto;padding:1rem 1rem 4rem}"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'sha256-{style}' 'sha256-{empty}'; img-src data:; "
    "connect-src {collector}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def render_page(
    plan: Plan,
    survey_url: str,
    *,
    public_key: str = "",
    max_epsilon: float | None = None,
    codes: bool = False,
    words: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the HTML of the page on which people answer a survey, with a strict content security policy.

    The page accepts only this plan, by its digest, with `public_key` only if it was signed with this key, and
    without `max_epsilon` only an epsilon up to 2. It connects to `survey_url` alone:
    https://HOST/v1/surveys/ID or relative to the page, unchecked. With `codes`, only people with a code of
    the relay are asked. `words`, unchecked too, is what the form says in further languages.
    """
    texts = display_texts(plan)
    attributes = {
        "src": survey_url,
        "digest": plan.digest,
        "public-key": public_key,
        "relay": _origin(survey_url) if plan.relay else "",
        "codes": "codes" if codes else "",
        "max-epsilon": "" if max_epsilon is None else repr(max_epsilon),
        "max-local-epsilon": decimal_text(plan.epsilon) if plan.asks_all else "",
    }
    content = json.dumps(words, ensure_ascii=True).replace("<", "\\u003c") if words else ""
    page = Template(_read("index.html").decode()).substitute(
        language=escape(texts.language or "en"),
        title=escape(texts.title),
        policy=_POLICY.format(
            style=_digest("sha256", _STYLE.encode()),
            empty=_digest("sha256", b""),  # browsers without constructed sheets add rules to it
            collector=_origin(survey_url),
        ),
        style=_STYLE,
        script=SCRIPT,
        integrity=f"sha384-{_digest('sha384', read_script())}",
        attributes=" ".join(f'{name}="{escape(value)}"' for name, value in attributes.items() if value),
        blank=_blank_texts(plan.texts.languages if plan.texts else (), words or {}),
        words=f'<script type="application/json">{content}</script>' if content else "",
    )
    return page.encode()


def _blank_texts(languages: Iterable[str], words: Mapping[str, Any]) -> str:
    known = BLANK | {language: own["blank"] for language, own in words.items() if "blank" in own}
    tags = dict.fromkeys(each if each in known else each.partition("-")[0] for each in languages)
    found = [each for each in tags if each in known] or ["en"]
    return "".join(f'<p lang="{each}" dir="auto">{escape(known[each])}</p>' for each in found)


def read_script() -> bytes:
    return _read(SCRIPT)


@cache
def _read(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()


def _digest(name: str, data: bytes) -> str:
    return base64.b64encode(hashlib.new(name, data).digest()).decode()


def _origin(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else "'self'"
