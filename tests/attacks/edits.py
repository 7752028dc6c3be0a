"""Edits of source that keep a program's meaning: each a change that a person could have made.

A program is a module's text. It is run once with every expression watched, so that an edit knows
which of them are numbers and which are arrays. An edit changes one place of the syntax tree; the
text is written out from the tree. Whether it has kept the meaning is not assumed: the caller runs
the edited program in plain Python, and drops an edit that has not (an array that two names share,
an error that is caught).
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.attacks.identities import HEAD, TABLES

Random = np.random.Generator
WATCH = "_watch"

# ---------------------------------------------------------------- what an expression is


def kind_of(value: Any) -> str:
    """Return what an edit has to know of a value."""
    if isinstance(value, (bool, np.bool_)):
        return "flag"
    if isinstance(value, (int, np.integer)):
        return "whole"
    if isinstance(value, (float, np.floating)):
        return "number"
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size and value.ndim:
        return ("vector", "matrix", "tensor")[min(value.ndim, 3) - 1]
    return type(value).__name__


class _Watching(ast.NodeTransformer):
    """Writes a call of the watch around every expression whose value an edit may want to know."""

    def visit(self, node: ast.AST) -> Any:
        number = getattr(node, "number", None)
        found = self.generic_visit(node)
        if number is None or not isinstance(found, ast.expr):
            return found
        return ast.Call(ast.Name(WATCH, ast.Load()), [ast.Constant(number), found], [])


def _wanted(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in functions that are values: not targets, patterns or annotations."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            body = function.body if isinstance(function.body, list) else [function.body]
            for part in body:
                yield from _values(part)


def _values(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, (ast.JoinedStr, ast.pattern, ast.FunctionDef, ast.ClassDef, ast.Lambda)):
        return
    skipped: list[Any] = []
    if isinstance(node, ast.AnnAssign):
        skipped = [node.annotation, node.target]
    if isinstance(node, ast.AugAssign):
        skipped = [node.target]
    if isinstance(node, ast.Call):
        skipped = [node.func]
        yield from (x for part in ast.iter_child_nodes(node.func) for x in _values(part))
    loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if isinstance(node, ast.expr) and loaded and not isinstance(node, (ast.Starred, ast.Slice)):
        yield node
    for part in ast.iter_child_nodes(node):
        if part not in skipped:
            yield from _values(part)


class Program:
    """A module's text, its tree, and the kinds of its expressions.

    Parameters
    ----------
    source:
        The text.
    run:
        ``run(scope)`` calls what is in a module, given its names.
    """

    def __init__(self, source: str, run: Callable[[dict[str, Any]], Any]) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.kinds: dict[int, str] = {}
        self.shapes: dict[int, Any] = {}
        seen: dict[int, set[str]] = {}
        shapes: dict[int, set[Any]] = {}
        numbered = list({id(n): n for n in _wanted(self.tree)}.values())
        for k, node in enumerate(numbered):
            node.number = k  # type: ignore[attr-defined]

        def watch(k: int, value: Any) -> Any:
            seen.setdefault(k, set()).add(kind_of(value))
            shapes.setdefault(k, set()).add(np.shape(value) if kind_of(value) in VALUES else None)
            return value

        watched = ast.fix_missing_locations(_Watching().visit(copy.deepcopy(self.tree)))
        run(scope_of(compile(watched, "<watched>", "exec", dont_inherit=True), **{WATCH: watch}))
        for k, node in enumerate(numbered):
            if len(seen.get(k, ())) == 1:
                self.kinds[id(node)] = next(iter(seen[k]))
                if len(shapes[k]) == 1:
                    self.shapes[id(node)] = next(iter(shapes[k]))
        self.parents = {id(c): n for n in ast.walk(self.tree) for c in ast.iter_child_nodes(n)}

    def kind(self, node: ast.AST | None) -> str:
        """Return the kind of an expression; empty if it is not known, or not the same always."""
        return self.kinds.get(id(node), "")

    def expressions(self, *kinds: type[ast.expr]) -> list[Any]:
        """Return the expressions that were computed, of some classes of the syntax."""
        return [n for n in ast.walk(self.tree) if id(n) in self.kinds and isinstance(n, kinds)]

    def replace(self, old: ast.AST, new: ast.AST) -> None:
        """Put a node in the place of another."""
        parent = self.parents[id(old)]
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(x is old for x in value):
                value[:] = [new if x is old else x for x in value]

    def blocks(self) -> list[list[ast.stmt]]:
        """Return the lists of statements in functions."""
        found = []
        for function in self.functions():
            for node in ast.walk(function):
                for field in ("body", "orelse", "finalbody"):
                    block = getattr(node, field, None)
                    if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                        found.append(block)
        return list({id(b): b for b in found}.values())

    def functions(self) -> list[ast.FunctionDef]:
        """Return the functions that have been called."""
        return [
            n
            for n in ast.walk(self.tree)
            if isinstance(n, ast.FunctionDef) and any(id(m) in self.kinds for m in ast.walk(n))
        ]

    def around(self, node: ast.AST) -> ast.FunctionDef | None:
        """Return the function in which a node stands."""
        while id(node) in self.parents:
            node = self.parents[id(node)]
            if isinstance(node, ast.FunctionDef):
                return node
        return None

    def name(self, stem: str) -> str:
        """Return a name that the program does not have."""
        k = 1
        while f"{stem}{k}" in self.source:
            k += 1
        return f"{stem}{k}"

    def text(self) -> str:
        """Return the text of the tree."""
        return ast.unparse(ast.fix_missing_locations(self.tree))

    def define(self, text: str) -> None:
        """Put definitions behind the imports of the module."""
        body = self.tree.body
        place = 1 if body and isinstance(body[0], ast.Expr) else 0
        while place < len(body) and isinstance(body[place], (ast.ImportFrom, ast.Import)):
            place += 1
        body[place:place] = ast.parse(textwrap.dedent(text)).body


VALUES = frozenset(("number", "vector", "matrix", "tensor"))


def scope_of(code: Any, **names: Any) -> dict[str, Any]:
    """Run a module's code, and return its names."""
    scope: dict[str, Any] = {"__name__": "edited", **names}
    exec(code, scope)
    return scope


def expression(text: str, **parts: ast.expr) -> Any:
    """Return the expression of a text, with other expressions for some names."""
    return filled(ast.parse(text, mode="eval").body, parts)


def statements(text: str, **parts: ast.expr) -> list[ast.stmt]:
    """Return the statements of a text, with expressions for some names."""
    found: list[ast.stmt] = filled(ast.parse(textwrap.dedent(text)), parts).body
    return found


class _Filling(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return copy.deepcopy(self.parts[node.id]) if node.id in self.parts else node


def filled(tree: Any, parts: dict[str, Any]) -> Any:
    return _Filling(parts).visit(tree)


def pick(rng: Random, choices: Sequence[Any]) -> Any:
    """Return one of several, None of none."""
    return choices[rng.integers(len(choices))] if len(choices) else None


# ---------------------------------------------------------------- edits by name

Edit = Callable[[Program, Random], bool]
EDITS: dict[str, Edit] = {}


def edit(name: str) -> Callable[[Edit], Edit]:
    """Enter an edit: it changes the tree and returns True, or finds no place for it."""

    def enter(function: Edit) -> Edit:
        assert name not in EDITS, name
        EDITS[name] = function
        return function

    return enter


# ---------------------------------------------------------------- identities around a value


def _identity(kinds: frozenset[str], text: str) -> Edit:
    lines = textwrap.dedent(text).strip()
    simple = "\n" not in lines and not lines.startswith("return")

    def change(p: Program, rng: Random) -> bool:
        node = pick(rng, [n for n in p.expressions(ast.expr) if p.kind(n) in kinds])
        if node is None:
            return False
        way = rng.integers(3) if simple else 2
        if way == 0 and isinstance(node, ast.Name):
            p.replace(node, expression(lines, v=node))
        elif way < 2:
            made = ast.parse(f"(lambda v: {lines})(_e)", mode="eval").body
            assert isinstance(made, ast.Call)
            p.replace(node, ast.Call(made.func, [node], []))
        else:
            helper = p.name("helper")
            body = f"return {lines}" if simple else lines
            definition = f"def {helper}(v):\n" + textwrap.indent(body, "    ")
            around = p.around(node)
            if around is not None and rng.random() < 0.3:
                around.body[:0] = ast.parse(definition).body
            else:
                p.define(definition)
            p.replace(node, ast.Call(ast.Name(helper, ast.Load()), [node], []))
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


for _kinds, _table in TABLES:
    _of = "any value" if len(_kinds) == 4 else " or ".join(sorted(_kinds))
    for _name, _text in _table.items():
        edit(f"{_of}: {_name}")(_identity(_kinds, _text))


# ---------------------------------------------------------------- operators

SAME = "number", "vector", "matrix", "tensor"


def _binary(op: type[ast.operator], text: str, kinds: str = "any") -> Edit:
    """Return the edit of ``a op b`` to a text in which both stand once."""

    def change(p: Program, rng: Random) -> bool:
        def fits(n: ast.BinOp) -> bool:
            sides = {p.kind(n.left), p.kind(n.right)}
            if not isinstance(n.op, op) or not sides & VALUES:
                return False
            numbers = sides <= {"number", "whole"}
            alike = p.shapes.get(id(n.left)) == p.shapes.get(id(n.right)) is not None
            return {"any": True, "number": numbers, "array": not numbers, "alike": alike}[kinds]

        node = pick(rng, [n for n in p.expressions(ast.BinOp) if fits(n)])
        if node is None:
            return False
        p.replace(node, expression(text, a=node.left, b=node.right))
        return True

    return change


_OPERATORS: dict[str, tuple[type[ast.operator], str, str]] = {
    "a + b: np.add": (ast.Add, "np.add(a, b)", "any"),
    "a + b: b + a": (ast.Add, "b + a", "any"),
    "a + b: a - (-b)": (ast.Add, "a - -b", "any"),
    "a + b: sum": (ast.Add, "sum([a, b])", "any"),
    "a + b: sum of a generator": (ast.Add, "sum(t for t in (a, b))", "any"),
    "a + b: np.sum": (ast.Add, "np.sum([a, b], axis=0)", "alike"),
    "a + b: np.array(...).sum": (ast.Add, "np.array([a, b]).sum(0)", "alike"),
    "a + b: operator": (ast.Add, "operator.add(a, b)", "any"),
    "a + b: lambda": (ast.Add, "(lambda s, t: s + t)(a, b)", "any"),
    "a + b: reduce": (ast.Add, "functools.reduce(operator.add, (a, b))", "any"),
    "a + b: fsum": (ast.Add, "math.fsum((a, b))", "number"),
    "a + b: add.reduce": (ast.Add, "np.add.reduce([a, b])", "alike"),
    "a + b: out": (ast.Add, "np.add(a, b, out=np.empty(np.shape(b)))", "alike"),
    "a + b: stack and ones": (ast.Add, "np.ones(2) @ np.stack([a, b])", "alike"),
    "a + b: real parts": (ast.Add, "((a + 0j) + (b + 0j)).real", "any"),
    "a - b: np.subtract": (ast.Sub, "np.subtract(a, b)", "any"),
    "a - b: a + (-b)": (ast.Sub, "a + -b", "any"),
    "a - b: -(b - a)": (ast.Sub, "-(b - a)", "any"),
    "a - b: operator": (ast.Sub, "operator.sub(a, b)", "any"),
    "a - b: np.diff": (ast.Sub, "np.diff([b, a], axis=0)[0]", "alike"),
    "a - b: half of each": (ast.Sub, "2 * (a / 2 - b / 2)", "any"),
    "a * b: np.multiply": (ast.Mult, "np.multiply(a, b)", "any"),
    "a * b: b * a": (ast.Mult, "b * a", "any"),
    "a * b: operator": (ast.Mult, "operator.mul(a, b)", "any"),
    "a * b: math.prod": (ast.Mult, "math.prod([a, b])", "any"),
    "a * b: np.prod": (ast.Mult, "np.prod([a, b], axis=0)", "alike"),
    "a * b: np.prod of numbers": (ast.Mult, "np.prod([a, b])", "number"),
    "a * b: -(-a * b)": (ast.Mult, "-(-a * b)", "any"),
    "a * b: einsum": (ast.Mult, "np.einsum('...,...->...', a, b)", "alike"),
    "a * b: dot of numbers": (ast.Mult, "np.dot(a, b)", "number"),
    "a * b: quotient": (
        ast.Mult,
        "(lambda s, t: s * t if np.any(t == 0) else s / (1 / t))(a, b)",
        "any",
    ),
    "a * b: squares": (ast.Mult, "(lambda s, t: ((s + t) ** 2 - (s - t) ** 2) / 4)(a, b)", "any"),
    "a / b: np.divide": (ast.Div, "np.divide(a, b)", "any"),
    "a / b: np.true_divide": (ast.Div, "np.true_divide(a, b)", "any"),
    "a / b: a * (1 / b)": (ast.Div, "a * (1.0 / b)", "any"),
    "a / b: a * b**-1": (ast.Div, "a * (0.0 + b) ** -1", "any"),
    "a / b: reciprocal": (ast.Div, "a * np.reciprocal(0.0 + b)", "any"),
    "a / b: operator": (ast.Div, "operator.truediv(a, b)", "any"),
    "a / b: Divide with where": (ast.Div, "np.where(b == 0, np.inf, a) / b", "any"),
    "a ** b: np.power": (ast.Pow, "np.power(a, 1.0 * b)", "any"),
    "a ** b: pow": (ast.Pow, "pow(a, b)", "any"),
    "a ** b: operator": (ast.Pow, "operator.pow(a, b)", "any"),
    "a ** b: float exponent": (ast.Pow, "a ** float(b)", "any"),
    "a ** b: a ** (b + 1) / a": (ast.Pow, "(lambda s: s ** (b + 1) / s)(a)", "any"),
    "a ** b: halves": (ast.Pow, "(lambda s: s ** (b - 1) * s)(a)", "any"),
    "a @ b: np.matmul": (ast.MatMult, "np.matmul(a, b)", "any"),
    "a @ b: np.dot": (ast.MatMult, "np.dot(a, b)", "any"),
    "a @ b: dot method": (ast.MatMult, "a.dot(b)", "any"),
    "a @ b: operator": (ast.MatMult, "operator.matmul(a, b)", "any"),
    "a @ b: tensordot": (ast.MatMult, "np.tensordot(a, b, 1)", "any"),
    "a @ b: transposed": (ast.MatMult, "(b.T @ a.T).T", "any"),
    "a @ b: multi_dot": (ast.MatMult, "np.linalg.multi_dot([a, b])", "any"),
    "a @ b: rows": (
        ast.MatMult,
        "(lambda s, t: s @ t if s.ndim == 1 else np.array([u @ t for u in s]))(a, b)",
        "any",
    ),
    "a @ b: sum of products": (
        ast.MatMult,
        "(lambda s, t: np.sum(s * t, axis=-1) if t.ndim == 1 else s @ t)(a, b)",
        "any",
    ),
    "a @ b: sum of outer products": (
        ast.MatMult,
        "(lambda s, t: sum(np.multiply.outer(s[..., k], t[k]) for k in range(len(t))))(a, b)",
        "any",
    ),
    "a @ b: einsum": (
        ast.MatMult,
        "(lambda s, t: np.einsum('ij'[2 - s.ndim:] + ',' + 'jk'[:t.ndim], s, t))(a, b)",
        "any",
    ),
    "a @ b: inner": (ast.MatMult, "np.inner(a, b.T)", "any"),
}
for _name, (_op, _text, _where) in _OPERATORS.items():
    edit(_name)(_binary(_op, _text, _where))


@edit("a**2: products")
def _square(p: Program, rng: Random) -> bool:
    def is_square(n: ast.BinOp) -> bool:
        two = isinstance(n.right, ast.Constant) and n.right.value in (2, 3)
        return isinstance(n.op, ast.Pow) and two and p.kind(n.left) in VALUES

    node = pick(rng, [n for n in p.expressions(ast.BinOp) if is_square(n)])
    if node is None:
        return False
    if node.right.value == 2:
        texts = [
            "(lambda t: t * t)(a)",
            "np.square(a)",
            "a ** 2.0",
            "np.float_power(a, 2)",
            "np.power(a, 2)",
            "abs(a) ** 2",
            "(lambda t: t.real * t.real)(a)",
        ]
    else:
        texts = ["(lambda t: t * t * t)(a)", "(lambda t: t ** 2 * t)(a)", "np.power(a, 3)"]
    p.replace(node, expression(pick(rng, texts), a=node.left))
    return True


@edit("-a")
def _minus(p: Program, rng: Random) -> bool:
    nodes = p.expressions(ast.UnaryOp)
    node = pick(rng, [n for n in nodes if isinstance(n.op, ast.USub) and p.kind(n) in VALUES])
    if node is None:
        return False
    texts = [
        "0 - a",
        "-1 * a",
        "np.negative(a)",
        "operator.neg(a)",
        "a * -1.0",
        "a / -1",
        "a - 2 * a",
    ]
    p.replace(node, expression(pick(rng, texts), a=node.operand))
    return True


# ---------------------------------------------------------------- comparisons and logic

_FLIPPED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_OPPOSITE = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq}
_NAMED = {
    ast.Lt: "less",
    ast.Gt: "greater",
    ast.LtE: "less_equal",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
_OPERATOR = {
    ast.Lt: "lt",
    ast.Gt: "gt",
    ast.LtE: "le",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def _comparison(p: Program, rng: Random, table: dict[Any, Any], kinds: Any = None) -> Any:
    return pick(
        rng,
        [
            n
            for n in p.expressions(ast.Compare)
            if len(n.ops) == 1 and type(n.ops[0]) in table and (kinds is None or p.kind(n) in kinds)
        ],
    )


@edit("a < b: b > a")
def _flip(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _FLIPPED)
    if n is not None:
        n.left, n.comparators[0] = n.comparators[0], n.left
        n.ops[0] = _FLIPPED[type(n.ops[0])]()
    return n is not None


@edit("a < b: not a >= b")
def _negate(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _OPPOSITE, ("flag",))
    if n is not None:
        other = ast.Compare(n.left, [_OPPOSITE[type(n.ops[0])]()], n.comparators)
        p.replace(n, ast.UnaryOp(ast.Not(), other))
    return n is not None


@edit("a < b: np.less")
def _ufunc_of_comparison(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _NAMED)
    if n is not None:
        name = _NAMED[type(n.ops[0])]
        p.replace(n, expression(f"np.{name}(a, b)", a=n.left, b=n.comparators[0]))
    return n is not None


@edit("a < b: operator.lt")
def _operator_of_comparison(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _OPERATOR)
    if n is not None:
        name = _OPERATOR[type(n.ops[0])]
        p.replace(n, expression(f"operator.{name}(a, b)", a=n.left, b=n.comparators[0]))
    return n is not None


@edit("a < b: a - b < 0")
def _difference(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _FLIPPED)
    if n is not None:
        n.left = ast.BinOp(n.left, ast.Sub(), n.comparators[0])
        n.comparators[0] = ast.Constant(0)
    return n is not None


@edit("a test in words")
def _test_in_words(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _NAMED, ("flag",))
    if n is None:
        return False
    texts = [
        "bool(c)",
        "c is not False and bool(c)",
        "any([c])",
        "all([c, True])",
        "c and True",
        "(True if c else False)",
        "not (not c)",
        "max([c, False])",
        "sum([c]) == 1",
        "c or False",
        "{0: False, 1: True}[int(c)]",
        "np.any(c)",
        "np.all([c])",
        "c == True",
        "bool(np.logical_and(c, True))",
        "np.logical_not(np.logical_not(c))",
        "c & True",
        "c | False",
        "c ^ False",
        "next(filter(None, [c]), False)",
        "int(c) > 0",
    ]
    p.replace(n, expression(pick(rng, texts), c=n))
    return True


@edit("a mask in words")
def _mask_in_words(p: Program, rng: Random) -> bool:
    n = _comparison(p, rng, _NAMED, ("ndarray",))
    if n is None:
        return False
    texts = [
        "~(~c)",
        "np.logical_not(~c)",
        "c & True",
        "c | False",
        "c.astype(bool)",
        "c == True",
        "c.astype(int) == 1",
        "np.asarray(c)",
        "c.copy()",
        "c[::-1][::-1]",
        "c ^ False",
        "np.where(c, 1.0, 0.0) > 0.5",
        "np.logical_and(c, c)",
        "(1 * c).astype(bool)",
    ]
    p.replace(n, expression(pick(rng, texts), c=n))
    return True


@edit("a < b < c: and")
def _chain(p: Program, rng: Random) -> bool:
    n = pick(rng, [n for n in p.expressions(ast.Compare) if len(n.ops) == 2])
    if n is not None:
        first = ast.Compare(n.left, [n.ops[0]], [n.comparators[0]])
        second = ast.Compare(copy.deepcopy(n.comparators[0]), [n.ops[1]], [n.comparators[1]])
        p.replace(n, ast.BoolOp(ast.And(), [first, second]))
    return n is not None


@edit("and, or")
def _logic(p: Program, rng: Random) -> bool:
    n = pick(rng, [n for n in p.expressions(ast.BoolOp) if len(n.values) == 2])
    if n is None:
        return False
    if isinstance(n.op, ast.And):
        texts = [
            "b if a else False",
            "not (not a or not b)",
            "all(c() for c in (lambda: a, lambda: b))",
            "all([a, b])",
            "(a and b) or False",
            "bool(a) & bool(b)",
        ]
    else:
        texts = [
            "True if a else b",
            "not (not a and not b)",
            "any(c() for c in (lambda: a, lambda: b))",
            "any([a, b])",
            "(a or b) and True",
            "bool(a) | bool(b)",
        ]
    p.replace(n, expression(pick(rng, texts), a=n.values[0], b=n.values[1]))
    return True


@edit("conditional expression")
def _choice(p: Program, rng: Random) -> bool:
    n = pick(rng, p.expressions(ast.IfExp))
    if n is None:
        return False
    texts = [
        "b if not c else a",
        "(lambda: a, lambda: b)[not c]()",
        "{True: lambda: a, False: lambda: b}[bool(c)]()",
        "(c and [a] or [b])[0]",
        "next(iter([a])) if c else next(iter([b]))",
        "[b, a][int(c)]",
        "(lambda t: a if t else b)(c)",
        "[t for t in ([a] if c else [b])][0]",
        "(a if c else b) if True else 0.0",
    ]
    p.replace(n, expression(pick(rng, texts), a=n.body, b=n.orelse, c=n.test))
    return True


# ---------------------------------------------------------------- functions of NumPy

#: What a call of a function of NumPy can be written as; ``x`` and ``y`` are its arguments.
CALLS: dict[str, list[str]] = {
    "sin": [
        "np.cos(x - np.pi / 2)",
        "getattr(np, 'sin')(x)",
        "np.imag(np.exp(1j * x))",
        "(lambda g, t: g(t))(np.sin, x)",
        "2 * np.sin(x / 2) * np.cos(x / 2)",
    ],
    "cos": ["np.sin(x + np.pi / 2)", "np.exp(1j * x).real", "1 - 2 * np.sin(x / 2) ** 2"],
    "tan": ["np.sin(x) / np.cos(x)"],
    "exp": [
        "np.e ** x",
        "np.exp2(x / np.log(2.0))",
        "np.expm1(x) + 1",
        "1 / np.exp(-x)",
        "np.power(np.e, x)",
        "np.exp(x / 2) ** 2",
        "np.exp(x, out=np.empty(np.shape(x)))",
        "np.exp(x + 0j).real",
        "np.cosh(x) + np.sinh(x)",
    ],
    "expm1": ["np.exp(x) - 1"],
    "log": [
        "np.log2(x) * np.log(2.0)",
        "np.log1p(x - 1)",
        "-np.log(1 / x)",
        "2 * np.log(np.sqrt(x))",
        "np.log10(x) / np.log10(np.e)",
        "np.log(np.abs(x))",
        "np.log(x + 0j).real",
    ],
    "log1p": ["np.log(1 + x)", "np.log(x + 1.0)"],
    "tanh": ["1 - 2 / (np.exp(2 * x) + 1)", "np.sinh(x) / np.cosh(x)", "-np.tanh(-x)"],
    "cosh": ["(np.exp(x) + np.exp(-x)) / 2"],
    "sinh": ["(np.exp(x) - np.exp(-x)) / 2"],
    "sqrt": [
        "x ** 0.5",
        "np.power(x, 0.5)",
        "np.exp(0.5 * np.log(x))",
        "np.sqrt(x + 0j).real",
        "x / np.sqrt(x)",
        "np.sqrt(np.abs(x))",
        "np.emath.sqrt(x)",
    ],
    "abs": [
        "np.absolute(x)",
        "abs(x)",
        "np.fabs(x)",
        "np.where(x < 0, -x, x)",
        "np.maximum(x, -x)",
        "np.sqrt(x * x)",
        "x * np.sign(x)",
        "np.hypot(x, 0.0)",
    ],
    "square": ["x * x", "x ** 2", "np.power(x, 2)"],
    "maximum": [
        "np.where(x > y, x, y)",
        "np.fmax(x, y)",
        "-np.minimum(-x, -y)",
        "np.max(np.broadcast_arrays(x, y), axis=0)",
        "(x + y + np.abs(x - y)) / 2",
        "x + np.where(y > x, y - x, 0.0)",
        "np.maximum(y, x)",
    ],
    "minimum": [
        "np.where(x < y, x, y)",
        "np.fmin(x, y)",
        "-np.maximum(-x, -y)",
        "np.min(np.broadcast_arrays(x, y), axis=0)",
        "(x + y - np.abs(x - y)) / 2",
    ],
    "hypot": ["np.sqrt(x ** 2 + y ** 2)", "np.abs(x + 1j * y)"],
    "arctan2": ["np.angle(y + 1j * x)", "-np.arctan2(-x, y)"],
    "sum": [
        "x.sum()",
        "np.add.reduce(np.ravel(x))",
        "sum(np.ravel(x))",
        "np.ravel(x) @ np.ones(np.size(x))",
        "np.cumsum(x)[-1]",
        "np.mean(x) * np.size(x)",
        "math.fsum(np.ravel(x))",
        "functools.reduce(operator.add, np.ravel(x))",
        "np.einsum('i->', np.ravel(x))",
        "np.sum(x.T)",
        "np.sum(np.ravel(x)[::-1])",
        "x.cumsum()[-1]",
        "np.sum(list(np.ravel(x)))",
        "np.array(x).ravel().sum(axis=-1)",
        "np.inner(np.ravel(x), np.ones(np.size(x)))",
        "np.bincount(np.zeros(np.size(x), int), weights=np.ravel(x))[0]",
        "np.linalg.norm(np.sqrt(np.abs(np.ravel(x))) * 0.0) + np.sum(x)",
        "np.sum(np.ravel(x)[:1]) + np.sum(np.ravel(x)[1:])",
        "np.nansum(x)",
        "sum(float(t) for t in np.ravel(x))",
        "np.tensordot(x, np.ones(np.shape(x)), np.ndim(x))",
        "np.trace(np.diag(np.ravel(x)))",
        "np.sum(x, axis=0).sum()",
        "np.sum(x, keepdims=True).item()",
    ],
    "mean": [
        "x.mean()",
        "np.sum(x) / np.size(x)",
        "np.average(x)",
        "np.mean(np.ravel(x))",
        "sum(np.ravel(x)) / len(np.ravel(x))",
        "np.nanmean(x)",
    ],
    "prod": [
        "x.prod()",
        "math.prod(x)",
        "np.cumprod(x)[-1]",
        "np.multiply.reduce(x)",
        "functools.reduce(operator.mul, x)",
        "np.prod(x[::-1])",
        "np.prod(x[:1]) * np.prod(x[1:])",
    ],
    "dot": ["x @ y", "np.matmul(x, y)", "x.dot(y)", "np.tensordot(x, y, 1)"],
    "outer": [
        "x[:, None] * y[None, :]",
        "np.multiply.outer(x, y)",
        "np.einsum('i,j->ij', x, y)",
        "np.array([t * y for t in x])",
        "np.outer(y, x).T",
        "x[:, None] @ y[None]",
    ],
    "cumsum": [
        "x.cumsum()",
        "np.add.accumulate(x)",
        "np.array([np.sum(x[:k + 1]) for k in range(len(x))])",
        "np.array(list(itertools.accumulate(x)))",
        "np.tril(np.ones((len(x), len(x)))) @ x",
        "np.sum(x) - np.cumsum(x[::-1])[::-1] + x",
    ],
    "diff": [
        "x[1:] - x[:-1]",
        "-(x[:-1] - x[1:])",
        "np.ediff1d(x)",
        "np.convolve(x, [1.0, -1.0], 'valid')",
        "np.array([b - a for a, b in zip(x, x[1:])])",
        "np.subtract(x[1:], x[:-1])",
    ],
    "clip": [
        "np.minimum(np.maximum(x, y), z)",
        "x.clip(y, z)",
        "np.where(x < y, y, np.where(x > z, z, x))",
    ],
    "where": [
        "np.select([x], [y], z)",
        "np.where(~x, z, y)",
        "x * y + (1 - x) * z",
        "np.choose(x.astype(int), [z, y])",
        "np.where(x, 1.0, 0.0) * (y - z) + z",
    ],
    "zeros": [
        "np.full(x, 0.0)",
        "np.ones(x) * 0.0",
        "np.empty(x) * 0.0 if False else np.zeros(shape=x)",
        "np.zeros(x, dtype=float)",
        "np.array(np.zeros(x).tolist())",
    ],
    "zeros_like": ["np.zeros(np.shape(x))", "np.full_like(x, 0.0)", "0.0 * np.ones(np.shape(x))"],
    "ones": ["np.full(x, 1.0)", "np.zeros(x) + 1", "np.ones(x, float)"],
    "array": [
        "np.asarray(x)",
        "np.stack(x)",
        "np.array(list(x))",
        "np.array(tuple(x))",
        "np.array([*x])",
        "np.array(x, dtype=float)",
        "np.array(x).copy()",
        "np.vstack([x])[0]",
    ],
    "stack": ["np.array(x)", "np.stack(list(x))", "np.vstack(x)", "np.stack(x, axis=-1).T"],
    "concatenate": [
        "np.hstack(x)",
        "np.concatenate(list(x))",
        "np.concatenate(x, axis=0)",
        "np.r_[tuple(x)]",
        "functools.reduce(lambda a, b: np.concatenate([a, b]), x)",
    ],
    "arange": [
        "np.array(list(range(x)))",
        "np.cumsum(np.ones(x, int)) - 1",
        "np.linspace(0, x - 1, x)",
        "np.arange(0, x, 1)",
        "np.arange(x)[::-1][::-1]",
    ],
    "linspace": ["x + (y - x) * np.arange(z) / (z - 1)", "np.linspace(y, x, z)[::-1]"],
    "eye": ["np.identity(x)", "np.diag(np.ones(x))", "np.eye(x, x)"],
    "roll": [
        "np.concatenate([x[-y:], x[:-y]])",
        "np.roll(x[::-1], -y)[::-1]",
        "np.take(x, np.arange(len(x)) - y)",
    ],
    "max": [
        "x.max()",
        "max(x)",
        "np.amax(x)",
        "-np.min(-x)",
        "x[np.argmax(x)]",
        "np.sort(x)[-1]",
        "np.maximum.reduce(x)",
        "functools.reduce(np.maximum, x)",
    ],
    "min": ["x.min()", "min(x)", "np.amin(x)", "-np.max(-x)", "x[np.argmin(x)]", "np.sort(x)[0]"],
    "sort": ["np.array(sorted(x))", "x[np.argsort(x)]", "-np.sort(-x)[::-1]", "np.sort(x[::-1])"],
    "transpose": ["x.T"],
    "trapezoid": ["np.sum((y[1:] - y[:-1]) * (x[1:] + x[:-1]) / 2)"],
}

#: The same of names of modules, joined by a point.
MODULES: dict[str, list[str]] = {
    "np.linalg.solve": [
        "np.linalg.inv(x) @ y",
        "np.linalg.solve(2 * x, 2 * y)",
        "np.linalg.tensorsolve(x, y)",
        "np.linalg.solve(x.T @ x, x.T @ y)",
    ],
    "np.linalg.inv": [
        "np.linalg.solve(x, np.eye(len(x)))",
        "np.linalg.inv(x.T).T",
        "np.linalg.matrix_power(x, -1)",
    ],
    "np.linalg.norm": [
        "np.sqrt(np.sum(x * x))",
        "np.sqrt(np.sum(np.abs(x) ** 2))",
        "np.sqrt(np.vdot(x, x))",
        "math.sqrt(np.sum(np.square(x)))",
        "math.hypot(*np.ravel(x))",
        "np.linalg.norm(np.ravel(x), 2)",
        "np.linalg.norm(-x)",
        "np.hypot.reduce(np.ravel(x))",
    ],
    "np.linalg.slogdet": ["(np.sign(np.linalg.det(x)), np.log(np.abs(np.linalg.det(x))))"],
    "np.linalg.det": [
        "np.prod(np.linalg.slogdet(x)[0]) * np.exp(np.linalg.slogdet(x)[1])",
        "np.linalg.det(x.T)",
    ],
    "np.linalg.cholesky": ["np.linalg.cholesky(x)"],
    "math.sin": ["np.sin(x)", "math.cos(x - math.pi / 2)"],
    "math.cos": ["np.cos(x)", "math.sin(x + math.pi / 2)"],
    "math.exp": [
        "np.exp(x)",
        "math.e ** x",
        "math.pow(math.e, x)",
        "math.expm1(x) + 1",
        "1 / math.exp(-x)",
    ],
    "math.log": [
        "np.log(x)",
        "math.log2(x) * math.log(2)",
        "math.log(x, math.e)",
        "math.log1p(x - 1)",
    ],
    "math.sqrt": ["np.sqrt(x)", "x ** 0.5", "math.pow(x, 0.5)", "pow(x, 0.5)"],
    "math.tanh": ["np.tanh(x)", "math.sinh(x) / math.cosh(x)"],
    "math.hypot": [
        "math.sqrt(x ** 2 + y ** 2)",
        "np.hypot(x, y)",
        "abs(complex(x, y))",
        "math.dist((x, y), (0, 0))",
    ],
    "math.erf": ["1 - math.erfc(x)"],
    "math.gamma": ["math.exp(math.lgamma(x))"],
    "len": ["x.shape[0]", "sum(1 for _ in x)", "np.shape(x)[0]", "x.__len__()", "len(list(x))"],
    "abs": ["np.abs(x)", "max(x, -x)", "(x if x > 0 else -x)", "math.fabs(x)", "math.sqrt(x * x)"],
    "max": [
        "(x if x > y else y)",
        "np.maximum(x, y)",
        "sorted([x, y])[-1]",
        "-min(-x, -y)",
        "max([x, y])",
        "np.max([x, y])",
    ],
    "min": [
        "(x if x < y else y)",
        "np.minimum(x, y)",
        "sorted([x, y])[0]",
        "min((t for t in (x, y)))",
    ],
    "sum": [
        "functools.reduce(operator.add, x)",
        "np.sum(list(x))",
        "sum([t for t in x])",
        "sum(x, start=0.0)",
        "math.fsum(x)",
        "np.array(list(x)).sum()",
    ],
    "float": ["np.float64(x)", "x + 0.0", "np.asarray(x, dtype=float)[()]"],
    "range": [
        "list(range(x))",
        "range(0, x, 1)",
        "np.arange(x)",
        "reversed(range(x - 1, -1, -1))",
        "(k for k in range(x))",
        "[k for k in range(x)]",
        "itertools.islice(itertools.count(), x)",
        "map(int, range(x))",
        "tuple(range(x))",
        "itertools.takewhile(lambda k: k < x, itertools.count())",
    ],
    "enumerate": [
        "zip(range(len(x)), x)",
        "zip(itertools.count(), x)",
        "list(enumerate(x))",
        "[(k, x[k]) for k in range(len(x))]",
        "enumerate(iter(x))",
    ],
    "zip": [
        "[(x[k], y[k]) for k in range(min(len(x), len(y)))]",
        "list(zip(x, y))",
        "zip(iter(x), list(y))",
        "map(lambda a, b: (a, b), x, y)",
    ],
}


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def _rewritten_call(name: str, arity: int, text: str) -> Edit:
    def change(p: Program, rng: Random) -> bool:
        node = pick(
            rng,
            [
                n
                for n in p.expressions(ast.Call)
                if _called(n) == name
                and len(n.args) == arity
                and not n.keywords
                and not any(isinstance(x, ast.Starred) for x in n.args)
            ],
        )
        if node is None:
            return False
        names = "xyz"[:arity]
        parts = dict(zip(names, node.args, strict=True))
        if any(text.count(n) > 1 and not isinstance(parts[n], ast.Name) for n in names):
            made = expression(f"(lambda {', '.join(names)}: {text})()")
            made.args = node.args
        else:
            made = expression(text, **parts)
        p.replace(node, made)
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


def _arity(text: str) -> int:
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    return max(k + 1 for k, letter in enumerate("xyz") if letter in names)


for _name, _texts in {**{f"np.{k}": v for k, v in CALLS.items()}, **MODULES}.items():
    for _text in _texts:
        if _text != f"{_name}(x)":
            edit(f"{_name}: {_text}")(_rewritten_call(_name, _arity(_text), _text))


@edit("np.f(x): math.f(x)")
def _math(p: Program, rng: Random) -> bool:
    known = {"sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sinh", "cosh", "log1p", "expm1"}
    nodes = [
        n
        for n in p.expressions(ast.Call)
        if _called(n).removeprefix("np.") in known and len(n.args) == 1 and p.kind(n) == "number"
    ]
    node = pick(rng, nodes)
    if node is None:
        return False
    node.func = expression(_called(node).replace("np.", "math."))
    p.define("import math")
    return True


@edit("np.f(x): f(x), imported")
def _imported(p: Program, rng: Random) -> bool:
    nodes = [
        n
        for n in p.expressions(ast.Call)
        if _called(n).count(".") == 1 and _called(n).startswith("np.")
    ]
    node = pick(rng, nodes)
    if node is None:
        return False
    name, new = node.func.attr, p.name("imported")
    p.define(f"from numpy import {name} as {new}")
    node.func = ast.Name(new, ast.Load())
    return True


@edit("np.f(x): a name for the function")
def _alias(p: Program, rng: Random) -> bool:
    nodes = [n for n in p.expressions(ast.Call) if _called(n).startswith("np.")]
    node = pick(rng, nodes)
    if node is None:
        return False
    texts = [
        "(lambda *a, **k: f(*a, **k))",
        "functools.partial(f)",
        "{'f': f}['f']",
        "[f][0]",
        "Held(f).value",
        "types.SimpleNamespace(f=f).f",
        "decorated(f)",
        "getattr(Held(f), 'value')",
        "(f if True else None)",
        "next(iter([f]))",
    ]
    node.func = expression(pick(rng, texts), f=node.func)
    if "import abc, collections" not in p.source:
        p.define(HEAD)
    return True


@edit("x.f(): np.f(x)")
def _function_of_method(p: Program, rng: Random) -> bool:
    known = {
        "sum",
        "mean",
        "dot",
        "max",
        "min",
        "reshape",
        "copy",
        "ravel",
        "cumsum",
        "prod",
        "std",
        "var",
        "transpose",
        "clip",
        "squeeze",
        "trace",
        "take",
        "swapaxes",
    }
    nodes = [
        n
        for n in p.expressions(ast.Call)
        if isinstance(n.func, ast.Attribute)
        and n.func.attr in known
        and p.kind(n.func.value) in VALUES
    ]
    node = pick(rng, nodes)
    if node is None:
        return False
    node.args.insert(0, node.func.value)
    node.func = expression(f"np.{node.func.attr}")
    return True


@edit("arguments by position: by name")
def _by_name(p: Program, rng: Random) -> bool:
    known = {f.name: f for f in p.functions()}
    nodes = [
        n
        for n in p.expressions(ast.Call)
        if isinstance(n.func, ast.Name)
        and n.func.id in known
        and n.args
        and not any(isinstance(a, ast.Starred) for a in n.args)
    ]
    node = pick(rng, nodes)
    if node is None:
        return False
    names = [a.arg for a in known[node.func.id].args.args]
    keep = int(rng.integers(len(node.args)))
    moved = list(zip(names, node.args, strict=False))[keep:]
    node.keywords[:0] = [ast.keyword(k, v) for k, v in moved]
    del node.args[keep:]
    return True


@edit("arguments: star")
def _starred_call(p: Program, rng: Random) -> bool:
    nodes = [
        n
        for n in p.expressions(ast.Call)
        if n.args and not n.keywords and not any(isinstance(a, ast.Starred) for a in n.args)
    ]
    node = pick(rng, nodes)
    if node is None:
        return False
    node.args = [ast.Starred(ast.Tuple(node.args, ast.Load()), ast.Load())]
    return True


# ---------------------------------------------------------------- subscripts and constants


@edit("x[k]")
def _subscript(p: Program, rng: Random) -> bool:
    def plain(n: ast.Subscript) -> bool:
        return p.kind(n.value) in VALUES and not isinstance(n.slice, (ast.Slice, ast.Tuple))

    n = pick(rng, [n for n in p.expressions(ast.Subscript) if plain(n)])
    if n is None:
        return False
    texts = [
        "operator.getitem(x, k)",
        "x.__getitem__(k)",
        "np.take(x, k, axis=0)",
        "x[(k, ...)][()]",
        "list(x)[k]",
        "x[k, ...][()]",
        "operator.itemgetter(k)(x)",
        "[*x][k]",
        "tuple(x)[k]",
        "x[k - len(x)]",
        "x.take(k, 0)",
    ]
    if p.kind(n.value) == "vector" and p.kind(n) == "number":
        texts += [
            "x.item(k)",
            "x.tolist()[k]",
            "(np.arange(len(x)) == k) @ x",
            "x[np.arange(len(x)) == k][0]",
            "x[k:][0]",
            "x[[k]][0]",
            "np.asarray(x).flat[k]",
            "x[::-1][len(x) - 1 - k]",
            "sum(t for j, t in enumerate(x) if j == k)",
        ]
    p.replace(n, expression(pick(rng, texts), x=n.value, k=n.slice))
    return True


@edit("x[a:b]")
def _slice(p: Program, rng: Random) -> bool:
    nodes = [
        n
        for n in p.expressions(ast.Subscript)
        if isinstance(n.slice, ast.Slice) and p.kind(n.value) in VALUES
    ]
    n = pick(rng, nodes)
    if n is None:
        return False
    none = ast.Constant(None)
    a, b, c = (x or none for x in (n.slice.lower, n.slice.upper, n.slice.step))
    texts = [
        "x[slice(a, b, c)]",
        "x[np.arange(len(x))[slice(a, b, c)]]",
        "x.__getitem__(slice(a, b, c))",
        "np.array([x[j] for j in range(*slice(a, b, c).indices(len(x)))])",
        "np.take(x, range(*slice(a, b, c).indices(len(x))), axis=0)",
        "x[slice(a, b, c), ...]",
        "np.array(list(itertools.islice(x, *slice(a, b, c).indices(len(x)))))",
        "np.array(list(x)[slice(a, b, c)])",
        "x.copy()[slice(a, b, c)]",
    ]
    p.replace(n, expression(pick(rng, texts), x=n.value, a=a, b=b, c=c))
    return True


@edit("constant")
def _constant(p: Program, rng: Random) -> bool:
    nodes = [n for n in p.expressions(ast.Constant) if isinstance(n.value, float)]
    n = pick(rng, nodes)
    if n is None:
        return False
    text, name = repr(n.value), p.name("NUMBER")
    around = p.around(n)
    way = rng.integers(9)
    if way == 0 and around is not None and not around.args.kwarg:
        around.args.kwonlyargs.append(ast.arg(name))
        around.args.kw_defaults.append(n)
        p.replace(n, ast.Name(name, ast.Load()))
        return True
    definitions = {
        1: (f"{name} = {text}", name),
        2: (f"class {name}:\n    value = {text}", f"{name}.value"),
        3: (f"{name} = {{'k': {text}}}", f"{name}['k']"),
        4: (f"{name} = np.array([{text}, 1.0])", f"{name}[0]"),
        5: (f"def {name}():\n    return {text}", f"{name}()"),
        6: (f"import enum\nclass {name}(enum.Enum):\n    K = {text}", f"{name}.K.value"),
        7: (f"{name} = np.float64({text})", name),
        8: (f"import types\n{name} = types.SimpleNamespace(k=[{text}])", f"{name}.k[0]"),
    }
    definition, used = definitions.get(int(way), ("", f"({text} / 2 + {text} / 2)"))
    p.define(definition)
    p.replace(n, expression(used))
    return True


# ---------------------------------------------------------------- comprehensions and lambdas


@edit("list comprehension: another way")
def _comprehension(p: Program, rng: Random) -> bool:
    nodes = [n for n in p.expressions(ast.ListComp) if len(n.generators) == 1]
    n = pick(rng, nodes)
    if n is None:
        return False
    g = n.generators[0]
    lazy = ast.GeneratorExp(n.elt, n.generators)
    if rng.random() < 0.4 and isinstance(g.target, ast.Name) and not g.ifs:
        mapped = expression("list(map(lambda: 0, it))", it=g.iter)
        made = ast.arguments([], [ast.arg(g.target.id)], None, [], [], None, [])
        mapped.args[0].args[0] = ast.Lambda(made, n.elt)
        p.replace(n, mapped)
        return True
    p.replace(n, expression(pick(rng, ["list(it)", "[*it]", "[t for t in it]"]), it=lazy))
    return True


@edit("list comprehension: loop")
def _comprehension_as_loop(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, line in enumerate(blocks[k]):
            value = getattr(line, "value", None)
            if not isinstance(line, (ast.Assign, ast.Return)) or value is None:
                continue
            inner = value
            if isinstance(value, ast.Call) and len(value.args) == 1:
                inner = value.args[0]
            if not isinstance(inner, (ast.ListComp, ast.GeneratorExp)):
                continue
            name = p.name("rows")
            loop: Any = [ast.Expr(expression(f"{name}.append(e)", e=inner.elt))]
            for g in reversed(inner.generators):
                for test in reversed(g.ifs):
                    loop = [ast.If(test, loop, [])]
                loop = [ast.For(g.target, g.iter, loop, [])]
            if inner is value:
                line.value = ast.Name(name, ast.Load())
            else:
                value.args[0] = ast.Name(name, ast.Load())
            blocks[k][j:j] = [*statements(f"{name} = []"), *loop]
            return True
    return False


@edit("lambda: def")
def _lambda(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, line in enumerate(blocks[k]):
            if isinstance(line, (ast.Assign, ast.Return, ast.Expr)):
                for n in ast.walk(line):
                    if isinstance(n, ast.Lambda):
                        scopes = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp)
                        above, inside = p.parents.get(id(n)), False
                        while above is not None and above is not line:
                            inside |= isinstance(above, scopes)
                            above = p.parents.get(id(above))
                        if inside:
                            continue
                        name = p.name("function")
                        made = ast.FunctionDef(name, n.args, [ast.Return(n.body)], [])
                        if hasattr(ast, "TypeVar"):
                            made.type_params = []
                        p.replace(n, ast.Name(name, ast.Load()))
                        blocks[k].insert(j, made)
                        return True
    return False


# ---------------------------------------------------------------- names and temporaries


def _locals(function: ast.FunctionDef) -> list[str]:
    """Return the names that a function alone assigns and reads."""
    names, shared = set[str](), set[str]()
    for n in ast.walk(function):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            names.add(n.id)
        if isinstance(n, (ast.Global, ast.Nonlocal)):
            shared.update(n.names)
        if n is not function and isinstance(n, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            shared.update(m.id for m in ast.walk(n) if isinstance(m, ast.Name))
            if isinstance(n, ast.FunctionDef):
                shared.update(a.arg for a in n.args.args)
    return sorted(names - shared)


@edit("a local renamed")
def _renamed(p: Program, rng: Random) -> bool:
    function = pick(rng, [f for f in p.functions() if _locals(f)])
    if function is None:
        return False
    old, new = (
        pick(rng, _locals(function)),
        p.name(str(rng.choice(["name", "x_", "l", "O0", "np_"]))),
    )
    for n in ast.walk(function):
        if isinstance(n, ast.Name) and n.id == old:
            n.id = new
    return True


@edit("a parameter rebound")
def _rebound(p: Program, rng: Random) -> bool:
    function = pick(rng, [f for f in p.functions() if f.args.args])
    if function is None:
        return False
    name, new = pick(rng, function.args.args).arg, p.name("given")
    texts = [
        f"{name} = {name}",
        f"{new} = {name}\n{name} = {new}",
        f"({name},) = [{name}]",
        f"{name}, {new} = {name}, 0",
        f"{name} = {name} if {name} is not None else 0.0",
    ]
    function.body[:0] = statements(pick(rng, texts))
    return True


def _simple(blocks: list[list[ast.stmt]]) -> list[tuple[list[ast.stmt], int]]:
    kinds = (ast.Assign, ast.AugAssign, ast.Return)
    return [(b, j) for b in blocks for j, s in enumerate(b) if isinstance(s, kinds)]


_SCOPES = (
    ast.Lambda,
    ast.ListComp,
    ast.GeneratorExp,
    ast.DictComp,
    ast.SetComp,
    ast.IfExp,
    ast.BoolOp,
)


def _inside(p: Program, line: ast.stmt) -> list[ast.expr]:
    """Return the expressions of a statement that are computed once, whatever happens."""
    found = []
    for n in ast.walk(line):
        if id(n) not in p.kinds or not isinstance(n, (ast.BinOp, ast.Call, ast.Subscript)):
            continue
        above, free = p.parents.get(id(n)), True
        while above is not None and above is not line:
            free &= not isinstance(above, _SCOPES)
            above = p.parents.get(id(above))
        if free:
            found.append(n)
    return found


@edit("a temporary")
def _temporary(p: Program, rng: Random) -> bool:
    places = [(b, j, n) for b, j in _simple(p.blocks()) for n in _inside(p, b[j])]
    if not places:
        return False
    block, j, node = places[rng.integers(len(places))]
    name = p.name("part")
    form = pick(
        rng,
        [
            f"{name} = e",
            f"({name},) = (e,)",
            f"{name}, *_ = [e, 0]",
            f"{name}: object = e",
            f"{name} = [e]\n{name} = {name}[0]",
            f"{name} = _also = e",
        ],
    )
    p.replace(node, ast.Name(name, ast.Load()))
    block[j:j] = statements(form, e=node)
    if rng.random() < 0.3 and not isinstance(block[-1], ast.Return):
        block.append(ast.Delete([ast.Name(name, ast.Del())]))
    return True


@edit("a temporary by :=")
def _walrus(p: Program, rng: Random) -> bool:
    places = [n for b, j in _simple(p.blocks()) for n in _inside(p, b[j])]
    node = pick(rng, places)
    if node is None:
        return False
    name = p.name("part")
    p.replace(node, ast.NamedExpr(ast.Name(name, ast.Store()), node))
    return True


@edit("a temporary inlined")
def _inlined(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        block = blocks[k]
        for j in range(len(block) - 1):
            line = block[j]
            if not (isinstance(line, ast.Assign) and len(line.targets) == 1):
                continue
            target = line.targets[0]
            function = p.around(line)
            if not isinstance(target, ast.Name) or function is None:
                continue
            uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == target.id]
            loads = [n for n in uses if isinstance(n.ctx, ast.Load)]
            here = list(ast.walk(block[j + 1]))
            if len(uses) == 2 and len(loads) == 1 and any(n is loads[0] for n in here):
                p.replace(loads[0], line.value)
                del block[j]
                return True
    return False


@edit("an attribute for a local")
def _as_attribute(p: Program, rng: Random) -> bool:
    function = pick(rng, [f for f in p.functions() if _locals(f)])
    if function is None:
        return False
    old, store = pick(rng, _locals(function)), p.name("state")
    form = pick(rng, ["{s}.{n}", "{s}['{n}']"])
    made = "SimpleNamespace()" if "." in form else "SimpleNamespace().__dict__"

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            if node.id != old:
                return node
            found = expression(form.format(s=store, n=old))
            found.ctx = node.ctx
            return found

    Renaming().visit(function)
    function.body[:0] = statements(f"from types import SimpleNamespace\n{store} = {made}")
    return True


# ---------------------------------------------------------------- statements


@edit("x += e: x = x + e")
def _plain_assignment(p: Program, rng: Random) -> bool:
    places = [(b, j) for b in p.blocks() for j, s in enumerate(b) if isinstance(s, ast.AugAssign)]
    if not places:
        return False
    block, j = places[rng.integers(len(places))]
    line: Any = block[j]
    old = copy.deepcopy(line.target)
    for n in ast.walk(old):
        if hasattr(n, "ctx"):
            n.ctx = ast.Load()
    value = ast.BinOp(old, line.op, line.value)
    if rng.random() < 0.3 and isinstance(line.target, ast.Name):
        block[j : j + 1] = statements(
            f"{old.id} = operator.{_INPLACE[type(line.op)]}({old.id}, e)", e=line.value
        )
        p.define("import operator")
    else:
        block[j] = ast.Assign([line.target], value)
    return True


_INPLACE = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.Div: "itruediv",
    ast.Pow: "ipow",
    ast.MatMult: "imatmul",
    ast.Mod: "imod",
    ast.FloorDiv: "ifloordiv",
}


@edit("x = x + e: x += e")
def _augmented(p: Program, rng: Random) -> bool:
    places = []
    for b in p.blocks():
        for j, s in enumerate(b):
            if not isinstance(s, ast.Assign) or len(s.targets) > 1:
                continue
            value = s.value
            same = isinstance(value, ast.BinOp) and ast.unparse(value.left)
            if same == ast.unparse(s.targets[0]):
                places.append((b, j))
    if not places:
        return False
    block, j = places[rng.integers(len(places))]
    line: Any = block[j]
    block[j] = ast.AugAssign(line.targets[0], line.value.op, line.value.right)
    return True


@edit("x[k] = e: another way")
def _element_assigned(p: Program, rng: Random) -> bool:
    places = [
        (b, j)
        for b in p.blocks()
        for j, s in enumerate(b)
        if isinstance(s, ast.Assign)
        and len(s.targets) == 1
        and isinstance(s.targets[0], ast.Subscript)
        and not any(isinstance(n, ast.Slice) for n in ast.walk(s.targets[0].slice))
    ]
    if not places:
        return False
    block, j = places[rng.integers(len(places))]
    line: Any = block[j]
    form = pick(
        rng,
        [
            "x.__setitem__(k, e)",
            "operator.setitem(x, k, e)",
            "x[k] = 0.0\nx[k] += e",
            "t_ = e\nx[k] = t_",
            "x[k] = x[k] * 0.0\nx[k] = e",
            "(x[k],) = (e,)",
            "x[(k, ...)] = e",
            "np.copyto(x[k:k + 1], e)",
            "x[[k]] = e",
        ],
    )
    target = line.targets[0]
    block[j : j + 1] = [
        _stored(s) for s in statements(form, x=target.value, k=target.slice, e=line.value)
    ]
    p.define("import operator")
    return True


def _stored(line: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(ast.fix_missing_locations(line))).body[0]


@edit("if: if not")
def _turned(p: Program, rng: Random) -> bool:
    lines = [s for b in p.blocks() for s in b if isinstance(s, ast.If)]
    line = pick(rng, lines)
    if line is None:
        return False
    line.body, line.orelse = line.orelse or [ast.Pass()], line.body
    line.test = ast.UnaryOp(ast.Not(), line.test)
    return True


@edit("if: conditional expression")
def _if_as_expression(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, s in enumerate(blocks[k]):
            if not (isinstance(s, ast.If) and len(s.body) == len(s.orelse) == 1):
                continue
            a, b = s.body[0], s.orelse[0]
            if isinstance(a, ast.Return) and isinstance(b, ast.Return) and a.value and b.value:
                blocks[k][j] = ast.Return(ast.IfExp(s.test, a.value, b.value))
                return True
            both = isinstance(a, ast.Assign) and isinstance(b, ast.Assign)
            if both and ast.unparse(a.targets[0]) == ast.unparse(b.targets[0]):
                blocks[k][j] = ast.Assign(a.targets, ast.IfExp(s.test, a.value, b.value))
                return True
    return False


@edit("conditional expression: if")
def _expression_as_if(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, s in enumerate(blocks[k]):
            value = getattr(s, "value", None)
            if not isinstance(value, ast.IfExp):
                continue
            if isinstance(s, ast.Return):
                blocks[k][j : j + 1] = [
                    ast.If(value.test, [ast.Return(value.body)], []),
                    ast.Return(value.orelse),
                ]
                return True
            if isinstance(s, ast.Assign):
                blocks[k][j] = ast.If(
                    value.test,
                    [ast.Assign(s.targets, value.body)],
                    [ast.Assign(copy.deepcopy(s.targets), value.orelse)],
                )
                return True
    return False


@edit("else: what comes after a return")
def _flattened(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        block = blocks[k]
        for j, s in enumerate(block):
            if isinstance(s, ast.If) and isinstance(
                s.body[-1], (ast.Return, ast.Continue, ast.Raise)
            ):
                if s.orelse:
                    block[j + 1 : j + 1] = s.orelse
                    s.orelse = []
                    return True
                if block[j + 1 :]:
                    s.orelse = block[j + 1 :]
                    del block[j + 1 :]
                    return True
    return False


@edit("if: match")
def _if_as_match(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, s in enumerate(blocks[k]):
            if isinstance(s, ast.If):
                other = s.orelse or [ast.Pass()]
                if rng.random() < 0.5:
                    cases = [
                        ast.match_case(ast.MatchSingleton(True), None, s.body),
                        ast.match_case(ast.MatchAs(), None, other),
                    ]
                    subject = expression("bool(t)", t=s.test)
                else:
                    cases = [
                        ast.match_case(ast.MatchAs(), s.test, s.body),
                        ast.match_case(ast.MatchAs(), None, other),
                    ]
                    subject = ast.Constant(0)
                blocks[k][j] = ast.Match(subject, cases)
                return True
    return False


@edit("if: while and break")
def _if_as_while(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, s in enumerate(blocks[k]):
            jumps = any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(s))
            if isinstance(s, ast.If) and not s.orelse and not jumps:
                blocks[k][j] = ast.While(s.test, [*s.body, ast.Break()], [])
                return True
    return False


def _loops(p: Program) -> list[tuple[list[ast.stmt], int, Any]]:
    return [(b, j, s) for b in p.blocks() for j, s in enumerate(b) if isinstance(s, ast.For)]


@edit("for: while")
def _for_as_while(p: Program, rng: Random) -> bool:
    places = [
        x
        for x in _loops(p)
        if not x[2].orelse and not any(isinstance(n, ast.Continue) for n in ast.walk(x[2]))
    ]
    if not places:
        return False
    block, j, s = places[rng.integers(len(places))]
    rows, place = p.name("rows"), p.name("place")
    if rng.random() < 0.5 and isinstance(s.target, ast.Name) and _is_range(s.iter):
        name = s.target.id
        made = statements(
            f"{place} = 0\nwhile {place} < n:\n    {name} = {place}", n=s.iter.args[0]
        )
        made[1].body += [*s.body, *statements(f"{place} += 1")]  # type: ignore[attr-defined]
    else:
        made = statements(
            f"{rows} = list(e)\n{place} = 0\nwhile {place} < len({rows}):\n    pass", e=s.iter
        )
        first = ast.Assign([s.target], expression(f"{rows}[{place}]"))
        made[2].body = [first, *statements(f"{place} += 1"), *s.body]  # type: ignore[attr-defined]
    block[j : j + 1] = made
    return True


def _is_range(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
    return called and len(node.args) == 1  # type: ignore[attr-defined]


@edit("for: iter and next")
def _for_as_next(p: Program, rng: Random) -> bool:
    places = [x for x in _loops(p) if not x[2].orelse]
    if not places:
        return False
    block, j, s = places[rng.integers(len(places))]
    rows = p.name("rows")
    made = statements(
        f"""
        {rows} = iter(e)
        while True:
            try:
                pass
            except StopIteration:
                break
        """,
        e=s.iter,
    )
    loop: Any = made[1]
    loop.body[0].body = [ast.Assign([s.target], expression(f"next({rows})"))]
    loop.body += s.body
    block[j : j + 1] = made
    return True


@edit("for: other iterables")
def _for_over(p: Program, rng: Random) -> bool:
    places = _loops(p)
    if not places:
        return False
    _, _, s = places[rng.integers(len(places))]
    texts = [
        "list(e)",
        "tuple(e)",
        "iter(e)",
        "(t for t in e)",
        "reversed(list(reversed(list(e))))",
        "itertools.chain(e)",
        "[*e]",
        "itertools.chain.from_iterable([t] for t in e)",
        "map(lambda t: t, e)",
        "filter(lambda t: True, e)",
        "(t for t, in zip(e))",
        "(t for _, t in enumerate(e))",
        "itertools.islice(e, None)",
        "itertools.tee(e)[0]",
    ]
    s.iter = expression(pick(rng, texts), e=s.iter)
    p.define("import itertools")
    return True


@edit("for: peeled")
def _peeled(p: Program, rng: Random) -> bool:
    places = [
        x
        for x in _loops(p)
        if not x[2].orelse
        and not any(isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(x[2]))
    ]
    if not places:
        return False
    block, j, s = places[rng.integers(len(places))]
    rows = p.name("rows")
    first: list[ast.stmt] = [
        ast.Assign([s.target], expression(f"{rows}[0]")),
        *copy.deepcopy(s.body),
    ]
    made = statements(f"{rows} = list(e)", e=s.iter)
    s.iter = expression(f"{rows}[1:]")
    block[j : j + 1] = [*made, ast.If(expression(rows), first, []), s]
    return True


@edit("for: unrolled by two")
def _by_two(p: Program, rng: Random) -> bool:
    places = [
        x
        for x in _loops(p)
        if not x[2].orelse
        and not any(isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(x[2]))
    ]
    if not places:
        return False
    block, j, s = places[rng.integers(len(places))]
    rows, pair = p.name("rows"), p.name("pair")
    inner = ast.For(s.target, expression(pair), s.body, [])
    cut = f"[{rows}[k:k + 2] for k in range(0, len({rows}), 2)]"
    block[j : j + 1] = [
        *statements(f"{rows} = list(e)", e=s.iter),
        ast.For(ast.Name(pair, ast.Store()), expression(cut), [inner], []),
    ]
    return True


@edit("for: a function of a step")
def _step(p: Program, rng: Random) -> bool:
    def fits(s: Any) -> bool:
        jumps = (ast.Continue, ast.Break, ast.Return, ast.Yield, ast.Nonlocal, ast.Global)
        return not any(isinstance(n, jumps) for n in ast.walk(s))

    places = [x for x in _loops(p) if fits(x[2])]
    if not places:
        return False
    _, _, s = places[rng.integers(len(places))]
    function = p.around(s)
    assert function is not None
    name = p.name("step")
    given = sorted({n.id for n in ast.walk(s.target) if isinstance(n, ast.Name)})
    changed = sorted(
        {
            n.id
            for b in s.body
            for n in ast.walk(b)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        - set(given)
    )
    if not changed:
        return False
    known = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    } | {a.arg for a in function.args.args}
    before = [c for c in changed if c in known]
    text = f"def {name}({', '.join(given)}):\n    nonlocal {', '.join(before)}"
    definition: Any = ast.parse(text).body[0]
    definition.body += s.body
    call = ast.Expr(expression(f"{name}({', '.join(given)})"))
    s.body = [definition, call] if rng.random() < 0.5 else [call]
    if s.body == [call]:
        block = next(b for b, _, t in _loops(p) if t is s)
        block.insert(block.index(s), definition)
    return True


WRAPPED = [
    "if True:\n    pass",
    "for _ in range(1):\n    pass",
    "for _ in (None,):\n    pass",
    "with contextlib.nullcontext():\n    pass",
    "with np.errstate(all='ignore'):\n    pass",
    "with contextlib.suppress(KeyError):\n    pass",
    "with warnings.catch_warnings():\n    pass",
    "with contextlib.ExitStack() as stack_:\n    pass",
    "with around(None):\n    pass",
    "with around(1) as a_, around(2) as b_:\n    pass",
    "with threading.RLock():\n    pass",
    "try:\n    pass\nfinally:\n    ended_ = True",
    "try:\n    pass\nexcept KeyError:\n    raise",
    "try:\n    pass\nexcept (KeyError, Carrier) as error_:\n    raise ValueError from error_",
    "if not False:\n    pass\nelse:\n    raise ValueError('no')",
    "match 0:\n    case 0:\n        pass",
]


def _wrapped(text: str) -> Edit:
    def change(p: Program, rng: Random) -> bool:
        block = pick(rng, p.blocks())
        if block is None:
            return False
        first = int(rng.integers(len(block)))
        last = int(rng.integers(first, len(block))) + 1
        jumps = (ast.Continue, ast.Break, ast.Nonlocal, ast.Global, ast.FunctionDef)
        if "for _" in text and any(
            isinstance(n, jumps) for s in block[first:last] for n in ast.walk(s)
        ):
            return False
        (outer,) = ast.parse(text).body
        inner = outer.cases[0] if isinstance(outer, ast.Match) else outer
        inner.body = block[first:last]  # type: ignore[attr-defined]
        block[first:last] = [outer]
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


for _text in WRAPPED:
    edit(f"statements in: {' '.join(_text.split())}")(_wrapped(_text))

INSERTED = [
    "pass",
    "'A text.'",
    "unused_ = 1.0",
    "assert True, 'never'",
    "if False:\n    raise ValueError(f'{np}')",
    "if np.ndim(v) > 7:\n    raise ValueError(f'{v!r:>20} has {np.ndim(v)} axes')",
    "assert np.ndim(v) < 8, f'{v}'",
    "assert np.all(np.isfinite(v)), f'not finite: {v}'",
    "unused_ = np.sin(v) * 2",
    "unused_ = [v, (v, {'k': v})]",
    "saved_ = v\nv = saved_",
    "v = (lambda: v)()",
    "v, unused_ = v, None",
    "unused_ = str(type(v))",
    "unused_ = np.shape(v) + (1,)",
    "logging.getLogger('edits').debug('%r', v)",
    "unused_ = hasattr(v, 'shape')",
    "unused_ = isinstance(v, (float, np.ndarray))",
    "def unused_():\n    return v",
    "class Unused_:\n    top = v",
    "unused_ = lambda: v + 1",
    "unused_ = (w_ for w_ in (v,))",
    "import math as unused_",
    "del_ = v\ndel del_",
    "kept_: dict = {'v': v}\nv = kept_.pop('v')",
    "stack_ = [v]\nwhile stack_:\n    v = stack_.pop()",
    "try:\n    v\nexcept NameError:\n    v = 0.0",
    "v = v if v is not None else 0.0",
    "unused_ = np.array(v)\nunused_ += 1.0",
    "if np.any(np.isnan(v)):\n    v = np.zeros_like(v)",
    "if not np.size(v):\n    raise IndexError('empty')",
    "for unused_ in range(3):\n    continue",
    "while False:\n    v = 0.0",
    "unused_ = id(v) == id(v)",
    "unused_ = v is v",
    "unused_ = callable(v)",
    "unused_ = np.result_type(v, 1.0)",
    "unused_ = copy.copy(v)",
]


def _inserted(text: str) -> Edit:
    def change(p: Program, rng: Random) -> bool:
        places = []
        for function in p.functions():
            names = [a.arg for a in function.args.args if a.arg != "self"]
            if names:
                places.append((function, names))
        if not places:
            return False
        function, names = places[rng.integers(len(places))]
        name = str(pick(rng, names))
        lines = ast.parse(text).body
        for n in (n for line in lines for n in ast.walk(line)):
            if isinstance(n, ast.Name) and n.id == "v":
                n.id = name
        place = int(rng.integers(len(function.body) + 1)) if "v = " not in text else 0
        if place == len(function.body) and isinstance(function.body[-1], ast.Return):
            place -= 1
        function.body[place:place] = lines
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


for _text in INSERTED:
    edit(f"inserted: {' '.join(_text.split())}")(_inserted(_text))


@edit("two assignments: one of tuples")
def _joined(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        block = blocks[k]
        for j in range(len(block) - 1):
            a, b = block[j], block[j + 1]
            if not (isinstance(a, ast.Assign) and isinstance(b, ast.Assign)):
                continue
            if len(a.targets) + len(b.targets) > 2 or not isinstance(a.targets[0], ast.Name):
                continue
            name = a.targets[0].id
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(b)):
                continue
            target = ast.Tuple([a.targets[0], b.targets[0]], ast.Store())
            block[j : j + 2] = [ast.Assign([target], ast.Tuple([a.value, b.value], ast.Load()))]
            return True
    return False


@edit("one assignment of tuples: two")
def _parted(p: Program, rng: Random) -> bool:
    for k in rng.permutation(len(blocks := p.blocks())):
        for j, s in enumerate(blocks[k]):
            pair = isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple)
            if not pair or not isinstance(s.value, ast.Tuple):  # type: ignore[attr-defined]
                continue
            line: Any = s
            names = [p.name("part") + letter for letter in "abcdefgh"[: len(line.value.elts)]]
            first = [
                ast.Assign([ast.Name(n, ast.Store())], e)
                for n, e in zip(names, line.value.elts, strict=True)
            ]
            if len(names) != len(line.targets[0].elts):
                continue
            second = [
                ast.Assign([t], ast.Name(n, ast.Load()))
                for n, t in zip(names, line.targets[0].elts, strict=True)
            ]
            blocks[k][j : j + 1] = [*first, *second]
            return True
    return False


RETURNED = [
    "result_ = e\nreturn result_",
    "return (e,)[0]",
    "try:\n    return e\nfinally:\n    pass",
    "with contextlib.nullcontext(e) as result_:\n    return result_",
    "def last_():\n    return e\nreturn last_()",
    "return (lambda: e)()",
    "for result_ in (e,):\n    return result_",
    "while True:\n    return e",
    "result_ = {'value': e, 'more': None}\nreturn result_['value']",
    "result_, _ = e, None\nreturn result_",
    "if (result_ := e) is not None:\n    return result_\nraise ValueError",
    "try:\n    result_ = e\nexcept ArithmeticError:\n    raise\nelse:\n    return result_",
    "result_: float = e\nreturn result_",
    "return functools.reduce(lambda a, b: b, [None, e])",
    "match e:\n    case result_:\n        return result_",
    "yielded_ = (t for t in (e,))\nreturn next(yielded_)",
    """
    async def go_():
        return e
    try:
        go_().send(None)
    except StopIteration as end_:
        return end_.value
    """,
    "result_ = None\ndef put_():\n    nonlocal result_\n    result_ = e\nput_()\nreturn result_",
]


def _returned(text: str) -> Edit:
    def change(p: Program, rng: Random) -> bool:
        places = [
            (b, j)
            for b in p.blocks()
            for j, s in enumerate(b)
            if isinstance(s, ast.Return) and s.value is not None
        ]
        if not places:
            return False
        block, j = places[rng.integers(len(places))]
        line: Any = block[j]
        block[j : j + 1] = statements(text, e=line.value)
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


for _text in RETURNED:
    edit(f"returned: {' '.join(_text.split())}")(_returned(_text))


@edit("the end of a function: a nested one")
def _outlined(p: Program, rng: Random) -> bool:
    functions = [f for f in p.functions() if len(f.body) > 1 and isinstance(f.body[-1], ast.Return)]
    f = pick(rng, functions)
    if f is None:
        return False
    place = int(rng.integers(len(f.body)))
    name = p.name("rest")
    tail = f.body[place:]
    written = {
        n.id
        for s in tail
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known = {
        n.id
        for s in f.body[:place]
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known |= {a.arg for a in f.args.args}
    shared = sorted(written & known)
    definition: Any = ast.parse(f"def {name}({', '.join(shared)}):\n    pass").body[0]
    definition.body = tail
    f.body[place:] = [definition, ast.Return(expression(f"{name}({', '.join(shared)})"))]
    return True


# ---------------------------------------------------------------- whole functions

#: What is written behind the definition of ``f``, which is called ``old`` before.
WHOLE: dict[str, str] = {
    "decorated": """
        @decorated
        def f(*a, **k):
            return old(*a, **k)""",
    "lambda": "f = lambda *a, **k: old(*a, **k)",
    "partial": "f = functools.partial(old)",
    "closure": """
        def make():
            g = old
            def f(*a, **k):
                return g(*a, **k)
            return f
        f = make()""",
    "method": """
        class Model:
            def run(self, *a, **k):
                return old(*a, **k)
        f = Model().run""",
    "static method": """
        class Model:
            @staticmethod
            def run(*a, **k):
                return old(*a, **k)
        f = Model.run""",
    "class method": """
        class Model:
            @classmethod
            def run(cls, *a, **k):
                return old(*a, **k)
        f = Model.run""",
    "class attribute": """
        class Model:
            run = staticmethod(old)
        f = Model().run""",
    "property": """
        class Model:
            @property
            def run(self):
                return old
        f = Model().run""",
    "__call__": """
        class Model:
            def __call__(self, *a, **k):
                return old(*a, **k)
        f = Model()""",
    "inherited": """
        class Base:
            def run(self, *a, **k):
                return old(*a, **k)
        class Model(Base):
            def run(self, *a, **k):
                return super().run(*a, **k)
        f = Model().run""",
    "dataclass": """
        @dataclasses.dataclass
        class Model:
            g: object
            def __call__(self, *a, **k):
                return self.g(*a, **k)
        f = Model(old)""",
    "partialmethod": """
        class Model:
            def run(self, g, *a, **k):
                return g(*a, **k)
            go = functools.partialmethod(run, old)
        f = Model().go""",
    "slots": """
        class Model:
            __slots__ = ('g',)
            def __init__(self, g):
                self.g = g
            def run(self, *a, **k):
                return self.g(*a, **k)
        f = Model(old).run""",
    "metaclass": """
        class Meta(type):
            def __call__(cls, *a, **k):
                return old(*a, **k)
        class Model(metaclass=Meta):
            pass
        def f(*a, **k):
            return Model(*a, **k)""",
    "__getattr__": """
        class Model:
            def __getattr__(self, name):
                return old
        model = Model()
        def f(*a, **k):
            return model.anything(*a, **k)""",
    "generator": """
        def steps(*a, **k):
            yield old(*a, **k)
        def f(*a, **k):
            return next(steps(*a, **k))""",
    "errstate": """
        @np.errstate(all='ignore')
        def f(*a, **k):
            return old(*a, **k)""",
    "context decorator": """
        class Quiet(contextlib.ContextDecorator):
            def __enter__(self):
                return self
            def __exit__(self, *e):
                return False
        @Quiet()
        def f(*a, **k):
            return old(*a, **k)""",
    "contextmanager": """
        @around(0)
        def f(*a, **k):
            return old(*a, **k)""",
    "dispatch table": """
        TABLE = {'f': old}
        def f(*a, **k):
            return TABLE['f'](*a, **k)""",
    "registry": """
        FOUND = []
        def enter(g):
            FOUND.append(g)
            return g
        enter(old)
        def f(*a, **k):
            return FOUND[-1](*a, **k)""",
    "global": """
        CURRENT = old
        def f(*a, **k):
            global CURRENT
            return CURRENT(*a, **k)""",
    "globals()": """
        def f(*a, **k):
            return globals()['old'](*a, **k)""",
    "try, except": """
        def f(*a, **k):
            try:
                return old(*a, **k)
            except ZeroDivisionError:
                return 0.0""",
    "try, finally": """
        def f(*a, **k):
            try:
                return old(*a, **k)
            finally:
                STORE.clear()""",
    "counted": """
        COUNT = 0
        def f(*a, **k):
            global COUNT
            COUNT += 1
            return old(*a, **k)""",
    "calls kept": """
        CALLS = []
        def f(*a, **k):
            CALLS.append(len(a))
            return old(*a, **k)""",
    "recursion": """
        def f(*a, depth=2, **k):
            return old(*a, **k) if depth == 0 else f(*a, depth=depth - 1, **k)""",
    "composed": """
        def compose(*gs):
            return functools.reduce(lambda g, h: lambda *a, **k: g(h(*a, **k)), gs)
        f = compose(lambda y: y, old)""",
    "singledispatch": """
        @functools.singledispatch
        def f(x, *a, **k):
            return old(x, *a, **k)""",
    "a module of its own": """
        import types
        MODULE = types.ModuleType('inner')
        MODULE.g = old
        def f(*a, **k):
            return MODULE.g(*a, **k)""",
    "exec": """
        SPACE = {'old': old}
        exec('def g(*a, **k):\\n    return old(*a, **k)', SPACE)
        def f(*a, **k):
            return SPACE['g'](*a, **k)""",
    "copied arguments": """
        def f(x, *a, **k):
            return old(copy.deepcopy(x), *a, **k)""",
    "arrays of arguments": """
        def f(x, *a, **k):
            return old(np.array(x, dtype=float), *a, **k)""",
    "arguments by a dict": """
        def f(*a, **k):
            given = dict(enumerate(a))
            return old(*[given[j] for j in sorted(given)], **k)""",
    "bound": """
        import inspect
        def f(*a, **k):
            bound = inspect.signature(old).bind(*a, **k)
            return old(*bound.args, **bound.kwargs)""",
    "warnings": """
        def f(*a, **k):
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                return old(*a, **k)""",
    "thread local": """
        LOCAL.g = old
        def f(*a, **k):
            return LOCAL.g(*a, **k)""",
    "context variable": """
        STATE.set(old)
        def f(*a, **k):
            return STATE.get()(*a, **k)""",
    "weak reference": """
        import weakref
        REF = weakref.ref(old)
        def f(*a, **k):
            return REF()(*a, **k)""",
    "protocol": """
        class Runs(typing.Protocol):
            def run(self, *a): ...
        class Model(Runs):
            def run(self, *a, **k):
                return old(*a, **k)
        f = Model().run""",
    "cached factory": """
        @functools.lru_cache
        def make(name):
            return old
        def f(*a, **k):
            return make('f')(*a, **k)""",
    "coroutine": """
        async def g(*a, **k):
            return old(*a, **k)
        def f(*a, **k):
            t = g(*a, **k)
            try:
                t.send(None)
            except StopIteration as end:
                return end.value""",
    "twice the half": """
        def f(*a, **k):
            return 0.5 * old(*a, **k) + 0.5 * old(*a, **k)""",
    "plus and minus": """
        def f(*a, **k):
            y = old(*a, **k)
            return y + 1.0 - 1.0""",
    "result of a dataclass": """
        def f(*a, **k):
            return Held(old(*a, **k)).value""",
    "enum": """
        class Kind(enum.Enum):
            F = functools.partial(old)
            def __call__(self, *a, **k):
                return self.value(*a, **k)
        def f(*a, **k):
            return old(*a, **k)""",
}


def _whole(text: str) -> Edit:
    def change(p: Program, rng: Random) -> bool:
        top = [n for n in p.tree.body if isinstance(n, ast.FunctionDef) and n in p.functions()]
        f = pick(rng, [n for n in top if not n.decorator_list])
        if f is None:
            return False
        name, old, place = f.name, p.name("before"), p.tree.body.index(f)
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(f)):
            return False  # it calls itself
        f.name = old
        lines = ast.parse(textwrap.dedent(text)).body
        for n in (n for line in lines for n in ast.walk(line)):
            if isinstance(n, ast.Name) and n.id in ("f", "old"):
                n.id = {"f": name, "old": old}[n.id]
            elif isinstance(n, ast.FunctionDef) and n.name == "f":
                n.name = name
            elif isinstance(n, ast.Constant) and n.value == "old":
                n.value = old
        p.tree.body[place + 1 : place + 1] = lines
        if "import abc, collections" not in p.source:
            p.define(HEAD)
        return True

    return change


for _name, _text in WHOLE.items():
    edit(f"a function: {_name}")(_whole(_text))


def edited(source: str, run: Callable[[dict[str, Any]], Any], name: str, rng: Random) -> str | None:
    """Return the text of a program with one edit, or None if there is no place for it."""
    p = Program(source, run)
    if not EDITS[name](p, rng):
        return None
    return p.text()
