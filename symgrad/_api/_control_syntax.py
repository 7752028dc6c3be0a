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
import builtins
import copy
import inspect
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ..errors import ArgumentError
from ._jumps import without_jumps
from ._statements import (
    assigned,
    code_of,
    counts,
    definition_of,
    effects,
    exits_by_return,
    located,
    plain,
    raises,
    returns,
    strip,
    walk,
    writes,
    writes_by_names,
)

FLOW = "__flow__"


#: Methods by which an array is assigned to, and that lists have not.
_WRITING = ("fill", "partition", "put")


def converted(function: Callable[..., Any], flow: Any) -> Callable[..., Any]:
    """Return ``function`` with its control flow as calls of ``flow``'s methods.

    If ``flow`` has a method ``called``, that is given each function that is called, and returns
    what is called in its place. Then loops that are left early become loops of the flow, too.

    Raises
    ------
    ArgumentError
        If it is no ``def`` whose source is at hand.
    """
    function = inspect.unwrap(function)
    function = getattr(function, "plain", function)  # of sg.adapt, which tracing does by itself
    if not isinstance(function, (FunctionType, MethodType)):  # an object may have been called
        called = getattr(function, "__call__", None)  # noqa: B004
        function = called if isinstance(called, MethodType) else function
    if isinstance(function, MethodType):
        return MethodType(converted(function.__func__, flow), function.__self__)
    definition = definition_of(function) if isinstance(function, FunctionType) else None
    if not isinstance(function, FunctionType) or definition is None:
        raise ArgumentError(
            "control_flow=True rewrites the source of a function: write it with `def`, in a file "
            "or a notebook cell"
        )
    strip(definition)
    follows = hasattr(flow, "called")
    made = _Rewriter(function, definition, follows).function(definition)
    if follows:
        _Followed().visit(made)
    # Free variables stay free: the code is compiled within a function that has them.
    free = [*function.__code__.co_freevars, FLOW]
    outer = ast.parse(f"def outer({', '.join(free)}):\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [made]
    made.name = f"{FLOW}{definition.name}"  # its own name is that of the plain function in it
    module = ast.fix_missing_locations(ast.Module([outer], []))
    whole = compile(module, function.__code__.co_filename, "exec")
    code = code_of(code_of(whole, "outer"), made.name)
    code = code.replace(co_name=function.__name__)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[FLOW] = CellType(flow)
    result = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )  # fmt: skip
    result.__kwdefaults__ = function.__kwdefaults__
    return result


#: The name for what a function has raised, as far as no example decides.
ERRORS = "__flow_errors"
#: The name for what is handed to a side of a branch only to be read, or written to.
UNUSED = "__flow_unused"


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, function: FunctionType, definition: ast.FunctionDef, left: bool = False
    ) -> None:
        self.count, self.left = 0, left
        # Names of the function's own, and of those within it.
        self.own = {
            n.id if isinstance(n, ast.Name) else n.arg if isinstance(n, ast.arg) else n.name
            for n in ast.walk(definition)
            if isinstance(n, (ast.arg, ast.FunctionDef))
            or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        }
        closed = inspect.getclosurevars(function)
        self.outside = {**closed.globals, **closed.nonlocals}

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
        return sorted(names - set(assigned(statements)))

    def around(self, statements: Sequence[ast.stmt]) -> list[str]:
        """Return the variables that a side of a branch may write to, but does not assign to.

        If it assigns to elements at all, all that it reads may be a view of what it assigns to.
        """
        if not writes(statements):
            return self.lent(statements)
        names = {
            n.id for n in walk(statements) if isinstance(n, ast.Name) and n.id in self.own
        }  # fmt: skip
        return sorted(names - set(assigned(statements)))

    def plain(self, statements: Sequence[ast.stmt]) -> bool:
        """Tell whether a block does nothing but assign, to arrays also by calls."""
        return plain(statements) and all(map(self.only_writes, effects(statements)))

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
        return isinstance(self.outside.get(root.id), (FunctionType, ModuleType))

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
                s = _if_not(s)
            if isinstance(s, ast.If):
                if rest and raises(rest) and _closed(s, rest):
                    rest = []
                if raises(s.body) or raises(s.orelse):
                    return [*done, *self.unless(s, rest, tail)]
                if (lifted := _error_of_chain(s)) is not None:
                    return [*done, *self.unless(lifted, [s, *rest], tail)]
            if isinstance(s, ast.If) and tail and exits_by_return([*s.body, *s.orelse]):
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
        if isinstance(s, ast.While) and not s.orelse and self.plain(s.body):
            return self.loop(s)
        if isinstance(s, ast.For) and not s.orelse and self.plain(s.body) and counts(s):
            return self.count_loop(s)
        for part in ("body", "orelse", "finalbody"):
            inner = getattr(s, part, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(s, part, self.block(inner, tail=False))
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
        call = _call("branch", self.visit(s.test), _name(yes), _name(no), _state(names),
                     _names(both), _names(lent), s)  # fmt: skip
        return [
            _define(yes, names, [*self.block(s.body, False), _give(names, s)], s),
            _define(no, names, [*self.block(s.orelse, False), _give(names, s)], s),
            _take([UNUSED if n in lent else n for n in names], call, s),
        ]

    def early(self, s: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """``if test: return a`` and what follows: two ways to the function's result."""
        body = [*s.body, *([] if returns(s.body) else copy.deepcopy(rest))]
        orelse = [*s.orelse, *([] if returns(s.orelse) else rest)]
        if raises(body) or raises(orelse):
            return self.unless(located(ast.If(s.test, body, orelse), s), [], tail=True)
        names = [*assigned([*body, *orelse]), *self.around([*body, *orelse])]
        yes, no = self.name("then"), self.name("else")
        call = _call("either", self.visit(s.test), _name(yes), _name(no), _state(names), s)
        return [
            _define(yes, names, self.ending(body, s), s),
            _define(no, names, self.ending(orelse, s), s),
            located(ast.Return(call), s),
        ]

    def unless(self, s: ast.If, rest: list[ast.stmt], tail: bool) -> list[ast.stmt]:
        """``if test: raise error``, and what follows where nothing is raised."""
        test, body, orelse = self.visit(s.test), s.body, s.orelse
        if not raises(body):
            test, body, orelse = _call("negated", test, s), orelse, body
        error, names = self.name("error"), assigned(body)
        call = _call("unless", test, _name(error), _state(names), _name(ERRORS), s)
        made = [_define(error, names, body, s), located(ast.Expr(call), s)]
        return [*made, *self.block([*orelse, *rest], tail)]

    def ending(self, statements: list[ast.stmt], like: ast.AST) -> list[ast.stmt]:
        """Rewrite the statements of a function, whose results tell what was raised."""
        errors = any(isinstance(n, (ast.Raise, ast.Assert)) for n in walk(statements))
        ended = returns(statements)
        made = self.block(statements, tail=True)
        if not errors:
            return made or [located(ast.Pass(), like)]
        _Results().block(made)
        if not ended:
            made.append(_result(None, like))
        first = ast.Assign([ast.Name(ERRORS, ast.Store())], _call("errors", like))
        return [located(first, like), *made]

    def loop(self, s: ast.While) -> list[ast.stmt]:
        lent = self.lent(s.body)
        names = [*assigned(s.body), *lent]
        test, body = self.name("test"), self.name("body")
        call = _call("loop", _name(test), _name(body), _state(names), _names(lent), s)
        return [
            _define(test, names, [located(ast.Return(self.visit(s.test)), s)], s),
            _define(body, names, [*self.block(s.body, False), _give(names, s)], s),
            _take(names, call, s),
        ]

    def count_loop(self, s: ast.For) -> list[ast.stmt]:
        assert isinstance(s.target, ast.Name)
        assert isinstance(s.iter, ast.Call)
        lent = [n for n in self.lent(s.body) if n != s.target.id]
        names = [*(n for n in assigned(s.body) if n != s.target.id), *lent]
        body = self.name("body")
        bounds = located(ast.Tuple([self.visit(a) for a in s.iter.args], ast.Load()), s)
        call = _call("count", bounds, _name(body), _state(names), _names(lent), s)
        inner = [*self.block(s.body, False), _give(names, s)]
        return [_define(body, [s.target.id, *names], inner, s), _take(names, call, s)]

    # ---------------------------------------------------------------- expressions

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test, body, orelse = (self.visit(x) for x in (node.test, node.body, node.orelse))
        return _call("choose", test, _lazy(body), _lazy(orelse), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        kind = "both" if isinstance(node.op, ast.And) else "any_of"
        return _call(kind, *(_lazy(self.visit(v)) for v in node.values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _call("negated", operand, node)
        node.operand = operand
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        values = [self.visit(x) for x in (node.left, *node.comparators)]
        pairs = [
            located(ast.Compare(a, [op], [b]), node)
            for a, op, b in zip(values, node.ops, values[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else _call("both", *map(_lazy, pairs), node)


# ---------------------------------------------------------------- making code


class _Results(ast.NodeTransformer):
    """Has what a function returns pass through ``flow.result``."""

    def block(self, statements: list[ast.stmt]) -> None:
        statements[:] = [self.visit(s) for s in statements]

    def visit_Return(self, node: ast.Return) -> Any:
        return _result(node.value, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_Lambda = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]


def _result(value: ast.expr | None, like: ast.AST) -> Any:
    call = _call("result", _name(ERRORS), value or located(ast.Constant(None), like), like)
    return located(ast.Return(call), like)


def _if_not(s: ast.Assert) -> ast.If:
    """Return ``assert test, message`` as ``if``."""
    error = located(
        ast.Call(ast.Name("AssertionError", ast.Load()), [s.msg] if s.msg else [], []), s
    )
    test = located(ast.UnaryOp(ast.Not(), s.test), s)
    made: ast.If = located(ast.If(test, [located(ast.Raise(error), s)], []), s)
    return made


def _closed(s: ast.If, rest: list[ast.stmt]) -> bool:
    """Put what follows ``if`` and its ``elif``s under ``else``, if all of them return."""
    last = s
    while returns(last.body) and len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last = last.orelse[0]
    if not returns(last.body) or last.orelse:
        return False
    last.orelse = rest
    return True


def _error_of_chain(s: ast.If) -> ast.If | None:
    """Take the last ``else: raise error`` off ``if`` and its ``elif``s: as ``if`` of its own.

    Where it raises nothing the last test holds: what stands under that is for all others.
    """
    tests, last, before = [s.test], s, None
    while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last, before = last.orelse[0], last
        tests.append(last.test)
    if before is None or not raises(last.orelse):
        return None
    none = ast.UnaryOp(ast.Not(), ast.BoolOp(ast.Or(), copy.deepcopy(tests)))
    before.orelse = last.body
    error: ast.If = located(ast.If(none, last.orelse, []), s)
    return error


class _Followed(ast.NodeTransformer):
    """Has what is called pass through ``flow.called``, but for Python's own functions."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or (root.id != FLOW and not hasattr(builtins, root.id)):
            node.func = _call("called", node.func, node.func)
        return node


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def _call(method: str, *parts: Any) -> Any:
    """Return the call of a method of the flow; the last part gives the line."""
    *args, like = parts
    target = ast.Attribute(_name(FLOW), method, ast.Load())
    return located(ast.Call(target, args, []), like)


def _lazy(body: ast.expr) -> ast.expr:
    empty = ast.arguments([], [], None, [], [], None, [])
    lazy: ast.expr = located(ast.Lambda(empty, body), body)
    return lazy


def _state(names: Sequence[str]) -> ast.expr:
    """Return the variables' names and values, as far as they have one."""
    values = [_call("value", _lazy(_name(n)), _name(n)) for n in names]
    return ast.Dict([ast.Constant(n) for n in names], values)


def _define(name: str, parameters: Sequence[str], body: list[ast.stmt], like: ast.AST) -> Any:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    template = ast.parse("def f(): pass").body[0]
    assert isinstance(template, ast.FunctionDef)
    template.name, template.args, template.body = name, arguments, body
    return located(template, like)


def _give(names: Sequence[str], like: ast.AST) -> Any:
    values = [_call("value", _lazy(_name(n)), _name(n)) for n in names]
    return located(ast.Return(ast.Tuple(values, ast.Load())), like)


def _take(names: Sequence[str], call: Any, like: ast.AST) -> Any:
    if not names:
        return located(ast.Expr(call), like)
    target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    return located(ast.Assign([target], call), like)
