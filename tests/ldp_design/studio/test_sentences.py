"""What `check` says about surveys made in the studio has a German translation."""

import json
import re
from pathlib import Path

import pytest

from ldp_design.studio import imports
from ldp_design.studio.checked import describe_text
from tests.ldp_design.studio.mistakes import mistaken_surveys

STATIC = Path(imports.__file__).parent / "static"
GERMAN = json.loads((STATIC / "sentences-de.json").read_text("utf-8"))
HOLE = re.compile(r"\\\{\d\\\}")


def pattern_of(template):
    return re.compile(HOLE.sub("(.*?)", re.escape(template)), re.DOTALL)


@pytest.mark.slow
def test_every_mistake_and_warning_is_translated():
    patterns = [pattern_of(each) for each in GERMAN]
    messages = {
        problem["message"] for text in mistaken_surveys() for problem in describe_text(text)["problems"]
    }
    assert len(messages) > 50
    assert [each for each in messages if not any(pattern.fullmatch(each) for pattern in patterns)] == []


def test_translations_use_only_the_holes_of_their_sentences():
    for english, german in GERMAN.items():
        holes = re.findall(r"\{\d\}", english)
        assert holes == [f"{{{place}}}" for place in range(len(holes))]
        assert set(re.findall(r"\{\d\}", german)) <= set(holes)
