"""The rendered result explains its tables, marks every row, and states what a passed audit covers."""

from dataclasses import replace
from fractions import Fraction

import pytest

from benchmarks.buggy_clients import compile_survey
from encoders.epsilon_proof import realised_epsilon
from ldp_audit import AuditResult
from ldp_audit.blackbox import Leak
from ldp_audit.outcomes import ExactResult, compute_exact
from ldp_audit.render import render_html, render_text
from ldp_audit.result import FRESHNESS, HOMOGENEITY, TIMING, BlackBoxResult, Check, format_p_value
from tests.support.html_page import list_lines, named_statements, parse_page

PLAN = compile_survey("SUE", "sign")


def make_result(
    *,
    exact: tuple[ExactResult, ...] = (),
    bound: float = 0.5,
    detectable: float = 4.0,
    checks: tuple[Check, ...] = (),
) -> AuditResult:
    leak = Leak("first, no", "last, yes", "byte 57 is 0", bound, detectable, 1000)
    return AuditResult(
        plan=PLAN,
        trials=1000,
        alpha=1e-6,
        exact=exact or tuple(compute_exact(PLAN, question) for question in PLAN.questions),
        black_box=(BlackBoxResult("kind", leak, 1),),
        checks=checks,
    )


def row_of(result: AuditResult, start: str) -> str:
    return next(line for line in render_text(result).splitlines() if line.startswith(start))


CHECKS = (
    Check(HOMOGENEITY, "lengths", True, "58 bytes"),
    Check(FRESHNESS, "retries", False, "2 bodies"),
    Check(FRESHNESS, "forks", None, "not tested: this system does not fork"),
    Check(TIMING, "times", None, "1% of 9 microseconds"),
)
RESULTS = {"passed": make_result(), "failed": make_result(bound=1.2, detectable=0.9, checks=CHECKS)}


def test_the_terminal_explains_every_table_and_column(
    compare_with_golden,
):
    compare_with_golden("terminal", render_text(RESULTS["passed"]) + "\n")


def test_the_page_explains_every_table_and_column(compare_with_golden):
    with named_statements():
        page = parse_page(render_html(RESULTS["failed"]).encode())
    compare_with_golden("page", "\n".join(list_lines(page)) + "\n")


def test_the_page_escapes_what_a_client_sends():
    check = Check(HOMOGENEITY, "lengths", False, "<script>alert(1)</script>")
    assert "<script" not in render_html(make_result(checks=(check,)))


def test_the_realised_epsilon_is_a_bound_that_holds_without_rounding():
    result = make_result()
    assert " <= 1 (exact)  " in row_of(
        result, "size (mean)"
    )  # ln of the ratio is rounded up to 1.00000000000
    assert " below 1e-12  " in row_of(result, "size (mean)")
    sue = result.exact[0]
    assert f" <= {sue.realised_epsilon}  " in row_of(result, "kind ")
    assert sue.realised_epsilon < "1"


def test_tables_slightly_above_epsilon_are_not_rounded_to_epsilon():
    sign = next(each for each in make_result().exact if each.mechanism == "sign")
    ratio = sign.ratio + Fraction(1, 10**15)
    above = replace(sign, ratio=ratio, realised_epsilon=str(realised_epsilon(ratio)), passed=False)
    row = row_of(make_result(exact=(above,)), "size (mean)")
    assert " > 1 (exact)  " in row
    assert row.endswith("  FAULT")


def test_a_claim_that_the_enumeration_contradicts_is_not_shown_as_a_bound():
    sign = next(each for each in make_result().exact if each.mechanism == "sign")
    claimed = replace(
        sign, ratio=Fraction(2), realised_epsilon=str(realised_epsilon(Fraction(2))), passed=False
    )
    row = row_of(make_result(exact=(claimed,)), "size (mean)")
    assert " claimed: <= 0.693147180560; the enumeration differs  " in row
    assert row.endswith("  FAULT")


@pytest.mark.parametrize(
    ("bound", "detectable", "mark"),
    [
        (0.9999, 4.0, "ok"),
        (1.2, 4.0, "FAULT"),
        (0.0, 1.5, "ok (shows only leaks far above epsilon)"),
        (0.0, 1.0, "too few messages to show any leak"),
    ],
)
def test_every_black_box_row_is_marked(bound, detectable, mark):
    result = make_result(bound=bound, detectable=detectable)
    rows = [line for line in render_text(result).splitlines() if "byte 57 is 0" in line]
    assert rows[0].endswith(f"  {mark}")
    assert result.passed == (mark != "FAULT")
    assert bool(result.notes) == mark.startswith("too few")


def test_a_p_value_too_small_for_a_float_is_not_written_as_zero():
    assert format_p_value(0.0, 2) == "p < 1e-300"
    assert format_p_value(2.2e-5, 2) == "p = 2.2e-05"
