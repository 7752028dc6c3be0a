"""Names of one array in branches and loops: writes in place, views, swaps, copies, new arrays.

Each case is a function of a vector and a number, whose ``if``, ``while`` and ``for`` give names
other arrays and write into them. Plain NumPy judges, call by call.
"""

from __future__ import annotations

import linecache
import random
import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import SymgradError

PARTS = ("1:", ":-1", "::2", "::-1", "1:-1", "0", "-1", "1", "k % 3", "-k - 1", ":k + 1", "...",
         "[0, -1]", "[1, 0]")  # fmt: skip
NEW = ("{a}[1:]", "{a}[::-1]", "{a}[::2]", "{a}", "{a}.T", "{a}.copy()", "{a}.reshape(-1)",
       "np.asarray({a})", "np.array({a})", "{a} * 1.0", "np.ravel({a})")  # fmt: skip
STARTS = (
    "x.copy()", "np.array(x)", "np.zeros(len(x))", "x * 2", "np.zeros_like(x)", "np.ones(len(x))",
    "x[::-1].copy()", "y", "y[::-1]", "np.asarray(y)", "y * 2",
)  # fmt: skip


class Writer:
    """Writes the lines of a function."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def part(self, a: str, k: bool) -> str:
        part = self.r.choice(PARTS)
        return f"{a}[{part if k else part.replace('k', '1')}]"

    def value(self, names: list[str], k: bool, depth: int = 0) -> str:
        one = lambda: self.value(names, k, depth + 1)  # noqa: E731
        if depth > 1 or self.r.random() < 0.4:
            return self.r.choice([*names, self.part(self.r.choice(names), k), "s", "0.5"])
        return self.r.choice([f"np.sin({one()})", f"({one()} {self.r.choice('+-*')} {one()})"])

    def test(self, names: list[str], k: bool) -> str:
        a = self.r.choice(names)
        more = ["k > 1", f"{a}[k] > s"] if k else []
        more += [f"abs({a}[-1]) < 0.6", f"np.max({a}) > 0.9 and s > 0.2"]
        return self.r.choice([f"np.sum({a}) > s", f"{a}[0] > 0.1", "s > 0.3", *more])

    def block(self, names: list[str], k: bool, depth: int) -> list[str]:
        return [f"    {line}" for line in self.lines(names, k, depth + 1)]

    def lines(self, names: list[str], k: bool, depth: int) -> list[str]:
        found, names = [], list(names)
        for _ in range(self.r.randrange(1, 4)):
            a, b, kind = self.r.choice(names), self.r.choice(names), self.r.randrange(14)
            if kind < 3:
                sign = self.r.choice(["=", "+=", "*="])
                found.append(f"{self.part(a, k)} {sign} {self.value(names, k)}")
            elif kind == 3:
                found.append(f"{a} {self.r.choice(['+=', '*='])} {self.value(names, k)}")
            elif kind == 4:
                found.append(f"{a}[1:] {self.r.choice(['+=', '='])} {a}[:-1]")
            elif kind == 5:
                found.append(f"{a}, {b} = {b}, {a}")
            elif kind == 6:
                found.append(f"{a}[0], {a}[-1] = {a}[-1], {b}[0]")
            elif kind < 9:
                name = self.r.choice(["y", "w", "v"])
                found.append(f"{name} = {self.r.choice(NEW).format(a=a)}")
                names += [name] * (name not in names)
            elif kind == 9:
                found.append(f"{self.r.choice(['y', 'w'])} = {a} if {self.test(names, k)} else {b}")
            elif kind == 10 and depth < 2:
                found += [f"if {self.test(names, k)}:", *self.block(names, k, depth)]
                found += ["else:", *self.block(names, k, depth)] if self.r.random() < 0.5 else []
            elif kind == 11 and depth < 2 and not k:
                found += [
                    f"for k in range({self.r.choice([2, 3, 12])}):",
                    *self.block(names, True, depth),
                ]
            elif kind == 12 and depth < 2:
                found += [f"t{depth} = 0", f"while t{depth} < 3 and {self.test(names, k)}:",
                          f"    t{depth} += 1", *self.block(names, k, depth)]  # fmt: skip
            else:
                found.append(f"np.add({a}, {self.value(names, k)}, out={a}[...])")
        return found

    def source(self) -> str:
        body = [f"y = {self.r.choice(STARTS[:7])}", f"w = {self.r.choice(STARTS)}"]
        body += self.lines(["y", "w"], False, 0) + self.lines(["y", "w"], False, 0)
        ending = self.r.choice(["y, w", "y", "np.sum(y) + 2 * np.sum(w)"])
        return "\n    ".join(["def f(x, s):", *body, f"return {ending}"]) + "\n"


def made(source: str, number: int) -> Any:
    name = f"<alias {number}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def parts(found: Any) -> list[Any]:
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def compiled(f: Any, calls: list[Any]) -> list[Any]:
    return [parts(sg.compile(f)(x.copy(), s)) for x, s in calls]


def followed(f: Any, calls: list[Any]) -> list[Any]:
    g = sg.compile(f, control_flow=True)
    return [parts(g(x.copy(), s)) for x, s in calls]


def batched(f: Any, calls: list[Any]) -> list[Any]:
    found = parts(sg.vmap(f)(*map(np.array, zip(*calls, strict=True))))
    return [[p[k] for p in found] for k in range(len(calls))]


def taken(f: Any, calls: list[Any]) -> list[Any] | None:
    """Return what NumPy gives, None where it refuses a call or numbers are not finite."""
    try:
        found = [parts(f(x.copy(), s)) for x, s in calls]
    except (ValueError, IndexError, TypeError, UnboundLocalError):
        return None
    return found if all(np.all(np.abs(p) < 1e6) for want in found for p in want) else None


@pytest.mark.attack(quick=60, whole=3_000, part=100, judge="plain NumPy, call by call")
def test_aliases(attack: Any) -> None:
    """Names that branches and loops give other arrays, and write into: views, copies, swaps."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = case.rng
            calls = [(rng.normal(size=4), rng.normal()) for _ in range(4)]
            for _ in range(60):
                source = Writer(int(rng.integers(1 << 31))).source()
                f = made(source, case.number)
                want = taken(f, calls)
                if want is not None:
                    break
            else:
                case.tally("not judged")
                continue
            for way in (compiled, followed, batched):
                try:
                    found = way(f, calls)
                except SymgradError:
                    case.tally("refused in part")
                    continue
                for got, wanted in zip(found, want, strict=True):
                    for a, b in zip(got, wanted, strict=True):
                        np.testing.assert_allclose(
                            a, b, 1e-9, 1e-9, err_msg=f"{way.__name__}\n{source}"
                        )
