"""Programs as LaTeX: an ``align`` block in index notation, one line a step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from .._core.base.broadcast import aligned
from .._core.base.sizes import as_expr
from .._core.graph import Iota, Literal, Node, SizeOf
from .._core.op import PROJECTIONS, ArrayOp, Bodied, Map, Readers, Words
from .._core.program import Steps
from .._symbolic import index_symbols, readable_number
from .._symbolic._bound_functions import BY_NAME
from .._symbolic._names import rename_bound
from ..errors import UnsupportedError

Index = tuple[Any, ...]


def latex(program: Steps) -> str:
    """Return the program as a LaTeX ``align`` block: see :meth:`symgrad.Program.latex`."""
    taken = {n.name for n in program.inputs} | {str(s) for s in program.sizes}
    lines = [_line(n, program.names, taken) for n in program.steps]
    if not lines:
        lines = [_result(x, program.names, taken) for x in program.outputs]
    return "\n".join([r"\begin{align}", " \\\\\n".join(lines), r"\end{align}"])


def _line(node: Node, names: Mapping[Node, str], taken: set[str]) -> str:
    index = tuple(index_symbols(node.ndim, taken))
    if 0 in node.shape:
        right = r"\text{(no elements)}"
    elif node.op.kind == "map":
        right = _mapped(node, index, names)
    elif node.op.kind in PROJECTIONS:
        part = f"{_place(names[node.operands[0]], ())}^{{({node.params['index']})}}"
        right = f"{{{part}}}_{{{','.join(map(_index_text, index))}}}" if index else part
    elif isinstance(node.op, Bodied):
        right = _call(node, (), names)
    else:
        try:
            right = _element(node, index, names, taken)
        except UnsupportedError:  # no formula for an element: a factorisation, a loop
            right = _call(node, index, names)
    return f"{_place(names[node], index)} &= {right}"


def _call(node: Node, index: Index, names: Mapping[Node, str]) -> str:
    """Return an op as a function of whole arrays, with the index of the element outside."""
    operands = ", ".join(
        str(sp.latex(_number(x))) if isinstance(x, (Literal, SizeOf)) else _symbol_text(names[x])
        for x in node.operands
    )
    call = rf"\operatorname{{{node.op.name}}}\left({operands}\right)"
    places = ",".join(map(_index_text, index))
    return f"{{{call}}}_{{{places}}}" if index else call


def _result(node: Node, names: Mapping[Node, str], taken: set[str]) -> str:
    """Return the line of an output that needs no step."""
    index = tuple(index_symbols(node.ndim, taken))
    return f"{_place('result', index)} &= {_value(node, index, names)}"


@lru_cache(maxsize=65536)
def _symbol_text(name: str) -> str:
    return str(sp.latex(sp.Symbol(name)))


def _place(name: str, index: Index) -> str:
    text = _symbol_text(name)
    return f"{{{text}}}_{{{','.join(_index_text(i) for i in index)}}}" if index else text


@lru_cache(maxsize=4096)
def _index_text(index: Any) -> str:
    return str(sp.latex(index))


def _value(node: Node, index: Index, names: Mapping[Node, str]) -> str:
    """Return an element of an operand, aligned as broadcasting does."""
    if isinstance(node, (Literal, SizeOf)):
        return str(sp.latex(_number(node)))
    own = aligned(index, node.shape)
    return _index_text(own[0]) if isinstance(node, Iota) else _place(names[node], own)


def _number(node: Node) -> Any:
    return readable_number(node.value) if isinstance(node, Literal) else as_expr(node.size)


# ---------------------------------------------------------------- elementwise steps


def _mapped(node: Node, index: Index, names: Mapping[Node, str]) -> str:
    values = [_value(x, index, names) for x in node.operands]
    text = None
    assert isinstance(node.op, Map)
    if node.op.sympy is not None or (Words.of(node.op).reading and node.items):
        # Numbers take part in the layout of a formula (3 x, not x 3), names do not.
        numbers = [_number(x) if isinstance(x, (Literal, SizeOf)) else None for x in node.operands]
        text = _template(node.op, node.items, tuple(numbers))
    if text is None:
        return rf"\operatorname{{{node.op.name.lower()}}}\left({', '.join(values)}\right)"
    for k, value in enumerate(values):
        text = text.replace(f"\0{k}\0", value)
    return text


@lru_cache(maxsize=4096)
def _template(op: Map, items: tuple[tuple[str, Any], ...], fixed: tuple[Any, ...]) -> str | None:
    """An op's formula with places for the operands that are no numbers.

    None if it has none of them: that no real number is nan does not say what a step computes.
    """
    places = {
        k: sp.Dummy(real=True, integer=True if sp.Integers in op.domain[k : k + 1] else None)
        for k, number in enumerate(fixed) if number is None
    }  # fmt: skip
    operands = [places.get(k, number) for k, number in enumerate(fixed)]
    written = op.sympy or Words.of(op).reading
    assert written is not None
    with sp.evaluate(False):
        form = written(*operands, **dict(items))
    if places and not form.free_symbols:
        return None
    shown = {symbol: f"\0{k}\0" for k, symbol in places.items()}
    return str(sp.latex(form, symbol_names=shown))


# ---------------------------------------------------------------- array steps


def _element(node: Node, index: Index, names: Mapping[Node, str], taken: set[str]) -> str:
    assert isinstance(node.op, ArrayOp)

    def at(k: int, place: Index) -> Any:
        x = node.operands[k]
        if isinstance(x, (Literal, SizeOf)):
            return _number(x)
        if isinstance(x, Iota):
            return place[0]
        symbol = sp.Symbol(names[x], **{"real" if x.dtype.kind == "f" else "integer": True})
        return sp.IndexedBase(symbol)[place] if x.shape else symbol

    operands = Readers(node.operands, at)
    formula = as_expr(node.op.element(index, *operands, **node.params))
    for over in formula.atoms(AppliedUndef):
        made = BY_NAME.get(type(over).__name__)
        if made is not None:
            formula = formula.xreplace({over: made(*over.args)})
    used = taken | {names[x] for x in node.operands} | {str(i) for i in index}
    return str(sp.latex(rename_bound(formula, used)))
