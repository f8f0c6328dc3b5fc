"""Fuzz one reader: `python -m tools.fuzz TARGET [CORPUS] [options of libFuzzer]`.

This needs atheris, the extra [fuzz]. New inputs are added to the folder CORPUS. The first defect ends the
run, and its input is written to the current folder; add it with tools/fuzz/corpus.py, which also says how to
unpack the known inputs. tests/test_fuzz_corpus.py reads these without atheris.
"""

from __future__ import annotations

import sys
import warnings

import atheris

PACKAGES = ["encoders", "reduction", "ldp_client", "ldp_silo", "ldp_aggregator"]

with atheris.instrument_imports(include=PACKAGES, enable_loader_override=False):
    from tools.fuzz.mutate import mutate_json
    from tools.fuzz.targets import TARGETS


def main() -> None:
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    warnings.simplefilter("error")
    mutators = {}
    if target.is_json:
        mutators["custom_mutator"] = lambda data, size, seed: mutate_json(data, atheris.Mutate, size, seed)

    def read(data: bytes) -> None:
        target(data)

    atheris.Setup([sys.argv[0], *options], read, **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
