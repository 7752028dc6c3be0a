"""``np.einsum``: any product-sum over named axes as a sequence of pairwise contractions.

Letters name axes. An operand is first brought to a form in which each of its letters stands
once and is needed by another operand or by the result; then pairs are contracted in the
order that ``np.einsum_path`` finds for the sizes of the example call.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import show
from ..base.sizes import hint
from ..op import composite
from .contract import CONTRACT
from .movement import DIAGONAL
from .np_common import (
    as_array,
    as_arrays,
    common_type,
    dims,
    equal,
    is_one,
    permute,
    reshaped,
)


@dataclass(eq=False)
class Term:
    """An operand with the letters of its axes."""

    letters: str
    value: Any

    def sum_out(self, letters: Iterable[str]) -> None:
        """Sum over axes."""
        gone = [s for s in self.letters if s in letters]
        if gone:
            self.value = np.sum(self.value, axis=tuple(map(self.letters.index, gone)),
                                dtype=self.value.dtype)  # fmt: skip
            self.letters = "".join(s for s in self.letters if s not in gone)

    def drop(self, letters: Iterable[str]) -> None:
        """Remove axes of length one."""
        keep = [k for k, s in enumerate(self.letters) if s not in letters]
        if len(keep) < len(self.letters):
            self.value = reshaped(self.value, tuple(self.value.shape[k] for k in keep))
            self.letters = "".join(self.letters[k] for k in keep)

    def arranged(self, letters: str) -> Any:
        """Return the value with its axes in the order of ``letters``."""
        return permute(self.value, tuple(map(self.letters.index, letters)))

    def aligned(self, letters: str) -> Any:
        """Return the value ready to broadcast against an array with axes ``letters``."""
        y = self.arranged("".join(s for s in letters if s in self.letters))
        sizes = iter(y.shape)
        return reshaped(y, tuple(next(sizes) if s in self.letters else 1 for s in letters))


def product(a: Term, b: Term, out: str) -> Any:
    """Return the sum of products of two operands, with axes ``out``."""
    a.value, b.value = common_type([a.value, b.value])
    shared = set(a.letters) & set(b.letters)
    for term in (a, b):
        term.sum_out([s for s in term.letters if s not in shared and s not in out])
    if shared <= set(out):  # nothing is summed: a product with broadcasting
        return a.aligned(out) * b.aligned(out)
    return CONTRACT(a.value, b.value, a=a.letters, b=b.letters, out=out)


def contract(terms: Sequence[Term], out: str) -> Any:
    """Return the sum of products of any number of operands, with axes ``out``."""
    terms = [_once_each(t) for t in terms]
    _settle_sizes(terms)
    for term in terms:
        others = set(out).union(*(t.letters for t in terms if t is not term))
        term.sum_out(set(term.letters) - others)
    if len(terms) == 1:
        return terms[0].arranged(out)
    pending = list(terms)
    for step in _path(terms, out):
        first, *rest = (pending[k] for k in step)
        pending = [t for k, t in enumerate(pending) if k not in step]
        for k, other in enumerate(rest):
            waiting = [*pending, *rest[k + 1 :]]
            needed = set(out).union(*(t.letters for t in waiting))
            both = dict.fromkeys(first.letters + other.letters)
            target = out if not waiting else "".join(s for s in both if s in needed)
            first = Term(target, product(first, other, target))
        pending.append(first)
    return pending[0].value


def _once_each(term: Term) -> Term:
    """Take diagonals until no letter stands twice."""
    letters, x = term.letters, term.value
    while repeated := next((s for s in letters if letters.count(s) > 1), None):
        i = letters.index(repeated)
        j = letters.index(repeated, i + 1)
        if not equal(x.shape[i], x.shape[j]):
            raise ShapeError(
                f"einsum: the axes {repeated!r} of an operand of shape {show(dims(x))} differ"
            )
        x = DIAGONAL(np.moveaxis(x, (i, j), (-2, -1)), offset=0, size=x.shape[i])
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + repeated
    return Term(letters, x)


def _settle_sizes(terms: Sequence[Term]) -> None:
    """Check that a letter has one size; axes of length one broadcast and are dropped."""
    found: dict[str, Any] = {}
    for term in terms:
        for letter, size in zip(term.letters, term.value.shape, strict=True):
            if letter not in found or is_one(found[letter]):
                found[letter] = size
            elif not is_one(size) and not equal(found[letter], size):
                raise ShapeError(
                    f"einsum: the axis {letter!r} has different sizes in operands of shapes "
                    + ", ".join(f"{t.letters}: {show(dims(t.value))}" for t in terms)
                )
    for term in terms:
        pairs = list(zip(term.letters, term.value.shape, strict=True))
        term.drop([s for s, size in pairs if is_one(size) and not is_one(found[s])])


def _path(terms: Sequence[Term], out: str) -> list[tuple[int, ...]]:
    if len(terms) == 2:
        return [(0, 1)]
    # Arrays of the hinted shapes without memory behind them.
    like = [np.broadcast_to(0.0, tuple(map(hint, t.value.shape))) for t in terms]
    text = ",".join(t.letters for t in terms) + "->" + out
    method = "optimal" if len(terms) <= 5 else "greedy"
    path = np.einsum_path(text, *like, optimize=(method, 2**62))[0]
    return [tuple(step) for step in path[1:]]


# ---------------------------------------------------------------- subscripts


def _subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the text form and the arrays; lists of axis numbers become letters."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), as_arrays(operands[1:])
    pairs = list(operands)
    result = pairs.pop() if len(pairs) % 2 else None

    def text(axes: Any) -> str:
        return "".join("..." if k is Ellipsis else string.ascii_letters[k] for k in axes)

    inputs = ",".join(map(text, pairs[1::2]))
    return inputs if result is None else f"{inputs}->{text(result)}", as_arrays(pairs[::2])


def _named(text: str, arrays: Sequence[Any]) -> tuple[list[Term], str]:
    """Return the operands with their letters and the letters of the result."""
    left, arrow, right = text.partition("->")
    words = left.split(",")
    if len(words) != len(arrays):
        raise ArgumentError(f"einsum: {text!r} names {len(words)} operands, got {len(arrays)}")
    bad = set(text.replace("...", "")) - set(string.ascii_letters) - set(",->")
    if bad or "->" in right:
        raise ArgumentError(f"einsum: cannot read the subscripts {text!r}")
    free = [s for s in string.ascii_uppercase + string.ascii_lowercase if s not in text]
    ranks = [x.ndim - len(w.replace("...", "")) for w, x in zip(words, arrays, strict=True)]
    for word, x, rank in zip(words, arrays, ranks, strict=True):
        if rank < 0 or (rank > 0 and "..." not in word):
            raise ShapeError(
                f"einsum: {word!r} does not name the axes of an operand of shape {show(dims(x))}"
            )
    dots = "".join(free[: max((r for r, w in zip(ranks, words, strict=True) if "..." in w),
                              default=0)])  # fmt: skip
    words = [
        w.replace("...", dots[len(dots) - r :]) if "..." in w else w
        for w, r in zip(words, ranks, strict=True)
    ]
    if arrow:
        out = right.replace("...", dots)
    else:
        every = "".join(words)
        out = dots + "".join(sorted(s for s in set(every) - set(dots) if every.count(s) == 1))
    unknown = set(out) - set("".join(words))
    if unknown or len(set(out)) < len(out):
        raise ArgumentError(f"einsum: the result of {text!r} repeats or invents a letter")
    return [Term(w, x) for w, x in zip(words, arrays, strict=True)], out


@composite(np.einsum)
def einsum(*operands: Any, optimize: Any = True) -> Any:
    """Sums of products over named axes."""
    text, arrays = _subscripts(operands)
    return contract(*_named(text, arrays))


# ---------------------------------------------------------------- chains of matrices


@composite(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    """Product of several matrices in the cheapest order."""
    parts = as_arrays(arrays)
    if len(parts) < 2:
        raise ArgumentError("multi_dot needs at least two arrays")
    ends = {0, len(parts) - 1}
    for k, p in enumerate(parts):
        if p.ndim != 2 and not (k in ends and p.ndim == 1):
            raise ShapeError(f"multi_dot takes matrices, not the shape {show(dims(p))}")
    return _chain(parts, _order([tuple(map(hint, p.shape)) for p in parts]), 0, len(parts) - 1)


def _order(shapes: Sequence[tuple[int, ...]]) -> dict[tuple[int, int], int]:
    """Return where to cut each range of factors (dynamic programming, O(k**3))."""
    first, last = shapes[0], shapes[-1]
    p = [first[0] if len(first) == 2 else 1, *(s[0] for s in shapes[1:])]
    p.append(last[1] if len(last) == 2 else 1)
    p[1] = shapes[0][-1]
    cost = {(i, i): 0 for i in range(len(shapes))}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, len(shapes)):
        for i in range(len(shapes) - length):
            j = i + length
            best = math.inf
            for k in range(i, j):
                total = cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if total < best:
                    best, cut[i, j], cost[i, j] = total, k, total
    return cut


def _chain(parts: Sequence[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return as_array(parts[i])
    k = cut[i, j]
    return np.dot(_chain(parts, cut, i, k), _chain(parts, cut, k + 1, j))
