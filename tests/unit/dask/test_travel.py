"""Functions go to workers by value, with what they read now."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

from symgrad.dask._tasks import from_bytes, to_bytes  # noqa: E402


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Any]:
    """A module of the user's, which workers need not have."""
    (tmp_path / "users_helpers.py").write_text(
        "import symgrad as sg\nSCALE = 2.0\n\nclass Model:\n    power = 2\n\n"
        "def f(x):\n    return SCALE * x ** Model.power\n\n"
        "@sg.compile\ndef g(x):\n    return SCALE * x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import users_helpers

    yield users_helpers
    del sys.modules["users_helpers"]


def test_what_a_function_reads_goes_with_it(helpers: types.ModuleType) -> None:
    def through_the_module(x: Any) -> Any:
        return helpers.f(x)

    for f in (helpers.f, through_the_module, helpers.g):
        before = to_bytes(f, "f")
        assert to_bytes(f, "f") == before  # else it is traced again in each call
        helpers.SCALE = 3.0
        after = to_bytes(f, "f")
        assert (from_bytes(before)(1.0), from_bytes(after)(1.0)) == (2.0, 3.0)
        helpers.SCALE = 2.0
    assert cloudpickle.list_registry_pickle_by_value() == set()


def test_a_class_does_not_change_under_what_came_before(helpers: types.ModuleType) -> None:
    before = from_bytes(to_bytes(helpers.f, "f"))
    helpers.Model.power = 3
    after = from_bytes(to_bytes(helpers.f, "f"))
    assert (before(2.0), after(2.0)) == (8.0, 16.0)
