"""Loops as people write them in Python: what is made of their rounds means the same.

Each case is a function written out as source: passes one after the other over states that are
numbers and short arrays, forward and from the last round back, by counters, lists, ``zip``,
``enumerate`` and ``reversed``; rounds that keep what a later pass reads in its order or in
reverse, with shorter loops in them, with first, last and every so many rounds that differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: Expressions of a round: ``?`` is another number, ``#`` another array, ``{k}`` the counter.
NUMBERS = [
    "s0", "s1", "p[0]", "p[{k} % 5]", "p[{k}]", "p[n - 1 - {k}]", "w[{k}]", "w[n - 1 - {k}]", "c",
    "0.01 * {k}", "u[0]", "u[2]", "np.dot(u, v)", "np.sum(u * p[:3])", "np.sin(?)", "np.cos(? * ?)",
    "np.tanh(? + ?)", "? + 0.5 * ?", "? * np.cos(?)", "? / (2.0 + ? ** 2)", "np.sum(W[1] * u)",
]  # fmt: skip
VECTORS = [
    "u", "v", "p[:3]", "np.sin(#)", "# * ?", "# + np.cos(#)", "W @ #", "np.roll(#, 1)", "T[{k}]",
    "np.array([s0, s1, ?])", "np.tanh(# - #)", "#[::-1]", "np.outer(#, u) @ v",
]  # fmt: skip

#: What a pass goes along, and what its rounds call elements of it; ``{a}``, ``{b}`` are kept.
HEADS = [
    ("for k in range(n):", []), ("for k in range(n - 1, -1, -1):", []),
    ("for k in reversed(range(n)):", []), ("for k in range(n):", []),
    ("for k, e in enumerate({a}):", ["e"]), ("for k, e in enumerate(reversed({a})):", ["e"]),
    ("for k, (e, g) in enumerate(zip({a}, {b}[::-1])):", ["e", "g"]),
    ("k = -1\n    while k < n - 1:\n        k += 1", []),
    ("for k, (name, (e, g)) in enumerate({{k: (p[k], w[k]) for k in range(n)}}.items()):",
     ["e", "g"]),
]  # fmt: skip


def picked(rng: Any, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


class Program:
    """The source of a function, made pass by pass."""

    def __init__(self, rng: Any) -> None:
        self.rng, self.kept = rng, {"z0": "?"}
        lines = [
            "n = len(p)", "W = np.reshape(np.sin(np.arange(9.0)), (3, 3)) * 0.5",
            "T = np.cos(np.arange(3.0 * n)).reshape(n, 3)", "w = np.sin(np.arange(n))",
            "c = np.exp(p[1])", "s0, s1 = p[0], p[2]", "u, v = p[:3] * 0.5, np.cos(p[2:5])",
            "total = 0.0", "z0 = [p[k] * 0.3 for k in range(n)]",
        ]  # fmt: skip
        for number in range(1, int(rng.integers(2, 5))):
            lines += self.one_pass(number)
            if rng.random() < 0.3:
                lines.append(f"s0 = s0 + {self.number([], 1, '0')} + z0[3] * z0[-1]")
        ends = ["total", "s0 * s1", "np.sum(u * v)", "np.sum(np.array(z0) ** 2)"]
        ends += [f"{'np.sum' if kind == '#' else ''}({name}[{picked(rng, ('0', '-1', 'n // 2'))}])"
                 for name, kind in self.kept.items()]  # fmt: skip
        ends += [f"np.sum(np.array({name}) * 0.1)" for name in self.kept]
        chosen = [picked(rng, ends) for _ in range(int(rng.integers(1, 4)))]
        lines.append("return " + " + ".join(["s0", *chosen]))
        self.source = "def f(p):\n" + "".join(f"    {x}\n" for x in lines)

    def one_pass(self, number: int) -> list[str]:
        rng = self.rng
        head, names = picked(rng, HEADS)
        numbers = [x for x, kind in self.kept.items() if kind == "?"]
        head = head.format(a=picked(rng, numbers), b=picked(rng, numbers))
        body: list[str] = []
        for _ in range(int(rng.integers(1, 4))):
            body += self.turn(names)
        before, found = [], {}
        for kept in range(int(rng.integers(3))):
            name, kind = f"a{number}{kept}", picked(rng, "??#")
            value = self.number(names, 1) if kind == "?" else self.vector(names, 1)
            form = picked(rng, ("append", "insert", "write"))
            if form == "write" and kind == "?":
                before.append(f"{name} = np.zeros(n, dtype=p.dtype)")
                body.append(f"{name}[{picked(rng, ('k', 'n - 1 - k'))}] = {value}")
            else:
                before.append(f"{name} = []")
                body.append(f"{name}.insert(0, {value})" if form == "insert"
                            else f"{name}.append({value})")  # fmt: skip
            found[name] = kind
        if rng.random() < 0.5:
            body.append(f"total = total + {self.number(names, 1)} * 0.1")
        body.append(f"s0 = np.tanh({self.number(names, 1)} + 0.1 * s0)")
        self.kept |= found
        return [*before, head, *(f"    {x}" for x in body)]

    def turn(self, names: list[str]) -> list[str]:
        rng, kind = self.rng, int(self.rng.integers(9))
        number, vector = self.number(names, 2), self.vector(names, 1)
        if kind < 3:
            return [f"{picked(rng, ('s0', 's1'))} = np.tanh({number})"]
        if kind < 5:
            return [f"{picked(rng, 'uv')} = np.tanh({vector})"]
        if kind == 5:
            return ["s0, s1 = s1 * 0.9, np.sin(s0)"]
        if kind == 6:
            inner = f"s1 = np.tanh(s1 * 0.8 + 0.1 * j + {self.number(names, 0)})"
            if rng.random() < 0.5:
                inner = f"u = np.tanh(u + s0 * 0.1 * j)\n            {inner}"
            return [f"for j in range({int(rng.integers(2, 12))}):", f"    {inner}"]
        odd = picked(
            rng, ("k == 0", "k == n - 1", "k % 3 == 0", "k < 4", "0 < k < n - 1", "k == 7")
        )
        lines = [f"if {odd}:", f"    s1 = np.sin({number})"]
        return (
            lines if kind == 7 else [*lines, "else:", f"    s0 = np.cos({self.number(names, 1)})"]
        )

    def number(self, names: list[str], depth: int, k: str = "k") -> str:
        return self.filled("?", names, depth, k)

    def vector(self, names: list[str], depth: int) -> str:
        return self.filled("#", names, depth, "k")

    def filled(self, kind: str, names: list[str], depth: int, k: str) -> str:
        choices = [*(NUMBERS if kind == "?" else VECTORS)]
        for name, kept in self.kept.items():
            if kept == kind and name != "z0":
                places = "{k}", "n - 1 - {k}", "{k} // 2", "max({k} - 1, 0)", "min({k} + 1, n - 1)"
                choices += [f"{name}[{at}]" for at in places]
        choices += ["z0[{k}]", "z0[n - 1 - {k}]", *names] * 2 if kind == "?" else []
        if not depth:
            choices = [x for x in choices if "?" not in x and "#" not in x]
        text = picked(self.rng, choices).replace("{k}", k)
        parts = [self.filled(x, names, depth - 1, k) if x in "?#" else x for x in text]
        whole = "".join(parts)
        return f"({whole})" if " " in whole else whole


@pytest.mark.attack(quick=4, whole=6_000, part=50, judge="the plain function and complex steps")
@pytest.mark.usefixtures("rolled_up")
def test_loops(attack: Any) -> None:
    """Passes of Python loops, read in order and in reverse, with odd rounds and substeps."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            program = Program(case.rng)
            space: dict[str, Any] = {"np": np}
            exec(compile(program.source, f"loops_{case.number}", "exec"), space)
            try:
                with sg.backend("llvm" if case.number % 10 == 0 else "numpy"):
                    calls(case.rng, space["f"])
            except Exception as error:
                raise AssertionError(f"{program.source}\n{error}") from error


def calls(rng: Any, f: Any) -> None:
    gradient = sg.value_and_grad(f)
    for n in (int(rng.integers(20, 40)), int(rng.integers(9, 60))):
        x, t = rng.uniform(0.2, 0.9, n), rng.normal(size=n)
        value, slopes = gradient(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-10, atol=1e-10)
        tangent = f(x + 1e-30j * t).imag / 1e-30
        np.testing.assert_allclose(slopes @ t, tangent, rtol=1e-8, atol=1e-8)
    form = int(rng.integers(3))
    if form == 0:
        h = 1e-4

        def slope(x: Any) -> Any:
            return f(x + 1e-30j * t).imag / 1e-30

        near, far = ((slope(x + s * t) - slope(x - s * t)) / (2 * s) for s in (h, 2 * h))
        found = sg.hvp(f, (x,), (t,)) @ t
        np.testing.assert_allclose(found, (4 * near - far) / 3, rtol=1e-5, atol=1e-6)
    elif form == 1:
        rows = np.stack([x, x[::-1], 0.5 * x])
        values, slopes = sg.vmap(gradient)(rows)
        for row, value, slope in zip(rows, values, slopes, strict=True):
            np.testing.assert_allclose(value, f(row), rtol=1e-10, atol=1e-10)
            tangent = f(row + 1e-30j * t).imag / 1e-30
            np.testing.assert_allclose(slope @ t, tangent, rtol=1e-8, atol=1e-8)
    else:
        value, tangent = sg.jvp(f, (x,), (t,))
        np.testing.assert_allclose(tangent, f(x + 1e-30j * t).imag / 1e-30, rtol=1e-8, atol=1e-8)
