"""Every shortcut and identity, as certificates see it: the errors with it and without."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad import _reverse, _rewrite
from symgrad._rewrite import IDENTITIES, SHORTCUTS, Identity, Reduced, Shortcut
from symgrad._rewrite._pattern import Index

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

#: Beyond, what a direct evaluation may lose to underflow is more than any error.
LARGEST = 1e160
#: Rules for sums of squares: they are certified for that of a number.
SQUARED = ("sqrt of a sum of squares", "power 1/2 of a sum", "power of a sum of squares")

#: What users write with arrays, and where.
ARRAYS: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "sqrt(sum(x**2)): x/r": (lambda x: np.sqrt(np.sum(x**2)), (-LARGEST, LARGEST)),
    "exp(x)/sum(exp(x)): s*(ct - sum(s*ct))": (
        lambda x: (np.exp(x) / np.sum(np.exp(x)))[0], (-1000.0, 1000.0)),
    "log(sum(exp(x))): softmax(x)": (lambda x: np.log(np.sum(np.exp(x))), (-1000.0, 1000.0)),
    "log(prod(x)): 1/x": (lambda x: np.log(np.prod(x)), (1e-170, 1e-150)),
    "log(exp(x)/sum(exp(x))): ct - s*sum(ct)": (
        lambda x: np.log(np.exp(x) / np.sum(np.exp(x)))[0], (-1000.0, 1000.0)),
    "log(x**p*y/z): p/x, 1/y, -1/z": (lambda x: np.sum(np.log(x**2 * x[0])), (1e-170, 1e-150)),
}  # fmt: skip


def formula(rule: Identity | Shortcut) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return what a rule is for, traced anew each time, and its domain."""
    boxes = dict(zip(inspect.signature(rule.written).parameters, rule.samples, strict=True))
    numbers = {n: (low + high) / 2 for n, (low, high) in boxes.items() if n in "cp"}
    names = [n for n in boxes if n not in numbers]
    squared = rule.name.startswith(SQUARED)

    def written(*xs: Any) -> Any:
        given = {n: x * x if squared else x for n, x in zip(names, xs, strict=True)}
        return rule.written(**given, **numbers)

    written.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )
    return written, {n: tuple(np.clip(boxes[n], -LARGEST, LARGEST)) for n in names}


def certificate(rule: Identity | Shortcut | Reduced) -> sg.Certificate:
    with sg.backend("numpy"):
        if isinstance(rule, Reduced):
            f, interval = ARRAYS[rule.name]
            x = np.linspace(*interval, 3)
            return sg.verify(lambda x: f(x), x, domain={"x": interval}, points=4, limit=math.inf)
        written, domain = formula(rule)
        return sg.verify(written, domain=domain, points=6, limit=math.inf)


@contextlib.contextmanager
def without(rule: Identity | Shortcut | Reduced) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(rule, Identity):
            patch.setattr(_rewrite, "_INDEX", Index(()))
        else:
            patch.setattr(_reverse, "shortcuts", lambda *_: {})
            patch.setattr(_reverse, "simplified", contextlib.nullcontext)
        yield


def test_every_rule_with_a_reduction_is_here() -> None:
    assert ARRAYS.keys() == {rule.name for rule in SHORTCUTS if isinstance(rule, Reduced)}


@pytest.mark.parametrize("rule", [*SHORTCUTS, *IDENTITIES], ids=lambda rule: rule.name)
def test_certificates_show_the_gain(rule: Identity | Shortcut | Reduced) -> None:
    own = slice(1) if isinstance(rule, Identity) else slice(1, None)
    after = certificate(rule).rows[own]
    with without(rule):
        before = certificate(rule).rows[own]
    gains = []
    for with_it, chain in zip(after, before, strict=True):
        assert with_it.nans <= chain.nans
        # Where exp(-x) is below the normal numbers, its digits are missing either way.
        assert with_it.max_ulp <= max(chain.max_ulp, 4.0)
        gains += [with_it.nans < chain.nans, with_it.max_ulp < chain.max_ulp / 2]
    assert any(gains), "the chain rule is as good"
