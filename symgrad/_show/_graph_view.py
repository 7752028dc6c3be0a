"""What pictures of a computation show: its values, local derivatives and gradients.

A view is made once, of eager tensors or of a Program, and drawn in two ways: as Graphviz DOT
and as the page that steps through it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import sympy as sp

from .._core.base.size_text import Operand
from .._core.graph import Where
from .._core.op import Code, Map, Op, Reduce
from .._core.program import call_text
from .._symbolic import derivative_of

Array: TypeAlias = np.ndarray[Any, Any]
Kind = Literal["leaf", "constant", "op"]

#: Texts of more characters are cut where they are drawn into the graph.
LONGEST = 32
#: Arrays of at most this many elements are shown whole.
WHOLE = 6


#: A matrix product as ``einsum``: the last index of one operand is summed with the first of the
#: other.
_PRODUCT = re.compile(r'^einsum\("(\w?)(\w),\2(\w?)->\1\3", (\S+), (\S+), optimize=True\)$')

#: What a formula of a local derivative is not shown with: choices, and operands not known.
_UNREADABLE = re.compile("Piecewise|…")


class Vertex(NamedTuple):
    """A value of the computation.

    Attributes
    ----------
    kind:
        A leaf (differentiated by), a constant, or the result of an op.
    name:
        What formulas call it; a constant is called by its number.
    formula:
        How it was computed, in the operands' names; empty for leaves and constants.
    op:
        The op's name.
    shape, value:
        Its shape as text, and the value or None if it is not known.
    gradient:
        The derivative of the output by it, or None.
    held:
        What its tensor has in ``.grad``, or None.
    where:
        The user's line.
    level:
        The longest way from a leaf to it.
    """

    kind: Kind
    name: str
    formula: str = ""
    op: str = ""
    shape: str = ""
    value: Array | None = None
    gradient: Array | None = None
    held: Array | None = None
    where: Where | None = None
    level: int = 0
    output: bool = False


class Link(NamedTuple):
    """The use of a value as an operand.

    Attributes
    ----------
    source, target, slot:
        Numbers of the operand and of the user, and which operand it is.
    symbol:
        The local derivative as a formula; empty if it has none that is short.
    slope:
        The local derivative as numbers, element by element; None where the op is not
        elementwise.
    part:
        What goes back along the link: the target's gradient times the local derivative.
    """

    source: int
    target: int
    slot: int
    symbol: str = ""
    slope: Array | None = None
    part: Array | None = None


@dataclass(frozen=True)
class View:
    """A computation as a picture shows it.

    Attributes
    ----------
    vertices:
        The values, operands before their users.
    links:
        The uses of values, by target and slot.
    backward:
        The vertices in the order in which gradients leave them; empty if there are none.
    notes:
        What a reader should know about the picture.
    """

    title: str
    vertices: Sequence[Vertex]
    links: Sequence[Link]
    backward: Sequence[int] = ()
    notes: Sequence[str] = field(default=())


# ---------------------------------------------------------------- texts


def value_text(value: Any) -> str:
    """Return a number, or what fits of an array, in four digits.

    Examples
    --------
    >>> value_text(np.float64(0.8)), value_text(np.array([1.0, 2.5])), value_text(np.eye(9))
    ('0.8', '[1, 2.5]', '0 … 1')
    """
    array = np.asarray(value)
    if array.ndim == 0:
        return _number(array[()])
    if array.size == 0:
        return "empty"
    if array.size <= WHOLE:
        return _nested(array)
    if array.dtype.kind == "b":
        return f"{int(array.sum())} of {array.size} true"
    if array.ndim == 1:
        first, second, last = (_number(array[k]) for k in (0, 1, -1))
        return f"[{first}, {second}, …, {last}]"
    low, high = array.min(), array.max()
    if low == high:
        return f"{_number(low)} everywhere"
    return f"{_number(low)} … {_number(high)}"


def _number(x: Any) -> str:
    if x.dtype.kind in "iub":
        return str(x.item())
    return f"{x.item():.4g}"


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return _number(array[()])
    return f"[{', '.join(map(_nested, array))}]"


def array_shape(array: Array) -> str:
    """Return the shape as ``[2, 3]``; a number has none."""
    return f"[{', '.join(map(str, array.shape))}]" if array.shape else ""


def cut(text: str, longest: int = LONGEST) -> str:
    """Return ``text``, its end left out if it is long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def formula_text(op: Op, operands: Sequence[Operand], params: dict[str, Any]) -> str:
    """Return an op applied to its operands: as mathematics, else as NumPy code."""
    texts = [operand.text for operand in operands]
    source = Code.of(op).source
    if op.kind != "map" and source is not None:
        return _PRODUCT.sub(r"\4 @ \5", source(*operands, **params).replace("np.", ""))
    items = sorted((k, v) for k, v in params.items() if not isinstance(v, np.ndarray))
    text = call_text(op, texts, items)
    if "Piecewise" in text:  # SymPy's form of a choice is no name that users know
        head = op.head if isinstance(op, Map) else None
        known = head.__name__ if head else op.name.lower()
        text = f"{known}({', '.join(texts)})"
    return text


@lru_cache(maxsize=4096)
def _slope_template(
    op: Map, items: tuple[tuple[str, Any], ...], slot: int, numbers: tuple[float | None, ...]
) -> str:
    places = [sp.Symbol(f"\x00{k}\x01", real=True) for k in range(op.arity)]
    operands = [
        place if number is None else sp.nsimplify(number, rational=True)
        for place, number in zip(places, numbers, strict=True)
    ]
    operands[slot] = places[slot]
    try:
        assert op.sympy is not None
        text = str(sp.sstr(derivative_of(op.sympy(*operands, **dict(items)), places[slot])))
    except (TypeError, ValueError, AttributeError):  # a form that SymPy does not differentiate
        return ""
    text = text.replace("{", "{{").replace("}", "}}")
    return text.replace("\x00", "{").replace("\x01", "}")


def slope_text(
    op: Op, items: tuple[tuple[str, Any], ...], slot: int, operands: Sequence[Vertex]
) -> str:
    """Return the local derivative by one operand as a formula, or nothing if it has none."""
    names = [v.name for v in operands]
    if op.kind == "view" or (isinstance(op, Reduce) and op.combine == "add"):
        return "1"  # elements are moved, or added
    if op.kind == "contract":
        return "*".join(name for k, name in enumerate(names) if k != slot)
    if not isinstance(op, Map) or op.sympy is None:
        return ""
    numbers = tuple(
        float(v.value) if v.kind == "constant" and v.value is not None and v.value.ndim == 0
        and np.isfinite(v.value) and v.name == value_text(v.value) else None
        for v in operands
    )  # fmt: skip
    text = _slope_template(op, items, slot, numbers).format(*map(parenthesised, names))
    return text if len(text) <= LONGEST and not _UNREADABLE.search(text) else ""


def parenthesised(name: str) -> str:
    """Return a name as an operand: negative numbers in parentheses."""
    return f"({name})" if name.startswith("-") else name


def levels(count: int, links: Sequence[Link]) -> list[int]:
    """Return the longest way from a leaf to each vertex; links in order of their targets."""
    found = [0] * count
    for link in links:
        found[link.target] = max(found[link.target], found[link.source] + 1)
    return found


def slope_label(link: Link) -> str:
    """Return the local derivative of a link: as a formula, and the number that it is."""
    number = value_text(_level(link.slope)) if link.slope is not None else ""
    if not link.symbol or link.symbol == number:
        return number or link.symbol
    return f"{link.symbol} = {number}" if number and link.symbol != "1" else link.symbol


def _level(slope: Array) -> Any:
    """One number instead of an array of nothing else."""
    return slope.flat[0] if slope.size and (slope == slope.flat[0]).all() else slope
