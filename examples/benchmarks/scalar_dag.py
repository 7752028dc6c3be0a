"""Random straight-line programs of scalar operations, and how long their first gradient takes.

    python examples/benchmarks/scalar_dag.py [--quick]

Each operation takes two of the last 30 values, or an input; one in twenty is a sine, a cosine
or a Gauss bell. Every tenth value is added to the result, so that no part is without influence.
"""

from __future__ import annotations

import functools
import random
import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

INPUTS = 8

#: Ops, with how many operations each counts for.
COST = {"mul": 1, "mean": 2, "half": 2, "sin": 1, "cos": 1, "bell": 3}


@functools.cache
def program(size: int) -> tuple[tuple[str, int, int], ...]:
    """Return about ``size`` operations as (op, operand, operand); operands below 8 are inputs."""
    rng = random.Random(size)
    made: list[tuple[str, int, int]] = []
    count = 0
    while count < size:
        top = INPUTS + len(made)
        a = rng.randrange(max(0, top - 30), top)
        b = rng.randrange(INPUTS) if rng.random() < 0.25 else rng.randrange(max(0, top - 30), top)
        if rng.random() < 0.05:
            op = rng.choice(("sin", "cos", "bell"))
        else:
            op = rng.choice(("mul", "mean", "half"))
        made.append((op, a, b))
        count += COST[op] + (len(made) % 10 == 0)
    return tuple(made)


def evaluate(m: Any, size: int, x: Any) -> Any:
    """Run the program on numbers, traced values or symbols."""
    values = [x[k] for k in range(INPUTS)]
    total = values[0]
    for k, (op, i, j) in enumerate(program(size), 1):
        a, b = values[i], values[j]
        if op == "mul":
            value = a * b
        elif op == "mean":
            value = 0.5 * (a + b)
        elif op == "half":
            value = 0.5 * (a - b)
        elif op == "bell":
            value = m.exp(-a * a)
        else:
            value = getattr(m, op)(a)
        values.append(value)
        if k % 10 == 0:
            total = total + value
    return total


def dag(np: Any, x: Any) -> Any:
    """The program whose length the point says; see ``arguments``."""
    return evaluate(np, LENGTH[0], x)


#: The length of the program in this process: a worker runs one case.
LENGTH = [100]


def scalars(m: Any, x: Any) -> Any:
    """The same for formulas."""
    return evaluate(m, LENGTH[0], x)


def arguments(case: Case) -> tuple[Any, ...]:
    """One point."""
    LENGTH[0] = case.size
    return (np.linspace(0.2, 0.9, INPUTS),)


def exact(case: Case, x: Any) -> Any:
    """A reverse sweep in long doubles."""
    values = list(x.astype(np.longdouble))
    half, zero = np.longdouble(0.5), np.longdouble(0)
    steps = program(case.size)
    slopes = []
    total = values[0]
    for k, (op, i, j) in enumerate(steps, 1):
        a, b = values[i], values[j]
        if op == "mul":
            value, slope = a * b, (b, a)
        elif op == "mean":
            value, slope = half * (a + b), (half, half)
        elif op == "half":
            value, slope = half * (a - b), (half, -half)
        elif op == "sin":
            value, slope = np.sin(a), (np.cos(a), zero)
        elif op == "cos":
            value, slope = np.cos(a), (-np.sin(a), zero)
        else:
            value = np.exp(-a * a)
            slope = (-2 * a * value, zero)
        values.append(value)
        slopes.append(slope)
        if k % 10 == 0:
            total = total + value
    adjoints = [zero] * len(values)
    adjoints[0] += 1
    for k in range(len(steps), 0, -1):
        adjoint = adjoints[INPUTS + k - 1] + (k % 10 == 0)
        _, i, j = steps[k - 1]
        adjoints[i] += adjoint * slopes[k - 1][0]
        adjoints[j] += adjoint * slopes[k - 1][1]
    return np.array([total, *adjoints[:INPUTS]], np.longdouble)


def source(size: int) -> str:
    """The value and the reverse sweep as C, one statement an operation."""
    lines = [f"double v{k} = x[{k}], a{k} = 0.0;" for k in range(INPUTS)]
    lines += ["double total = v0;", "a0 = 1.0;"]
    back = []
    for k, (op, i, j) in enumerate(program(size), 1):
        t, a, b = INPUTS + k - 1, f"v{i}", f"v{j}"
        to, other = f"a{i} += a{t} *", f"a{j} += a{t} *"
        formula, reverse = {
            "mul": (f"{a} * {b}", f"{to} {b}; {other} {a};"),
            "mean": (f"0.5 * ({a} + {b})", f"{to} 0.5; {other} 0.5;"),
            "half": (f"0.5 * ({a} - {b})", f"{to} 0.5; {other} -0.5;"),
            "sin": (f"sin({a})", f"{to} cos({a});"),
            "cos": (f"cos({a})", f"{to} -sin({a});"),
            "bell": (f"exp(-{a} * {a})", f"{to} (-2.0 * {a} * v{t});"),
        }[op]
        seed = "1.0" if k % 10 == 0 else "0.0"
        lines.append(f"double v{t} = {formula}, a{t} = {seed};")
        if k % 10 == 0:
            lines.append(f"total += v{t};")
        back.append(reverse)
    lines += reversed(back)
    lines += [f"g[{k}] = a{k};" for k in range(INPUTS)]
    body = "\n".join([*lines, "return total;"])
    head = "double dag(const double *restrict x, double *restrict g)"
    return f"#include <math.h>\n{head} {{\n{body}\n}}\n"


def by_c(case: Case, given: Any) -> Any:
    """Generated C."""
    flags = ("-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
    function = compiled(source(case.size), "dag", flags)
    slopes = np.empty(INPUTS)
    at, to = pointer(given[0]), pointer(slopes)
    return (lambda: (function(at, to), slopes)), ()


# JAX's fusion emitters, on by default, take ten times as long on such programs.
FASTER_XLA = "--xla_cpu_multi_thread_eigen=false --xla_cpu_use_fusion_emitters=false"

WORKLOAD = Workload(
    name="scalar_dag",
    title="random straight-line programs, value and gradient",
    kind="gradient",
    cases=(
        Case(100, quick=True),
        Case(1000, quick=True),
        Case(10_000),
        Case(100_000),
        Case(1_000_000),
    ),
    arguments=arguments,
    exact=exact,
    function=dag,
    scalars=scalars,
    hand={"C": by_c},
    environment={"jax": {"XLA_FLAGS": FASTER_XLA}},
    aims=(
        Aim("1,000", ("jax",), 5.0, "first"),
        Aim("10,000", ("jax",), 30.0, "first"),
        Aim("10,000", ("heyoka", "casadi C"), 4.0, "first"),
        Aim("1,000", ("C",), 1.0),
        Aim("10,000", ("C",), 1.0),
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="scalar_dag"))
