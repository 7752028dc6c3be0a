"""Write docs/accuracy.md: a certificate for every op that has a derivative.

Run ``python docs/build_accuracy.py``; it takes a quarter of an hour. ``python
docs/build_accuracy.py Tanh Sum`` makes only these rows anew, ``--points 1000`` takes so many random
points an op. The figures depend on the processor and the C library, so
tests/test_docs_accuracy.py compares only what does not.
"""

from __future__ import annotations

import argparse
import inspect
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

import symgrad as sg
import symgrad.numpy as symnp
import symgrad.scipy.linalg as sg_linalg
from symgrad._api._call import Call
from symgrad._api._certificates import intervals_of, points_of
from symgrad._api._verify import Kernels, chosen_leaves, problem_of
from symgrad._core.op import Evidence, Op, Words, registry
from symgrad._core.ops.logic import CONDITION
from symgrad._core.pipeline import lower
from symgrad._verify import entries
from symgrad._verify._numbers import Digits
from symgrad._verify._numeric_calculus import rule_of

PAGE = Path(__file__).with_name("accuracy.md")
#: Random points of an op.
POINTS = 200
#: Those of ops whose exact values, or derivatives, take mpmath long.
FEWER = {
    "BesselY2": 100, "EllipticD": 100, "EllipticG": 60, "K0": 100, "K0e": 100, "K0eSlope": 60,
    "K1": 60, "K1e": 12, "Kei": 24, "Keip": 50, "Ker": 100, "Kerp": 50,
    "OwensT": 40, "StudentQuantile": 100, "ZetaByOrder": 4, "JvByOrder": 2, "YvByOrder": 2,
    "IvByOrder": 2, "IveByOrder": 2, "KvByOrder": 2, "KveByOrder": 2,
    "StruveByOrder": 8, "ModStruveByOrder": 8, "Hyp0f1Slope": 4, "Hyp1f1Slope": 4, "Hyp2f1Slope": 4,
}  # fmt: skip
#: Random points of ops on arrays, and of the search for the step that loses most.
ARRAY_POINTS = 8
#: Elements of the arrays on which SIMD functions are tried: some registers, and some left over.
ELEMENTS = 203
#: The largest error in ulp that is aimed at, without SIMD functions and with them.
SCALAR, SIMD = 1.5, 4.0
#: Above this error the step is named that loses most.
LOSS = 4.0
#: Decimal digits of exact values, and of those that conditioning is computed from.
DIGITS, OWN_DIGITS = 50, 30

INTRO = """\
---
html_theme.sidebar_secondary.remove: true
---

# Accuracy

<!-- Made by docs/build_accuracy.py; do not edit. -->

The certificate of every op: value and derivatives of the compiled kernel against exact values, in units in the last place, at {points} random points of the op's sample interval, its ends and corners. Where exact values take long there are fewer random points: {fewer}. [What the certificate means](certificate.md) explains the unit.

The aim is at most {scalar:g} ulp without vector mathematics (the environment variable `SYMGRAD_VECTOR_MATH=0`, and numbers), and at most {simd:g} ulp with it, except where the op's own conditioning explains more: rounding an operand x in its last place changes f by up to `abs(x*slope/f)` ulp, whatever the code. The sum of these over all operands is the condition number; for a derivative it is that of the derivative as a function. The columns **left** are the largest `ulp/(1 + condition)`, for the code to answer for; what is beyond the aim there is set in bold.

{summary}

The columns **SIMD** are of a loop over {elements} numbers that calls the C library's vector functions, those before of single numbers; a dash says that the op calls none. The step that loses most is named where it is more than {loss:g} ulp off. *not finite*: the derivative does not exist at 0, and a convention is used there. Derivatives that textbooks give as differences of nearly equal terms are families of functions without these ([design: special functions](design/special-functions.md#terms-of-one-sign)). Figures differ by processor and C library; these are of {machine}, NumPy {numpy}. {stamp}

## Elementwise ops

| op | interval | value | left | derivative | left | SIMD: value | left | derivative | left | loses digits |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""  # noqa: E501


def summary(maps: Sequence[str], rest: Sequence[str]) -> str:
    """Return how many lines of the tables are within the aim, and which are beyond."""
    text = []
    for kind, lines, errors in (("elementwise ops", maps, (2, 4, 6, 8)),
                                ("ops on arrays", rest, (3, 5))):  # fmt: skip
        table = [line.strip("| ").split(" | ") for line in lines]
        beyond = [cells[0] for cells in table if any("**" in cells[k + 1] for k in errors)]
        plain = 0
        for cells in table:
            aims = (SCALAR, SCALAR, SIMD, SIMD) if len(errors) == 4 else (SIMD, SIMD)
            found = zip((cells[k] for k in errors), aims, strict=True)
            plain += all(c == "-" or (c != "not finite" and float(c) <= aim) for c, aim in found)
        explained = len(table) - plain - len(beyond)
        named = f"{len(beyond)} {'is' if len(beyond) == 1 else 'are'} beyond"
        named += f": {', '.join(beyond)}" if beyond else ""
        text.append(
            f"Of {len(table)} {kind}, {plain} are within the aim, of {explained} their "
            f"conditioning explains the rest, and {named}."
        )
    return "\n\n".join(text)


def own() -> list[Op]:
    """Return symgrad's ops by their names."""
    registry.complete()
    return sorted(filter(registry.is_own, registry.ops.values()), key=lambda op: op.name)


#: Ops with an operand that others determine, whose rules lead through these.
DETERMINED = frozenset({"Cosine"})


def covered() -> Iterator[Op]:
    """Yield the ops that the page lists."""
    for op in own():
        if op.kind != "map" or op.reason is not None or op.name in DETERMINED:
            continue
        if any(d.is_subset(sp.Reals) and not d.is_subset(sp.Integers) for d in op.domain):
            yield op


def fixed_operands(op: Op) -> dict[int, Any]:
    """Return the operands that are conditions or whole numbers, with a value for each."""
    fixed: dict[int, Any] = {}
    for k, domain in enumerate(op.domain):
        if domain is CONDITION:
            fixed[k] = True
        elif domain.is_subset(sp.Integers):
            fixed[k] = math.ceil(0.5 * sum(Evidence.of(op).samples[k]))
    return fixed


def function_of(op: Op) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the op as a function of its real operands, example arguments, and the domain."""
    names = [f"x{k}" for k in range(op.arity)]
    fixed = fixed_operands(op)
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
    domain = {names[k]: tuple(map(float, Evidence.of(op).samples[k])) for k in free}
    return f, tuple(0.5 * sum(Evidence.of(op).samples[k]) for k in free), domain


Place = tuple[float, ...]


class Found(NamedTuple):
    """What was compared: the error in ulp, the operands, and whether they are a kink's."""

    ulp: float
    place: Place
    kink: bool = False


def certified(f: Callable[..., Any], args: Sequence[Any], domain: Any) -> list[list[Found]]:
    """Return what a certificate finds of the value and of the derivative by each argument.

    At corners and ends of the domain, close to these, at 0 and close to it.
    """
    call = Call(f, tuple(args), dynamic=False)
    chosen = chosen_leaves(call, None)
    kernels = Kernels(call, chosen)
    found: list[list[Found]] = [[] for _ in range(len(chosen) + 1)]
    for leaves in points_of(call, intervals_of(call, domain), 0, 0):
        here = Call(f, call.tree.unflatten(list(leaves))[0], dynamic=False)
        tallies, *_ = entries(problem_of(here, chosen, kernels), DIGITS, 1, math.inf)
        place = tuple(map(float, leaves))
        for k, (some, tally) in enumerate(zip(found, tallies, strict=True)):
            some += [
                Found(entry.ulp, place, entry.kink) for entry in tally
                if not entry.doubtful and not (k and entry.exact == "nan")  # not known by an order
            ]  # fmt: skip
    return found


def random_points(op: Op, points: int) -> list[Place]:
    """Return random operands; at least one."""
    rng = np.random.default_rng(0)
    intervals = function_of(op)[2].values()
    return [tuple(rng.uniform(*pair) for pair in intervals) for _ in range(max(points, 1))]


class Conditioning:
    """How much an op, or its derivative, magnifies relative errors of its operands by itself.

    The sum of ``abs(x*slope/f)`` over its operands x, by differences of exact values, so that an
    order counts as well by which no derivative is known. How f is computed plays no part.
    """

    def __init__(self, op: Op) -> None:
        self.fixed, self.arity = fixed_operands(op), op.arity
        kinds = ["f"] * op.arity
        for k, value in self.fixed.items():
            kinds[k] = "b" if value is True else "i"
        items = (("dtype", "float64"),) if op.name == "Cast" else ()
        self.rule = rule_of(op, items, "".join(kinds), "f")
        self.free = [k for k in range(op.arity) if k not in self.fixed]
        self.context, self.fine = Digits(OWN_DIGITS), Digits(DIGITS)

    def exact(self, by: int | None, place: Place) -> Any:
        """Return the value, or the derivative by an operand."""
        formula = self.rule.value if by is None else self.rule.slopes[self.free[by]]
        operands = dict(self.fixed)
        operands.update({k: self.fine.mpf(x) for k, x in zip(self.free, place, strict=True)})
        assert formula is not None
        return self.fine.mpf(formula(self.fine, [operands[k] for k in range(self.arity)]))

    def found(
        self, by: int | None, computed: Sequence[Any], places: Sequence[Place]
    ) -> list[Found]:
        """Return the errors of what was computed; those that are known."""
        if by is not None and self.rule.slopes[self.free[by]] is None:
            return []
        some = []
        for number, place in zip(map(float, computed), places, strict=True):
            want = self.exact(by, place)
            if want == want:
                unit = float(np.spacing(abs(float(want))))
                gap = 0.0 if number == want else float(abs(self.fine.mpf(number) - want))
                some.append(Found(math.inf if number != number else gap / unit, place))
        return some

    def at(self, by: int | None, place: Place) -> float:
        """Return the condition of the value, or of the derivative by an operand.

        It is infinite where that is 0, or jumps.
        """
        context = self.context
        formula = self.rule.value if by is None else self.rule.slopes[self.free[by]]
        if formula is None:
            return 0.0

        def moved(n: int, step: Any) -> Any:
            operands = dict(self.fixed)
            operands.update({k: context.mpf(x) for k, x in zip(self.free, place, strict=True)})
            operands[self.free[n]] += step
            return context.mpf(formula(context, [operands[k] for k in range(self.arity)]))

        middle, total = moved(0, 0), context.zero
        for n, x in enumerate(place):
            h = context.mpf(max(abs(x), 1.0)) / 10 ** (OWN_DIGITS // 3)
            change = moved(n, h) - moved(n, -h)
            if middle == 0 or abs(change) > abs(middle) / 16:
                return math.inf
            total += abs(x * change / (2 * h * middle))
        return float(total)

    def left(self, by: int | None, found: Sequence[Found], aim: float) -> float:
        """Return the largest error that is left of those compared: ``ulp/(1 + condition)``.

        Of errors within the aim as they are, nothing has to be explained.
        """
        worst = 0.0
        for ulp, place, kink in sorted(found, key=lambda one: -one.ulp):
            if ulp <= aim or ulp <= worst:
                return max(worst, min(ulp, aim))
            condition = 0.0 if kink else self.at(by, place)
            worst = max(worst, 0.0 if math.isinf(condition) else ulp / (1 + condition))
        return worst


def largest(own: Conditioning, found: Sequence[Sequence[Found]], aim: float) -> tuple[str, ...]:
    """Return the largest errors of value and derivatives, and what is left of each."""
    value, *slopes = found
    left = max((own.left(k, some, aim) for k, some in enumerate(slopes)), default=0.0)
    return (
        shown(max(one.ulp for one in value)), judged(own.left(None, value, aim), aim),
        shown(max((one.ulp for some in slopes for one in some), default=0.0)), judged(left, aim),
    )  # fmt: skip


def row(op: Op, points: int = POINTS) -> str:
    """Return an op's line of the table."""
    intervals = ", ".join(f"[{low:g}, {high:g}]" for low, high in Evidence.of(op).samples)
    f, args, domain = function_of(op)
    own, places = Conditioning(op), random_points(op, min(points, FEWER.get(op.name, points)))
    ways = [None, *range(len(args))]
    with vector_math("0"):
        kernel = sg.value_and_grad(f, argnums=tuple(range(len(args))))
        results = [kernel(*place) for place in places]
        columns = [[v for v, _ in results], *zip(*(slopes for _, slopes in results), strict=True)]
        found = [
            some + own.found(by, column, places)
            for some, by, column in zip(certified(f, args, domain), ways, columns, strict=True)
        ]
        loss = ""
        if max(one.ulp for some in found for one in some) > LOSS:
            report = sg.verify(f, *args, domain=domain, points=ARRAY_POINTS, limit=math.inf)
            loss = f"`{report.loss.step}`" if report.loss and report.loss.after > LOSS else ""
    cells = (*largest(own, found, SCALAR), *in_loops(op, own, places))
    return f"| {' | '.join((op.name, intervals, *cells, loss))} |"


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


def in_loops(op: Op, own: Conditioning, places: Sequence[Place]) -> tuple[str, ...]:
    """Return the errors in a loop at random points, where that calls SIMD functions."""
    f, args, _ = function_of(op)
    rows = [places[k % len(places)] for k in range(ELEMENTS)]
    xs = [np.array(column) for column in zip(*rows, strict=True)]

    def total(*xs: Any) -> Any:
        return np.sum(f(*xs))

    both = sg.value_and_grad(total, argnums=tuple(range(len(xs))))
    with vector_math("1"):
        if "_ZGV" not in lower(both.program(*xs)).text:
            return "-", "-", "-", "-"
        columns = [sg.compile(f)(*xs), *both(*xs)[1]]
    ways, count = [None, *range(len(args))], len(places)
    found = [
        own.found(by, column[-count:], rows[-count:])
        for by, column in zip(ways, columns, strict=True)
    ]
    return largest(own, found, SIMD)


def judged(left: float, aim: float) -> str:
    """Return what is left of an error, marked where it is beyond the aim."""
    text = shown(left)
    return text if left <= aim else f"**{text}**"


# ---------------------------------------------------------------- ops on arrays

ARRAYS = """
## Ops on arrays

The same for ops on whole arrays, in a function that is made of them; the aim is that of loops, which most of them are. For sums and products the condition is that of the entry, a bound of what rounding does to a straightforward evaluation; for what LAPACK computes it is *normwise*: what rounding the matrix does to the result. **left** is the largest error divided by it. Exact derivatives of these are central differences at 200 digits, and there are {points} random points each.

| op | in | elements in | value | left | derivative | left |
| --- | --- | --- | ---: | ---: | ---: | ---: |
"""  # noqa: E501

FLAT = """
## Ops without a certificate

Booleans, integers and steps have no derivative and are computed exactly. A Python function
that is not traced has no exact values, and so has what is computed from it.

| op | why |
| --- | --- |
"""

WHOLE = np.array([2, 0, 2])
#: A regular matrix.
REGULAR = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)
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
_PRODUCTS = sg.jacobian(lambda x: x[1:] * x[:-1], sparse=True)

CALLS: dict[str, tuple[str, Callable[..., Any], Any, tuple[float, float]]] = {
    "AddAt": ("y[1] + x[0], other y[i]", _added_at, N, (-3, 3)),
    "Assemble": ("np.concatenate([x, x])", lambda x: np.concatenate([x, x]), N, (-3, 3)),
    "ComplexCholesky": (
        "np.linalg.cholesky(z @ z.conj().T + I)",
        _turned(lambda z: np.linalg.cholesky(_hermitian(z))),
        SQUARE,
        (-1, 1),
    ),
    "BandSolve": (
        "sg.scipy.linalg.solve_banded((1, 1), x, x[0])",
        lambda x: sg_linalg.solve_banded((1, 1), x, x[0]),
        SQUARE,
        (-1, 1),
    ),
    "ComplexBandSolve": (
        "sg.scipy.linalg.solve_banded((1, 1), z, z[0])",
        _turned(lambda z: sg_linalg.solve_banded((1, 1), z, z[0])),
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
    "ComplexOrthogonalComplement": (
        'np.linalg.qr(z[:, :2], mode="complete")[0][:, 2]',
        _turned(lambda z: np.linalg.qr(z[:, :2], mode="complete")[0][:, 2]),
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
    "CofactorChange": (
        "sg.hvp(np.linalg.det, (a,), (x,))",
        lambda x: registry.ops["CofactorChange"](REGULAR, registry.ops["LU"](REGULAR), x),
        SQUARE,
        (-1, 1),
    ),
    "Cofactors": (
        "sg.grad(np.linalg.det)(x @ x.T + I)",
        lambda x: registry.ops["Cofactors"](_definite(x), registry.ops["LU"](_definite(x))),
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
    "LU": ("scipy.linalg.lu_factor(x)[0]", lambda x: sg_linalg.lu_factor(x)[0], SQUARE, (-1, 1)),
    "LogAbsDet": ("np.linalg.slogdet(x)[1]", lambda x: np.linalg.slogdet(x)[1], SQUARE, (-1, 1)),
    "Loop": ("sg.scan(...)", _looped, N, (-3, 3)),
    "Max": ("np.max(x)", np.max, N, (-3, 3)),
    "Min": ("np.min(x)", np.min, N, (-3, 3)),
    "Prod": ("np.prod(x)", np.prod, N, (0.5, 3)),
    "OrthogonalComplement": (
        'np.linalg.qr(x[:, :2], mode="complete")[0][:, 2]',
        lambda x: np.linalg.qr(x[:, :2], mode="complete")[0][:, 2],
        SQUARE,
        (-1, 1),
    ),
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
    "Spread": ("J.values(x), of x[1:] * x[:-1]", lambda x: _PRODUCTS.values(x), N, (-3, 3)),
    "Sum": ("np.sum(x)", np.sum, N, (-3, 3)),
    "Transpose": ("x.T", lambda x: x.T, SQUARE, (-3, 3)),
    "Update": ("y[1:4] = x[:3]", _assigned, N, (-3, 3)),
}
#: Ops that only stand beside another one.
BESIDE = {"Result": "Loop", "Tape": "Loop"}
#: Of matrices that are regular only at random.
MATRICES = (
    "BandSolve",
    "Cholesky",
    "CofactorChange",
    "Cofactors",
    "ComplexBandSolve",
    "ComplexCholesky",
    "ComplexEig",
    "ComplexEigh",
    "ComplexLogDet",
    "ComplexOrthogonalComplement",
    "ComplexPseudoInverse",
    "ComplexQR",
    "ComplexSVD",
    "ComplexSolve",
    "Det",
    "Eig",
    "Eigh",
    "LU",
    "LogAbsDet",
    "OrthogonalComplement",
    "PseudoInverse",
    "QR",
    "SVD",
    "Solve",
)


def arrays() -> Iterator[Op]:
    """Yield the ops on arrays that have a derivative."""
    for op in own():
        known = op.kind != "routine" or Evidence.of(op).exact is not None or op.linear is not None
        if op.kind not in ("map", "leaf") and known and (op.reason is None or op.name == "LU"):
            yield op


def array_certificates(name: str, points: int = ARRAY_POINTS) -> list[Any]:
    """Return the rows of certificates of an op on arrays: of its value and its derivatives."""
    _, f, x, interval = CALLS[name]
    example = np.full_like(x, 0.5 * sum(interval))
    if name not in MATRICES:
        found = sg.verify(f, example, domain=interval, points=points, limit=math.inf)
        return [(row,) for row in found.rows]
    # Constant matrices, which the ends of a domain are made of, are singular.
    rng = np.random.default_rng(0)
    matrices = [rng.uniform(*interval, np.shape(x)) for _ in range(points)]
    reports = [sg.verify(f, matrix, limit=math.inf) for matrix in matrices]
    return list(zip(*(report.checks for report in reports), strict=True))


def array_row(op: Op, points: int = ARRAY_POINTS) -> str:
    """Return the line of an op on arrays."""
    text, _, _, (low, high) = CALLS[op.name]
    cells: list[str] = []
    for found in array_certificates(op.name, points)[:2]:
        cells.append(shown(max(r.max_ulp for r in found)))
        cells.append(judged(max(r.max_scaled for r in found), SIMD))
    return f"| {' | '.join((op.name, f'`{text}`', f'[{low:g}, {high:g}]', *cells))} |"


def flat_rows() -> Iterator[str]:
    """Yield the lines of ops without a derivative."""
    listed = {op.name for op in (*covered(), *arrays())}
    for op in own():
        if op.kind != "leaf" and op.name not in listed:
            beside = BESIDE.get(op.name)
            why = (
                f"part of {beside}" if beside else op.reason or f"not certified: {Words.of(op).doc}"
            )
            yield f"| {op.name} | {why} |"


def shown(ulp: float) -> str:
    """Return an error for the table."""
    return f"{ulp:.2f}" if ulp < 1e4 else f"{ulp:.1e}" if math.isfinite(ulp) else "not finite"


def page(only: set[str] | None = None, points: int = POINTS, stamp: str = "") -> str:
    """Return the page; rows of other ops than ``only`` are taken from the file."""
    old: dict[str, str] = {}
    if only:
        lines = PAGE.read_text(encoding="utf-8").splitlines()
        old = {line.split(" | ")[0].removeprefix("| "): line for line in lines}

    def kept(op: Op, make: Callable[[Op], str]) -> str:
        return old[op.name] if only and op.name not in only else make(op)

    with np.errstate(all="ignore"):
        maps = [kept(op, lambda op: row(op, points)) for op in covered()]
        rest = [kept(op, array_row) for op in arrays()]
    head = INTRO.format(
        points=points, elements=ELEMENTS,
        fewer=", ".join(f"{name} {count}" for name, count in FEWER.items()),
        machine=platform.machine(), numpy=np.__version__,
        scalar=SCALAR, simd=SIMD, loss=LOSS, summary=summary(maps, rest),
        stamp=stamp,
    )  # fmt: skip
    return "\n".join([head + "\n".join(maps), ARRAYS.format(points=ARRAY_POINTS) + "\n".join(rest),
                      FLAT + "\n".join(flat_rows()), ""])  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write docs/accuracy.md.")
    parser.add_argument("ops", nargs="*", help="the ops whose rows are made anew; all")
    parser.add_argument("--points", type=int, default=POINTS, help="random points of an op")
    given = parser.parse_args()
    sys.path.insert(0, str(PAGE.parents[1] / "examples" / "benchmarks"))
    import stamps

    # Where some rows are measured, the stamp stays that of the others.
    made = stamps.kept(PAGE.read_text(encoding="utf-8")) if given.ops else None
    text = page(set(given.ops), given.points, made or stamps.stamp())
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")
