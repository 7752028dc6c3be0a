"""``verify``: exact values and derivatives, and that mistakes of every kind are caught."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as special
import sympy as sp

import symgrad as sg
from symgrad import verify
from symgrad._core.op import Evidence, Linear, Op, Partials, Words, registry
from symgrad.errors import ArgumentError, VerificationError

X = np.array([0.3, 1.7, -0.6, 2.2])
P = np.array([0.3, 1.7, 0.6, 2.2])
A = np.linspace(-1.0, 2.0, 12).reshape(4, 3)
softmax, logsumexp = registry.handler(special.softmax), registry.handler(special.logsumexp)


@pytest.fixture
def plain() -> Iterator[None]:
    """Run kernels under NumPy: the rules are the same, and nothing is compiled."""
    with sg.backend("numpy"):
        yield


# ---------------------------------------------------------------- what holds


EXAMPLES: dict[str, tuple[Any, ...]] = {
    "scalar": (lambda x, y: np.sin(x) * np.exp(-(y**2)) / (1 + x * x), 1.0, 2.0),
    "matmul": (lambda a, b: a @ b, A, A[:3, :2]),
    "quadratic form": (lambda x, a: x @ a @ x, P[:3], A[:3]),
    "softmax": (softmax, X),
    "logsumexp": (lambda x: logsumexp(x, axis=1), A),
    "cumsum": (np.cumsum, X),
    "cumprod": (np.cumprod, X),
    "prod with a zero": (np.prod, np.array([2.0, 0.0, 3.0])),
    "prod with two zeros": (np.prod, np.array([0.0, 2.0, 0.0])),
    "norm": (np.linalg.norm, X),
    "norm at 0": (np.linalg.norm, np.zeros(3)),
    "length at 0": (lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2), np.zeros(3)),
    "root of a product at 0": (lambda x: np.sqrt(x @ x), np.zeros(3)),
    "power of a length at 0": (lambda x: np.sum(x**2) ** 0.75, np.zeros(3)),
    "variance": (np.var, X),
    "slices": (lambda x: x[1:] * x[:-1] ** 2 + x[0] * x[-1], X),
    "steps": (lambda x: np.sum(x[::-2] ** 3), X),
    "gather": (lambda x: x[np.array([0, 2, 2])] ** 2, X),
    "index array": (lambda x, k: x[k] ** 2, X, np.array([3, 3, 0])),
    "concatenate": (lambda x: np.concatenate([x, x**2])[1:6], X),
    "reshape": (lambda a: a.reshape(2, 6)[:, ::2] * a.T.reshape(2, 6)[:, 1::2], A),
    "broadcast": (lambda a, x: np.exp(a) * x[:, None] + x.sum(), A, X),
    "where": (lambda x: np.where(x > 0, np.sqrt(np.abs(x)), x**3), X),
    "ties": (lambda x: np.max(x) * np.sum(np.maximum(x, 1.0)), np.array([1.0, 2.0, 2.0])),
    "argmax": (lambda x: x[np.argmax(x)] * np.sum(x), X),
    "any": (lambda x: np.where(np.any(x > 2.0), x, 0.0) ** 2, X),
    "einsum": (lambda a: np.einsum("ij,ik->jk", a, a * a), A),
    "trace": (lambda a: np.trace(a @ a.T), A),
    "constant array": (lambda x: np.sum(x * np.array([0.1, 0.2, 0.3, 0.4])), X),
    "sizes": (lambda x: np.sum(np.arange(4) * x) / x.size, X),
    "steps of numbers": (lambda x: np.floor(x) * x + np.remainder(x, 1.5), X),
    "no dependence": (lambda x: np.ones(3) * 2.0, X),
    "empty": (lambda x: np.sum(x) + x[:0].sum(), np.zeros(0)),
    "nested": (lambda p: {"y": p[0] * p[1]["w"], "n": (p[0],)}, (1.5, {"w": X})),
    "integers among results": (lambda x: (x * 2, np.argmax(x)), X),
    "second derivatives": (sg.grad(lambda x: np.sum(np.sin(x) * x**3)), X),
    "jacobian": (sg.jacobian(lambda x: x[1:] * x[:-1]), X),
    "vmap of grad": (sg.vmap(sg.grad(lambda x: np.tanh(x) ** 2)), X),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.usefixtures("plain")
def test_examples(name: str) -> None:
    f, *args = EXAMPLES[name]
    report = verify(f, *args)
    assert report.max_scaled < 2
    for check in report.checks:
        assert check.checked == check.total


@pytest.mark.slow
def test_compiled_kernels() -> None:
    report = verify(lambda x, a: np.sum(np.tanh(a.T @ x) ** 2), X, A)
    assert report.max_ulp < 16
    assert [c.name for c in report.checks] == ["value", "x", "a"]


@pytest.mark.usefixtures("plain")
def test_float32_counts_in_its_own_ulps() -> None:
    f = lambda x: np.exp(x) * np.float32(0.1)  # noqa: E731
    single, double = verify(f, X.astype(np.float32)), verify(f, X)
    assert 0.01 < single.max_ulp < 2
    assert 0.01 < double.max_ulp < 2


def residual(b1: Any, b2: Any, b3: Any, b4: Any, b5: Any, b6: Any, b7: Any, b8: Any, b9: Any,
             x: Any, y: Any) -> Any:  # fmt: skip
    """NIST's ENSO: three cycles."""
    turn = 2 * np.pi * x
    return y - (
        b1 + b2 * np.cos(turn / 12) + b3 * np.sin(turn / 12) + b5 * np.cos(turn / b4)
        + b6 * np.sin(turn / b4) + b8 * np.cos(turn / b7) + b9 * np.sin(turn / b7)
    )  # fmt: skip


@pytest.mark.slow
def test_a_whole_jacobian_of_nist_size() -> None:
    x = np.arange(1.0, 169.0)
    y = 10 + np.cos(x)
    b = (11.0, 3.0, 0.5, 40.0, -0.7, -1.3, 25.0, -0.3, 1.4)
    report = verify(residual, *b, x, y, wrt=range(9))
    assert [c.name for c in report.checks] == ["value", *(f"b{k}" for k in range(1, 10))]
    assert all(c.checked == c.total == 168 for c in report.checks)
    # Close to zeros of the cosine the rounding of its argument is most of the result.
    assert report.max_scaled < 2
    assert report["b1"].max_ulp == 0


@pytest.mark.usefixtures("plain")
@pytest.mark.slow
def test_long_chains_do_not_recurse() -> None:
    def chain(x: Any) -> Any:
        for _ in range(1500):
            x = np.sin(x)
        return x

    report = verify(chain, 1.0)
    assert report["x"].checked == 1
    assert report["x"].tier == "chain rule"


# ---------------------------------------------------------------- over the registry


def sample(op: Op, count: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(len(op.name))
    args = []
    for (low, high), domain in zip(Evidence.of(op).samples, op.domain, strict=True):
        x = rng.uniform(low, high, count)
        args.append(np.round(x) if domain.is_subset(sp.Integers) else x)
    return args


#: Ops with derivatives; of what is not known there is nothing to be compared.
SMOOTH = [
    op for op in registry.ops.values()
    if op.kind == "map" and op.reason is None
    # One operand of a cosine is a length of the others.
    and op.name not in ("Unknown", "Kink", "Cosine")
]  # fmt: skip
#: Their derivatives by the orders, the first arguments, are not known, and nan.
ORDERS = (
    "Hyp0f1",
    "Hyp1f1",
    "Hyp2f1",
    "Zeta",
    "Polygamma",
    "Jv",
    "Yv",
    "Iv",
    "Kv",
    "Ive",
    "Kve",
    "IveSlope",
    *(o.name for o in registry.ops.values() if Evidence.of(o).precise and Words.of(o).convention),
)
#: Their exact values take seconds.
SLOW = ("Y0", "Y1", "K0", "K1", "OwensT")


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
@pytest.mark.usefixtures("plain")
@pytest.mark.quick(2)
def test_every_smooth_op(op: Op) -> None:
    args: list[Any] = sample(op, 1 if op.name in SLOW else 2)
    if op.name == "Ldexp":
        args[1] = args[1].astype(int)
    params = {"dtype": "float64"} if op.name == "Cast" else {}
    wrt = op.arity - 1 if op.name in ORDERS else None
    report = verify(lambda *xs: op(*xs, **params) * 1.0, *args, wrt=wrt)
    assert report.max_scaled <= 4
    assert all(c.checked == c.total for c in report.checks)


@pytest.mark.usefixtures("plain")
def test_differences_find_a_wrong_rule(broken: Callable[..., None]) -> None:
    broken(registry.ops["Spence"], rule=Partials(lambda y, x: (-np.log(x) / (x - 1) * (1 + 1e-9),)))
    with pytest.raises(VerificationError, match="the derivative by x is wrong"):
        verify(lambda x: special.spence(x), 1.5)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("p", [0.4886682870654313, 0.5572238645838088, 1e-30])
def test_the_exact_quantile_close_to_the_median_is_found(p: float) -> None:
    report = verify(lambda p: special.stdtrit(3.1582937101109625, p), p, limit=math.inf)
    assert report["value"].worst is not None
    assert report["value"].worst.exact != "nan"


# ---------------------------------------------------------------- mistakes are caught


OPS = registry.ops
WRONG_PARTIALS: dict[str, tuple[Callable[..., Any], Any]] = {
    "Sin": (lambda x: np.sum(np.sin(x)), lambda y, x: (-np.cos(x),)),
    "Exp": (lambda x: np.exp(x) * x, lambda y, x: (-y,)),
    "Multiply": (lambda x: np.sum(x * x[::-1] * 3), lambda z, x, y: (y, -x)),
    "Divide": (lambda x: 2 / (x + 4), lambda z, x, y: (1 / y, z / y)),
    "Tanh": (lambda x: np.tanh(x), lambda y, x: (1 - y,)),
    "Subtract": (lambda x: np.sum(np.exp(x - x[::-1] * 2)), lambda z, x, y: (1, 1)),
    "Maximum": (lambda x: np.sum(np.maximum(x, 0.5)), lambda z, x, y: (0.5, 0)),
    "Log": (lambda x: np.log(x * x + 2), lambda y, x: (1.001 / x,)),
    "Gamma": (lambda x: special.gamma(x + 3), lambda y, x: (y * x,)),
    # A rule that is right except for its last eight digits.
    "Cos": (lambda x: np.cos(x), lambda y, x: (-np.sin(x) * (1 + 1e-8),)),
}


@pytest.mark.parametrize("name", WRONG_PARTIALS)
@pytest.mark.usefixtures("plain")
@pytest.mark.quick(3)
def test_wrong_partials_are_caught(name: str, broken: Callable[..., None]) -> None:
    f, wrong = WRONG_PARTIALS[name]
    verify(f, X)
    broken(OPS[name], rule=Partials(wrong))
    with pytest.raises(VerificationError, match="the derivative by x is wrong"):
        verify(f, X)


@pytest.mark.usefixtures("plain")
def test_the_message_names_the_place(broken: Callable[..., None]) -> None:
    broken(OPS["Sin"], rule=Partials(lambda y, x: (-np.cos(x),)))
    with pytest.raises(VerificationError) as caught:
        verify(lambda x: np.exp(np.sin(x) * 2), np.array([0.3]), wrt="x")
    message = str(caught.value)
    exact = 2 * math.cos(0.3) * math.exp(2 * math.sin(0.3))
    assert "d f[0] / d x[0] (computed at test_verify.py:" in message
    assert f"is {exact:.10f}"[:-3] in message
    assert "the kernel gives -3.4" in message
    assert "the rule of Sin at test_verify.py:" in message
    assert "which is 0.955336" in message


def _negated(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **params: tuple(None if p is None else -p for p in rule(*args, **params))


@pytest.mark.parametrize(
    ("name", "field", "f"),
    [
        ("Slice", "transpose", lambda a: np.sum(a[1:] ** 2)),
        ("Transpose", "transpose", lambda a: np.sum(np.sin(a.T) * np.arange(4))),
        ("Reshape", "transpose", lambda a: np.sum(a.reshape(2, 6)[0] ** 2)),
        ("Broadcast", "transpose", lambda a: np.broadcast_to(a[0], (5, 3)).sum(0) ** 2),
        ("Sum", "transpose", lambda a: np.exp(np.sum(a, axis=0))),
        ("Gather", "transpose", lambda a: np.sum(a[np.array([0, 0])] ** 2)),
        ("Assemble", "transpose", lambda a: np.sum(np.concatenate([a, a * a]) ** 2)),
        ("Cumsum", "transpose", lambda a: np.sum(np.cumsum(a, axis=0) ** 2)),
        ("Contract", "vjp", lambda a: np.sum((a.T @ a) ** 2)),
        ("Prod", "vjp", lambda a: np.sum(np.prod(a, axis=1))),
        ("Cumprod", "vjp", lambda a: np.sum(np.cumprod(a, axis=1))),
        ("Max", "vjp", lambda a: np.sum(np.max(a, axis=1) ** 2)),
    ],
)
@pytest.mark.usefixtures("plain")
@pytest.mark.quick(3)
def test_wrong_array_rules_are_caught(
    name: str, field: str, f: Any, broken: Callable[..., None]
) -> None:
    verify(f, A)
    rule: Any = OPS[name].rule
    broken(OPS[name], rule=dataclasses.replace(rule, **{field: _negated(getattr(rule, field))}))
    with pytest.raises(VerificationError, match="the derivative by a is wrong"):
        verify(f, A)


@pytest.mark.usefixtures("plain")
def test_misplaced_cotangents_are_caught(broken: Callable[..., None]) -> None:
    # Right numbers in wrong places.
    linear = OPS["Transpose"].linear
    assert linear is not None
    right = linear.transpose
    wrong = Linear(lambda ct, x, axes: (right(ct[::-1], x, axes)[0],))
    broken(OPS["Transpose"], rule=wrong)
    with pytest.raises(VerificationError):
        verify(lambda a: np.sum(a.T[::-1] ** 3 * np.arange(4)), A)


@pytest.mark.usefixtures("plain")
def test_wrong_values_are_caught(broken: Callable[..., None]) -> None:
    broken(OPS["Expm1"], evaluate=lambda x: np.exp(x) - 1)
    verify(np.expm1, 1.0)
    with pytest.raises(VerificationError, match="the value is wrong: expm1"):
        verify(np.expm1, 1e-12)


@pytest.mark.usefixtures("plain")
def test_an_inaccurate_rule_is_caught(broken: Callable[..., None]) -> None:
    # (1 - tanh(x))*(1 + tanh(x)) is the derivative, but has no digits left far out.
    f = lambda x: np.tanh(x)  # noqa: E731
    verify(f, 15.0)
    broken(OPS["Tanh"], rule=Partials(lambda y, x: ((1 - y) * (1 + y),)))
    verify(f, 0.5)
    with pytest.raises(VerificationError):
        verify(f, 15.0)


@pytest.mark.usefixtures("plain")
def test_overflow_on_the_way_is_named() -> None:
    with pytest.raises(VerificationError, match=r"Exp at test_verify.py:\d+ overflows float64"):
        verify(lambda x: np.exp(x) / (1 + np.exp(x)), 800.0)


# ---------------------------------------------------------------- conditioning


@pytest.mark.usefixtures("plain")
def test_ill_conditioned_problems_are_not_blamed_on_the_code() -> None:
    report = verify(lambda x: (np.sqrt(1 + x) - 1) / x, 1e-10)
    assert report["value"].max_ulp > 1e6
    worst = report["value"].worst
    assert worst is not None
    assert worst.condition > 1e9
    assert report.max_scaled < 2
    assert worst.exact.startswith("0.49999999998750000")


@pytest.mark.usefixtures("plain")
def test_exact_cancellation() -> None:
    # Exactly 0, computed as 1e-17 or so: measured by what cancels.
    report = verify(lambda x: np.sin(x) ** 2 + np.cos(x) ** 2 - 1, X)
    assert report.max_ulp < 16


@pytest.mark.usefixtures("plain")
def test_no_digit_need_be_right() -> None:
    report = verify(lambda x: np.sin(x * 1e10 * np.pi) / x, 3.0)
    assert report["x"].blurred == 0
    report = verify(lambda x: np.sin(np.exp(x)), 40.0)
    assert report["value"].blurred == 1
    assert "no digit need be right" in str(report)


# ---------------------------------------------------------------- kinks


@pytest.mark.usefixtures("plain")
def test_conventions_are_followed() -> None:
    verify(lambda x: np.sum(np.abs(x)), np.array([0.0, -1.0]))
    verify(lambda x: np.maximum(x, 0.0), np.array([0.0, -1.0, 2.0]))
    verify(lambda x: np.clip(x, 0.0, 1.0), np.array([0.0, 1.0, 0.5]))
    verify(lambda x: np.max(x), np.array([3.0, 1.0, 3.0, 3.0]))
    report = verify(lambda x, y: np.hypot(x, y), 0.0, 0.0)
    assert report["x"].kinks == report["y"].kinks == 1
    report = verify(lambda x, y: x**y, np.zeros(3), np.array([0.0, 2.0, 3.0]))
    assert report["x"].kinks == 1
    assert "at kinks" in str(report)
    verify(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 4.0]))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("f", "point"),
    [
        (lambda x: np.sqrt(-x), (0.0,)),
        (lambda x: 1 / -x, (0.0,)),
        (lambda x, y: np.sqrt(x * y), (0.0, -1.0)),
        (lambda x, y: np.log(x) * np.abs(y) + np.sqrt(x * y), (0.0, -1.0)),
        (lambda x, y: x**y, (0.0, -2.0)),
    ],
)
def test_the_signs_of_zeros_are_no_errors(f: Callable[..., Any], point: Any) -> None:
    # Which infinity, or whether two cancel, is for the sign of a zero to say: exact ones have none.
    verify(f, *point)


@pytest.mark.usefixtures("plain")
def test_other_shares_at_ties_are_caught(broken: Callable[..., None]) -> None:
    rule = Partials(lambda y, x, z: (np.where(x >= z, 1.0, 0.0), np.where(x >= z, 0.0, 1.0)))
    broken(OPS["Maximum"], rule=rule)
    verify(lambda x: np.maximum(x, 0.0), 0.5)
    with pytest.raises(VerificationError):
        verify(lambda x: np.maximum(x, 0.0), 0.0)


@pytest.mark.usefixtures("plain")
def test_rounding_may_decide_for_either_branch() -> None:
    # 0.3*10 is below 3, and rounds to 3.
    report = verify(lambda x: np.floor(x * 10.0) + x, 0.3)
    assert report["value"].doubtful == 1
    assert report["value"].max_ulp == 0
    assert "1 entry where rounding decides for another branch" in str(report)
    # The product is exact: there is no doubt.
    report = verify(lambda x: np.floor(x * 10.0) + x, 0.5)
    assert report["value"].doubtful == 0
    assert report["value"].checked == 1
    assert report.max_ulp < 1


@pytest.mark.usefixtures("plain")
def test_quotients_at_their_jumps_are_exact() -> None:
    # x*(1/x) is less than 1 for some x, in any number of digits.
    x = np.append(np.random.default_rng(3).uniform(0.1, 2.0, 40), -0.6484791231449063 + 1.5)
    for f in (lambda x: np.fmod(x, x), lambda x: x % x, lambda x: np.fmod(3 * x, x)):
        assert sg.verify(lambda x, f=f: np.sum(f(x) ** 2), x).max_ulp == 0


def test_elements_beside_a_constant() -> None:
    found = sg.verify(lambda x: np.concatenate([x[1:], [0.5], x**2]), np.array([0.3, 0.7, -0.2]))
    assert found.max_ulp <= 1


@pytest.mark.slow
def test_held_constant() -> None:
    stop = OPS["StopGradient"]
    # No result depends on the shift of a logsumexp: checked by differentiating through it.
    assert not verify(logsumexp, X).notes
    report = verify(lambda x: x * stop(x), X)
    assert "held constant" in report.notes[0]


# ---------------------------------------------------------------- sizes


@pytest.mark.usefixtures("plain")
def test_samples_are_counted_and_repeatable() -> None:
    x = np.linspace(0, 1, 100)
    first = verify(lambda x: np.sin(x), x, samples=7)
    assert (first["value"].checked, first["value"].total) == (7, 100)
    assert (first["x"].checked, first["x"].total) == (700, 10_000)
    assert first == verify(lambda x: np.sin(x), x, samples=7)


# ---------------------------------------------------------------- arguments and the report


@pytest.mark.usefixtures("plain")
def test_wrt() -> None:
    f = lambda x, y: np.sum(x * y)  # noqa: E731
    assert [c.name for c in verify(f, X, X, wrt=1).checks] == ["value", "y"]
    assert [c.name for c in verify(f, X, X, wrt="x").checks] == ["value", "x"]
    assert [c.name for c in verify(f, X, X, wrt=(0, "y")).checks] == ["value", "x", "y"]
    assert [c.name for c in verify(f, X, np.arange(4)).checks] == ["value", "x"]


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ((lambda x: np.argmax(x), X), {}, "real result"),
        ((lambda x: x, X), {"wrt": 3}, "wrt=3, but the function was called with 1 arguments"),
        ((lambda x: x, X), {"wrt": "z"}, "no argument is called 'z'"),
        ((lambda x, k: x * k, 1.0, 2), {"wrt": "k"}, "argument 'k': it is not real"),
        ((3.0, X), {}, "a function is needed, not float"),
        ((lambda x: x, X), {"digits": 10}, "at least 30 digits and one sample"),
        ((lambda x: x, X), {"samples": 0}, "at least 30 digits and one sample"),
    ],
)
def test_mistaken_calls(args: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        verify(*args, **options)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", ["points", "samples", "digits", "seed"])
def test_counts_are_whole_numbers(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"verify: {name} is an integer, not 1.5"):
        sg.verify(np.sin, domain=(0.0, 1.0), **{name: 1.5})


def test_a_formula_in_text_is_pointed_to_the_parser() -> None:
    with pytest.raises(ArgumentError, match=r"not str: of a formula make one by sg\.from_sympy"):
        sg.verify("sin(x)", domain=(0.0, 1.0))  # type: ignore[call-overload]


def test_the_report_as_text_and_json() -> None:
    report = verify(lambda x: np.sum(x * x * 0.5), np.array([1.0, 3.0]))
    table = str(report)
    assert table.splitlines()[0] == "f: kernel against exact values to 50 digits"
    assert table.splitlines()[1].split() == [
        "max", "ulp", "median", "/cond", "checked", "tier", "condition", "worst", "place",
    ]  # fmt: skip
    assert table.splitlines()[3].split() == [
        "d/d", "x", "0.00", "0.00", "0.00", "2/2", "symbolic", "-", "-",
    ]  # fmt: skip
    data = json.loads(report.to_json())
    assert data["checks"][1]["name"] == "x"
    assert data["max_ulp"] == report.max_ulp == 0
    with pytest.raises(KeyError, match="value, x"):
        report["y"]
    json.loads(verify(lambda x: np.log(x), 0.0, limit=math.inf).to_json())  # infinities


@pytest.mark.usefixtures("plain")
def test_limit(broken: Callable[..., None]) -> None:
    with pytest.raises(VerificationError):
        verify(lambda x: np.sin(x) * np.cos(x), X, limit=0.0)
    broken(OPS["Sin"], rule=Partials(lambda y, x: (-np.cos(x),)))
    report = verify(np.sin, 1.0, limit=math.inf)
    assert report.max_ulp > 1e15


def test_digits_leave_mpmath_alone() -> None:
    before = mpmath.mp.dps
    verify(lambda x: np.sum(x), X, digits=80)
    assert mpmath.mp.dps == before
