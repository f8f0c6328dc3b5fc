"""The command `ldp-survey studio`: its address, its end, and what prevents its start."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from ldp_design.studio import imports
from tests.support.studio import PROGRAM, run_studio

EXAMPLE = imports.read_example()
STATIC = Path(sys.modules[imports.__name__].__file__).parent / "static"


def start(*arguments, **environment):
    command = [sys.executable, "-c", PROGRAM, "studio", "--no-browser", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_studio_in_peace(tmp_path, number):
    with run_studio(tmp_path, EXAMPLE) as studio:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/\?token=[\w-]{43}", studio.address)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(studio.address.partition("?")[0], timeout=60)
        studio.process.send_signal(number)
        assert studio.process.wait(30) == 0


@pytest.mark.slow
def test_a_second_studio_and_a_taken_port_are_refused_in_a_sentence(tmp_path):
    with run_studio(tmp_path, EXAMPLE) as studio:
        again = start(studio.path, XDG_STATE_HOME=str(tmp_path / "state"))
        assert again.returncode == 1
        assert again.stderr == "Error: survey.toml is open in another studio: use that one, or end it first\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        taken = start(tmp_path / "survey.toml", "--port", port, XDG_STATE_HOME=str(tmp_path / "state"))
    assert taken.returncode == 1
    assert taken.stderr.startswith(f"Error: --port: {port} is used by another program")


def test_the_page_is_small_and_its_lines_and_modules_are_short():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 150_000
    scripts = {path.name: path.read_text("utf-8").splitlines() for path in STATIC.glob("*.js")}
    assert max(map(len, scripts.values())) <= 400
    assert sum(map(len, scripts.values())) <= 1_400
    modules = STATIC.parent.glob("*.py")
    assert sum(len(path.read_text("utf-8").splitlines()) for path in modules) <= 1_600
    assert max(len(line) for lines in scripts.values() for line in lines) <= 120


def test_both_languages_have_the_words_that_the_page_uses():
    english, german = (
        json.loads((STATIC / f"words-{each}.json").read_text("utf-8")) for each in ("en", "de")
    )
    assert english.keys() == german.keys()
    scripts = "".join(path.read_text("utf-8") for path in STATIC.glob("*.js"))
    used = set(re.findall(r'\bt\("(\w+)"', scripts)) | set(
        re.findall(r'\b(?:h2|h3|heading)\("(\w+)"', scripts)
    )
    assert used <= english.keys()
    holes = {name: sorted(re.findall(r"\{\d\}", text)) for name, text in english.items()}
    assert holes == {name: sorted(re.findall(r"\{\d\}", text)) for name, text in german.items()}
