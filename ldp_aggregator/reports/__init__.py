"""Raw reports as bytes: record format, batches as arrays, archives."""
