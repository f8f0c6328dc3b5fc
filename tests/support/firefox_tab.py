"""A tab of Firefox: scripts, real input, screenshots."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.support.bidi import BidiError, Connection
from tests.support.servers import wait_for

_KEYS = {
    "Shift": "\ue008",
    "Control": "\ue009",
    "Alt": "\ue00a",
    "Backspace": "\ue003",
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Space": " ",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Delete": "\ue017",
}
"""Keys that are not characters; https://www.w3.org/TR/webdriver2/#keyboard-actions lists the others."""
_EVALUATE = """async (text) => {
    const value = (%s);
    return JSON.stringify(await (typeof value === "function" ? value(JSON.parse(text)) : value));
}"""
_CENTRE = """(selector) => {
    const element = document.querySelector(selector);
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2].map(Math.round);
}"""
_ACTIVE_ELEMENT = """() => {
    let element = document.activeElement;
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    const { id, name, value, checked } = element;
    return { tag: element.localName, id, name, value, checked, text: element.textContent.trim() };
}"""


class Tab:
    """A tab with real input. Its methods are named like those of Playwright's `Page`."""

    def __init__(self, connection: Connection, context: str) -> None:
        self._connection, self._context = connection, context

    @property
    def errors(self) -> list[str]:
        """The errors that nothing has caught, and those on the console."""
        entries = [each["params"] for each in self._connection.events if each["method"] == "log.entryAdded"]
        own = [each for each in entries if each["source"].get("context") == self._context]
        return [each["text"] for each in own if each["level"] == "error"]

    def goto(self, url: str) -> None:
        self._send("browsingContext.navigate", url=url, wait="complete")

    def evaluate(self, expression: str, arg: Any = None) -> Any:
        """Return the value of an expression; if it is a function, the result of a call with `arg`.

        Argument and result are JSON; a promise is waited for.
        """
        result = self._connection.send(
            "script.callFunction",
            functionDeclaration=_EVALUATE % expression,
            arguments=[{"type": "string", "value": json.dumps(arg)}],
            target={"context": self._context},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise BidiError(result["exceptionDetails"]["text"])
        return json.loads(result["result"].get("value", "null"))

    def wait_for_function(self, expression: str) -> None:
        """Wait until an expression is true, or the function returns such a value."""
        wait_for(lambda: self.evaluate(expression))

    def active_element(self) -> dict[str, Any]:
        """Return tag, id, name, value, checked and text of the focused element, also in a shadow root."""
        element: dict[str, Any] = self.evaluate(_ACTIVE_ELEMENT)
        return element

    def press(self, *chords: str) -> None:
        """Press keys one after the other: characters, `Tab`, `Space`, `ArrowDown`, or `Shift+Tab`."""
        for chord in chords:
            *modifiers, last = chord.split("+") if len(chord) > 1 else [chord]
            keys = [_KEYS.get(key, key) for key in (*modifiers, last)]
            down = [{"type": "keyDown", "value": key} for key in keys]
            self._perform("key", down + [{"type": "keyUp", "value": key} for key in reversed(keys)])

    def type(self, text: str) -> None:
        self.press(*text)

    def click(self, selector: str) -> None:
        """Click on the centre of an element, as a mouse does."""
        x, y = self.evaluate(_CENTRE, selector)
        down, up = ({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp"))
        self._perform("pointer", [{"type": "pointerMove", "x": x, "y": y}, down, up])

    def set_viewport_size(self, width: int, height: int) -> None:
        self._send("browsingContext.setViewport", viewport={"width": width, "height": height})

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page as PNG."""
        picture = self._send("browsingContext.captureScreenshot", origin="document")["data"]
        path.write_bytes(base64.b64decode(picture))

    def bring_to_front(self) -> None:
        self._send("browsingContext.activate")

    def close(self) -> None:
        self._send("browsingContext.close")

    def _perform(self, kind: str, actions: list[dict[str, Any]]) -> None:
        self._send("input.performActions", actions=[{"type": kind, "id": kind, "actions": actions}])

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._connection.send(method, context=self._context, **parameters)
