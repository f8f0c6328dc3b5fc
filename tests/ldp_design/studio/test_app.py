"""The studio's HTTP interface: who gets in, what a page can do, and what bad input leads to."""

import io
import json
import zipfile

import pytest

from encoders.survey import read_survey
from ldp_design.studio import imports
from ldp_design.studio.access import Access
from ldp_design.studio.app import create_app
from ldp_design.studio.checked import describe_text
from ldp_design.studio.session import Session
from ldp_design.studio.workfile import WorkFile

EXAMPLE = imports.read_example()
PORT = 45_678
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
_ROWS = (("low", "true", 0), ("high", "false", 1), ("low", "false", 2))


class Page:
    """What the page in the browser does."""

    def __init__(self, folder, text=EXAMPLE):
        self.path = folder / "survey.toml"
        if text is not None:
            self.path.write_text(text)
        self.file = WorkFile(self.path, folder / "state")
        self.session, self.access = Session(self.file), Access(PORT)
        self.client = create_app(self.session, self.access).test_client()
        self.address = self.access.address.removeprefix(ORIGIN + self.access.folder)

    def get(self, path, **headers):
        """Ask for a path below the secret folder, or for one that is elsewhere."""
        path = path if path.startswith(self.access.frames) else self.access.folder + path.removeprefix("/")
        return self.client.get(path, base_url=ORIGIN, headers=headers, buffered=True)

    def post(self, name, body=None, **headers):
        """Send an object, or a file."""
        sent = {"data": body} if isinstance(body, str | bytes) else {"json": body or {}}
        address = f"{self.access.folder}api/{name}"
        return self.client.post(address, base_url=ORIGIN, headers={"Origin": ORIGIN} | headers, **sent)

    def size(self):
        """Return the size, and suggestions."""
        return [json.loads(line) for line in self.get("/api/stream/sizes").text.splitlines()]

    def publish(self, form, collector="", language="en"):
        body = {"form": form, "collector": collector, "allowEnglish": False, "language": language}
        return self.post("publish", body)

    def edit(self, *operations):
        response = self.post("edit", {"operations": operations})
        assert response.status_code == 200, response.json
        return response.json


@pytest.fixture
def stranger(tmp_path):
    page = Page(tmp_path)
    yield page
    page.file.close()


@pytest.fixture
def page(stranger):
    assert stranger.get(stranger.address).status_code == 303
    return stranger


def test_the_address_opens_the_studio_in_one_browser(stranger):
    response = stranger.get(stranger.address)
    assert response.headers["Location"] == stranger.access.folder
    cookie = response.headers["Set-Cookie"]
    assert f"Path={stranger.access.folder}" in cookie  # other programs on 127.0.0.1 do not get it
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert stranger.get("/").status_code == 200
    assert stranger.get(stranger.address).headers["Location"] == stranger.access.folder
    other = stranger.client.application.test_client()
    again = stranger.access.folder + stranger.address
    assert other.get(again, base_url=ORIGIN).status_code == 403


@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/static/main.js", "/events", "/results", "/?token=guess"]
)
def test_without_the_cookie_nothing_is_shown(stranger, path):
    response = stranger.get(path)
    assert response.status_code == 403
    assert b"missed" not in response.data


@pytest.mark.parametrize("host", ["localhost:45678", "evil.example", "127.0.0.1:1", "127.0.0.1"])
def test_another_host_is_refused(page, host):
    assert page.get("/api/state", Host=host).status_code == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "https://evil.example", "null", None])
def test_another_origin_changes_nothing(page, origin):
    headers = {"Origin": origin} if origin else {}
    address = f"{page.access.folder}api/undo"
    response = page.client.post(address, json={}, base_url=ORIGIN, headers=headers)
    assert response.status_code == 403


def test_pages_of_other_sites_read_nothing(page):
    assert page.get("/api/state", **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert page.get("/api/state", **{"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert "Access-Control-Allow-Origin" not in page.get("/api/state").headers


def test_every_response_has_a_strict_policy(page):
    for path in ("/", "/api/state", "/static/main.js", "/nothing", f"{page.access.frames}preview.html"):
        policy = page.get(path).headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src ")
        assert "unsafe" not in policy


def test_frames_have_no_secret(stranger):
    for name in ("preview.html", "frame.js", "ldp-survey.js"):
        assert stranger.get(f"{stranger.access.frames}{name}").status_code == 200
    for name in ("main.js", "state", "../survey.toml"):
        assert stranger.get(f"{stranger.access.frames}{name}").status_code == 404
    assert stranger.client.get("/guess/preview.html", base_url=ORIGIN).status_code == 403


def test_mistakes_are_at_their_fields_in_the_words_of_check(page):
    state = page.edit({"op": "set", "path": ["survey", "epsilon"], "value": {"number": "many"}})
    [problem] = state["problems"]
    assert problem["field"] == "survey.epsilon"
    assert problem["message"].startswith("needs a number from 0.001 to 32")
    assert problem["line"] == 9
    assert state["facts"] is None


def test_an_edit_is_saved_only_on_request_and_can_be_undone(page):
    state = page.edit({"op": "set", "path": ["survey", "id"], "value": "sleep"})
    assert (state["saved"], state["undo"]) == (False, True)
    assert page.path.read_text() == EXAMPLE
    assert page.post("save").json["saved"]
    assert 'id = "sleep"' in page.path.read_text()
    state = page.post("undo").json
    assert (state["redo"], state["tables"]["survey"]["id"]) == (True, "missed-payments-2026")


def test_the_order_of_questions_is_that_of_the_file(page):
    assert [*page.get("/api/state").json["tables"]["features"]] == ["age", "income", "debt", "cards"]


def test_a_text_that_is_no_toml_is_kept_and_explained(page):
    state = page.post("text", {"text": "[survey\nid ="}).json
    assert state["tables"] is None
    assert "not valid TOML" in state["problems"][0]["message"]
    assert page.get("/api/text").json == {"text": "[survey\nid ="}


@pytest.mark.slow
def test_margins_are_those_of_the_command(page):
    page.edit({"op": "set", "path": ["survey", "users"], "value": 20_000})
    size = page.size()[0]
    assert {each["name"]: each["grade"] for each in size["rows"]} == {
        "missed_payment": "good",
        "age": "rough",
        "income": "noise",
        "debt": "rough",
        "cards": "rough",
    }
    assert (size["rows"][1]["typical"], round(size["rows"][1]["margin"], 3)) == (0.2, 0.092)


@pytest.mark.slow
def test_suggestions_have_the_effect_that_they_promise(page):
    page.edit({"op": "set", "path": ["survey", "users"], "value": 20_000})
    _, *found = page.size()
    assert {"relay", "question", "bins", "label", "people"} <= {each["name"] for each in found}
    for each in found:
        page.edit(*each["operations"])
        size = page.size()[0]
        assert size["widest"] == pytest.approx(each["after"]["widest"])
        assert size["noise"] == each["after"]["noise"]
        page.post("undo")


def test_a_fault_in_a_stream_prints_no_content(page, monkeypatch, capsys):
    def fail(*_, **__):
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr("ldp_design.studio.sizes.compare_sizes", fail)
    assert "fault in the studio" in page.get("/api/stream/sizes").text
    assert "secret" not in "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_preview_has_the_plan_of_the_draft(page):
    page.edit({"op": "set", "path": ["survey", "id"], "value": "other"})
    preview = page.get("/api/preview").json
    assert json.loads(preview["plan"])["id"] == "other"
    page.edit({"op": "relay", "value": "all"}, {"op": "fit"})
    preview = page.get("/api/preview").json
    assert preview["attributes"]["relay"] == "https://relay.example"


@pytest.mark.slow
def test_a_survey_is_simulated_until_it_is_done_or_changes(page, monkeypatch):
    monkeypatch.setattr("ldp_design.sizing.simulated_margins.simulate_margins.__defaults__", (5, 0))
    lines = [json.loads(line) for line in page.get("/api/stream/simulation").text.splitlines()]
    assert [each["done"] for each in lines] == [1, 2, 3, 4, 5]
    assert len(lines[-1]["margins"]) == len(page.size()[0]["rows"])
    assert {each["edition"] for each in lines} == {page.session.describe()["edition"]}
    path = f"{page.access.folder}api/stream/simulation"
    stream = page.client.get(path, base_url=ORIGIN)
    next(stream.response)
    page.edit({"op": "set", "path": ["survey", "users"], "value": 20})
    assert list(stream.response) == []


@pytest.mark.slow
def test_a_simulation_ends_with_the_connection_of_the_page(page):
    with page.client.get(f"{page.access.folder}api/stream/simulation", base_url=ORIGIN) as stream:
        next(stream.response)
        assert page.session.idle_seconds() == 0
        assert page.session._running == 1
    assert page.session._running == 0


def test_a_survey_with_mistakes_is_not_simulated(page):
    page.edit({"op": "set", "path": ["survey", "epsilon"], "value": {"number": "100"}})
    assert "survey.epsilon" in json.loads(page.get("/api/stream/simulation").text)["message"]


def test_a_question_without_text_is_a_mistake_at_its_field_and_is_not_published(page):
    page.edit(
        {"op": "add", "path": ["texts", "en"], "value": {"entries": {}}},
        *(
            {"op": "set", "path": ["texts", "en", *each, "title"], "value": "Why?"}
            for each in (["label"], *(["features", name] for name in ("income", "debt", "cards")))
        ),
    )
    state = page.post("save").json
    [problem] = [each for each in state["problems"] if each["severity"] == "error"]
    assert problem["field"] == "texts.en.features.age.title"
    assert problem["message"] == "missing: people would read the short name"
    assert "features.age.title" in state["facts"]["missing"]["en"]  # as `check` says
    assert state["facts"]["digest"]  # it can be sized and tried
    for form in ("zip", "folder", "draft"):
        assert "correct the mistakes" in page.publish(form, "https://c.example").json["message"]
    page.edit({"op": "set", "path": ["texts", "en", "features", "age", "title"], "value": "How old?"})
    assert not any(each["severity"] == "error" for each in page.get("/api/state").json["problems"])


def test_a_survey_whose_relay_lacks_keys_has_a_draft(page):
    page.edit({"op": "relay", "value": "one"}, {"op": "fit"})
    page.post("save")
    with zipfile.ZipFile(io.BytesIO(page.publish("draft", language="de").data)) as archive:
        assert {"draft.html", "content.js", "README.txt"} <= {*archive.namelist()}
        assert "ENTWURF" in archive.read("README.txt").decode()
        assert "not to be published" in archive.read("draft.html").decode()
        assert "missed-payments-2026" in archive.read("content.js").decode()


def test_a_preview_of_a_survey_with_mistakes_says_what_is_wrong(page):
    page.edit({"op": "set", "path": ["survey", "epsilon"], "value": {"number": "100"}})
    response = page.get("/api/preview")
    assert response.status_code == 422
    assert "survey.epsilon" in response.json["message"]


def test_a_form_is_imported_and_what_is_left_out_is_listed(page):
    table = "age,name,income\n" + "\n".join(f"{20 + i % 9},Person {i},{1000 * i}" for i in range(40))
    state = page.post("import?name=sample.csv", table).json
    assert "age" in state["tables"]["features"]
    assert any("name" in note for note in state["notes"])
    assert page.post("undo").json["tables"]["survey"]["id"] == "missed-payments-2026"


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        ("form.xlsx", 100, "form.xlsx"),
        ("form.doc", 10, "is not an XLSForm"),
        ("form.xlsx", 10_000_001, "more than 10 MB"),
        ("form.csv", 11_000_000, "more than 10 MB"),
        ("../../x.csv", 0, "x"),
    ],
)
def test_a_file_that_cannot_be_imported_changes_nothing(page, name, size, why):
    response = page.post(f"import?name={name}", b"x" * size)
    assert response.status_code in (413, 422)
    assert why in response.json["message"]
    assert page.get("/api/text").json["text"] == EXAMPLE


def test_a_new_survey_compiles(tmp_path):
    page = Page(tmp_path, None)
    page.get(page.address)
    state = page.post("new", {"name": "sleep", "title": 'Sleep "and" work', "languages": ["en", "de"]}).json
    assert state["facts"]["id"] == "sleep"
    assert [*state["tables"]["texts"]] == ["en", "de"]
    assert page.post("new", {"example": True}).json["facts"]
    page.file.close()


def test_a_fault_of_the_studio_prints_no_content(page, capsys):
    response = page.post("edit", {"operations": [{"op": "set", "path": 3, "value": "secret words"}]})
    assert response.status_code in (422, 500)
    response = page.post("text", {"words": "secret words"})
    assert response.status_code == 500
    assert "secret" not in response.text + "".join(capsys.readouterr())


def test_publishing_needs_a_saved_survey_without_mistakes(page):
    page.edit({"op": "set", "path": ["survey", "id"], "value": "sleep"})
    assert "save the survey first" in page.publish("zip").json["message"]
    page.edit({"op": "set", "path": ["survey", "id"], "value": ""})
    page.post("save")
    assert "correct the mistakes" in page.publish("folder").json["message"]


@pytest.mark.slow
def test_the_published_files_are_those_of_the_commands(page):
    page.edit({"op": "label", "path": ["label"]})
    page.post("save")
    assert "give the collector's address" in page.publish("zip").json["message"]
    response = page.publish("zip", "https://collector.example", "de")
    with zipfile.ZipFile(io.BytesIO(response.data)) as archive:
        names = archive.namelist()
        digest = read_survey(page.path.read_text()).compile().digest
        assert digest in archive.read("site/index.html").decode()
        assert read_survey(archive.read("survey.toml").decode()).compile().digest == digest
        assert archive.read("README.txt").decode().startswith("Dateien der Umfrage missed-payments-2026")
    assert names == [
        "README.txt",
        "dossier.html",
        "plan.json",
        "site/index.html",
        "site/ldp-survey.js",
        "survey.toml",
    ]
    signed = page.post("sign").json["keys"]
    assert signed["key"].endswith("author.key")
    folder = page.publish("folder", "https://collector.example").json["folder"]
    assert "public-key=" in (page.path.parent / "survey-publish" / "site" / "index.html").read_text()
    (page.path.parent / "survey-publish" / "mine.txt").write_text("x")
    assert "mine.txt" in page.publish("folder", "https://collector.example").json["message"]
    assert folder == str(page.path.parent / "survey-publish")


def test_an_answer_that_an_import_adds_is_told():
    rows = "".join(f"{each}\n" for each in ("low", "mid", "high") * 20)
    text, notes = imports.import_file("s.csv", f"stress\n{rows}".encode(), [])
    assert 'values = ["high", "low", "mid", "other"]' in text
    assert notes == [
        "stress: guess: all values that occur at least twice; confirm, and add those that the sample lacks",
        'stress: guess: "other" stands for every answer that is not listed; confirm',
    ]


@pytest.mark.parametrize(("spoken", "yes"), [("en", "Yes"), ("de", "Ja"), ("fr", "Yes")])
def test_the_answers_of_a_table_become_texts_and_its_questions_have_none_yet(spoken, yes):
    rows = "".join(f"{stress},{smokes},{visits}\n" for stress, smokes, visits in _ROWS * 20)
    text, _ = imports.import_file("s.csv", f"stress,smokes,visits\n{rows}".encode(), [], spoken)
    found = describe_text(text)
    texts = found["tables"]["texts"][spoken]["features"]
    assert texts["stress"]["values"] == {"high": "high", "low": "low"}
    assert texts["smokes"]["values"]["true"] == yes
    assert "visits" not in texts  # numbers need no words
    errors = [each["field"] for each in found["problems"] if each["severity"] == "error"]
    assert errors == [f"texts.{spoken}.features.{each}.title" for each in ("stress", "smokes", "visits")]
