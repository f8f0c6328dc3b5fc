"""A relay: it hides from a collector who sent which report, and passes reports on in large batches only."""

from encoders.installation import require_own_encoders

require_own_encoders()
