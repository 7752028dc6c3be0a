"""Write docs/rewrites.md: certificates of every shortcut and identity, with it and without.

Run ``python docs/build_rewrites.py``; it takes half a minute. The figures depend on the C library,
so tests/test_docs_rewrites.py compares the names, and makes the certificates anew.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import symgrad as sg
from symgrad._core import rewrite as _rewrite
from symgrad._core.rewrite import IDENTITIES, SHORTCUTS, Identity, Reduced, Shortcut
from symgrad._core.rewrite._matcher import Index
from symgrad._core.transforms import reverse as _reverse

PAGE = Path(__file__).with_name("rewrites.md")
Rule = Identity | Shortcut | Reduced

#: Beyond, what a direct evaluation may lose to underflow is more than any error.
LARGEST = 1e160
#: Rules for sums of squares: they are certified for that of a number.
SQUARED = ("sqrt of a sum of squares", "power 1/2 of a sum", "power of a sum of squares")
#: Random points of an interval, besides its ends.
POINTS = 6
ELEMENTS = 3

#: What users write with arrays, and where.
ARRAYS: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "sqrt(sum(x**2)): x/r": (lambda x: np.sqrt(np.sum(x**2)), (-LARGEST, LARGEST)),
    "sqrt(2*d*d - 2*d*d): 0": (lambda x: np.sum(np.log((3 * x - x) / x)), (1.0, 1e3)),
    "hypot(x, y): x/r, y/r": (lambda x: np.hypot(x[0], x[1]), (-LARGEST, LARGEST)),
    "abs(x)**2: 2*x": (lambda x: np.sum(np.abs(x) ** 2), (-LARGEST, LARGEST)),
    "abs(x): sign(x)": (lambda x: np.sum(np.abs(x)), (-LARGEST, LARGEST)),
    "x/sqrt(sum(x**2)): (ct - u*sum(u*ct))/r": (
        lambda x: sg.grad(np.linalg.norm)(x)[0], (1.0, 1e8)),
    "sqrt(a@a + b@b - 2*a@b): 0 at 0": (
        lambda x: np.sqrt(x @ x + (x * x) @ (x * x) - 2 * (x @ (x * x))), (2.0, 50.0)),
    "maximum(d2, 0): 1": (lambda x: np.maximum(np.sum(x**2), 0.0), (-1e3, 1e3)),
    "exp(x)/sum(exp(x)): s*(ct - sum(s*ct))": (
        lambda x: (np.exp(x) / np.sum(np.exp(x)))[0], (-1000.0, 1000.0)),
    "log(sum(exp(x))): softmax(x)": (lambda x: np.log(np.sum(np.exp(x))), (-1000.0, 1000.0)),
    "log(prod(x)): 1/x": (lambda x: np.log(np.prod(x)), (1e-170, 1e-150)),
    "log(exp(x)/sum(exp(x))): ct - s*sum(ct)": (
        lambda x: np.log(np.exp(x) / np.sum(np.exp(x)))[0], (-1000.0, 1000.0)),
    "log(x**p*y/z): p/x, 1/y, -1/z": (lambda x: np.sum(np.log(x**2 * x[0])), (1e-170, 1e-150)),
}  # fmt: skip

HEAD = """\
# Rewrites

<!-- Made by docs/build_rewrites.py; do not edit. -->

Every rule of [stable arithmetic](stable-arithmetic.md), and what [certificates](certificate.md) \
with it and without it say: the largest error in ulp over the interval, its ends, 0 and numbers \
close to them included, and at how many of the compared places the result is nan. All were made \
under NumPy, one compiled kernel being as good as another.

SymPy proves each rule (tests/unit/rewrite), and no rule makes \
anything worse (tests/test_docs_rewrites.py). Where errors remain, both ways share them: \
`log(exp(x) + exp(y))` has digits missing where its share is below the normal numbers, \
`log(x) + 1` near its root; `erfc` and `ndtr` are SciPy's here.
"""

#: Rules whose gain is in second derivatives where a length is 0 (tests/test_lengths_at_zero.py).
AT_ZERO = frozenset((
    "hypot(x, y): x/r, y/r", "abs(x)**2: 2*x", "abs(x): sign(x)",
    "x/sqrt(sum(x**2)): (ct - u*sum(u*ct))/r", "sqrt(a@a + b@b - 2*a@b): 0 at 0",
    "maximum(d2, 0): 1",
))  # fmt: skip

SHORT = """
## Shortcuts: derivatives of whole formulas

Values are what they were, to the last bit; the errors are of first derivatives. Six rules of \
lengths leave these as they are, and make second derivatives right where a length is 0.
"""

BETTER = """
## Identities: values that do not cancel
"""

TABLE = """
| rule | interval | without | with |
| --- | --- | --- | --- |
"""


def formula(rule: Identity | Shortcut) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return what a rule is for, to be traced anew, and its domain."""
    boxes = dict(zip(inspect.signature(rule.written).parameters, rule.samples, strict=True))
    numbers = {n: (low + high) / 2 for n, (low, high) in boxes.items() if n in "cp"}
    names = [n for n in boxes if n not in numbers]
    squared = rule.name.startswith(SQUARED)

    def written(*xs: Any) -> Any:
        given = {n: x * x if squared else x for n, x in zip(names, xs, strict=True)}
        return rule.written(**given, **numbers)

    # What inspect.signature reads, unknown to mypy: the arguments have the rule's names.
    written.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )
    return written, {n: tuple(np.clip(boxes[n], -LARGEST, LARGEST)) for n in names}


def certificate(rule: Rule) -> sg.Certificate:
    """Return the certificate of what a rule is for."""
    with sg.backend("numpy"):
        if isinstance(rule, Reduced):
            f, interval = ARRAYS[rule.name]
            start, domain = np.linspace(*interval, ELEMENTS), {"x": interval}
            return sg.verify(lambda x: f(x), start, domain=domain, points=4, limit=math.inf)
        written, domain = formula(rule)
        return sg.verify(written, domain=domain, points=POINTS, limit=math.inf)


@contextmanager
def without(rule: Rule) -> Iterator[None]:
    """Take a rule, and others of its kind, out of use."""
    if isinstance(rule, Identity):
        with patch.object(_rewrite, "INDEX", Index(())):
            yield
    else:
        with (
            patch.object(_reverse, "shortcuts", lambda *_: {}),
            patch.object(_reverse, "simplified", nullcontext),
        ):
            yield


def compared(rule: Rule) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the rows of the certificates without a rule and with it: values or derivatives."""
    own = slice(1) if isinstance(rule, Identity) else slice(1, None)
    with np.errstate(all="ignore"):
        after = certificate(rule).rows[own]
        with without(rule):
            before = certificate(rule).rows[own]
    return before, after


def line(rule: Rule) -> str:
    """Return a rule's line of the page."""
    if isinstance(rule, Reduced):
        domain: dict[str, Any] = {"x": ARRAYS[rule.name][1]}
    else:
        domain = formula(rule)[1]
    where = ", ".join(f"{n} in [{low:g}, {high:g}]" for n, (low, high) in domain.items())
    return f"| `{rule.name}` | {where} | {' | '.join(map(error, compared(rule)))} |"


def error(rows: Sequence[Any]) -> str:
    """Return the largest error of several rows, and how many numbers are nan."""
    worst, nans = max(r.max_ulp for r in rows), sum(r.nans for r in rows)
    text = "infinite" if math.isinf(worst) else f"{worst:.2f}" if worst < 1e3 else f"{worst:.1e}"
    return text + (f", nan at {nans} of {sum(r.compared for r in rows)}" if nans else "")


def page(stamp: str = "") -> str:
    """Return the whole page."""
    shortcuts = "\n".join(map(line, SHORTCUTS))
    return (
        f"{HEAD}\n{stamp}\n{SHORT}{TABLE}{shortcuts}\n{BETTER}{TABLE}"
        + "\n".join(map(line, IDENTITIES))
        + "\n"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parents[1] / "examples" / "benchmarks"))
    import stamps

    PAGE.write_text(page(stamps.stamp()), encoding="utf-8")
    print(f"wrote {PAGE}")
