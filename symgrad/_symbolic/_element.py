"""A graph in index notation: what one element of a node is, as one SymPy expression.

Elementwise ops give their SymPy form; array ops give their element formula. Inputs become
symbols (numbers) or indexed symbols (arrays), sizes stay symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.piecewise import ExprCondPair

from .._core.base.broadcast import aligned
from .._core.base.sizes import Shape, as_expr
from .._core.graph import Constant, Input, Iota, Literal, Node, SizeOf
from .._core.op import ArrayOp, Readers, Words
from .._parse import MAX_POWER_BITS, power_bits
from ..errors import UnsupportedError
from ._binders import Pair, bound, cases, hides_cases, rebuilt, replaced, unevaluated
from ._bound_functions import BY_NAME, AllOver, AnyOver
from ._constants import as_formula, exact_number, readable_number
from ._limits import INSTEAD

Key = tuple[Node, tuple[Any, ...]]

#: A formula of more elements than this is nobody's to read.
NODES = 2000
#: SymPy prints and differentiates by recursion: deeper expressions exhaust Python's stack.
DEPTH = 80

#: Operations of a formula in which what is used more than once is written out each time.
SIZE = 400

#: Nodes of a formula's expression, as often as they are written. One operation may be many, and
#: a case distinction of case distinctions takes SymPy minutes. Proofs do without this limit.
WRITTEN = 4000

#: Functions of larger numbers are evaluated in floating point.
EXACT = 1000

TOO_LARGE = (
    f"the function is too large to be written as one formula (more than {NODES} elements, nested "
    f"deeper than {DEPTH} operations, or more than {SIZE} operations or {WRITTEN} symbols where "
    f"what is used twice is written twice): {INSTEAD}"
)


@contextmanager
def sympy_depth() -> Iterator[None]:
    """Refuse what SymPy's own recursion has no stack for: one operation may be many levels."""
    try:
        yield
    except RecursionError:
        raise UnsupportedError(TOO_LARGE) from None


@dataclass
class _Frame:
    """An element whose formula is known, waiting for the elements that occur in it."""

    key: Key
    formula: Any
    waiting: list[tuple[sp.Symbol, Key]]
    known: dict[sp.Symbol, Any] = field(default_factory=dict)
    depth: int = 0
    size: int = 0


class Elements:
    """Expands nodes of one graph to element expressions; equal elements only once.

    Parameters
    ----------
    exact:
        Whether numbers in the function are their exact binary values (for proofs) or what
        a reader expects (``0.1``, ``pi``).
    taken:
        Names that closed-over arrays must not get.
    named:
        Nodes that are not expanded but appear under a name.
    lengths:
        For numbers that a size is known to be: the size's symbol, which is then written.
    """

    def __init__(
        self,
        exact: bool = False,
        taken: Iterable[str] = (),
        named: Mapping[Node, str] | None = None,
        lengths: Mapping[Any, Any] | None = None,
    ) -> None:
        self.exact, self.taken, self.named = exact, set(taken), named or {}
        self.lengths = lengths or {}
        self.memo: dict[Key, tuple[Any, int, int]] = {}
        self.constants: dict[Node, str] = {}
        self._written: dict[Any, int] = {}

    def expression(self, node: Node, index: tuple[Any, ...]) -> Any:
        """Return element ``index`` of ``node``.

        Raises
        ------
        UnsupportedError
            If the formula would be too large to read.
        """
        root: Key = (node, tuple(map(as_expr, index)))
        stack = [] if root in self.memo else [self._frame(root)]
        while stack:
            frame = stack[-1]
            if frame.waiting:
                symbol, (source, places) = frame.waiting[0]
                # A position may be an element itself (x[index[i]]): those come first.
                wanted = (source, tuple(_position(p.xreplace(frame.known)) for p in places))
                if wanted not in self.memo:
                    stack.append(self._frame(wanted))
                    continue
                frame.waiting.pop(0)
                frame.known[symbol], depth, size = self.memo[wanted]
                frame.depth = max(frame.depth, depth)
                frame.size += size
                continue
            stack.pop()
            self._enter(frame)
        return self.memo[root][0]

    def _enter(self, frame: _Frame) -> None:
        node = frame.key[0]
        counts = node.op.kind not in ("leaf", "view")
        depth, size = frame.depth + counts, frame.size + counts
        if len(self.memo) >= NODES or depth > DEPTH or size > SIZE:
            raise UnsupportedError(TOO_LARGE)
        known = node in self.named
        with sympy_depth():
            formula = (
                frame.formula if known else _filled(node, frame.formula, frame.known, self.exact)
            )
        if not self.exact and self._length(formula) > WRITTEN:
            raise UnsupportedError(TOO_LARGE)
        self.memo[frame.key] = (formula, depth, size)

    def _length(self, formula: Any) -> int:
        """Return how many nodes an expression has, as often as they are written."""
        known, stack = self._written, [formula]
        while stack:
            new = [a for a in getattr(stack[-1], "args", ()) if a not in known]
            stack += new
            if not new:
                e = stack.pop()
                known[e] = 1 + sum(known[a] for a in getattr(e, "args", ()))
        return known[formula]

    def _frame(self, key: Key) -> _Frame:
        node, index = key
        if node in self.named:
            return _Frame(key, element_symbol(self.named[node], node, index), [])
        if node.op.kind == "leaf":
            return _Frame(key, self._leaf(node, index), [])
        asked: dict[sp.Symbol, Key] = {}

        def at(k: int, place: tuple[Any, ...]) -> sp.Symbol:  # each element becomes a symbol
            x = node.operands[k]
            symbol = sp.Dummy("e", **{"real" if x.dtype.kind == "f" else "integer": True})
            asked[symbol] = (x, tuple(map(as_expr, place)))
            return symbol

        operands = Readers(node.operands, at, lambda x: with_lengths(x.shape, self.lengths))
        if node.op.kind == "map":
            # Filled in by the op's own form: SymPy's evaluation needs the real operands.
            formula: Any = [x[aligned(index, x.shape)] for x in operands]
        else:
            if not isinstance(node.op, ArrayOp):
                raise UnsupportedError(f"the program has no formula: {Words.of(node.op).doc}")
            element = Words.of(node.op).reading or node.op.element
            try:
                formula = element(index, *operands, **node.params)
            except UnsupportedError as error:
                place = f" [{node.where}]" if node.where else ""
                raise UnsupportedError(
                    f"{error}{place}: write a function of its result to read a formula, or read "
                    "the program, sg.grad(f).program(*args)"
                ) from None
        return _Frame(key, formula, list(asked.items()))

    def _leaf(self, node: Node, index: tuple[Any, ...]) -> Any:
        if isinstance(node, Input):
            if not node.shape:
                return node.symbol
            return indexed(node)[index]
        if isinstance(node, Literal):
            return self._literal(node.value)
        if isinstance(node, Constant):
            if all(i.is_Integer for i in index):
                place = tuple(map(int, index))
                if not all(0 <= k < n for k, n in zip(place, node.array.shape, strict=True)):
                    return sp.nan  # in a case that is not taken
                return self._literal(node.array[place])
            known = None if self.exact else as_formula(node.array, index, self._literal)
            if known is not None:
                return known
            if node not in self.constants:
                free = (f"c{k}" for k in range(10**6) if f"c{k}" not in self.taken)
                self.constants[node] = next(free)
                self.taken.add(self.constants[node])
            return sp.IndexedBase(self.constants[node], real=True)[index]
        if isinstance(node, SizeOf):
            return as_expr(node.size)
        assert isinstance(node, Iota)
        return index[0]

    def _literal(self, value: Any) -> Any:
        return exact_number(value) if self.exact else readable_number(value)


def indexed(node: Input) -> Any:
    """Return an array input as SymPy's indexed base."""
    if node.dtype.kind == "f":
        return sp.IndexedBase(node.name, real=True)
    return sp.IndexedBase(node.name, integer=True)


def _position(place: Any) -> Any:
    """Return a position as ``Mod(k, n)`` where NumPy counts negative ones from the end."""
    if isinstance(place, sp.Piecewise) and len(place.args) == 2:
        (shifted, below), (plain, always) = place.args
        if always == sp.true and below == (plain < 0):
            return sp.Mod(plain, sp.expand(shifted - plain), evaluate=False)
    return place


def with_lengths(shape: Shape, lengths: Mapping[Any, Any]) -> Shape:
    """Return a shape with symbols for the numbers that are known to be a size."""
    return tuple(lengths.get(d, d) for d in shape) if lengths else shape


def element_symbol(name: str, node: Node, index: tuple[Any, ...]) -> Any:
    """Return an element of a node under a name of its own."""
    kind = {"real": True} if node.dtype.kind == "f" else {"integer": True}
    return sp.IndexedBase(name, **kind)[index] if node.shape else sp.Symbol(name, **kind)


def _filled(node: Node, formula: Any, known: Mapping[sp.Symbol, Any], exact: bool) -> Any:
    """Put the elements in the place of the symbols that stand for them."""
    if node.op.kind == "map":
        return _mapped(node, [known[s] for s in formula], exact)
    formula = unevaluated(as_expr(formula))
    if formula in known:
        return known[formula]
    values = dict(known)
    if not isinstance(formula, AppliedUndef) or type(formula).__name__ not in ("Any", "All"):
        values = {s: _number(v) for s, v in known.items()}
    for over in formula.atoms(AppliedUndef):
        made = BY_NAME.get(type(over).__name__)
        if made is not None:
            body, *rest = over.args
            inside = replaced(body, values)
            if made in (AnyOver, AllOver) and not is_condition(inside):
                inside = sp.Ne(inside, 0)
            formula = replaced(formula, {over: made(inside, *rest)})
    return replaced(formula, values) if node.op.kind != "leaf" else formula


def _mapped(node: Node, operands: list[Any], exact: bool) -> Any:
    first, second = Words.of(node.op).reading, node.op.sympy
    form = second or first if exact else first or second
    if form is None:
        return sp.Function(node.op.name)(*operands)
    if node.op.name == "StopGradient":
        return operands[0]
    if not exact:
        operands = _bounded(node, operands)
    hidden = {_stand_in(x): x for x in operands if hides_cases(x)}
    if hidden:
        stands = {x: mark for mark, x in hidden.items()}
        marked = _form(form, [stands.get(x, x) for x in operands], node.params)
        if as_expr(marked).has(sp.Piecewise):
            return replaced(marked, hidden)
    return _form(form, operands, node.params)


def _form(form: Callable[..., Any], operands: list[Any], params: Mapping[str, Any]) -> Any:
    try:
        return form(*operands, **params)
    except TypeError:  # arithmetic with truth values
        return form(*map(_number, operands), **params)


#: Bases of the ops that raise a number to a power.
_BASES = {"Exp2": 2, "Exp10": 10, "Scale": 2, "LeftShift": 2, "RightShift": 2, "Ldexp": 2}


def _bounded(node: Node, operands: list[Any]) -> list[Any]:
    """Return operands on which SymPy's evaluation writes out no enormous exact number.

    Raises
    ------
    UnsupportedError
        If there are none.
    """
    name, last = node.op.name, operands[-1]
    bits = 0.0
    if name in ("Power", "FloatPower"):
        bits = power_bits(*operands)
    elif name in ("Exp", "Expm1") and last.has(sp.log):
        bits = power_bits(sp.exp(last, evaluate=False))
    elif name in _BASES:
        bits = power_bits(sp.Integer(_BASES[name]), last)
    elif isinstance(node.op.sympy, type) and issubclass(node.op.sympy, sp.Function):
        return _without_large(operands)
    _require_bits(bits, f" [{node.where}]" if node.where else "")
    return operands


def _without_large(operands: list[Any]) -> list[Any]:
    """Exact values of gamma or zeta have as many digits as the number that they are of."""
    return [
        sp.Float(float(x)) if isinstance(x, sp.Rational) and abs(x) > EXACT else x for x in operands
    ]


def _require_bits(bits: float, place: str = "") -> None:
    if bits > MAX_POWER_BITS:
        raise UnsupportedError(
            f"SymPy would write out a power of a number with {bits:.3g} binary digits{place}: "
            f"{INSTEAD}"
        )


def refilled(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return a formula with others in the place of symbols, evaluated as SymPy does.

    Raises
    ------
    UnsupportedError
        If SymPy would write out an enormous number.
    """
    known, stack = dict(values), [formula]
    while stack:
        e = stack[-1]
        new = [a for a in e.args if a not in known] if e not in known else []
        stack += new
        if not new:
            stack.pop()
            if e not in known:
                known[e] = _refilled(e, [known[a] for a in e.args]) if e.args else e
    return known[formula]


def _refilled(e: Any, args: list[Any]) -> Any:
    if isinstance(e, ExprWithLimits):
        return bound(type(e), args[0], args[1:])
    if isinstance(e, sp.Piecewise):
        return cases(*args)
    if isinstance(e, ExprCondPair):
        return Pair(*args)
    if isinstance(e, sp.Pow):
        _require_bits(power_bits(*args))
    elif isinstance(e, sp.exp) and args[0].has(sp.log):
        _require_bits(power_bits(sp.exp(args[0], evaluate=False)))
    elif isinstance(e, sp.Function):
        args = _without_large(args)
    return rebuilt(e, args)


def _stand_in(x: Any) -> Any:
    """Return what stands for an operand while a Piecewise is made of it."""
    mark = sp.Dummy("e", real=True)
    return sp.Ne(mark, 0) if is_condition(x) else mark


def is_condition(x: Any) -> bool:
    """Tell whether a SymPy value is true or false, not a number (symbols are numbers)."""
    return isinstance(x, sp.logic.boolalg.Boolean) and not isinstance(x, sp.Symbol)


def _number(x: Any) -> Any:
    return cases((1, x), (0, True)) if is_condition(x) else x
