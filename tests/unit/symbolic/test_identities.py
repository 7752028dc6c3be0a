"""Published matrix derivatives: symgrad prints them, and they have the right numbers.

Sources: [MC] K. B. Petersen, M. S. Pedersen, The Matrix Cookbook, 2012, by number of the
equation; [M] examples in the documentation of matrixcalculus.org (S. Laue, M. Mitterreiter,
J. Giesen: Computing Higher Order Derivatives of Matrix and Tensor Expressions, NeurIPS 2018);
[B] S. Boyd, L. Vandenberghe, Convex Optimization, 2004, appendix A.4 and by page.

A published gradient by a matrix has the layout of the matrix here, as in the Cookbook.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._symbolic import _notation as notation
from symgrad._symbolic._notation import Array, MatrixForm, Ones, Product, T
from symgrad._symbolic._products import product, transposed


@dataclass(frozen=True)
class Identity:
    """A function, what is published, and what symgrad prints.

    ``published`` is a function of the arguments in matrix notation (``@`` is the product,
    ``.T`` the transpose), or None where ``printed`` is the published form letter by letter.
    """

    f: Callable[..., Any]
    arguments: str
    wrt: str
    printed: str
    published: Callable[..., Any] | None = None
    order: int = 1
    where: str = ""


#: Arguments by letter: lower case vectors, upper case matrices; x, X and S are square-sized.
SHAPES: dict[str, tuple[int, ...]] = {
    "a": (3,), "b": (3,), "c": (3,), "d": (3,), "x": (3,), "w": (3,), "y": (4,), "u": (4,),
    "A": (3, 3), "B": (3, 3), "C": (3, 3), "D": (3, 3), "W": (4, 4), "X": (3, 3), "M": (4, 3),
    "Z": (4, 3), "s": (),
}  # fmt: skip

tr, log, exp = np.trace, np.log, np.exp

IDENTITIES: dict[str, Identity] = {
    # ------------------------------------------------------- first order, traces and products
    "MC 69: b^T x": Identity(lambda x, b: b @ x, "xb", "x", "b"),
    "MC 70: a^T X b": Identity(lambda X, a, b: a @ X @ b, "Xab", "X", "a b^T"),
    "MC 71: a^T X^T b": Identity(lambda X, a, b: a @ X.T @ b, "Xab", "X", "b a^T"),
    "MC 72: a^T X a": Identity(lambda X, a: a @ X @ a, "Xa", "X", "a a^T"),
    "MC 76: sum of X, squared": Identity(
        lambda X: np.sum(X) ** 2, "X", "X", "2 sum(X) ones ones^T",
        lambda X: 2 * notation.Total(X) * E @ E.T,
    ),
    "MC 77: b^T X^T X c": Identity(
        lambda X, b, c: b @ X.T @ X @ c, "Xbc", "X", "X (b c^T + c b^T)",
    ),
    "MC 78: (B x + b)^T C (D x + d)": Identity(
        lambda x, B, b, C, D, d: (B @ x + b) @ C @ (D @ x + d), "xBbCDd", "x",
        "B^T C (D x + d) + D^T C^T (B x + b)",
    ),
    "MC 79: (X^T B X)_kl as a sum": Identity(
        lambda X, B: np.sum(X.T @ B @ X), "XB", "X", "",
        lambda X, B: (B + B.T) @ X @ E @ E.T,
    ),
    "MC 81: x^T B x": Identity(lambda x, B: x @ B @ x, "xB", "x", "(B + B^T) x"),
    "MC 82: b^T X^T D X c": Identity(
        lambda X, b, c, D: b @ X.T @ D @ X @ c, "XbcD", "X", "",
        lambda X, b, c, D: D.T @ X @ b @ c.T + D @ X @ c @ b.T,
    ),
    "MC 83: (X b + c)^T D (X b + c)": Identity(
        lambda X, b, c, D: (X @ b + c) @ D @ (X @ b + c), "XbcD", "X", "",
        lambda X, b, c, D: (D + D.T) @ (X @ b + c) @ b.T,
    ),
    "MC 84: (x - A b)^T W (x - A b) by b": Identity(
        lambda x, A, b, W: (x - A @ b) @ W @ (x - A @ b), "xAbD", "b", "",
        lambda x, A, b, W: -A.T @ (W + W.T) @ (x - A @ b),
    ),
    "MC 86: (x - a)^T (x - a) by x": Identity(
        lambda x, a: np.sum((x - a) ** 2), "xa", "x", "", lambda x, a: 2 * (x - a),
    ),
    "MC 87: (x - A b)^T W (x - A b) by x": Identity(
        lambda x, A, b, W: (x - A @ b) @ W @ (x - A @ b), "xAbD", "x", "",
        lambda x, A, b, W: (W + W.T) @ (x - A @ b),
    ),
    "MC 88: (x - A b)^T W (x - A b) by A": Identity(
        lambda A, x, b, W: (x - A @ b) @ W @ (x - A @ b), "AxbD", "A", "",
        lambda A, x, b, W: -(W + W.T) @ (x - A @ b) @ b.T,
    ),
    "MC 99: tr(X)": Identity(lambda X: tr(X), "X", "X", "I"),
    "MC 100: tr(X A)": Identity(lambda X, A: tr(X @ A), "XA", "X", "A^T"),
    "MC 101: tr(A X B)": Identity(lambda X, A, B: tr(A @ X @ B), "XAB", "X", "A^T B^T"),
    "MC 102: tr(A X^T B)": Identity(lambda X, A, B: tr(A @ X.T @ B), "XAB", "X", "B A"),
    "MC 103: tr(X^T A)": Identity(lambda X, A: tr(X.T @ A), "XA", "X", "A"),
    "MC 104: tr(A X^T)": Identity(lambda X, A: tr(A @ X.T), "XA", "X", "A"),
    "MC 106: tr(X^2)": Identity(lambda X: tr(X @ X), "X", "X", "2 X^T"),
    "MC 107: tr(X^2 B)": Identity(
        lambda X, B: tr(X @ X @ B), "XB", "X", "", lambda X, B: (X @ B + B @ X).T,
    ),
    "MC 108: tr(X^T B X)": Identity(lambda X, B: tr(X.T @ B @ X), "XB", "X", "(B + B^T) X"),
    "MC 109: tr(B X X^T)": Identity(lambda X, B: tr(B @ X @ X.T), "XB", "X", "(B + B^T) X"),
    "MC 112: tr(B X^T X)": Identity(
        lambda X, B: tr(B @ X.T @ X), "XB", "X", "", lambda X, B: X @ B.T + X @ B,
    ),
    "MC 114: tr(A X B X)": Identity(
        lambda X, A, B: tr(A @ X @ B @ X), "XAB", "X", "",
        lambda X, A, B: A.T @ X.T @ B.T + B.T @ X.T @ A.T,
    ),
    "MC 115: tr(X^T X)": Identity(lambda X: tr(X.T @ X), "X", "X", "2 X"),
    "MC 116: tr(B X^T X B^T) by C": Identity(
        lambda X, B, C: tr(B.T @ X.T @ C @ X @ B), "XBC", "X", "",
        lambda X, B, C: C.T @ X @ B @ B.T + C @ X @ B @ B.T,
    ),
    "MC 117: tr(X^T B X C)": Identity(
        lambda X, B, C: tr(X.T @ B @ X @ C), "XBC", "X", "",
        lambda X, B, C: B @ X @ C + B.T @ X @ C.T,
    ),
    "MC 118: tr(A X B X^T C)": Identity(
        lambda X, A, B, C: tr(A @ X @ B @ X.T @ C), "XABC", "X", "C A X B + A^T C^T X B^T",
        lambda X, A, B, C: A.T @ C.T @ X @ B.T + C @ A @ X @ B,
    ),
    "MC 119: tr((A X B + C)(A X B + C)^T)": Identity(
        lambda X, A, B, C: tr((A @ X @ B + C) @ (A @ X @ B + C).T), "XABC", "X", "",
        lambda X, A, B, C: 2 * A.T @ (A @ X @ B + C) @ B.T,
    ),
    "MC 121: tr(X^3)": Identity(
        lambda X: tr(X @ X @ X), "X", "X", "", lambda X: 3 * (X @ X).T,
    ),
    "MC 123: tr(B^T X^T C X X^T C X B)": Identity(
        lambda X, B, C: tr(B.T @ X.T @ C @ X @ X.T @ C @ X @ B), "XBC", "X", "",
        lambda X, B, C: C @ X @ X.T @ C @ X @ B @ B.T + C.T @ X @ B @ B.T @ X.T @ C.T @ X
        + C @ X @ B @ B.T @ X.T @ C @ X + C.T @ X @ X.T @ C.T @ X @ B @ B.T,
    ),
    "MC 129: norm of x - a": Identity(
        lambda x, a: np.sqrt(np.sum((x - a) ** 2)), "xa", "x", "",
        lambda x, a: (x - a) / notation.Norm(x - a),
    ),
    "MC 131: squared norm of x": Identity(lambda x: x @ x, "x", "x", "2 x"),
    "MC 132: squared Frobenius norm of X": Identity(
        lambda X: np.sum(X**2), "X", "X", "2 X",
    ),
    # ------------------------------------------------------- inverses and determinants
    "MC 49: det(X)": Identity(lambda X: np.linalg.det(X), "X", "X", "det(X) X^-T"),
    "MC 57: ln|det(X)|": Identity(lambda X: np.linalg.slogdet(X)[1], "X", "X", "X^-T"),
    "MC 61: a^T X^-1 b": Identity(
        lambda X, a, b: a @ np.linalg.inv(X) @ b, "Xab", "X", "-X^-T a b^T X^-T",
    ),
    "MC 63: tr(A X^-1 B)": Identity(
        lambda X, A, B: tr(A @ np.linalg.inv(X) @ B), "XAB", "X", "",
        lambda X, A, B: -notation.Inverse(X).T @ A.T @ B.T @ notation.Inverse(X).T,
    ),
    "Gaussian exponent by the mean": Identity(
        lambda b, A, x: (x - b) @ np.linalg.solve(A, x - b), "bAx", "b", "",
        lambda b, A, x: -(notation.Inverse(A) + notation.Inverse(A).T) @ (x - b),
    ),
    "Gaussian likelihood by the covariance": Identity(
        lambda A, x: np.linalg.slogdet(A)[1] + x @ np.linalg.inv(A) @ x, "Ax", "A", "",
        lambda A, x: (U := notation.Inverse(A).T) - U @ x @ x.T @ U,
    ),
    # ------------------------------------------------------- second order
    "MC 98: x^T A x + b^T x, Hessian": Identity(
        lambda x, A, b: x @ A @ x + b @ x, "xAb", "x", "A + A^T", order=2,
    ),
    "MC 97: x^T A x + b^T x, gradient": Identity(
        lambda x, A, b: x @ A @ x + b @ x, "xAb", "x", "", lambda x, A, b: (A + A.T) @ x + b,
    ),
    "B 4: least squares, Hessian": Identity(
        lambda x, M, y: np.sum((M @ x - y) ** 2), "xMy", "x", "2 M^T M", order=2,
    ),
    # ------------------------------------------------------- Jacobians, elementwise functions
    "linear map": Identity(lambda x, A: A @ x, "xA", "x", "A"),
    "quadratic map": Identity(lambda x, A: x * (A @ x), "xA", "x", "diag(x) A + diag(A x)",
                              lambda x, A: notation.Diag(A @ x) + notation.Diag(x) @ A),
    "elementwise exp": Identity(lambda x: exp(x), "x", "x", "diag(exp(x))"),
    "M: sin(A x)": Identity(lambda x, A: np.sin(A @ x), "xA", "x", "diag(cos(A x)) A"),
    "M: sum(log(x))": Identity(lambda x: np.sum(log(x)), "x", "x", "1/x"),
    "M: sum(exp(A x))": Identity(lambda x, A: np.sum(exp(A @ x)), "xA", "x", "A^T exp(A x)"),
    "M: a^T exp(x)": Identity(lambda x, a: a @ exp(x), "xa", "x", "a*exp(x)"),
    "M: x^T A x + c sin(y)^T x": Identity(
        lambda x, A, s, b: x @ A @ x + s * (np.sin(b) @ x), "xAsb", "x", "",
        lambda x, A, s, b: (A + A.T) @ x + s * sp.sin(b),
    ),
    "M: least squares": Identity(
        lambda x, M, y: np.sum((M @ x - y) ** 2), "xMy", "x", "2 M^T (M x - y)",
    ),
    "M: norm of A x - b": Identity(
        lambda x, M, y: np.sqrt(np.sum((M @ x - y) ** 2)), "xMy", "x",
        "", lambda x, M, y: M.T @ (M @ x - y) / notation.Norm(M @ x - y),
    ),
    "M: logistic regression": Identity(
        lambda w, M, y: np.sum(log(1 + exp(-y * (M @ w)))), "wMy", "w",
        "-M^T (y/(1 + exp(y*(M w))))",
    ),
    "M: logistic regression, Hessian": Identity(
        lambda w, M: np.sum(log(1 + exp(M @ w))), "wM", "w", "M^T diag(s*(1 - s)) M",
        order=2, where="s = 1/(1 + exp(-M w))",
    ),
    "M: matrix factorisation": Identity(
        lambda Z, W, M: np.sum((W @ Z - M) ** 2), "ZWM", "Z", "2 W^T (W Z - M)",
    ),
    "M: Frobenius norm of X": Identity(
        lambda X: np.sqrt(np.sum(X**2)), "X", "X", "X/norm(X)",
    ),
    "softmax": Identity(
        lambda x: exp(x) / np.sum(exp(x)), "x", "x", "diag(s) - s s^T",
        where="s = exp(x)/sum(exp(x))",
    ),
    "B 74: log-sum-exp": Identity(
        lambda x: log(np.sum(exp(x))), "x", "x", "exp(x)/sum(exp(x))",
    ),
    "B 74: log-sum-exp, Hessian": Identity(
        lambda x: log(np.sum(exp(x))), "x", "x", "diag(s) - s s^T", order=2,
        where="s = exp(x)/sum(exp(x))",
    ),
    "B 642: log-sum-exp of A x + b": Identity(
        lambda x, M, y: log(np.sum(exp(M @ x + y))), "xMy", "x", "",
        lambda x, M, y: M.T @ sp.exp(M @ x + y) / notation.Total(sp.exp(M @ x + y)),
    ),
    "ridge regression": Identity(
        lambda w, M, y, s: np.sum((M @ w - y) ** 2) + s * (w @ w), "wMys", "w", "",
        lambda w, M, y, s: 2 * M.T @ (M @ w - y) + 2 * s * w,
    ),
    "Hadamard product": Identity(
        lambda X, A: np.sum(A * X * X), "XA", "X", "2*A*X", lambda X, A: 2 * A * X,
    ),
    "one hidden layer": Identity(
        lambda A, a, x: a @ np.tanh(A @ x), "Aax", "A", "",
        lambda A, a, x: (a / sp.cosh(A @ x) ** 2) @ x.T,
    ),
}  # fmt: skip

E = Ones(sp.Symbol("n"))


@pytest.fixture(autouse=True)
def _operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let published forms be written with ``@`` and ``.T``."""
    monkeypatch.setattr(sp.Expr, "__matmul__", lambda a, b: product(a, b), raising=False)
    monkeypatch.setattr(sp.Expr, "T", property(transposed), raising=False)


def expanded(e: Any) -> Any:
    """Multiply everything out: the canonical form in which two formulas are compared."""
    if isinstance(e, Ones):
        return E
    if isinstance(e, Product):
        terms = [sp.S.One]
        sums = [sp.Add.make_args(sp.expand(expanded(a))) for a in e.args]
        terms = [()]
        for parts in sums:
            terms = [(*t, p) for t in terms for p in parts]
        return sp.Add(*(product(*t) for t in terms))
    if isinstance(e, T):
        inner = expanded(e.args[0])
        return sp.Add(*(transposed(a) for a in sp.Add.make_args(sp.expand(inner))))
    if isinstance(e, notation.Diag):
        return sp.Add(*(notation.Diag(a) for a in sp.Add.make_args(sp.expand(e.args[0]))))
    if not e.args or isinstance(e, Array):
        return e
    return sp.expand(e.func(*map(expanded, e.args)))


NUMPY = {
    notation.Diag: np.diag, notation.Diagonal: np.diagonal, notation.Trace: np.trace,
    notation.Total: np.sum, notation.Norm: np.linalg.norm, notation.Inverse: np.linalg.inv,
    notation.Det: np.linalg.det,
}  # fmt: skip


def evaluate(e: Any, values: dict[str, Any]) -> Any:
    """Compute a form of matrix notation with NumPy."""
    if isinstance(e, Array):
        return values[str(e)]
    if isinstance(e, Ones):
        return np.ones(int(values[str(e.args[0])]))
    if isinstance(e, notation.Eye):
        return np.eye(int(values[str(e.args[0])]))
    if isinstance(e, Product):
        sides = []
        for a in e.args:
            v = evaluate(a.args[0] if isinstance(a, T) and notation.rank(a) == 1 else a, values)
            if np.ndim(v) == 1:
                v = v[None, :] if isinstance(a, T) else v[:, None]
            sides.append(v)
        found = np.linalg.multi_dot(sides)
        return found if e.rank == 2 else found.reshape(-1) if e.rank == 1 else found[0, 0]
    if isinstance(e, T):
        return evaluate(e.args[0], values).T
    if isinstance(e, MatrixForm):
        return NUMPY[type(e)](evaluate(e.args[0], values))
    leaves = _leaves(e)
    dummies = {a: sp.Dummy() for a in leaves}
    function = sp.lambdify(list(dummies.values()), e.xreplace(dummies), modules="numpy")
    return function(*(values[str(a)] if a.is_Symbol else evaluate(a, values) for a in leaves))


def _leaves(e: Any) -> list[Any]:
    if isinstance(e, MatrixForm) or e.is_Symbol:
        return [e]
    return list(dict.fromkeys(x for a in e.args for x in _leaves(a)))


#: Those whose printed form differs from the published one take longer to compare.
CASES = [
    pytest.param(name, marks=() if case.printed else pytest.mark.slow)
    for name, case in IDENTITIES.items()
]


@pytest.mark.parametrize("name", CASES)
def test_identity(name: str) -> None:
    case = IDENTITIES[name]
    rng = np.random.default_rng(3)
    values = {k: rng.uniform(0.5, 1.5, SHAPES[k]) for k in case.arguments}
    args = [values[k] if SHAPES[k] else float(values[k]) for k in case.arguments]
    names = case.f.__code__.co_varnames[: case.f.__code__.co_argcount]
    position = case.arguments.index(case.wrt)
    formula = sg.formula(case.f, *args, wrt=position, order=case.order)
    equation, printed = formula.equations[0], formula.text("matrix").splitlines()
    assert equation.matrix is not None
    right = printed[0].split(" = ", 1)[1]
    if case.printed:
        assert right == case.printed
    if case.where:
        assert f"    where {case.where}" in printed
    if case.published is not None:
        symbols = [Array(k, len(np.shape(v))) if np.shape(v) else sp.Symbol(k, real=True)
                   for k, v in zip(names, args, strict=True)]  # fmt: skip
        mine = equation.matrix
        for part, form in reversed(equation.parts):
            name = Array(part.name, len(part.indices)) if part.indices else part.at(())
            mine = mine.subs(name, form)
        assert expanded(mine - case.published(*symbols)) == 0
    # The same by numbers: the kernel's derivative of the function itself.
    numbers = dict(zip(names, args, strict=True))
    numbers |= {str(s): s.hint for s in sg.compile(case.f).program(*args).sizes}
    for part, form in equation.parts:
        numbers[part.name] = evaluate(form, numbers)
    found = evaluate(equation.matrix, numbers)
    with sg.backend("numpy"):
        slope = sg.jacobian if case.order == 1 else sg.hessian
        exact = slope(case.f, argnums=position)(*args)
    np.testing.assert_allclose(np.broadcast_to(found, np.shape(exact)), exact, rtol=1e-12)


def test_the_table_is_as_large_as_promised() -> None:
    assert len(IDENTITIES) >= 40
    assert all(case.printed or case.published for case in IDENTITIES.values())
