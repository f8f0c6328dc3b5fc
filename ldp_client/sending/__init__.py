"""Sends the queued reports of a journal: the thread, the sending times, and the pauses after failures."""
