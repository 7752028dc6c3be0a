"""From a formula to a tape: what its names stand for, and bodies with names of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import sympy as sp
from sympy.core.function import Application, AppliedUndef
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.tensor.array.expressions import ArraySymbol

from .._core.trace.formula import Builder, Form, Table, Tape, function_form
from ..errors import ArgumentError, UnsupportedError
from ._refusals import reason

#: How a formula is meant that stands for a place in an array: its integers stay integers.
INDEX = "index"

#: What stands for a whole array, not for its elements one by one.
WHOLE = (sp.IndexedBase, sp.MatrixSymbol, ArraySymbol)

#: A vector whose components have names: ``X[0]`` is the symbol ``"X[0]"``.
DEFERRED = sp.DeferredVector

NOTHING: Mapping[str, Any] = {}

#: Most of bodies within each other: sums of sums, integrals of integrals.
NESTED = 40


def axes_of(array: Any) -> range:
    """Return where the axes of a name that stands for an array are in its values.

    Axes in front of a matrix's are of arrays of matrices, as NumPy stacks them. An
    ``IndexedBase`` is indexed as NumPy's arrays are, from the first axis on.
    """
    count = len(array.shape or ())
    return range(count) if isinstance(array, sp.IndexedBase) else range(-count, 0)


class FormulaBuilder(Builder):
    """Writes the tape of a user's formula.

    Parameters
    ----------
    arguments:
        SymPy's symbols, applied functions, arrays, matrices, or names.
    table:
        What classes mean.
    functions:
        What functions compute, and numbers that names stand for, by their names. They come before
        what a class of SymPy's means.

    Attributes
    ----------
    missing:
        What stands for a value in the formula and is no argument, by its name.
    """

    def __init__(
        self, arguments: Sequence[Any], table: Table, functions: Mapping[str, Any] = NOTHING
    ) -> None:
        super().__init__([a for a in arguments if not isinstance(a, str)], table)
        self.slots, self.known = [None] * len(arguments), [False] * len(arguments)
        self.arguments = {a: k for k, a in enumerate(arguments) if not isinstance(a, str)}
        self.order = list(range(len(arguments)))
        self.kinds = {type(a) for a in self.arguments}
        self.missing: dict[str, Any] = {}
        self.functions = functions
        self._named = {a: k for k, a in enumerate(arguments) if isinstance(a, str)}
        self._deferred = {a.name: k for a, k in self.arguments.items() if isinstance(a, DEFERRED)}
        self._sizes = {
            size: (k, axis)
            for a, k in self.arguments.items()
            if isinstance(a, (*WHOLE, MatrixExpr)) and a.shape
            for axis, size in zip(axes_of(a), a.shape, strict=True)
            if isinstance(size, sp.Symbol)
        }

    def tape(self, results: Sequence[int]) -> Tape:
        return Tape(self.order, self.slots, self.steps, results)

    def body(
        self,
        dummies: Sequence[Any],
        write: Callable[[FormulaBuilder], int],
        *,
        integers: bool = False,
    ) -> tuple[Tape, list[int], tuple[bool, ...]]:
        """Return the tape of a body: of names of its own, and of values from here.

        ``write(builder)`` writes it, and returns the slot of its value.

        Returns
        -------
        (tape, captured, whole)
            The slots of the values that the tape takes behind those of ``dummies``, and whether
            each is a whole array.
        """
        inner = _BodyBuilder(self, dummies, integers)
        result = write(inner)
        return inner.tape([result]), list(inner.captured), tuple(inner.whole)

    # ------------------------------------------------------------ names

    def leaf(self, e: Any, mode: Any) -> int | None:
        if type(e) in self.kinds and e in self.arguments:
            return self.bound(self.arguments[e], mode)
        number = self._number_of(e)
        if number is not None:
            return number
        if isinstance(e, sp.Idx):
            return self.leaf(e.label, mode)
        if self._given(e) is not None:
            return None
        if isinstance(e, (sp.Symbol, *WHOLE, AppliedUndef)):
            return self.named(e, mode)
        if not isinstance(e, sp.Basic):
            raise UnsupportedError(f"{type(e).__name__} is no part of a formula: {e!r:.80}")
        form = self.table.form(type(e))
        if form is None and _is_constant(e):
            return self._evaluated(e)
        return None

    def named(self, e: Any, mode: Any) -> int:
        """Return the slot of what has a name and no value in the formula."""
        name = str(e.func if isinstance(e, AppliedUndef) else e)
        if name in self._named and not isinstance(e, AppliedUndef):
            self.arguments[e] = slot = self._named.pop(name)
            self.kinds.add(type(e))
            self._sizes.update(
                {
                    size: (slot, axis)
                    for axis in (axes_of(e) if isinstance(e, WHOLE) else ())
                    if isinstance(size := e.shape[axis], sp.Symbol)
                }
            )
            return self.bound(slot, mode)
        if isinstance(e, sp.IndexedBase) and e.label in self.arguments:
            return self.arguments[e.label]
        if e in self._sizes:
            slot, axis = self._sizes[e]
            return self.step(_length, slot, static=(axis,))
        if isinstance(self.functions.get(name), Number) and not isinstance(e, AppliedUndef):
            return self.constant(self.functions[name])
        base, _, place = name.partition("[")
        if base in self._deferred and place[:-1].isdecimal():
            return self.step(operator.getitem, self._deferred[base], static=(int(place[:-1]),))
        self.missing.setdefault(name, e)
        # An array has elements: it is no constant, of which they would be computed here.
        return self._slot(None, False) if isinstance(e, WHOLE) else self.constant(float("nan"))

    def _given(self, e: Any) -> Callable[..., Any] | None:
        """Return the function that the user gives for a function of the formula."""
        if not self.functions or not isinstance(e, Application):
            return None
        name = str(e.func) if isinstance(e, AppliedUndef) else type(e).__name__
        found = self.functions.get(name)
        if isinstance(found, Number) and not isinstance(e, AppliedUndef):
            raise ArgumentError(
                f"the formula has the function {name}, for which modules= has the number {found}"
            )
        return found if callable(found) else None

    def bound(self, slot: int, mode: Any) -> int:
        """Return the slot of an argument as it is meant here."""
        return slot

    # ------------------------------------------------------------ numbers

    def _number_of(self, e: Any) -> int | None:
        if not getattr(e, "is_Atom", False):
            return None
        if e is sp.I:
            return self.constant(1j)
        if e is sp.zoo:
            raise UnsupportedError(
                "zoo, complex infinity, is in the formula, and no number: it is 1/0 somewhere; "
                "keep the terms that cancel it, or take the limit"
            )
        if e.is_Symbol:
            return None
        if e.is_NumberSymbol and isinstance(self.functions.get(str(e)), Number):
            return self.constant(self.functions[str(e)])
        return super().leaf(e, None)

    def _evaluated(self, e: Any) -> int:
        """Return a constant that SymPy computes."""
        try:
            value = e.evalf(20)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise self.refusal(e) from None
        if not value.is_number or value.has(sp.zoo, sp.Function, sp.Integral, sp.Sum):
            raise self.refusal(e)
        number = complex(value)
        return self.constant(number if number.imag else number.real)

    def form(self, e: Any) -> Form:
        given = self._given(e)
        if given is not None:
            return function_form(given)
        form = super().form(e)
        return Form(lambda builder, f, slots: self._emitted(form, f, slots), form.parts)

    def _emitted(self, form: Form, e: Any, slots: list[int]) -> int:
        try:
            return form.emit(self, e, slots)
        except (TypeError, UnsupportedError):  # SciPy's function has no complex values
            if not _is_constant(e):
                raise
            return self._evaluated(e)

    def refusal(self, e: Any) -> UnsupportedError:
        return UnsupportedError(reason(e))

    def every_argument(self) -> Iterator[Any]:
        """Yield the arguments that are expressions, those of the formulas around it too."""
        yield from self.arguments


def _is_constant(e: Any) -> bool:
    return isinstance(e, sp.Expr) and not isinstance(e, WHOLE) and not e.free_symbols


def _length(array: Any, axis: int) -> Any:
    return array.shape[axis]


class _BodyBuilder(FormulaBuilder):
    """Writes the tape of a body: what a sum adds, what an integral integrates.

    Parameters
    ----------
    outer:
        The builder of the formula around it.
    dummies:
        The names of the body's own.
    integers:
        Whether these are integers: they are computed with as floats, but for places in arrays.
    """

    def __init__(self, outer: FormulaBuilder, dummies: Sequence[Any], integers: bool) -> None:
        super().__init__(dummies, outer.table, outer.functions)
        self.outer, self.integers = outer, integers
        self.own = set(range(len(dummies)))
        self.captured: dict[int, int] = {}
        self.whole: list[bool] = []
        self.depth: int = getattr(outer, "depth", 0) + 1
        if self.depth > NESTED:
            raise UnsupportedError(
                f"more than {NESTED} sums, integrals or derivatives are within each other"
            )

    def named(self, e: Any, mode: Any) -> int:
        slot = self.outer.leaf(e, mode)
        assert slot is not None
        if self.outer.known[slot]:
            return self.constant(self.outer.slots[slot])
        if slot not in self.captured:
            self.captured[slot] = self._slot(None, False)
            self.order.append(self.captured[slot])
            self.whole.append(isinstance(e, WHOLE))
        return self.captured[slot]

    def every_argument(self) -> Iterator[Any]:
        """Yield the arguments that are expressions, those of the formulas around it too."""
        yield from self.arguments
        yield from self.outer.every_argument()

    def leaf(self, e: Any, mode: Any) -> int | None:
        found = self._argument_of_outer(e, mode)
        return super().leaf(e, mode) if found is None else found

    def _argument_of_outer(self, e: Any, mode: Any) -> int | None:
        """Return the slot of a formula that is an argument further out, as ``Derivative(q, t)``."""
        if isinstance(e, (sp.Symbol, *WHOLE, AppliedUndef)) or e in self.arguments:
            return None
        outer: Any = self.outer
        while outer is not None:
            if type(e) in outer.kinds and e in outer.arguments:
                return self.named(e, mode)
            outer = getattr(outer, "outer", None)
        return None

    def bound(self, slot: int, mode: Any) -> int:
        if self.integers and slot in self.own and mode != INDEX:
            return self.step(_as_float, slot)
        return slot


def _as_float(i: Any) -> Any:
    return i * 1.0


def names_of(missing: dict[str, Any], arguments: Sequence[Any], caller: str) -> ArgumentError:
    """Return the error for names of a formula that are no arguments."""
    functions = sorted({n for n, e in missing.items() if isinstance(e, AppliedUndef)})
    if functions:
        return ArgumentError(
            f"the formula has functions that are not known: {', '.join(functions)}; list them "
            f"among the arguments as they stand there ({missing[functions[0]]}), or put their "
            "formulas in their place with .subs or .replace, and .doit()"
        )
    said = f"the formula has symbols that are no arguments: {', '.join(sorted(missing))}; "
    same = [n for n in sorted(missing) if any(str(a) == n for a in arguments)]
    if same:
        return ArgumentError(
            said + f"an argument has the name {same[0]}, but other assumptions: the formula's is "
            f"{sp.srepr(missing[same[0]])}. Give that symbol, or its name as text"
        )
    return ArgumentError(said + f"list them in {_LISTED[caller]}=, or substitute numbers for them")


#: The parameter that has the names.
_LISTED = {"from_sympy": "symbols", "lambdify": "args"}
