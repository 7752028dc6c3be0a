"""Closures in rewritten functions: whether a block may have variables of its own beside them.

A block of rewritten control flow is a function, so what it assigns are variables of its own until
it ends. Python's closures see a variable as it is when they are called::

    g = lambda: k                     for i in range(n):
    if x > 1:                             parts = parts + [lambda: i]
        k = 5*x
        y = g()          # 5*x        parts[0]()               # n - 1

Where a closure would tell the difference, the block has to stay Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ._statements import assigned

Position = tuple[int, int]

_CLOSURES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp)

#: Builtins that have called their argument, or gone along it, when they return.
_CONSUMERS = frozenset((
    "all", "any", "dict", "frozenset", "len", "list", "max", "min", "set", "sorted", "sum", "tuple",
))  # fmt: skip
#: Those that do so once their result is gone along.
_LAZY = frozenset(("enumerate", "filter", "iter", "map", "reversed", "zip"))
#: Functions of modules that return another function.
_MAKERS = frozenset(("compile", "grad", "jit", "njit", "partial", "vectorize", "vmap", "wraps"))

#: Expressions whose value is that of a part, or has it in it.
_KEEPING = (
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Lambda, ast.IfExp, ast.BoolOp, ast.NamedExpr,
    ast.Starred, ast.keyword,
)  # fmt: skip


class Closure(NamedTuple):
    """A closure of a function: where it is, which names it reads, and which names hold it.

    Attributes
    ----------
    at, reads:
        Where it is made, and the names that it reads.
    holders:
        The names by which it is known; None where it is put into something else, so that it is
        not known what may call it.
    wrapped:
        Whether they hold what a call has made of it: another function, or the numbers that a
        solver has found. It is the former if a holder is called.
    """

    at: Position
    reads: frozenset[str]
    holders: frozenset[str] | None
    wrapped: bool = False


class Closures:
    """The closures of a function that outlive the expression in which they are made.

    Parameters
    ----------
    definition:
        The function, as it is written.
    library:
        Names of functions and modules from outside.
    """

    def __init__(self, definition: ast.FunctionDef, library: frozenset[str]) -> None:
        self._library, self._definition = library, definition
        self._known: list[Closure] = []
        for s in definition.body:
            self._enter(s, [])
        self._loads = [x for x in _names(definition.body) if isinstance(x.ctx, ast.Load)]
        calls = [x for x in ast.walk(definition) if isinstance(x, ast.Call)]
        self._called = {
            id(x) for c in calls for x in (c.func, *c.args, *(k.value for k in c.keywords))
        }
        #: Names that are called, and names that these are other names of or have parts of.
        self._functions = {name for c in calls if (name := _root(c.func)) is not None}
        more = self._functions
        while more:
            more = {
                x.id
                for s in ast.walk(definition)
                if isinstance(s, ast.Assign) and any(n.id in more for n in _names(s.targets))
                and not isinstance(s.value, ast.Call)
                for x in _names([s.value])
            } - self._functions  # fmt: skip
            self._functions |= more
        self._loops = [
            _span([x]) for x in ast.walk(definition) if isinstance(x, (ast.For, ast.While))
        ]

    def _enter(self, node: ast.AST, above: list[ast.AST]) -> None:
        """Note the closures of a node, which is within ``above``, the innermost first."""
        if isinstance(node, _CLOSURES) and (reads := frozenset(_free(node))):
            held = self._held(node, above)
            if held is not None:
                self._known.append(Closure(_at(node), reads, *held))
            if isinstance(node, ast.FunctionDef):  # by its name, and by what is made of it
                made = (self._held(x, up) for x, up in self._given_to_calls(node.name))
                self._known += [Closure(_at(node), reads, *x) for x in made if x and x[1]]
        for child in ast.iter_child_nodes(node):
            self._enter(child, [node, *above])

    def _given_to_calls(self, name: str) -> Iterator[tuple[ast.Name, list[ast.AST]]]:
        """Yield where a name is an argument of a call, with the nodes above, innermost first."""
        waiting: list[tuple[ast.AST, list[ast.AST]]] = [(self._definition, [])]
        while waiting:
            node, above = waiting.pop()
            if isinstance(node, ast.Name) and node.id == name and _call_of(node, above) is not None:
                yield node, above
            waiting += [(child, [node, *above]) for child in ast.iter_child_nodes(node)]

    def _held(
        self, node: ast.AST, above: Sequence[ast.AST]
    ) -> tuple[frozenset[str] | None, bool] | None:
        """Return which names hold a closure, and whether a call has made what they hold.

        None if nothing does: it is an argument of a call that keeps nothing of it.
        """
        call = _call_of(node, above)
        if call is None:
            return _holders(node, above), False
        around = above[above.index(call) + 1 :]
        called = call.func.attr if isinstance(call.func, ast.Attribute) else _root(call.func)
        if isinstance(call.func, ast.Name) and called in _LAZY:
            return self._held(call, around)
        if isinstance(call.func, ast.Name) and called in _CONSUMERS:
            return None
        if _root(call.func) not in self._library or called in _MAKERS:
            return None, False
        if isinstance(call.func, ast.Attribute):  # of a module: quad, minimize, ...
            return None
        # A function of the user's: what it returns may call the closure.
        outer = _call_of(call, around)
        if outer is not None:
            return self._held(call, around)
        taker = around[0] if around else None
        if isinstance(taker, ast.Assign):
            targets = [x.id for x in _names(taker.targets) if isinstance(x.ctx, ast.Store)]
            return (frozenset(targets), True) if targets else (None, False)
        return (None, False) if isinstance(taker, _KEEPING) else None

    def tell(self, block: Sequence[ast.stmt], given: Iterable[str] = ()) -> bool:
        """Tell whether a closure would see that the block has variables of its own.

        ``given`` are further ones, which it does not hand on: a loop's counter.
        """
        own = {*assigned(block), *_targets(block), *given}
        concerned = [
            x for x in self._known
            if not own.isdisjoint(x.reads)
            and not (x.wrapped and self._functions.isdisjoint(x.holders or ()))
        ]  # fmt: skip
        if not concerned:
            return False
        begin, end = _span(block)
        for closure in concerned:
            if begin <= closure.at <= end:
                if self._outlives(closure, begin, end):
                    return True
            elif self._is_there(closure, begin, end) and (
                not closure.reads.isdisjoint(given) or self._may_call(block, closure)
            ):
                return True
        return False

    def is_read_outside(self, name: str, loop: ast.stmt) -> bool:
        """Tell whether a name is read outside of a loop."""
        begin, end = _span([loop])
        return any(x.id == name and not begin <= _at(x) <= end for x in self._loads)

    def _outlives(self, closure: Closure, begin: Position, end: Position) -> bool:
        """Tell whether a closure that a block makes may be called in another run of it, or later.

        Not if it has a name that is used after it in the block and nowhere else, to call it or to
        give it to what is called.
        """
        return (
            closure.holders is None
            or closure.wrapped
            or any(
                x.id in closure.holders
                and (not closure.at <= _at(x) <= end or id(x) not in self._called)
                for x in self._loads
            )
        )

    def _is_there(self, closure: Closure, begin: Position, end: Position) -> bool:
        """Tell whether a closure that is made elsewhere may be there when the block runs."""
        if closure.at < begin:
            return True
        return any(
            first <= begin and end <= last and first <= closure.at <= last
            for first, last in self._loops
        )

    def _may_call(self, block: Sequence[ast.stmt], closure: Closure) -> bool:
        """Tell whether a block may call a closure that is made elsewhere."""
        if closure.holders is not None:
            names = {x.id for x in _names(block)}
            if closure.holders & names:
                return True
        return any(
            isinstance(x, ast.Call) and _root(x.func) not in self._library | _CONSUMERS | _LAZY
            for s in block
            for x in ast.walk(s)
        )


def _call_of(node: ast.AST, above: Sequence[ast.AST]) -> ast.Call | None:
    """Return the call that a node is an argument of; None if it is of none."""
    call = next((x for x in above if not isinstance(x, (ast.keyword, ast.Starred))), None)
    return call if isinstance(call, ast.Call) and node is not call.func else None


def _at(node: ast.AST) -> Position:
    assert isinstance(node, (ast.expr, ast.stmt))
    return node.lineno, node.col_offset


def _span(nodes: Iterable[ast.AST]) -> tuple[Position, Position]:
    """Return where nodes begin and end; of generated ones not all have a place."""
    found = (x for n in nodes for x in ast.walk(n) if isinstance(x, (ast.expr, ast.stmt)))
    placed = [x for x in found if hasattr(x, "lineno")]
    ends = [(x.end_lineno or x.lineno, x.end_col_offset or x.col_offset) for x in placed]
    return min(map(_at, placed)), max(ends)


def _names(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """Yield the names in nodes, those of functions within, too."""
    for node in nodes:
        yield from (x for x in ast.walk(node) if isinstance(x, ast.Name))


def _root(node: ast.AST) -> str | None:
    """Return the name that attributes and elements are of."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _targets(block: Iterable[ast.stmt]) -> set[str]:
    """Return the names that loops in a block count with."""
    return {
        x.id
        for s in block
        for loop in ast.walk(s)
        if isinstance(loop, (ast.For, ast.AsyncFor))
        for x in _names([loop.target])
    }


def _free(node: ast.AST) -> set[str]:
    """Return the names that a closure reads and neither binds itself nor is given."""
    bound = {x.arg for x in ast.walk(node) if isinstance(x, ast.arg)}
    bound |= {x.id for x in _names([node]) if not isinstance(x.ctx, ast.Load)}
    if isinstance(node, ast.GeneratorExp):  # the first iterable is gone to at once
        inside: list[ast.AST] = [node.elt, *(i for g in node.generators for i in g.ifs)]
        inside += [g.iter for g in node.generators[1:]]
    elif isinstance(node, ast.Lambda):
        inside = [node.body]
    else:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        inside = [*node.body]
    return {x.id for x in _names(inside) if isinstance(x.ctx, ast.Load)} - bound


def _holders(node: ast.AST, above: Sequence[ast.AST]) -> frozenset[str] | None:
    """Return the names by which a closure is known; None if it is put into something else."""
    statement = above[0] if above else None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None if isinstance(statement, ast.ClassDef) else frozenset((node.name,))
    if isinstance(statement, ast.Assign) and all(
        isinstance(t, ast.Name) for t in statement.targets
    ):
        return frozenset(t.id for t in statement.targets if isinstance(t, ast.Name))
    if isinstance(statement, ast.Call) and node is statement.func:
        return frozenset()  # called at once
    return None
