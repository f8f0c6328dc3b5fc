"""Loads plans and signatures from files; the content shows whether a file is a survey or a compiled plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from encoders.errors import SignatureError, SurveyError, combine_errors
from encoders.late_imports import LateImport
from encoders.survey.compiled_plan import PlanT
from encoders.survey.features import Feature
from encoders.survey.plan import Plan
from encoders.survey.signature import read_signature

CompiledT = TypeVar("CompiledT")

# devices read compiled plans, and load none of these
_READ_SURVEY = LateImport("encoders.survey.toml_reader:read_survey")
_TOML_LINES = LateImport("encoders.survey.toml_reader")
_DESCRIBE_OTHER = LateImport("encoders.file_kind:describe_other")


@dataclass(frozen=True)
class PlanReader(Generic[PlanT]):
    """Reads plans of some kinds, and refuses others; encoders/survey/any_survey.py has those for desks."""

    plan_types: tuple[type[PlanT], ...]
    from_json: Callable[[bytes], PlanT]
    compile_text: Callable[[str], PlanT]

    def load(self, path: Path) -> PlanT:
        """Load a plan from an authored TOML survey or a compiled plan (canonical JSON), with texts if found.

        Raises SurveyError if the file cannot be read or is neither, or if the texts beside it are not the
        plan's. Each line of the message begins with the file's name.
        """
        return load_file(path, self.compile_text, self.from_json)


def load_file(
    path: Path, compile_text: Callable[[str], CompiledT], read_plan: Callable[[bytes], PlanT]
) -> CompiledT | PlanT:
    """Load a plan: compile an authored text, or read a compiled plan, with its texts if found."""
    with named_errors(path, "a survey or a plan", "survey", "plan", "json"):
        text = read_text(path)
        if not text.lstrip().startswith("{"):
            return compile_text(text)
        _require_whole_plan(text)
        plan = read_plan(text.strip().encode())
    beside = texts_path(path)
    if not (plan.texts_digest and beside.exists()):
        return plan
    with named_errors(beside):
        return plan.with_texts(read_text(beside).strip().encode())


def texts_path(plan: Path) -> Path:
    """Return the path of the texts of a compiled plan: plan.texts.json beside plan.json."""
    return plan.with_name(f"{plan.stem}.texts.json")


@contextmanager
def named_errors(path: Path, wanted: str = "", *kinds: str) -> Iterator[None]:
    """Name the file in errors, and what it is if it is not one of `kinds`."""
    try:
        yield
    except SurveyError as failure:
        error = failure
        if wanted and (other := _DESCRIBE_OTHER.load()(path, *kinds, "text", "toml")):
            error = SurveyError(f"is not {wanted}{other}")
        if not error.file:
            error.file = path.name
            error.args = ("\n".join(f"{path.name}: {line}" for line in str(error).splitlines()),)
        raise error from failure.__cause__


def signature_path(survey: Path) -> Path:
    """Return the path of the signature of a survey's file: in the same folder, with ``.sig`` added."""
    return survey.with_name(f"{survey.name}.sig")


def key_path(survey: Path) -> Path:
    """Return the path of the private key for the sealed reports of a survey's file: with ``.key`` added."""
    return survey.with_name(f"{survey.name}.key")


def load_signature_file(path: Path) -> bytes | None:
    """Load a well-formed signature without verifying it; None without a file, SignatureError for another."""
    try:
        return read_signature(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SignatureError(f"{path.name}: cannot be read: {error.strerror}") from error
    except SignatureError as error:
        raise SignatureError(f"{path.name}: {error.why}") from error


def read_text(path: Path) -> str:
    """Read a file as UTF-8; raise SurveyError if it is not one."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SurveyError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SurveyError("is not a UTF-8 text: save it as one") from error


def _require_whole_plan(text: str) -> None:
    if '"format"' not in text:
        toml_only = _TOML_LINES.load().TOML_ONLY
        raise SurveyError(
            f"is JSON, but not a whole compiled plan: {toml_only}. A .json file must be the plan that "
            "`ldp-survey compile SURVEY.toml -o PLAN.json` writes"
        )


def _compile(text: str) -> Plan:
    survey = _READ_SURVEY.load()(text)
    with named_lines(text, survey.features):
        plan: Plan = survey.compile()
        return plan


PEOPLE_PLANS = PlanReader((Plan,), Plan.from_json, _compile)


@contextmanager
def named_lines(text: str, features: Sequence[Feature]) -> Iterator[None]:
    """Add the line of its entry in `text` to each problem of a SurveyError."""
    try:
        yield
    except SurveyError as error:
        raise combine_errors([_with_line(each, text, features) for each in error.problems]) from error


def _with_line(error: SurveyError, text: str, features: Sequence[Feature]) -> SurveyError:
    name = error.field.removeprefix("features.")
    known = name in [feature.name for feature in features]
    line = _TOML_LINES.load().find_line(text, ("features", name) if known else tuple(error.field.split(".")))
    return type(error)(error.why, error.field, line)
