"""SymPy formulas as NumPy functions."""

from __future__ import annotations

import contextlib
import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Number
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import sympy as sp
from sympy.core.expr import AtomicExpr
from sympy.core.function import AppliedUndef
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixElement, MatrixExpr
from sympy.tensor.array import NDimArray

from .. import numpy as traced_numpy
from .._core.base.argument_checks import as_items, shown
from .._core.base.pickling import call_again
from .._core.base.signals import tolerating
from .._core.base.sizes import Size, as_expr
from .._core.base.state import now
from .._core.trace import DEEPEST, Pair
from .._core.trace.formula import ELEMENTARY, Form, Table, Tape
from .._symbolic import refuse_large_numbers
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ._arrays import ARRAYS
from ._bodies import BODIES
from ._builder import DEFERRED, WHOLE, FormulaBuilder, axes_of, names_of
from ._formula_node import recalled
from ._functions import FUNCTIONS
from ._sums import WIDE_SUM


def _relation(e: Any) -> list[Any]:
    """Write ``x in set`` as relations."""
    x, where = e.args
    try:
        return [where.as_relational(x)]
    except (NotImplementedError, AttributeError, TypeError) as error:
        raise UnsupportedError(
            f"{e}: of this set no relation is known; write the condition as relations"
        ) from error


#: What classes of SymPy's mean.
TABLE = Table(
    {
        **ELEMENTARY,
        **FUNCTIONS,
        **BODIES,
        **ARRAYS,
        sp.Add: WIDE_SUM,
        sp.Contains: Form(lambda b, e, s: s[0], _relation),
        sp.Poly: Form(lambda b, e, s: s[0], lambda e: [e.as_expr()]),
    }
)


def from_sympy(expressions: Any, symbols: Any) -> Callable[..., Any]:
    """Return a SymPy formula as a function of numbers or arrays.

    The function works on plain arrays and under every transformation; arrays broadcast.

    Parameters
    ----------
    expressions : sympy.Expr or sympy.Matrix or nested
        A SymPy expression, a nested tuple or list of them (the result has its structure), or a
        Matrix or Array (the result is one array of its shape; arrays among the arguments add
        their axes behind, as in ``sympy.lambdify``). An expression of matrices has an array as
        its result.
    symbols : sequence of sympy.Symbol or str
        The function's arguments, in order: SymPy symbols or names, and
        ``IndexedBase``, ``MatrixSymbol`` and ``ArraySymbol`` for arrays. A function or a
        derivative that stands in the formula, ``q(t)`` and ``q(t).diff(t)``, can be one, too.
        Sizes that are symbols (``MatrixSymbol("A", n, n)``) follow from the arrays.

    Returns
    -------
    callable
        ``f(*values)``, one value for each symbol. Sums and products are loops of the program,
        integrals are ``quad``, and inverses in products of matrices are solved for.

    Raises
    ------
    ArgumentError
        If the formula has symbols that are not among ``symbols``, or a symbol is repeated.
    UnsupportedError
        If a part of the formula has no numerical meaning (the message names it), or a number in
        it has more than 4096 binary digits, or a power of one would have.

    See Also
    --------
    lambdify : the same with the signature of ``sympy.lambdify``.

    Examples
    --------
    >>> import numpy as np
    >>> import sympy as sp
    >>> import symgrad as sg
    >>> a, x = sp.symbols("a x", real=True)
    >>> f = sg.from_sympy(sp.exp(-a * x), [a, x])
    >>> float(f(0.0, 3.0))
    1.0
    >>> float(sg.grad(f)(0.0, 3.0))
    -3.0
    >>> A = sp.MatrixSymbol("A", 2, 2)
    >>> sg.grad(sg.from_sympy(sp.Determinant(A), [A]))(np.array([[3.0, 1.0], [2.0, 4.0]]))
    array([[ 4., -2.],
           [-1.,  3.]])
    """
    one = isinstance(symbols, str) or is_name(symbols)
    listed = (
        [symbols] if one else as_items(symbols, "from_sympy: symbols", "SymPy symbols or names")
    )
    for given in listed:
        if not isinstance(given, str) and not is_name(given):
            raise ArgumentError(f"symbols are SymPy symbols or names, not {given!r}")
    return Formula(expressions, tuple(listed), "from_sympy")


#: Formulas of fewer parts are printed in the function's docstring: SymPy sorts what it prints.
PRINTED = 200

#: What can be an argument.
NAMES = (AtomicExpr, sp.Idx, sp.Function, sp.Derivative, sp.Indexed, MatrixElement, *WHOLE)


def is_name(given: Any) -> bool:
    """Tell whether SymPy's object can be an argument: it stands for values, and is no number."""
    return isinstance(given, NAMES) and not given.is_number


class Formula:
    """A function of a SymPy formula; it pickles as the formula does.

    Parameters
    ----------
    expressions:
        Formulas, nested in tuples, lists and dicts.
    arguments:
        Symbols, names, and tuples, lists and matrices of them.
    caller:
        The public function that is asked for it.
    functions:
        Functions and numbers that are given for names.
    """

    def __init__(
        self,
        expressions: Any,
        arguments: tuple[Any, ...],
        caller: str,
        functions: dict[str, Any] | None = None,
    ) -> None:
        flat = [name for given in arguments for name in _names_in(given)]
        if len(set(flat)) != len(flat):
            raise ArgumentError(f"a symbol is listed twice: {', '.join(map(str, flat))}")
        tree = _tree_of(expressions, caller)
        run = _program(tree, flat, functions or {}, caller)
        nested = None if tuple(arguments) == tuple(flat) else arguments
        # Beside the object: calls that find the function need not look at what nobody changes.
        _MADE[self] = _Made((expressions, arguments, caller, functions), nested, _Names(flat), run)
        # By what calls tell this function from others: of nestings that nobody changes.
        structure = _structure_of(expressions)
        self._expressions = sp.Tuple(Str(structure), *tree.leaves) if structure else expressions
        given = functions or {}
        self._functions = {name: f for name, f in given.items() if callable(f)} or None
        # As text: numbers are in the tape, and a number of an object's would count as data.
        self._numbers = repr({name: v for name, v in given.items() if not callable(v)})
        self._arguments = sp.Tuple(*(Str(a) if isinstance(a, str) else a for a in arguments))
        names = [
            _identifier(str(s) if isinstance(s, str) or is_name(s) else "", k)
            for k, s in enumerate(arguments)
        ]
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
        if len(set(names)) < len(names):
            parameters = [
                inspect.Parameter(f"x{k}", inspect.Parameter.POSITIONAL_ONLY)
                for k in range(len(names))
            ]
        self.__signature__ = inspect.Signature(parameters)
        self.__name__ = self.__qualname__ = "formula"
        self.__doc__ = _described(expressions, tree.leaves)

    def __call__(self, *values: Any, **named: Any) -> Any:
        made = _MADE[self]
        arguments = made.given[1]
        if named:
            try:
                values = self.__signature__.bind(*values, **named).args
            except TypeError as error:
                raise ArgumentError(f"the formula's arguments: {error}") from None
        if len(values) != len(arguments):
            raise ArgumentError(
                f"the formula takes {len(arguments)} values "
                f"({', '.join(map(str, arguments))}), not {len(values)}"
            )
        if made.nested is not None:
            values = tuple(
                value
                for given, x in zip(arguments, values, strict=True)
                for value in _read(given, x)
            )
        return made.run(*made.names.checked(values))

    def __reduce__(self) -> Any:
        given = _MADE[self].given
        for expr in given:
            for f in expr.atoms(AppliedUndef) if isinstance(expr, sp.Basic) else ():
                if inspect.getattr_static(type(f), "_imp_", None) is not None:
                    raise TypeError(
                        f"SymPy cannot pickle {f.func}, which implemented_function made. Write "
                        f"instead: Function({str(f.func)!r}) in the formula, and its code in "
                        "modules= of lambdify or functions= of from_sympy"
                    )
        return call_again(Formula, given, {})


class _Made(NamedTuple):
    """What a formula was made of, its arguments where they are nested, and what computes it."""

    given: tuple[Any, ...]
    nested: Any
    names: _Names
    run: Callable[..., Any]


_MADE: WeakKeyDictionary[Formula, _Made] = WeakKeyDictionary()


# ---------------------------------------------------------------- arguments


def _names_in(given: Any) -> list[Any]:
    """Return the names in an argument: itself, or those of a tuple, list or matrix."""
    if isinstance(given, (sp.MatrixBase, NDimArray)):
        return [name for part in elements_of(given) for name in _names_in(part)]
    if isinstance(given, (tuple, list, sp.Tuple)):
        return [name for part in given for name in _names_in(part)]
    return [given]


def elements_of(given: Any) -> list[Any]:
    """Return the elements of a matrix or array; of some arrays they are Python's numbers."""
    if isinstance(given, sp.MatrixBase):
        return list(given.flat())
    return [sp.sympify(e) for e in sp.flatten(given)]


def _read(given: Any, value: Any) -> list[Any]:
    """Return the values for the names in an argument."""
    if isinstance(given, (sp.MatrixBase, NDimArray)):
        array = traced_numpy.asarray(value)
        shape = tuple(map(int, given.shape))
        column = len(shape) == 2 and shape[1] == 1 and np.shape(array) == shape[:1]
        if not column and np.shape(array) != shape:
            raise ShapeError(f"{given} has shape {shape}, and the value has {np.shape(array)}")
        flat = np.reshape(array, (-1,))
        return [x for k, part in enumerate(elements_of(given)) for x in _read(part, flat[k])]
    if isinstance(given, (tuple, list, sp.Tuple)):
        try:
            count = -1 if isinstance(value, (Mapping, AbstractSet)) else len(value)
        except TypeError:
            count = -1
        if count < 0:
            raise ArgumentError(f"{given} is {len(given)} values, not {shown(value)}")
        if count != len(given):
            raise ArgumentError(f"{given} is {len(given)} values, not {count}")
        return [x for k, part in enumerate(given) for x in _read(part, value[k])]
    return [value]


class _Names:
    """The names of a formula in order, and what can be a value for each."""

    def __init__(self, names: Sequence[Any]) -> None:
        self.names = tuple(names)
        self.whole = any(isinstance(name, WHOLE) for name in names)

    def checked(self, values: Sequence[Any]) -> Sequence[Any]:
        values = list(values)
        for k, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if type(value) is float:
                continue
            if isinstance(value, sp.Expr):
                values[k] = _number_of(name, value)
                continue
            if _is_numeric(value):
                if _is_complex(value) and getattr(name, "is_extended_real", False):
                    raise ArgumentError(
                        f"{name} is declared real, which SymPy has used in simplifying, and the "
                        f"value is complex: make the formula of Symbol({str(name)!r})"
                    )
                continue
            if isinstance(name, WHOLE) and isinstance(value, (list, tuple)):
                continue
            if isinstance(name, (str, DEFERRED)) and isinstance(value, (list, tuple)):
                with contextlib.suppress(TypeError, ValueError, RecursionError):  # no array
                    values[k] = traced_numpy.asarray(value)
                    if _is_numeric(values[k]):
                        continue
            raise ArgumentError(f"{name} is a number or an array, not {shown(value)}")
        return list(map(_as_array, self.names, values)) if self.whole else values


def _as_array(name: Any, value: Any) -> Any:
    """Return the value of a name, of one that stands for an array as an array of its shape."""
    if not isinstance(name, WHOLE):
        return value
    array = traced_numpy.asarray(value)
    shape = name.shape or ()
    if len(array.shape) < len(shape):
        raise ShapeError(
            f"{name} has shape ({', '.join(map(str, shape))}), and the value has {array.shape}"
            + (": write x[:, None] for a column" if len(shape) == 2 else "")
        )
    for wanted, axis in zip(shape, axes_of(name), strict=True):
        if getattr(wanted, "is_Integer", False) and array.shape[axis] != int(wanted):
            raise ShapeError(
                f"{name} has shape ({', '.join(map(str, shape))}), and the value has {array.shape}"
            )
    return array


def _is_numeric(value: Any) -> bool:
    """Tell whether a formula can be computed of a value: a number, an array, traced or not."""
    if hasattr(type(value), "__symgrad_bind__") or isinstance(value, (Number, Size, Pair)):
        return True
    if isinstance(value, (type, sp.MatrixBase)) or not hasattr(value, "__array__"):
        return False
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return getattr(dtype, "kind", "") in set("biufc")


def _number_of(name: Any, value: sp.Expr) -> float | complex:
    """Return a number of SymPy's as one of Python's."""
    if not value.is_number:
        raise ArgumentError(
            f"{name} is a number or an array, not the formula {value}: put it in the formula's "
            f"place of {name} by .subs"
        )
    number = complex(value)
    return number if number.imag else number.real


def _is_complex(value: Any) -> bool:
    return isinstance(value, (complex, Pair)) or getattr(value, "dtype", np.bool_) in _COMPLEX


_COMPLEX = frozenset(map(np.dtype, (np.complex64, np.complex128)))


def _identifier(name: str, position: int) -> str:
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"x{position}"


# ---------------------------------------------------------------- results


class _Node(NamedTuple):
    """A part of the result: formulas, and what is made of their values."""

    leaves: list[Any]
    pack: Callable[[list[Any]], Any]


def _tree_of(expressions: Any, caller: str, depth: int = 0) -> _Node:
    """Take a nesting of formulas apart."""
    if isinstance(expressions, (tuple, list, dict, sp.Tuple)):
        if depth == DEEPEST:
            raise ArgumentError(
                f"{caller}: expressions are nested more than {DEEPEST} lists deep; one may "
                "contain itself"
            )
        entries = expressions.values() if isinstance(expressions, dict) else expressions
        return _joined(expressions, [_tree_of(e, caller, depth + 1) for e in entries])
    if expressions is None:
        return _Node([], lambda values: None)
    if isinstance(expressions, str):
        raise ArgumentError(
            f"{caller} takes SymPy expressions, not text: write "
            f"sg.{caller}({_TEXT[caller].format(repr(expressions)[:60])})"
        )
    if isinstance(expressions, (sp.MatrixBase, NDimArray)):
        return _array_of(expressions)
    if isinstance(expressions, (MatrixExpr, sp.Basic)) and not isinstance(expressions, sp.Expr):
        return _Node([expressions], lambda values: values[0])
    found = None
    if not hasattr(type(expressions), "__symgrad_bind__"):  # tensors count as numbers
        with contextlib.suppress(sp.SympifyError, TypeError, RecursionError):
            found = as_expr(expressions)
    if found is None:
        said = type(expressions).__name__
        if isinstance(expressions, type):
            said = f"the class {expressions.__name__}: apply it to arguments"
        raise ArgumentError(f"{caller} takes SymPy expressions, not {said}")
    return _Node([found], lambda values: values[0])


def _structure_of(expressions: Any) -> str:
    """Return how formulas are nested, as text; empty for one formula."""
    if isinstance(expressions, dict):
        parts = [f"{k!r}: {_structure_of(e)}" for k, e in expressions.items()]
        return f"{{{', '.join(parts)}}}"
    if isinstance(expressions, (tuple, list, sp.Tuple)):
        inner = ", ".join(map(_structure_of, expressions))
        return f"[{inner}]" if isinstance(expressions, list) else f"({inner},)"
    if isinstance(expressions, (sp.MatrixBase, NDimArray)):
        return f"array{tuple(map(int, expressions.shape))}"
    return "None" if expressions is None else ""


#: What to write in place of text.
_TEXT = {"from_sympy": "sg.parse({}), symbols", "lambdify": "args, sg.parse({})"}


def _joined(expressions: Any, nodes: list[_Node]) -> _Node:
    kind = type(expressions)

    def pack(values: list[Any]) -> Any:
        rest = iter(values)
        parts = [node.pack([next(rest) for _ in node.leaves]) for node in nodes]
        if isinstance(expressions, dict):
            return dict(zip(expressions, parts, strict=True))
        return parts if issubclass(kind, list) else tuple(parts)

    return _Node([leaf for node in nodes for leaf in node.leaves], pack)


def _array_of(expressions: Any) -> _Node:
    """The axes of the elements' values are behind those of the array."""
    shape = tuple(map(int, expressions.shape))

    def pack(values: list[Any]) -> Any:
        if not values:
            return np.zeros(shape)
        stack = np.stack(np.broadcast_arrays(*values))
        return np.reshape(stack, (*shape, *stack.shape[1:]))

    return _Node(elements_of(expressions), pack)


def _program(
    tree: _Node, names: list[Any], functions: dict[str, Any], caller: str
) -> Callable[..., Any]:
    """Return the function of the values that computes a nesting of formulas."""
    for leaf in tree.leaves:
        refuse_large_numbers(leaf)
    builder = FormulaBuilder(names, TABLE, functions)
    tape = builder.tape([_real(builder, builder.slot(leaf)) for leaf in tree.leaves])
    if builder.missing:
        raise names_of(builder.missing, names, caller)
    quiet = _chooses(tape)
    pack = tree.pack

    def run(*values: Any) -> Any:
        if not quiet:
            return pack(tape(*values))
        # Of a formula with cases NumPy computes all, also where they do not apply.
        with np.errstate(all="ignore"):
            return pack(tape(*values))

    def told(*values: Any) -> Any:
        if functions or now().reading != "formula":  # SymPy's form has not what is given
            return run(*values)
        with np.errstate(all="ignore"):
            found = tape(*values)
        leaves = zip(tree.leaves, found, strict=True)
        return pack([recalled(e, names, values, x, _made) for e, x in leaves])

    return told


def _made(formula: Any, symbols: Sequence[Any]) -> Formula:
    return Formula(formula, tuple(symbols), "from_sympy")


def _real(builder: FormulaBuilder, slot: int) -> int:
    """Return the slot of a result: of an integer that is a formula, as a real number."""
    value = builder.slots[slot]
    whole = builder.known[slot] and type(value) is int
    return builder.constant(float(value)) if whole else slot


def _described(expressions: Any, formulas: Sequence[Any]) -> str:
    """Return a docstring: the text of formulas, where SymPy computes nothing to write it.

    Its printer recurs. It takes the complex values of constants to sort terms by them, and inverts
    matrices for the sign of their product.
    """
    parts = list(formulas)
    for e in parts:  # which grows
        if len(parts) > PRINTED:
            return "A formula."
        parts.extend(getattr(e, "args", ()))
    if any(isinstance(e, MatrixExpr) and any(isinstance(a, sp.MatrixBase) for a in e.args)
           for e in parts):  # fmt: skip
        return "A formula."
    numbers = any(isinstance(e, sp.Function) and not e.free_symbols for e in parts)
    order = "none" if numbers else None
    with tolerating(Exception):
        return f"The formula {sp.sstr(expressions, order=order)[:200]}."
    return "A formula."


def _chooses(tape: Tape) -> bool:
    return any(
        step.function is np.where or any(isinstance(s, Tape) and _chooses(s) for s in step.static)
        for step in tape.steps
    )
