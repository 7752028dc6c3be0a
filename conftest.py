"""How examples run.

Those of ``symgrad.scipy`` take NumPy and symgrad as imported, as NumPy's do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def _examples(doctest_namespace: dict[str, Any]) -> None:
    import numpy as np  # noqa: PLC0415  # after tests/conftest.py has set what they read

    import symgrad as sg  # noqa: PLC0415

    doctest_namespace |= {"np": np, "sg": sg}


@pytest.fixture(autouse=True)
def _few_kernels_of_examples(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let NumPy run the examples of solvers in the quick suite: their kernels are long."""
    import symgrad as sg  # noqa: PLC0415

    few = getattr(request.config.option, "quick", False)
    few = few and request.node.name.startswith("symgrad.scipy.")
    with sg.backend("numpy") if few else contextlib.nullcontext():
        yield


@pytest.fixture(autouse=True)
def _rewrites_as_found() -> Iterator[None]:
    """Take out the rewrites that a test, a page or an example has entered."""
    from symgrad._core.rewrite import ENTERED, leave  # noqa: PLC0415

    before = set(ENTERED)
    yield
    for name in ENTERED.keys() - before:
        leave(name)


@pytest.fixture(autouse=True)
def _compiled_in_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test find what another has compiled: warnings come once, with a trace."""
    monkeypatch.setattr("symgrad._api._transforms.SHARING", object())
