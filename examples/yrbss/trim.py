"""Reduce the YRBSS selection to the columns of survey.toml: `python trim.py yrbss.csv > answers.csv`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

GAPS = ("", "NA")
ACTIVE_DAYS = 5
# open-ended answers of the questionnaire, as numbers
HOURS_OF_TV = {"do not watch": "0", "<1": "0.5", "5+": "5"}
HOURS_OF_SLEEP = {"<5": "4", "10+": "10"}


def trim(row: dict[str, str]) -> dict[str, str]:
    """Keep six answers and derive the label; a missing answer stays empty."""
    row = {name: "" if cell in GAPS else cell.removesuffix(".0") for name, cell in row.items()}
    return {
        "gender": row["gender"],
        "grade": row["grade"],
        "hours_tv": recode(row["hours_tv_per_school_day"], HOURS_OF_TV),
        "hours_sleep": recode(row["school_night_hours_sleep"], HOURS_OF_SLEEP),
        "strength_training_days": row["strength_training_7d"],
        "texted_while_driving": texted(row["text_while_driving_30d"]),
        "active": active(row["physically_active_7d"]),
    }


def recode(answer: str, numbers: dict[str, str]) -> str:
    """Replace the answers that are not numbers."""
    return numbers.get(answer, answer)


def texted(days: str) -> str:
    """Reduce the number of days, of the last 30, to yes and no."""
    return days if days in ("", "did not drive") else "no" if days == "0" else "yes"


def active(days: str) -> str:
    """Return whether the person was active for an hour on at least five of the last seven days."""
    return days and ("yes" if int(days) >= ACTIVE_DAYS else "no")


def main(path: str) -> None:
    """Write the reduced rows that have a label."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        rows = [trim(row) for row in csv.DictReader(file)]
    writer = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if row["active"])


if __name__ == "__main__":
    main(sys.argv[1])
