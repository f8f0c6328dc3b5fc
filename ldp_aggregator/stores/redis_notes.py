"""Notes in Redis, and the deletion of a survey's keys."""

from __future__ import annotations

from typing import Any

from ldp_aggregator.stores.redis_scripts import number_field
from ldp_aggregator.stores.redis_servers import RedisServers


def note_key(kind: str) -> str:
    """Return the key of the notes of a kind, on the server of the schedules: collectors read both at once."""
    return f"ldp:{{ldp:windows}}:{kind}"


class RedisNotes:
    """The part of the Redis store that keeps notes; each kind is one hash."""

    _redis: Any
    _servers: RedisServers

    def notes(self, kind: str) -> dict[str, bytes]:
        """Read the notes of a kind from Redis; see :meth:`Store.notes`."""
        with self._servers.errors():
            return {name.decode(): note for name, note in self._redis.hgetall(note_key(kind)).items()}

    def set_note(self, kind: str, name: str, note: bytes, once: bool = False) -> None:
        """Write a note to Redis; see :meth:`Store.set_note`."""
        with self._servers.errors():
            (self._redis.hsetnx if once else self._redis.hset)(note_key(kind), name, note)

    def _erase_keys(self, survey: str) -> None:
        """Delete the keys of a survey without a plan."""
        with self._servers.errors():
            for key in self._redis.scan_iter(f"ldp:{{{survey}:*}}:*", count=1000):
                if key.endswith((b":ids", b":sums", b":published")):  # no note of a survey "ldp"
                    self._redis.unlink(key)  # DEL would block Redis while it frees millions of ids
            for field, _ in self._redis.hscan_iter("ldp:published", number_field(survey, "*"), count=1000):
                self._redis.hdel("ldp:published", field)
            self._redis.hdel("ldp:texts", survey)
            self._redis.hdel("ldp:windows", survey)
            self._redis.delete(f"ldp:rejections:{survey}")
