"""Raw reports as bytes: their record format, batches as arrays, archives."""
