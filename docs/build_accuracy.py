"""Write docs/accuracy.md: a certificate for every op that has a derivative.

Run ``python docs/build_accuracy.py``; it takes some minutes. ``python docs/build_accuracy.py
Tanh Sum`` makes only these rows anew. The figures depend on the processor and the C library, so
tests/test_docs_accuracy.py compares only what does not.
"""

from __future__ import annotations

import inspect
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import symgrad as sg
import symgrad.numpy as symnp
import symgrad.scipy.linalg as sg_linalg
from symgrad._compile._cache import OWN
from symgrad._lower import lower
from symgrad._op import Op, registry
from symgrad._ops.logic import CONDITION

PAGE = Path(__file__).with_name("accuracy.md")
POINTS = 8
#: Ops whose exact derivatives take mpmath seconds a point: one random point is enough.
SLOW = frozenset(("Binom", "EllipticD", "EllipticG", "K1e", "Kve", "OwensT"))
#: Elements of the arrays on which SIMD functions are tried: some registers, and some left over.
ELEMENTS = 37

INTRO = """\
# Accuracy

<!-- Made by docs/build_accuracy.py; do not edit. -->

The certificate of every op: value and derivatives of the compiled kernel against exact values, in units in the last place, at {points} random points of the op's sample interval (one, where exact values take long), its ends and corners. [What the certificate means](certificate.md) explains the columns. **condition** is that of the worst derivative: where it is large, the op's own conditioning explains the error, and **/cond** is what is left for the code. The step that loses most is named where it is more than 4 ulp off. *not finite*: the derivative does not exist at 0, and a convention is used there.

The aim, except where conditioning explains more: at most 1.5 ulp without vector mathematics (the environment variable `SYMGRAD_VECTOR_MATH=0`, and everything that is no loop over arrays), and at most 4 ulp with it. The columns **SIMD** are of a loop over {elements} numbers that calls the C library's vector functions, those before of single numbers; a dash says that the op calls none. What is far off is either a difference of nearly equal numbers, with a large condition, or a function of SciPy's that loses digits itself, more than the function's own condition would explain (which is less than that of its formula): the Kelvin functions from 2 on, `airy` from 1 on, `kv`, `jv` and `yv` of broken order, `hyp1f1`, `gammaincc`, and the inverses of the incomplete gamma and beta functions. Kernels call these as they are, so that values agree with SciPy's. Nothing that symgrad writes itself is off beyond its condition: derivatives that textbooks give as differences of nearly equal terms are families of functions without these ([design note 0066](design/0066-families-of-derivatives.md)). Figures differ by processor and C library; these are of {machine}, NumPy {numpy}.

## Elementwise ops

| op | interval | value | derivative | condition | /cond | SIMD: value | derivative | /cond | loses digits |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""  # noqa: E501


def covered() -> Iterator[Op]:
    """Yield the ops that the page lists."""
    for op in sorted(OWN, key=lambda op: op.name):
        real = [d for d in op.domain if d.is_subset(sp.Reals) and not d.is_subset(sp.Integers)]
        if op.kind == "map" and op.reason is None and real:
            yield op


def function_of(op: Op) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the op as a function of its real operands, example arguments, and the domain."""
    names = [f"x{k}" for k in range(op.arity)]
    middle: list[Any] = [0.5 * (low + high) for low, high in op.samples]
    fixed: dict[int, Any] = {}
    for k, domain in enumerate(op.domain):
        if domain is CONDITION:
            fixed[k] = True
        elif domain.is_subset(sp.Integers):
            fixed[k] = math.ceil(middle[k])
    free = [k for k in range(op.arity) if k not in fixed]

    def f(*xs: Any) -> Any:
        operands = [fixed.get(k, 0.0) for k in range(op.arity)]
        for k, x in zip(free, xs, strict=True):
            operands[k] = x
        params = {"dtype": "float64"} if op.name == "Cast" else {}
        return op(*operands, **params)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    f.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(names[k], kind) for k in free]
    )
    f.__name__ = op.name
    domain = {names[k]: tuple(map(float, op.samples[k])) for k in free}
    return f, tuple(float(middle[k]) for k in free), domain


def certified(op: Op, points: int = POINTS) -> Any:
    """Return the certificate of an op."""
    f, args, domain = function_of(op)
    return sg.verify(f, *args, domain=domain, points=points, limit=math.inf)


def row(op: Op, points: int = POINTS) -> str:
    """Return an op's line of the table."""
    intervals = ", ".join(f"[{low:g}, {high:g}]" for low, high in op.samples)
    with vector_math("0"):
        found = certified(op, 1 if op.name in SLOW else points)
    loss = ""
    if found.loss is not None and found.loss.after > 4:
        loss = f"`{found.loss.step}`"
    return f"| {' | '.join((op.name, intervals, *figures(found), *in_loops(op), loss))} |"


@contextmanager
def vector_math(on: str) -> Iterator[None]:
    """Switch the C library's SIMD functions on ("1") or off ("0") for kernels made inside."""
    before = os.environ.get("SYMGRAD_VECTOR_MATH")
    os.environ["SYMGRAD_VECTOR_MATH"] = on
    try:
        yield
    finally:
        del os.environ["SYMGRAD_VECTOR_MATH"]
        if before is not None:
            os.environ["SYMGRAD_VECTOR_MATH"] = before


def in_loops(op: Op) -> tuple[str, str, str]:
    """Return the errors of value and derivatives in a loop, where that calls SIMD functions."""
    f, _, domain = function_of(op)
    rng = np.random.default_rng(0)
    inside = [rng.uniform(low, high, ELEMENTS - 2) for low, high in domain.values()]
    xs = [np.array([low, *x, high]) for x, (low, high) in zip(inside, domain.values(), strict=True)]

    def total(*xs: Any) -> Any:
        return np.sum(f(*xs))

    both = sg.value_and_grad(total, argnums=tuple(range(len(xs))))
    with vector_math("1"):
        if "_ZGV" not in lower(both.program(*xs)).text:
            return "-", "-", "-"
        options: dict[str, Any] = {"samples": ELEMENTS, "limit": math.inf}
        value = sg.verify(lambda *xs: f(*xs), *xs, wrt=(), **options).checks[0]
        _, *slopes = sg.verify(total, *xs, **options).checks
    slopes = [s for s in slopes if not math.isnan(s.max_ulp)]
    worst = max(slopes, key=lambda s: s.max_ulp)
    return shown(value.max_ulp), shown(worst.max_ulp), shown(worst.max_scaled)


def figures(found: Any) -> tuple[str, ...]:
    """Return the errors of value and derivatives, and the condition of the worst."""
    value, *slopes = found.rows
    slopes = [s for s in slopes if s.worst is not None and not math.isnan(s.max_ulp)]
    worst = max(slopes, key=lambda r: r.max_ulp, default=value)
    condition = 0.0 if worst.worst is None else worst.worst.condition
    return shown(value.max_ulp), shown(worst.max_ulp), f"{condition:.2g}", shown(worst.max_scaled)


# ---------------------------------------------------------------- ops on arrays

ARRAYS = """
## Ops on arrays

The same for ops on whole arrays, in a function that is made of them. For sums and products the condition is that of the entry; for what LAPACK computes it is *normwise*: what rounding the matrix does to the result. Exact derivatives of these are central differences of the definition at 200 digits. `z` stands for `x + 1j*x.T`.

| op | in | elements in | value | derivative | condition | /cond |
| --- | --- | --- | ---: | ---: | ---: | ---: |
"""  # noqa: E501

FLAT = """
## Ops without a certificate

Truth values, whole numbers and steps have no derivative and are computed exactly. A Python function
that is not traced has no exact values, and so has what is computed from it.

| op | why |
| --- | --- |
"""

WHOLE = np.array([2, 0, 2])
N, SQUARE = np.zeros(5), np.zeros((3, 3))


def _parts(found: Any) -> list[Any]:
    """Return real results: the parts of complex ones."""
    values = found if isinstance(found, tuple) else (found,)
    return [p for z in values for p in ((z.real, z.imag) if z.dtype.kind == "c" else (z,))]


def _turned(f: Any) -> Any:
    """Return ``f(x + 1j*x.T)`` as a function of x."""
    return lambda x: _parts(f(x + 1j * x.T))


def _hermitian(z: Any) -> Any:
    return z @ np.conj(z.T) + np.eye(3)


def _definite(x: Any) -> Any:
    return x @ x.T + np.eye(3)


def _added_at(x: Any) -> Any:
    params = {"axes": (0,), "at": 0, "shape": x.shape}
    return registry.ops["AddAt"](x[0], np.sin(x), np.int64(1), **params)


def _put(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = y[i - 1] * x[i]
        return y

    return sg.fori_loop(1, 5, step, np.exp(x))


def _assigned(x: Any) -> Any:
    y = symnp.zeros(5)
    y[1:4] = x[:3]
    y[0] += x[4]
    return np.exp(y)


def _recurrence(x: Any) -> Any:
    return registry.ops["Recurrence"](x, x, axis=0, reverse=False)


def _chosen(x: Any) -> Any:
    return sg.cond(x[0] > 0, np.sin, np.cos, x)


def _looped(x: Any) -> Any:
    return sg.scan(lambda c, a: (np.sin(c) + a, c * a), 0.5, x)


@sg.custom_vjp
def _own(x: Any) -> Any:
    return np.sum(x * x)


_own.defvjp(lambda x: (np.sum(x * x), x), lambda x, ct: (2 * ct * x,))

#: For each op: how its function is written, the function, an argument, and the interval.
CALLS: dict[str, tuple[str, Callable[..., Any], Any, tuple[float, float]]] = {
    "AddAt": ("y[1] + x[0], other y[i]", _added_at, N, (-3, 3)),
    "Assemble": ("np.concatenate([x, x])", lambda x: np.concatenate([x, x]), N, (-3, 3)),
    "ComplexCholesky": (
        "np.linalg.cholesky(z @ z.conj().T + I)",
        _turned(lambda z: np.linalg.cholesky(_hermitian(z))),
        SQUARE,
        (-1, 1),
    ),
    "ComplexEig": ("np.linalg.eig(z)", _turned(np.linalg.eig), SQUARE, (-1, 1)),
    "ComplexEigh": (
        "np.abs(np.linalg.eigh(z @ z.conj().T + I)[1])",
        _turned(lambda z: np.abs(np.linalg.eigh(_hermitian(z))[1])),
        SQUARE,
        (-1, 1),
    ),
    "ComplexLogDet": (
        "np.abs(np.linalg.det(x + 1j*x.T))",
        lambda x: np.abs(np.linalg.det(x + 1j * x.T)),
        SQUARE,
        (-1, 1),
    ),
    "ComplexPseudoInverse": ("np.linalg.pinv(z)", _turned(np.linalg.pinv), SQUARE, (-1, 1)),
    "ComplexQR": ("np.linalg.qr(z)", _turned(np.linalg.qr), SQUARE, (-1, 1)),
    "ComplexSVD": (
        "np.abs(np.linalg.svd(z)[0])",
        _turned(lambda z: np.abs(np.linalg.svd(z)[0])),
        SQUARE,
        (-1, 1),
    ),
    "ComplexSolve": (
        "np.linalg.solve(z, z[0])",
        _turned(lambda z: np.linalg.solve(z, z[0])),
        SQUARE,
        (-1, 1),
    ),
    "ComplexSolveTriangular": (
        "sg.scipy.linalg.solve_triangular(z, z[0])",
        _turned(lambda z: sg_linalg.solve_triangular(z, z[0])),
        SQUARE,
        (0.5, 1.5),
    ),
    "Fourier": (
        "np.abs(np.fft.fft(x + 1j*x**2))",
        lambda x: np.abs(np.fft.fft(x + 1j * x**2)),
        N,
        (0.5, 3),
    ),
    "RealFourier": ("np.abs(np.fft.rfft(x))", lambda x: np.abs(np.fft.rfft(x)), N, (0.5, 3)),
    "RealSignal": (
        "np.fft.irfft(np.fft.rfft(x)*[1, 2, 3])",
        lambda x: np.fft.irfft(np.fft.rfft(x) * np.arange(1.0, 4.0), 5),
        N,
        (-3, 3),
    ),
    "Branch": ("sg.cond(x[0] > 0, np.sin, np.cos, x)", _chosen, N, (0.5, 3)),
    "Broadcast": ("np.broadcast_to(x, (2, 5))", lambda x: np.broadcast_to(x, (2, 5)), N, (-3, 3)),
    "Cholesky": (
        "np.linalg.cholesky(x @ x.T + I)",
        lambda x: np.linalg.cholesky(_definite(x)),
        SQUARE,
        (-1, 1),
    ),
    "Contract": ("x @ x", lambda x: x @ x, SQUARE, (-3, 3)),
    "Cumprod": ("np.cumprod(x)", np.cumprod, N, (0.5, 3)),
    "Cumsum": ("np.cumsum(x)", np.cumsum, N, (-3, 3)),
    "Custom": ("a function with sg.custom_vjp", _own, N, (-3, 3)),
    "Det": ("np.linalg.det(x)", np.linalg.det, SQUARE, (-1, 1)),
    "DiagEmbed": ("np.diag(x)", np.diag, N, (-3, 3)),
    "Diagonal": ("np.diagonal(x)", np.diagonal, SQUARE, (-3, 3)),
    "Eig": ("np.linalg.eig(x)", lambda x: _parts(np.linalg.eig(x)), SQUARE, (-1, 1)),
    "Eigh": (
        "np.linalg.eigh(x @ x.T + I)",
        lambda x: np.linalg.eigh(_definite(x)),
        SQUARE,
        (-1, 1),
    ),
    "Gather": ("x[[2, 0, 2]]", lambda x: x[WHOLE], N, (-3, 3)),
    "LU": ("np.linalg.inv(x)", np.linalg.inv, SQUARE, (-1, 1)),
    "LogAbsDet": ("np.linalg.slogdet(x)[1]", lambda x: np.linalg.slogdet(x)[1], SQUARE, (-1, 1)),
    "Loop": ("sg.scan(...)", _looped, N, (-3, 3)),
    "Max": ("np.max(x)", np.max, N, (-3, 3)),
    "Min": ("np.min(x)", np.min, N, (-3, 3)),
    "Prod": ("np.prod(x)", np.prod, N, (0.5, 3)),
    "PseudoInverse": (
        "np.linalg.pinv(x[:, :2])",
        lambda x: np.linalg.pinv(x[:, :2]),
        SQUARE,
        (-1, 1),
    ),
    "Put": ("y[i] = y[i - 1]*x[i] in a loop", _put, N, (-3, 3)),
    "QR": ("np.linalg.qr(x)", np.linalg.qr, SQUARE, (-1, 1)),
    "Recurrence": ("r[i] = x[i]*r[i - 1] + x[i]", _recurrence, N, (-3, 3)),
    "Reshape": ("x.reshape(-1)", lambda x: x.reshape(-1), SQUARE, (-3, 3)),
    "SVD": ("np.linalg.svd(x)", np.linalg.svd, SQUARE, (-1, 1)),
    "Scatter": ("np.bincount([2, 0, 2], x[:3])", lambda x: np.bincount(WHOLE, x[:3]), N, (-3, 3)),
    "Slice": ("x[1:-1]", lambda x: x[1:-1], N, (-3, 3)),
    "Solve": ("np.linalg.solve(x, x[0])", lambda x: np.linalg.solve(x, x[0]), SQUARE, (-1, 1)),
    "SolveTriangular": (
        "sg.scipy.linalg.solve_triangular(x, x[0])",
        lambda x: sg_linalg.solve_triangular(x, x[0]),
        SQUARE,
        (0.5, 1.5),
    ),
    "Sum": ("np.sum(x)", np.sum, N, (-3, 3)),
    "Transpose": ("x.T", lambda x: x.T, SQUARE, (-3, 3)),
    "Update": ("y[1:4] = x[:3]", _assigned, N, (-3, 3)),
}
#: Ops that only stand beside another one.
BESIDE = {"Result": "Loop", "Tape": "Loop"}
#: Of matrices that are regular only at random.
MATRICES = (
    "Cholesky",
    "ComplexCholesky",
    "ComplexEig",
    "ComplexEigh",
    "ComplexLogDet",
    "ComplexPseudoInverse",
    "ComplexQR",
    "ComplexSVD",
    "ComplexSolve",
    "Det",
    "Eig",
    "Eigh",
    "LU",
    "LogAbsDet",
    "PseudoInverse",
    "QR",
    "SVD",
    "Solve",
)


def arrays() -> Iterator[Op]:
    """Yield the ops on arrays that have a derivative."""
    for op in sorted(OWN, key=lambda op: op.name):
        known = op.kind != "routine" or op.exact is not None or op.transpose is not None
        if op.kind not in ("map", "leaf") and known and (op.reason is None or op.name == "LU"):
            yield op


def array_certificate(name: str, points: int = POINTS) -> Any:
    """Return the certificate of an op on arrays."""
    _, f, x, interval = CALLS[name]
    example = np.full_like(x, 0.5 * sum(interval))
    if name not in MATRICES:
        return sg.verify(f, example, domain=interval, points=points, limit=math.inf)
    # Constant matrices, which the ends of a domain are made of, are singular.
    rng = np.random.default_rng(0)
    found = [
        sg.verify(f, rng.uniform(*interval, np.shape(x)), limit=math.inf) for _ in range(points)
    ]
    return max(found, key=lambda r: r.checks[1].max_ulp)


def array_row(op: Op, points: int = POINTS) -> str:
    """Return the line of an op on arrays."""
    text, _, _, interval = CALLS[op.name]
    found = array_certificate(op.name, points)
    if op.name in MATRICES:
        value, slope = found.checks[:2]
        condition = 0.0 if slope.worst is None else slope.worst.condition
        cells = (shown(value.max_ulp), shown(slope.max_ulp), f"{condition:.2g}",
                 shown(slope.max_scaled))  # fmt: skip
    else:
        cells = figures(found)
    low, high = interval
    return f"| {' | '.join((op.name, f'`{text}`', f'[{low:g}, {high:g}]', *cells))} |"


def flat_rows() -> Iterator[str]:
    """Yield the lines of ops without a derivative."""
    listed = {op.name for op in (*covered(), *arrays())}
    for op in sorted(OWN, key=lambda op: op.name):
        if op.kind != "leaf" and op.name not in listed:
            beside = BESIDE.get(op.name)
            why = f"part of {beside}" if beside else op.reason or f"not certified: {op.doc}"
            yield f"| {op.name} | {why} |"


def shown(ulp: float) -> str:
    """Return an error for the table."""
    return f"{ulp:.2f}" if ulp < 1e4 else f"{ulp:.1e}" if math.isfinite(ulp) else "not finite"


def page(only: set[str] | None = None) -> str:
    """Return the page; rows of other ops than ``only`` are taken from the file."""
    old: dict[str, str] = {}
    if only:
        lines = PAGE.read_text(encoding="utf-8").splitlines()
        old = {line.split(" | ")[0].removeprefix("| "): line for line in lines}

    def kept(op: Op, make: Callable[[Op], str]) -> str:
        return old[op.name] if only and op.name not in only else make(op)

    head = INTRO.format(
        points=POINTS, elements=ELEMENTS, machine=platform.machine(), numpy=np.__version__
    )
    with np.errstate(all="ignore"):
        maps = [kept(op, row) for op in covered()]
        rest = [kept(op, array_row) for op in arrays()]
    return "\n".join([head + "\n".join(maps), ARRAYS + "\n".join(rest),
                      FLAT + "\n".join(flat_rows()), ""])  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(set(sys.argv[1:])), encoding="utf-8")
    print(f"wrote {PAGE}")
