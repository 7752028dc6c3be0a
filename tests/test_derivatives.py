"""Derivatives of every function of the registry, of first and second order, against differences.

A function's arguments go along a line, ``x + s*t``, and its results are added with weights: one
number of ``s``, whose two derivatives the compiler finds forward, in reverse, forward over reverse
and reverse over reverse. NumPy's function, in long doubles where it has them, gives the differences
to compare with. Arguments are the samples of the records, and variations of them: shapes, axes,
``keepdims`` and broadcasting at random, and complex numbers where they are taken.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy as sp

import symgrad as sg
from symgrad._core.op import Composite, Evidence, Map, Op, Partials, Products, Words, registry
from symgrad._core.trace import flatten
from symgrad.errors import SymgradError, UnsupportedError
from symgrad.special.records import ORDER
from tests.samples import samples_of

pytestmark = pytest.mark.usefixtures("few_kernels")

Case = tuple[tuple[Any, ...], dict[str, Any]]
Line = Callable[[Any], Any]

#: Cases of one function.
CASES = 6
#: Without samples: SciPy leaves what it does not need in a triangle (see the tests of linear
#: algebra), and a condition that chooses elements may not be traced (tests/test_plain_calls.py).
ELSEWHERE = ("cho_factor", "cho_solve", "compress", "extract")
#: Power series do not go through these.
WITHOUT_SERIES = frozenset((
    "cholesky", "cond", "cumprod", "cumulative_prod", "det", "eig", "eigh", "eigvals", "eigvalsh",
    "expm", "histogram_bin_edges", "lstsq", "nancumprod", "nanprod", "norm", "matrix_norm", "pinv",
    "polyfit", "prod", "qr", "roots", "scipy.linalg.cholesky", "scipy.linalg.det",
    "scipy.linalg.eig", "scipy.linalg.eigh", "scipy.linalg.eigvals", "scipy.linalg.eigvalsh",
    "scipy.linalg.pinv", "scipy.linalg.qr", "scipy.linalg.solve", "scipy.linalg.svd", "slogdet",
    "solve_banded", "solveh_banded", "svd", "svdvals", "vander",
))  # fmt: skip
#: Weights of the values at multiples of the step, beside the middle and in it, and a common factor.
FIRST = ((45, -9, 1), 0, 60)
SECOND = ((270, -27, 2), -490, 180)


def differentiable(record: Op | Composite) -> bool:
    """Tell whether derivatives of a function of NumPy or SciPy are claimed."""
    if isinstance(record, Op):
        return isinstance(record, Map) and record.differentiable and bool(record.functions)
    return (
        record.differentiable
        and bool(record.functions)
        and record.convention != "writes into its argument"
        and record.function.__module__.startswith(("symgrad._core.ops.", "symgrad.special."))
    )


RECORDS = {
    name: record
    for name, record in (*registry.ops.items(), *registry.composites.items())
    if differentiable(record)
}

# ---------------------------------------------------------------- arguments


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.integers(1, 4, rng.integers(0, 4)).tolist())


def narrowed(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts to another: axes of length one, or none in front."""
    kept = shape[rng.integers(0, len(shape) + 1) :] if rng.random() < 0.3 else shape
    return tuple(1 if rng.random() < 0.3 else n for n in kept)


def whole(op: Map) -> list[bool]:
    """Tell of which operands there is no derivative: whole numbers, truth values, orders."""
    counted = [d.is_subset(sp.Integers) or d is registry.ops["Where"].domain[0] for d in op.domain]
    middle: list[Any] = [0.5 * (low + high) for low, high in Evidence.of(op).samples]
    middle = [int(x) if c else np.float64(x) for x, c in zip(middle, counted, strict=True)]
    with np.errstate(all="ignore"):
        if Words.of(op).convention == ORDER:
            middle[0] = np.rint(middle[0])
        slopes = op.partials(op.evaluate(*middle), *middle) if op.partials else middle
    nan = [p is not None and np.any(np.isnan(p)) for p in slopes]
    return [bool(n) or c for n, c in zip(nan, counted, strict=True)]


def of_map(op: Map, rng: np.random.Generator) -> Iterator[Case]:
    """Yield operands of an elementwise function, of shapes that broadcast."""
    steps = whole(op)
    while True:
        shape = shape_of(rng)
        operands: list[Any] = []
        for (low, high), step in zip(Evidence.of(op).samples, steps, strict=True):
            inside = rng.uniform(0.15, 0.85, narrowed(rng, shape))
            x = low + (high - low) * inside
            operands.append(np.rint(x).astype(int) if step else x)
        yield tuple(operands), {}


def varied(record: Composite, case: Case, rng: np.random.Generator) -> Case:
    """Return a sample with a random shape and axis, if the function has an axis."""
    args, kwargs = case
    names = set(inspect.signature(record.function).parameters)
    if "axis" not in names or not args or not isinstance(args[0], np.ndarray):
        return case
    if any(isinstance(a, np.ndarray) and a.size > 1 for a in args[1:]) or not args[0].size:
        return case
    shape = tuple(rng.integers(2, 4, rng.integers(1, 4)).tolist())
    x = rng.choice(args[0].ravel(), shape) * rng.uniform(0.9, 1.1, shape)
    changed = dict(kwargs, axis=int(rng.integers(-len(shape), len(shape))))
    if "keepdims" in names:
        changed["keepdims"] = bool(rng.integers(2))
    return (x.astype(args[0].dtype), *args[1:]), changed


def is_free(x: Any) -> bool:
    """Tell whether an argument has derivatives: an array in double precision."""
    return isinstance(x, np.ndarray) and x.dtype == np.float64


def of_composite(record: Composite, rng: np.random.Generator) -> Iterator[Case]:
    """Yield samples and variations of them in turn."""
    seed = int(rng.integers(1 << 30))
    calls = samples_of(record, np.random.default_rng(seed))
    cases = [c for c in calls if any(map(is_free, leaves(c)))]
    while cases:
        chosen = cases[rng.integers(len(cases))]
        yield varied(record, chosen, rng) if rng.random() < 0.7 else chosen


def leaves(case: Any) -> list[Any]:
    found: list[Any] = flatten(case)[0]
    return found


def cases(record: Op | Composite, rng: np.random.Generator) -> Iterator[Case]:
    return of_map(record, rng) if isinstance(record, Op) else of_composite(record, rng)


# ---------------------------------------------------------------- lines


def mirrored(x: Any) -> Any:
    return 0.5 * (x + np.swapaxes(x, -1, -2).conj())


class Problem:
    """A function along a line, and the weights of its results."""

    def __init__(self, record: Op | Composite, case: Case, rng: np.random.Generator, pairs: bool):
        self.record, self.pairs, (self.parts, self.tree) = record, pairs, flatten(case)
        self.function = record.functions[0]
        module = getattr(self.function, "__module__", None) or "numpy"
        plain = isinstance(self.function, np.ufunc) or module.startswith("numpy")
        self.called = self.function if plain else registry.handler(self.function)
        self.places = [k for k, x in enumerate(self.parts) if is_free(x)]
        said = record if isinstance(record, Composite) else Words.of(record)
        convention = said.convention or ""
        self.symmetric = "symmetric perturbations" in convention
        self.points = [self.parts[k] for k in self.places]
        self.ways = [0.3 * rng.standard_normal(x.shape) for x in self.points]
        if pairs:
            self.points = [x + 0.4j * rng.standard_normal(x.shape) for x in self.points]
            self.ways = [t + 0.3j * rng.standard_normal(t.shape) for t in self.ways]
        if self.symmetric:
            for k, x in enumerate(self.points):
                if k == 0 or (x.ndim > 1 and x.shape[-1] == x.shape[-2]):
                    self.points[k], self.ways[k] = mirrored(x), mirrored(self.ways[k])
        self.rng = np.random.default_rng(int(rng.integers(1 << 30)))
        self.weights: list[Any] = []

    def results(self, called: Callable[..., Any], arrays: list[Any]) -> list[Any]:
        full = list(self.parts)
        for k, x in zip(self.places, arrays, strict=True):
            full[k] = x
        args, kwargs = self.tree.unflatten(full)
        found = [y for y in self.outputs(called(*args, **kwargs)) if y.dtype.kind in "fc"]
        # The angles of vectors in the complex plane are free.
        turning = self.pairs and self.record.name.rpartition(".")[2] in ("eigh", "svd")
        return [np.abs(y) if turning else y for y in found]

    def outputs(self, value: Any) -> list[Any]:
        if isinstance(value, (tuple, list)):
            return [y for v in value for y in self.outputs(v)]
        return [value if hasattr(value, "dtype") else np.asarray(value)]

    def total(self, results: list[Any]) -> Any:
        """Add the results with weights, which are drawn at the first time."""
        if not self.weights:
            for y in results:
                w = self.rng.standard_normal(y.shape)
                turned = y.dtype.kind == "c"
                self.weights.append(w + 1j * self.rng.standard_normal(y.shape) if turned else w)
        return sum(np.sum(w * y).real for w, y in zip(self.weights, results, strict=True))

    def value(self, s: Any, wide: Any) -> Any:
        """Return NumPy's number at ``s``, in long doubles if it can."""
        arrays = [x.astype(np.result_type(x, wide)) + wide(s) * t
                  for x, t in zip(self.points, self.ways, strict=True)]  # fmt: skip
        results = self.results(self.function, arrays)
        if not results:
            raise ValueError("no real results")
        if wide is np.longdouble and any(y.real.dtype != wide for y in results):
            raise TypeError("computed in double precision")
        return self.total(results)

    def traced(self, s: Any, *points: Any) -> Any:
        moved = [x + s * t for x, t in zip(points, self.ways, strict=True)]
        return self.total(self.results(self.called, moved))


def stencil(values: dict[int, Any], step: int, weights: Any, h: Any, power: int) -> Any:
    around, middle, factor = weights
    sign = -1 if power == 1 else 1
    total = middle * values[0]
    for k, w in enumerate(around, 1):
        total += w * (values[k * step] + sign * values[-k * step])
    return total / (factor * h**power)


def differences(problem: Problem) -> tuple[Any, Any, float] | None:
    """Return two derivatives with a bound of their errors, or None at a kink."""
    for wide, exponents in ((np.longdouble, (-8, -11)), (np.float64, (-6, -8, -10))):
        for exponent in exponents:
            h = wide(2.0) ** exponent
            try:
                values = {k: problem.value(k * h, wide) for k in (*range(-4, 5), 6, -6)}
            except Exception:  # whatever SciPy and NumPy raise for long doubles
                if wide is np.float64:
                    raise
                break  # SciPy has an error of its own for each library
            found = [[float(stencil(values, step, w, step * h, power)) for step in (1, 2)]
                     for power, w in ((1, FIRST), (2, SECOND))]  # fmt: skip
            if not np.all(np.isfinite(found)):
                return None
            scale = 1e-3 + max(map(abs, (*found[0], *found[1], float(values[0]))))
            error = max(abs(a - b) for a, b in found)
            if error < 1e-7 * scale:
                return found[0][0], found[1][0], 4 * error + 1e-9 * scale
    return None


def derivatives(problem: Problem) -> list[float]:
    """Return the first derivative forward and in reverse, the second over reverse and both."""

    def every(s: Any, *points: Any) -> Any:
        def line(s: Any) -> Any:
            return problem.traced(s, *points)

        slope = sg.grad(line)
        return (
            sg.jvp(line, (s,), (1.0,))[1], slope(s),
            sg.jvp(slope, (s,), (1.0,))[1], sg.grad(slope)(s),
        )  # fmt: skip

    return [float(v) for v in sg.compile(every)(0.0, *problem.points)]


def solved(record: Op | Composite, pairs: bool) -> Iterator[tuple[Problem, Any]]:
    """Yield problems of a function with NumPy's derivatives, at points without a kink."""
    rng = np.random.default_rng(zlib.crc32(record.name.encode()))
    done = 0
    for _, case in zip(range(12 * CASES), cases(record, rng), strict=False):
        problem = Problem(record, case, rng, pairs)
        try:
            wanted = differences(problem)
        except Exception:  # a variation that NumPy does not take  # noqa: BLE001
            continue
        if wanted is not None:
            yield problem, wanted
            done += 1
        if done == CASES:
            return


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


#: Functions with lengths of 0 among their samples (the deviation of one number), whose derivatives
#: forward over forward are nan there: see docs/conventions.md.
LENGTHS = frozenset({"nanstd"})


def compare(problem: Problem, wanted: Any, name: str = "") -> None:
    first, second, bound = wanted
    found = derivatives(problem)
    if name in LENGTHS and np.isnan(found[2]):
        found[2] = second
    np.testing.assert_allclose(found, [first] * 2 + [second] * 2, rtol=0, atol=bound)


@pytest.mark.parametrize("name", [name for name in RECORDS if name not in ELSEWHERE])
@pytest.mark.quick(2)
def test_derivatives(name: str) -> None:
    count = 0
    for problem, wanted in solved(RECORDS[name], pairs=False):
        with sg.backend("numpy"):
            compare(problem, wanted, name)
        count += 1
    assert count


@pytest.mark.parametrize("name", [name for name in RECORDS if name not in ELSEWHERE])
@pytest.mark.quick(1)
def test_derivatives_by_series(name: str) -> None:
    """Up to the third, which is compared with nested forward mode."""
    refused = 0
    for problem, (first, second, bound) in solved(RECORDS[name], pairs=False):

        def every(s: Any, *points: Any) -> Any:
            def line(s: Any) -> Any:
                return problem.traced(s, *points)  # noqa: B023

            def slope(s: Any) -> Any:
                return sg.jvp(line, (s,), (1.0,))[1]

            def curvature(s: Any) -> Any:
                return sg.jvp(slope, (s,), (1.0,))[1]

            third = sg.jvp(curvature, (s,), (1.0,))[1]
            return sg.jet(line, (s,), ([1.0, 0.0, 0.0],))[1], third

        with sg.backend("numpy"):
            try:
                (*found, last), third = sg.compile(every)(0.0, *problem.points)
            except UnsupportedError:
                refused += 1
                continue
        np.testing.assert_allclose(found, [first, second], rtol=0, atol=bound)
        if name in LENGTHS and np.isnan(third):
            continue
        scale = 1 + abs(third) + bound * 1e9
        np.testing.assert_allclose(last, third, rtol=1e-6, atol=1e-8 * scale)
    assert not refused or name in WITHOUT_SERIES


@pytest.mark.parametrize("name", list(RECORDS)[::8])
@pytest.mark.quick(3)
def test_derivatives_by_kernels(name: str) -> None:
    for problem, wanted in itertools.islice(solved(RECORDS[name], pairs=False), 1):
        compare(problem, wanted)


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.quick(1)
def test_derivatives_along_complex_lines(name: str) -> None:
    """Functions that take complex numbers; which ones do is another test's business."""
    for problem, wanted in solved(RECORDS[name], pairs=True):
        with sg.backend("numpy"):
            try:
                compare(problem, wanted)
            except SymgradError:
                return


#: Third derivatives are not compared, and the cosine is the first one of a length.
BROKEN = [(name, order) for name in ("Tanh", "Arctan2", "Cumprod", "Solve") for order in (1, 2)]


@pytest.mark.parametrize(("name", "order"), [*BROKEN, ("Cosine", 1)])
def test_a_wrong_rule_is_caught(name: str, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the value of a derivative, and in its dependence on the arguments alone."""
    op = registry.ops[name]
    known = op.rule
    assert isinstance(known, Partials | Products)
    rule = known.of if isinstance(known, Partials) else known.vjp

    def wrong(*args: Any, **params: Any) -> Any:
        def off(x: Any) -> Any:
            if x is None:
                return None
            return x * (1 + 1e-5 * (x if order == 1 else x - sg.stop_gradient(x)))

        return tuple(map(off, rule(*args, **params)))

    found = Partials(wrong) if isinstance(known, Partials) else Products(wrong, known.jvp)
    monkeypatch.setitem(vars(op), "rule", found)
    function = {"Cumprod": "cumprod", "Solve": "solve", "Cosine": "Hypot"}.get(name, name)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        test_derivatives(function)


def test_a_replaced_rule_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of numbers are recorded and replayed; not those of another rule."""

    def slope() -> Any:
        return sg.compile(sg.grad(lambda x: np.sin(x)), cache=False)(1.0)

    for _ in range(3):
        assert slope() == np.cos(1.0)
    monkeypatch.setitem(vars(registry.ops["Sin"]), "rule", Partials(lambda y, x: (7.0 * x,)))
    assert slope() == 7.0


def test_powers_by_base_and_exponent_where_the_slope_is_zero() -> None:
    """``y*x**(y-1)`` is zero at y = 0; its derivative by y, 1/x, is not."""

    def power(x: Any, y: Any) -> Any:
        return x**y

    by_x, by_y = sg.grad(power), sg.grad(power, argnums=1)
    assert sg.grad(by_x, argnums=1)(2.0, 0.0) == sg.grad(by_y)(2.0, 0.0) == 0.5
    assert sg.grad(sg.grad(by_x), argnums=1)(2.0, 1.0) == pytest.approx(0.5)

    def fourth(x: Any) -> Any:
        third = sg.grad(sg.grad(sg.grad(lambda x: power(x, x))))
        return sg.grad(third)(x)

    x = sp.Symbol("x")
    assert fourth(2.0) == pytest.approx(float(sp.diff(x**x, x, 4).subs(x, 2)))
    for at in (0.0, -0.0, 1e-310, np.inf, np.nan, -2.0):  # x**0 is 1
        assert by_x(at, 0.0) == 0
    assert sg.grad(by_x, argnums=1)(np.float32(4), np.float32(0)) == 0.25


@pytest.mark.parametrize("x", [0.3, 1.5, 5.0])
def test_box_and_coxs_transformations_by_an_exponent_of_zero(x: float) -> None:
    """Log is one of the family, not a case by itself: fits begin there."""
    log, more, e = np.log(x), np.log1p(x), np.exp(x)
    bent = e * (2 / 3 * x**3 + 0.25 * x**4)
    for function, *exact in (
        (scipy.special.boxcox, log, log**2 / 2, log**3 / 3),
        (scipy.special.boxcox1p, more, more**2 / 2, more**3 / 3),
        (scipy.special.inv_boxcox, e, -(x**2) / 2 * e, bent),
        (scipy.special.inv_boxcox1p, np.expm1(x), -(x**2) / 2 * e, bent),
    ):
        slope = sg.grad(function, argnums=1)
        bend = sg.grad(slope, argnums=1)
        found = [sg.compile(function)(x, 0.0), slope(x, 0.0), bend(x, 0.0)]
        np.testing.assert_allclose(found, exact, rtol=1e-13)


@pytest.mark.quick
def test_the_slope_of_a_transformation_ends_where_scipys_series_does_not() -> None:
    """Kummer's function of infinity in SciPy has no end."""
    slope = sg.grad(scipy.special.boxcox, argnums=1)
    assert np.isnan(sg.grad(slope)(0.0, -1.0))
