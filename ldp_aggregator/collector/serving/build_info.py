"""The metric `ldp_build_info`: which build runs."""

from __future__ import annotations

from prometheus_client.core import InfoMetricFamily, Metric

from encoders.build import find_build


def build_info() -> Metric:
    """Return the metric, which is always 1, with the labels `version` and `commit`."""
    return InfoMetricFamily("ldp_build", "The build that runs", value=vars(find_build()))
