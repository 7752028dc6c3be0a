"""Words of memory that say that objects are as they were."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._capture import _call, _watch
from symgrad._capture import _layout_checks as _trials
from symgrad._core.base.platform import has
from symgrad._core.codegen.cache import loaded
from symgrad._core.runtime import structures

FUNCTION = """
import numpy as np

def helper(x):
    return k * x * len(weights)

def f(x):
    return np.sum(helper(x) * model.a + config.b * weights[0] + array * x)
"""


def made() -> tuple[dict[str, Any], Any]:
    model = type("Model", (), {"c": 1.5})()
    model.a = 2.5
    names = {
        "k": 2.0, "weights": [1.5, 2.5], "model": model, "config": SimpleNamespace(b=0.5),
        "array": np.arange(3.0),
    }  # fmt: skip
    exec(FUNCTION, names)
    return names, sg.grad(names["f"])


def checked(names: dict[str, Any], g: Any) -> None:
    x = np.array([0.5, 1.0, 2.0])
    changes = [
        "pass", "k = 3.0", "k = 4.0", "new = 1", "weights.append(1)", "weights[0] = 2.0",
        "model.a = 1.5", "config.b = 7.0", "array[1] = 5.0", "array = array + 1.0",
        "def helper(x):\n    return x * x", "len = lambda x: 7", "del len",
        "type(model).a = property(lambda self: 3.0)", "del type(model).a",
    ]  # fmt: skip
    for change in changes:
        exec(change, names)
        for _ in range(2):
            step = [names["f"](x + 1e-30j * e).imag / 1e-30 for e in np.eye(3)]
            np.testing.assert_allclose(g(x), step, err_msg=change)


@pytest.mark.skipif(not _trials.can_watch(loaded), reason="the structures are others")
def test_calls_look_at_trials_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names, g = made()
    names["other"] = 1
    for k in 2.0, 3.0:  # which makes it a number that is fetched
        names["k"] = k
        g(np.ones(3))
    g(np.ones(3))
    asked: list[Any] = []
    monkeypatch.setattr(_call.Reading, "now", lambda self: asked.append(self))
    names["other"], names["array"], names["k"] = 2, np.ones(3), 5.0
    np.testing.assert_allclose(g(np.ones(3)), 26.0)
    assert not asked


def test_what_is_called_once_has_no_words_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")  # of a kernel from the disk they are, at once
    found: list[Any] = []
    of = _watch.Callers.of
    monkeypatch.setattr(_watch.Callers, "of", lambda *args: found.append(args) or of(*args))
    _, g = made()
    g(np.ones(3))
    assert not found
    g(np.ones(3))
    assert len(found) == 1


def test_python_of_another_version_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_trials, "VERSIONS", ())
    assert not _trials.can_watch.__wrapped__(loaded)


def test_python_looks_where_trials_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_watch, "can_watch", lambda load: False)
    names, g = made()
    checked(names, g)


@pytest.mark.skipif(structures.FAULT is not None, reason="no machine code reads objects")
@pytest.mark.skipif(not has("words"), reason="said to be unknown")
@pytest.mark.skipif(sys.version_info[:2] not in _trials.VERSIONS, reason="not known")
def test_trials_are_seen_here() -> None:
    assert _trials.can_watch(loaded)


@pytest.mark.usefixtures("no_kernels")
def test_names_that_change_in_each_call_are_compared_by_python_after_some() -> None:
    module = ModuleType("m")
    exec("n = 1000\ndef f(x):\n    return n * x", vars(module))
    f = sg.compile(module.f)  # type: ignore[attr-defined]
    for k in range(60):
        module.n = 999 + (k > -1)  # type: ignore[attr-defined]
        assert f(2.0) == 2000.0
    assert f.traces == 1
