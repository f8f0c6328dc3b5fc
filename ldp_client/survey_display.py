"""What an application displays of a survey: its plan, its texts, and previews of reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from encoders.late_imports import LateImport
from encoders.randomness import SystemEntropy
from encoders.survey.plan import Plan
from encoders.survey.waves import NOW
from ldp_client.participation import Participation
from ldp_client.traceback_redaction import redact_traceback
from ldp_client.waves import OPEN_WAVE, find_wave

if TYPE_CHECKING:
    from encoders.explain.preview import Preview
    from encoders.survey.display_texts import DisplayTexts

# many applications show their own texts, and no preview
_DISPLAY_TEXTS = LateImport("encoders.survey.display_texts:display_texts")
_PREVIEW = LateImport("encoders.explain.preview:preview")


class SurveyDisplay:
    """The part of a client that displays its survey; these methods always raise their errors."""

    _participation: Participation
    _token: str | None
    rehearsal: bool

    @property
    def plan(self) -> Plan:
        """The survey's plan: given to the client, pinned on this device, or fetched; checked on first use.

        Raises
        ------
        LdpError
            The error that a strict client's :meth:`Client.grant` raises: it is not the survey's plan, exceeds
            `max_epsilon`, cannot be fetched, or the journal cannot be read.
        """
        return self._participation.plan

    def texts(self, language: str = "") -> DisplayTexts:
        """Return the texts that a person reads when they are asked, in a language.

        A text that the language lacks is taken from its base language, or from the survey's first language;
        if both lack it, it is the name. The texts are fetched on first use, and kept in memory, unless they
        were given to the client with the plan.

        Parameters
        ----------
        language : str
            A language tag, for example "de" or "pt-BR"; empty for the survey's first language.

        Returns
        -------
        DisplayTexts
            Plain text: display it as it is, and never as HTML or Markdown.

        Raises
        ------
        LdpError
            As for :attr:`plan`; also PlanError if the collector sends texts that are not the plan's, and
            TransportError if it does not have them.
        """
        texts: DisplayTexts = _DISPLAY_TEXTS.load()(self._participation.load_texts(), language)
        return texts

    @redact_traceback
    def preview(self, row: Mapping[str, object], label: object = None, language: str = "") -> Preview:
        """Return a preview of what `report` would do with a row; nothing is sent, spent or stored.

        Every call draws again: the bytes are an example.

        Parameters
        ----------
        row, label
            As for :meth:`report`.
        language : str
            Show the survey's texts in this language, see :meth:`texts`. Without it, they are shown in the
            survey's first language if they are at hand.

        Returns
        -------
        Preview
            `str` returns it as text. It contains the true answer: show it only to the person.

        Raises
        ------
        LdpError
            If the row or the token does not fit the survey, or the plan or its texts cannot be fetched.
        """
        plan = self._participation.load_texts() if language else self.plan
        shown: Preview = _PREVIEW.load()(
            plan, row, label, SystemEntropy(), token=self._token, language=language, wave=self._wave(plan)
        )
        series = self._participation.describe_series(plan.series_id)
        return replace(shown, rehearsal=self.rehearsal, series=series)

    def _wave(self, plan: Plan) -> int | None:
        """Return the index of the person's wave, if it is drawn; None if it is not, or there are none."""
        entry = self._participation.find_entry() if plan.waves else None
        if entry and entry.survey == plan.id:
            return find_wave(plan, entry.wave)
        return find_wave(plan, OPEN_WAVE) if plan.waves and plan.waves.assign == NOW else None
