"""Tracing: running a NumPy function once on traced values, to get its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ...errors import ArgumentError, CaptureWarning, SymgradError, TraceError
from ..base.signals import foreseen
from ..base.sizes import Dim, Size, recording
from ..base.state import now, within
from ..graph import (
    Input,
    Node,
    defined_at,
    raised_at,
    rebuilt,
    size_symbols,
    topological,
    warn_user,
)
from ..graph._types import check_dtype
from ._bind import as_node
from ._caught_errors import OUTERMOST
from ._complex import Complex, flatten_traced
from ._decisions import EnclosedError, Examples, share
from ._draws import Drawn
from ._generators import RandomGenerator
from ._records import RecordsError, check_exact
from ._refusals import Refusals, Running
from ._signature import Signature, make_inputs
from ._traced import Traced
from ._tree import Tree, flatten


@dataclass(frozen=True)
class Graph:
    """A traced function: inputs, outputs and what the trace took for granted.

    Attributes
    ----------
    inputs:
        One node for each argument leaf that is an array, a float or a size.
    outputs:
        The result leaves that are values.
    tree, leaves:
        The result's structure; ``leaves[k]`` is the index of an output, or a static
        value wrapped in a one-tuple.
    guards:
        Relations between sizes that held, ``{relation: truth}``.
    conditions:
        Truth values of the inputs that were true in the example call.
    drawn:
        The random numbers that are drawn before it runs; their inputs are the last.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    tree: Tree
    leaves: tuple[Any, ...]
    guards: Mapping[sp.Basic, bool]
    conditions: tuple[Node, ...] = ()
    drawn: Drawn | None = None

    def pack(self, values: Sequence[Any]) -> Any:
        """Return the function's nested result from the values of the outputs."""
        return self.tree.unflatten(
            leaf[0] if isinstance(leaf, tuple) else values[leaf] for leaf in self.leaves
        )


def sizes_of(inputs: Sequence[Input]) -> set[sp.Symbol]:
    """Return the symbolic sizes that inputs have, or are."""
    return set().union(*[size_symbols(n) | {n.dim} - {None} for n in inputs])


def encloses(nodes: Sequence[Node], inputs: Sequence[Input], guards: Iterable[sp.Basic]) -> bool:
    """Tell whether a graph has values or sizes that are not those of its inputs."""
    found: set[sp.Basic] = set().union(*[relation.free_symbols for relation in guards])
    for node in topological(nodes):
        if isinstance(node, Input) and node not in inputs:
            return True
        found |= size_symbols(node)
    return not found <= sizes_of(inputs)


def trace(
    function: Callable[..., Any],
    signature: Signature,
    sizes: Sequence[int],
    names: Sequence[str],
    examples: Examples | None = None,
    watch: Watch | None = None,
) -> Graph:
    """Run ``function(*args, **kwargs)`` on traced values of the given kinds.

    ``signature.tree`` is the structure of ``(args, kwargs)``; ``examples`` has the values by
    which Python's decisions on traced numbers are taken. ``watch`` is shown the function's own
    graph, where a transformation around it goes on from it; what it raises ends the trace.

    Raises
    ------
    EnclosedError
        If it has no trace of its own, since it closes over values of an outer trace.
    """
    values, inputs = make_inputs(signature, sizes, names)
    refusals = Refusals()
    args, kwargs = signature.tree.unflatten(values)
    inside = now().guards is not None
    sized = now().sizes.union(map(str, sizes_of(inputs)))
    if examples is not None:
        examples.start(inputs)
    decided = (lambda: False) if examples is None else (lambda: examples.conditions)
    watched = None if inside else watch  # its graph would not be all that it depends on
    with (
        recording() as guards,
        within(examples=examples, refusals=refusals, sizes=sized),
        Running(inputs, refusals),
        watching(watched, inputs, guards, decided),
    ):
        try:
            result = function(*args, **kwargs)
            left = result if type(result) is Left else None
            result = result if left is None else left.result
            if result is None:
                taken = [] if left is None else left.taken
                result = overwritten([x for x in values if not any(x is y for y in taken)])
            if left is not None:
                result = result, left.values
            nodes, tree, leaves = packed(*collect(result))
        except SymgradError as error:
            say_where(error, function)
            raise
        except foreseen(Exception) as error:
            refusal = _refusal(error, refusals)
            if refusal is None:
                raise
            refusal.__traceback__ = error.__traceback__
            say_where(refusal, function)
            raise refusal from None
    refusals.give_warnings()
    conditions = () if examples is None else tuple(examples.conditions)
    lists = now().lists
    if lists is not None and lists.told:
        raise RecordsError
    kinds = zip(values, signature.leaves, strict=True)
    check_exact((*nodes, *conditions), [x.node for x, kind in kinds if kind.value is tuple])
    drawn = None if examples is None or now().draws is None else now().draws.result
    inputs += () if drawn is None else drawn.inputs
    if inside and (drawn is not None or encloses((*nodes, *conditions), inputs, guards)):
        raise EnclosedError
    return Graph(
        tuple(inputs), tuple(nodes), tree, tuple(leaves), strongest(guards), conditions, drawn
    )


OUTERMOST.add(trace.__code__)


class Left(NamedTuple):
    """A function's result, and values that it has assigned outside of it.

    ``taken``: inputs that are not its arguments, and no result where it has none.
    """

    result: Any
    values: tuple[Any, ...]
    taken: Sequence[Any]


ASSIGNED = (
    "a traced value was assigned into a plain array (`array[i] = x`), which holds numbers "
    "only. Write instead: make the array within the function, by symgrad.numpy (zeros, array, "
    "zeros_like), or np.stack of the parts"
)


def _refusal(error: Exception, refusals: Refusals) -> Exception | None:
    """Return what a library's error says in other words: that it was given a traced value."""
    if isinstance(error, ValueError) and isinstance(error.__cause__, TraceError):
        return TraceError(ASSIGNED)  # NumPy's, for `array[i] = traced`
    return refusals.behind(error)


def raise_hidden() -> None:
    """Raise what the trace that runs has refused, and the traced code has hidden."""
    refusals: Refusals | None = now().refusals
    if refusals is not None:
        refusals.raise_hidden()


def overwritten(values: Sequence[Any]) -> Any:
    """Return the arguments that a function without a result has assigned to; None if none."""
    found = [v for v in values if getattr(v, "overwritten", False)]  # Complex, too
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def say_where(error: Any, function: Callable[..., Any]) -> None:
    """Add to an error's message, once, the user's line that raised it, or the function's."""
    place = raised_at(error) or defined_at(function)
    if place is not None and error.where is None and error.args:
        error.where = str(place)
        error.args = (f"{error.args[0]} [{place}]", *error.args[1:])


def carried_out(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function on values of the trace that runs, as if it were traced by itself.

    What it assigns to its arguments stays inside, and is its result if it has no other.
    """
    leaves, tree = flatten((tuple(args), dict(kwargs)))
    leaves = [Traced(v.node, v.weak) if isinstance(v, Traced) else v for v in leaves]
    inner_args, inner_kwargs = tree.unflatten(leaves)
    result = function(*inner_args, **inner_kwargs)
    if result is not None:
        return result
    # The leaves of a complex array are its parts; the result is the whole.
    given = [*inner_args, *inner_kwargs.values()]
    whole = any(hasattr(v, "overwritten") and not isinstance(v, Traced) for v in given)
    return overwritten(given if whole else leaves)


def collect(result: Any) -> tuple[list[Node], Tree, list[Any]]:
    """Split a nested result into value nodes and static leaves."""
    flat, tree = flatten_traced(result)
    nodes: list[Node] = []
    leaves: list[Any] = []
    for leaf in flat:
        if hasattr(leaf, "__symgrad_masked__"):
            leaf = leaf.in_a_row("x[mask] as a result", "np.where(mask, x, 0.0)")
        if isinstance(leaf, Traced) or is_value(leaf):
            leaves.append(len(nodes))
            nodes.append(as_node(leaf))
        elif type(leaf) is RandomGenerator:
            raise TraceError(
                "the function returns a generator of random numbers, which it was given. Write "
                "instead: return the numbers alone"
            )
        else:
            leaves.append((leaf,))
    return nodes, tree, leaves


def packed(
    nodes: Sequence[Node], tree: Tree, leaves: Sequence[Any]
) -> tuple[list[Node], Tree, list[Any]]:
    """Return what :func:`collect` found with complex values as one node each.

    Such a node has a last axis of two, which is how complex numbers lie in memory.
    """
    if "complex" not in tree.kinds:
        return list(nodes), tree, list(leaves)
    rest = iter(leaves)
    made: list[Node] = []
    new: list[Any] = []
    for width in tree.units:
        leaf, *other = (next(rest) for _ in range(width))
        if isinstance(leaf, tuple):
            new.append(leaf)
            continue
        new.append(len(made))
        value = Traced(nodes[leaf])
        made.append(Complex.of(value, Traced(nodes[other[0]])).packed.node if other else value.node)
    return made, tree.packed, new


def is_value(leaf: Any) -> bool:
    """Tell whether a result leaf is a number or an array (and not None or a string)."""
    if type(leaf) is int:  # beyond 64 bits it is what it is in Python
        return leaf.bit_length() < 64
    if isinstance(leaf, (float, int, complex, Size, np.generic)) and not isinstance(leaf, bool):
        return True
    if isinstance(leaf, list):
        return True
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.char not in "FD":
            check_dtype(leaf.dtype, "a result")
        return True
    return False


def substitute(outputs: Sequence[Node], values: Mapping[Node, Node]) -> list[Node]:
    """Return ``outputs`` with the nodes in ``values`` replaced, sharing what is unchanged."""
    return rebuilt(outputs, lambda *_: None, dict(values))


def fresh(node: Node, name: str) -> Input:
    """Return a new input of the kind of ``node``: its stand-in inside a nested trace."""
    stand_in = Input(name, node.shape, node.dtype)
    share(stand_in, node)
    if (lists := now().lists) is not None:
        lists.follow(node, stand_in)
    return stand_in


def warn_if_changed(
    result: Any, argument: Any, leaves: Sequence[Any], tree: Tree, what: str
) -> None:
    """Warn if a container among the arguments holds something else than it was given with.

    The arrays that a function without a result has overwritten are its result.
    """
    if tree.outline.kind == "leaf":  # a number or an array, perhaps of complex numbers
        return
    found, now_tree = flatten_traced(argument)
    same = now_tree.outline == tree.outline and all(map(_is_same, found, leaves))
    written = result is not None and any(getattr(x, "overwritten", False) for x in found)
    if written or not same:
        warn_user(
            f"{what} is changed by the function, which stays inside of it: containers among the "
            "arguments are taken apart. Write instead: return what is new, or reach the container "
            "by a name or an attribute",
            CaptureWarning,
        )


def _is_same(found: Any, given: Any) -> bool:
    """Tell whether a leaf of an argument is what it was; parts of complex values are made anew."""
    return found is given or (
        isinstance(found, Traced) and isinstance(given, Traced) and found.node is given.node
    )


def close_conditions(swap: Mapping[Node, Node]) -> None:
    """Put values in the place of their stand-ins in what has been decided so far."""
    examples = now().examples
    if examples is not None and examples.conditions:
        closed = substitute(list(examples.conditions), swap)
        examples.conditions = dict(zip(closed, examples.conditions.values(), strict=True))


def with_conditions(
    change: Callable[[Sequence[Node]], Sequence[Node]], nodes: Sequence[Node]
) -> list[Node]:
    """Return ``change(nodes)``; what has been decided so far is changed along with them."""
    examples = now().examples
    decided = [] if examples is None else list(examples.conditions)
    found = list(change([*nodes, *decided]))
    if examples is not None:
        examples.conditions = dict.fromkeys(found[len(nodes) :], True)
    return found[: len(nodes)]


def require_traced(value: Any, what: str) -> Traced:
    """Return ``value`` as a traced value, or raise for what has no numbers."""
    if isinstance(value, Traced):
        return value
    if is_value(value) or isinstance(value, bool):
        return Traced(as_node(value))
    forgotten = " (does it end without `return`?)" if value is None else ""
    raise ArgumentError(
        f"{what} must be a number or an array, not {type(value).__name__}{forgotten}"
    )


# ---------------------------------------------------------------- on its way

# What a transformation makes of the graph depends on nothing else. So a compiled result can be
# known by it, before a derivative is taken.


@dataclass(frozen=True)
class Primal:
    """What the user's function returned, and what its trace took for granted so far.

    Attributes
    ----------
    inputs:
        The inputs of the whole trace.
    fresh:
        For each input to differentiate by that the transformation made, what it stands for.
    outputs, weak, tree:
        The nodes of the result, which of them are Python's numbers, and its structure.
    guards:
        Relations between sizes that held.
    decided:
        Whether Python decided by values.
    """

    inputs: tuple[Input, ...]
    fresh: Mapping[Input, Node]
    outputs: tuple[Node, ...]
    weak: tuple[Any, ...]
    tree: Tree
    guards: Mapping[sp.Basic, bool]
    decided: bool


Watch = Callable[[Primal], None]


def watching(
    watch: Watch | None,
    inputs: list[Input],
    guards: Mapping[sp.Basic, bool],
    conditions: Callable[[], Any],
) -> AbstractContextManager[None]:
    """Show ``watch`` the function's graph, if there is one on its own in the block."""
    if watch is None:
        return within(watch=None)
    # The function of a transformation further in is not all that counts.
    watches = [watch]

    def show(result: Any, fresh: Mapping[Input, Node]) -> None:
        if not watches:
            return
        raise_hidden()
        first = watches.pop()
        leaves, tree = flatten_traced(result)
        if all(isinstance(leaf, Traced) for leaf in leaves):
            nodes, weak = tuple(x.node for x in leaves), tuple(x.weak for x in leaves)
            decided = bool(conditions())
            first(Primal(tuple(inputs), fresh, nodes, weak, tree, guards, decided))

    return within(watch=show)


def arrived(result: Any, fresh: Mapping[Input, Node]) -> None:
    """Say that the outermost transformation has the result of the function; see Primal."""
    show = now().watch
    if show is not None:
        show(result, fresh)


def strongest(guards: Mapping[sp.Basic, bool]) -> dict[sp.Basic, bool]:
    """Return guards without the bounds of sizes that others imply.

    A loop that Python writes out leaves ``n > k`` for each element ``x[k]`` that it reads, and a
    list of all its elements the size itself. Places that are arguments, of edges say, leave which
    of each two is less: in order, each next one implies the rest.
    """
    best: dict[tuple[type, sp.Basic], sp.Basic] = {}
    bounds = {relation: _bound(relation, truth) for relation, truth in guards.items()}
    for relation, key in bounds.items():
        if key is not None and (key not in best or relation.lts > best[key].lts):
            best[key] = relation
    numbers = {r.lhs: r for r, truth in guards.items()
               if truth and isinstance(r, sp.Eq) and isinstance(r.rhs, sp.Integer)}  # fmt: skip
    implied = _implied(guards)
    return {
        relation: truth
        for relation, truth in guards.items()
        if relation in numbers.values()
        or (
            relation not in implied
            and ((key := bounds[relation]) is None or best[key] is relation)
            and not relation.free_symbols <= numbers.keys()
        )
    }


def _implied(guards: Mapping[sp.Basic, bool]) -> set[sp.Basic]:
    """Return the relations ``p < q`` of two sizes that others imply: ``p < r`` and ``r < q``."""
    above: dict[Dim, dict[Dim, sp.Basic]] = {}
    for relation, truth in guards.items():
        if truth and isinstance(relation, (sp.StrictLessThan, sp.StrictGreaterThan)):
            low, high = relation.lts, relation.gts
            if isinstance(low, Dim) and isinstance(high, Dim) and low.hint < high.hint:
                above.setdefault(low, {}).setdefault(high, relation)
                above.setdefault(high, {})
    found: set[sp.Basic] = set()
    # Sizes in the order of what they are in the example, so that none is reached twice over.
    order = sorted(above, key=lambda size: size.hint, reverse=True)
    bits = {size: 1 << k for k, size in enumerate(order)}
    reached: dict[Dim, int] = {}
    for low in order:
        beyond = 0
        for high in sorted(above[low], key=lambda size: size.hint):
            if beyond & bits[high]:
                found.add(above[low][high])
            beyond |= bits[high] | reached[high]
        reached[low] = beyond
    return found


def _bound(relation: sp.Basic, truth: bool) -> tuple[type, sp.Basic] | None:
    """Return what a guard bounds below by a number, and how strictly."""
    below = isinstance(relation, (sp.StrictLessThan, sp.StrictGreaterThan, sp.Le, sp.Ge))
    if not (truth and below and isinstance(relation.lts, sp.Integer)):
        return None
    strict = isinstance(relation, (sp.StrictLessThan, sp.StrictGreaterThan))
    return (sp.StrictLessThan if strict else sp.LessThan), relation.gts
