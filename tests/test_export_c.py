"""Exported C99: compiled with the system's compiler, it gives what the program gives."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special

import symgrad as sg
from symgrad._core.op import registry
from symgrad.errors import ArgumentError, UnsupportedError

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

#: Every warning is an error, but that sizes could be 0: programs are for larger ones.
FLAGS = [
    "-std=c99",
    "-pedantic-errors",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-maybe-uninitialized",
    "-shared",
    "-fPIC",
]

_CTYPES = {"float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64}


def library(code: str, folder: Path) -> ctypes.CDLL:
    source, target = folder / "code.c", folder / "code.so"
    source.write_text(code)
    made = subprocess.run(
        [str(COMPILER), *FLAGS, "-o", str(target), str(source), "-lm"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr + code
    return ctypes.CDLL(str(target))


def call(function: Any, program: Any, values: list[Any]) -> list[Any]:
    """Call an exported function; return its results."""
    sizes = program.bind_sizes(values)
    passed: list[Any] = [
        ctypes.c_ssize_t(sizes[s]) for s, (_, axis) in program.sizes.items() if axis is not None
    ]
    arrays = []
    for node, value in zip(program.inputs, values, strict=True):
        if not node.shape:
            passed.append(_CTYPES[node.dtype.name](value))
            continue
        arrays.append(np.ascontiguousarray(value, node.dtype))
        passed.append(arrays[-1].ctypes.data_as(ctypes.c_void_p))
    with sg.backend("numpy"):
        shapes = [np.shape(x) for x in program.run(*values)]
    found = [np.empty(s, n.dtype) for s, n in zip(shapes, program.outputs, strict=True)]
    passed += [x.ctypes.data_as(ctypes.c_void_p) for x in found]
    assert function(*passed) == 0
    return found


RNG = np.random.default_rng(5)
X, Y, A, M = np.array([0.3, 1.7, -0.6]), RNG.normal(size=4), RNG.normal(size=(3, 3)), (
    RNG.normal(size=(4, 3)))  # fmt: skip
K = np.array([2, -1, 0, 0])


def loss(w: Any, X: Any, y: Any) -> Any:
    return np.sum(np.log1p(np.exp(-y * (X @ w))))


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "scalar": (lambda x: x**2 * np.sin(x), (1.5,)),
    "scalar gradient": (
        sg.grad(lambda x, y: np.arctan2(x, y) * np.hypot(x, y) + x**y, argnums=(0, 1)), (1.5, 2.5),
    ),
    "value": (loss, (X, M, Y)),
    "value and gradient": (sg.value_and_grad(loss), (X, M, Y)),
    "Hessian": (sg.hessian(rosenbrock), (X,)),
    "Jacobian": (sg.jacobian(lambda x, A: np.tanh(A @ x) * x), (X, A)),
    "matrix products": (sg.grad(lambda X: np.trace(X.T @ X @ X.T @ X)), (M,)),
    "broadcasting": (sg.grad(lambda x: np.sum(np.exp(x[:, None] - x[None, :]))), (X,)),
    "running sums": (sg.grad(lambda x: np.sum(np.cumsum(x) ** 2 * np.cumprod(x))), (X,)),
    "products": (sg.grad(np.prod), (np.array([0.0, 2.0, 3.0]),)),
    "extremes": (sg.grad(lambda x: np.max(x) * np.min(x)), (X,)),
    "branches": (
        sg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), np.clip(x, -0.5, 0.5)))), (X,),
    ),
    "rounding": (
        lambda x: np.floor(x) + np.round(x) * np.trunc(x) + x % 0.7 + np.ceil(x) // 2, (X * 5,),
    ),
    "whole numbers": (
        lambda x, k: (np.argmax(x), np.argmin(x), k // 2, k % 3, k**3, (x * 3).astype(int)),
        (X, K),
    ),
    "truth values": (lambda x: (np.any(x > 0), np.all(x > 0), ~(x > 0) | (x < -1)), (X,)),
    "slices": (sg.grad(lambda x: np.sum(np.concatenate([x[::-1], x[1:] ** 2, [3.0]]) ** 2)), (X,)),
    "views": (lambda m: m.reshape(-1)[::2].reshape(2, 3).T, (M,)),
    "gather": (lambda x, k: x[k], (X, K)),
    "scatter": (sg.grad(lambda x, k: np.sum(x[k] ** 2)), (X, K)),
    "diagonals": (sg.grad(lambda m: np.sum(np.diagonal(m) ** 3)), (A,)),
    "float32": (lambda x: np.exp(x) * np.float32(0.1) + x, (X.astype(np.float32),)),
    "sizes": (lambda x, n: np.sum(x / x.size) ** n, (X, 3)),
    "a size compared with itself": (lambda m: np.split(m, [1], axis=1)[1], (M,)),
    "closed-over arrays": (lambda x: x * np.array([1.0, 2.5, -0.1]) + np.arange(3), (X,)),
    "an argument returned": (lambda x, a: (x, a, x), (X, 2.0)),
    "infinities": (lambda x: np.where(x > 0, np.inf, np.minimum(x, np.nan)), (X,)),
    "a long chain": (lambda x: chain(x), (X,)),
    "tables": (
        lambda x: (
            special.ker(x) + special.k1(x) - special.airy(-x)[1] * special.dawsn(x),
            special.j0(x) * special.j1(x) + special.y0(x), special.i1e(-x),
        ),
        (np.array([0.4, 1.7, 9.0]),),
    ),
    "gamma": (lambda x: special.gamma(x) + special.gammaln(x + 1), (np.abs(X),)),
    "digamma and its derivatives": (
        lambda x: (special.psi(x), sg.grad(lambda x: np.sum(special.psi(x)))(x)),
        (np.array([1e-9, 0.4, 1.46, 1.4616321449683622, 3.0, 1e6, -0.3, -7.6, -2.0, 0.0]),),
    ),
    "derivatives of distributions": (
        lambda x: sg.jacobian(lambda v: np.stack([
            special.log_ndtr(v[0]), special.erfcx(v[1]), special.betaln(v[2], v[3]),
            special.beta(v[2], v[3]), special.rgamma(v[3]), special.erfcx(v[0]),
        ]))(x),
        (np.array([-12.5, 11.5, 0.7, 3.2]),),
    ),
    "what nothing depends on": (sg.hessian(lambda x, y: np.sum(x**3 + y @ y)), (X, Y)),
    "loops": (lambda x: orbit(x), (X,)),
    "gradients of loops": (sg.value_and_grad(lambda x: np.sum(orbit(x))), (X,)),
    "Hessians of loops": (sg.hessian(lambda x: np.sum(orbit(x))), (X,)),
    "carries that change places": (
        sg.value_and_grad(lambda x: np.sum(sg.fori_loop(
            0, 7, lambda i, c: (c[1], c[0] + np.sin(c[1]) * i), (x, 2 * x))[0])), (X,),
    ),
    "scans": (lambda x, w: scanned(x, w), (M, A)),
    "gradients of scans": (sg.value_and_grad(lambda x, w: scanned(x, w), argnums=(0, 1)), (M, A)),
    "from the end": (
        lambda x: sg.scan(lambda c, a: (0.5 * c + a, c), 0.0, x[::-1], reverse=True), (X,),
    ),
    "while": (sg.value_and_grad(lambda a: root(a)), (3.0,)),
    "while, no step": (sg.value_and_grad(lambda a: root(a, start=np.sqrt(a))), (4.0,)),
    "while in a loop": (
        sg.value_and_grad(lambda x: sg.fori_loop(0, 3, lambda i, c: root(c + 2.0), x)), (0.7,),
    ),
    "a case": (sg.value_and_grad(lambda x: np.sum(chosen(x)[0]) * chosen(x)[1]), (X,)),
    "another case": (sg.value_and_grad(lambda x: np.sum(chosen(x)[0]) * chosen(x)[1]), (-X,)),
    "cases in a loop": (
        sg.value_and_grad(lambda x: sg.fori_loop(
            0, 5, lambda i, c: sg.cond(c > 1, np.log, lambda c: c * c + 1, c), x)), (0.4,),
    ),
    "positions and views in a loop": (
        lambda x: sg.fori_loop(0, 3, lambda i, c: c + x[::-1] * np.arange(3) + i, x), (X,),
    ),
    "little memory": (
        sg.grad(lambda x: np.sum(
            sg.fori_loop(0, 50, lambda i, c: np.sin(c) + x, x, memory=2000))), (X,),
    ),
    "small systems": (
        sg.value_and_grad(lambda x: np.sum(np.linalg.solve(symmetric(x), x) ** 2)
                          + np.linalg.slogdet(symmetric(x))[1]
                          + np.sum(np.linalg.cholesky(symmetric(x) + 9 * np.eye(3)))), (X,),
    ),
    "checkpoint": (sg.grad(lambda x: np.sum(sg.checkpoint(lambda x: np.sin(x) * x)(x))), (X,)),
}  # fmt: skip


def symmetric(x: Any) -> Any:
    return np.stack([np.stack([0 * x[0], x[0], x[1]]), x, np.stack([x[1], x[2], 2 + x[0]])])


def orbit(x: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        slope = np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - s[2]])
        return s + 0.01 * slope

    return sg.fori_loop(0, 40, step, x)


def scanned(x: Any, w: Any) -> Any:
    c, (ys, sums) = sg.scan(lambda c, a: (np.tanh(w @ c + a), (c * a, np.sum(c))), np.zeros(3), x)
    return np.sum(ys) + np.sum(sums**2) + np.sum(c)


def root(a: Any, start: Any = None) -> Any:
    return sg.while_loop(
        lambda s: np.abs(s * s - a) > 1e-12 * a,
        lambda s: 0.5 * (s + a / s),
        a if start is None else start,
    )


def chosen(x: Any) -> Any:
    return sg.cond(x[0] > 0, lambda x: (np.sin(x), np.sum(x)), lambda x: (x[::-1] * x, x[1]), x)


def chain(x: Any) -> Any:
    for _ in range(300):
        x = np.sin(x) + 0.5
    return x


@needs_compiler
@pytest.mark.slow
def test_exported_code_gives_what_the_program_gives(tmp_path: Path) -> None:
    """All cases in one file: a compiler's start takes longer than its work."""
    codes = [sg.export_c(f, *args, name=f"case{k}") for k, (f, args) in enumerate(CASES.values())]
    made = library("\n".join(codes), tmp_path)
    for k, (name, (f, args)) in enumerate(CASES.items()):
        program = (f if isinstance(f, sg.Function) else sg.compile(f)).program(*args)
        values = list(args)
        wanted = program.run(*values)
        found = call(getattr(made, f"case{k}"), program, values)
        for got, want in zip(found, wanted, strict=True):
            tolerance = 1e-6 if want.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(got, want, tolerance, 1e-14, err_msg=name)


#: Memory and arithmetic that C leaves undefined end the process.
SANITIZED = ["-std=c99", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

_C_TYPES = {"float64": "double", "float32": "float", "int64": "long long", "bool": "_Bool"}
_FORMATS = {"float64": "%a", "float32": "%a", "int64": "%lld", "bool": "%d"}


def _initializer(value: Any) -> str:
    array = np.asarray(value)
    texts = [float(v).hex() if array.dtype.kind == "f" else str(int(v)) for v in array.ravel()]
    return ", ".join(t.replace("inf", "INFINITY").replace("nan", "NAN") for t in texts) or "0"


def _main(name: str, program: Any, values: list[Any], shapes: list[Any]) -> str:
    """Return a function in C that calls an exported function and prints its results."""
    sizes = program.bind_sizes(values)
    passed = [str(sizes[s]) for s, (_, axis) in program.sizes.items() if axis is not None]
    lines = []
    for k, (node, value) in enumerate(zip(program.inputs, values, strict=True)):
        c, array = _C_TYPES[node.dtype.name], np.ascontiguousarray(value, node.dtype)
        lines.append(f"static {c} in{k}[{max(array.size, 1)}] = {{{_initializer(array)}}};")
        passed.append(f"in{k}" if node.shape else f"in{k}[0]")
    for k, (shape, node) in enumerate(zip(shapes, program.outputs, strict=True)):
        count = max(int(np.prod(shape)), 1)
        lines.append(f"static {_C_TYPES[node.dtype.name]} out{k}[{count}];")
        passed.append(f"out{k}")
    lines.append(f"if ({name}({', '.join(passed)}) != 0) return 1;")
    for k, (shape, node) in enumerate(zip(shapes, program.outputs, strict=True)):
        text = f'printf("{_FORMATS[node.dtype.name]} ", out{k}[i]);'
        lines.append(f"for (long i = 0; i < {int(np.prod(shape))}; ++i) {text}")
    body = "\n".join(lines)
    return f'static int run_{name}(void)\n{{\n{body}\nprintf("\\n");\nreturn 0;\n}}\n'


def _sanitized(codes: list[str], calls: list[str], name: str, folder: Path) -> list[str]:
    """Return what exported functions print, in a program that ends at what is undefined."""
    every = "".join(f"if (run_{name}{k}()) return 1;\n" for k in range(len(calls)))
    text = "\n".join(["#include <stdio.h>", *codes, *calls, f"int main(void)\n{{\n{every}}}\n"])
    (folder / "main.c").write_text(text)
    target = str(folder / "main")
    build = [str(COMPILER), *SANITIZED, "-o", target, str(folder / "main.c"), "-lm"]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    ran = subprocess.run([target], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:3000]
    return ran.stdout.splitlines()


@pytest.mark.slow  # the compiler takes most of it
@needs_compiler
def test_nothing_is_undefined_in_exported_code(tmp_path: Path) -> None:
    """Under AddressSanitizer and UBSan, in a program of its own."""
    codes, calls, wanted = [], [], []
    for k, (f, args) in enumerate(CASES.values()):
        codes.append(sg.export_c(f, *args, name=f"case{k}"))
        program = (f if isinstance(f, sg.Function) else sg.compile(f)).program(*args)
        found = [np.asarray(x) for x in program.run(*args)]
        calls.append(_main(f"case{k}", program, list(args), [x.shape for x in found]))
        wanted.append(np.concatenate([x.ravel().astype(float) for x in found]))
    lines = _sanitized(codes, calls, "case", tmp_path)
    for name, line, want in zip(CASES, lines, wanted, strict=True):
        got = [float.fromhex(t) if "x" in t else float(t) for t in line.split()]
        np.testing.assert_allclose(got, want, 1e-6, 1e-14, err_msg=name)


#: Ends of the intervals of tables, and numbers far beyond.
_EDGES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, 2.0**31,
     -(2.0**31), 2.0**63, -(2.0**63), 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, 8.0, 16.0, -8.0, 100.0,
     -100.0, 709.8]
)  # fmt: skip


@pytest.mark.slow  # the compiler takes most of it
@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_is_undefined_in_tables_and_special_functions(tmp_path: Path) -> None:
    """Whatever the numbers are, no place in a table is beyond it."""
    registry.complete()
    codes: list[str] = []
    calls: list[str] = []
    for op in registry.ops.values():
        if op.kind != "map" or not op.functions:
            continue
        rng = np.random.default_rng(len(codes))
        points = [
            np.append(rng.permutation(_EDGES), rng.normal(0, 10, 60)) for _ in range(op.arity)
        ]
        for f in (sg.compile(op), sg.grad(lambda *x, op=op: np.sum(op(*x)))):
            name = f"op{len(codes)}"
            try:
                program, code = f.program(*points), sg.export_c(f, *points, name=name)
            except (sg.errors.SymgradError, TypeError):  # of whole numbers, or not in C
                continue
            codes.append(code)
            calls.append(_main(name, program, points, [points[0].shape]))
    assert len(codes) > 150
    assert len(_sanitized(codes, calls, "op", tmp_path)) == len(codes)


@needs_compiler
def test_one_export_serves_all_sizes_for_which_it_holds(tmp_path: Path) -> None:
    f = lambda x: x[2] ** 2 if x.shape[0] > 2 else x[0]  # noqa: E731
    made = library(sg.export_c(sg.grad(f), X, name="slope"), tmp_path)
    program = sg.grad(f).program(X)
    (found,) = call(made.slope, program, [np.arange(7.0)])
    np.testing.assert_array_equal(found, [0, 0, 4, 0, 0, 0, 0])
    out = np.zeros(2)
    pointer = out.ctypes.data_as(ctypes.c_void_p)
    assert made.slope(ctypes.c_ssize_t(2), pointer, pointer) == 2


@needs_compiler
def test_another_branch_is_reported(tmp_path: Path) -> None:
    def scalar(x: Any) -> Any:
        return x**2 if x > 0 else -x

    def array(x: Any) -> Any:
        total = np.sum(np.cumsum(x))
        return np.sum(np.exp(x - np.mean(x)) ** 2) / total if total > 0 and x[0] < 5 else total

    text = sg.export_c(scalar, 1.0, name="scalar")
    text += sg.export_c(sg.grad(array), np.ones(3), name="slope")
    made = library(text, tmp_path)
    out = np.zeros(3)
    pointer = out.ctypes.data_as(ctypes.c_void_p)
    assert [made.scalar(ctypes.c_double(x), pointer) for x in (2.0, -2.0)] == [0, 3]
    for x in (np.arange(3.0), np.arange(3.0) - 9, np.arange(3.0) + 9):
        size, values = ctypes.c_ssize_t(3), x.ctypes.data_as(ctypes.c_void_p)
        status = made.slope(size, values, pointer)
        assert status == (0 if x[0] == 0 else 3)
        if not status:
            np.testing.assert_allclose(out, sg.grad(array)(x), 1e-13)
    assert "3 if the values take another branch than it was made for." in text


def test_what_the_function_returns_is_said() -> None:
    assert "Returns 0; 1 if memory is short." in sg.export_c(np.sin, 1.0)
    jacobian = sg.export_c(sg.jacobian(np.exp), X)
    assert f"Returns 0; 1 if memory is short; 2 unless n == {len(X)}." in jacobian


def test_the_text() -> None:
    code = sg.export_c(sg.grad(lambda x: np.sum(np.sin(x))), X)
    assert code[code.index("int f_grad") :] == (
        "int f_grad(ptrdiff_t n, const double *restrict x, double *restrict out0)\n{\n"
        f"    /* test_export_c.py:{line_of('code = sg.export_c(sg.grad(lambda x')} */\n"
        "    for (ptrdiff_t i1 = 0; i1 < n; ++i1) {\n"
        "        out0[i1] = cos(x[i1]);\n    }\n    return 0;\n}\n"
    )
    assert " * grad of f\n * n: axis 0 of x\n * out0: float64[n], written\n" in code


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if text in line)


def test_long_signatures_are_broken_between_parameters() -> None:
    def loss(weights: Any, matrix: Any, target: Any) -> Any:
        return np.sum((matrix @ weights - target) ** 2)

    text = sg.export_c(loss, np.ones(3), np.ones((4, 3)), np.ones(4), name="a_long_name_of_a_loss")
    head = text[text.index("int a_long") : text.index("{")].splitlines()
    assert len(head) == 2
    assert head[0].endswith(",")


def test_the_text_of_a_loop() -> None:
    f = sg.compile(lambda x: sg.fori_loop(0, 50, lambda i, c: np.sin(c) + i, x))
    code = sg.export_c(f, 1.5, name="loop")
    line = line_of("f = sg.compile(lambda x: sg.fori_loop(0, 50")
    assert code[code.index("{\n") :] == (
        f"{{\n    /* test_export_c.py:{line} */\n"
        "    double v1 = 0;\n    double u1 = x;\n"
        "    for (ptrdiff_t i3 = 0; i3 < 50; ++i3) {\n"
        f"        /* test_export_c.py:{line} */\n"
        "        const double v0 = sin(u1);\n"
        "        const double v1_ = (double)(int64_t)i3;\n"
        "        const double v2 = v0 + v1_;\n"
        "        const double u2 = v2;\n        u1 = u2;\n    }\n"
        "    v1 = u1;\n    *out0 = v1;\n    return 0;\n}\n"
    )


def test_names_that_c_has_taken(tmp_path: Path) -> None:
    code = sg.export_c(lambda double, exp, i1: double * exp + i1, 1.0, 2.0, 3.0)
    assert re.search(r"int f_value\(double double_, double exp_, double i1_, ", code)
    assert "int sin_value(" in sg.export_c(np.sin, 1.0)
    for name in ("sin", "while", "a b", "ä"):
        with pytest.raises(ArgumentError, match="cannot be the name of a C function"):
            sg.export_c(np.cos, 1.0, name=name)
    path = tmp_path / "cos.c"
    assert sg.export_c(np.cos, 1.0, path=path) == path.read_text()


def test_what_c_does_not_have() -> None:
    line = r"test_export_c\.py:\d+, cannot be exported to C: it is a "
    with pytest.raises(UnsupportedError, match=f"WrightOmega, made at {line}function of SciPy"):
        sg.export_c(sg.grad(lambda x: special.wrightomega(x) ** 2), 1.5)
    with pytest.raises(UnsupportedError, match=f"LU, made at {line}routine of a library"):
        sg.export_c(lambda a: np.linalg.inv(a), A)
    with pytest.raises(UnsupportedError, match=f"Jv, made at {line}function of SciPy"):
        sg.export_c(lambda x: special.jv(0.5, x), 1.5)
    with pytest.raises(UnsupportedError, match=f"Ellipk, made at {line}function of SciPy"):
        sg.export_c(lambda x: sg.fori_loop(0, 9, lambda i, c: special.ellipk(c), x), 0.5)
    with pytest.raises(UnsupportedError, match="the code of gcd is for LLVM"):
        sg.export_c(lambda k: np.lcm(k, 4), np.arange(1, 4))
    with pytest.raises(ArgumentError, match=r"write sg.export_c\(f, x\), not sg.export_c"):
        sg.export_c(3.0)  # type: ignore[arg-type]
