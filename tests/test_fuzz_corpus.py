"""Every reader accepts each input of the fuzzer's corpus, or refuses it with the documented error."""

import time

import pytest

from tools.fuzz.corpus import CORPUS, read_corpus, write_corpus
from tools.fuzz.targets import TARGETS

SECONDS = 5
"""An input takes milliseconds; the limit is for busy machines."""
INPUTS = read_corpus()


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_inputs_of_the_corpus_are_accepted_or_refused_with_the_documented_error(target):
    for name, data in INPUTS.items():
        if not name.startswith(f"{target}/"):
            continue
        start = time.process_time()
        accepted = TARGETS[target](data)
        assert time.process_time() - start < SECONDS, name
        assert accepted or "/seed-" not in name, f"{name}: run python -m tools.fuzz.seeds"


def test_the_archive_is_small_and_its_bytes_follow_from_the_inputs(tmp_path):
    write_corpus(INPUTS, tmp_path / "again.zip")
    assert CORPUS.read_bytes() == (tmp_path / "again.zip").read_bytes()
    assert CORPUS.stat().st_size < 400_000


def test_each_folder_of_the_corpus_has_a_target():
    assert {name.split("/")[0] for name in INPUTS} == TARGETS.keys()
