"""The proxy and pages of other origins."""

import re
from urllib.parse import urlsplit

import pytest

from encoders.survey import read_survey
from ldp_client import make_report
from tests.deploy.proxy_requests import CLOSED_PATHS, PAGE, READABLE, ask, cross_origin_headers, post_report
from tests.support.servers import SHIPPED_PROXY, collector, free_port, front_proxy
from tests.support.surveys import SLEEP

DEPLOY = SHIPPED_PROXY.parent
ROW = {"age": "old", "hours": 7}


@pytest.mark.slow
def test_the_proxy_adds_and_removes_no_cross_origin_header(survey, tmp_path):
    report = make_report(read_survey(SLEEP).compile(), ROW, "yes")
    requests: list[tuple[str, str, bytes | None]] = [("OPTIONS", PAGE, None), ("POST", PAGE, report)]
    requests += [
        ("POST", PAGE, b"junk"),
        ("GET", "/v1/surveys/sleep", None),
        ("GET", "/v1/surveys/diet", None),
    ]
    requests += [(method, path, None) for method in ("GET", "OPTIONS") for path in CLOSED_PATHS]
    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        for number, request in enumerate(requests):
            direct, through = ask(base, *request), ask(front, *request)
            found = cross_origin_headers(through.headers)
            assert found == cross_origin_headers(direct.headers)
            assert through.status == direct.status or request[1] == "/livez"
            assert bool(found) == (number < 5)


@pytest.mark.slow
def test_the_documented_lines_make_the_proxy_refuse_pages_of_unknown_origins(survey, tmp_path, monkeypatch):
    documented = (DEPLOY.parent / "docs" / "securing.md").read_text()
    of_http, of_location = re.findall(
        r"^    (map \$http_origin .*|if \(\$foreign\) .*?)  +#", documented, re.M
    )
    location = "    location / {\n"
    head, rest = SHIPPED_PROXY.read_text().split(location)
    changed = tmp_path / "changed.conf"
    changed.write_text(f"{of_http}\n{head}{location}{of_location}\n{rest}")
    monkeypatch.setattr("tests.support.servers.SHIPPED_PROXY", changed)
    plan = read_survey(SLEEP).compile()

    def post(front: str, **headers: str) -> int:
        return post_report(front, make_report(plan, ROW, "yes"), **headers)[0]

    with (
        collector([survey], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _),
        front_proxy(tmp_path, urlsplit(base).port or 0) as front,
    ):
        assert post(front) == 200
        assert post(front, Origin="https://survey.example") == 200
        for origin in ("https://page.example", "http://survey.example", "null"):
            assert ask(front, "POST", PAGE, make_report(plan, ROW, "yes"), origin).status == 403


@pytest.mark.slow
def test_errors_of_the_proxy_are_readable_from_every_origin_for_the_paths_of_devices_only(tmp_path):
    open_paths = [f"/v1/surveys/sleep{path}" for path in ("", "?x=/", "/texts", "/signature", "/reports")]
    with front_proxy(tmp_path, free_port()) as front:
        for paths, expected in ((open_paths, READABLE), (CLOSED_PATHS, [])):
            for path in paths:
                unreachable = ask(front, "GET", path)
                assert unreachable.status == (404 if path[:3] in ("/li", "/x", "/x?") else 503)
                assert cross_origin_headers(unreachable.headers) == expected
        for path, expected in ((PAGE, READABLE), ("/metrics", [])):
            large = ask(front, "POST", path, bytes((256 << 10) + 1))
            assert (large.status, cross_origin_headers(large.headers)) == (413, expected)
            odd = ask(front, "TRACE", path)
            assert (odd.status, cross_origin_headers(odd.headers)) == (405, expected)
