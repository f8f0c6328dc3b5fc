"""Sending what a journal holds: the thread, the times, and the pauses after failures."""
