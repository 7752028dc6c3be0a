"""Lists of numbers as arguments, in functions that use what lists and arrays answer otherwise.

Each case is a function written out as source, of lists among numbers and arrays: alone, by name,
in tuples and dictionaries, lists of lists. Its expressions and statements are Python's own on
lists (``p + q``, ``2 * p``, slices, ``sorted``, ``append`` on copies, comprehensions), NumPy's
functions of lists, and both in one. It is called with lists of several lengths in turn, of floats
with ints and bools among them. Plain Python judges, and its extrapolated differences.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, SymgradError

from .test_closures import made

HEAD = """
import collections, collections.abc, copy, functools, itertools, math, numbers, operator
import numpy as np

def total(*numbers, by=1.0):
    return by * sum(numbers)

def first(values, default=0.5):
    return values[0] if values else default

def kind(values):
    if isinstance(values, np.ndarray):
        return 3.0
    if isinstance(values, list):
        return 2.0
    return 1.0

@functools.singledispatch
def told(values):
    return 0.5

@told.register
def _(values: list):
    return 1.5

@told.register
def _(values: np.ndarray):
    return 2.5

def grown(values, x):
    values = list(values)
    values.append(x)
    return values

def matched(values):
    match values:
        case []:
            return 0.25
        case [a]:
            return a * 2.0
        case [a, b, *rest]:
            return a * b + len(rest)
    return -1.0

def pairs(values):
    for k, v in enumerate(values):
        yield v * (k + 1)

def shaped(values):
    try:
        return float(values.shape[0])
    except AttributeError:
        return -2.0

def loop(values):
    s = 0.0
    while values:
        s = 0.5 * s + values[-1]
        values = values[:-1]
    return s

def recursive(values):
    return values[0] - 0.3 * recursive(values[1:]) if values else 0.0
"""

#: Lists: ``L`` stands for another list, ``S`` for a number, ``A`` for an array, ``X``
#: for a number, ``{k}`` for an int.
LISTS = [
    "L", "L", "(L + L)", "({k} * L)", "(L * {k})", "L[{k}:]", "L[:{k}]", "L[::-1]", "L[::2]",
    "L[-2:]", "L[:-1]", "L[1:-1]", "(L[1:] + L[:1])", "sorted(L)", "sorted(L, reverse=True)",
    "sorted(L, key=lambda v: -v)", "list(reversed(L))", "list(L)", "L.copy()", "copy.copy(L)",
    "copy.deepcopy(L)", "[*L, S]", "[S, *L, *L]", "[v * S for v in L]", "[v**2 for v in L[::-1]]",
    "[u * v for u, v in zip(L, L)]", "[u - v for u, v in zip(L, L[1:])]",
    "list(map(lambda v: v * 0.5, L))", "[v for v in L if v > 0.4]", "list(filter(None, L))",
    "(L or L)", "(L and L)", "(L if L else [S])", "(L if len(L) > {k} else L)", "grown(L, S)",
    "list(pairs(L))", "list(itertools.accumulate(L))", "list(itertools.chain(L, L))",
    "operator.add(L, L)", "operator.mul(L, {k})", "operator.concat(L, L)", "L.__add__(L)",
    "list(dict.fromkeys(L))", "list(collections.deque(L, maxlen=2))", "sum([L, L], [])",
    "max(L, L)", "min(L, L, key=len)", "(L if L < L else L)", "(L if L == L else L)",
    "list(tuple(L) + tuple(L))", "np.array(L).tolist()", "list(np.array(L) * 2.0)",
    "(lambda first=0.0, *rest: [*rest, first])(*L)", "[S] + L", "L + [S]", "L + []", "[S] * len(L)",
    "type(L)(L)", "list(np.sort(L))", "(L + L)[:3]", "L.__getitem__(slice(None, 2))",
    "[k * v for k, v in enumerate(L, 1)]", "np.concatenate([L, L]).tolist()",
    "[x for pair in zip(L, L) for x in pair]", "list(zip(*[L, L]))[:1] and L", "[+v for v in L]",
]  # fmt: skip

#: Arrays.
ARRAYS = [
    "A", "A", "np.array(L)", "np.asarray(L)", "np.array(L, dtype=float)", "np.asarray(L) * S",
    "np.concatenate([L, A])", "np.append(L, S)", "np.cumsum(L)", "np.diff([0.0, *L])",
    "np.array([*L, S])", "np.sort(L)", "np.flip(L)", "np.outer(L, L).ravel()",
    "np.exp(np.negative(L))",
    "np.multiply(L, S)", "np.add(L, S)", "np.add(L, L[-1:])", "np.where(np.array(L) > 0.5, L, 0.1)",
    "np.atleast_1d(L)", "np.stack([L, L]).sum(0)", "np.sin(L)", "np.clip(L, 0.1, 0.9)",
    "np.array([L, L])[0]", "np.repeat(L, 2)", "np.tile(L, 2)", "np.power(L, 2)",
    "np.vstack([L]).T[:, 0]",
    "np.fromiter(L, float)", "np.maximum(L, 0.3)", "np.pad(L, 1)", "np.asarray(L)[::-1]",
    "(np.zeros(1) + L[:1])", "(L[:1] + np.ones(1))", "(L[:1] * np.ones(1))",
    "(np.float64(2.0) * L)",
    "(np.ones(2) * L[:1])", "np.hstack([L, [S]])", "np.array(tuple(L))", "np.roll(L, 1)",
    "np.full(2, S)", "np.array(L)[[0, -1]]", "np.array(L + L)", "np.linspace(0.0, S, 3)",
]  # fmt: skip

#: Numbers.
NUMBERS = [
    "X", "X", "L[0]", "L[-1]", "L[len(L) // 2]", "sum(L)", "sum(L, S)", "max(L)", "min(L)",
    "max(L, default=0.5)", "max(L, key=abs)", "len(L) * X", "np.sum(L)", "np.mean(L)", "np.prod(L)",
    "np.dot(L, L[::-1])", "np.max(L)", "np.linalg.norm(L)", "math.fsum(L)", "math.prod(L)",
    "math.hypot(*L[:2])", "L.count(L[0])", "(L.index(L[-1]) + 1.0) * X", "float(L == L[:])",
    "float(L < L)", "float(L != L)", "float(L[0] in L)", "float(0.123 in L)", "float(7 not in L)",
    "sum(k * v for k, v in enumerate(L))", "functools.reduce(lambda u, v: u * 0.5 + v, L)",
    "functools.reduce(lambda u, v: u * 0.5 + v, L, S)", "kind(L)", "kind(L) * S", "told(L)",
    "shaped(L)", "float(isinstance(L, list))", "float(isinstance(L, (tuple, list)))",
    "float(isinstance(L, collections.abc.Sequence))", "float(isinstance(L, np.ndarray))",
    "float(hasattr(L, 'shape'))", "float(hasattr(L, 'append'))", "float(hasattr(L, 'sum'))",
    "float(type(L) is list)", "float(len(type(L).__name__))", "float(L.__class__ is list)",
    "float(any(L))", "float(all(v > 0 for v in L))", "total(*L)", "total(*L, by=S)", "first(L)",
    "first(L, S)", "matched(L)", "sum(pairs(L))", "loop(L)", "recursive(L)", "np.polyval(L, 0.5)",
    "np.interp(S, [0.0, 1.0, 2.0], [1.0, *L, S, S][:3])", "np.var(L)", "float(np.shape(L)[0])",
    "float(np.ndim(L))", "float(np.size(L))", "float(bool(L))", "(S if not L else L[0])",
    "(len(L) and L[0])", "next(iter(L))", "L.__len__() * S", "operator.itemgetter(0)(L)",
    "operator.itemgetter(-1)(L)", "(lambda u, *v: u * len(v))(*L)", "sorted(L)[0]", "A[0]", "A[-1]",
    "np.sum(A)", "A @ A", "np.dot(A, A)", "np.max(A)", "float(A.size)", "np.sum(A * A)",
    "np.sum([np.sum(A), *L])", "np.sum(np.array(L) * 2.0)", "np.sum([L, L])", "(S + S)", "(S * S)",
    "(S - S)", "np.sin(S)", "(S * 0.5)", "np.tanh(S)", "abs(S)", "(S / (1.0 + S * S))",
    "(S if S > 0.5 else S)", "max(S, S)", "L[::-1][0]", "(L + [S])[-1]", "(2 * L)[-1]",
    "np.matmul(L, L)", "np.inner(L, L)", "np.vdot(L, L)", "np.trapezoid(L)", "np.median(L)",
    "np.average(L, weights=np.arange(1.0, len(L) + 1.0))", "np.ptp(L)", "np.any(L) * S",
    "float(np.array_equal(L, L))", "float(np.allclose(L, L))", "float(np.argmax(L))",
    "float(L.__contains__(L[0]))", "np.linalg.norm(L, 1)", "min(map(abs, L))", "L[np.argmin(L)]",
    "L[int(np.argmax(L))]", "np.array(L)[0]", "np.array(L).sum()",
    "float(str(type(L)) == \"<class 'list'>\")",
    "float(np.isscalar(L))", "float(isinstance(L[0], float))", "float(isinstance(L[0], int))",
    "float(isinstance(L[0], numbers.Real))", "float(callable(L))", "float(L is L)",
    "float(isinstance(L, collections.abc.Iterable))",
    "float(isinstance(L, collections.abc.Hashable))",
    "float(len({*L}))", "float(len(str(len(L))))", "float(np.iterable(L))", "float(L >= L)",
    "float(tuple(L) == tuple(L))", "float(L == tuple(L))", "float([*L] == L)", "float(() == L)",
    "float(L == [])", "float([] == L)", "float(L > [0.5])", "float([0.5, 0.1] <= L)",
    "float(bool(L) is True)", "getattr(L, 'ndim', 0.5)", "getattr(L, 'size', -1.0)",
    "sum(u * v for u, v in itertools.combinations(L, 2))", "sum(v for v, in zip(L))",
    "np.einsum('i,i', L, L)", "np.sum(np.stack([L, L]))", "np.quantile(L, 0.5)", "np.std([*L, S])",
]  # fmt: skip

#: Statements on ``r``, which is a copy of a list, and ``y``, which is a number.
STATEMENTS = [
    "r.append(S)", "r.insert(0, S)", "r.insert(1, S)", "r.extend(L)", "r += L", "r += [S]",
    "r += (S,)", "r *= 2", "r[0] = S", "r[-1] = S", "r[0] += S", "r[0] *= 2", "del r[0]",
    "del r[:1]", "r[:1] = L", "r[1:1] = [S, S]", "r.reverse()", "r.sort()",
    "r.sort(key=lambda v: -v)", "y = y + r.pop()", "y = y + r.pop(0)", "r.remove(r[-1])",
    "r.clear()", "r = r + L", "r = L + r", "r = r[1:]", "r = r[::-1]", "r = sorted(r)",
    "r = [v * y for v in r]", "y = y + len(r)", "y = y + sum(r)",
    "u, *w = L\n    y = y * u + len(w)",
    "*w, u = L\n    r = w\n    y = y + u", "for v in L:\n        y = y * 0.5 + v",
    "for k in range(len(L)):\n        y = y + L[k] * k",
    "for u, v in zip(L, r):\n        y = y + u * v",
    "for v in [*L]:\n        if v > 0.6:\n            r.append(v)",
    "for v in reversed(L):\n        y = 0.3 * y + v", "r = list(r)\n    r[::2] = [S] * len(r[::2])",
    "if r:\n        y = y + r[0]\n    else:\n        y = y - 1.0",
    "if len(L) > {k}:\n        y = y * 2.0", "if L > r:\n        y = y * 0.7",
    "if L == r:\n        y = y * 0.7", "if isinstance(L, list):\n        y = y * 1.3",
    "if not L:\n        y = y - 2.0",
    "try:\n        y = y + L[3]\n    except IndexError:\n        y = y * 0.9",
    "try:\n        y = y + L.size\n    except AttributeError:\n        y = y * 0.8",
    "w = r\n    w.append(S)", "w = r[:]\n    w.append(S)\n    y = y + len(w)",
    "w = L\n    w = w + [S]\n    y = y * len(w)", "w = [L, r]\n    y = y + w[0][0] * len(w[1])",
    "w = {'a': L}\n    y = y + sum(w['a'])", "it = iter(L)\n    y = y + next(it) - next(it, 0.5)",
    "w = np.zeros(len(L))\n    w[:] = L\n    y = y + w @ w",
    "w = np.array(L)\n    w[0] = S\n    y = y + np.sum(w) + L[0]",
    "w = list(L)\n    w[0] = S\n    y = y + L[0]", "w = L[:1]\n    w[0] = S\n    y = y + L[0]",
    "a0, b0 = (L + [S, S])[:2]\n    y = y + a0 * b0", "y = y + A[0]",
    "if (n := len(r)) > 2:\n        y = y / n", "assert isinstance(L, (list, np.ndarray))",
    "def inner(values=L):\n        return values[0] * y\n    y = inner()",
    "w = lambda: L + r\n    y = y + len(w())", "while len(r) > 3:\n        y = y + r.pop()",
    "y = y + sum(map(operator.mul, L, r))", "r[:] = [v + 1.0 for v in r]",
]  # fmt: skip

#: How the lists are given: the signature, what ``L`` may be of it, and arguments of lists a, b.
PLACES: dict[str, tuple[str, list[str], list[str], Callable[..., Any]]] = {
    "one": ("p", ["p"], [], lambda a, b, m, x, v: (a,)),
    "two": ("p, q, x", ["p", "q"], [], lambda a, b, m, x, v: (a, b, x)),
    "array beside": ("p, a, x", ["p"], ["a"], lambda a, b, m, x, v: (a, v, x)),
    "tuple": ("t, x", ["t[0]", "t[1]"], [], lambda a, b, m, x, v: ((a, b), x)),
    "dictionary": (
        "d, x", ["d['p']", "d['q']"], ["d['a']"],
        lambda a, b, m, x, v: ({"p": a, "q": b, "a": v}, x),
    ),
    "rows": ("m", ["m[0]", "m[-1]"], [], lambda a, b, m, x, v: (m,)),
    "arrays": ("m, x", ["[*m[0]]"], ["m[0]", "m[1]"], lambda a, b, m, x, v: ([v, v[:1] * 2], x)),
    "defaults": ("p, x=0.7, q=None", ["p", "(q or p)"], [], lambda a, b, m, x, v: (a, x, b)),
    "deep": (
        "d", ["d['t'][0]", "d['t'][1]['q']"], [], lambda a, b, m, x, v: ({"t": (a, {"q": b})},),
    ),
}  # fmt: skip


class Source:
    """Writes one function."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.place = str(rng.choice(list(PLACES)))
        self.signature, self.lists, self.arrays, self.given = PLACES[self.place]
        self.lists = [*self.lists, *self.lists, "r"]
        self.has_x = "x" in self.signature.replace("=0.7", "").split(", ")

    def pick(self, choices: Sequence[str]) -> str:
        return choices[int(self.rng.integers(len(choices)))]

    def fill(self, text: str, depth: int) -> str:
        """Return a text with other expressions in the places of its letters."""
        made = {"L": self.list, "A": self.array, "S": self.number}
        parts = []
        for word in _words(text):
            if word in made:
                parts.append(made[word](depth - 1))
            elif word == "X":
                parts.append("x" if self.has_x else "0.7")
            else:
                parts.append(word)
        return "".join(parts).replace("{k}", str(int(self.rng.integers(0, 4))))

    def list(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.4:
            return self.pick(self.lists)
        return self.fill(self.pick(LISTS), depth)

    def array(self, depth: int) -> str:
        if self.arrays and (depth <= 0 or self.rng.random() < 0.5):
            return self.pick(self.arrays)
        return (
            f"np.array({self.list(0)})" if depth <= 0 else self.fill(self.pick(ARRAYS[2:]), depth)
        )

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(
                ["x" if self.has_x else "0.7", f"{self.pick(self.lists)}[0]", "y", "0.6"]
            )
        return self.fill(self.pick(NUMBERS), depth)

    def text(self, many: bool) -> str:
        lines = [f"def f({self.signature}):", "    y = 0.4", f"    r = list({self.lists[0]})"]
        statements = range(int(self.rng.integers(0, 4)))
        lines += ["    " + self.fill(self.pick(STATEMENTS), 2) for _ in statements]
        terms = range(int(self.rng.integers(1, 3)))
        lines += [f"    y = y + {self.number(3)}" for _ in terms]
        own = [name for name in self.lists if name != "r"][:2]
        lines.append("    y = y + 0.1 * " + " + 0.2 * ".join(f"sum({name})" for name in own))
        lines.append(f"    return {self.pick(['[*r, y]', 'r + [y]', '(y, r)']) if many else 'y'}")
        return HEAD + "\n" + "\n".join(lines) + "\n"


def _words(text: str) -> list[str]:
    """Return the names in a text, and what is between them."""
    parts, word = [], ""
    for letter in text:
        if letter.isidentifier() or (word and letter.isalnum()):
            word += letter
        else:
            parts += [word, letter]
            word = ""
    return [*parts, word]


def leaves(value: Any) -> list[float]:
    """Return the numbers in nested containers and arrays, in their order."""
    if isinstance(value, dict):
        return [x for part in value.values() for x in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in leaves(part)]
    if value is None:
        return []
    return [float(x) for x in np.ravel(value)]


def moved(value: Any, by: Any) -> Any:
    """Return arguments with numbers added to them, of their structure."""
    if isinstance(value, dict):
        return {key: moved(part, by) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([moved(part, by) for part in value])
    if isinstance(value, np.ndarray):
        return value + np.array([next(by) for _ in range(value.size)]).reshape(value.shape)
    return value + next(by)


def slope(f: Callable[..., Any], args: Any, direction: Sequence[float]) -> Any:
    """Return the derivative along a direction by extrapolated differences; None at a kink."""

    def at(h: float) -> Any:
        return np.array(leaves(f(*moved(args, iter(h * v for v in direction)))))

    values = {k: at(k * 1e-4) for k in (-4, -2, -1, 0, 1, 2, 4)}
    if len({v.shape for v in values.values()}) > 1:
        return None
    wide, mid, near = ((values[k] - values[-k]) / (2e-4 * k) for k in (4, 2, 1))
    found, other = (4 * near - mid) / 3, (4 * mid - wide) / 3
    one = (values[1] - values[0]) / 1e-4
    scale = 1 + np.abs(found)
    if np.any(np.abs(found - other) > 1e-7 * scale) or np.any(np.abs(one - found) > 1e-1 * scale):
        return None
    return found


def numbers(rng: np.random.Generator, count: int) -> list[Any]:
    """Return a list of numbers, mostly floats."""
    found: list[Any] = np.round(rng.uniform(0.15, 1.45, count), 3).tolist()
    kind = rng.integers(8)
    if kind == 0 and count:
        found[int(rng.integers(count))] = int(rng.integers(1, 3))
    elif kind == 1:
        found = [np.float64(v) for v in found]
    elif kind == 2 and count:
        found = [-v if rng.integers(2) else v for v in found]
    return found


def structure(value: Any) -> Any:
    """Return the containers of a value down to arrays, which lists of numbers may be."""
    if isinstance(value, dict):
        return {key: structure(value[key]) for key in value}
    if isinstance(value, list) and any(map(np.ndim, value)):
        return [structure(v) for v in value]
    return tuple(map(structure, value)) if isinstance(value, tuple) else np.shape(value)


def fits(found: Any, given: Any) -> bool:
    """Tell whether a gradient has the structure of an argument; lists may be arrays."""
    if isinstance(given, dict):
        return isinstance(found, dict) and all(fits(found[k], given[k]) for k in given)
    if isinstance(given, tuple):
        return isinstance(found, tuple) and all(map(fits, found, given))
    if isinstance(given, list) and isinstance(found, list):
        return len(found) == len(given) and all(map(fits, found, given))
    return np.shape(found) == np.shape(given) and not isinstance(found, (list, tuple))


#: Errors of plain Python.
PLAIN = (IndexError, ValueError, TypeError, AttributeError, StopIteration, ZeroDivisionError)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.attack(quick=20, whole=4_000, part=25, judge="plain Python, and its differences")
def test_lists(attack: Any) -> None:
    """Lists as arguments: operators, methods, NumPy's functions, nesting, lengths that change."""
    for case in attack:
        rng = case.rng
        writer = Source(rng)
        many = bool(rng.integers(4) == 0)
        source = writer.text(many)
        lengths = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5], 3)
        calls = []
        for n in [*lengths, lengths[0]]:
            other = int(n) if rng.integers(2) else int(rng.integers(0, 5))
            a, b = numbers(rng, int(n)), numbers(rng, other)
            m = [numbers(rng, max(int(n), 1)) for _ in range(max(int(n), 1))]
            v = np.round(rng.uniform(0.15, 1.45, max(int(n), 1)), 3)
            calls.append(writer.given(a, b, m, float(rng.uniform(0.2, 1.3)), v))
        name: Any = ["numpy", "numpy", "numpy", "llvm"][int(rng.integers(4))]
        with (
            case,
            np.errstate(all="ignore"),
            warnings.catch_warnings(record=True) as said,
            sg.backend(name),
        ):
            warnings.simplefilter("always", CaptureWarning)
            _attacked(case, source, calls, many, said)


def _attacked(case: Any, source: str, calls: list[Any], many: bool, said: list[Any]) -> None:
    """Compare the transformations of a function with plain Python, call by call."""
    f, count = made(source, f"<lists {case.number}>"), len(calls[0])
    compiled = sg.compile(f)
    derivative = (sg.jacobian if many else sg.grad)(f, tuple(range(count)))
    judged = 0
    for k, args in enumerate(calls):
        text = f"{source[source.index('def f(') :]}\n{args}"
        try:
            want = f(*copy.deepcopy(args))
        except PLAIN:  # there an array may be, and compute something
            continue
        if not np.isfinite(leaves(want)).all() or np.max(np.abs([*leaves(want), 0.0])) > 1e6:
            continue
        try:
            if k == 1 and case.rng.integers(2):
                derivative(*args)
            _compared(case, f, compiled, derivative, args, want, many, text)
        except SymgradError as error:
            if "Write instead" not in str(error) and "Jacobian of a result of type" not in str(
                error
            ):
                raise
            case.tally("refused")
            return
        except AssertionError:
            if any("lists of this call are arrays" in str(w.message) for w in said):
                case.tally("warned")
                return
            raise
        judged += 1
    if not judged:
        case.tally("raises")


def _compared(
    case: Any, f: Callable[..., Any], compiled: Any, derivative: Any, args: Any, want: Any,
    many: bool, text: str,
) -> None:  # fmt: skip
    """Compare a call and derivatives with plain Python."""
    before = copy.deepcopy(args)
    got = compiled(*args)
    np.testing.assert_allclose(leaves(got), leaves(want), rtol=1e-10, atol=1e-12, err_msg=text)
    assert structure(got) == structure(want), text
    assert repr(args) == repr(before), text
    flat = np.array(leaves(args))
    if not len(flat):
        return
    v = np.round(case.rng.uniform(-1, 1, len(flat)), 2)
    expected = slope(f, args, v.tolist())
    if expected is None:
        return
    # Derivatives take whole numbers for floats.
    args = moved(args, iter([0.0] * len(flat)))
    want = f(*copy.deepcopy(args))
    tangents = moved(moved(args, iter((-flat).tolist())), iter(v.tolist()))
    if many or case.rng.integers(3) == 0:
        value, change = sg.jvp(f, args, tangents)
        np.testing.assert_allclose(leaves(value), leaves(want), rtol=1e-9, err_msg=text)
        np.testing.assert_allclose(leaves(change), expected, rtol=1e-6, atol=1e-7, err_msg=text)
    if many:
        derivative(*args)
        return
    found = derivative(*args)
    assert all(map(fits, found, args)), f"{found}\n{text}"
    np.testing.assert_allclose(
        np.dot(leaves(found), v), expected[0], rtol=1e-6, atol=1e-7, err_msg=text
    )
    kind = case.rng.integers(6)
    if kind == 0:
        value, back = sg.vjp(f, *args)
        again = [value, *leaves(back(1.0))]
    elif kind == 1:
        value, slopes = sg.value_and_grad(f, tuple(range(len(args))))(*args)
        again = [value, *leaves(slopes)]
    elif kind == 2:
        shifted = lambda t: f(*moved(args, iter([t * d for d in v.tolist()])))  # noqa: E731
        again = [*leaves(sg.vmap(shifted)(np.zeros(2))[:1]), *leaves(found)]
    else:
        return
    np.testing.assert_allclose(
        again, [want, *leaves(found)], rtol=1e-9, atol=1e-12, err_msg=f"{kind} {text}"
    )
