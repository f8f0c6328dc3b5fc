"""Renders the results page: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from functools import cache

from jinja2 import Template

from ldp_aggregator.models.central_file import CentralModelFile
from ldp_aggregator.render.html import load_template
from ldp_aggregator.results.comparison import compare_surveys
from ldp_aggregator.results.page.central_view import build_central_view
from ldp_aggregator.results.page.source import ResultsError
from ldp_aggregator.results.page.view import build_view
from ldp_aggregator.results.survey_results import SurveyResults

_NO_COMPARISON = "a model of a curator has no estimates with intervals, so it cannot be compared"
_DAMAGED_ERRORS = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)


def render_page(
    results: SurveyResults | CentralModelFile,
    other: SurveyResults | CentralModelFile | None = None,
    *,
    independent: bool = False,
) -> bytes:
    """Return the results page in UTF-8; the same arguments give the same bytes.

    Parameters
    ----------
    results : SurveyResults or CentralModelFile
    other : SurveyResults, optional
        Another survey to compare the results with. Models of curators have no estimates to compare.
    independent : bool
        See :func:`compare_surveys`.

    Raises
    ------
    ComparisonError
        See :func:`compare_surveys`.
    ResultsError
        If an entry of the estimates is missing or of a wrong type.
    """
    if isinstance(results, CentralModelFile):
        if other:
            raise ResultsError(_NO_COMPARISON)
        return _load_template("central.html").render(build_central_view(results)).encode()
    if isinstance(other, CentralModelFile):
        raise ResultsError(_NO_COMPARISON)
    try:
        comparison = compare_surveys(results, other, independent=independent) if other else None
        return _load_template("page.html").render(build_view(results, comparison, other)).encode()
    except _DAMAGED_ERRORS as error:
        survey = f"{results.plan.id} or {other.plan.id}" if other else results.plan.id
        raise ResultsError(
            f"{survey}: the content is inconsistent ({type(error).__name__}: {error}). Restore the original "
            "or run ldp-train again"
        ) from error


@cache
def _load_template(name: str) -> Template:
    return load_template("ldp_aggregator.results.page", name)
