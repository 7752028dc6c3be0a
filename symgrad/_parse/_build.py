"""The third gate: from Python's syntax tree to SymPy, one listed kind of node at a time.

The walk keeps its own stack, so depth is a number it can check, and rows such as
``a + b - c + ...`` are one sum, not a tower of two-term sums.

Beside each constant subexpression travels its double value. It is computed first, and a
constant without a finite real value is refused: this is what keeps SymPy, which evaluates
constants exactly, from being sent after ``9**9**9`` or ``exp(exp(exp(10)))``.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import sympy as sp
from sympy.logic.boolalg import BooleanAtom, BooleanFunction

from ..errors import ParseError
from ._limits import (
    MAX_CONSTANT_NODES,
    MAX_CONSTANT_TERMS,
    MAX_POWER_BITS,
    MAX_ROOT_BITS,
    MAX_ROOTS_BITS,
    MAX_TERMS,
    TooLargeError,
    check,
    power_bits,
    roots_bits,
)
from ._scan import MAX_DEPTH
from ._vocabulary import BINDING, FUNCTIONS, SPECIAL, Names

Real: TypeAlias = tuple[sp.Expr, float | None]


@dataclass(frozen=True, slots=True)
class Value:
    """The meaning of a node: SymPy's, and the double if no name occurs in it.

    ``pair`` is set for the ``(value, condition)`` entries of Piecewise only. ``terms`` counts
    those of the largest sum in it, as far as limits are numbers.
    """

    meaning: sp.Basic
    number: float | None = None
    pair: tuple[Value, ...] = ()
    terms: int = 1


@dataclass(frozen=True, slots=True)
class Limit:
    """``(k, lower, upper)`` of a sum, a product or an integral; an infinite end is SymPy's."""

    name: str
    ends: tuple[ast.expr | sp.Expr, ast.expr | sp.Expr]


Scope: TypeAlias = Mapping[str, sp.Expr]


def finite(number: complex | None) -> float | None:
    """The double value of a constant, or None.

    Raises
    ------
    ValueError, OverflowError
        It has no finite real value.
    """
    if isinstance(number, complex):
        raise ValueError("a root of a negative number")
    if number is None:
        return None
    number = float(number)
    if math.isnan(number):
        raise ValueError("not a number")
    if math.isinf(number):
        raise OverflowError
    return number


def row_of(node: ast.BinOp) -> list[tuple[int, ast.expr]]:
    """The operands of ``a - b + c`` or ``a/b*c`` with +1, or -1 if subtracted or divided by."""
    group: tuple[type[ast.operator], ...]
    for group in ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd,), (ast.BitOr,)):
        if isinstance(node.op, group):
            break
    else:
        return [(1, node.left), (1, node.right)]
    row: list[tuple[int, ast.expr]] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, group):
        row.append((-1 if isinstance(left.op, ast.Sub | ast.Div) else 1, left.right))
        left = left.left
    row.append((1, left))
    row.reverse()
    return row


def sum_of(row: list[tuple[int, Real]]) -> Value:
    """The sum of a row: each operand plus or minus."""
    total: float | None = 0.0
    for sign, (_, number) in row:
        total = None if total is None or number is None else total + sign * number
    terms = [meaning if sign > 0 else -meaning for sign, (meaning, _) in row]
    return Value(sp.Add(*terms), finite(total))


def product_of(row: list[tuple[int, Real]]) -> Value:
    """The product of a row: each operand multiplied or divided by."""
    total: float | None = 1.0
    for sign, (_, number) in row:
        if total is None or number is None:
            total = None
        else:
            total = total * number if sign > 0 else total / number
    total = finite(total)
    if roots_bits([meaning for _, (meaning, _) in row]) > MAX_ROOTS_BITS:
        if total is None:
            raise TooLargeError("too many roots of numbers in one product")
        return Value(sp.Float(total), total)
    factors = [meaning if sign > 0 else sp.Pow(meaning, -1) for sign, (meaning, _) in row]
    return Value(sp.Mul(*factors), total)


_CONDITION = (sp.core.relational.Relational, BooleanFunction, BooleanAtom)
# What SymPy's constructors raise, beside ValueError, on arguments they cannot evaluate.
_SYMPY_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)
_TOO_LARGE = "this power of a number is too large to be written out"
_TOO_LONG = "the integers in here are too long to be handled exactly; write 1e20 instead"
_COMPARISONS: dict[type[ast.cmpop], Callable[[sp.Expr, sp.Expr], sp.Basic]] = {
    ast.Lt: sp.Lt,
    ast.LtE: sp.Le,
    ast.Gt: sp.Gt,
    ast.GtE: sp.Ge,
    ast.Eq: sp.Eq,
    ast.NotEq: sp.Ne,
}

_RELATIONS = {"Eq": sp.Eq, "Ne": sp.Ne, "Lt": sp.Lt, "Le": sp.Le, "Gt": sp.Gt, "Ge": sp.Ge}
#: Orders of a derivative by one name.
_ORDERS = range(1, 11)
_LOGIC: dict[str, Callable[..., sp.Basic]] = {
    "And": sp.And, "Or": sp.Or, "Not": sp.Not, "Xor": sp.Xor, "Nand": sp.Nand, "Nor": sp.Nor,
    "Implies": sp.Implies, "Equivalent": sp.Equivalent,
}  # fmt: skip
#: Names that mean one function to SymPy and another to NumPy or SciPy.
_AMBIGUOUS = {
    "jn": ["besselj (SciPy's jn)", "sqrt(pi/(2*x))*besselj(n + 1/2, x) (SymPy's)"],
    "yn": ["bessely (SciPy's yn)", "sqrt(pi/(2*x))*bessely(n + 1/2, x) (SymPy's)"],
    "sinc": ["sin(x)/x (SymPy's)", "sin(pi*x)/(pi*x) (NumPy's)"],
}

Refuse = Callable[[str, int], ParseError]


def build(root: ast.expr, names: Names, refuse: Refuse) -> sp.Expr:
    """Turn a syntax tree into a SymPy expression.

    Parameters
    ----------
    root:
        The body of ``ast.parse(..., mode="eval")``.
    names:
        What the names in it mean.
    refuse:
        ``refuse(message, column)`` makes the error that points at a column.

    Raises
    ------
    ParseError
        A node that is not on the list, or a constant without a finite real value.
    """
    return _Builder(names, refuse).run(root)


class _Builder:
    def __init__(self, names: Names, refuse: Refuse):
        self.names = names
        self.refuse = refuse
        #: What the sums around a node bind, where they bind anything.
        self.scopes: dict[ast.expr, Scope] = {}
        self.constant_terms = 0

    def run(self, root: ast.expr) -> sp.Expr:
        return self.real(self.read(root, {}), root)[0]

    def read(self, root: ast.expr, scope: Scope) -> Value:
        """Return the value of a tree in which the names of ``scope`` are bound."""
        order: list[tuple[ast.expr, list[ast.expr]]] = []
        waiting = [(root, 1, scope)]
        while waiting:
            node, depth, scope = waiting.pop()
            if depth > MAX_DEPTH:
                raise self.error(
                    f"the formula is too deep: more than {MAX_DEPTH} operations inside each other",
                    node,
                )
            self.scopes[node] = scope
            operands = self.operands(node)
            order.append((node, operands))
            inner = self.inner_scopes(node, operands, scope)
            waiting.extend((o, depth + 1, s) for o, s in zip(operands, inner, strict=True))
        values: dict[ast.expr, Value] = {}
        for node, operands in reversed(order):
            values[node] = self.value(node, [values.pop(operand) for operand in operands])
        return values[root]

    def error(self, message: str, node: ast.expr) -> ParseError:
        return self.refuse(message, node.col_offset)

    # ------------------------------------------------------------ structure

    def operands(self, node: ast.expr) -> list[ast.expr]:
        """The nodes below a listed node; any other node is refused."""
        match node:
            case ast.Constant(value=bool() | int() | float()) | ast.Name():
                return []
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Invert()):
                return [node.operand]
            case ast.BinOp(op=ast.Pow()):
                return [node.left, node.right]
            case ast.BinOp():
                return [operand for _, operand in row_of(node)]
            case ast.Compare():
                if any(type(op) not in _COMPARISONS for op in node.ops):
                    raise self.error("only < <= > >= == != compare in a formula", node)
                return [node.left, *node.comparators]
            case ast.Tuple():
                return node.elts
            case ast.Call():
                return self.arguments(node)
            case _:
                kind = type(node).__name__
                raise self.error(f"{kind} is refused in a formula", node)

    def arguments(self, node: ast.Call) -> list[ast.expr]:
        if not isinstance(node.func, ast.Name):
            raise self.error("only a named function can be called", node)
        name = node.func.id
        if name in BINDING:
            ends = [end for limit in self.limits(node) for end in limit.ends]
            return [node.args[0], *(end for end in ends if isinstance(end, ast.expr))]
        if name == "Derivative" and not node.keywords and len(node.args) > 1:
            return node.args[:1]  # the names are read as such, not as values
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(f"{name} takes plain arguments only in a formula", node)
        if name not in FUNCTIONS and name not in SPECIAL:
            near = difflib.get_close_matches(name, [*FUNCTIONS, *SPECIAL, *BINDING], n=3)
            near = _AMBIGUOUS.get(name, near)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise self.error(f"unknown function {name!r}{hint}", node)
        least, most = _arity(name)
        if not least <= len(node.args) <= most:
            takes = str(least) if least == most else f"{least} to {most}"
            raise self.error(
                f"{name} takes {takes} argument{'s' * (most > 1)}, got {len(node.args)}", node
            )
        return node.args

    def limits(self, node: ast.Call) -> list[Limit]:
        """Read the limits of ``Sum(f, (k, 0, n), ...)``; the inner ones come first."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        form = f"{name}(f, (k, a, b))"
        if len(node.args) < 2 or node.keywords:
            raise self.error(f"{name} is written {form}", node)
        found = []
        for given in node.args[1:]:
            if not (isinstance(given, ast.Tuple) and len(given.elts) == 3):
                raise self.error(f"{name} is written {form}", given)
            index, *ends = given.elts
            if not isinstance(index, ast.Name):
                raise self.error(f"the first entry of a limit is a name: {form}", index)
            lower, upper = (_infinite(end) or end for end in ends)
            if name != "Integral" and not all(isinstance(e, ast.expr) for e in (lower, upper)):
                raise self.error(f"a {name.lower()} of infinitely many terms is refused", given)
            found.append(Limit(index.id, (lower, upper)))
        names = [limit.name for limit in found]
        if len(set(names)) < len(names):
            raise self.error(f"{name} binds a name twice", node)
        return found

    def inner_scopes(self, node: ast.expr, operands: list[ast.expr], scope: Scope) -> list[Scope]:
        """Return what is bound in each operand: in a sum's term all, in limits what is outside."""
        if not self.binds(node):
            return [scope] * len(operands)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        kind = {"real": True} if node.func.id == "Integral" else {"integer": True}
        limits = self.limits(node)
        bound = {limit.name: sp.Symbol(limit.name, **kind) for limit in limits}
        scopes: list[Scope] = [{**scope, **bound}]
        for k, limit in enumerate(limits):
            outer = {**scope, **{other.name: bound[other.name] for other in limits[k + 1 :]}}
            scopes += [outer for end in limit.ends if isinstance(end, ast.expr)]
        return scopes

    def binds(self, node: ast.expr) -> bool:
        """Return whether a node is a sum, a product or an integral."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return False
        return node.func.id in BINDING

    # ------------------------------------------------------------ meaning

    def value(self, node: ast.expr, below: list[Value]) -> Value:
        """The value of a node from those of its operands, checked."""
        try:
            result = self.evaluate(node, below)
            parts = check(result.meaning)
            meaning = result.meaning
            constant = isinstance(meaning, sp.Expr) and not meaning.free_symbols
            if result.number is None and constant:
                # Symbols have cancelled, as in 2**(x - x + 10**9).
                result = Value(result.meaning, finite(float(result.meaning)))
        except TooLargeError as error:
            raise self.error(str(error), node) from None
        except ZeroDivisionError:
            raise self.error("division by zero", node) from None
        except OverflowError:
            raise self.error("this constant is larger than any double, 1.8e308", node) from None
        except ParseError:
            raise
        except ValueError as error:
            text = f"this has no meaning for real numbers ({error})"
            raise self.error(text, node) from None
        except _SYMPY_ERRORS as error:
            text = f"SymPy cannot build this expression ({type(error).__name__})"
            raise self.error(text, node) from error
        terms = result.terms * max((value.terms for value in below), default=1)
        if terms > MAX_TERMS:
            raise self.error(f"a sum of more than {MAX_TERMS:,} terms", node)
        if result.number is not None and parts > MAX_CONSTANT_NODES:
            return Value(sp.Float(result.number), result.number)
        return replace(result, terms=terms)

    def evaluate(self, node: ast.expr, below: list[Value]) -> Value:
        match node:
            case ast.Constant(value=bool() as truth):
                return Value(sp.true if truth else sp.false)
            case ast.Constant(value=int() as integer):
                return Value(sp.Integer(integer), float(integer))
            case ast.Constant(value=float() as number):
                return Value(sp.Float(number), number)
            case ast.Name():
                return self.name(node)
            case ast.UnaryOp(op=ast.Invert()):
                return Value(sp.Not(self.condition(below[0], node)))
            case ast.UnaryOp():
                (operand,) = self.reals(below, node)
                return sum_of([(-1 if isinstance(node.op, ast.USub) else 1, operand)])
            case ast.BinOp(op=ast.Pow()):
                return self.power(below, node)
            case ast.BinOp(op=ast.BitAnd()):
                return Value(sp.And(*(self.condition(value, node) for value in below)))
            case ast.BinOp(op=ast.BitOr()):
                return Value(sp.Or(*(self.condition(value, node) for value in below)))
            case ast.BinOp():
                signs = [sign for sign, _ in row_of(node)]
                row = list(zip(signs, self.reals(below, node), strict=True))
                return sum_of(row) if isinstance(node.op, ast.Add | ast.Sub) else product_of(row)
            case ast.Compare():
                reals = [meaning for meaning, _ in self.reals(below, node)]
                steps = zip(node.ops, reals, reals[1:], strict=False)
                return Value(sp.And(*(_COMPARISONS[type(op)](a, b) for op, a, b in steps)))
            case ast.Tuple():
                return Value(sp.Tuple(), pair=tuple(below))
            case ast.Call(func=ast.Name(id=name)):
                return self.call(name, below, node)
        raise AssertionError(node)  # operands() has refused everything else

    def name(self, node: ast.Name, within: ast.expr | None = None) -> Value:
        scope = self.scopes[within or node]
        meaning = scope[node.id] if node.id in scope else self.names.look_up(node.id)
        if isinstance(meaning, str):
            raise self.error(meaning, node)
        return Value(meaning, None if meaning.free_symbols else float(meaning))

    def power(self, below: list[Value], node: ast.expr) -> Value:
        (base, base_number), (exponent, number) = self.reals(below, node)
        if base == sp.E:
            return self.call("exp", below[1:], node)
        result = None
        if number is not None and base_number is not None:
            result = finite(base_number**number)
        if not exponent.is_Integer and power_bits(base) > MAX_ROOT_BITS:
            if result is not None:
                return Value(sp.Float(result), result)
            raise TooLargeError(_TOO_LONG)
        if power_bits(base, exponent) > MAX_POWER_BITS:
            raise TooLargeError(_TOO_LARGE)
        return Value(sp.Pow(base, exponent), result)

    def bound(self, node: ast.Call, below: list[Value]) -> Value:
        """Build a sum, a product or an integral: unevaluated, or of numbers alone added up."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        limits = self.limits(node)
        operands = [node.args[0], *(e for li in limits for e in li.ends if isinstance(e, ast.expr))]
        (body, _), *ends = [self.real(v, o) for v, o in zip(below, operands, strict=True)]
        scope = self.inner_scopes(node, list(operands), self.scopes[node])[0]
        left, sequence, terms = iter(ends), [], 1
        for limit in limits:
            infinite = (e if isinstance(e, sp.Expr) else None for e in limit.ends)
            (lower, first), (upper, last) = (
                next(left) if e is None else (e, None) for e in infinite
            )
            sequence.append((scope[limit.name], lower, upper))
            if first is not None and last is not None and name != "Integral":
                terms *= math.floor(abs(last - first)) + 1
        result = BINDING[name](body, *sequence)
        if result.free_symbols:
            return Value(result, terms=terms)
        if name == "Integral":
            raise self.error("an integral of numbers alone: write its value", node)
        return self.added(name, node.args[0], limits, self.scopes[node])

    def derivative(self, node: ast.Call, below: Value) -> Value:
        """Build ``Derivative(f, x)``, ``Derivative(f, x, 2)`` or ``Derivative(f, (x, 2), y)``."""
        body, _ = self.real(below, node.args[0])
        variables: list[tuple[sp.Expr, int]] = []
        for given in node.args[1:]:
            match given:
                case ast.Name():
                    variables.append((self.name(given, node).meaning, 1))
                case ast.Constant(value=int() as order) if variables and order in _ORDERS:
                    variables[-1] = variables[-1][0], order
                case ast.Tuple(elts=[ast.Name() as name, ast.Constant(value=int() as order)]) if (
                    order in _ORDERS
                ):
                    variables.append((self.name(name, node).meaning, order))
                case _:
                    raise self.error("Derivative is written Derivative(f, x, (y, 2))", given)
        if not all(v.is_Symbol for v, _ in variables):
            raise self.error("Derivative is by names, not by numbers or formulas", node)
        return Value(sp.Derivative(body, *variables))

    def added(self, name: str, body: ast.expr, limits: list[Limit], scope: Scope) -> Value:
        """Return a sum or product without free names, term by term, each checked like any text."""
        if not limits:
            return self.read(body, scope)
        *inner, outer = limits
        ends = []
        for end in outer.ends:
            assert isinstance(end, ast.expr)
            _, number = self.real(self.read(end, scope), end)
            if number is None or not number.is_integer():
                raise self.error(f"the limits of a {name.lower()} are integers", end)
            ends.append(int(number))
        # Karr's convention, as SymPy has it: from 5 to 1 is minus from 2 to 4.
        (first, last), sign = ends, 1
        if last < first - 1:
            first, last, sign = last + 1, first - 1, -1
        row: list[tuple[int, Real]] = []
        for k in range(first, last + 1):
            self.constant_terms += 1
            if self.constant_terms > MAX_CONSTANT_TERMS:
                raise TooLargeError(
                    f"more than {MAX_CONSTANT_TERMS:,} terms of sums of numbers alone: "
                    "write their value"
                )
            term = self.added(name, body, inner, {**scope, outer.name: sp.Integer(k)})
            row.append((sign, self.real(term, body)))
        return sum_of(row) if name == "Sum" else product_of(row)

    def call(self, name: str, below: list[Value], node: ast.expr) -> Value:
        if name in BINDING:
            assert isinstance(node, ast.Call)
            return self.bound(node, below)
        if name == "Derivative":
            assert isinstance(node, ast.Call)
            return self.derivative(node, below[0])
        if name == "Piecewise":
            return self.piecewise([value.pair for value in below], node)
        if name in ("where", "ITE"):
            condition, yes, no = below
            return self.piecewise([(yes, condition), (no, Value(sp.true))], node)
        if name in ("power", "pow"):
            return self.power(below, node)
        if name in _LOGIC:
            return Value(_LOGIC[name](*(self.condition(value, node) for value in below)))
        arguments = self.reals(below, node)
        meanings = [meaning for meaning, _ in arguments]
        if name in _RELATIONS:
            return Value(_RELATIONS[name](*meanings))
        function = FUNCTIONS[name]
        numbers = [number for _, number in arguments if number is not None]
        long = max(map(power_bits, meanings)) > MAX_ROOT_BITS
        if len(numbers) < len(arguments):
            if long:
                raise TooLargeError(_TOO_LONG)
            if (
                name in ("exp", "expm1")
                and power_bits(sp.exp(meanings[0], evaluate=False)) > MAX_POWER_BITS
            ):
                raise TooLargeError(_TOO_LARGE)
            return Value(function.build(*meanings))
        number = finite(function.value(*numbers))
        inexact = any(meaning.has(sp.Float) for meaning in meanings)
        if inexact or long or max(map(abs, numbers)) > function.exact:
            return Value(sp.Float(number), number)
        return Value(function.build(*meanings), number)

    def piecewise(self, pairs: list[tuple[Value, ...]], node: ast.expr) -> Value:
        cases = []
        for pair in pairs:
            if len(pair) != 2:
                raise self.error("Piecewise takes (value, condition) pairs", node)
            value, condition = self.real(pair[0], node)[0], self.condition(pair[1], node)
            if condition != sp.false:
                cases.append((value, condition))
            if condition == sp.true:
                break
        if not cases:
            raise self.error("no case of this Piecewise can occur", node)
        if cases[0][1] == sp.true:
            return Value(cases[0][0])
        # Unevaluated: SymPy would solve compound conditions for their symbol.
        return Value(sp.Piecewise(*cases, evaluate=False))

    # ------------------------------------------------------------ kinds

    def real(self, value: Value, node: ast.expr) -> Real:
        if value.pair:
            raise self.error("a comma is refused here", node)
        if isinstance(node, ast.Tuple):
            raise self.error("a name or a number is missing here", node)
        if not isinstance(value.meaning, sp.Expr):
            raise self.error("a number is needed here, not a condition", node)
        return value.meaning, value.number

    def reals(self, values: list[Value], node: ast.expr) -> list[Real]:
        return [self.real(value, node) for value in values]

    def condition(self, value: Value, node: ast.expr) -> sp.Basic:
        if value.pair or not isinstance(value.meaning, _CONDITION):
            raise self.error(
                "a condition such as x > 0 is needed here; put each side of & and | in parentheses",
                node,
            )
        return value.meaning


def _arity(name: str) -> tuple[int, int]:
    if name in FUNCTIONS:
        return FUNCTIONS[name].least, FUNCTIONS[name].most
    many = dict.fromkeys(("And", "Or", "Nand", "Nor", "Piecewise"), (1, 1000))
    some = dict.fromkeys(("Xor", "Equivalent"), (1, 20))  # SymPy compares all pairs
    return {"where": (3, 3), "ITE": (3, 3), "Not": (1, 1), **many, **some}.get(name, (2, 2))


def _infinite(node: ast.expr) -> sp.Expr | None:
    """``oo`` or ``-oo``, the end of an integral."""
    match node:
        case ast.Name(id="oo"):
            return sp.oo
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="oo")):
            return -sp.oo
    return None
