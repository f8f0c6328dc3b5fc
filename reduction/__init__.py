"""Dimensionality reduction applied on the device: projections whose matrices are public.

Empty until numeric features arrive; the room exists so that the import law
``encoders <- reduction <- {ldp_client | ldp_aggregator}`` is checked from the first day.
"""
