"""Exported object files called by a loop in C, beside the same functions written in C by hand.

    python examples/benchmarks/from_c.py [--quick] [--target x86-64-v3] [--compiler gcc]

Both are in one program, which calls each in turn and takes the best of many rounds; hand-written
code is compiled by the C compiler with ``-O3 -fno-math-errno`` for the same processor. Sums in it
are in order, as they are written. By default GCC makes one operation of a product and a sum, which
rounds once; ``plain`` has ``-ffp-contract=off``, the operations that are written and that symgrad
computes. ``fast`` has ``-ffast-math``, which may reorder sums, too. The last columns are the time
of the object over that of each. ``fixed`` objects are of ``dynamic=False``: their sizes are those
of the example.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _right import Checks
from stamps import stamp

import symgrad as sg

HAND = """
#include <math.h>
#include <stddef.h>

int rosen(ptrdiff_t n, const double *restrict x, double *restrict value, double *restrict g)
{
    double sum = 0;
    g[0] = 0;
    for (ptrdiff_t i = 0; i + 1 < n; ++i) {
        double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        sum += 100 * a * a + b * b;
        g[i] += -400 * a * x[i] - 2 * b;
        g[i + 1] = 200 * a;
    }
    *value = sum;
    return 0;
}

int lorenz(const double *restrict u, double *restrict du)
{
    du[0] = 10 * (u[1] - u[0]);
    du[1] = u[0] * (28 - u[2]) - u[1];
    du[2] = u[0] * u[1] - 8.0 / 3 * u[2];
    return 0;
}

int logistic(ptrdiff_t n, ptrdiff_t m, const double *restrict w, const double *restrict X,
             const double *restrict y, double *restrict value, double *restrict g)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < n; ++j) g[j] = 0;
    for (ptrdiff_t i = 0; i < m; ++i) {
        double z = 0;
        for (ptrdiff_t j = 0; j < n; ++j) z += X[i * n + j] * w[j];
        double e = exp(-fabs(z));
        sum += (z > 0 ? z : 0) + log1p(e) - y[i] * z;
        double p = (z > 0 ? 1 : e) / (1 + e) - y[i];
        for (ptrdiff_t j = 0; j < n; ++j) g[j] += p * X[i * n + j];
    }
    *value = sum;
    return 0;
}

int sincos_sum(ptrdiff_t n, const double *restrict x, double *restrict value, double *restrict g)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; ++i) {
        double s = sin(x[i]), c = cos(x[i]);
        sum += s * c;
        g[i] = c * c - s * s;
    }
    *value = sum;
    return 0;
}
"""

MAIN = """
#include <stdio.h>
#include <math.h>
#include <stddef.h>
#include <time.h>
%(declarations)s
static double a[%(room)d], b[%(room)d], c[%(room)d], out[%(room)d], value;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(void)
{
    for (int i = 0; i < %(room)d; ++i) {
        a[i] = 0.5 + 0.4 * sin(i); b[i] = 0.1 * cos(3 * i); c[i] = i %% 2;
    }
%(cases)s
    return 0;
}
"""

CASE = """
    {{
        double best[{count}], at[{count}];
        for (int k = 0; k < {count}; ++k) best[k] = 1e9;
        for (int round = 0; round < {rounds}; ++round) {{
            double start;
{runs}
        }}
        printf("{name}");
        for (int k = 0; k < {count}; ++k) printf(" %.17g", best[k] / {calls});
        for (int k = 0; k < {count}; ++k) printf(" %.17g", at[k]);
        printf("\\n");
    }}
"""

RUN = """
            start = now();
            for (long i = 0; i < {calls}; ++i) {{ {call}; a[0] += 1e-12; }}
            start = now() - start;
            if (start < best[{k}]) best[{k}] = start;
            a[0] = 0.5; {call}; at[{k}] = out[0];
"""


#: Versions of the code by hand, and what their compiler is told besides.
FLAGS = {"hand": [], "plain": ["-ffp-contract=off"], "fast": ["-ffast-math"]}


def rosen(x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def lorenz(u: Any) -> Any:
    """Lorenz's right-hand side."""
    return np.array([10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]])


def logistic(w: Any, X: Any, y: Any) -> Any:
    """The loss of logistic regression."""
    z = X @ w
    return np.sum(np.logaddexp(0, z) - y * z)


def sincos_sum(x: Any) -> Any:
    """A sum of sines times cosines."""
    return np.sum(np.sin(x) * np.cos(x))


def cases(quick: bool) -> list[tuple[str, Any, tuple[Any, ...], str, str, int]]:
    """Return name, function, example, arguments of sizes and of the rest, and calls a round."""
    few = 20 if quick else 1
    return [
        ("rosen, 10", sg.value_and_grad(rosen), (np.ones(10),), "10, ", "a, &value, out",
         200_000 // few),
        ("rosen, 1000", sg.value_and_grad(rosen), (np.ones(1000),), "1000, ", "a, &value, out",
         5_000 // few),
        ("lorenz", sg.compile(lorenz), (np.ones(3),), "", "a, out", 500_000 // few),
        ("logistic, 200 x 10", sg.value_and_grad(logistic),
         (np.ones(10), np.ones((200, 10)), np.ones(200)), "10, 200, ", "b, a, c, &value, out",
         1_000 // few),
        ("sincos_sum, 10000", sg.value_and_grad(sincos_sum), (np.ones(10_000),), "10000, ",
         "a, &value, out", 100 // few),
    ]  # fmt: skip


def measure(folder: Path, quick: bool, target: str | None, compiler: str) -> list[list[str]]:
    """Return a row for each case: seconds a call of the object files and of C, and results."""
    objects, written, declarations = [], [], [HAND[: HAND.index("int rosen")]]
    for k, (name, f, args, sizes, rest, calls) in enumerate(cases(quick)):
        own = name.partition(",")[0]
        made = sg.compile(f, dynamic=False)
        calling = []
        for stem, g in (("sized", f), ("fixed", made)):
            # Without a size to give, both are of fixed sizes.
            if stem == "sized" and not sizes:
                g = made
            path = folder / f"{stem}{k}.o"
            header = g.export(path, *args, target=target, name=f"{stem}{k}")[1]
            objects.append(str(path))
            declarations.append(f'#include "{header.name}"')
            calling.append(f"{stem}{k}({sizes if stem == 'sized' else ''}{rest})")
        for stem in FLAGS:
            line = HAND[HAND.index(f"int {own}(") :].partition("\n{")[0]
            declarations.append(line.replace(f"int {own}(", f"int {stem}_{own}(") + ";")
            calling.append(f"{stem}_{own}({sizes}{rest})")
        runs = "".join(RUN.format(k=j, call=c, calls=calls) for j, c in enumerate(calling))
        words = {"count": len(calling), "runs": runs, "calls": calls, "rounds": 3 if quick else 60}
        written.append(CASE.format(name=name.replace(" ", "_"), **words))
    level = [f"-march={target}"] if target and target.startswith("x86") else ["-march=native"]
    for stem, more in FLAGS.items():
        text = HAND
        for own in ("rosen", "lorenz", "logistic", "sincos_sum"):
            text = text.replace(f"int {own}(", f"int {stem}_{own}(")
        (folder / f"{stem}.c").write_text(text)
        command = [compiler, "-O3", "-fno-math-errno", *level, *more, "-c", f"{stem}.c"]
        subprocess.run(command, cwd=folder, check=True)
    whole = MAIN % {"declarations": "\n".join(dict.fromkeys(declarations)), "room": 10_000,
                    "cases": "".join(written)}  # fmt: skip
    (folder / "main.c").write_text(whole)
    command = [compiler, "-O2", "-o", "main", "main.c", *(f"{stem}.o" for stem in FLAGS),
               *objects, "-lm"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def agree(rows: list[list[str]]) -> None:
    """Raise where a result differs from the object's."""
    for name, *numbers in rows:
        found = np.array(numbers[5:], float)
        assert np.allclose(found, found[0], rtol=1e-9), (name, found)


def checks() -> Checks:
    """Compare the objects with the code by hand."""

    def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            agree(measure(Path(folder), True, None, "cc"))

    return {"objects": check} if shutil.which("cc") else {}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few calls and rounds")
    options.add_argument("--target", help="the processor; default: this one's level")
    options.add_argument("--compiler", default="cc")
    given = options.parse_args()
    if shutil.which(given.compiler) is None:
        raise SystemExit(f"there is no {given.compiler}")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.quick, given.target, given.compiler)
    head = ("", "object", "fixed", "C", "C plain", "C fast", "object/C", "object/plain", "fixed/C",
            "fixed/fast")  # fmt: skip
    line = "{:20}" + "{:>13}" * 9
    print(line.format(*head))
    agree(rows)
    for name, *numbers in rows:
        sized, fixed, hand, plain, fast, *_ = map(float, numbers)
        times = [f"{1e9 * t:,.1f} ns" for t in (sized, fixed, hand, plain, fast)]
        over = (sized / hand, sized / plain, fixed / hand, fixed / fast)
        print(line.format(name.replace("_", " "), *times, *(f"{r:.2f}" for r in over)))
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
