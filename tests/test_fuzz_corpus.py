"""Every reader accepts each input of the fuzzer's corpus, or refuses it with the documented error."""

import time
from pathlib import Path

import pytest

from tools.fuzz.targets import CORPUS, TARGETS

SECONDS = 5
"""An input takes milliseconds; the limit is for busy machines."""


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_of_the_corpus_are_accepted_or_refused_with_the_documented_error(name):
    inputs = sorted((CORPUS / name).iterdir())
    assert inputs
    for path in inputs:
        accepted, took = read(name, path)
        assert took < SECONDS, path.name
        assert accepted or not path.name.startswith("seed-"), f"{path.name}: run python -m tools.fuzz.seeds"


def read(name: str, path: Path) -> tuple[bool, float]:
    data, start = path.read_bytes(), time.process_time()
    return TARGETS[name](data), time.process_time() - start


def test_the_corpus_is_small():
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 400_000


def test_each_folder_of_the_corpus_has_a_target():
    assert {folder.name for folder in CORPUS.iterdir()} == TARGETS.keys()
