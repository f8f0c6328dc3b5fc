"""Counts a first report: a collector on this machine, and a made-up person who answers the example survey.

    python -m ldp_bayes

Needs the extra [author]. Nothing leaves this machine, and nothing is left behind.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ldp_bayes import require_first_encoders

require_first_encoders()

from encoders.errors import LdpError  # noqa: E402
from encoders.late_imports import LateImport  # noqa: E402
from ldp_client import Client  # noqa: E402

_PILOT = LateImport("ldp_design.studio.pilot:Pilot", "author", "python -m ldp_bayes")
_EXAMPLE = Path(__file__).parents[1] / "ldp_design" / "authoring" / "example.toml"


def main() -> None:
    """Print each step; end with 1 if the report was not counted."""
    pilot = _PILOT.load()(_EXAMPLE.read_text("utf-8"))
    try:
        _print(f"survey     the example of ldp-survey init\ncollector  {pilot.url}")
        [person] = pilot.make_people(1)["people"]
        with TemporaryDirectory() as folder, Client(pilot.url, journal=f"{folder}/journal") as client:
            client.grant()
            client.report(person["row"], person["label"])
            _print(f"device     a made-up person has agreed and answered: {client.flush(30)}")
        count = pilot.count()
        _print(f"counted    {count} report\nnext: ldp-survey studio, or ldp-survey init -o survey.toml")
    finally:
        pilot.end()
    sys.exit(count != 1)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except (LdpError, OSError) as error:
        sys.exit(f"Error: {error}")
