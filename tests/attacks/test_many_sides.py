"""Functions that decide by values in many ways, called at points of more than four of them.

After four paths a function is traced with its control flow rewritten. Each case is a module of its
own, written out as source: branches, loops that are left early, helpers, methods, recursion,
closures, generators, errors, draws, and what a side leaves behind: attributes, entries, items of
lists, global names. It is called at a dozen points and more, between some of which what it reads
changes. After each call the result and the state are those of plain Python in a namespace of its
own, and an error is the same; derivatives are those of its differences after the same calls.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, SymgradError

HEAD = """
import contextlib, math
import numpy as np

class Box:
    rate = 0.3

    def __init__(self):
        self.mean, self.calls, self.best = 0.2, 0, None

    def smooth(self, v):
        if v > 0.9:
            self.mean = 0.7 * self.mean + 0.3 * v
        elif v < 0.1:
            self.mean = 0.5 * self.mean
        return self.mean

    def bend(self, v):
        if v > 1.0:
            return v - self.rate
        for _ in range(9):
            v = v * 0.9 + 0.05
            if v < 0.3:
                return v * 2.0
        return v

box = Box()
seen, table, K, COUNT = [], {"m": 0.4}, 0.5, 0
memory = np.array([0.3, 0.1])
rng = np.random.default_rng(7)

class LowError(Exception):
    pass

def helper(v, scale=1.3, *, shift=0.1):
    if v > 1.2:
        return np.log(v) + shift
    if v > 0.4:
        return v * scale - 0.2
    return 0.3 * v * v

def checked(v):
    if v < 0.05:
        raise LowError("low")
    return v * 0.7

def halved(v, n=0):
    if v < 0.3 or n > 11:
        return v + 0.01 * n
    return halved(v * 0.6, n + 1)

def parts(v):
    while v > 0.2:
        yield v
        v = v * 0.5

def steps(v):
    n = 0
    while v > 0.15:
        v = v * 0.7
        n += 1
    return n, v

def made(limit):
    def inner(v):
        if v > limit:
            return v * 0.8
        return v + 0.1
    return inner

soft = made(0.7)

def noted(v):
    box.calls += 1
    return v

def pushed(v, store=[]):
    store.append(1)
    return v * (1.0 + 0.01 * len(store))
"""

NUMBERS = [
    "x", "x", "a", "y", "z", "0.5", "K", "(x * a)", "(y - z)", "np.sin(x)", "abs(y - 0.4)",
    "helper(y)", "helper(x, 0.9, shift=z * 0.1)", "max(x, z)", "min(y, a, 0.8)", "halved(x)",
    "(x if y > z else a)", "box.bend(y)", "soft(z)", "sum(parts(x))", "steps(a)[1]",
    "steps(x)[0] * 0.1", "box.mean", "table['m']", "(y or 0.3)", "(z > 0.5) * y", "len(w) * 0.1",
    "sum(w)", "np.tanh(y) * memory[1]", "(x // 0.3) * 0.1", "made(y)(x)", "next(parts(x), 0.2)",
    "np.exp(-y * y)", "float(n)", "math.sqrt(abs(z) + 0.1)", "round(z)", "y ** 2", "max(w)",
    "np.where(x > a, y, z)", "sum(v for v in (x, y, z) if v > 0.4)", "{'lo': 0.2, 'hi': y}[s]",
]  # fmt: skip
TESTS = [
    "x > {}", "y < {}", "abs(z) > {}", "x > {} and y < 0.9", "not z < {}", "0.2 < y < {}",
    "x < {} or a > 0.7", "checked(abs(y) + 0.1) > {}", "helper(x) > {}", "n > 2", "n % 2 == 0",
    "s == 'lo'", "y > z", "len(w) > 2", "box.calls % 2", "table['m'] < y", "x > {} > z * 0.5",
    "isinstance(y, float) and y > {}", "any(v > {} for v in (y, z))", "all([x > {}, a > 0.3])",
    "(q := x * y) > {}", "w and w[-1] > {}", "r is None", "K > 0.45", "bool(x > {})",
    "x + a > {}", "x - a > {}", "x > {}", "a < {}", "x < {}",
]  # fmt: skip

#: Statements without any effect but on local variables.
LOCAL = [
    "y = {v} * 0.6 + {v} * 0.3", "z = np.tanh({v})", "y = {v}", "z = {v} - 0.2", "y += {v} * 0.3",
    "z *= 0.7", "y, z = z, y", "n += 1", "n = n * 2 + 1", "s = 'hi' if y > 0.6 else 'lo'",
    "s = 'lo'",
    "w.append({v})", "w = [*w, {v}]", "w[-1] = {v}", "r = {v}", "y = 1", "z = 0",
    "y = y + r if r is not None else y",
    "n = int(x * 3)", "u = np.array([x, y, z])\n{p}u[1] = {v}\n{p}y = y + u @ u * 0.1",
    "g = lambda t: t * {v}\n{p}y = g(0.3) + y * 0.5", "z = z + (0.1 if y > 0.5 else -0.1)",
    "try:\n{p}    y = y + checked({v} - 0.3)\n{p}except LowError:\n{p}    y = y * 0.5",
    "try:\n{p}    z = 0.2 / (n - 1)\n{p}except ZeroDivisionError:\n{p}    z = 0.7",
    "with contextlib.suppress(LowError):\n{p}    z = checked(y - 0.3)",
    "m = {{'k': y}}\n{p}m['k'] = m['k'] * 0.5\n{p}z = m['k'] + z",
    "def own(t, by=y):\n{p}    return t * by if t > 0.5 else t\n{p}z = own({v})",
    "def add(t):\n{p}    held[0] += t\n{p}held = [y]\n{p}add({v})\n{p}y = held[0] * 0.5",
    "for v in parts(y):\n{p}    z = 0.5 * z + v * 0.2",
    "for v in (x, a):\n{p}    if v > 0.6:\n{p}        y = y * 0.8 + v * 0.1",
    "y = y if y < 1.5 else 1.5", "z = -z", "y = abs(y)", "assert y < 1e9", "q = y\n{p}y = q + 0.1",
]  # fmt: skip

#: Statements that leave something behind.
EFFECTS = [
    "box.calls += 1", "box.mean = 0.5 * box.mean + 0.1 * y", "box.last = y", "table['m'] = 0.5 * z",
    "table['m'] += 0.1", "seen.append(y)", "seen.append(1)", "COUNT += 1", "memory[0] = y",
    "memory[1] += 0.1 * z", "memory *= 0.9", "y = y + box.smooth({v})",
    "y = noted({v}) * 0.5 + y * 0.3",
    "if box.best is None or y < box.best:\n{p}    box.best = y", "y = y + rng.normal() * 0.1",
    "y = y + rng.uniform() * x * 0.1", "z = pushed(z)", "table.setdefault('t', y)",
    "seen.append((s, n))", "box.mean, box.last = z * 0.2, s",
    "table[s] = table.get(s, 0.1) * 0.5 + y * 0.1",
    "Box.rate = 0.3 + 0.1 * (COUNT % 2)", "seen and seen.pop()", "box.w = list(w)",
    "memory[:] = [y, z]",
    "z = z + table.pop('t', 0.1)", "box.__dict__['mean'] = y * 0.3", "del seen[:1]",
]  # fmt: skip

RETURNS = ["return y + z", "return y * 0.5 + x", "return z * a", "return y + n",
           "return y + sum(w)", "return {v}"]  # fmt: skip
OTHERS = ["return y, z", "return {{'y': y}}", "return [y, z, y]", "return np.array([y, z])",
          "return y, s", "return (z, (y,))"]  # fmt: skip


class Source:
    """Writes one module, whose function is ``f(x, a)``."""

    def __init__(self, rng: np.random.Generator, effects: bool, odd: bool) -> None:
        self.rng, self.effects, self.odd = rng, effects, odd
        self.lines: list[str] = []
        self.names = 0
        #: A few numbers and tests, so that most programs do not have a bit of everything.
        self.numbers = [*"xayz", *(self.one(NUMBERS) for _ in range(5))]
        self.tests = [*TESTS[-5:], *(self.one(TESTS) for _ in range(3))]
        self.own = [*LOCAL[:6], *(self.one(LOCAL) for _ in range(5))]
        self.left = [self.one(EFFECTS) for _ in range(2)]

    def one(self, texts: list[str]) -> str:
        return texts[int(self.rng.integers(len(texts)))]

    def test(self) -> str:
        return self.one(self.tests).format(round(float(self.rng.uniform(0.1, 1.2)), 2))

    def put(self, depth: int, text: str) -> None:
        pad = "    " * depth
        while "{v}" in text:
            text = text.replace("{v}", self.one(self.numbers), 1)
        text = text.replace("{p}", pad).replace("{{", "{").replace("}}", "}")
        self.lines += (pad + text).split("\n")

    def plain(self, depth: int) -> None:
        if self.effects and self.rng.random() < 0.3:
            self.put(depth, self.one(self.left))
        else:
            self.put(depth, self.one(self.own))

    def block(self, depth: int, budget: int, loop: bool) -> None:
        for _ in range(int(self.rng.integers(1, 3))):
            self.statement(depth, budget, loop)

    def statement(self, depth: int, budget: int, loop: bool) -> None:
        kind = self.rng.random()
        if budget == 0 or kind < 0.35:
            self.plain(depth)
        elif kind < 0.65:
            self.put(depth, f"if {self.test()}:")
            self.block(depth + 1, budget - 1, loop)
            for _ in range(int(self.rng.integers(0, 3))):
                self.put(depth, f"elif {self.test()}:")
                self.block(depth + 1, budget - 1, loop)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, budget - 1, loop)
        elif kind < 0.8:
            self.put(depth, f"if {self.test()}:")
            self.plain(depth + 1)
            self.put(depth + 1, self.leave(loop))
        elif depth > 2:
            self.plain(depth)
        else:
            self.loop(depth, budget)

    def leave(self, loop: bool) -> str:
        ways = [self.one(RETURNS)]
        if self.odd:
            ways += [self.one(OTHERS), "raise LowError('x')", "raise ValueError(f'{n}')"]
        return self.one([*ways, "break", "continue", "break"] if loop else ways)

    def loop(self, depth: int, budget: int) -> None:
        self.names += 1
        i, kind = f"i{self.names}", self.rng.random()
        if kind < 0.5:
            self.put(
                depth, f"for {i} in range({self.one(['3', '12', '1, 9', '20', 'n % 7 + 2'])}):"
            )
            self.put(depth + 1, f"z = 0.9 * z + 0.01 * {i}")
        elif kind < 0.8:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {i} < 14 and ({self.test()}):")
            self.put(depth + 1, f"{i} += 1")
            self.put(depth + 1, "y = y * 0.85")
        else:
            self.put(depth, f"{i} = 0")
            self.put(depth, "while True:")
            self.put(depth + 1, f"{i} += 1")
            self.put(depth + 1, f"if {i} > 10 or ({self.test()}):")
            self.put(depth + 2, "break")
            self.put(depth + 1, "y = y * 0.8 + x * 0.1")
        self.block(depth + 1, budget - 1, True)
        if self.rng.random() < 0.2:
            self.put(depth, "else:")
            self.plain(depth + 1)

    def text(self) -> str:
        self.put(1, "global COUNT, memory")
        self.put(1, "y, z, n, s, w, r = x, a, 1, 'hi', [0.3], None")
        for _ in range(int(self.rng.integers(2, 4))):
            self.statement(1, 2, False)
        self.put(1, f"if {self.test()}:")
        self.block(2, 1, False)
        self.put(1, self.one([*RETURNS, "return y + z"]))
        return HEAD + "\ndef f(x, a):\n" + "\n".join(self.lines) + "\n"


def namespace(source: str, name: str) -> dict[str, Any]:
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "attacked"}
    exec(compile(source, name, "exec"), scope)
    return scope


def state(scope: dict[str, Any]) -> Any:
    """Return what a module's function may have left behind."""
    box, rng = scope["box"], scope["rng"]
    return {
        "box": dict(vars(box)), "rate": scope["Box"].rate, "seen": list(scope["seen"]),
        "table": dict(scope["table"]), "memory": scope["memory"].tolist(),
        "count": scope["COUNT"], "rng": rng.bit_generator.state["state"]["state"],
        "store": len(scope["pushed"].__defaults__[0]),
    }  # fmt: skip


def same(got: Any, want: Any, where: str) -> None:
    """Fail unless two results or states are equal, numbers up to rounding."""
    if isinstance(want, dict):
        assert isinstance(got, dict), f"{where}: {got} for {want}"
        assert list(got) == list(want), f"{where}: {got} for {want}"
        for key in want:
            same(got[key], want[key], f"[{key!r}] {where}")
    elif isinstance(want, (list, tuple)):
        assert type(got) is type(want), f"{where}: {got!r} for {want!r}"
        assert len(got) == len(want), f"{where}: {got!r} for {want!r}"
        for k, (x, y) in enumerate(zip(got, want, strict=True)):
            same(x, y, f"[{k}] {where}")
    elif isinstance(want, (str, bool, type(None))):
        assert type(got) is type(want) or isinstance(got, np.bool_), (
            f"{where}: {got!r} for {want!r}"
        )
        assert got == want, f"{where}: {got!r} for {want!r}"
    else:
        assert np.shape(got) == np.shape(want), f"{where}: {got!r} for {want!r}"
        assert not isinstance(got, (str, type(None))), f"{where}: {got!r} for {want!r}"
        np.testing.assert_allclose(
            np.asarray(got, float), np.asarray(want, float), rtol=1e-9, atol=1e-11, err_msg=where
        )


def numbers(value: Any) -> list[float]:
    """Return the numbers of a result."""
    if isinstance(value, dict):
        return [x for part in value.values() for x in numbers(part)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in numbers(part)]
    if value is None or isinstance(value, str):
        return []
    return [float(x) for x in np.ravel(value)]


#: What is done before some of the calls.
CHANGES: list[Callable[[dict[str, Any]], None]] = [
    lambda scope: scope.update(K=0.9),
    lambda scope: scope.update(K=0.1),
    lambda scope: setattr(scope["box"], "mean", 0.6),
    lambda scope: setattr(scope["Box"], "rate", 0.1),
    lambda scope: scope["table"].update(m=0.9),
    lambda scope: scope["seen"].append(2.0),
    lambda scope: scope.update(K=1),
    lambda scope: scope.update(COUNT=5),
    lambda scope: scope.update(soft=scope["made"](0.2)),
    lambda scope: scope.update(memory=np.array([0.7, 0.2])),
]


class Replay:
    """Plain Python after the same calls as the compiled function."""

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self.done: list[Any] = []

    def scope(self) -> dict[str, Any]:
        """Return a namespace as the calls have left it."""
        scope = namespace(self.source, self.name)
        for entry in self.done:
            if callable(entry):
                entry(scope)
            else:
                scope["f"](*entry)
        return scope

    def at(self, x: float, a: float) -> Any:
        """Return the numbers of the next call's result; None if it raises."""
        scope = self.scope()
        try:
            result = scope["f"](x, a)
        except Exception:  # noqa: BLE001  # beside the point
            return None
        return np.array(numbers(result))

    def slope(self, x: float, a: float, v: Any) -> Any:
        """Return the derivative along a direction; None at a kink or a jump."""
        found = {k: self.at(x + k * 1e-5 * v[0], a + k * 1e-5 * v[1]) for k in (-2, -1, 0, 1, 2)}
        if any(y is None or y.shape != found[0].shape for y in found.values()):
            return None
        near, wide = (found[1] - found[-1]) / 2e-5, (found[2] - found[-2]) / 4e-5
        one = (found[1] - found[0]) / 1e-5
        scale = 1 + np.abs(near)
        if np.any(np.abs(near - wide) > 1e-6 * scale) or np.any(np.abs(one - near) > 1e-3 * scale):
            return None
        return near


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """Return a call's result, or the error that it raises."""
    try:
        return f(*args)
    except SymgradError:
        raise
    except Exception as error:  # noqa: BLE001  # which is to be the same
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.attack(quick=10, whole=4_000, part=25, judge="plain Python after the same calls")
def test_many_sides(attack: Any) -> None:
    """Functions of more than four paths: early exits, state, draws, errors, closures, changes."""
    for case in attack:
        rng = case.rng
        effects, odd = bool(rng.integers(2)), bool(rng.integers(3) == 0)
        source = Source(rng, effects, odd).text()
        way = str(rng.choice(["compile", "grad", "grad", "jvp", "hessian", "vmap"]))
        if way == "vmap" and (effects or odd):
            way = "grad"
        if odd and way in ("grad", "hessian"):
            way = "jvp"
        with (
            case,
            np.errstate(all="ignore"),
            warnings.catch_warnings(record=True) as said,
            sg.backend("llvm" if rng.integers(12) == 0 else "numpy"),
        ):
            warnings.simplefilter("always", CaptureWarning)
            points = rng.uniform(0.05, 1.5, (int(rng.integers(12, 16)), 2)).round(3)
            if way == "vmap":
                _batched(case, source, points)
            else:
                _called(case, source, points, way, effects, said)


def _called(case: Any, source: str, points: Any, way: str, effects: bool, said: list[Any]) -> None:
    """Compare a function and its derivative with plain Python, call by call."""
    rng, name = case.rng, f"<many sides {case.number}>"
    plain, ours = namespace(source, name), namespace(source, name)
    replay = Replay(source, name)
    function = {
        "compile": sg.compile, "grad": sg.value_and_grad, "jvp": sg.compile,
        "hessian": sg.compile,
    }[way](ours["f"], **({"argnums": (0, 1)} if way == "grad" else {}))  # fmt: skip
    beside = None if way != "hessian" or effects else sg.hessian(ours["f"], (0, 1))
    changing = rng.integers(3) == 0
    tried = 0
    for k, (x, a) in enumerate(points.tolist()):
        if changing and rng.integers(4) == 0:
            change = CHANGES[int(rng.integers(len(CHANGES)))]
            for scope in (plain, ours):
                change(scope)
            replay.done.append(change)
        if k == 9 and way == "compile":
            x = 1  # a Python int, which derivatives take for a float
        text = f"call {k} {way} of {(x, a)}\n{source[source.index('def f(') :]}"
        want = outcome(plain["f"], x, a)
        if isinstance(want, UnboundLocalError):
            case.tally("unbound")
            return
        if isinstance(want, (TypeError, OverflowError)):
            case.tally("raises")
            return
        v = rng.uniform(-1, 1, 2).round(2)
        try:
            if way == "jvp":
                got = outcome(lambda x, a: sg.jvp(ours["f"], (x, a), tuple(v.tolist())), x, a)  # noqa: B023
            else:
                got = outcome(function, x, a)
        except SymgradError as error:
            if "Write instead" not in str(error) and "give it one before" not in str(error):
                raise
            case.tally(f"refused: {str(error)[:70]}")
            return
        if isinstance(want, Exception):
            assert type(got).__name__ == type(want).__name__, f"{got!r} for {want!r}\n{text}"
            assert str(got) == str(want), f"{got!r} for {want!r}\n{text}"
            plain = replay.scope()  # a call that raises leaves nothing behind
        elif not np.isfinite(numbers(want)).all():
            case.tally("not finite")
            return
        else:
            assert not isinstance(got, Exception), f"{got!r} for {want!r}\n{text}"
            value = got[0] if way in ("grad", "jvp") else got
            same(value, want, text)
            tried += 1
            _check_slopes(replay, way, got, x, a, v, text)
            if beside is not None and k % 4 == 0 and type(x) is float:
                _check_hessian(beside, plain["f"], x, a, text)
        if any("undone" in str(w.message) for w in said):
            case.tally("warned")
            return
        same(state(ours), state(plain), f"state {text}")
        if not isinstance(want, Exception):
            replay.done.append((x, a))
    if not tried:
        case.tally("raises")


def _check_slopes(
    replay: Replay, way: str, got: Any, x: float, a: float, v: Any, text: str
) -> None:
    if way not in ("grad", "jvp"):
        return
    expected = replay.slope(x, a, v)
    if expected is None:
        return
    found = [np.dot(got[1], v)] if way == "grad" else numbers(got[1])
    if len(found) == len(expected):
        large = np.max(np.abs(numbers(got[0])), initial=0.0)  # whose last digits are noise
        np.testing.assert_allclose(
            found, expected, rtol=1e-5, atol=1e-6 + 1e-10 * large, err_msg=text
        )


def _check_hessian(hessian: Any, f: Any, x: float, a: float, text: str) -> None:
    """Compare second derivatives with differences, where there is no kink."""
    found = np.array(hessian(x, a), float)
    rows = []
    for h in (1e-3, 5e-4):
        grid = {(i, j): f(x + i * h, a + j * h) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        xx = (grid[1, 0] - 2 * grid[0, 0] + grid[-1, 0]) / h**2
        aa = (grid[0, 1] - 2 * grid[0, 0] + grid[0, -1]) / h**2
        xa = (grid[1, 1] - grid[1, -1] - grid[-1, 1] + grid[-1, -1]) / (4 * h**2)
        rows.append([[xx, xa], [xa, aa]])
    wide, near = np.array(rows)
    expected = (4 * near - wide) / 3
    if np.all(np.abs(near - wide) < 1e-4 * (1 + np.abs(near))):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=text)


def _batched(case: Any, source: str, points: Any) -> None:
    """Compare batches with plain Python of each example."""
    scope = namespace(source, f"<many sides {case.number}>")
    text = source[source.index("def f(") :]
    want = [outcome(scope["f"], x, a) for x, a in points.tolist()]
    if any(isinstance(y, Exception) for y in want) or not np.isfinite(want).all():
        case.tally("raises")
        return
    xs, batch = points[:, 0], points[:, 1]
    f = scope["f"]
    try:
        for size in (5, 5, len(points), len(points), 1):
            part = slice(0, size)
            found = sg.vmap(f)(xs[part], batch[part])
            np.testing.assert_allclose(found, want[part], rtol=1e-9, atol=1e-11, err_msg=text)
        slopes = sg.vmap(sg.grad(f, (0, 1)))(xs, batch)
    except SymgradError as error:
        if "Write instead" not in str(error) and "give it one before" not in str(error):
            raise
        case.tally(f"refused: {str(error)[:70]}")
        return
    replay = Replay(source, f"<many sides {case.number}>")
    for k, (x, a) in enumerate(points.tolist()):
        v = case.rng.uniform(-1, 1, 2)
        expected = replay.slope(x, a, v)
        if expected is not None:
            got = slopes[0][k] * v[0] + slopes[1][k] * v[1]
            np.testing.assert_allclose([got], expected, rtol=1e-5, atol=1e-6, err_msg=text)
