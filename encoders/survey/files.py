"""Plans from files: an authored survey or a compiled plan, told apart by content."""

from __future__ import annotations

from pathlib import Path

from encoders.errors import SurveyError
from encoders.survey.authoring import read_survey
from encoders.survey.plan import Plan


def load_plan_file(path: Path) -> Plan:
    """Load a plan from an authored TOML survey or a compiled plan (canonical JSON).

    Raises
    ------
    SurveyError
        If the file cannot be read or is neither; the message begins with its name.
    """
    try:
        data = path.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise SurveyError(f"{path.name}: cannot be read: {why}") from error
    try:
        return Plan.from_json(data) if text.lstrip().startswith("{") else read_survey(text).compile()
    except SurveyError as error:
        error.args = (f"{path.name}: {error}",)
        raise
