"""Python's control flow as calls: ``for``, ``while`` and ``if`` of a function rewritten.

A loop's or branch's block becomes a function of the variables that it assigns, and the
statement a call that gives them their new values::

    while err > tol:          def body(x, err):
        x = step(x)               x = step(x); err = abs(f(x))
        err = abs(f(x))           return x, err
                              x, err = flow.loop(lambda x, err: err > tol, body, (x, err))

What the call does with it (``_control_flow``) depends on the values: a decision on plain
numbers stays Python's own. A call for the sake of its effect (``smooth(a)``, ``a.fill(0)``) may
write to the variables that it is handed: they are given to the block like those that it
assigns. Blocks with ``break``, ``continue`` or ``return`` in them, or calls with effects on
something else (``print``, ``list.append``), stay as they are. Lines keep their numbers, so that
errors and programs point to the user's.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .._capture._ownership import installed
from .._capture._user_code import recipe_of, transformed
from ..errors import ArgumentError
from ._closures import Closures
from ._early_exits import without_jumps
from ._statements import (
    FLOW,
    Followed,
    assigned,
    binds,
    compiled_as,
    counts,
    define,
    definition_of,
    effects,
    error_of_chain,
    exits_by_return,
    flowing,
    give,
    if_not,
    is_closed,
    lazy,
    located,
    name_nodes,
    named,
    plain,
    raises,
    returns,
    spell_out_super,
    state_node,
    strip,
    take,
    walk,
    writes,
    writes_by_names,
    written_into,
)

#: Methods by which an array is assigned to, and that lists have not.
_WRITING = ("fill", "partition", "put")


def partial_of(function: Any, like: functools.partial[Any]) -> Callable[..., Any]:
    """Return a function with the arguments of a partial one."""
    return functools.partial(function, *like.args, **like.keywords)


def converted(function: Callable[..., Any], flow: Any) -> Callable[..., Any]:
    """Return ``function`` with its control flow as calls of ``flow``'s methods.

    If ``flow`` has a method ``called``, that is given each function that is called, and returns
    what is called in its place. Then loops that are left early become loops of the flow, too.

    Raises
    ------
    ArgumentError
        If it is no ``def`` whose source is at hand.
    """
    function = getattr(function, "plain", function)  # of sg.adapt, which tracing does anyway
    if transformed(function):
        make, (inner, *rest), options = recipe_of(function)
        known = "control_flow" in options
        return function if known else make(converted(inner, flow), *rest, **options)
    if isinstance(function, functools.partial):
        return partial_of(converted(function.func, flow), function)
    if type(function) is functools._lru_cache_wrapper:  # there is nothing to remember in a trace
        return converted(function.__wrapped__, flow)
    if not isinstance(function, (FunctionType, MethodType)):  # an object may have been called
        if type(function).__module__.startswith("symgrad."):  # with a rule of its own, for instance
            return function
        called = getattr(function, "__call__", None)  # noqa: B004
        function = called if isinstance(called, MethodType) else function
    if isinstance(function, MethodType):
        return MethodType(converted(function.__func__, flow), function.__self__)
    inner = getattr(function, "__wrapped__", None)
    if type(inner) is FunctionType and isinstance(function, FunctionType):  # a decorator's
        if installed(function.__code__.co_filename):
            return _around(function, inner, converted(inner, flow))
        flow = flow if hasattr(flow, "called") else _Around(flow, inner)
    follows = hasattr(flow, "called")
    code = _code_of(function, follows) if isinstance(function, FunctionType) else None
    if code is None:
        raise ArgumentError(
            "control_flow=True rewrites the source of a function: write it with `def`, in a file "
            "or a notebook cell"
        )
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[FLOW] = CellType(flow)
    result = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )  # fmt: skip
    result.__kwdefaults__ = function.__kwdefaults__
    return result


class _Around:
    """The flow of a decorator's function, which leads into the one that it is around.

    Parameters
    ----------
    flow:
        The flow of both.
    inner:
        The function that is decorated.
    """

    def __init__(self, flow: Any, inner: FunctionType) -> None:
        self._flow, self._code = flow, inner.__code__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flow, name)

    def called(self, function: Any) -> Any:
        """Return the decorated function with its control flow rewritten, others as they are."""
        ours = type(function) is FunctionType and function.__code__ is self._code
        return converted(function, self._flow) if ours else function


def _around(wrapper: FunctionType, inner: Any, new: Any) -> FunctionType:
    """Return a library's function around another one with a new one in its place."""
    cells = [CellType(new) if c.cell_contents is inner else c for c in wrapper.__closure__ or ()]
    made = FunctionType(
        wrapper.__code__, wrapper.__globals__, wrapper.__name__, wrapper.__defaults__, tuple(cells)
    )
    made.__kwdefaults__ = wrapper.__kwdefaults__
    return made


#: Most codes whose rewritten ones are kept: a model's method is rewritten for each of its objects.
KEPT = 1024

_codes: dict[Hashable, CodeType] = {}


def _code_of(function: FunctionType, follows: bool) -> CodeType | None:
    """Return the code with the control flow as calls; None if there is no source."""
    closed = inspect.getclosurevars(function)
    known = {**closed.globals, **closed.nonlocals}
    library = frozenset(k for k, x in known.items() if isinstance(x, (FunctionType, ModuleType)))
    code = function.__code__
    key = code, code.co_filename, library, follows
    found = _codes.get(key)
    if found is None and (definition := definition_of(function)) is not None:
        if len(_codes) >= KEPT:
            _codes.clear()
        found = _codes[key] = _rewritten(function, definition, library, follows)
    return found


def _rewritten(
    function: FunctionType, definition: ast.FunctionDef, library: frozenset[str], follows: bool
) -> CodeType:
    strip(definition)
    if "__class__" in function.__code__.co_freevars:
        spell_out_super(definition)
    made = _Rewriter(library, definition, follows).function(definition)
    if follows:
        Followed().visit(made)
    return compiled_as(made, function)


#: The name for what is handed to a side of a branch only to be read, or written to.
UNUSED = "__flow_unused"


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, library: frozenset[str], definition: ast.FunctionDef, left: bool = False
    ) -> None:
        self.count, self.left = 0, left
        # Names of the function's own, and of those within it.
        self.own = {
            n.id if isinstance(n, ast.Name) else n.arg if isinstance(n, ast.arg) else n.name
            for n in ast.walk(definition)
            if isinstance(n, (ast.arg, ast.FunctionDef))
            or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        }
        # Those that helpers may give other values: a block cannot have its own.
        self.shared = {
            name
            for n in ast.walk(definition)
            if isinstance(n, (ast.Nonlocal, ast.Global))
            for name in n.names
        }
        #: Names of functions and modules from outside.
        self.library = library
        self.closures = Closures(definition, library)

    def lent(self, statements: Sequence[ast.stmt]) -> list[str]:
        """Return the variables that a block may write to, but does not assign to.

        It may write to what it hands to calls, and if it gives an array a name and assigns to
        elements by that name (``row = a[i]; row[0] = x``), to all that it reads.
        """
        roots: Sequence[ast.AST] = statements if writes_by_names(statements) else (
            effects(statements))  # fmt: skip
        names = {
            n.id
            for root in roots
            for n in ast.walk(root)
            if isinstance(n, ast.Name) and n.id in self.own
        }
        return sorted(names - self.shared - set(assigned(statements)))

    def around(self, statements: Sequence[ast.stmt]) -> list[str]:
        """Return the variables that a side of a branch may write to, but does not assign to.

        If it assigns to elements at all, all that it reads may be a view of what it assigns to.
        """
        if not writes(statements):
            return self.lent(statements)
        names = {
            n.id for n in walk(statements) if isinstance(n, ast.Name) and n.id in self.own
        }  # fmt: skip
        return sorted(names - self.shared - set(assigned(statements)))

    def plain(self, statements: Sequence[ast.stmt], *given: str) -> bool:
        """Tell whether a block does nothing but assign, to arrays also by calls.

        ``given``: further variables that it has.
        """
        return (
            plain(statements)
            and self.shared.isdisjoint(assigned(statements))
            and not self.closures.tell(statements, given)
            and all(map(self.only_writes, effects(statements)))
        )

    def test(self, s: ast.If) -> Any:
        """Return the test of a branch.

        Python decides it where it has decided on a part already, which the rest may need, and where
        sides write into containers.
        """
        parts = [
            n for n in walk([s.test])
            if isinstance(n, (ast.BoolOp, ast.IfExp))
            or (isinstance(n, ast.Compare) and len(n.ops) > 1)
        ]  # fmt: skip
        partly, test = any(map(binds, parts)), self.visit(s.test)
        if partly:
            return flowing("decided", test, s)
        written = written_into([*s.body, *s.orelse])
        values = [flowing("value", lazy(named(n)), named(n)) for n in written]
        return flowing("decided", test, *values, s) if written else test

    def is_early(self, s: ast.If, rest: list[ast.stmt]) -> bool:
        """Tell whether a branch and what follows are two ways to the function's result."""
        ways = [*s.body, *s.orelse]
        return (
            exits_by_return(ways)
            and self.shared.isdisjoint(assigned([*ways, *rest]))
            and not self.closures.tell([*ways, *rest])
        )

    def only_writes(self, call: ast.Call) -> bool:
        """Tell whether a call has an effect on nothing but arrays, as far as can be seen."""
        root: ast.expr = call.func
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        if root.id in self.own:
            return isinstance(call.func, ast.Name) or (
                isinstance(call.func, ast.Attribute) and call.func.attr in _WRITING
            )
        return root.id in self.library

    def name(self, what: str) -> str:
        self.count += 1
        return f"__flow_{what}{self.count}"

    def variable(self, what: str) -> str:
        self.count += 1
        return f"__{what}{self.count}"

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        definition.body = self.ending(definition.body, definition)
        return definition

    def block(self, statements: Sequence[ast.stmt], tail: bool) -> list[ast.stmt]:
        """Rewrite statements; ``tail``: after them the function returns."""
        done: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(s, ast.Assert):
                s = if_not(s)
            if isinstance(s, ast.If):
                if rest and raises(rest) and is_closed(s, rest):
                    rest = []
                if raises(s.body) or raises(s.orelse):
                    return [*done, *self.unless(s, rest, tail)]
                if (lifted := error_of_chain(s)) is not None:
                    return [*done, *self.unless(lifted, [s, *rest], tail)]
            if isinstance(s, ast.If) and tail and self.is_early(s, rest):
                return [*done, *self.early(s, rest)]
            if self.left and isinstance(s, (ast.For, ast.While)):
                made = without_jumps(s, self.variable, tail)
                loop = next((x for x in made or () if isinstance(x, ast.While)), None)
                if made is not None and loop is not None and self.plain(loop.body):
                    return [*done, *self.block([*made, *rest], tail)]
            done += self.statement(s)
        return done

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        if isinstance(s, ast.FunctionDef):
            return [self.function(s)]
        if isinstance(s, ast.If) and self.plain([*s.body, *s.orelse]):
            return self.branch(s)
        if isinstance(s, ast.While) and not (s.orelse or binds(s.test)) and self.plain(s.body):
            return self.loop(s)
        if isinstance(s, ast.For) and not s.orelse and counts(s):
            assert isinstance(s.target, ast.Name)
            sets = s.target.id in assigned(s.body)
            if self.plain(s.body, s.target.id) and not sets:
                return self.count_loop(s)
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(s, part, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(s, part, self.block(inner, tail=False))
        if isinstance(s, ast.Try) and s.handlers:
            around = ast.withitem(flowing("caught", s))
            s.body = [located(ast.With([around], s.body), s)]
        for handler in getattr(s, "handlers", ()):
            handler.body = self.block(handler.body, tail=False)
        return [self.expressions(s)]

    def expressions(self, s: Any) -> Any:
        """Rewrite the expressions of a statement, not the blocks within it."""
        for field, value in ast.iter_fields(s):
            if isinstance(value, ast.expr):
                setattr(s, field, self.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(s, field, [self.visit(v) for v in value])
        return s

    # ---------------------------------------------------------------- statements

    def branch(self, s: ast.If) -> list[ast.stmt]:
        lent = self.around([*s.body, *s.orelse])
        names = [*assigned([*s.body, *s.orelse]), *lent]
        yes, no = self.name("then"), self.name("else")
        both = [n for n in assigned(s.body) if n in assigned(s.orelse)]
        call = flowing("branch", self.test(s), named(yes), named(no), state_node(names),
                     name_nodes(both), name_nodes(lent), s)  # fmt: skip
        return [
            define(yes, names, [*self.block(s.body, False), give(names, s)], s),
            define(no, names, [*self.block(s.orelse, False), give(names, s)], s),
            take([UNUSED if n in lent else n for n in names], call, s),
        ]

    def early(self, s: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """``if test: return a`` and what follows: two ways to the function's result."""
        body = [*s.body, *([] if returns(s.body) else copy.deepcopy(rest))]
        orelse = [*s.orelse, *([] if returns(s.orelse) else rest)]
        if raises(body) or raises(orelse):
            return self.unless(located(ast.If(s.test, body, orelse), s), [], tail=True)
        test = self.test(located(ast.If(s.test, body, orelse), s))
        names = [*assigned([*body, *orelse]), *self.around([*body, *orelse])]
        yes, no = self.name("then"), self.name("else")
        call = flowing("either", test, named(yes), named(no), state_node(names), s)
        return [
            define(yes, names, self.ending(body, s), s),
            define(no, names, self.ending(orelse, s), s),
            located(ast.Return(call), s),
        ]

    def unless(self, s: ast.If, rest: list[ast.stmt], tail: bool) -> list[ast.stmt]:
        """``if test: raise error``, and what follows where nothing is raised."""
        test, body, orelse = self.visit(s.test), s.body, s.orelse
        if not raises(body):
            test, body, orelse = flowing("negated", test, s), orelse, body
        error, names = self.name("error"), assigned(body)
        call = flowing("unless", test, named(error), state_node(names), s)
        made = [define(error, names, body, s), located(ast.Expr(call), s)]
        return [*made, *self.block([*orelse, *rest], tail)]

    def ending(self, statements: list[ast.stmt], like: ast.AST) -> list[ast.stmt]:
        """Rewrite the statements of a function, or of a side that returns."""
        return self.block(statements, tail=True) or [located(ast.Pass(), like)]

    def loop(self, s: ast.While) -> list[ast.stmt]:
        lent = self.lent(s.body)
        names = [*assigned(s.body), *lent]
        test, body = self.name("test"), self.name("body")
        call = flowing("loop", named(test), named(body), state_node(names), name_nodes(lent), s)
        return [
            define(test, names, [located(ast.Return(self.visit(s.test)), s)], s),
            define(body, names, [*self.block(s.body, False), give(names, s)], s),
            take(names, call, s),
        ]

    def count_loop(self, s: ast.For) -> list[ast.stmt]:
        assert isinstance(s.target, ast.Name)
        assert isinstance(s.iter, ast.Call)
        lent = [n for n in self.lent(s.body) if n != s.target.id]
        names = [*(n for n in assigned(s.body) if n != s.target.id), *lent]
        body = self.name("body")
        bounds = located(ast.Tuple([self.visit(a) for a in s.iter.args], ast.Load()), s)
        parts = [bounds, named(body), state_node(names), name_nodes(lent)]
        given = names
        if self.closures.is_read_outside(s.target.id, s):
            parts.append(flowing("value", lazy(named(s.target.id)), s.target))
            given = [*names, s.target.id]
        call = flowing("count", *parts, s)
        inner = [*self.block(s.body, False), give(names, s)]
        return [define(body, [s.target.id, *names], inner, s), take(given, call, s)]

    # ---------------------------------------------------------------- expressions
    # What becomes a function, to be called where it counts, gives no names to what is around it:
    # where names are given there, ``and``, ``or`` and ``if`` stay Python's.

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        test, body, orelse = (self.visit(x) for x in (node.test, node.body, node.orelse))
        return flowing("choose", test, lazy(body), lazy(orelse), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        kind = "both" if isinstance(node.op, ast.And) else "any_of"
        return flowing(kind, *(lazy(self.visit(v)) for v in node.values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return flowing("negated", operand, node)
        node.operand = operand
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if binds(node):
            return self.generic_visit(node)
        values = [self.visit(x) for x in (node.left, *node.comparators)]
        pairs = [
            located(ast.Compare(a, [op], [b]), node)
            for a, op, b in zip(values, node.ops, values[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else flowing("both", *map(lazy, pairs), node)
