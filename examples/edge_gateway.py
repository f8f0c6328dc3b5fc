"""A gateway that reports for its sensors, once per sensor and survey.

    python examples/edge_gateway.py examples/pumps.toml http://127.0.0.1:8000/v1/surveys/pumps-2026 \\
        --i-agree DIGEST < examples/pumps.jsonl

Each line of the input is {"sensor": ID, "reading": {...}, "label": ...}; a survey without a label needs no
"label". A sensor is a respondent: it has its own journal, FOLDER/ID.db. The operator agrees for the sensors,
to one plan by its digest. Without --i-agree the gateway prints the terms to agree to, and reads nothing.

All sensors report from the gateway's address. A collector with a rate limit (--rate) exempts clients with
an access token for gateways: put its secret into LDP_GATEWAY_TOKEN.

Why on a gateway: a sensor cannot randomise, and gateway, sensors and readings belong to the same operator. So
the gateway is the last machine that may see a raw reading. It keeps a reading only until it is reported, and
never writes it to disk or screen or sends it.

Never collect PEOPLE's raw answers in this way. A web server that embeds the client sees every raw answer, and
so does anybody who operates it or breaks into it: the noise does not protect people from them. Randomise a
person's answers on their own device, as in terminal_survey.py and questionnaire.py.
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
    parser.add_argument("--folder", type=Path, default=Path("sensors"), help="folder of the journals")
    parser.add_argument(
        "--wait", type=float, default=10, help="seconds to wait for the last responses (default: 10)"
    )
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
    asked = ", ".join([*(entry.name for entry in plan.entries), *plan.row_label.names])
    sends = "ONE of them" + ", together with the last" * plan.row_label.exists
    if plan.validation:
        sends = "whether it predicts the last correctly from the others"
    return (
        f"The survey {plan.id} asks each sensor for: {asked}.\nThe gateway sends {sends}, once, "
        f"randomised at epsilon {float(plan.epsilon):g}.\n\n"
        f"No input was read yet. If the sensors are yours and you agree for them, add\n\n"
        f"    --i-agree {plan.digest}"
    )


class Gateway:
    """Keeps a client and the latest receipt of each sensor, and no readings."""

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
                sensor, reading = str(message["sensor"]).lower(), message["reading"]
                label = message["label"] if self.plan.row_label.exists else message.get("label")
                if not SAFE.fullmatch(sensor):
                    raise ValueError
            except (ValueError, TypeError, KeyError, RecursionError):  # their messages may quote the line
                self.bad_lines += 1
                print(
                    f'line {number} is skipped: it is not {{"sensor": ID, "reading": {{...}}, "label": ...}} '
                    "with an ID of letters, digits, - and _",
                    file=sys.stderr,
                )
            else:
                self.report(sensor, reading, label)

    def report(self, sensor: str, reading: dict, label: object) -> None:
        """Report a sensor's first reading that fits; later readings are ignored."""
        if sensor in self.outcomes and self.outcomes[sensor].state not in TRY_AGAIN:
            return
        if sensor not in self.clients:
            journal = self.folder / f"{sensor}.db"
            self.clients[sensor] = Client(self.plan, self.url, journal=journal, transport=self.transport)
        granted = self.clients[sensor].grant()  # the operator has agreed
        receipt = self.clients[sensor].report(reading, label)
        self.outcomes[sensor] = (
            granted if receipt.state is State.NO_CONSENT else receipt
        )  # `granted` has the reason

    def finish(self, seconds: float) -> None:
        """Wait up to `seconds` for all responses, and print the outcomes; unsent reports stay on disk."""
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
