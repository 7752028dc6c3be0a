"""What tests of one layer alone have in common."""

from __future__ import annotations

import pytest

from symgrad._api import _transforms


@pytest.fixture(autouse=True)
def _compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a function again when it is transformed again: tests change settings in between."""
    monkeypatch.setattr(_transforms, "SHARING", None)
