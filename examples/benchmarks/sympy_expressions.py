"""Formulas of SymPy as functions: first value, first gradient or Jacobian, and calls.

    python examples/benchmarks/sympy_expressions.py [--quick] [--peers symgrad lambdify ...]

A time to the first value, or to the first derivative, begins with the SymPy expression; deriving
that is not counted, and each peer runs in a process of its own, without a cache on disk.
``lambdify`` has SymPy's derivatives, as ``symjit`` has; SymEngine, heyoka and CasADi have their
own. Peers that are not installed are left out. Last columns are ratios to symgrad; the tables at
the end are those of docs/coming-from/lambdify.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sympy as sp
from _right import Checks, equal
from stamps import stamp

#: Formulas, their symbols, and a value for each.
Problem = tuple[list[Any], list[Any], list[float]]
#: Seconds that a peer may take for a problem.
LIMIT = 120.0


# ---------------------------------------------------------------- problems


def polynomial(terms: int) -> Problem:
    """A sum of random monomials of four variables."""
    rng = random.Random(1)
    x = sp.symbols("x:4")
    powers = {tuple(rng.randrange(9) for _ in x) for _ in range(terms)}
    total = sp.Add(
        *(rng.randint(1, 99) * sp.Mul(*(a**k for a, k in zip(x, p, strict=True))) for p in powers)
    )
    return [total], list(x), [0.9, 0.8, 1.1, 0.7]


def pendulum(n: int) -> Problem:
    """Mass matrix and forces of n pendulums, one below the other, by Lagrange's equations."""
    q, u = sp.symbols(f"q:{n}"), sp.symbols(f"u:{n}")
    m, g = sp.symbols("m g")
    matrix = [m * (n - max(i, j)) * sp.cos(q[i] - q[j]) for i in range(n) for j in range(n)]
    forces = [
        -m * (n - i) * g * sp.sin(q[i])
        - sp.Add(*(m * (n - max(i, j)) * u[j] ** 2 * sp.sin(q[i] - q[j]) for j in range(n)))
        for i in range(n)
    ]
    values = [0.1 * k + 0.2 for k in range(n)] + [0.3 - 0.1 * k for k in range(n)]
    return matrix + forces, [*q, *u, m, g], [*values, 1.5, 9.81]


def bicycle(_: int) -> Problem:
    """Mass matrix and forces of examples/bicycle.py, by its pose and speeds."""
    path = Path(__file__).parents[1] / "bicycle.py"
    spec: Any = importlib.util.spec_from_file_location("bicycle", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    moving = [*made.q, *made.u]
    plain = dict(zip(moving, sp.symbols(f"z:{len(moving)}"), strict=True))
    numbers = dict(zip(made.values, map(sp.Float, made.bike), strict=True))
    found = [e.xreplace({**plain, **numbers}) for e in (*made.kane.mass_matrix, *made.kane.forcing)]
    return found, list(plain.values()), [0.1 * k + 0.05 for k in range(len(moving))]


def spectrum(lines: int) -> Problem:
    """Intensities of lines by wave number, shift, width and temperature."""
    rng = random.Random(2)
    x, shift, width, t = sp.symbols("x shift width t")
    rows = [(rng.random(), rng.uniform(0, 9), rng.uniform(0.1, 2)) for _ in range(lines)]
    total = sp.Add(
        *(a * sp.exp(-e / t) * width / ((x - c - shift) ** 2 + width**2) for a, c, e in rows)
    )
    return [total], [x, shift, width, t], [4.2, 0.01, 0.3, 0.8]


def robot(joints: int) -> Problem:
    """Mass matrix and weight of an arm of point masses, by Denavit and Hartenberg's parameters."""
    q = sp.symbols(f"q:{joints}")
    turns = [sp.pi / 2, 0, 0, sp.pi / 2, -sp.pi / 2, 0]
    lengths, offsets = [0.0, -0.425, -0.392, 0.0, 0.0, 0.0], [0.089, 0.0, 0.0, 0.109, 0.095, 0.082]
    masses = [3.7, 8.39, 2.27, 1.22, 1.22, 0.19]
    pose, matrix, weight = sp.eye(4), sp.zeros(joints, joints), sp.S.Zero
    for k in range(joints):
        c, s, ca, sa = sp.cos(q[k]), sp.sin(q[k]), sp.cos(turns[k]), sp.sin(turns[k])
        pose *= sp.Matrix([
            [c, -s * ca, s * sa, lengths[k] * c], [s, c * ca, -c * sa, lengths[k] * s],
            [0, sa, ca, offsets[k]], [0, 0, 0, 1],
        ])  # fmt: skip
        place = pose[:3, 3]
        slopes = place.jacobian(q)
        matrix += masses[k] * slopes.T * slopes
        weight += 9.81 * masses[k] * place[2]
    formulas = [matrix[i, j] for i in range(joints) for j in range(i + 1)]
    return (
        [*formulas, *(weight.diff(a) for a in q)],
        list(q),
        [0.2 * k + 0.3 for k in range(joints)],
    )


def beam(elements: int) -> Problem:
    """The radius of a Gaussian beam behind lenses, by distances and focal lengths."""
    d, f = sp.symbols(f"d:{elements}"), sp.symbols(f"f:{elements}")
    ray = sp.eye(2)
    for a, b in zip(d, f, strict=True):
        ray = sp.Matrix([[1, 0], [-1 / b, 1]]) * sp.Matrix([[1, a], [0, 1]]) * ray
    w, z = sp.symbols("w z")
    radius = w * sp.sqrt(ray[0, 0] ** 2 + (ray[0, 1] / z) ** 2)
    values = [0.3 + 0.05 * k for k in range(elements)] + [0.7 + 0.04 * k for k in range(elements)]
    return [radius], [*d, *f, w, z], [*values, 1.3, 0.9]


def zernike(order: int) -> Problem:
    """A wavefront of all Zernike polynomials up to an order."""
    rng, (r, a), terms = random.Random(3), sp.symbols("r a"), []
    for n in range(order + 1):
        for m in range(-n, n + 1, 2):
            k = (n - abs(m)) // 2
            radial = sp.Add(*(
                (-1) ** s * sp.binomial(n - s, s) * sp.binomial(n - 2 * s, k - s) * r ** (n - 2 * s)
                for s in range(k + 1)
            ))  # fmt: skip
            terms.append(
                rng.uniform(-1, 1) * radial * (sp.cos(m * a) if m >= 0 else sp.sin(-m * a))
            )
    return [sp.Add(*terms)], [r, a], [0.7, 0.4]


#: Each with its size, and that of ``--quick``.
PROBLEMS: dict[str, tuple[Callable[[int], Problem], int, int | None]] = {
    "polynomial": (polynomial, 3000, 40),
    "pendulum 2": (pendulum, 2, 2),
    "pendulum 5": (pendulum, 5, None),
    "pendulum 10": (pendulum, 10, None),
    "bicycle": (bicycle, 0, None),
    "spectrum": (spectrum, 4000, None),
    "robot": (robot, 6, None),
    "beam": (beam, 5, None),
    "zernike": (zernike, 20, None),
}


# ---------------------------------------------------------------- peers

#: What computes the formulas, or their Jacobian, of a list of numbers.
Made = Callable[[list[float]], Any]


def by_symgrad(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """Compiled, with reverse mode or seeds; several formulas are one array, as of the others."""
    import numpy as np

    import symgrad as sg

    one = len(formulas) == 1
    f = sg.lambdify([symbols], formulas[0] if one else sp.ImmutableMatrix(formulas))
    made = sg.compile(f) if not slopes else sg.grad(f) if one else sg.jacobian(f)
    at: dict[int, Any] = {}

    def call(values: list[float]) -> Any:
        if id(values) not in at:
            at[id(values)] = np.array(values)
        return made(at[id(values)])

    return call


def _derived(formulas: list[Any], symbols: list[Any], slopes: bool) -> list[Any]:
    return [e.diff(s) for e in formulas for s in symbols] if slopes else formulas


def by_lambdify(formulas: list[Any], symbols: list[Any], slopes: bool, cse: bool = False) -> Made:
    """Python's code for numbers, which is quicker than NumPy's there."""
    f = sp.lambdify(symbols, _derived(formulas, symbols, slopes), "math", cse=cse)
    return lambda values: f(*values)


def by_lambdify_cse(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """The same with common parts computed once."""
    return by_lambdify(formulas, symbols, slopes, cse=True)


def by_symengine(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """By LLVM where the wheel has it."""
    import numpy as np
    import symengine as se

    names = [se.sympify(s) for s in symbols]
    found = [se.sympify(e) for e in formulas]
    if slopes:
        found = [e.diff(s) for e in found for s in names]
    backend = "llvm" if getattr(se, "have_llvm", False) else "lambda"
    f = se.Lambdify(names, found, cse=True, backend=backend)
    at: dict[int, Any] = {}
    return lambda values: f(at.setdefault(id(values), np.array(values)))


def by_symjit(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """Its compiler, with SymPy's derivatives."""
    import symjit

    f = symjit.compile_func(symbols, _derived(formulas, symbols, slopes))
    return lambda values: f(*values)


def by_heyoka(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """A compiled function of the formulas, or of their derivatives."""
    import heyoka
    import numpy as np

    names = heyoka.make_vars(*(str(s) for s in symbols))
    found = [heyoka.from_sympy(e) for e in formulas]
    if slopes:
        tensors = heyoka.diff_tensors(found, diff_args=names)
        found = list(tensors.jacobian.ravel())
    f = heyoka.cfunc(found, names)
    at: dict[int, Any] = {}
    return lambda values: f(at.setdefault(id(values), np.array(values)))


def by_casadi(formulas: list[Any], symbols: list[Any], slopes: bool) -> Made:
    """Its scalar graph, which a virtual machine runs."""
    import casadi

    names = casadi.SX.sym("x", len(symbols))
    known = {k: getattr(casadi, k) for k in ("sin", "cos", "exp", "sqrt", "log", "tan")}
    build = sp.lambdify(symbols, formulas, [known], cse=True)
    found = casadi.vertcat(*build(*casadi.vertsplit(names)))
    function = casadi.Function("f", [names], [casadi.jacobian(found, names) if slopes else found])
    return lambda values: function(values)


PEERS: dict[str, tuple[str, Callable[..., Made]]] = {
    "symgrad": ("symgrad", by_symgrad),
    "lambdify": ("sympy", by_lambdify),
    "lambdify cse": ("sympy", by_lambdify_cse),
    "symengine": ("symengine", by_symengine),
    "symjit": ("symjit", by_symjit),
    "heyoka": ("heyoka", by_heyoka),
    "casadi": ("casadi", by_casadi),
}


# ---------------------------------------------------------------- measuring


def _per_call(call: Callable[[], Any]) -> float:
    """Return the least seconds a call of several rounds."""
    begin = time.perf_counter()
    call()
    count = max(1, min(1000, int(0.02 / max(time.perf_counter() - begin, 1e-7))))
    best = math.inf
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def measured(peer: str, name: str, size: int) -> dict[str, Any]:
    """Return the times of a peer, and what it computes, in this process."""
    make = PEERS[peer][1]
    small, symbols, at = pendulum(1)
    for slopes in (False, True):  # imports, and what starts once
        make(small, symbols, slopes)(at)
    formulas, symbols, at = PROBLEMS[name][0](size)
    found: dict[str, Any] = {}
    for slopes, word in ((False, "value"), (True, "slopes")):
        begin = time.perf_counter()
        call = make(formulas, symbols, slopes)
        result = call(at)
        found[f"first {word}"] = time.perf_counter() - begin
        found[word] = _per_call(lambda call=call: call(at))
        found[f"sum {word}"] = float(sum(_flat(result)))
    return found


def _flat(result: Any) -> list[float]:
    import numpy as np

    parts = result if isinstance(result, (list, tuple)) else [result]
    return [float(x) for part in parts for x in np.asarray(part, dtype=float).ravel()]


def in_a_process(peer: str, name: str, size: int) -> dict[str, Any] | str:
    """Return the times of a peer, or why there are none."""
    command = [sys.executable, __file__, "--one", peer, name, str(size)]
    environment = os.environ | {"SYMGRAD_CACHE_DIR": ""}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT:.0f} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:90]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


QUANTITIES = ("first value", "first slopes", "value", "slopes")


def _digits(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.2g}"


def page(rows: dict[tuple[str, str], dict[str, Any] | str], quantity: str, scale: float) -> str:
    """Return a table for a page: a row for each problem, a column for each peer."""
    names = list(dict.fromkeys(name for name, _ in rows))
    peers = list(dict.fromkeys(peer for _, peer in rows))
    lines = [f"| | {' | '.join(peers)} |", "| --- |" + " ---: |" * len(peers)]
    for name in names:
        cells = []
        for peer in peers:
            found = rows[name, peer]
            cells.append("-" if isinstance(found, str) else _digits(found[quantity] * scale))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def checks() -> Checks:
    """Compare values and derivatives with SymPy's functions in 40 digits, and differences."""
    import mpmath
    import numpy as np

    def check(name: str) -> None:
        make, size, _ = PROBLEMS[name]
        formulas, symbols, at = make(size)
        # Python compiles no sum of thousands of terms.
        terms = [sp.Add.make_args(e) for e in formulas]
        parts = [sp.Add(*t[k : k + 500]) for t in terms for k in range(0, len(t), 500)]
        counts = [-(-len(t) // 500) for t in terms]
        starts = np.cumsum([0, *counts[:-1]])
        of_parts = sp.lambdify(symbols, parts, "mpmath", cse=True)

        def exact(*x: Any) -> Any:
            return np.add.reduceat(np.array(of_parts(*x), object), starts)

        value, slopes = (by_symgrad(formulas, symbols, s)(at) for s in (False, True))
        slopes = np.reshape(slopes, (len(formulas), len(symbols)))
        ways = np.random.default_rng(0).normal(size=(2, len(symbols)))
        with mpmath.workdps(40):
            x, h = np.array(list(map(mpmath.mpf, at))), mpmath.mpf(10) ** -12
            equal(np.ravel(value), exact(*x).astype(float), 1e-9)
            for way in ways:
                near, far = (exact(*(x + s * h * way)) for s in (1, -1))
                equal(slopes @ way, ((near - far) / (2 * h)).astype(float), 1e-9)

    return {name: lambda name=name: check(name) for name in PROBLEMS}  # type: ignore[misc]


def main() -> None:
    """Print a table for each problem."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes, symgrad and SymPy")
    options.add_argument("--peers", nargs="+", choices=PEERS, help="these only")
    options.add_argument("--problems", nargs="+", choices=PROBLEMS, help="these only")
    options.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        peer, name, size = given.one
        print(json.dumps(measured(peer, name, int(size))))
        return
    peers = given.peers or list(PEERS)[: 2 if given.quick else None]
    there = [p for p in peers if importlib.util.find_spec(PEERS[p][0]) is not None]
    rows: dict[tuple[str, str], dict[str, Any] | str] = {}
    for name in given.problems or PROBLEMS:
        size = PROBLEMS[name][2 if given.quick else 1]
        if size is None:
            continue
        heads = ("first value s", "first slopes s", "value us", "slopes us")
        print(f"{name:<14}" + "".join(f"{h:>16}" for h in heads) + "   ratios to symgrad")
        ours: dict[str, Any] | None = None
        for peer in there:
            found = rows[name, peer] = in_a_process(peer, name, size)
            if isinstance(found, str):
                print(f"  {peer:<12}{found}", flush=True)
                continue
            ours = found if peer == "symgrad" else ours
            scale = (1.0, 1.0, 1e6, 1e6)
            row = "".join(f"{found[q] * s:>16.3f}" for q, s in zip(QUANTITIES, scale, strict=True))
            ratios = "" if ours is None else "".join(
                f"{found[q] / ours[q]:>9.2f}" for q in QUANTITIES
            )  # fmt: skip
            print(f"  {peer:<12}{row}  {ratios}", flush=True)
            for word in ("value", "slopes"):
                same = ours is None or math.isclose(
                    found[f"sum {word}"], ours[f"sum {word}"], rel_tol=1e-6, abs_tol=1e-6
                )
                assert same, (peer, word, found, ours)
    print("\nSeconds to the first derivatives:\n")
    print(page(rows, "first slopes", 1.0))
    print("\nMicroseconds of a call of them:\n")
    print(page(rows, "slopes", 1e6))
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
