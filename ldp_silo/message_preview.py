"""Makes the message of a silo, and explains it before it is sent, by an example beside the exact counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from encoders.explain.text import Counted, format_table, wrap_text
from encoders.mechanisms.counted_table import CountedTable
from encoders.randomness import RandomSource
from encoders.report import Report, pack, unpack
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.features import Feature, NumericFeature
from encoders.survey.invitation import read_invitation
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.count_rows import CountedRows

MAX_LINES = 60
_SOFT_CELLS = ("soft cell low", "soft cell middle", "soft cell high", MISSING_TEXT)


@dataclass(frozen=True)
class SiloPreview:
    """The message that a silo would send for a file. `str` explains it; `repr` hides the counts."""

    plan: SiloPlan = field(repr=False)
    counted: CountedRows = field(repr=False)
    example: bytes = field(repr=False)
    """A message as it could be sent. Its noise is drawn for the preview only: never send it."""
    person: str | None = None
    """The column by which the rows of each person were counted."""

    def __str__(self) -> str:
        return "\n".join([*describe_plan(self.plan), "", *self._describe_rows(), "", *self._table()])

    def _describe_rows(self) -> list[str]:
        clipped, rows = self.counted.clipped, self.counted.rows
        fit = "The only row fits" if rows == 1 else f"All {rows:,} rows fit"
        text = (
            f"{fit} the survey. The table has exact counts: it is for those "
            "who may see the rows. The noisy counts beside them are an example, and may be negative; a "
            "message draws other noise. A number adds to three soft cells, which hold its mean and its "
            "mean square."
        )
        if clipped:
            text += f" Beyond the public bounds, and clipped to them, are numbers of: {', '.join(clipped)}."
        return [*wrap_text(text), "", *wrap_text(self._describe_persons())]

    def _describe_persons(self) -> str:
        if self.person is None:
            return (
                "NOT CHECKED: whether each person has only one row. Without --person, each row counts as a "
                "separate person, and a person with k rows spends k times epsilon."
            )
        most = self.plan.rows_per_person
        return (
            f"{self.person} names {Counted(len(self.counted.persons), 'person')}, each with at most "
            f"{Counted(most, 'row')} in this file. Earlier epochs are not compared here: `ldp-silo report` "
            "with LDP_REHEARSAL=1 does that, and sends nothing."
        )

    def _table(self) -> list[str]:
        mechanism = self.plan.mechanism
        noisy = mechanism.contribution(unpack(self.example, self.plan.max_report_bytes).payload)
        head = ["feature", "value", *self.plan.label.names]
        lines = [[*head, "exact", "sent, for example"]]
        for feature, table in zip(self.plan.features, mechanism.tables, strict=True):
            for index, value in enumerate(_value_names(feature)):
                for label in range(table.labels):
                    cell = table.start + index * table.labels + label
                    exact = _show_count(self.counted.counts[cell], table)
                    names = [feature.name, value, *self.plan.label.meaning(label).values()]
                    lines.append([*names, exact, _show_count(noisy[cell], table)])
        shown = format_table(lines[: MAX_LINES + 1], "<" * len(head) + ">>")
        hidden = len(lines) - MAX_LINES - 1
        return [*shown, f"... and {hidden:,} more counts"] if hidden > 0 else shown


def describe_plan(plan: SiloPlan) -> list[str]:
    """Return a description of the message that a silo sends for a survey, and of the epsilon it spends."""
    error = math.sqrt(plan.mechanism.noise_variance)
    rows = "one row" if plan.rows_per_person == 1 else f"at most {plan.rows_per_person} rows"
    names = ", ".join(entry.name for entry in plan.entries)
    by_label = "".join(f"{name}, together with " for name in plan.label.names)
    return wrap_text(
        f"Survey {plan.id} counts rows by {by_label}each of: {names}. A silo sends "
        f"one message of {plan.message_bytes:,} bytes, with {plan.mechanism.cells:,} noisy counts of "
        f"at most {Counted(plan.rows, 'row')}. Each person may have {rows} in all epochs, and spends epsilon "
        f"{plan.epsilon} once. The noise of a count has a standard error of at most {error:.3g} "
        f"rows. The plan's digest is {plan.digest}."
    )


def _value_names(feature: Feature) -> tuple[str, ...]:
    if isinstance(feature, NumericFeature):
        return _SOFT_CELLS if feature.missing == "category" else _SOFT_CELLS[:-1]
    return feature.texts


def _show_count(count: int, table: CountedTable) -> str:
    return f"{count:,}" if table.unit == 1 else f"{count / table.unit:,.1f}"


def draw_message_id(plan: SiloPlan, token: str | None, rng: RandomSource) -> bytes:
    """Return the id of a message: the token's id, or a random one; raise TokenError for a wrong token."""
    invited = read_invitation(plan, token)
    return invited[1] if invited else draw_report_id(plan, plan.question, rng)


def make_message(plan: SiloPlan, counts: Sequence[int], message_id: bytes, rng: RandomSource) -> bytes:
    payload = plan.mechanism.perturb(counts, rng)  # the last line that reads exact counts
    return pack(Report(plan.digest_bytes, plan.question.index, message_id, payload))
