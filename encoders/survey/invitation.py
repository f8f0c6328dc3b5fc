"""Invitations: in a survey by invitation, a token determines the question and counts once.

A token is the id of a report, drawn by the operator and valid for one question only, so a few tokens do not
suffice to flood one question. A device receives it as text with four check bytes; a collector stores only
hashes. Who hands it out knows which report it belongs to, but not the answer.
"""

from __future__ import annotations

import base64
import hashlib

from encoders.errors import TokenError
from encoders.randomness import RandomSource
from encoders.report import ID_BYTES
from encoders.survey.compiled_plan import INDEX_BYTES, AnyPlan, CompiledPlan, QuestionT, draw_report_id
from encoders.survey.plan import Plan

HASH_BYTES = 16
_CHECK_BYTES = 4  # 20 bytes with the id, which are 32 characters without padding
_IGNORED_CHARACTERS = dict.fromkeys(map(ord, "- \t\r\n"))
_CHECK_PREFIX = b"ldp-bayes token check\0"
_HASH_PREFIX = b"ldp-bayes token kept\0"


def draw_invitation(plan: Plan, rng: RandomSource) -> str:
    """Draw a wave, if there are any, and a question; return an invitation to it, for audits and tests."""
    question = plan.in_wave(plan.draw(rng), plan.waves.draw(rng) if plan.waves else None)
    return format_token(plan, draw_report_id(plan, question, rng))


def format_token(plan: AnyPlan, token_id: bytes) -> str:
    """Return a token of a plan as text for a person: 32 letters and digits."""
    return base64.b32encode(token_id + _check_bytes(plan, token_id)).decode().lower()


def read_invitation(plan: CompiledPlan[QuestionT], token: str | None) -> tuple[QuestionT, bytes] | None:
    """Return the question and the report id in a token; None if the survey needs no invitation.

    Letters may be small or capital; hyphens and white space are ignored. With a relay, a token is a code of
    the relay. Raises TokenError if the token is missing, not needed, misspelt, or a token of another plan.
    Only the collector knows whether it was handed out.
    """
    if not plan.by_invitation:
        if token is not None and isinstance(plan, Plan) and plan.relay:
            read_code(plan, token)  # the relay reads it, and the report does not contain it
        elif token is not None:
            raise TokenError("is not needed: leave it out")
        return None
    if token is None:
        raise TokenError("is missing: give the person's invitation")
    return _parse_token(plan, token if isinstance(token, str) else "")


def read_code(plan: AnyPlan, code: object) -> bytes:
    """Return the 16 bytes in a code of a survey's relay, which has the form of a token.

    Raises TokenError if the code is misspelt or of another plan. Only the relay knows whether it gave the
    code.
    """
    text = code if isinstance(code, str) else ""
    try:
        data = base64.b32decode(text.translate(_IGNORED_CHARACTERS).encode("ascii").upper())
    except ValueError:
        data = b""
    token_id = data[:ID_BYTES]
    if len(data) != ID_BYTES + _CHECK_BYTES or data[ID_BYTES:] != _check_bytes(plan, token_id):
        raise TokenError("is misspelt, or an invitation to another survey: copy all 32 characters of it")
    return token_id


def _parse_token(plan: CompiledPlan[QuestionT], text: str) -> tuple[QuestionT, bytes]:
    token_id = read_code(plan, text)
    index = int.from_bytes(token_id[:INDEX_BYTES], "big")
    if index >= len(plan.counted_questions):
        raise TokenError(
            "is an invitation to a question that the survey does not have: ask for a new invitation"
        )
    return plan.counted_questions[index], token_id


def hash_token(plan: AnyPlan, token_id: bytes) -> bytes:
    """Return a token's hash, 16 bytes, which a collector stores; nobody can answer with the hash."""
    return hashlib.sha256(_HASH_PREFIX + plan.digest_bytes + token_id).digest()[:HASH_BYTES]


def _check_bytes(plan: AnyPlan, token_id: bytes) -> bytes:
    return hashlib.sha256(_CHECK_PREFIX + plan.digest_bytes + token_id).digest()[:_CHECK_BYTES]
