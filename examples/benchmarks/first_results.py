"""Processor seconds to the first gradient of programs of forty fields, and to all that follow.

    python examples/benchmarks/first_results.py [NAME ...] [--jax PYTHON] [--json FILE]
    JAX_PYTHON=/path/to/python python examples/benchmarks/first_results.py

The programs (``field_programs``) are as their authors write them, in NumPy and SciPy. Of each:

- cold: to the first gradient, in a fresh process with an empty cache, without the imports;
- warm: the same in a new process that finds its kernels on disk;
- length, value: in the first process, to the gradient of another length, and for another parameter,
  with the number of traces that this took;
- call: microseconds of a call after that;
- Hessian: further seconds to the first one, where the author needs one, and its traces;
- JAX: the first call and a call of the same function in JAX's idiom (``jax_forms``), which an
  interpreter that has JAX runs: ``--jax``, or the variable ``JAX_PYTHON``.

Each derivative is compared with extrapolated finite differences of the plain function before its
row is printed. ``WRONG`` says that one is not equal; where a row ends in an error, the error is
printed. All are processor seconds, of all threads of a process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

#: A first call above this is counted in the summary.
LATE = 6.0

#: Programs of ``--quick``.
FEW = ("arma", "hodgkin_huxley")

#: Seconds of the wall clock that a process may take.
LIMIT = 900


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def steady(call: Callable[[], Any]) -> float:
    """Return the seconds of a call that has been made before."""
    call()
    count, start = 0, time.process_time()
    while (taken := time.process_time() - start) < 0.05:
        call()
        count += 1
    return taken / count


def measure(name: str) -> dict[str, Any]:
    """Measure symgrad on a program, in this process."""
    from field_programs import programs
    from field_programs.program import curvature_error, error

    import symgrad as sg

    warnings.simplefilter("ignore")
    program = programs()[name]
    _, first, second = program.sizes
    transform = {
        "gradient": lambda f: sg.grad(f, program.argnums),
        "sparse jacobian": lambda f: sg.jacobian(f, program.argnums, sparse=True),
        "sparse hessian": lambda f: sg.hessian(f, program.argnums, sparse=True),
    }[program.kind]
    derivative = transform(program.function)
    arguments = program.arguments(first)
    found: dict[str, Any] = {}
    found["first"], result = timed(lambda: derivative(*arguments))
    found["traces"] = derivative.traces
    found["error"] = error(program, arguments, result)
    found["call"] = steady(lambda: derivative(*arguments))
    changed = program.changed(arguments)
    before = derivative.traces
    found["value"], result = timed(lambda: derivative(*changed))
    found["value traces"] = derivative.traces - before
    found["value error"] = error(program, changed, result)
    if program.hessian:
        hessian = sg.hessian(program.function, program.argnums)
        found["hessian"], result = timed(lambda: hessian(*arguments))
        found["hessian traces"] = hessian.traces
        found["hessian error"] = curvature_error(program, arguments, result)
    longer = program.arguments(second)
    before = derivative.traces
    found["length"], result = timed(lambda: derivative(*longer))
    found["length traces"] = derivative.traces - before
    found["length error"] = error(program, longer, result)
    return found


def measure_warm(name: str) -> dict[str, Any]:
    """Measure the first gradient alone, in a process that finds its kernels on disk."""
    from field_programs import programs

    import symgrad as sg

    warnings.simplefilter("ignore")
    program = programs()[name]
    transform = sg.grad if program.kind == "gradient" else sg.jacobian
    options: dict[str, Any] = {} if program.kind == "gradient" else {"sparse": True}
    if program.kind == "sparse hessian":
        transform = sg.hessian
    derivative = transform(program.function, program.argnums, **options)
    arguments = program.arguments(program.sizes[1])
    seconds, _ = timed(lambda: derivative(*arguments))
    return {"warm": seconds}


def measure_jax(name: str) -> dict[str, Any]:
    """Measure JAX on its form of a program, in this process."""
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    from field_programs import jax_forms, programs
    from field_programs.program import error

    program = programs()[name]
    form = jax_forms.FORMS[name]
    arguments = program.arguments(program.sizes[1])
    fixed = tuple(k for k, a in enumerate(arguments) if isinstance(a, int | list | tuple))
    fixed = tuple(k for k in fixed if k not in program.where)
    given = tuple(jax_forms.frozen(a) if k in fixed else a for k, a in enumerate(arguments))
    if program.kind == "gradient":
        derivative = jax.jit(jax.grad(form, program.argnums), static_argnums=fixed)
    elif program.kind == "sparse jacobian":
        derivative = jax.jit(jax.jacfwd(form, program.argnums), static_argnums=fixed)
    else:
        derivative = jax.jit(jax.hessian(form, program.argnums), static_argnums=fixed)

    def call() -> Any:
        return jax.block_until_ready(derivative(*given))

    seconds, result = timed(call)
    result = jax.tree.map(np.asarray, result)
    return {"jax": seconds, "jax error": error(program, arguments, result),
            "jax call": steady(call)}  # fmt: skip


STAGES = {"cold": measure, "warm": measure_warm, "jax": measure_jax}


def run(stage: str, name: str, cache: str, python: str) -> dict[str, Any]:
    """Run a stage in a new process and return its output."""
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = os.environ | dict.fromkeys(one, "1") | {"SYMGRAD_CACHE_DIR": cache}
    command = [python, str(Path(__file__).resolve()), name, "--stage", stage]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=LIMIT, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"{stage}: over {LIMIT} s"}
    if done.returncode:
        lines = (done.stderr.strip() or f"status {done.returncode}").splitlines()
        return {"failed": f"{stage}: {lines[-1][:150]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def wrong(found: dict[str, Any], tolerance: float) -> list[str]:
    """Return the stages whose derivative is not that of the plain function."""
    return [k for k, v in found.items() if k.endswith("error") and not v <= tolerance]


def row(name: str, found: dict[str, Any]) -> str:
    """Return a line of the table."""

    def seconds(key: str, traces: str = "") -> str:
        if key not in found:
            return "-"
        text = f"{found[key]:.3f}" if found[key] < 0.1 else f"{found[key]:.2f}"
        return f"{text} ({found[traces]})" if traces else text

    def micro(key: str) -> str:
        return f"{found[key] * 1e6:.1f}" if key in found else "-"

    ratio = f"{found['first'] / found['jax']:.2f}" if {"first", "jax"} <= found.keys() else "-"
    return (
        f"{name:20} {seconds('first', 'traces'):>11} {seconds('warm'):>7} "
        f"{seconds('value', 'value traces'):>10} {seconds('length', 'length traces'):>10} "
        f"{micro('call'):>9} {seconds('hessian', 'hessian traces'):>10} {seconds('jax'):>7} "
        f"{ratio:>6} {micro('jax call'):>9}"
    )


def summary(results: dict[str, dict[str, Any]]) -> None:
    """Print the median and the largest of each column, and how many are late."""
    for key in ("first", "warm", "value", "length", "hessian"):
        values = {n: r[key] for n, r in results.items() if key in r}
        if values:
            worst = max(values, key=lambda n: values[n])
            late = sum(v > LATE for v in values.values())
            again = sum(r.get(f"{key} traces", 0) > 0 for r in results.values())
            print(f"{key}: median {statistics.median(values.values()):.3f} s, largest "
                  f"{values[worst]:.2f} s ({worst}), {late} of {len(values)} above {LATE:g} s"
                  + (f", {again} traced again" if key in ("value", "length") else ""))  # fmt: skip
    ratios = [r["first"] / r["jax"] for r in results.values() if {"first", "jax"} <= r.keys()]
    if ratios:
        print(f"first call to JAX's: median {statistics.median(ratios):.2f}, largest "
              f"{max(ratios):.2f}, of {len(ratios)}")  # fmt: skip


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of programs' names; default: all")
    parser.add_argument(
        "--jax",
        default=os.environ.get("JAX_PYTHON"),
        metavar="PYTHON",
        help="an interpreter with JAX; default: JAX_PYTHON, or this one",
    )
    parser.add_argument("--only", choices=("symgrad", "jax"), help="one of the two")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="two programs only")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        print(json.dumps(STAGES[given.stage](given.names[0])))
        return 0
    from field_programs import programs

    names = [*given.names, *(FEW if given.quick else ())]
    chosen = {n: p for n, p in programs().items()
              if not names or any(part in n for part in names)}  # fmt: skip
    jax = given.jax or sys.executable
    missing = subprocess.run([jax, "-c", "import jax"], capture_output=True, check=False).returncode
    forms = jax_names() if not missing and given.only != "symgrad" else set()
    if missing:
        print("not here: JAX (give an interpreter that has it by --jax or JAX_PYTHON)")
    heads = f"{'program':20} {'cold':>11} {'warm':>7} {'value':>10} {'length':>10} {'call us':>9}"
    print(f"{heads} {'Hessian':>10} {'JAX':>7} {'ratio':>6} {'JAX us':>9}")
    results: dict[str, dict[str, Any]] = {}
    bad = 0
    for name, program in chosen.items():
        found: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as cache:
            for stage in ("cold", "warm") if given.only != "jax" else ():
                if "failed" not in found:
                    found |= run(stage, name, cache, sys.executable)
        if name in forms:
            peer = run("jax", name, "", jax)
            found |= {k if k != "failed" else "jax failed": v for k, v in peer.items()}
        results[name] = found
        note = [f"WRONG: {k} {found[k]:.1e}" for k in wrong(found, program.tolerance)]
        note += [found[k] for k in ("failed", "jax failed") if k in found]
        bad += any(not n.startswith("jax") for n in note)
        print(row(name, found) + "".join(f"  {n}" for n in note), flush=True)
    summary(results)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(bad > 0)


def jax_names() -> set[str]:
    """Return the names of the functions that have a form in JAX, without importing it."""
    import ast

    tree = ast.parse((FOLDER / "field_programs" / "jax_forms.py").read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


if __name__ == "__main__":
    sys.exit(main())
