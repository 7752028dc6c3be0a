"""Matrix notation: ``X^T diag(s*(1 - s)) X`` as a SymPy expression.

Arrays are symbols with a rank. Everything elementwise is SymPy's own algebra with NumPy's
meaning: ``s*(1 - s)`` multiplies element by element, numbers are repeated as needed. The few
operations of linear algebra are the classes below; products of matrices are written side by
side. SymPy's ``MatrixExpr`` does not serve here: its vectors are matrices of one column, its
scalar products are matrices of one element, and its elementwise functions are lambdas.
"""

from __future__ import annotations

from typing import Any, ClassVar

import sympy as sp
from sympy.printing.precedence import PRECEDENCE

ATOM = PRECEDENCE["Atom"]


class MatrixForm(sp.Expr):  # type: ignore[misc]
    """A scalar (rank 0), vector (1) or matrix (2) in matrix notation."""

    is_commutative = True
    precedence: ClassVar[int] = ATOM
    rank: int


class Array(MatrixForm):
    """A named vector or matrix."""

    def __new__(cls, name: Any, rank: Any) -> Any:
        """Make the symbol ``name`` with ``rank`` indices."""
        return sp.Expr.__new__(cls, sp.Symbol(str(name)), sp.Integer(rank))

    @property
    def rank(self) -> int:  # type: ignore[override]
        """Number of indices."""
        return int(self.args[1])

    @classmethod
    def class_key(cls) -> Any:
        """Sort like a symbol: ``s*(1 - s)``, not ``(1 - s)*s``."""
        return sp.Symbol.class_key()

    def sort_key(self, order: Any = None) -> Any:
        """Sort like a symbol."""
        return self.args[0].sort_key()

    def _sympystr(self, printer: Any) -> Any:
        return printer._print(self.args[0])

    _latex = _pretty = _mathml_presentation = _sympystr


class _Call(MatrixForm):
    """An operation that prints as a function of its operand."""

    title: ClassVar[str]
    name: ClassVar[str] = r"\operatorname{%s}"

    def _sympystr(self, printer: Any) -> str:
        return f"{self.title}({printer._print(self.args[0])})"

    def _latex(self, printer: Any) -> str:
        name = self.name % self.title
        return rf"{name}\left({printer._print(self.args[0])}\right)"

    def _pretty(self, printer: Any) -> Any:
        return printer._helper_print_function(sp.Function(self.title), self.args)

    def _mathml_presentation(self, printer: Any) -> Any:
        return printer._print(sp.Function(self.title)(self.args[0]))


class Diag(_Call):
    """The diagonal matrix of a vector."""

    rank, title = 2, "diag"


class Diagonal(_Call):
    """The diagonal of a square matrix, as a vector."""

    rank, title = 1, "diag"


class Trace(_Call):
    """The trace of a square matrix."""

    rank, title = 0, "tr"


class Det(_Call):
    """The determinant of a square matrix."""

    rank, title = 0, "det"


class LogDet(_Call):
    """The logarithm of a determinant's absolute value."""

    rank, title = 0, "logabsdet"


class Inverse(MatrixForm):
    """The inverse of a square matrix."""

    rank = 2

    def _sympystr(self, printer: Any) -> str:
        inner = printer._print(self.args[0])
        return f"{inner}^-1" if isinstance(self.args[0], Array) else f"({inner})^-1"

    def _latex(self, printer: Any) -> str:
        inner = printer._print(self.args[0])
        inner = inner if isinstance(self.args[0], Array) else rf"\left({inner}\right)"
        return rf"{inner}^{{-1}}"

    def _pretty(self, printer: Any) -> Any:
        form = printer.bracketed(self.args[0], not isinstance(self.args[0], Array))
        return form ** printer._print(sp.Integer(-1))

    def _mathml_presentation(self, printer: Any) -> Any:
        base = printer.bracketed(self.args[0], not isinstance(self.args[0], Array))
        return printer.element("msup", base, printer._print(sp.Integer(-1)))


class Total(_Call):
    """The sum of all elements of a vector or matrix."""

    rank, title = 0, "sum"


class Norm(_Call):
    """The Euclidean norm of a vector; of a matrix Frobenius's."""

    rank, title = 0, "norm"

    def __new__(cls, operand: Any) -> Any:
        """Make the norm; that of ``-x`` is that of ``x``."""
        return sp.Expr.__new__(cls, -operand if _begins_with_minus(operand) else operand)

    def _latex(self, printer: Any) -> str:
        return rf"\left\lVert {printer._print(self.args[0])} \right\rVert"


def _begins_with_minus(e: Any) -> bool:
    """Tell whether ``-e`` reads better: ``A x - b`` and ``x - sum(x)/n`` begin with an array."""
    signs: dict[int, set[bool]] = {}
    for term in sp.Add.make_args(e):
        minus = bool(term.as_coeff_Mul()[0].is_negative)
        signs.setdefault(_weight(term), set()).add(minus)
    heaviest = signs[max(signs)]
    return True in heaviest if len(heaviest) == 1 else bool(e.could_extract_minus_sign())


def _weight(term: Any) -> int:
    """Order the terms of a sum: a product of matrices, an array, what is repeated."""
    return 3 if any(isinstance(a, Product) for a in sp.Mul.make_args(term)) else rank(term)


class Ones(MatrixForm):
    """The vector of ones with a given number of elements."""

    rank = 1

    def _sympystr(self, printer: Any) -> str:
        return "ones"

    def _latex(self, printer: Any) -> str:
        return r"\mathbf{1}"

    def _pretty(self, printer: Any) -> Any:
        return printer._print(sp.Symbol("𝟏"))

    _mathml_presentation = _pretty


class Eye(MatrixForm):
    """The identity matrix."""

    rank = 2

    def _sympystr(self, printer: Any) -> Any:
        return printer._print(sp.Symbol("I"))

    _latex = _pretty = _mathml_presentation = _sympystr


class T(MatrixForm):
    """A transposed matrix, or a vector as a row."""

    precedence = PRECEDENCE["Pow"]

    @property
    def rank(self) -> int:  # type: ignore[override]
        """Rank of the operand."""
        return rank(self.args[0])

    def _sympystr(self, printer: Any) -> str:
        inner = str(printer.parenthesize(self.args[0], PRECEDENCE["Pow"]))
        return inner.removesuffix("^-1") + ("^-T" if isinstance(self.args[0], Inverse) else "^T")

    def _latex(self, printer: Any) -> str:
        inner = printer._print(self.args[0])
        if isinstance(self.args[0], Inverse):
            return str(inner.removesuffix("^{-1}") + "^{-T}")
        if not isinstance(self.args[0], (Array, Ones, _Call)):
            inner = rf"\left({inner}\right)"
        return rf"{inner}^{{T}}"

    def _pretty(self, printer: Any) -> Any:
        form = printer._print(self.args[0])
        if not isinstance(self.args[0], (Array, Ones, _Call, Inverse)):
            form = printer.bracketed(self.args[0], True)
        return form ** printer._print(sp.Symbol("T"))

    def _mathml_presentation(self, printer: Any) -> Any:
        top = printer.dom.createElement("msup")
        plain = isinstance(self.args[0], (Array, Ones, _Call, Inverse))
        top.appendChild(printer.bracketed(self.args[0], not plain))
        top.appendChild(printer._print(sp.Symbol("T")))
        return top


class Product(MatrixForm):
    """A product of matrices, columns (vectors) and rows (transposed vectors)."""

    # Below that of `*`: the product element by element of x and A y is x*(A y).
    precedence = PRECEDENCE["Mul"] - 1

    @property
    def rank(self) -> int:  # type: ignore[override]
        """Two, less one for a row at the left and one for a column at the right."""
        first, last = self.args[0], self.args[-1]
        row = isinstance(first, T) and rank(first) == 1
        column = rank(last) == 1 and not isinstance(last, T)
        return 2 - row - column

    def _sympystr(self, printer: Any) -> str:
        return " ".join(
            f"({printer._print(a)})" if loose(a) else printer._print(a) for a in self.args
        )

    def _latex(self, printer: Any) -> str:
        return " ".join(
            rf"\left({printer._print(a)}\right)" if loose(a) and not fraction(a) else
            printer._print(a) for a in self.args
        )  # fmt: skip

    def _pretty(self, printer: Any) -> Any:
        return printer.side_by_side([printer.bracketed(a, loose(a)) for a in self.args], " ")

    def _mathml_presentation(self, printer: Any) -> Any:
        row = printer.dom.createElement("mrow")
        for a in self.args:
            row.appendChild(printer.bracketed(a, loose(a) and not fraction(a)))
        return row


def loose(e: Any) -> bool:
    """Tell whether a factor needs brackets in a product."""
    return bool(e.is_Add or e.is_Mul) or isinstance(e, (Product, sp.Piecewise)) or fraction(e)


def fraction(e: Any) -> bool:
    """Tell whether an expression prints as one over something."""
    return bool(e.is_Pow and e.exp.is_number and e.exp.is_negative)


# ---------------------------------------------------------------- making


def rank(e: Any) -> int:
    """Return the rank of an expression: the largest among the elementwise parts."""
    if isinstance(e, MatrixForm):
        return e.rank
    return max((rank(a) for a in e.args), default=0)
