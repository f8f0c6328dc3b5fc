"""When surveys are to be deleted: the dates that their authors wrote in `about.retention`."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import date

from ldp_aggregator.stores.store import TEXTS, Store

_DATE = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])", re.ASCII)


def read_deletion_dates(store: Store) -> dict[str, date]:
    """Return the day on which each survey is to be deleted, by survey id: the first in `about.retention`.

    Surveys are left out if this text has no date in the form YYYY-MM-DD.
    """
    found = {}
    for survey, texts in store.notes(TEXTS).items():
        dates = []
        with suppress(ValueError, KeyError, TypeError):  # no texts, or no retention in them
            for text in _DATE.findall(json.loads(texts)["about"]["retention"]):
                with suppress(ValueError):  # a day that does not exist
                    dates.append(date.fromisoformat(text))
        if dates:
            found[survey] = min(dates)
    return found
