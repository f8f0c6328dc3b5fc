"""A relay: it hides from a collector who sent which report, and passes reports on in large batches only."""

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours

require_own_encoders()
