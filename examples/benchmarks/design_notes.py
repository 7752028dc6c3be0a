"""The measurements behind choices of the design (docs/design).

    python examples/benchmarks/design_notes.py [--quick] [SECTION ...]

Sections: long, text, jacobian, cache, vectors, recompute, shifted, borders, nested, turns, equal,
lists, parts, waiting, apart, levels; all by default. Times are the least of several runs where a
run is short. The sections change settings of the compiler that are not public, to measure what was
not chosen.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from ode_problems import PROBLEMS
from stamps import stamp

import symgrad as sg
from symgrad._api import _jacobian
from symgrad._core import pipeline as _pipeline
from symgrad._core.codegen import llvm as _llvm
from symgrad._core.control import _array_recovery as _as_arrays
from symgrad._core.control import _reroll
from symgrad._core.lowering import _borders, _llvm_module, _nest, _plan, _unit, _unroll, _windows
from symgrad._core.lowering import _initial_memory as _overwritten
from symgrad._core.pipeline import legal, lower
from symgrad._core.runtime import MISS
from symgrad._dispatch import _function
from symgrad.scipy import _ode_at_once, _ode_programs, _ode_slope
from symgrad.scipy.integrate import solve_ivp


@contextmanager
def setting(module: Any, name: str, value: Any) -> Iterator[None]:
    """Give a constant of a module another value within the block."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def seconds(run: Callable[..., Any], *args: Any, repeats: int = 1) -> float:
    """Return the least time of several runs of ``run(*args)``."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def row(name: str, *values: str, widths: tuple[int, int] = (44, 14)) -> None:
    """Print a line of a table."""
    first, others = widths
    print(f"  {name:{first}}" + "".join(f"{v:>{others}}" for v in values), flush=True)


# ---------------------------------------------------------------- long programs


def straight_line(operations: int) -> Callable[[Any], Any]:
    """Return a function that computes a random graph of scalar operations."""

    def function(x: Any) -> Any:
        rng = random.Random(1)
        values = [x[k] for k in range(8)]
        for _ in range(operations):
            a, b = (values[-1 - rng.randrange(min(30, len(values)))] for _ in range(2))
            p, q = rng.random(), rng.random()
            values.append(p * a + (1 - p) * b if q < 0.6 else np.sin(a + p * b))
        return values[-1]

    return function


def generated(text: str, optimize: bool) -> tuple[float, float, int]:
    """Return the seconds of passes and of code generation, and the size of the code."""
    machine = _llvm.host_machine()
    module = llvm.parse_assembly(text)
    module.verify()
    passes = 0.0
    if optimize:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        builder = llvm.create_pass_builder(machine, options)
        manager = builder.getModulePassManager()
        passes = seconds(manager.run, module, builder)
    found: list[bytes] = []
    emitting = seconds(lambda: found.append(machine.emit_object(module)))
    return passes, emitting, len(found[0])


def long(quick: bool) -> None:
    """A long straight-line program: through LLVM's optimiser, through numba, or neither."""
    function = straight_line(1000 if quick else 6000)
    x = np.linspace(0.1, 0.9, 8)
    compiled = sg.value_and_grad(function)
    program = compiled.program(x)
    print(f"long: value and gradient, {len(program.steps)} steps")
    lowered = lower(program)
    row("one thread, modules of straight-line code", "passes s", "code s", "code KB")
    for name, optimize in (("without passes (chosen)", False), ("with LLVM's O3 passes", True)):
        parts = [generated(text, optimize) for text in lowered.straight]
        passes, emitting, size = map(sum, zip(*parts, strict=True))
        row(name, f"{passes:.2f}", f"{emitting:.2f}", f"{size / 1000:.0f}")
    row("one thread, by steps in a function", "functions", "code s")
    for steps in (100, 400, 1600, 6400):
        with setting(_plan, "SCALAR_NEST", steps):
            texts = lower(program).straight
        functions = sum(t.count("define ") for t in texts)
        row(f"{steps}", str(functions), f"{sum(generated(t, False)[1] for t in texts):.2f}")
    row("lowered program to first result", "seconds", "us a call")
    for name, steps in (("own objects (chosen)", _unit.LINKED_STEPS), ("numba", 10**9)):
        with setting(_unit, "LINKED_STEPS", steps):
            gradient = sg.value_and_grad(function)
            gradient.program(x)
            start = time.perf_counter()
            run = gradient.kernel(x) if name == "numba" else gradient
            run(x)
            first = time.perf_counter() - start
            call = seconds(run, x, repeats=20)
            row(name, f"{first:.2f}", f"{call * 1e6:.0f}")


# ---------------------------------------------------------------- LLVM as text


def text(quick: bool) -> None:
    """Straight-line LLVM IR, made as text or with llvmlite's builder."""
    count = 2000 if quick else 20_000
    print(f"text: {count} instructions, made and parsed")

    def as_text() -> str:
        lines = ["define double @f(double %x) {", "entry:", "  %t0 = fadd double %x, %x"]
        lines += [
            f"  %t{k} = {('fadd', 'fmul')[k % 2]} double %t{k - 1}, %x" for k in range(1, count)
        ]
        return "\n".join([*lines, f"  ret double %t{count - 1}", "}"])

    def as_objects() -> str:
        module, double = ir.Module(), ir.DoubleType()
        function = ir.Function(module, ir.FunctionType(double, [double]), "f")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        x = function.args[0]
        value = builder.fadd(x, x)
        for k in range(1, count):
            value = (builder.fadd, builder.fmul)[k % 2](value, x)
        builder.ret(value)
        return str(module)

    row("LLVM IR", "made s", "parsed s")
    for name, make in (("text (chosen)", as_text), ("llvmlite.ir objects", as_objects)):
        source = make()
        made, parsed = seconds(make, repeats=5), seconds(llvm.parse_assembly, source, repeats=5)
        row(name, f"{made:.3f}", f"{parsed:.3f}")

    few = count // 20

    def function(x: Any) -> Any:
        value = x + x
        for k in range(1, few):
            value = value * x if k % 2 else value + x
        return value

    lines = [f"    t{k} = t{k - 1} {'+*'[k % 2]} x" for k in range(1, few)]
    source = "\n".join(["def f(x):", "    t0 = x + x", *lines, f"    return t{few - 1}"])
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102
    compiled = sg.compile(function)
    sg.compile(lambda x: x + 1)(1.0)  # LLVM's start-up
    numba.njit(lambda x: x + 1)(1.0)
    row(f"{few} operations to first result", "seconds")
    row("emitted IR (chosen), trace included", f"{seconds(compiled, 0.5):.2f}")
    row("Python source for numba", f"{seconds(numba.njit(scope['f']), 0.5):.2f}")


# ---------------------------------------------------------------- Jacobians by columns


def jacobian(quick: bool) -> None:
    """A Jacobian of few columns, unrolled or batched."""
    count = 1000 if quick else 100_000
    t = np.linspace(0.0, 4.0, count)
    b = np.array([1.3, 0.6, 2.1, 0.4, 0.3, 1.1, 0.2, 0.5])

    def model(b: Any, t: Any) -> Any:
        peaks = b[0] * np.exp(-b[1] * t) + b[2] * np.exp(-(((t - b[3]) / b[4]) ** 2))
        return peaks + b[5] * np.exp(-(((t - b[6]) / b[7]) ** 2))

    print(f"jacobian: a model with 8 parameters at {count} points")
    row("", "steps", "first call s", "ms a call")
    for name, columns in (("one by one (chosen)", _jacobian.UNROLL), ("as a batch", 0)):
        with setting(_jacobian, "UNROLL", columns):
            slope = sg.jacobian(model, mode="forward")
            steps = len(slope.program(b, t).steps)
            first = seconds(slope, b, t)
            call = seconds(slope, b, t, repeats=20)
            row(name, str(steps), f"{first:.2f}", f"{call * 1e3:.2f}")


# ---------------------------------------------------------------- the disk cache

FIRST = """
import sys, time
import numpy as np
import symgrad as sg
sys.path.insert(0, {folder!r})
from design_notes import straight_line
sg.compile(np.sin, cache=False)(1.0)
gradient = sg.value_and_grad(straight_line({operations}))
x = np.linspace(0.1, 0.9, 8)
start = time.perf_counter()
gradient.program(x)
traced = time.perf_counter()
gradient(x)
print(traced - start, time.perf_counter() - traced)
"""


def cache(quick: bool) -> None:
    """The first call of a process, without and with kernels on the disk."""
    print("cache: first call in a new process")
    row("", "trace s", "empty s", "filled s")
    for operations in (30, 300) if quick else (30, 300, 3000):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"SYMGRAD_CACHE_DIR": folder}
            here = os.path.dirname(os.path.abspath(__file__))
            script = FIRST.format(folder=here, operations=operations)
            command = [sys.executable, "-c", script]
            runs = [
                subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                .stdout.split()
                for _ in range(2)
            ]  # fmt: skip
        trace = min(float(r[0]) for r in runs)
        row(f"{operations} operations", f"{trace:.3f}", *(f"{float(r[1]):.3f}" for r in runs))


# ---------------------------------------------------------------- short axes


def vectors(quick: bool) -> None:
    """Arrays of one short vector or a small matrix, in loops and in parts."""

    def layers(x: Any, a: Any) -> Any:
        return np.sum(np.tanh(a @ np.tanh(a @ x)))

    def products(x: Any, a: Any) -> Any:
        return np.sum(sg.scan(lambda c, _: (a @ c / (1 + np.sum(c * c)), None), x, None, 50)[0])

    def kalman(x: Any, a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            m, p = carry
            m, p = a @ m, a @ p @ a.T + np.eye(len(m))
            gain = p[:, 0] / (p[0, 0] + 1)
            return (m - gain * m[0], p - np.outer(gain, p[0])), None

        return np.sum(sg.scan(step, (x, np.eye(len(x))), None, length=20)[0][0])

    def relaxed(t: Any, y: Any, a: Any) -> Any:
        return a @ (1 - y) - 100 * y**3

    def cases(n: int) -> Iterator[tuple[str, Callable[[], Callable[[], Any]]]]:
        x, near = np.linspace(0.1, 1.0, n), np.arange(n) / n
        a = (np.eye(n) + np.outer(near, near)) / n
        yield "Hessian of two layers", lambda: partial(sg.hessian(layers), x, a)
        yield "gradient of 50 products", lambda: partial(sg.grad(products), x, a)
        yield "gradient of 20 Kalman steps", lambda: partial(sg.grad(kalman), x, a)
        for method in ("Rodas5P", "BDF", "Radau"):
            yield (
                f"a solution by {method}",
                partial(partial, solve_ivp, relaxed, (0.0, 1.0), x, method, args=(a,)),
            )

    print("vectors: us a call, and ms of the first")
    row("", "loops", "first", "parts", "first")
    for n in (8,) if quick else (8, 12, 16):
        for name, make in cases(n):
            found = []
            for most in (_unroll.MOST_ALONE, _unroll.SHORT_LAST_AXIS):
                with setting(_unroll, "MOST_ALONE", most):
                    _ode_programs._programs.cache_clear()
                    _ode_at_once._known.clear()
                    run = make()
                    first = seconds(run)
                    found += [f"{1e6 * seconds(run, repeats=200):.2f}", f"{1e3 * first:.0f}"]
            row(f"{name}, {n} numbers", *found)


# ---------------------------------------------------------------- store or recompute


def recompute(quick: bool) -> None:
    """The planner's bound on the cost of values that are computed again."""
    count = 10_000 if quick else 100_000
    x = np.linspace(-1.0, 1.0, count)

    def standard(x: Any) -> Any:
        y = x - np.mean(x)
        return y / np.sqrt(np.mean(y * y))

    def softmax(x: Any) -> Any:
        y = np.exp(x)
        return y / np.sum(y)

    print(f"recompute: {count} elements")
    row("", "tasks", "temporaries", "us a call")
    cases = (
        ("(x - mean(x))/std(x)", standard, (("never", 0), ("up to 4 (chosen)", _plan.CHEAP))),
        ("exp(x)/sum(exp(x))", softmax, (("up to 4 (chosen)", _plan.CHEAP), ("always", 10**9))),
    )
    for name, function, bounds in cases:
        for word, bound in bounds:
            with setting(_plan, "CHEAP", bound):
                compiled = sg.compile(function)
                program = compiled.program(x)
                made = _plan.plan(legal(program, vector_math=False))
                stored = sum(bool(n.shape) and n not in made.results for n in made.stored)
                compiled(x)
                call = seconds(compiled, x, repeats=500)
                label = f"{name}, recompute {word}"
                row(label, str(len(made.tasks)), str(stored), f"{call * 1e6:.0f}")


def shifted(quick: bool) -> None:
    """Sums of shifted parts, in registers and through memory."""
    count = 10_000 if quick else 100_000
    x = np.sin(np.arange(float(count)))

    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def bending(x: Any) -> Any:
        return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)

    def flows(x: Any) -> Any:
        flow = np.tanh(x[1:] - x[:-1])
        change = np.zeros_like(x)
        change[:-1] += flow
        change[1:] -= flow
        return change

    print(f"shifted: {count} elements, us a call")
    row("", "through memory", "in registers", "ratio")
    cases = (
        ("gradient of Rosenbrock's function", sg.grad(rosenbrock), x),
        ("gradient of squared second differences", sg.grad(bending), x),
        ("change[:-1] += flow; change[1:] -= flow", flows, x),
    )
    for name, function, argument in cases:
        found = []
        for windows in (lambda nest: {}, _windows.windows):
            with setting(_nest, "windows", windows), setting(_overwritten, "windows", windows):
                compiled = sg.compile(function, cache=False)
                compiled(argument)
                found.append(seconds(compiled, argument, repeats=300))
        row(name, *(f"{1e6 * t:.0f}" for t in found), f"{found[0] / found[1]:.1f}")


def borders(quick: bool) -> None:
    """Steps of a wave on a square, by how its ends are written."""
    count = 60 if quick else 200
    u = np.random.default_rng(0).normal(size=(count, count))
    c = 1 + 0.1 * np.cos(u)

    def rolled(u: Any) -> Any:
        return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u

    def padded(u: Any) -> Any:
        p = np.pad(u, 1, mode="edge")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u

    def inside(u: Any) -> Any:
        out = np.zeros_like(u)
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        out[1:-1, 1:-1] = near - 4 * u[1:-1, 1:-1]
        return out

    def wave(laplacian: Any) -> Any:
        def energy(u: Any, c: Any) -> Any:
            def step(_: int, pair: Any) -> Any:
                now, before = pair
                return 2 * now - before + 0.1 * c * laplacian(now), now

            return np.sum(sg.fori_loop(0, 100, step, (u, u))[0] ** 2)

        return energy

    print(f"borders: 100 steps on {count} x {count}, ms a call")
    row("", "arrays of their own", "cut at borders", "ratio")
    names = {"np.roll": rolled, "np.pad": padded, "zeros outside": inside}
    for name, laplacian in names.items():
        for what, of in (("", lambda f: f), (", gradient", sg.value_and_grad)):
            found = []
            for change in (lambda outputs, guards: list(outputs), _borders.cut):
                with setting(_pipeline, "cut", change):
                    compiled = sg.compile(of(wave(laplacian)), cache=False)
                    compiled(u, c)
                    found.append(seconds(compiled, u, c, repeats=7))
            row(name + what, *(f"{1e3 * t:.1f}" for t in found), f"{found[0] / found[1]:.1f}")


def nested(quick: bool) -> None:
    """Calls with arguments in containers and by name, beside the same ones one by one."""
    rng = np.random.default_rng(0)
    x, w, b, v = rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=4)

    def flat(w: Any, b: Any, v: Any, x: Any) -> Any:
        return np.sum((np.tanh(w @ x + b) * v) ** 2)

    def layers(layers: Any, x: Any) -> Any:
        return flat(layers["w"], layers["b"], layers["v"], x)

    cases: tuple[tuple[str, Any, tuple[Any, ...], dict[str, Any]], ...] = (
        ("one by one", sg.value_and_grad(flat, (0, 1, 2)), (w, b, v, x), {}),
        ("by name", sg.value_and_grad(flat, (0, 1, 2)), (w, b), {"v": v, "x": x}),
        ("a dictionary", sg.value_and_grad(layers), ({"w": w, "b": b, "v": v}, x), {}),
        ("a list of tuples", sg.value_and_grad(lambda p, x: flat(*p[0], *p[1], x)),
         ([(w, b), (v,)], x), {}),
    )  # fmt: skip
    print("nested: value and gradient, us a call")
    row("", "flattened", "straight", "value in NumPy")
    count = 200 if quick else 2000

    def calls(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        def run() -> None:
            for _ in range(count):
                f(*args, **kwargs)

        f(*args, **kwargs)
        return seconds(run, repeats=9) / count

    for name, function, args, kwargs in cases:
        with setting(_function, "straight_to", lambda *_: None):
            flattened = calls(function, args, kwargs)
        found = flattened, calls(function, args, kwargs), calls(function.__wrapped__, args, kwargs)
        row(name, *(f"{1e6 * t:.2f}" for t in found))


def turns(quick: bool) -> None:
    """Calls of two kinds that take turns, beside calls of one kind."""
    x = np.linspace(0.1, 1.0, 3)

    def scaled(t: Any, x: Any) -> Any:
        return np.sum(t * x)

    def loss(x: Any, sharp: bool) -> Any:
        return np.sum(x**4 if sharp else x * x)

    def sided(t: Any) -> Any:
        return np.sin(t) if t > 0 else t * t

    cases: tuple[tuple[str, Any, tuple[Any, ...], tuple[Any, ...]], ...] = (
        ("a number of Python's, of NumPy's", scaled, (1.5, x), (np.float64(1.5), x)),
        ("a vector, a matrix", np.sum, (x,), (np.ones((3, 3)),)),
        ("a flag", loss, (x, True), (x, False)),
        ("two sides of a branch", sided, (0.5,), (-0.5,)),
    )
    print("turns: us a call")
    row("", "one kind", "looked at", "straight")
    count = 100 if quick else 2000
    for name, function, one, other in cases:
        compiled = sg.compile(function)

        def calls(first: Any, second: Any, g: Any = compiled) -> float:
            def run() -> None:
                for _ in range(count):
                    g(*first)
                    g(*second)

            run()
            return seconds(run, repeats=9) / count / 2

        alone = calls(one, one)
        with setting(sg.Function, "_by_another", lambda *_: MISS):
            looked_at = calls(one, other)
        row(name, *(f"{1e6 * t:.2f}" for t in (alone, looked_at, calls(one, other))))


def equal(quick: bool) -> None:
    """Loops that a program has several times, compiled each time and once: first calls, calls."""
    rng = np.random.default_rng(0)

    def sweeps(p: Any, b: Any) -> Any:  # of Jacobi's method, in place
        p = p.copy()
        for _ in range(6):
            q = p.copy()
            p[1:-1, 1:-1] = 0.25 * (q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1])
            p[1:-1, 1:-1] -= b[1:-1, 1:-1]
            p[:, -1], p[:, 0] = p[:, -2], p[:, 1]
            p[0, :], p[-1, :] = p[1, :], 0
        return np.sum(p**2)

    def layers(weights: Any, x: Any) -> Any:
        for w, shift in weights:
            x = x @ w + shift
            x = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)
            x = np.maximum(x, 0)
        return np.sum(x**2)

    def values(alpha: Any, k: Any) -> Any:  # of a growth model, by iteration
        consumed = k[:, np.newaxis] ** alpha - k
        gained = np.where(consumed > 0, np.log(np.maximum(consumed, 1e-10)), -1e10)
        value = np.zeros(len(k))
        for _ in range(10):
            value = np.max(gained + 0.95 * value, axis=1)
        return np.mean(value)

    def triangle(a: Any, b: Any) -> Any:  # a product by rows, of all lengths
        rows = [np.sum(a[i, : i + 1, np.newaxis] * b[: i + 1], axis=0) for i in range(len(a))]
        return np.sum(np.sin(np.stack(rows)))

    weights = [(rng.normal(size=(20, 20)), np.zeros(20)) for _ in range(2 if quick else 6)]
    cases: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
        ("sweeps", sweeps, (rng.normal(size=(40, 40)), rng.normal(size=(40, 40)))),
        ("layers", layers, (weights, rng.normal(size=(50, 20)))),
        ("value iteration", values, (0.4, np.linspace(0.05, 0.5, 60))),
        ("rows of a triangle", triangle, (rng.normal(size=(20, 20)), rng.normal(size=(20, 15)))),
    )
    print("equal: loops that come again, gradients; first call in s, call in us")
    row("", *(f"{how}, {what}" for how in ("each", "once") for what in ("first", "call")))
    for name, function, args in cases:
        figures = []
        for sharing in (lambda functions, *_: functions, _llvm_module.written_once):
            with setting(_llvm_module, "written_once", sharing):
                made = sg.grad(function)
                start = time.process_time()
                made(*args)
                figures.append(f"{time.process_time() - start:.2f}")
            figures.append(f"{1e6 * seconds(made, *args, repeats=200):.1f}")
        row(name, *figures)


def lists(quick: bool) -> None:
    """Arrays whose numbers Python computes one by one: as such, and as arrays."""
    print("lists: numbers one by one and as arrays; first call in s, call in us")
    row("", *(f"{how}, {what}" for how in ("each", "arrays") for what in ("first", "call")))

    def uncompared(outputs: Any) -> list[Any]:
        return list(outputs)

    def derivative(f: Any, y: Any) -> Any:
        return partial(sg.jacobian(f), y)

    solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], "Rodas5P")  # what each process does once
    for points in (20,) if quick else (20, 60, 100):
        rate, places = (points + 1) ** 2 / 50, np.arange(1, points + 1) / (points + 1)
        start = np.concatenate([1 + np.sin(2 * np.pi * places), np.full(points, 3.0)])

        def slope(t: float, y: Any, points: int = points, rate: float = rate) -> list[Any]:
            us, vs = [], []
            for k in range(points):
                u, v = y[k], y[points + k]
                left, below = (y[k - 1], y[points + k - 1]) if k > 0 else (1.0, 3.0)
                last = k == points - 1
                right, above = (1.0, 3.0) if last else (y[k + 1], y[points + k + 1])
                us.append(1 + u * u * v - 4 * u + rate * (left - 2 * u + right))
                vs.append(3 * u - u * u * v + rate * (below - 2 * v + above))
            return us + vs

        def solved(method: str, slope: Any = slope, start: Any = start) -> Any:
            return partial(
                solve_ivp, slope, (0.0, 10.0), start, method, t_eval=[10.0], rtol=1e-5, atol=1e-5
            )

        def made(y: Any, slope: Any = slope) -> Any:
            return np.array(slope(0.0, y))

        cases: dict[str, Callable[[], Any]] = {
            f"{points} points, Rodas5P": partial(solved, "Rodas5P"),
            f"{points} points, RK45": partial(solved, "RK45"),
            f"{points} points, Jacobian": partial(derivative, made, start),
        }
        for name, make in cases.items():
            figures = []
            for change in (uncompared, _as_arrays.in_arrays):
                _ode_at_once._known.clear()
                _ode_programs._programs.cache_clear()
                with (
                    setting(_reroll, "in_arrays", change),
                    setting(_ode_slope, "in_arrays", change),
                ):
                    run, begun = make(), time.process_time()
                    run()
                    figures.append(f"{time.process_time() - begun:.2f}")
                    figures.append(f"{1e6 * seconds(run, repeats=20):.1f}")
            row(name, *figures)


def parts(quick: bool) -> None:
    """Parts of short arrays, stored element by element and by vectors."""
    print("parts: the Brusselator of 40 unknowns; us a call")
    row("", "by elements", "by vectors")
    problem = PROBLEMS["Brusselator"]
    for method in ("RK45",) if quick else ("RK23", "RK45", "DOP853", "Taylor", "BDF"):
        figures = []
        for change in (lambda *_: False, _nest.NestWriter.has_vectors):
            _ode_at_once._known.clear()
            _ode_programs._programs.cache_clear()
            with setting(_nest.NestWriter, "has_vectors", change):
                run = partial(
                    solve_ivp, problem.slope, (0.0, problem.end), problem.start, method,
                    t_eval=[problem.end], rtol=1e-5, atol=1e-5,
                )  # fmt: skip
                run()
                figures.append(f"{1e6 * seconds(run, repeats=500):.1f}")
        row(method, *figures)


def waiting(quick: bool) -> None:
    """Functions without loops over arrays, through all passes and through the last ones alone."""
    print("waiting: solve_ivp to a tolerance of 1e-6; first call in s, call in us")
    row("", *(f"{how}, {what}" for how in ("at once", "late") for what in ("first", "call")))
    cases = (
        ("Lotka-Volterra", "Taylor"), ("Pleiades", "DOP853"), ("HIRES", "Rodas5P"),
        ("POLLU", "BDF"), ("Brusselator", "Radau"), ("Brusselator", "RadauIIA"),
    )  # fmt: skip
    for name, method in cases[:2] if quick else cases:
        problem, figures = PROBLEMS[name], []
        run = partial(
            solve_ivp, problem.slope, (0.0, problem.end), problem.start, method,
            t_eval=[problem.end], rtol=1e-6, atol=1e-6 * problem.small,
        )  # fmt: skip
        for steps in ("nobody", _llvm.STEPS):
            with setting(_llvm, "STEPS", steps):
                firsts = []
                for _ in range(1 if quick else 5):
                    _ode_at_once._known.clear()
                    _ode_programs._programs.cache_clear()
                    start = time.process_time()
                    run()
                    firsts.append(time.process_time() - start)
                figures.append(f"{min(firsts):.2f}")
                figures.append(f"{1e6 * seconds(run, repeats=300):.1f}")
        row(f"{name}, {method}", *figures)


def apart(quick: bool) -> None:
    """Loops that a program calls or has in one function: the first call, and a later one."""
    rng = np.random.default_rng(0)
    steps = 10 if quick else 30

    def network(w: Any, x: Any) -> Any:
        h = np.zeros(5)
        for t in range(steps):
            h = np.tanh(w @ h + x[t])
        return np.sum(h**2)

    w, x = 0.3 * rng.normal(size=(5, 5)), rng.normal(size=(steps, 5))
    print("apart: a recurrent network of five units; first call in s, call in us")
    row("", *(f"{how}, {what}" for how in ("within", "called") for what in ("first", "call")))
    for name, transform in (("gradient", sg.grad), ("Hessian", sg.hessian)):
        figures = []
        for most in (10**9, _unit.APART):
            with setting(_unit, "APART", most):
                made = transform(network)
                start = time.process_time()
                made(w, x)
                figures.append(f"{time.process_time() - start:.2f}")
            figures.append(f"{1e6 * seconds(made, w, x, repeats=200):.1f}")
        row(name, *figures)


def levels(quick: bool) -> None:
    """Loop nests at LLVM's levels, and with strength reduction: the first result, and a call."""
    rng = np.random.default_rng(0)
    n = 1_000 if quick else 30_000

    def stencil(u: Any) -> Any:
        for _ in range(4):
            u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) * np.exp(-u * u)
        return np.sum(u**3)

    def gas(tau: Any, f: Any) -> Any:  # Boltzmann's lattice method, two steps in nine directions
        ways = [(a, b) for a in (0, 1, -1) for b in (0, 1, -1)]
        share = [(4, 1, 1)[abs(a)] * (4, 1, 1)[abs(b)] / 36 for a, b in ways]
        for _ in range(2):
            f = np.stack([np.roll(f[..., k], w, axis=(0, 1)) for k, w in enumerate(ways)], axis=2)
            rho = np.sum(f, axis=2)
            u, v = (np.sum(f * np.array(e), axis=2) / rho for e in zip(*ways, strict=True))
            even = [
                rho * s * (1 + 3 * c + 4.5 * c * c - 1.5 * (u * u + v * v))
                for s, c in ((s, a * u + b * v) for s, (a, b) in zip(share, ways, strict=True))
            ]
            f = f - (f - np.stack(even, axis=2)) / tau
        return np.sum(f[..., 1] ** 2)

    def layers(w: Any, v: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.mean(np.log1p(np.exp(-np.sum(hidden * v, axis=1))))

    def bodies(p: Any) -> Any:
        apart = p[:, np.newaxis] - p
        return np.sum(1 / np.sqrt(np.sum(apart * apart, axis=2) + 0.01))

    def steps(x: Any, v: Any) -> Any:
        def step(_: int, state: Any) -> Any:
            x, v = state
            v = v - 0.01 * np.sin(x)
            return x + 0.01 * v, v

        x, v = sg.fori_loop(0, 50, step, (x, v))
        return np.sum(x * v)

    def cells(t: Any, y: Any) -> Any:
        u, v = y[:20], y[20:]
        spread = [np.roll(w, 1) - 2 * w + np.roll(w, -1) for w in (u, v)]
        return np.concatenate([1 + u * u * v - 4 * u + spread[0], 3 * u - u * u * v + spread[1]])

    def stiff(y: Any) -> Any:
        return solve_ivp(cells, (0.0, 1.0), y, method="Rodas5P").y[:, -1]

    w, x = rng.normal(size=(20, 8)), rng.normal(size=(n // 100, 20))
    cases: tuple[tuple[str, Any, Any, tuple[Any, ...]], ...] = (
        ("a stencil, gradient", sg.grad, stencil, (rng.normal(size=n),)),
        ("a lattice gas, gradient", sg.grad, gas, (0.6, 1 + 0.1 * rng.random((20, 30, 9)))),
        ("a layer, gradient", sg.grad, layers, (w, rng.normal(size=8), x)),
        ("bodies, gradient", sg.grad, bodies, (rng.normal(size=(100, 3)),)),
        ("bodies, Hessian", sg.hessian, bodies, (rng.normal(size=(20, 3)),)),
        ("a loop, gradient", sg.grad, steps, (rng.normal(size=30), np.ones(30))),
        ("a stiff system", sg.compile, stiff, (1 + rng.random(40),)),
    )
    print("levels: LLVM's passes for loop nests")
    # Of the passes and of the code generator, and where LLVM's own choices are left out.
    ways = {"O1": (1, 3, range(0)), "code": (1, 3, _llvm.KNOWN),
            "ours": (1, _llvm.CODE_LEVEL, _llvm.KNOWN), "O2": (2, 3, range(0)),
            "O3": (3, 3, range(0))}  # fmt: skip
    calls: dict[str, list[float]] = {}
    row("first call, s", *ways, widths=(26, 8))
    for name, transform, function, args in cases:
        figures, calls[name] = [], []
        for level, code, known in ways.values():
            with (
                setting(_llvm, "LEVEL", level),
                setting(_llvm, "CODE_LEVEL", code),
                setting(_llvm, "KNOWN", known),
            ):
                firsts = []
                for _ in range(3):
                    made = transform(function)  # compiled anew
                    start = time.process_time()
                    made(*args)
                    firsts.append(time.process_time() - start)
            figures.append(f"{min(firsts):.3f}")
            calls[name].append(1e6 * seconds(made, *args, repeats=200))
        row(name, *figures, widths=(26, 8))
    row("a later call, us", *ways, widths=(26, 8))
    for name, times in calls.items():
        row(name, *(f"{us:.1f}" for us in times), widths=(26, 8))


SECTIONS = {
    f.__name__: f
    for f in (
        long,
        text,
        jacobian,
        cache,
        vectors,
        recompute,
        shifted,
        borders,
        nested,
        turns,
        equal,
        lists,
        parts,
        waiting,
        apart,
        levels,
    )
}


def main() -> None:
    """Run the chosen sections."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes only")
    options.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    chosen = options.parse_args()
    os.environ["SYMGRAD_CACHE_DIR"] = ""  # nothing from the disk, but for the section on it
    for name in chosen.sections or SECTIONS:
        SECTIONS[name](chosen.quick)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
