"""Element formulas as recipes: compiled once for a node, carried out for each element.

The record of an array op gives the formula of one element in SymPy, for a symbolic index.
A recipe carries it out for a concrete index: it asks for the elements it reads and combines
them. Recipes are generators, so that a graph of any depth is walked without recursion: they
yield the ``(node, index)`` they need and are sent its scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import product
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from .._core.base.sizes import as_expr
from .._core.graph import Node
from .._core.op import ArrayOp, Readers
from ..errors import UnsupportedError
from ._closures import RELATIONS, Closure, closure
from ._rules import Calculus
from ._scalars import Applied, Extreme, Multiple, Scalar, Total, decision

# ---------------------------------------------------------------- index arithmetic


Environment = dict[sp.Symbol, int]
Whole = Callable[[Environment], Any]


def whole_number(e: Any) -> Whole:
    """Return an index expression as a function of the values of its symbols."""
    e = as_expr(e)
    if e.is_Integer:
        number = int(e)
        return lambda env: number
    if e.is_Symbol:
        return lambda env: env[e]
    if isinstance(e, sp.floor):
        top, bottom = (whole_number(part) for part in e.args[0].as_numer_denom())
        return lambda env: top(env) // bottom(env)
    args = [whole_number(a) for a in e.args]
    if isinstance(e, sp.Mod):
        x, y = args
        return lambda env: x(env) % y(env)
    if e.is_Add:
        return lambda env: sum(a(env) for a in args)
    if e.is_Mul:

        def multiply(env: Environment) -> Any:
            total = 1
            for a in args:
                total *= a(env)
            return total

        return multiply
    if isinstance(e, (sp.Max, sp.Min)):
        pick = max if isinstance(e, sp.Max) else min
        return lambda env: pick(a(env) for a in args)
    raise UnsupportedError(f"the index expression {e} cannot be evaluated")


def condition(e: Any) -> Whole:
    """Return a condition on indices as a function of the values of its symbols."""
    if e in (sp.true, sp.false) or isinstance(e, bool):
        truth = bool(e)
        return lambda env: truth
    relation = RELATIONS.get(e.func)
    if relation is not None:
        # Both sides over one denominator: i/2 <= 3/2 needs no fractions.
        top, bottom = (e.lhs - e.rhs).as_numer_denom()
        if bottom.is_negative or not bottom.is_Integer:
            raise UnsupportedError(f"the condition {e} cannot be evaluated")
        gap = whole_number(top)
        return lambda env: relation(gap(env), 0)
    args = [condition(a) for a in e.args]
    if isinstance(e, sp.And):
        return lambda env: all(a(env) for a in args)
    if isinstance(e, sp.Or):
        return lambda env: any(a(env) for a in args)
    if isinstance(e, sp.Not):
        return lambda env: not args[0](env)
    raise UnsupportedError(f"the condition {e} cannot be evaluated")


# ---------------------------------------------------------------- recipes

Key = tuple[Node, tuple[int, ...]]
Steps = Generator[Key, Scalar, Scalar]
Recipe = Callable[[Environment], Steps]

DECISIONS = ("Argmax", "Argmin", "Any", "All")


class Template:
    """The element formula of a node, as a recipe.

    Parameters
    ----------
    node:
        A node of a kind that has an element formula, with sizes that are numbers.
    leaf:
        ``leaf(number, dtype)`` gives the scalar of a number in the formula.
    """

    def __init__(self, node: Node, context: Any, leaf: Callable[..., Scalar]) -> None:
        assert isinstance(node.op, ArrayOp)
        self.node, self.context, self.leaf = node, context, leaf
        self.nothing = leaf(sp.Integer(0), node.dtype)
        self.reads: dict[sp.Symbol, tuple[Node, tuple[Any, ...]]] = {}
        self.index = [
            sp.Dummy(f"i{k}", integer=True, nonnegative=True) for k in range(len(node.shape))
        ]

        def at(k: int, place: tuple[Any, ...]) -> sp.Symbol:  # each read becomes a symbol
            x = node.operands[k]
            symbol = sp.Dummy("e", **{"real" if x.dtype.kind == "f" else "integer": True})
            self.reads[symbol] = (x, place)
            return symbol

        operands = Readers(node.operands, at)
        formula = node.op.element(tuple(self.index), *operands, **node.params)
        self.recipe = self._compile(as_expr(formula))

    def __call__(self, index: Sequence[int]) -> Steps:
        """Compute the element at ``index``."""
        return self.recipe(dict(zip(self.index, index, strict=True)))

    # ---------------------------------------------------------------- recipes

    def _compile(self, e: Any) -> Recipe:
        if e in self.reads:
            return self._read(e)
        if e.is_Number:
            scalar = self.leaf(e, self.node.dtype) if e != 0 else self.nothing
            return lambda env: _ready(scalar)
        if isinstance(e, (sp.Sum, sp.Product)):
            return self._fold(e.function, e.limits, Total if isinstance(e, sp.Sum) else Multiple)
        if isinstance(e, AppliedUndef):
            return self._named(e)
        if isinstance(e, sp.Piecewise):
            return self._piecewise(e)
        if e.is_Add or e.is_Mul:
            return self._combine(e)
        return self._unusual(e)

    def _read(self, symbol: sp.Symbol) -> Recipe:
        node, index = self.reads[symbol]
        places = [whole_number(as_expr(i)) for i in index]
        needs = self._needs(index)

        def run(env: Environment) -> Steps:
            if needs:
                env = yield from self._positions(needs, env)
            return (yield node, tuple([int(p(env)) for p in places]))

        return run

    def _needs(self, expressions: Sequence[Any]) -> list[tuple[sp.Symbol, Recipe]]:
        """The computed positions (elements of index arrays) among ``expressions``."""
        symbols = set().union(*(as_expr(e).free_symbols for e in expressions))
        return [(s, self._read(s)) for s in self.reads if s in symbols]

    def _positions(
        self, needs: list[tuple[sp.Symbol, Recipe]], env: Environment
    ) -> Generator[Key, Scalar, Environment]:
        env = dict(env)
        for symbol, recipe in needs:
            scalar = yield from recipe(env)
            env[symbol] = int(scalar.value)
        return env

    def _all(self, body: Recipe, limits: Sequence[Any]) -> Callable[
        [Environment], Generator[Key, Scalar, list[Scalar]]
    ]:  # fmt: skip
        names = [k for k, _, _ in limits]
        bounds = [(whole_number(low), whole_number(high)) for _, low, high in limits]

        def run(env: Environment) -> Generator[Key, Scalar, list[Scalar]]:
            env, parts = dict(env), []
            for place in product(*(range(low(env), high(env) + 1) for low, high in bounds)):
                env.update(zip(names, place, strict=True))
                parts.append((yield from body(env)))
            return parts

        return run

    def _fold(self, body: Any, limits: Sequence[Any], combine: Any) -> Recipe:
        collect = self._all(self._compile(body), limits)

        def run(env: Environment) -> Steps:
            return self._joined(combine, (yield from collect(env)))

        return run

    def _joined(self, combine: Any, parts: list[Scalar]) -> Scalar:
        if combine is Total:  # regions that do not cover this element
            parts = [p for p in parts if p is not self.nothing] or [self.nothing]
        return parts[0] if len(parts) == 1 else combine(self.context, parts, self.node.dtype)

    def _named(self, e: Any) -> Recipe:
        """Maximum, minimum, and what they decide: ``Max(x[k], (k, 0, n - 1))``."""
        name, (body, *limits) = type(e).__name__, e.args
        collect = self._all(self._compile(body), limits)
        if name in DECISIONS:

            def combine(parts: list[Scalar]) -> Scalar:
                return decision(self.context, name, parts, self.node.dtype)
        elif name in ("Max", "Min"):

            def combine(parts: list[Scalar]) -> Scalar:
                return Extreme(self.context, parts, self.node.dtype, name == "Max")
        else:
            raise UnsupportedError(f"the element formula of {self.node.op.name} uses {name}, "
                                   "which has no exact value")  # fmt: skip

        def run(env: Environment) -> Steps:
            return combine((yield from collect(env)))

        return run

    def _piecewise(self, e: Any) -> Recipe:
        pieces = [(self._compile(as_expr(x)), condition(c), self._needs([c])) for x, c in e.args]

        def run(env: Environment) -> Steps:
            for recipe, holds, needs in pieces:
                known = (yield from self._positions(needs, env)) if needs else env
                if holds(known):
                    return (yield from recipe(env))
            return self.nothing

        return run

    def _combine(self, e: Any) -> Recipe:
        terms = [self._compile(a) for a in e.args]
        kind = Total if e.is_Add else Multiple

        def run(env: Environment) -> Steps:
            return self._joined(kind, (yield from _each(terms, env)))

        return run

    def _unusual(self, e: Any) -> Recipe:
        """Any other formula of elements, as an elementwise op is treated."""
        symbols = [s for s in self.reads if s in e.free_symbols]
        places = sorted(e.free_symbols - set(symbols), key=str)
        if places and (symbols or e.is_integer):
            number = whole_number(e)
            return lambda env: _ready(self.leaf(sp.Integer(number(env)), self.node.dtype))
        if places:
            return self._factor(closure(e, places), places)
        reads = [self._read(s) for s in symbols]
        kinds = [self.reads[s][0].dtype.kind == "f" for s in symbols]
        calculus = Calculus(e, symbols, kinds)

        def run(env: Environment) -> Steps:
            parts = yield from _each(reads, env)
            return Applied(self.context, calculus, parts, self.node.dtype)

        return run

    def _factor(self, function: Closure, places: list[sp.Symbol]) -> Recipe:
        """A real number for each index, as the factors of a Fourier transform are.

        A library computes it from others by additions: its error is one of numbers near 1.
        """

        def run(env: Environment) -> Steps:
            value = function(self.context, [env[p] for p in places])
            scalar = Scalar(self.context, self.context.mpf(value), self.node.dtype)
            unit, _ = self.context.rounding(self.node.dtype)
            scalar.error = unit * max(self.context.one, abs(scalar.value))
            return _ready(scalar)

        return run


def _each(recipes: Sequence[Recipe], env: Environment) -> Generator[Key, Scalar, list[Scalar]]:
    parts = []
    for recipe in recipes:
        part = yield from recipe(env)
        parts.append(part)
    return parts


def _ready(scalar: Scalar) -> Steps:
    yield from ()
    return scalar
