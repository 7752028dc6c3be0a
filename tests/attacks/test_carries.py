"""Loops and branches in each other, whose carries are swapped, copied, kept and written to.

Each case is a tree of loops, branches and statements on a dictionary of arrays, numbers, whole
numbers, truth values and complex numbers, which is run twice: as loops of the program, and in
Python. Arrays are short, or longer than what lies on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgrad as sg

State = dict[str, Any]


def _repeated(lower: Any, upper: Any, step: Any, state: Any) -> Any:
    for k in range(lower, int(upper)):
        state = step(np.int64(k), state)
    return state


def _while(test: Any, step: Any, state: Any) -> Any:
    while test(state):
        state = step(state)
    return state


def _scan(step: Any, state: Any, xs: Any, reverse: bool = False) -> Any:
    rows = []
    for x in xs[::-1] if reverse else xs:
        state, row = step(state, x)
        rows.append(np.array(row))
    return state, np.stack(rows[::-1] if reverse else rows)


PLAIN = SimpleNamespace(
    cond=lambda test, yes, no, state: (yes if test else no)(state),
    fori_loop=_repeated, while_loop=_while, scan=_scan,
)  # fmt: skip


def put(x: Any, place: Any, value: Any) -> Any:
    x = np.array(x)
    x[place] = value
    return x


def moved(s: State, k: int) -> State:
    """A number of the array moves to another place, of a second array made from it, too."""
    first = put(s["v"], k, 1.5)
    return {"v": first, "u": put(s["v"], k + 1, 0.5 * first[k])}


STATEMENTS: list[Callable[[State, int], State]] = [
    lambda s, k: {"v": s["w"], "w": s["v"]},
    lambda s, k: {"v": s["w"], "w": s["u"], "u": s["v"]},
    lambda s, k: {"vwu"[k % 3]: np.array(s["uvw"[k % 3]])},
    lambda s, k: {"v": put(s["v"], (s["i"] + k) % 5, s["w"][0] * 0.5 + s["c"])},
    lambda s, k: {"w": put(s["w"], slice(1, -1), s["v"][:-2])},
    lambda s, k: {"w": s["v"], "v": put(put(s["v"], 0, s["v"][-1]), -1, s["v"][0])},
    moved,
    lambda s, k: {"u": put(s["v"], k, s["c"]), "v": put(put(s["v"], k, s["c"]), 3 - k, 0.25)},
    lambda s, k: {"v": s["v"] * 0.5 + s["w"] * 0.25 - 0.125 * s["u"]},
    lambda s, k: {"u": np.roll(s["w"], k + 1)[::-1]},
    lambda s, k: {"c": s["d"], "d": s["c"] * 0.5 + 0.25},
    lambda s, k: {"d": s["v"][(s["i"] * 7 + k) % 5]},
    lambda s, k: {"i": s["i"] + k},
    lambda s, k: {"b": s["v"] > s["w"], "u": np.where(s["b"], s["u"] * 0.5, s["w"])},
    lambda s, k: {"z": put(s["z"] * (0.5 + 0.25j) + s["v"], k, s["c"] + 0.5j)},
]
TESTS: list[Callable[[State], Any]] = [
    lambda s: s["c"] > 0.1, lambda s: s["i"] % 2 == 0, lambda s: s["b"][0],
    lambda s: s["v"][2] > s["w"][0],
]  # fmt: skip
COUNTS: list[Callable[[State], Any]] = [
    lambda s: 0, lambda s: 1, lambda s: 3, lambda s: s["i"] % 3, lambda s: s["i"] % 4
]  # fmt: skip
FORMS = "cond", "fori_loop", "while_loop", "scan"


def block(rng: Any, depth: int) -> list[Any]:
    """Return statements, and loops and branches with blocks of their own."""
    found: list[Any] = []
    for _ in range(rng.integers(1, 4)):
        form = str(rng.choice(FORMS)) if depth and rng.random() < 0.5 else ""
        blocks = [block(rng, depth - 1) for _ in range(2)] if form else []
        found.append((form, *map(int, rng.integers(0, 60, 2)), blocks))
    return found


def run(ways: Any, block: list[Any], state: State, rows: Any) -> State:
    for form, kind, k, inner in block:
        state = dict(state)
        steps = [lambda s, b=b: run(ways, b, s, rows) for b in inner]
        if form == "cond":
            state = ways.cond(TESTS[kind % len(TESTS)](state), *steps, state)
        elif form == "fori_loop":
            count = COUNTS[kind % len(COUNTS)](state)
            state = ways.fori_loop(0, count, lambda j, s, f=steps[0]: f(s), state)
        elif form == "while_loop":
            count = COUNTS[kind % len(COUNTS)](state)
            state = ways.while_loop(
                lambda c, count=count: c[0] < count,
                lambda c, f=steps[0]: (c[0] + 1, f(c[1])),
                (np.int64(0), state),
            )[1]
        elif form == "scan":

            def row(s: State, x: Any, steps: Any = steps, k: int = k) -> Any:
                s = steps[0](s | {"u": x} if k % 2 else s)
                kept = s["vwu"[k % 3]]  # what is written to afterwards, in the same step
                return steps[1](s), kept

            state, found = ways.scan(row, state, rows[: 1 + kind % 3], reverse=kind % 2 == 0)
            state = state | {"w": found[-1], "d": state["d"] * 0.5 + found[0, 1] * 0.125}
        else:
            state |= STATEMENTS[kind % len(STATEMENTS)](state, k % 3)
    return state


@pytest.mark.attack(quick=20, whole=3_000, judge="the same loops in Python, and its differences")
def test_carries(attack: Any) -> None:
    """Carries of loops and branches in each other: swapped, copied, kept in rows, written to."""
    for case in attack:
        with case:
            rng, n = case.rng, int(case.rng.choice([6, 100, 1000]))
            tree = block(rng, 3)

            def f(x: Any, rows: Any, i: Any, ways: Any = sg, tree: Any = tree, n: int = n) -> Any:
                state = {"v": x * 1.0, "w": x[::-1] * 0.5, "u": rows[0] * 1.0, "b": x > 0}
                state |= {"c": x[1] * 0.5, "d": rows[1, 2] * 1.0, "z": x * (1 + 0.5j), "i": i}
                return run(ways, tree, state, rows)

            def loss(x: Any, rows: Any, i: Any, ways: Any = sg, f: Any = f, n: int = n) -> Any:
                s, weights = f(x, rows, i, ways), np.cos(np.arange(n))
                total = np.sum((s["v"] + 0.5 * s["w"][::-1] + s["u"] ** 2) * weights)
                return total + s["c"] + 0.3 * s["d"] + np.sum(np.real(s["z"]))

            x, rows, i = rng.normal(size=(2, n)), rng.normal(size=(2, 3, n)), rng.integers(0, 7, 2)
            want = [f(*one, PLAIN) for one in zip(x, rows, i, strict=True)]
            together = sg.vmap(f)(x, rows, i)
            for k in range(2):
                alone = sg.compile(f)(x[k], rows[k], i[k])
                for name, value in want[k].items():
                    for found in (alone[name], together[name][k]):
                        np.testing.assert_allclose(found, value, 1e-12, 1e-12, err_msg=name)
            slopes = sg.grad(loss, argnums=(0, 1))(x[0], rows[0], i[0])
            step = 1e-6 * rng.normal(size=n), 1e-6 * rng.normal(size=(3, n))
            ahead, behind = (
                loss(x[0] + s * step[0], rows[0] + s * step[1], i[0], PLAIN) for s in (1, -1)
            )
            along = sum(np.sum(a * b) for a, b in zip(slopes, step, strict=True))
            np.testing.assert_allclose(2 * along, ahead - behind, 1e-4, 1e-9 * n)
