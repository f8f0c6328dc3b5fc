"""What tests of pages need of Firefox: keys, the pointer, the focus, errors and screenshots."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.clients]

PAGE = """data:text/html;charset=utf-8,<!doctype html>
<input id="name">
<label><input type="radio" name="age" value="young" checked>young</label>
<label><input type="radio" name="age" value="old">old</label>
<x-form></x-form>
<p onclick="this.id = 'clicked'">text</p>
<script>
    const root = document.querySelector("x-form").attachShadow({ mode: "open" });
    root.innerHTML = "<input type=checkbox id=agree><button>Send</button>";
    root.querySelector("button").onclick = () => console.error("sent");
</script>"""


@pytest.fixture
def tab(firefox, container):
    opened = firefox.open_tab(container)
    opened.goto(PAGE.replace("\n", ""))
    return opened


def test_a_form_is_filled_in_with_keys_alone(tab):
    tab.press("Tab")
    tab.type("Zoë +1")
    tab.press("ArrowLeft", "Backspace", "Shift+A")
    assert tab.active_element()["value"] == "Zoë A1"
    tab.press("Tab", "ArrowDown")
    assert [tab.active_element()[key] for key in ("value", "checked")] == ["old", True]
    tab.press("Tab", "Space")
    assert [tab.active_element()[key] for key in ("id", "checked")] == ["agree", True]
    tab.press("Tab", "Enter")
    assert [tab.active_element()[key] for key in ("tag", "text")] == ["button", "Send"]
    assert tab.errors == ["sent"]
    tab.press("Shift+Tab")
    assert tab.active_element()["id"] == "agree"


def test_the_pointer_clicks_and_the_page_is_pictured(tab, tmp_path):
    tab.click("p")
    assert tab.evaluate("document.querySelector('p').id") == "clicked"
    tab.set_viewport_size(390, 844)
    assert tab.evaluate("innerWidth") == 390
    tab.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
