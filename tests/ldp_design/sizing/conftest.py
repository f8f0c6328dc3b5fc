"""A size without remedies, whose searches take most of its time."""

import pytest


@pytest.fixture
def without_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the searches for remedies, for tests that read other parts of a size."""
    monkeypatch.setattr("ldp_design.sizing.changes.find_remedies", lambda *_: None)


@pytest.fixture
def only_users_as_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the searches for all remedies but the number of users."""
    for search in ("find_epsilon", "_find_features", "_find_values"):
        monkeypatch.setattr(f"ldp_design.sizing.changes.{search}", lambda *_: None)
