"""A gateway at the edge that reports for the sensors behind it, each once per survey.

    python examples/edge_gateway.py examples/pumps.toml http://127.0.0.1:8000/v1/surveys/pumps-2026 \\
        --i-agree DIGEST < examples/pumps.jsonl

Each line of the input is {"sensor": ID, "reading": {...}, "label": ...}. A sensor is a respondent: it has a
journal of its own, FOLDER/ID.db. The operator agrees for the sensors, to one plan by its digest; without
--i-agree the gateway shows what there is to agree to, and reads nothing.

All sensors report from the gateway's address. A collector that limits the rate of reports (--rate) lifts the
limit for the token in LDP_GATEWAY_TOKEN, which gateway and collector share.

Why here: a sensor cannot randomise, and gateway, sensors and readings belong to the same operator. So the
gateway is the last machine that may see a raw reading: it keeps one no longer than it takes to report it,
writes none to disk or screen, and lets none pass.

Never collect PEOPLE's raw answers so. A web server that embeds the client sees every raw answer, and whoever
runs or breaks into it does too: the noise then protects nobody from it. A person's answers are randomised on
her own device, as in terminal_survey.py and questionnaire.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from wording import in_short

from encoders.survey import Plan
from ldp_client import Client, HttpTransport, LdpError, Receipt, State, load_plan

SAFE = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
TRY_AGAIN = (State.INVALID, State.UNAVAILABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Report for sensors: JSON lines on the standard input.")
    parser.add_argument("survey", help="the survey's URL, or the file of its plan")
    parser.add_argument("url", nargs="?", help="the survey's URL, if its plan is a file")
    parser.add_argument("--i-agree", metavar="DIGEST", default="", help="agree to this plan for all sensors")
    parser.add_argument("--folder", type=Path, default=Path("sensors"), help="where the journals are kept")
    parser.add_argument("--wait", type=float, default=10, help="seconds for the last verdicts (default: 10)")
    chosen = parser.parse_args()
    try:
        plan = load_plan(chosen.survey)
        if chosen.i_agree.lower() != plan.digest:
            sys.exit(terms(plan))
        gateway = Gateway(plan, chosen.url or chosen.survey, chosen.folder)
        with suppress(KeyboardInterrupt):
            gateway.read(sys.stdin.buffer)
        gateway.finish(chosen.wait)
    except LdpError as error:
        sys.exit(f"This survey cannot be answered now: {error}")


def terms(plan: Plan) -> str:
    asked = ", ".join(entry.name for entry in (*plan.entries, plan.row_label))
    sends = "ONE of them, together with the last"
    if plan.validation:
        sends = "whether it guesses the last right from the others"
    return (
        f"The survey {plan.id} asks each sensor for: {asked}.\nThe gateway sends {sends}, once, "
        f"randomised at epsilon {float(plan.epsilon):g}.\n\n"
        f"Nothing was read yet. If the sensors are yours and you agree for them, add\n\n"
        f"    --i-agree {plan.digest}"
    )


class Gateway:
    """Keeps a client and the latest outcome of each sensor; a reading is gone once it is reported."""

    def __init__(self, plan: Plan, url: str, folder: Path) -> None:
        self.plan, self.url, self.folder = plan, url, folder
        token = os.environ.get("LDP_GATEWAY_TOKEN")
        self.transport = HttpTransport({url: token} if token else None)
        self.clients: dict[str, Client] = {}
        self.outcomes: dict[str, Receipt] = {}
        self.bad_lines = 0

    def read(self, lines: Iterable[bytes]) -> None:
        for number, line in enumerate(lines, 1):
            try:
                message = json.loads(line)
                sensor, reading, label = str(message["sensor"]).lower(), message["reading"], message["label"]
                if not SAFE.fullmatch(sensor):
                    raise ValueError
            except (ValueError, TypeError, KeyError, RecursionError):  # their texts may quote the line
                self.bad_lines += 1
                print(
                    f'line {number} is skipped: it is no {{"sensor": ID, "reading": {{...}}, "label": ...}} '
                    "with an ID of letters, digits, - and _",
                    file=sys.stderr,
                )
            else:
                self.report(sensor, reading, label)

    def report(self, sensor: str, reading: dict, label: object) -> None:
        """Report a sensor's first reading that fits; its later ones tell nothing to anybody."""
        if sensor in self.outcomes and self.outcomes[sensor].state not in TRY_AGAIN:
            return
        if sensor not in self.clients:
            journal = self.folder / f"{sensor}.db"
            self.clients[sensor] = Client(self.plan, self.url, journal=journal, transport=self.transport)
        granted = self.clients[sensor].grant()  # the operator has agreed
        receipt = self.clients[sensor].report(reading, label)
        self.outcomes[sensor] = granted if receipt.state is State.NO_CONSENT else receipt  # it knows why

    def finish(self, seconds: float) -> None:
        """Wait for verdicts, so long for all together, and print them; what is unsent waits on disk."""
        end = monotonic() + seconds
        for sensor, client in self.clients.items():
            standing = client.flush(max(0.0, end - monotonic()))
            if self.outcomes[sensor].state is State.QUEUED:
                self.outcomes[sensor] = standing
            print(f"{sensor}: {in_short(self.outcomes[sensor])}")
        counts = Counter(receipt.state for receipt in self.outcomes.values())
        shown = [f"{count} {state}" for state, count in counts.items()]
        print(f"{len(self.clients)} sensors: {', '.join(shown) or 'none'}; bad lines: {self.bad_lines}")


if __name__ == "__main__":
    main()
