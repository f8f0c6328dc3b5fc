"""The rows of a curator as integer codes, and what is public about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Feature
from ldp_aggregator.arrays import BoolArray, IntArray


class CentralError(LdpError):
    """A training by a curator that cannot be run, or did not finish; nothing is released."""


@dataclass(frozen=True)
class CodedRows:
    """Rows of a curator, coded with a survey's public features.

    Any number of rows of any classes is valid: an error that depended on the rows would reveal them.
    """

    features: tuple[Feature, ...]
    k: int
    """The public number of classes; 1 in a survey without a label."""
    codes: IntArray
    """Codes of the values, see :func:`~ldp_aggregator.rows.encode_table.encode_table`. Shape (m, F)."""
    labels: IntArray
    """Codes of the labels. Shape (m,)."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise CentralError("rows need at least one class")
        if not self.features:
            raise CentralError("rows need at least one feature")
        if self.codes.shape != (len(self.labels), len(self.features)) or self.labels.ndim != 1:
            raise CentralError("the codes need one row per label and one column per feature")
        if not (
            _are_codes(self.labels, [self.k]) and _are_codes(self.codes, [f.size for f in self.features])
        ):
            raise CentralError("a code is outside the survey: encode the rows with this survey's plan")

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, indices: Sequence[int]) -> CodedRows:
        features = tuple(self.features[index] for index in indices)
        return CodedRows(features, self.k, self.codes[:, list(indices)], self.labels)

    def take(self, rows: BoolArray | IntArray) -> CodedRows:
        return CodedRows(self.features, self.k, self.codes[rows], self.labels[rows])


def _are_codes(codes: IntArray, sizes: Sequence[int]) -> bool:
    return codes.dtype.kind in "iu" and bool(((codes >= 0) & (codes < np.array(sizes))).all())
