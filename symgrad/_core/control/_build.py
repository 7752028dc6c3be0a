"""From Python functions on traced values to bodies, and to loops and branches of these."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, TraceError
from ..base.sizes import Dimension, same
from ..base.state import now, repeating, within_body
from ..graph import Body, Input, Literal, Node, recording_nodes, topological, viewed
from ..op import PROJECTIONS
from ..rewrite import rewrite
from ..trace import Traced, as_node, cast, promote, substitute
from ..trace._bind import kind_of
from ._branch_writes import Placed, first_of, placed_over, put_back, read_before, used, written
from ._element_writes import by_places
from ._fields import Branch, Loop, pick, result
from ._reroll import rerolled
from ._segments import costs, results, segmented
from ._values import Values, at, bound, by_elements, check_structure, difference, settle_kinds


@dataclass(frozen=True)
class Closed:
    """A function's graph with everything that it uses of the graph around as an input.

    Attributes
    ----------
    inputs, outputs:
        The bound variables that the function was called with, and its results.
    captured, stand_ins:
        Nodes of the graph around that it uses, and the inputs that stand for them.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    captured: tuple[Node, ...]
    stand_ins: tuple[Input, ...]


def close(
    inputs: Sequence[Input], outputs: Sequence[Node], own: Collection[Node] = (),
    replaced: Collection[Node] = (),
) -> Closed:  # fmt: skip
    """Find what ``outputs`` use besides ``inputs``, and replace it by inputs.

    Whatever does not depend on the bound variables is computed outside, once, unless it is
    among the nodes ``own``, which belong inside. ``replaced`` are bound variables that have
    been replaced in the outputs.
    """
    order = topological(outputs)
    # A result that was first asked for inside, of a loop that is outside, is handed in as it is.
    given = {x for x in own if x.op.kind in PROJECTIONS and x.operands[0] not in own}
    inner: set[Node] = {*inputs, *own} - given
    _closed.update((*inputs, *replaced))
    for node in order:
        if any(x in inner for x in node.operands):
            inner.add(node)
    uses = [x for n in order if n in inner for x in n.operands if x not in inner]
    outer = dict.fromkeys([*uses, *(x for x in outputs if x not in inner)])
    captured = [x for x in outer if not _stays(x)]
    swap = {x: Input(f"k{k}", x.shape, x.dtype) for k, x in enumerate(captured)}
    closed = substitute(outputs, swap)
    return Closed(tuple(inputs), tuple(closed), tuple(captured), tuple(swap.values()))


#: Bound variables of bodies that are complete: outside of them they mean nothing.
_closed: weakref.WeakSet[Node] = weakref.WeakSet()


def refuse_leaks(nodes: Sequence[Node], given: Sequence[Node] = ()) -> None:
    """Raise if a value of a step or a case has been kept and is used outside of it.

    For what the values ``given`` use of a step answers who gave them, and so for those that a rule
    of the user's is called with: within a loop it is when the loop is complete.

    Raises
    ------
    TraceError
        Naming the line where the value was made.
    """
    order = topological(nodes)
    leaked = {x for x in order if isinstance(x, Input) and x in _closed}
    if leaked and (known := (*given, *now().rule_operands)):
        leaked.difference_update(topological(known))
    if leaked:
        node = next((n for n in order if not leaked.isdisjoint(n.operands)), order[0])
        where = f", made at {node.where}" if node.where else ""
        raise TraceError(
            f"a value of a step of a loop, or of one case of a branch{where}, is used outside "
            "of it. Write instead: return it, as part of the carry or of what is stacked"
        )


def _stays(node: Node) -> bool:
    """Tell whether a value from outside is written into the body: numbers, filled arrays."""
    node = viewed(node)
    return node.op.kind == "leaf" and not isinstance(node, Input)


#: A carry's type may follow from that of another one; each trial settles one at least.
TRIALS = 16


def build_scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: Dimension,
    reverse: bool, memory: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the last carry and the stacked results of a scan, as traced values."""
    elements = Values.of(xs)
    slices = [
        Input(name, x.shape[1:], x.dtype)
        for name, x in zip(elements.names("x"), elements.nodes, strict=True)
    ]

    def step(carry: Any, i: Traced) -> tuple[Any, Any]:
        found: Any = f(carry, elements.filled([Traced(s) for s in slices]))
        if not isinstance(found, tuple) or len(found) != 2:
            raise ArgumentError(
                f"scan: {at(f)} must return the pair (carry, y), not {_kind(found)}; "
                "write `return carry, None` if there is nothing to stack"
            )
        return found[0], found[1]

    return _loop("scan", f, step, init, slices, elements.nodes, length, reverse, memory)


def _kind(value: Any) -> str:
    many = f" of {len(value)}" if isinstance(value, tuple) else ""
    return f"a {type(value).__name__}{many}"


def build_count(
    body: Callable[[Any, Any], Any], lower: Any, init: Any, length: Dimension,
    memory: int | None,
) -> Any:  # fmt: skip
    """Return the last carry of ``fori_loop`` for a number of steps that is known beforehand."""

    def step(carry: Any, i: Traced) -> tuple[Any, Any]:
        return body(i if type(lower) is int and lower == 0 else i + lower, carry), None

    return _loop("fori_loop", body, step, init, [], [], length, False, memory)[0]


def _loop(
    what: str, function: Any, step: Callable[[Any, Traced], tuple[Any, Any]], init: Any,
    slices: Sequence[Input], xs: Sequence[Node], length: Dimension, reverse: bool,
    memory: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    counter = Input("i", (), np.int64)
    index = Traced(counter, weak=int)
    # Numbers that a step draws are elements of what is drawn for all steps.
    drawn: dict[Node, Node] = {}

    def one(whole: Input) -> Input:
        element = Input(whole.name, whole.shape[1:], whole.dtype)
        drawn[element] = as_node(Traced(whole)[::-1]) if reverse else whole
        return element

    def steps() -> AbstractContextManager[None]:
        drawn.clear()
        draws = now().draws
        return nullcontext() if draws is None else draws.repeated(length, one)

    start, nodes, inputs, news, y = _settled(
        what, function, init, lambda carry: step(carry, index), steps
    )
    slices, xs = [*slices, *drawn], [*xs, *drawn.values()]
    stacked = Values.of(y)
    # What no step changes is no carry.
    fixed = {x: n for x, n, new in zip(inputs, nodes, news, strict=True) if new is x}
    moving = [x not in fixed for x in inputs]
    every, nodes, inputs = nodes, pick(nodes, moving), pick(inputs, moving)
    made = substitute([*pick(news, moving), *stacked.nodes], fixed)
    outputs = by_places(rewrite(rerolled(made)), inputs)
    closed = close([counter, *inputs, *slices], outputs, replaced=fixed)
    consts, shared = [*closed.captured], [*closed.stand_ins]
    if not (nodes or xs or consts):  # a node has an operand, if only an idle one
        consts, shared = [Literal(0, np.int64)], [Input("none", (), np.int64)]
    loop = Loop(
        tuple(nodes), tuple(xs), tuple(consts), Body((*closed.inputs, *shared), closed.outputs),
        length, None, reverse,
    )  # fmt: skip
    found = [Traced(x) for x in (results(loop) if memory is None else segmented(loop, memory))]
    last = iter(found)
    carry = [next(last) if m else Traced(n) for n, m in zip(every, moving, strict=True)]
    return start.filled(carry), stacked.filled(found[len(nodes) :])


def _settled(
    what: str, function: Any, init: Any, step: Callable[[Any], tuple[Any, Any]],
    steps: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Values, list[Node], list[Input], list[Node], Any]:  # fmt: skip
    """Trace a step on bound carries, whose element types are settled by trying.

    ``steps`` makes a context for what each step draws.
    """
    start = Values.of(init)
    nodes, weak, names = start.nodes, start.weak, start.names("c")
    draws = now().draws
    mark = None if draws is None else draws.mark()
    for _ in range(TRIALS):
        inputs = bound(nodes, names)
        if draws is not None:
            draws.rollback(mark)
        with within_body(), repeating(), steps():
            carry, y = step(start.filled([Traced(x, w) for x, w in zip(inputs, weak, strict=True)]))
        found = Values.of(carry)
        check_structure(start, found, what, function)
        kinds = settle_kinds(nodes, weak, found.numbers, names, what, function)
        before, start = start, start.as_sure_as(found)
        if kinds == [x.dtype for x in nodes] and start is before:
            news = [_shaped(as_node(x, k), n)
                    for x, k, n in zip(found.numbers, kinds, nodes, strict=True)]  # fmt: skip
            return start, nodes, inputs, news, y
        weak = [w if x.dtype == k else (float if w and k == np.float64 else None)
                for w, x, k in zip(weak, nodes, kinds, strict=True)]  # fmt: skip
        nodes = [cast(x, k) for x, k in zip(nodes, kinds, strict=True)]
    raise AssertionError("the element types of the carries do not settle")


def _shaped(node: Node, like: Node) -> Node:
    """Write the shape of ``node`` as that of ``like``, which it is equal to."""
    if node.shape == like.shape:
        return node
    return as_node(np.reshape(Traced(node), Traced(like).shape))


def build_while(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, memory: int | None
) -> Any:
    """Return the last carry of a while loop, as traced values."""
    loop, start = _while(cond, body, init)
    if memory is not None:
        # A loop over segments, each of which stops after some steps, or when all is done.
        size = memory // 2 // max(1, costs(loop)[1])
        if size < 2:
            raise ArgumentError(f"while_loop: memory={memory} bytes are too few for one step")

        def segment(carry: Any) -> Any:
            found, _ = build_while(
                lambda state: np.logical_and(cond(state[0]), state[1] < size),
                lambda state: (body(state[0]), state[1] + 1),
                (carry, 0),
                None,
            )
            return found

        loop, start = _while(cond, segment, init)
    return start.filled([Traced(x) for x in results(loop)])


def _while(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any
) -> tuple[Loop, Values]:
    start, nodes, inputs, news, _ = _settled(
        "while_loop", body, init, lambda carry: (body(carry), None)
    )
    weak = start.weak
    with within_body(), repeating():
        truth = cond(start.filled([Traced(x, w) for x, w in zip(inputs, weak, strict=True)]))
    test = as_node(truth) if not isinstance(truth, (tuple, list, dict, type(None))) else None
    if test is None or test.shape != () or test.dtype != np.bool_:
        found = type(truth).__name__ if test is None else f"{test.dtype} of shape {test.shape}"
        raise ArgumentError(
            f"while_loop: {at(cond)} must return one truth value (True or False), not {found}; "
            "compare with something, or use np.any / np.all"
        )
    counter = Input("i", (), np.int64)
    # One closure for both, so that they share what they use of the graph around.
    closed = close([counter, *inputs], by_places(rewrite(rerolled([*news, test])), inputs))
    own = bound(nodes, start.names("c"))
    shared = bound(closed.captured, [x.name for x in closed.stand_ins])
    swap = dict(zip((*inputs, *closed.stand_ins), (*own, *shared), strict=True))
    holds = Body((*own, *shared), substitute([closed.outputs[-1]], swap))
    step = Body((*closed.inputs, *closed.stand_ins), closed.outputs[:-1])
    return Loop(tuple(nodes), (), closed.captured, step, None, holds), start


def build_branch(
    what: str, index: Node, functions: Sequence[Callable[..., Any]], operands: Sequence[Any],
    kept: bool = False,
) -> Any:  # fmt: skip
    """Return the result of the function that ``index`` names, as traced values."""
    given = Values.of(tuple(operands))
    inputs = bound(given.nodes, given.names("x"))
    with recording_nodes() as own, within_body(), repeating():
        arguments = given.filled([Traced(x, w) for x, w in zip(inputs, given.weak, strict=True)])
        found, outputs, count = _cases(what, functions, arguments)
    # What a case computes is computed only if it is chosen. Rewriting comes after: it makes
    # nodes of the graph around anew, and these would count as the case's own.
    closed = close(inputs, outputs, own)
    own_inputs = (*closed.inputs, *closed.stand_ins)
    outputs = by_places(rewrite(closed.outputs), own_inputs)
    cases = [outputs[k * count : (k + 1) * count] for k in range(len(functions))]
    made = _branch(index, own_inputs, (*given.nodes, *closed.captured), cases, kept)
    return found.filled([Traced(x) for x in made])


def _branch(
    index: Node, inputs: tuple[Input, ...], operands: tuple[Node, ...],
    cases: Sequence[Sequence[Node]], kept: bool,
) -> list[Node]:  # fmt: skip
    """Return the results of a branch, of which those that are written to by places are short."""
    changed: dict[int, tuple[Node, Placed]] = {}
    for k, column in enumerate(zip(*cases, strict=True)):
        chains = None if kept else written(column, inputs)
        if chains is not None:
            root, changes = chains
            array = operands[inputs.index(root)]
            axes = next(axes for chain in changes for _, axes, _ in chain)
            old = Input("old", first_of(array, axes).shape, array.dtype)
            inputs, operands = (*inputs, old), (*operands, first_of(array, axes))
            changed[k] = array, placed_over(old, changes)
    places: list[range] = []
    start = 0
    for k in range(len(cases[0])):
        width = len(changed[k][1].columns[0]) if k in changed else 1
        places.append(range(start, start + width))
        start += width
    cases = [
        [x for k, out in enumerate(case)
         for x in (changed[k][1].columns[number] if k in changed else [out])]
        for number, case in enumerate(cases)
    ]  # fmt: skip
    if not kept:
        cases, inputs, operands = read_before(index, cases, inputs, operands)
        inputs, operands = used(inputs, operands, cases)
    bodies = []
    for case in cases:
        fresh = bound(inputs, [x.name for x in inputs])
        bodies.append(Body(fresh, substitute(case, dict(zip(inputs, fresh, strict=True)))))
    node = Branch(index, operands, tuple(bodies), kept).node()
    found = [[result(node, j) for j in span] for span in places]
    return [put_back(*changed[k], own) if k in changed else own[0] for k, own in enumerate(found)]


def _cases(
    what: str, functions: Sequence[Callable[..., Any]], arguments: Sequence[Any]
) -> tuple[Values, list[Node], int]:
    """Trace all cases; return the results' structure, all their nodes, and how many each has."""
    given = [f(*arguments) for f in functions]
    found = [Values.of(x) for x in given]
    if any(values.tree != found[0].tree for values in found):  # [0.0, 1.0] and [x, y]
        found = [Values.of(by_elements(x)) for x in given]
    for f, values in zip(functions[1:], found[1:], strict=True):
        if values != found[0]:
            raise ArgumentError(
                f"{what}: {at(functions[0])} and {at(f)} return values of different structures, "
                f"{difference(found[0], values)}: only numbers and arrays may differ"
            )
    columns = list(zip(*(v.numbers for v in found), strict=True))
    kinds = [_common(what, functions, column) for column in columns]
    likes = [as_node(x) for x in found[0].numbers]
    nodes = [
        _shaped(as_node(x, kinds[k]), likes[k]) for v in found for k, x in enumerate(v.numbers)
    ]
    return found[0].as_sure_as(*found[1:]), nodes, len(kinds)


def _common(what: str, functions: Sequence[Any], column: Sequence[Any]) -> Any:
    nodes = [as_node(x) for x in column]
    for f, x in zip(functions[1:], nodes[1:], strict=True):
        shape = nodes[0].shape
        if x.ndim != len(shape) or not all(map(same, x.shape, shape)):
            raise ShapeError(
                f"{what}: {at(functions[0])} returns an array of shape {shape} where "
                f"{at(f)} returns one of shape {x.shape}; all branches return the same shapes"
            )
    return promote(*(kind_of(x) for x in column))
