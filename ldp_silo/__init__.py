"""The side of a silo, an organisation that holds many rows: counts them, and sends one noisy message.

>>> from ldp_silo import Silo
>>> silo = Silo("https://collector.example/v1/surveys/wards-2026", journal="ward-7.journal")
>>> silo.grant()  # once the organisation has agreed
Receipt(state=<State.READY: 'ready'>, survey='wards-2026')
>>> silo.report("ward-7.csv")
Receipt(state=<State.SENT: 'sent'>, survey='wards-2026', epsilon=1.0)

Like the client of a person's device, it needs the standard library and msgpack only. Devices do not load it.
"""

from ldp_silo.silo import Silo
from ldp_silo.silo_journal import SiloJournal
from ldp_silo.silo_ledger import Epoch

__all__ = ["Epoch", "Silo", "SiloJournal"]
