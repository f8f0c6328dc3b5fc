"""A relay: it hides from a collector who sent which report, and passes reports on in large batches only.

:mod:`ldp_relay.release` has the rule, :mod:`ldp_relay.held_messages` the database, :mod:`ldp_relay.relay_app`
the pages for devices, and :mod:`ldp_relay.delivery` the requests to collectors. docs/relay.md is for
operators.
"""

from encoders.installation import require_own_encoders

require_own_encoders()
