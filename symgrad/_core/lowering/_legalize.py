"""Legalising: a graph in terms of ops that have an instruction or a library function.

Arrays assembled in two stages, and assemblies seen from another side, become one assembly. A
Jacobian is a stack of rows, each a stack of numbers, and ``vmap`` turns the axes of the result.
What is assembled in one stage is written by the loop that computes its parts; every stage more is
a pass over memory.

Transposes around contractions become the order of their letters: a matrix product reads a factor
by rows or by columns as it lies, and a transpose would be a copy of the whole matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.sizes import Shape
from ..base.state import now
from ..base.switches import is_on
from ..graph import Literal, Node, apply, rebuilt, remade, topological
from ..op import Bodied, Code, Composed, Cython, Instr, Placing, Reduce, Written, registry
from ..ops.regions import Region, within
from ..rewrite import number_of, rewrite
from ..trace import Traced, as_node, bind_nodes, cast

#: Formulas may use composed ops themselves, this deep.
DEPTH = 8

#: Systems of so many unknowns are straight code, whose length grows with the third power.
MOST_UNKNOWNS = 6


def legalize(
    outputs: Sequence[Node], simd: bool = False, portable: bool = False, numbers: bool = False
) -> list[Node]:
    """Expand composed ops and bring contractions and special functions to kernel form.

    With ``simd`` composed ops of arrays, and of ``numbers`` if these are elements of arrays, stay
    where there is a SIMD function for them. With ``portable`` functions of SciPy are expanded, too,
    where their record says how.
    """
    settled: set[Node] = set()  # legal as they are: most of a graph, after the first round

    def change(node: Node, operands: tuple[Node, ...]) -> Node:
        if node in settled and operands == node.operands:
            return node
        made = _legal(node, operands, simd, portable, numbers or bool(node.shape))
        if made is None:
            made = remade(node, operands)
            if made.op is node.op and made.operands == operands:
                settled.add(made)
        return made

    for _ in range(DEPTH):
        expanded = rebuilt(outputs, change)
        if expanded == list(outputs):
            return expanded
        simplified = rewrite(expanded)
        if simplified == list(outputs):
            return simplified
        outputs = simplified
    raise AssertionError("op formulas expand without end: a Composed op that uses itself")


def _legal(
    node: Node, operands: tuple[Node, ...], simd: bool, portable: bool, element: bool
) -> Node | None:
    code = Code.of(node.op)
    lower = code.lower
    if portable and code.portable is not None:
        lower = Composed(code.portable)
    formula = in_elements(node)
    if portable and formula is not None:
        lower = Composed(formula)
    numbers = isinstance(lower, Composed) and 0 not in node.shape  # the formula says which
    if (
        node.op.kind != "leaf"
        and not isinstance(node.op, Bodied)
        and not numbers
        and _concerns_nothing(node)
    ):
        return _of_nothing(node, operands)
    by_number = _by_number(code, operands, element)
    if by_number is not None:
        return _shaped(cast(by_number, node.dtype), node.shape)
    stays = simd and element and isinstance(lower, Composed) and lower.simd
    if isinstance(lower, Composed) and not stays:
        value = as_node(lower.formula(*map(Traced, operands), **node.params))
        return _shaped(cast(value, node.dtype), node.shape)
    if isinstance(lower, Instr) and operands and _differ_in_sign(operands):
        return _shaped(_of_both_signs(node, operands), node.shape)
    if isinstance(lower, Cython) and node.dtype != np.float64:
        wide = tuple(cast(x, np.float64) for x in operands)
        inner = apply(node.op, wide, node.items, node.shape, np.dtype(np.float64))
        return cast(inner, node.dtype)
    if node.op.kind == "contract":
        return _matrix_form(node, operands)
    return simplest_assembly(node, operands)


def _differ_in_sign(operands: tuple[Node, ...]) -> bool:
    kinds = operands[0].dtype.kind in "iu" and {x.dtype.str[1:] for x in operands}
    return kinds == {"i8", "u8"}


def _of_both_signs(node: Node, operands: tuple[Node, ...]) -> Node:
    """Return a comparison of 64-bit integers, one with a sign and one without: no type has both.

    A negative number compares with all others as 0 does with 1.
    """
    x, y = map(Traced, operands)
    first = operands[0].dtype.kind == "u"
    signed: Any = y if first else x
    beyond = bool(node.op.evaluate(np.uint64(first), np.uint64(not first)))
    inside = node.op(x, signed.astype(np.uint64)) if first else node.op(signed.astype(np.uint64), y)
    return as_node(np.where(signed < 0, beyond, inside))


def in_elements(node: Node) -> Callable[..., Any] | None:
    """Return the formula of a routine on matrices so small that it is written out in elements."""
    lower = Code.of(node.op).lower
    if not isinstance(lower, Written | Composed) or lower.small is None:
        return None
    order = node.operands[0].shape[-1]
    return lower.small if isinstance(order, int) and 1 <= order <= MOST_UNKNOWNS else None


def _by_number(code: Code, operands: tuple[Node, ...], element: bool) -> Node | None:
    """Return a map whose last operand is a number by the formula for that number, if it has one."""
    if code.by_number is None or now().promised or (number := number_of(operands[-1])) is None:
        return None
    found = code.by_number(*map(Traced, operands[:-1]), number, element)
    return None if found is None else as_node(found)


def _concerns_nothing(node: Node) -> bool:
    """Tell whether the node has no elements, or is made of something without elements."""
    return 0 in node.shape or any(0 in x.shape for x in node.operands)


def _of_nothing(node: Node, operands: tuple[Node, ...]) -> Node:
    """Return an empty result as a literal, a fold of nothing as its identity."""
    op, value = node.op, 0
    if 0 not in node.shape:
        if op.kind == "assemble":
            parts = [k for k, x in enumerate(operands) if 0 not in x.shape]
            if parts:
                regions = tuple(node.params["regions"][k] for k in parts)
                items = tuple((k, regions if k == "regions" else v) for k, v in node.items)
                inner = tuple(operands[k] for k in parts)
                return apply(op, inner, items, node.shape, node.dtype)
        elif isinstance(op, Reduce):
            value = 1 if op.combine in ("multiply", "and") else 0
        elif op.kind not in ("contract", "scatter") or any(
            0 not in x.shape for x in operands[: isinstance(op, Placing) and op.parts_of(operands)]
        ):
            return remade(node, operands)
    return _shaped(Literal(value, node.dtype), node.shape)


def _shaped(node: Node, shape: Shape) -> Node:
    if node.shape == shape:
        return node
    return bind_nodes(registry.ops["Broadcast"], (node,), {"shape": shape})


# ---------------------------------------------------------------- contractions


def roles(a: str, b: str, out: str) -> tuple[str, str, str, str]:
    """Return the letters by role: batch, rows (of a), columns (of b), summed."""
    batch = "".join(s for s in out if s in a and s in b)
    rows = "".join(s for s in out if s in a and s not in b)
    columns = "".join(s for s in out if s in b and s not in a)
    summed = "".join(s for s in a if s in b and s not in out)
    return batch, rows, columns, summed


def reduction_domain(node: Node) -> Shape:
    """Return the shape of the loops that a reduction or a contraction runs over."""
    if node.op.kind == "reduce":
        return node.operands[0].shape
    sizes = contraction_sizes(node)
    return tuple(sizes.values())


def contraction_sizes(node: Node) -> dict[str, Any]:
    """Return ``{letter: size}`` in loop order: as the axes of the larger operand lie."""
    p = node.params
    pairs = sorted(
        ((p["a"], node.operands[0].shape), (p["b"], node.operands[1].shape)),
        key=lambda pair: -len(pair[0]),
    )
    sizes: dict[str, Any] = {}
    for letters, shape in pairs:
        sizes.update((s, d) for s, d in zip(letters, shape, strict=True) if s not in sizes)
    return sizes


def is_matrix_product(node: Node) -> bool:
    """Tell whether a contraction goes to BLAS: it has rows, columns and a sum."""
    p = node.params
    _, rows, columns, summed = roles(p["a"], p["b"], p["out"])
    return bool(node.dtype.kind == "f" and rows and columns and summed)


def _matrix_form(node: Node, operands: tuple[Node, ...]) -> Node:
    """Bring a matrix-like contraction to ``[batch] m k, [batch] k n -> [batch] m n``.

    Operands may be transposed within (BLAS has a flag for it); other orders are copied.
    """
    x, y = (cast(o, node.dtype) for o in operands)
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    batch, rows, columns, summed = roles(a, b, out)
    if not is_matrix_product(node):
        return remade(node, (x, y))
    sizes = dict(zip(out, node.shape, strict=True))
    if any(all(sizes[s] == 1 for s in group) for group in (rows, columns)):
        return _with_vectors(node, x, y, {s for s in rows + columns if sizes[s] == 1})
    if out == batch + columns + rows:  # the transpose of a product is that of the transposes
        x, y, a, b, rows, columns = y, x, b, a, columns, rows
    x, a = _grouped(x, a, batch, rows, summed)
    y, b = _grouped(y, b, batch, summed, columns)
    x, a = _joined(x, a, batch, ((rows, "m"), (summed, "k")))
    y, b = _joined(y, b, batch, ((summed, "k"), (columns, "n")))
    flat = ("Z" if batch else "") + "mn"
    product = bind_nodes(node.op, (x, y), {"a": a, "b": b, "out": flat})
    target = batch + rows + columns
    full = bind_nodes(
        registry.ops["Reshape"], (product,), {"shape": tuple(sizes[s] for s in target)}
    )
    return _permuted(full, target, out)


def _with_vectors(node: Node, x: Node, y: Node, ones: set[str]) -> Node:
    """Return a product with a matrix of one row or column as one with a vector: a plain loop."""
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    reshape = registry.ops["Reshape"]
    found = []
    for operand, letters in ((x, a), (y, b)):
        shape = tuple(d for s, d in zip(letters, operand.shape, strict=True) if s not in ones)
        found.append(bind_nodes(reshape, (operand,), {"shape": shape}))
    a, b, out = ("".join(s for s in letters if s not in ones) for letters in (a, b, out))
    product = bind_nodes(node.op, tuple(found), {"a": a, "b": b, "out": out})
    return bind_nodes(reshape, (product,), {"shape": node.shape})


def _permuted(x: Node, have: str, want: str) -> Node:
    if have == want:
        return x
    return bind_nodes(registry.ops["Transpose"], (x,), {"axes": tuple(have.index(s) for s in want)})


def _grouped(x: Node, letters: str, batch: str, first: str, second: str) -> tuple[Node, str]:
    """Order the axes as batch, first, second, or batch, second, first if they are so."""
    for want in (batch + first + second, batch + second + first):
        if letters == want:
            return x, want
    want = batch + first + second
    return _permuted(x, letters, want), want


def _joined(
    x: Node, letters: str, batch: str, groups: tuple[tuple[str, str], ...]
) -> tuple[Node, str]:
    """Join each group of neighbouring axes into one, so that the operand is a matrix."""
    sizes = dict(zip(letters, x.shape, strict=True))
    ordered = sorted(groups, key=lambda g: letters.index(g[0][0]))
    parts = ([(batch, "Z")] if batch else []) + list(ordered)
    shape = []
    for group, _ in parts:
        size: object = 1
        for letter in group:
            size = size * sizes[letter]  # type: ignore[operator]
        shape.append(size)
    name = "".join(letter for _, letter in parts)
    return bind_nodes(registry.ops["Reshape"], (x,), {"shape": tuple(shape)}), name


#: Assemblies of more parts than this stay as they are: chains of concatenations would take
#: quadratic time.
MOST_PARTS = 256


def simplest_assembly(node: Node, operands: tuple[Node, ...]) -> Node | None:
    """Return ``node`` of these operands as one assembly, or None where it is none."""
    name = node.op.name
    if name == "Assemble":
        return _flat(node, operands)
    if operands and _is_assembly(operands[0]):
        if name == "Transpose":
            return _transposed(node, operands[0])
        if name == "Reshape":
            return _reshaped(node, operands[0])
    return None


def _is_assembly(x: Node) -> bool:
    return x.op.kind == "assemble" and bool(x.params.get("disjoint"))


def _assembly(node: Node, parts: list[Node], regions: list[Region], like: Node) -> Node:
    items = tuple(
        (k, {"shape": node.shape, "regions": tuple(regions)}.get(k, v)) for k, v in like.items
    )
    return apply(like.op, tuple(parts), items, node.shape, node.dtype)


def _flat(node: Node, operands: tuple[Node, ...]) -> Node | None:
    inner = [_is_assembly(x) and x.dtype == node.dtype for x in operands]
    count = sum(len(x.operands) if nested else 1 for x, nested in zip(operands, inner, strict=True))
    if not any(inner) or not node.params["disjoint"] or count > MOST_PARTS:
        return None
    parts: list[Node] = []
    regions: list[Region] = []
    for x, region, nested in zip(operands, node.params["regions"], inner, strict=True):
        if nested:
            parts += x.operands
            regions += (within(region, r) for r in x.params["regions"])
        else:
            parts.append(x)
            regions.append(region)
    return _assembly(node, parts, regions, node)


def _transposed(node: Node, x: Node) -> Node | None:
    axes = node.params["axes"]
    regions = []
    for region in x.params["regions"]:
        kept = [k for k in axes if region[k][2] is not None]
        if kept != sorted(kept):
            return None  # the part itself would have to be turned
        regions.append(tuple(region[k] for k in axes))
    return _assembly(node, list(x.operands), regions, x)


def _reshaped(node: Node, x: Node) -> Node | None:
    """Where only axes of length one come or go, an index of 0 does."""
    if [d for d in node.shape if d != 1] != [d for d in x.shape if d != 1]:
        return None
    regions = []
    for region in x.params["regions"]:
        pairs = zip(region, x.shape, strict=True)
        if any(d == 1 and entry != (0, 1, None) for entry, d in pairs):
            return None
        rest = iter([entry for entry, d in zip(region, x.shape, strict=True) if d != 1])
        regions.append(tuple((0, 1, None) if d == 1 else next(rest) for d in node.shape))
    return _assembly(node, list(x.operands), regions, x)


def direct(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with contractions of what transposes are made of."""
    nodes = topological(outputs)
    if not any(n.op.kind == "contract" for n in nodes) or not is_on("name axes"):
        return list(outputs)
    uses = Counter(x for n in nodes for x in n.operands)
    uses.update(outputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node.op.kind == "contract":
            return _contraction(node, operands)
        if _is_transpose(node) and uses[node.operands[0]] == 1:
            return _result(node, operands[0])
        return None

    return rebuilt(outputs, change)


def _is_transpose(node: Node) -> bool:
    return node.op.name == "Transpose"


def _contraction(node: Node, operands: tuple[Node, ...]) -> Node:
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    (x, a), (y, b) = map(_origin, operands, (a, b))
    if (x, y) == node.operands:
        return node
    return bind_nodes(node.op, (x, y), {"a": a, "b": b, "out": out})


def _origin(x: Node, letters: str) -> tuple[Node, str]:
    """Return what ``x`` is a transpose of, with the letters of its axes."""
    while _is_transpose(x):
        at = dict(zip(x.params["axes"], letters, strict=True))
        x, letters = x.operands[0], "".join(at[k] for k in range(x.ndim))
    return x, letters


def _result(node: Node, product: Node) -> Node:
    """Return the transpose ``node`` of ``product``."""
    axes = node.params["axes"]
    if product.op.kind != "contract":
        return remade(node, (product,))
    out = "".join(product.params["out"][k] for k in axes)
    return bind_nodes(product.op, product.operands, {**product.params, "out": out})
