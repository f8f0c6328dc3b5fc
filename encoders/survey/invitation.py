"""Enrolment: where a survey is answered by invitation, a token says who may answer, and what she is asked.

A token is the report's id, drawn by the operator in place of the device: two bytes of the question's index,
fourteen random ones. So a token counts once, as every id does, and answers its own question and no other:
whoever holds a few cannot flood one question with them. A device is given it as text, with four bytes more
that tell a misspelt token, or one of another plan, before anything is drawn. A collector keeps hashes alone.

Who gave a token to a person knows which report is hers: what she answered stays as random as without it.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from encoders.errors import TokenError
from encoders.report import ID_BYTES

if TYPE_CHECKING:
    from encoders.randomness import RandomSource
    from encoders.survey.plan import Plan
    from encoders.survey.questions import Question

INDEX_BYTES = 2
HASH_BYTES = 16
_CHECK_BYTES = 4  # with the id 20 bytes, 32 characters without padding
_PASSED_OVER = dict.fromkeys(map(ord, "- \t\r\n"))
_CHECK, _KEPT = b"ldp-bayes token check\0", b"ldp-bayes token kept\0"


def new_token(question: Question, rng: RandomSource) -> bytes:
    """Draw a token that lets somebody answer one question; takes 14 random bytes."""
    return id_start(question) + rng.take(ID_BYTES - INDEX_BYTES)


def drawn_token(plan: Plan, rng: RandomSource) -> str:
    """Draw a token for a question drawn by the public weights: for audits and applications' tests."""
    return token_text(plan, new_token(plan.draw(rng), rng))


def token_text(plan: Plan, token_id: bytes) -> str:
    """Spell a token of a plan as a person is given it: 32 letters and digits."""
    return base64.b32encode(token_id + _check(plan, token_id)).decode().lower()


def invitation(plan: Plan, token: str | None) -> tuple[Question, bytes] | None:
    """Return the question and the report's id that a token stands for; None where anybody may answer.

    Letters may be small or capital; hyphens, spaces, tabs and line breaks are passed over.

    Raises
    ------
    TokenError
        If it is missing or not asked for, misspelt, or a token of another plan. Whether it was ever given
        out, the collector knows.
    """
    if not plan.by_invitation:
        if token is not None:
            raise TokenError("is not asked for: anybody may answer this survey")
        return None
    if token is None:
        raise TokenError("is missing: this survey is answered by invitation")
    return _read(plan, token if isinstance(token, str) else "")


def _read(plan: Plan, text: str) -> tuple[Question, bytes]:
    try:
        data = base64.b32decode(text.translate(_PASSED_OVER).encode("ascii").upper())
    except ValueError:
        data = b""
    token_id = data[:ID_BYTES]
    if len(data) != ID_BYTES + _CHECK_BYTES or data[ID_BYTES:] != _check(plan, token_id):
        raise TokenError("is misspelt, or an invitation to another survey: copy all 32 characters of it")
    index = int.from_bytes(token_id[:INDEX_BYTES], "big")
    if index >= len(plan.questions):
        raise TokenError("names a question that the survey does not have")
    return plan.questions[index], token_id


def id_start(question: Question) -> bytes:
    """Return the first bytes of every token, and so of every report's id, for a question."""
    return question.index.to_bytes(INDEX_BYTES, "big")


def kept_hash(plan: Plan, token_id: bytes) -> bytes:
    """Return what a collector keeps of a token, 16 bytes: nobody can answer with that."""
    return hashlib.sha256(_KEPT + plan.digest_bytes + token_id).digest()[:HASH_BYTES]


def _check(plan: Plan, token_id: bytes) -> bytes:
    return hashlib.sha256(_CHECK + plan.digest_bytes + token_id).digest()[:_CHECK_BYTES]
