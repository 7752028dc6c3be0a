"""What the examples of ``symgrad.scipy`` take as imported: NumPy and symgrad, as NumPy's do."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def _examples(doctest_namespace: dict[str, Any]) -> None:
    import numpy as np  # noqa: PLC0415  # after tests/conftest.py has set what they read

    import symgrad as sg  # noqa: PLC0415

    doctest_namespace |= {"np": np, "sg": sg}
