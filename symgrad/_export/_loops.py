"""Steps of a program as C loops.

A step is *kept* in memory if it is a result, is read more than once, or is no elementwise op;
all others are computed where they are read. One loop nest fills each kept array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.c import C99CodePrinter

from .._core.base.broadcast import aligned
from .._core.base.size_text import fraction_of
from .._core.base.sizes import Shape, as_expr
from .._core.graph import Constant, Input, Iota, Literal, Node, SizeOf
from .._core.op import ArrayOp, Placing, Reader, Readers, Reduce, Scan
from ..errors import UnsupportedError
from ._instructions import TYPES, Writer, bare, constant, map_text

#: Elementwise steps are computed in their reader's loop up to this nesting.
NESTING = 24

Index = tuple[Any, ...]

#: For each fold its start and its step, in C: ``{a}`` is the result so far, ``{v}`` a value.
_FOLDS = {
    "add": ("0", "{a} += {v};"),
    "multiply": ("1", "{a} *= {v};"),
    "maximum": ("{first}", "if (!({a} >= {v} || {a} != {a})) {a} = {v};"),
    "minimum": ("{first}", "if (!({a} <= {v} || {a} != {a})) {a} = {v};"),
    "or": ("false", "{a} = {a} || {v};"),
    "and": ("true", "{a} = {a} && {v};"),
}


class IndexPrinter(C99CodePrinter):  # type: ignore[misc]
    """Sizes, indices and relations between them as C."""

    def _print_floor(self, expr: Any) -> str:
        above, below = fraction_of(expr.args[0])
        return f"(({self._print(above)})/({self._print(below)}))"

    def _print_Mod(self, expr: Any) -> str:
        return "(({})%({}))".format(*map(self._print, expr.args))

    def _print_Max(self, expr: Any) -> str:
        return self._extreme(expr, ">")

    def _print_Min(self, expr: Any) -> str:
        return self._extreme(expr, "<")

    def _extreme(self, expr: Any, sign: str) -> str:
        found, *others = map(self._print, expr.args)
        for other in others:
            found = f"({found} {sign} {other} ? {found} : {other})"
        return str(found)

    def _print_Pow(self, expr: Any) -> str:
        return "*".join([f"({self._print(expr.base)})"] * int(expr.exp))


def index_text(expression: Any) -> str:
    """Return a size or an index as C."""
    return str(IndexPrinter().doprint(as_expr(expression)))


def asking(node: Node, asked: dict[sp.Symbol, tuple[Node, Index]]) -> Sequence[Reader]:
    """Return a step's operands in an element formula; each element asked for becomes a symbol."""

    def at(k: int, places: Index) -> sp.Symbol:
        x = node.operands[k]
        symbol = sp.Dummy("e", integer=True) if x.dtype.kind != "f" else sp.Dummy("e")
        asked[symbol] = (x, places)
        return symbol

    return Readers(node.operands, at)


def _moved(asked: Mapping[sp.Symbol, tuple[Node, Index]], to: Mapping[Any, Any]) -> Any:
    """Return the elements that are asked for at other values of indices."""
    return {s: (x, tuple(as_expr(p).xreplace(to) for p in at)) for s, (x, at) in asked.items()}


class Loops:
    """Writes the loops of one function.

    Parameters
    ----------
    writer:
        Where the C goes.
    names:
        The C names of inputs, constants and kept steps.
    """

    def __init__(self, writer: Writer, names: Mapping[Node, str]) -> None:
        self.w, self.names = writer, names
        self.known: dict[tuple[Node, Index], str] = {}

    # ---------------------------------------------------------------- whole steps

    def fill(self, node: Node) -> None:
        """Write the loops that compute a kept step."""
        kind = node.op.kind
        if kind == "scan":
            self._scan(node)
        elif kind in ("assemble", "scatter"):
            self._placed(node)
        elif not node.shape:
            value = self._element(node, ())
            self.w.line(f"const {TYPES[node.dtype.name]} {self.names[node]} = {bare(value)};")
        else:
            self._over(node.shape, lambda index: self._store(node, index))

    def copy(self, node: Node, target: str) -> None:
        """Write the loops that copy a value into a result."""
        if not node.shape:
            self.w.line(f"*{target} = {bare(self.value(node, ()))};")
            return
        self._over(
            node.shape,
            lambda index: self.w.line(
                f"{target}[{flat(index, node.shape)}] = {bare(self.value(node, index))};"
            ),
        )

    def _over(self, shape: Shape, body: Callable[[Index], None]) -> None:
        """Write a loop nest over a shape."""
        index = tuple(self._loop(0, as_expr(d) - 1) for d in shape)
        before, self.known = self.known, {}
        body(index)
        self.known = before
        for _ in shape:
            self.w.close()

    def _loop(self, low: Any, high: Any) -> sp.Symbol:
        name = self.w.fresh("i")
        end = index_text(sp.expand(high + 1))
        self.w.open(f"for (ptrdiff_t {name} = {index_text(low)}; {name} < {end}; ++{name})")
        return sp.Symbol(name, integer=True, nonnegative=True)

    def _store(self, node: Node, index: Index) -> None:
        value = self._element(node, index)
        self.w.line(f"{self.names[node]}[{flat(index, node.shape)}] = {bare(value)};")

    # ---------------------------------------------------------------- elements

    def value(self, node: Node, index: Index) -> str:
        """Return the C expression of an element of a node."""
        if isinstance(node, Literal):
            return constant(node.value)
        if isinstance(node, SizeOf):
            return f"({TYPES[node.dtype.name]})({index_text(node.size)})"
        if isinstance(node, Iota):
            return f"(int64_t)({index_text(index[0])})"
        if node in self.names:
            name = self.names[node]
            return f"{name}[{flat(index, node.shape)}]" if node.shape else name
        key = (node, tuple(map(as_expr, index)))
        if key not in self.known:
            text = self._element(node, index)
            if not text.isidentifier() and node.op.kind != "view":
                name = self.w.fresh("t")
                self.w.line(f"const {TYPES[node.dtype.name]} {name} = {bare(text)};")
                text = name
            self.known[key] = text
        return self.known[key]

    def _element(self, node: Node, index: Index) -> str:
        """Return the C expression of an element, computed from the operands."""
        op = node.op
        if op.kind == "map":
            values = [self.w.token(self.value(x, aligned(index, x.shape))) for x in node.operands]
            token = map_text(self.w, op, [x.dtype for x in node.operands], values, node.params)
            return self.w.text(token)
        if not isinstance(op, ArrayOp):
            raise UnsupportedError(f"{op.name} has no element formula: it cannot be exported to C")
        asked: dict[sp.Symbol, tuple[Node, Index]] = {}
        operands = asking(node, asked)
        formula = as_expr(op.element(index, *operands, **node.params))
        return self._formula(formula, node, asked)

    def _formula(self, formula: Any, node: Node, asked: Any) -> str:
        if formula in asked:
            source, places = asked[formula]
            return self.value(source, tuple(self._place(p, node, asked) for p in places))
        if isinstance(formula, sp.Sum):
            return self._fold("add", formula.function, formula.limits, node, asked)
        if isinstance(formula, sp.Product):
            return self._fold("multiply", formula.function, formula.limits, node, asked)
        if isinstance(formula, AppliedUndef):
            body, *limits = formula.args
            assert isinstance(node.op, Reduce)
            if node.op.place:
                return self._search(node.op.combine, body, limits[0], node, asked)
            return self._fold(node.op.combine, body, limits, node, asked)
        if isinstance(formula, sp.Mul):
            return f"({'*'.join(self._formula(a, node, asked) for a in formula.args)})"
        if formula.is_Integer:
            return str(formula)
        raise UnsupportedError(f"the element formula of {node.op.name} cannot be exported to C")

    def _place(self, place: Any, node: Node, asked: Any) -> Any:
        """Return an index whose elements of other arrays are variables."""
        place = as_expr(place)
        swap = {}
        for symbol in sorted(place.free_symbols & set(asked), key=str):
            name = self.w.fresh("k")
            self.w.line(
                f"const ptrdiff_t {name} = (ptrdiff_t){self._formula(symbol, node, asked)};"
            )
            swap[symbol] = sp.Symbol(name, integer=True)
        return place.xreplace(swap)

    def _fold(self, combine: str, body: Any, limits: Sequence[Any], node: Node, asked: Any) -> str:
        c, name = TYPES[node.dtype.name], self.w.fresh("s")
        start, step = _FOLDS[combine]
        if start == "{first}":
            first = _moved(asked, {k: low for k, low, _ in limits})
            start = bare(self._formula(body, node, first))
        self.w.line(f"{c} {name} = {start};")
        inner = _moved(asked, {k: self._loop(low, high) for k, low, high in limits})
        before, self.known = self.known, {}
        value = self._formula(body, node, inner)
        self.w.line(step.format(a=name, v=bare(value) if combine == "add" else value))
        self.known = before
        for _ in limits:
            self.w.close()
        return name

    def _search(self, combine: str, body: Any, limit: Any, node: Node, asked: Any) -> str:
        """Find the place of the first extremum; nan counts as one."""
        place, best = self.w.fresh("k"), self.w.fresh("s")
        k, low, high = limit
        operand, value = node.operands[0], _moved(asked, {k: low})
        self.w.line(f"{TYPES[node.dtype.name]} {place} = 0;")
        self.w.line(f"{TYPES[operand.dtype.name]} {best} = {self._formula(body, node, value)};")
        i = self._loop(low, high)
        before, self.known = self.known, {}
        text = self._formula(body, node, _moved(asked, {k: i}))
        sign = ">=" if combine == "maximum" else "<="
        self.w.open(f"if (!({best} {sign} {text} || {best} != {best}))")
        self.w.line(f"{best} = {text};")
        self.w.line(f"{place} = {i};")
        self.w.close()
        self.known = before
        self.w.close()
        return place

    # ---------------------------------------------------------------- scans, assemblies

    def _scan(self, node: Node) -> None:
        axis, backwards = node.params["axis"], node.params["reverse"]
        others = tuple(d for k, d in enumerate(node.shape) if k != axis)
        assert isinstance(node.op, Scan)
        combine, c = node.op.combine, TYPES[node.dtype.name]

        def run(rest: Index) -> None:
            carry = self.w.fresh("s")
            self.w.line(f"{c} {carry} = {1 if combine == 'multiply' else 0};")
            step = self._loop(0, as_expr(node.shape[axis]) - 1)
            at = as_expr(node.shape[axis]) - 1 - step if backwards else step
            index = (*rest[:axis], at, *rest[axis:])
            values = [self.value(x, aligned(index, x.shape)) for x in node.operands]
            if combine == "recurrence":
                self.w.line(f"{carry} = {values[0]}*{carry} + {values[1]};")
            else:
                self.w.line(_FOLDS[combine][1].format(a=carry, v=values[0]))
            self.w.line(f"{self.names[node]}[{flat(index, node.shape)}] = {carry};")
            self.w.close()

        self._over(others, run)

    def _placed(self, node: Node) -> None:
        """Zeros, to which the parts are added at their places, or over which they are written."""
        name, op = self.names[node], node.op
        assert isinstance(op, Placing)
        where = op.place

        def begin(index: Index) -> None:
            first = bare(self.value(node.operands[1], index)) if op.over else "0"
            self.w.line(f"{name}[{flat(index, node.shape)}] = {first};")

        self._over(node.shape, begin)
        for number, part in enumerate(node.operands[: op.parts_of(node.operands)]):
            sign = "=" if op.last or op.begins(number, node.params) else "+="

            def add(
                index: Index, number: int = number, part: Node = part, sign: str = sign
            ) -> None:
                asked: dict[sp.Symbol, tuple[Node, Index]] = {}
                operands = asking(node, asked)
                place = where(number, index, operands, **node.params)
                target = tuple(
                    self._wrapped(self._place(p, node, asked), d) if p in asked else as_expr(p)
                    for p, d in zip(place, node.shape, strict=True)
                )
                value = bare(self.value(part, index))
                self.w.line(f"{name}[{flat(target, node.shape)}] {sign} {value};")

            self._over(part.shape, add)

    def _wrapped(self, place: Any, size: Any) -> Any:
        """Count a negative index from the end."""
        name, end = self.w.fresh("k"), index_text(size)
        self.w.line(f"const ptrdiff_t {name} = {place} < 0 ? {place} + {end} : {place};")
        return sp.Symbol(name, integer=True)


# ---------------------------------------------------------------- places


def flat(index: Index, shape: Shape) -> str:
    """Return the position of an element in an array in C order."""
    position: Any = sp.S.Zero
    for i, d in zip(index, shape, strict=True):
        position = position * d + i
    return index_text(sp.factor_terms(position) if len(shape) == 1 else position)


def kept_steps(steps: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    """Return the steps that are kept in memory; the others are computed where they are read."""
    readers: dict[Node, list[Node]] = {}
    for node in steps:
        for x in node.operands:
            readers.setdefault(x, []).append(node)
    kept = set(outputs)
    nesting: dict[Node, int] = {}
    for node in steps:
        depth = 1 + max((nesting.get(x, 0) for x in node.operands if x not in kept), default=0)
        if (
            node.op.kind not in ("map", "view")
            or (node.op.kind == "map" and not node.shape)
            or depth > NESTING
            or (node.op.kind == "map" and not _read_once(node, readers.get(node, [])))
        ):
            kept.add(node)
        nesting[node] = depth
    return {n for n in kept if not isinstance(n, Input | Constant) and n.op.kind != "leaf"}


def _read_once(node: Node, readers: list[Node]) -> bool:
    """Tell whether each element is read once: by one elementwise op or fold of this shape."""
    if len(readers) != 1:
        return False
    (reader,) = readers
    return reader.op.kind == "reduce" or (reader.op.kind == "map" and reader.shape == node.shape)
