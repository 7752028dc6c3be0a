"""The corpus: calls that go through all of the compiler; the same in every process."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

import symgrad as sg
import symgrad.numpy as snp

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

#: Random programs of arrays, of numbers, and in ordinary NumPy with views that are written to.
ARRAYS, NUMBERS, WRITTEN = 90, 30, 80


#: What the example scripts print of time: numbers with units, and last columns of whole numbers.
TIMES = re.compile(r"\d[\d.e+-]* *(s|ms|us|seconds)\b| *\s\d+$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One call or several, by name; ``code`` makes machine code even where others run NumPy."""

    name: str
    run: Callable[[], Any]
    code: bool = False


def corpus(*names: str) -> Iterator[Entry]:
    """Yield the entries whose names begin with one of ``names``; all of them if there are none."""
    parts = {
        "transforms": transforms, "control": control, "complex": complex_numbers, "eager": eager,
        "examples": scripts, "gradbench": gradbench, "workloads": workloads, "random": drawn,
    }  # fmt: skip
    for name, part in parts.items():
        if not names or any(n.startswith(name) or name.startswith(n) for n in names):
            yield from (e for e in part() if e.name.startswith(names or ("",)))


def tests_module(name: str) -> ModuleType:
    """Import one of the test modules, which hold programs worth keeping."""
    folder = str((ROOT / "tests" / name).parent)
    with on_path(folder):
        return __import__(Path(name).name)


@contextlib.contextmanager
def on_path(folder: str) -> Iterator[None]:
    """Have the modules of ``folder`` importable, and forget them after."""
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in sys.modules.keys() - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder + "/"):
                del sys.modules[name]


# ---------------------------------------------------------------- programs by hand


def energy(x: Any, a: Any) -> Any:
    return np.sum(np.sin(a @ x) ** 2 * np.exp(-x[0])) + np.sum(x[1:] * x[:-1]) ** 1.5


def branchy(x: Any) -> Any:
    return np.sum(x**2) if x[0] > 0 else np.sum(np.cos(x))


def long_loop(x: Any) -> Any:
    """Written out by Python: a thousand steps, which become a loop of the graph again."""
    for k in range(1000):
        x = x + 0.01 * np.sin(x * (k + 1))
    return np.sum(x)


def straight(x: Any) -> Any:
    """Long, and no loop: each step is of its own kind."""
    ops = (np.sin, np.cos, np.tanh, np.arctan, np.exp2)
    for k in range(700):
        x = ops[(k * k) % 5](x) + 0.1 * ops[(k * k * k + k) % 5](x * 1.0625)
    return x


def transforms() -> Iterator[Entry]:
    """The transformations, one by one and nested, with guards, constants and short axes."""
    rng = np.random.default_rng(1)
    x, a = rng.uniform(0.5, 1.5, 6), rng.uniform(-1, 1, (4, 6))
    made: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "compile": (sg.compile(energy), (x, a)),
        "grad": (sg.grad(energy, argnums=(0, 1)), (x, a)),
        "value_and_grad": (sg.value_and_grad(energy), (x, a)),
        "grad_of_grad": (sg.grad(lambda x: sg.grad(np.tanh)(x) ** 2), (0.3,)),
        "jacobian": (sg.jacobian(lambda x: np.sin(a @ x)), (x,)),
        "forward": (sg.jacobian(lambda x: np.sin(a @ x), mode="forward"), (x,)),
        "hessian": (sg.hessian(lambda x: energy(x, a)), (x,)),
        "vmap": (sg.vmap(sg.grad(energy), in_axes=(0, None)), (np.stack([x, 2 * x, x]), a)),
        "float32": (sg.value_and_grad(energy), (x.astype("f"), a.astype("f"))),
        "rounding": (sg.compile(lambda x: sg.grad(energy)(x, a), rounding="numpy"), (x,)),
        "branches": (sg.value_and_grad(branchy), (x,)),
        "long_loop": (sg.value_and_grad(long_loop), (x,)),
        "straight": (sg.value_and_grad(straight), (0.3,)),
        "where": (sg.grad(lambda x: np.sum(np.where(x > 1, np.log(x), x * x))), (x,)),
        "solve": (sg.grad(lambda a: np.sum(np.linalg.solve(a @ a.T, a[:, 0]))), (a,)),
        "pieces": (sg.grad(lambda x: np.sum(snp.stack([x, x[::-1]]).ravel()[::3] ** 3)), (x,)),
        "gather": (sg.grad(lambda x: np.sum(x[[0, 2, 2, 5]] ** 3) * len(x)), (x,)),
        "rotation": (sg.jacobian(lambda q: np.outer(q, q) @ np.cross(q, q[::-1])), (x[:3],)),
        "nested": (sg.grad(lambda t: {"p": np.sum(t["a"] * t["b"][0])}["p"]),
                   ({"a": x, "b": (x + 1, 2.0)},)),
    }  # fmt: skip
    for name, (f, args) in made.items():
        yield Entry(f"transforms/{name}", lambda f=f, args=args: f(*args), code=True)  # type: ignore[misc]


def control() -> Iterator[Entry]:
    """Loops and branches of the graph, under every transformation."""
    module = tests_module("test_control")
    x = module.POINTS[0]
    for f in module.PROGRAMS:
        yield Entry(f"control/{f.__name__}", lambda f=f: sg.value_and_grad(f)(x), code=True)  # type: ignore[misc]
        yield Entry(f"control/{f.__name__}/hessian", lambda f=f: sg.hessian(f)(x))  # type: ignore[misc]
        yield Entry(f"control/{f.__name__}/vmap",
                    lambda f=f: sg.vmap(sg.value_and_grad(f))(module.POINTS))  # type: ignore[misc]  # fmt: skip


def complex_numbers() -> Iterator[Entry]:
    """Functions of complex arrays, and real ones with complex values within."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    made: dict[str, Callable[[Any], Any]] = {
        "values": lambda z: np.exp(z) @ z.conj().T / (1 + np.abs(z) ** 2),
        "grad": sg.grad(lambda z: np.sum(np.abs(np.sin(z) * z) ** 2)),
        "linalg": sg.grad(lambda z: np.abs(np.linalg.det(z)) ** 2),
        "fft": sg.grad(lambda z: np.sum(np.abs(np.fft.fft(z.real)) ** 2 * np.angle(z))),
        "jacobian": sg.jacobian(lambda z: np.log(z) * z, holomorphic=True),
    }
    for name, f in made.items():
        yield Entry(f"complex/{name}", lambda f=f: sg.compile(f)(z), code=True)  # type: ignore[misc]


def eager() -> Iterator[Entry]:
    """Eager tensors: values, gradients and second ones; a compiled function as a step."""

    def network(repeats: int) -> Any:
        rng = np.random.default_rng(3)
        w = sg.tensor(rng.normal(size=(4, 3)), requires_grad=True)
        b = sg.tensor(rng.normal(size=4), requires_grad=True)
        found = []
        for k in range(repeats):
            w.grad = b.grad = None
            x = sg.tensor(rng.normal(size=3) * (k + 1))
            loss = ((w @ x + b).tanh() * 2.0 + w.sum(1).exp() * 0.1).sum()
            loss.backward()
            found += [loss.detach().numpy(), w.grad.numpy(), b.grad.numpy()]
        return found

    def step() -> Any:
        x = sg.tensor(np.linspace(0.1, 1.0, 5), requires_grad=True)
        y = sg.compile(lambda x: np.sum(np.sin(x) * x))(x) * 2.0
        y.backward()
        return y.detach().numpy(), x.grad.numpy()

    yield Entry("eager/once", lambda: network(1))
    yield Entry("eager/often", lambda: network(6))
    yield Entry("eager/step", step, code=True)


# ---------------------------------------------------------------- the examples


def scripts() -> Iterator[Entry]:
    """The example scripts, with what they print."""
    for path in sorted(EXAMPLES.glob("*.py")):

        def run(path: Path = path) -> str:
            page, before = io.StringIO(), sys.argv
            sys.argv = [str(path)]
            try:
                with contextlib.redirect_stdout(page):
                    runpy.run_path(str(path), run_name="__main__")
            finally:
                sys.argv = before
            return TIMES.sub("_", page.getvalue())

        yield Entry(f"examples/{path.stem}", run, code=True)


def gradbench() -> Iterator[Entry]:
    """All twelve problems of GradBench."""
    rng = np.random.default_rng(4)
    draw = lambda *shape: rng.normal(size=shape).tolist()  # noqa: E731
    square = draw(3, 3)
    camera = [0.1, 0.2, 0.3, 0.5, -0.2, 4.0, 1.2, 0.1, -0.1, 0.02, 0.01]
    sizes = {"alpha": (2,), "mu": (2, 3), "q": (2, 3), "l": (2, 3), "x": (4, 3)}
    weights = {"main_params": (4, 12), "extra_params": (3, 3), "state": (4, 3), "sequence": (4, 3)}
    inputs: dict[str, Any] = {
        "hello": 3.0,
        "llsq": {"x": draw(5), "n": 7},
        "lse": {"x": draw(9)},
        "ode": {"x": draw(4), "s": 3},
        "det": {"A": [v for row in square for v in row], "ell": 3},
        "gmm": {**{k: draw(*s) for k, s in sizes.items()}, "d": 3, "k": 2, "n": 4, "m": 2,
                "gamma": 0.7},
        "ba": {"n": 2, "m": 3, "p": 4, "cam": camera, "x": draw(3), "w": 0.9, "feat": draw(2)},
        "lstm": {k: draw(*s) for k, s in weights.items()},
        "ht": hand(rng),
        "kmeans": {"points": draw(12, 3), "centroids": draw(3, 3)},
        "particle": {"w": 0.0},
        "saddle": {"start": [1.0, 1.0]},
    }  # fmt: skip

    def run(module: str, name: str) -> Any:
        with on_path(str(EXAMPLES / "gradbench")):
            from protocol import find

            function = find(module)[name]
            return function.compute(*function.read(inputs[module]))

    with on_path(str(EXAMPLES / "gradbench")):
        from protocol import find

        names = {module: list(find(module)) for module in inputs}
    for module in inputs:
        for name in names[module][:: 3 if module in ("particle", "saddle") else 1]:
            yield Entry(f"gradbench/{module}/{name}", lambda m=module, n=name: run(m, n))  # type: ignore[misc]


def hand(rng: np.random.Generator) -> Any:
    """GradBench's model of a hand, small."""
    vertices, bones = 5, 22
    frames = [np.tile(np.eye(4), (bones, 1, 1)) + rng.normal(size=(bones, 4, 4)) / 9 for _ in "ab"]
    model = {
        "bone_count": bones,
        "bone_names": ["bone"] * bones,
        "parents": [-1, *(0 if j == 0 else 4 * f + j for f in range(5) for j in range(4)), 0],
        "base_relatives": frames[0].tolist(),
        "inverse_base_absolutes": frames[1].tolist(),
        "base_positions": np.c_[rng.normal(size=(vertices, 3)), np.ones(vertices)].tolist(),
        "weights": (rng.random((vertices, bones)) / bones).tolist(),
        "triangles": [[0, 1, 2], [1, 2, 3], [2, 3, 4], [4, 0, 2]],
        "is_mirrored": True,
    }
    points = rng.normal(size=(3, 3)).tolist()
    data = {"model": model, "correspondences": [3, 0, 2], "points": points}
    theta, us = rng.normal(size=26) / 2, rng.normal(size=(3, 2)) / 2
    return {"theta": theta.tolist(), "data": data, "us": us.tolist()}


def workloads() -> Iterator[Entry]:
    """The benchmarks' workloads, in the first of their quick cases and in variants of it."""

    def run(name: str, case: Any) -> Any:
        with on_path(str(EXAMPLES / "benchmarks")):
            import peers
            from harness._workload import load

            workload = load(name)
            call, args = peers.load("symgrad").build(workload, case, workload.arguments(case))
            return call(*args)

    with on_path(str(EXAMPLES / "benchmarks")):
        from harness._workload import NAMES, load

        cases = {name: [c for c in load(name).cases if c.quick] for name in NAMES}
    for name, found in cases.items():
        for case in found:
            if case is found[0] or case.variant not in ("", "loop"):
                label = f"workloads/{name}/{case.label.replace(' ', '_')}"
                yield Entry(label, lambda n=name, c=case: run(n, c))  # type: ignore[misc]


# ---------------------------------------------------------------- random programs


def drawn() -> Iterator[Entry]:
    """Random programs: values, and derivatives of a number that depends on all of them."""
    module = tests_module("unit/rewrite/test_random_programs")
    for kind, count in (("arrays", ARRAYS), ("numbers", NUMBERS)):
        for k, program in enumerate(examples(module.programs(arrays=kind == "arrays"), count)):
            sizes = {"n": 5, "m": 3} if k % 4 == 3 else {"n": 25, "m": 17}
            args = program.arguments(k, "f" if k % 7 == 6 else "d", **sizes)

            def run(program: Any = program, args: Any = args) -> Any:
                slopes = sg.value_and_grad(program.scalar, argnums=tuple(range(len(args))))
                return sg.compile(program)(*args), slopes(*args)

            yield Entry(f"random/{kind}/{k}", run)
    writer = tests_module("attacks/test_differential_programs")
    for k in range(WRITTEN):

        def written(k: int = k) -> Any:
            pair = writer.Pair(k)
            args = writer.arguments(np.random.default_rng(k), *writer.SIZES[0], 0)
            return answer(pair.values, args), answer(pair.slopes, args)

        yield Entry(f"random/written/{k}", written)


def examples(strategy: Any, count: int) -> list[Any]:
    """Draw from a strategy, the same in every process."""
    found: list[Any] = []

    @seed(17)
    @settings(max_examples=count, database=None, phases=[Phase.generate], deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def answer(f: Callable[..., Any], args: Any) -> Any:
    """Return a call's result, or what it raised: what is refused shall stay refused alike."""
    try:
        return f(*args)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is compared
        return f"{type(error).__name__}: {error}"
