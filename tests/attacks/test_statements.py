"""Statements and expressions of Python in all forms, in batches and as loops and branches.

Each case is a function of two numbers written out as source: names given by ``:=``, values of
``and`` and ``or``, unpacking, ``match``, ``with``, ``try``, loops over tuples and generators,
helpers, methods and properties that change objects, lists, and variables of functions around.
Plain Python of each example by itself judges.
"""

from __future__ import annotations

import linecache
from functools import partial
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError

HEAD = """
import numpy as np, math, functools, itertools, contextlib, dataclasses
K = 0.7
TABLE = {"a": 0.5, "b": 1.5}
def helper(s, k=1.0, *rest, c=0.5, **more):
    if s > k:
        return s * c + sum(rest) + more.get("d", 0.0)
    return s - c
def first(v):
    for t in v:
        if t > 0.3:
            return t
    else:
        return 0.1
def gen(s, n):
    for k in range(n):
        if s > 1.5:
            return
        yield s + k * 0.1
def deep(s, n):
    if n == 0 or s > 2:
        return s
    return deep(s * 1.1 + 0.05, n - 1)
def both(s):
    return (s + 1, s * 2) if s > 0.5 else (s, 0.3)
@dataclasses.dataclass
class P:
    u: float
    v: float = 0.4
    def turn(self):
        if self.u > self.v:
            self.u, self.v = self.v, self.u
        return self
    @property
    def size(self):
        return abs(self.u) + self.v
class Q:
    top = 2.0
    def __init__(self, s):
        self.s, self.log = s, []
    def step(self, d):
        if d > 0:
            self.s = self.s * 0.8 + d
            self.log.append(d)
        else:
            self.s -= 0.1
        return self
class R(Q):
    def step(self, d):
        if super().step(d).s > 1 and d < 1:
            self.s *= 0.9
        return self
class Held:
    count = 0
    def __init__(self, s):
        self.s, self.parts, self.table, self.n = s, [s], {}, 0
    def bump(self):
        self.n += 1
        return self.s * self.n
    def put(self, v):
        self.parts.append(v)
        return v * 0.5
    def halve(self):
        self.s = self.s * 0.5
        return self.s
    def keep(self, v):
        return self.table.setdefault("k", v)
    def known(self):
        Held.count += 1
        return self.s + 0.1 * Held.count
    @property
    def total(self):
        return self.s + sum(self.parts) + 0.1 * self.n + sum(self.table.values())
N = 0
def touch(s):
    global N
    N += 1
    return s * 0.5 + 0.1 * N
def push(parts, v):
    parts.append(v * 0.5)
    return v
def scaled(parts):
    parts[0] = parts[0] * 0.5
    return parts[-1]
@contextlib.contextmanager
def around(v):
    v.append(0.3)
    yield v
    v.append(0.2)
def f(x, a):
    global N
    N = Held.count = 0
    y, z = x, a
    h, l = Held(x), [x, a]
    def twist(t):
        nonlocal z
        z = z * 0.5 + t * 0.1
        return t * K
    def counted(t, seen=[]):
        l.append(t)
        return len(l) * 0.1
"""

#: Numbers that are computed, and what that does.
NUMBERS = [
    "h.bump()", "h.put(y)", "h.halve()", "h.keep(z)", "h.known()", "touch(x)", "push(l, y)",
    "scaled(l)", "twist(y)", "counted(x)", "h.total", "len(l) * 0.1", "l[-1]", "l[0]",
    "(h.bump() if x > 0.8 else 0.2)", "((x > 0.9 and h.put(a)) + 0.0)",
    "(touch(x) if y < 0.5 else a)",
    "(twist(a) if z > 0.1 else y)", "(l.pop() if len(l) > 2 and x > 0.7 else 0.1)", "x", "a", "y",
    "z", "K", "0.5", "2.0", "(x * a)", "(y - x)", "np.sin(x)", "math.tanh(y)", "abs(y)",
    "helper(y)", "helper(z, 0.2, a, c=x, d=y)", "max(x, z)", "min(y, a, z)",
    "(x if y > z else a)", "(y := y * 0.5 + 0.1)", "(y if x > 0.7 else (z := z * 0.3))",
    "first([x, a, y])", "sum(gen(x, 3))", "deep(x, 3)", "both(y)[0]", "both(z)[1]",
    "P(x, a).turn().size", "Q(x).step(a).step(y).s", "R(y).step(x).step(z).s",
    "sum([t for t in (x, a, y) if t > 0.4])", "sum(t if t > 0 else -t for t in (z, a))",
    "[x, y, z][1]", "{'u': x, 'w': y}['w']", "sorted([1, 3, 2])[0] * x",
    "functools.reduce(lambda p, q: p * 0.5 + q if q > 0 else p, [x, a, y])",
    "(lambda t, w=y: t * w if t > 0.5 else w)(x)", "TABLE['a' if x > a else 'b']", "(x > a) * y",
    "np.where(x > a, y, z)", "any([x > 1, y > 1]) * z", "all(t > 0.1 for t in (x, y)) * a",
    "float(x > 0.6) + y", "int(x > 0.6) * z", "((x > 0.2 and y) + x)", "(x and y)",
    "(z or a)", "(not x > 1) * y",
    "round(2.4) * x", "len([x, y]) * a", "list(itertools.accumulate([x, a, y]))[-1]",
    "list(map(helper, [x, y]))[1]", "next((t for t in (a, y, z) if t > 0.2), 0.6)",
    "max([x, y, a], key=lambda t: -t)", "math.hypot(x, y)", "pow(abs(x) + 0.1, 2)",
    "divmod(x, 0.7)[1]", "x // 0.3", "x % 0.4", "-y", "+z", "x ** 2", "math.prod([x, 2.0, y])",
    "np.array([x, a, y])[1:].sum()", "np.max(np.array([x, y]))", "[*both(x), y][-1]",
    "(lambda *t: t[0] + t[-1])(*both(y))",
]  # fmt: skip

#: Conditions; ``{}`` is a number.
TESTS = [
    "h.bump() > {}", "x > {} and h.put(x) > 0.2", "touch(y) < {}", "twist(y) > {}",
    "push(l, x) > {}", "x > {}", "y < {}", "abs(z) > {}", "x > {} and y < 1.5", "not z < {}",
    "-1 < y < {}", "x < {} or a > 0.3", "(y := y * 0.9 + 0.1) > {}",
    "x > {} and (z := z * 0.8) < 1", "-1 < (z := z - 0.1) < {}", "x > {} if y > 0.2 else a > 0",
    "x > {} > a", "helper(y) > {}", "any(t > {} for t in (x, a, y))", "all([x > -1, a > {} - 1])",
    "min(x, y) > {}", "(x > {}) == (a > 0)", "(x > {}) != (a > 0)",
    "(x > {}) ^ (a > 0)", "(x > {}) & (a > 0)", "bool(x > {})",
    "x > {} or (y := x * 0.5) > 0.2 and z < 1", "1 if x > {} else 0", "max(x, a) < {} < y + 3",
]  # fmt: skip

#: Statements of their own, which change something.
CHANGES = [
    "h.s = y", "h.n += 1", "l[0] = y", "l[-1] *= 0.5", "h.parts[0] = z", "l.append(z)",
    "h.table['u'] = y", "h.put(z)", "twist(y)", "touch(z)", "h = Held(y)", "l = [y, z]",
    "l += [0.3]", "m = l", "w = h",
]  # fmt: skip

#: Lines that assign to ``y`` and ``z``; ``@`` is a number, ``%`` an expression of two.
ASSIGNED = [
    ["y = np.tanh(%)"], ["z = np.tanh(%)"], ["y = np.tanh(%)"], ["z += 0.5 * @"], ["y *= 0.5 * @"],
    ["y, z = z, np.tanh(%)"], ["y = z = np.tanh(%)"],
    ["(y, *r) = [np.tanh(@), @, 0.2]", "z = r[0] * 0.5"],
    ["p = P(y, z)", "p.u += @", "y = np.tanh(p.turn().u)"],
    ["b = [y, z]", "b[-1] *= np.tanh(@)", "y, z = b"],
    ["c = dict(u=y, w=np.sin(@))", "c['u'] += 0.1", "z = c['u'] * c['w']"],
    ["q = R(y)", "q.step(@)", "z = np.tanh(q.s + sum(q.log))"],
    ["w = np.array([y, z, 0.3])", "w[w > 0.5] *= 0.7", "w[::-1] *= w[0]", "z = np.tanh(w.sum())"],
    ["with around([y]) as v:", "    v.append(np.tanh(@))", "y = sum(v) * 0.5"],
    ["try:", "    y = np.tanh(%)", "finally:", "    z = z * 0.5 + y"],
    ["match K, (1, 2.0), TABLE:", "    case float(s), (1, t), {'a': u}:", "        y = y * t * u"],
    [
        "def inner(t):", "    nonlocal z", "    if t > 0.4:", "        z = z * 0.5 + t",
        "    return t * K", "y = np.tanh(inner(@))",
    ],
]  # fmt: skip

#: Heads of loops, with what begins a step; ``i`` is the loop's own name.
LOOPS = [
    ["", "for i in range(5):", "z = 0.9 * z + 0.1 * i"],
    ["", "for i in range(4, 0, -1):", "z = 0.9 * z + 0.1 * i"],
    ["", "for i in (@, @, 0.3):", "z = 0.9 * z + 0.1 * i"],
    ["", "for i, t in enumerate([x, y, a]):", "z = 0.9 * z + 0.1 * i * t"],
    ["", "for i, t in zip((x, 0.4), [a, y]):", "z = 0.9 * z + 0.1 * i * t"],
    ["", "for i in gen(y, 4):", "z = 0.9 * z + 0.1 * i"],
    ["i = 0", "while i < 6 and (?):", "i += 1"],
    ["i = 0", "while (i := i + 1) < 7:", "z = z * 0.9"],
    ["i = 0", "while (t := y * 0.5 + i * 0.1) < 0.7 and i < 9:", "i, z = i + 1, z * 0.8 + t * 0.2"],
]  # fmt: skip

ENDS = [
    "y + z", "y * z + x", "np.sin(y) - z", "sum((y, z))", "y + z + h.total + l[0] * 0.3",
    "np.tanh(sum(l)) + y * z", "h.total + len(l) * y + N * 0.1", "z + h.total + Held.count",
]  # fmt: skip


class Written:
    """Writes a function at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.loops = rng, 0
        self.lines = HEAD.splitlines()

    def one(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def filled(self, text: str) -> str:
        """Return a line with numbers and tests in the places for them."""
        while any(c in text for c in "@%?"):
            pair = f"{self.one(NUMBERS)} {self.one(['+', '-', '*'])} {self.one(NUMBERS)}"
            for place, value in (("%", pair), ("?", self.test()), ("@", self.one(NUMBERS))):
                text = text.replace(place, value.replace("%", "//"), 1)
        return text

    def test(self) -> str:
        return str(self.one(TESTS)).replace("{}", f"{self.rng.uniform(-0.2, 1.5):.2f}")

    def put(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * depth + self.filled(line) for line in lines if line]

    def block(self, depth: int, budget: int, loop: bool) -> None:
        for _ in range(int(self.rng.integers(1, 4))):
            self.statement(depth, budget, loop)

    def statement(self, depth: int, budget: int, loop: bool) -> None:
        kind = self.rng.random()
        if budget == 0 or kind < 0.4:
            if self.rng.random() < 0.25:
                self.put(depth, self.one(CHANGES))
            self.put(depth, *self.one(ASSIGNED))
        elif kind < 0.65:
            self.put(depth, "if ?:")
            self.block(depth + 1, budget - 1, loop)
            if self.rng.random() < 0.3:
                self.put(depth, "elif ?:")
                self.block(depth + 1, budget - 1, loop)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, budget - 1, loop)
        elif kind < 0.8:
            self.put(depth, "if ?:")
            self.block(depth + 1, 0, loop)
            self.put(
                depth + 1, self.one(["return %", "break", "continue"] if loop else ["return %"])
            )
        else:
            self.loop(depth, budget)

    def loop(self, depth: int, budget: int) -> None:
        self.loops += 1
        before, head, first = self.one(LOOPS)
        name = f"i{self.loops}"
        for k, line in enumerate((before, head, first)):
            words = line.replace("(i ", f"({name} ").replace("= i ", f"= {name} ").split(" ")
            named = [name + w[1:] if w in ("i", "i,") else w for w in words]
            self.put(depth + (k == 2), " ".join(named))
        self.block(depth + 1, max(budget - 1, 0), True)
        if self.rng.random() < 0.2:
            self.put(depth, "else:", "    y = np.tanh(%)")

    def source(self) -> str:
        self.block(1, 2, False)
        if self.rng.random() < 0.7:
            self.loop(1, 2)
        self.block(1, 1, False)
        self.put(1, f"return {self.one(ENDS)}")
        return "\n".join(self.lines) + "\n"


def made(source: str, name: str) -> Any:
    """Return the function of a source that can be looked up."""
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"__name__": "statements"}
    exec(compile(source, name, "exec", dont_inherit=True), scope)
    return scope["f"]


def slope(f: Any, x: float, a: float) -> float:
    """Return the slope by differences, nan where steps of two lengths do not agree."""
    h = 1e-6
    p = [f(x + s * h, a) for s in (-2, -1, 0, 1, 2)]
    near, wide = (p[3] - p[1]) / (2 * h), (p[4] - p[0]) / (4 * h)
    smooth = np.isclose(near, wide, 1e-5, 1e-6) and np.isclose((p[3] - p[2]) / h, near, 1e-3, 1e-4)
    return float(near) if smooth else np.nan


def one_by_one(f: Any, x: Any, a: Any) -> list[Any]:
    return [f(*pair) for pair in zip(x, a, strict=True)]


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.filterwarnings("ignore::symgrad.errors.CaptureWarning")
@pytest.mark.attack(quick=4, whole=2_000, part=50, judge="plain Python of each example")
def test_statements(attack: Any) -> None:
    """Python's statements, values and effects in batches, branches and loops."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            source = Written(case.rng).source()
            f = made(source, f"<statements {case.number}>")
            body = source[source.index("def f(x, a)") :]
            x, a = case.rng.uniform(0, 2, 5), case.rng.uniform(-1, 1, 5)
            pairs = list(zip(x.tolist(), a.tolist(), strict=True))
            want = np.array([f(*pair) for pair in pairs], float)
            if not np.isfinite(want).all() or np.abs(want).max() > 1e6:
                case.tally("not finite, or large")
                continue
            slopes = np.array([slope(f, *pair) for pair in pairs])
            smooth = np.isfinite(slopes)
            plain, rolled = sg.compile(f), sg.compile(f, control_flow=True)
            ways: list[Any] = [sg.vmap(f), sg.vmap(sg.grad(f))]
            ways += [partial(one_by_one, g) for g in (plain, rolled, sg.grad(rolled))]
            for k, way in enumerate(ways):
                try:
                    found = np.array(way(x, a))
                except SymgradError:
                    case.tally("refused in part")
                    continue
                where = smooth if k in (1, 4) else np.full(len(want), True)
                np.testing.assert_allclose(
                    found[where], (slopes if k in (1, 4) else want)[where],
                    *((2e-4, 1e-5) if k in (1, 4) else (1e-9, 1e-11)), err_msg=f"{k}: {body}",
                )  # fmt: skip
