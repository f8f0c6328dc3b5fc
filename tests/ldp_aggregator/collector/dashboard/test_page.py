"""The files and responses of the dashboard; browser/ tests how it looks and works."""

import gzip
import json
import re
from posixpath import dirname, join, normpath

import pytest
from flask.testing import FlaskClient

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from ldp_aggregator.collector import current_results
from ldp_aggregator.collector.dashboard.dashboard_page import assets_version, load_assets
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import OPERATOR, REPORTS, make_client, rejected
from tests.support.html_page import parse_page

PROGRESS = "/v1/surveys/sleep/progress"
SECTIONS = f"{PROGRESS}.html"
MOST_BYTES = 70_000


def fill(web: FlaskClient, plan: Plan, count: int) -> None:
    rows = [({"age": "old", "hours": 7.5}, "yes"), ({"age": "young", "hours": 1}, "no")]
    body = b"".join(make_report(plan, *rows[number % 2]) for number in range(count))
    assert web.post(REPORTS, data=body, content_type=MEDIA_TYPE).status_code == 200


def read_texts() -> dict[str, str]:
    return {name: content.body.decode() for name, content in load_assets().items()}


def test_the_page_is_public_revalidated_and_has_a_strict_policy(web):
    response = web.get("/")
    assert (response.status_code, response.mimetype) == (200, "text/html")
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "Set-Cookie" not in response.headers
    assert response.headers["Cache-Control"] == "no-cache"
    assert web.get("/", headers={"If-None-Match": response.headers["ETag"]}).status_code == 304


def test_every_file_that_the_page_names_exists_and_is_cached_forever(web):
    named = re.findall(r'(?:href|src)="([^"#]+)"', web.get("/").text)
    assert named
    for path in named:
        response = web.get(f"/{path}")
        assert response.status_code == 200, path
        assert "immutable" in response.headers["Cache-Control"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    modules = {name for name in read_texts() if name.endswith(".js") and name != "main.js"}
    assert modules == {path.rpartition("/")[2] for path in named if path.endswith(".js")} - {"main.js"}


def test_modules_import_only_existing_modules():
    for name, text in read_texts().items():
        for target in re.findall(r'from "([^"]+)"', text):
            assert normpath(join(dirname(name), target)) in load_assets(), name


def test_nothing_is_loaded_from_other_hosts():
    for name, text in read_texts().items():
        known = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(https?:)?//\w+\.\w", known), name
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(| style=", known), name


def test_the_whole_page_is_small(web):
    named = {"", *re.findall(r'(?:href|src)="(static/[^"#]+)"', web.get("/").text)}
    assert sum(len(web.get(f"/{path}").data) for path in named) < MOST_BYTES
    packed = [web.get(f"/{path}", headers={"Accept-Encoding": "gzip"}).data for path in named]
    assert sum(map(len, packed)) < MOST_BYTES / 3


@pytest.mark.parametrize("path", ["static/0000/main.js", "static/{}/nothing.js", "static/{}/../page.py"])
def test_other_files_are_not_served(web, path):
    response = web.get(f"/{path.format(assets_version())}")
    assert (response.status_code, response.json["reason"]) == (404, "no-such-page")


def test_files_are_compressed_for_clients_that_accept_gzip(web):
    path = f"/static/{assets_version()}/style.css"
    packed = web.get(path, headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == web.get(path).data
    refused = web.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


# -- data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["progress", "progress.html"])
def test_progress_is_for_the_operator(web, store, page):
    path = f"/v1/surveys/sleep/{page}"
    assert web.get(path).status_code == 401
    assert make_client(store).get(path, headers=OPERATOR).status_code == 403
    assert web.get(f"/v1/surveys/diet/{page}", headers=OPERATOR).json["reason"] == "unknown-survey"


def test_progress_contains_the_counts(web, plan):
    fill(web, plan, 500)
    web.post(REPORTS, data=b"junk", content_type=MEDIA_TYPE)
    assert rejected(web, "sleep") == {"malformed": 1}
    document = web.get(PROGRESS, headers=OPERATOR).json
    assert (document["reports"], document["rejections"]) == (500, {"malformed": 1})
    assert [each["name"] for each in document["questions"]] == [each.name for each in plan.questions]
    assert sum(question["n"] for question in document["questions"]) == 500
    assert (document["epsilon"], document["plan_digest"]) == ("1", plan.digest)


def test_progress_without_reports_is_json_too(web):
    document = json.loads(web.get(PROGRESS, headers=OPERATOR).text, parse_constant=pytest.fail)
    assert document["reports"] == 0
    assert {each["n"] for each in document["questions"]} == {0}


@pytest.mark.slow
def test_the_sections_show_the_estimates_and_the_counts(web, plan):
    fill(web, plan, 500)
    page = parse_page(web.get(SECTIONS, headers=OPERATOR).data)
    known = web.get("/v1/surveys/sleep/estimates", headers=OPERATOR).json
    shown = {row[0].split(" \u25cf")[0]: row[-3] for row in page.table("Share of each class").rows()}
    assert shown == {
        name: f"{100 * share:.1f}%"
        for name, share in zip(known["classes"], known["raw_prior"]["value"], strict=True)
    }
    assert [each.text for each in page.section("warnings").find("li")] == known["warnings"]
    assert page.find("dd")[0].text == "500"


def test_the_sections_are_revalidated_and_have_the_policy_of_the_page(web):
    response = web.get(SECTIONS, headers=OPERATOR)
    assert response.mimetype == "text/html"
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert response.headers["Content-Security-Policy"] == web.get("/").headers["Content-Security-Policy"]
    again = web.get(SECTIONS, headers=OPERATOR | {"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304
    assert web.get(SECTIONS, headers={"If-None-Match": response.headers["ETag"]}).status_code == 401


def test_concurrent_readers_share_one_estimation(web, plan, monkeypatch):
    worked: list[int] = []
    estimate = current_results.estimate_survey
    monkeypatch.setattr(
        current_results,
        "estimate_survey",
        lambda *args, **options: worked.append(1) or estimate(*args, **options),
    )
    assert {web.get(SECTIONS, headers=OPERATOR).status_code for _ in range(20)} == {200}
    assert len(worked) == 1
