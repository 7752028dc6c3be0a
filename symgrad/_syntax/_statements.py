"""Functions as syntax trees: their source, code from trees again, and what statements do.

A block of Python's statements assigns, writes to arrays, is left early. At the end are the
expressions and statements that rewriting makes.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import inspect
import textwrap
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from .._core.base.signals import foreseen

#: The attribute of a function that has its source.
SOURCE = "__symgrad_source__"


def definition_of(function: FunctionType) -> ast.FunctionDef | None:
    """Return the tree of a function's definition, with the lines of its file; None without any."""
    code = function.__code__
    try:
        if code.co_name == "<lambda>":
            return _lambda_of(code, ast.parse("".join(inspect.findsource(function)[0])))
        text, first = _source_of(function)
        tree = ast.parse(textwrap.dedent(text))
    except foreseen(OSError, TypeError, SyntaxError):
        return None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        return None  # the lines may hold a lambda, too
    ast.increment_lineno(tree, first - 1)
    return found


def _lambda_of(code: CodeType, file: ast.Module) -> ast.FunctionDef | None:
    """Return the lambda whose code it is, as a ``def``: the least that holds all its places."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not places:  # of Python run with -X no_debug_ranges
        return None
    first = min((line, column) for line, _, column, _ in places)
    last = max((line, column) for _, line, _, column in places)
    around = [
        node for node in ast.walk(file)
        if isinstance(node, ast.Lambda)
        and (node.body.lineno, node.body.col_offset) <= first
        and last <= (node.body.end_lineno, node.body.end_col_offset)
    ]  # fmt: skip
    if not around:
        return None
    node = max(around, key=lambda n: (n.body.lineno, n.body.col_offset))
    result = located(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("lambda_", node.args, [result], []), node)


def _source_of(function: FunctionType) -> tuple[str, int]:
    """Return a function's source and its first line.

    The function keeps it: where a notebook's is sent to another process by value, with its
    attributes, there is no file. A decorator's function has the attributes of the one that it is
    around, so it is kept of whose code it is.
    """
    code = function.__code__
    place = code.co_name, code.co_firstlineno  # by value it goes without the name of its file
    known: tuple[Any, str, int] | None = getattr(function, SOURCE, None)
    if known is None or known[0] != place:
        lines, first = inspect.getsourcelines(code)  # of a function: that of what it is around
        known = place, "".join(lines), first
        with contextlib.suppress(AttributeError, TypeError):  # it is no function of Python's
            setattr(function, SOURCE, known)
    return known[1:]


def strip(definition: ast.FunctionDef) -> None:
    """Drop what is evaluated where a function is defined; Python may make functions of it."""
    definition.decorator_list, definition.returns = [], None
    definition.type_params = []  # type: ignore[attr-defined]  # since Python 3.12
    for parameter in ast.walk(definition.args):
        if isinstance(parameter, ast.arg):
            parameter.annotation = None


def spell_out_super(definition: ast.FunctionDef) -> None:
    """Name what ``super()`` asks the method for: it may come to stand in a function within."""
    arguments = definition.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and ast.unparse(node) == "super()" and first:
            node.args = [named("__class__"), named(first[0].arg)]


def compiled_as(definition: ast.FunctionDef, function: FunctionType) -> CodeType:
    """Return the code of a definition, with the free variables of a function, and FLOW."""
    free = [*function.__code__.co_freevars, FLOW]
    outer = ast.parse(f"def outer({', '.join(free)}):\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [definition]  # for free variables stay free only within a function that has them
    # Its own name is that of the plain function in it.
    definition.name = f"{FLOW}{definition.name}"
    module = ast.fix_missing_locations(ast.Module([outer], []))
    whole = compile(module, function.__code__.co_filename, "exec")
    code = code_of(code_of(whole, "outer"), definition.name)
    return code.replace(co_name=function.__name__)


def code_of(code: CodeType, name: str) -> CodeType:
    """Return the code of the function ``name`` that other code defines.

    There may be others before it: defaults have lambdas, and in Python 3.14 the annotations
    are a function.
    """
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def located(node: Any, like: ast.AST) -> Any:
    """Put a node on the line where ``like`` begins: Python takes a call's line from its end."""
    ast.copy_location(node, like)
    if hasattr(node, "lineno"):
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return node


_EXITS = (ast.Return, ast.Break, ast.Continue)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def walk(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Yield all nodes of statements, not those of functions within."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def _array_written(element: ast.Subscript) -> set[str]:
    """Return the name of the array whose element it is, if it is assigned to."""
    base: ast.expr = element
    while isinstance(base, ast.Subscript):
        base = base.value
    if not isinstance(element.ctx, ast.Store) or not isinstance(base, ast.Name):
        return set()
    return {base.id}


def assigned(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the variables that statements assign to, in order of their names."""
    found = set()
    for node in walk(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Subscript):
            # An array that is assigned to changes, though its name stays.
            found |= _array_written(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return sorted(name for name in found if not name.startswith("__flow"))


def binds(expression: ast.expr) -> bool:
    """Tell whether an expression gives something a name (``:=``), or waits for a value."""
    return any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) for n in walk([expression]))


#: Displays and calls that give a container which nobody else knows.
_FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = ("list", "dict", "set")


def _is_fresh(value: ast.expr) -> bool:
    return isinstance(value, _FRESH) or (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in _MAKERS
    )


def written_into(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the variables of which a block writes to elements, but for containers of its own."""
    found, own = set(), set()
    for s in statements:
        for node in walk([s]):
            if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Load):
                continue
            root: ast.expr = node.value
            while not isinstance(root, ast.Name):
                inner = getattr(root, "value", getattr(root, "func", None))
                if not isinstance(inner, ast.expr):
                    break
                root = inner
            if isinstance(root, ast.Name) and root.id not in own:
                found.add(root.id)
        if isinstance(s, ast.Assign) and _is_fresh(s.value):
            own |= {t.id for t in s.targets if isinstance(t, ast.Name)}
    return sorted(found)


def writes_by_names(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block assigns to elements of something that it gives a name itself."""
    bound = set()
    changed = {
        n.id for call in effects(statements) for n in ast.walk(call) if isinstance(n, ast.Name)
    }
    for node in walk(statements):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
        elif isinstance(node, ast.Assign):
            parts = [p for t in node.targets for p in ast.walk(t)]
            bound |= {p.id for p in parts if isinstance(p, ast.Name)
                      and isinstance(p.ctx, ast.Store)}  # fmt: skip
        if isinstance(node, ast.Subscript):
            changed |= _array_written(node)
    return bool(bound & changed)


def writes(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block assigns to elements, itself or by a call."""
    return bool(effects(statements)) or any(
        isinstance(n, ast.AugAssign)
        or (isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        for n in walk(statements)
    )


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block may be left early."""
    return any(isinstance(n, _EXITS) for n in walk(statements))


def exits_by_return(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block is left early, by nothing but ``return``, and not out of a loop."""
    nodes = list(walk(statements))
    exits = [n for n in nodes if isinstance(n, _EXITS)]
    loops = any(leaves(n.body) for n in nodes if isinstance(n, (ast.For, ast.While)))
    return bool(exits) and all(isinstance(n, ast.Return) for n in exits) and not loops


def effects(statements: Sequence[ast.stmt]) -> list[ast.Call]:
    """Return the calls that are statements of their own."""
    alone = (n.value for n in walk(statements) if isinstance(n, ast.Expr))
    return [call for call in alone if isinstance(call, ast.Call)]


def plain(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block does nothing but assign and call."""
    return not any(
        isinstance(n, (*_EXITS, ast.Global, ast.Nonlocal, ast.Delete, ast.Try, ast.With))
        or (isinstance(n, ast.Expr) and isinstance(n.value, (ast.Yield, ast.Await)))
        for n in walk(statements)
    )


def returns(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block always ends by ``return`` or ``raise``."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def raises(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a block always ends by ``raise``."""
    return returns(statements) and not leaves(statements)


def counts(s: ast.For) -> bool:
    """Tell whether a loop is ``for i in range(...)``."""
    return (
        isinstance(s.target, ast.Name)
        and isinstance(s.iter, ast.Call)
        and isinstance(s.iter.func, ast.Name)
        and s.iter.func.id == "range"
        and not s.iter.keywords
        and not any(isinstance(a, ast.Starred) for a in s.iter.args)
    )


FLOW = "__flow__"


# ---------------------------------------------------------------- making code


def if_not(s: ast.Assert) -> ast.If:
    """Return ``assert test, message`` as ``if``."""
    error = located(
        ast.Call(ast.Name("AssertionError", ast.Load()), [s.msg] if s.msg else [], []), s
    )
    test = located(ast.UnaryOp(ast.Not(), s.test), s)
    made: ast.If = located(ast.If(test, [located(ast.Raise(error), s)], []), s)
    return made


def is_closed(s: ast.If, rest: list[ast.stmt]) -> bool:
    """Put what follows ``if`` and its ``elif``s under ``else``, if all of them return."""
    last = s
    while returns(last.body) and len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last = last.orelse[0]
    if not returns(last.body) or last.orelse:
        return False
    last.orelse = rest
    return True


def error_of_chain(s: ast.If) -> ast.If | None:
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


class Followed(ast.NodeTransformer):
    """Has what is called pass through ``flow.called``, but for Python's own functions."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or (root.id != FLOW and not hasattr(builtins, root.id)):
            node.func = flowing("called", node.func, node.func)
        return node


def named(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def name_nodes(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def flowing(method: str, *parts: Any) -> Any:
    """Return the call of a method of the flow; the last part gives the line."""
    *args, like = parts
    target = ast.Attribute(named(FLOW), method, ast.Load())
    return located(ast.Call(target, args, []), like)


def lazy(body: ast.expr) -> ast.expr:
    empty = ast.arguments([], [], None, [], [], None, [])
    lazy: ast.expr = located(ast.Lambda(empty, body), body)
    return lazy


def state_node(names: Sequence[str]) -> ast.expr:
    """Return the variables' names and values, as far as they have one."""
    values = [flowing("value", lazy(named(n)), named(n)) for n in names]
    return ast.Dict([ast.Constant(n) for n in names], values)


def define(name: str, parameters: Sequence[str], body: list[ast.stmt], like: ast.AST) -> Any:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    template = ast.parse("def f(): pass").body[0]
    assert isinstance(template, ast.FunctionDef)
    template.name, template.args, template.body = name, arguments, body
    return located(template, like)


def give(names: Sequence[str], like: ast.AST) -> Any:
    values = [flowing("value", lazy(named(n)), named(n)) for n in names]
    return located(ast.Return(ast.Tuple(values, ast.Load())), like)


def take(names: Sequence[str], call: Any, like: ast.AST) -> Any:
    if not names:
        return located(ast.Expr(call), like)
    target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    return located(ast.Assign([target], call), like)
