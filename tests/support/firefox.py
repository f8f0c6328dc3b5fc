"""A headless Firefox that is driven by WebDriver BiDi."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.support.bidi import Connection
from tests.support.firefox_profile import Preferences, environment, find_firefox, write_preferences
from tests.support.firefox_tab import Tab
from tests.support.servers import stop, wait_for


class Firefox:
    """A process on a profile, which a kill leaves as it is."""

    def __init__(self, profile: Path, preferences: Preferences | None = None) -> None:
        write_preferences(profile, preferences or {})
        address = profile / "WebDriverBiDiServer.json"  # where Firefox writes the port that it has chosen
        address.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [find_firefox(), "--headless", "--remote-debugging-port=0", "--profile", str(profile)],
            env=environment(profile),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: address.exists() and address.read_text().rstrip().endswith("}"))
            self.connection = Connection(json.loads(address.read_text())["ws_port"])
            session = self.connection.send("session.new", capabilities={})
            self.version: str = session["capabilities"]["browserVersion"]
            self.connection.send("session.subscribe", events=["log.entryAdded"])
        except BaseException:
            stop(self._process)
            raise

    @contextmanager
    def container(self) -> Iterator[str]:
        """Make a container, whose tabs share cookies and storage with no other tab; at the end close them."""
        container: str = self.connection.send("browser.createUserContext")["userContext"]
        yield container
        self.connection.send("browser.removeUserContext", userContext=container)

    def set_offline(self, offline: bool, container: str = "default") -> None:
        """Cut the connections of all tabs of a container, or permit them again."""
        conditions = {"type": "offline"} if offline else None
        self.connection.send(
            "emulation.setNetworkConditions", networkConditions=conditions, userContexts=[container]
        )

    def open_tab(self, container: str = "default") -> Tab:
        """Open a tab in the foreground."""
        created = self.connection.send("browsingContext.create", type="tab", userContext=container)
        return Tab(self.connection, created["context"])

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Let Firefox end and write its files, unless it was killed."""
        self.connection.close("browser.close")
        stop(self._process)
