"""A Program as NumPy code: a function that anyone can run, read and step through.

One line a step, in the program's order, with the user's line behind it. The code needs NumPy
and SciPy only; where an op is no NumPy function, the few lines that it is are put before.
"""

from __future__ import annotations

import ast
import base64
import dis
import inspect
import keyword
import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from ..base.argument_checks import as_text
from ..base.size_text import Operand, size_text, spell
from ..graph import Body, Constant, Iota, Literal, Node, SizeOf
from ..op import Bodied, Code, Map, Op
from ._steps import Steps, body_program
from ._text import guard_texts, named_bodies

#: Arrays of up to this many elements are written out in decimals, longer ones in base64.
WRITTEN_OUT = 16

#: Comments are aligned up to this column.
COLUMN = 64

#: Element types of Python numbers, and those which a Python number takes on without loss.
_DEFAULT = {np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)}
_WRITTEN = _DEFAULT | {np.dtype(np.float32)}
_RESERVED = {
    "np", "math", "special", "blas", "lapack", "base64", "array", "float", "int", "max", "min",
    "symgrad", "ValueError",
}  # fmt: skip


def source(program: Steps, name: str = "program") -> str:
    """Return the program as NumPy code: one line a step, the user's line behind it.

    Parameters
    ----------
    name:
        The name of the function that the code defines.

    Returns
    -------
    str
        Python code that needs nothing but NumPy and SciPy. It gives the same bits as
        the program itself; sums over what it concatenates of transposed arrays may
        differ by rounding, since they lie otherwise in memory.

    Raises
    ------
    ArgumentError
        If ``name`` is no name, or one that the code itself uses.
    UnsupportedError
        If an op of the user's own does not say how to write it (``source=``).

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> program = sg.grad(lambda x: np.sum(np.sin(x))).program(np.ones(3))
    >>> scope = {}
    >>> exec(program.source("gradient"), scope)
    >>> scope["gradient"](np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    return _Writer(program, name).text()


class _Writer:
    def __init__(self, program: Steps, name: str, outer: _Writer | None = None) -> None:
        self.program, self.name = program, name
        self.helpers: dict[str, FunctionType] = {} if outer is None else outer.helpers
        self.tables: dict[str, Any] = {} if outer is None else outer.tables
        self.constants: dict[Constant, str] = {} if outer is None else outer.constants
        self.shapes: tuple[str, ...] = outer.shapes if outer else tuple(map(str, program.sizes))
        for node in program.steps:
            self._need(Code.of(node.op).helpers)
        taken = {*_RESERVED, *keyword.kwlist, *self.helpers, *self.tables}
        as_text(name, "source: name")
        if not name.isidentifier() or name in taken:
            raise ArgumentError(f"{name!r} cannot be the name of the function in the code")
        self.names = self._names()

    def _need(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Take in helper functions, and what of their modules they call or read."""
        for function in functions:
            assert isinstance(function, FunctionType)
            if function.__name__ in self.helpers:
                continue
            self.helpers[function.__name__] = function
            scope = function.__globals__
            called = {n: scope.get(n) for n in global_names(function.__code__)}
            self._need(f for f in called.values() if isinstance(f, FunctionType))
            self.tables.update((n, v) for n, v in called.items() if isinstance(v, tuple))

    def _names(self) -> dict[Node, str]:
        """The program's names, except those that would hide something in the code."""
        program = self.program
        taken = {*_RESERVED, *keyword.kwlist, *self.helpers, *self.tables, *self.shapes}
        names: dict[Node, str] = {}
        for node in program.constants:
            if node not in self.constants:
                text = f"c{len(self.constants)}"
                while text in taken:
                    text += "_"
                self.constants[node] = text
            names[node] = self.constants[node]
        taken |= set(self.constants.values())
        for node in (*program.inputs, *program.steps):
            # Python takes a name for the same as its normal form.
            text = unicodedata.normalize("NFKC", program.names[node])
            text = text if text.isidentifier() else "x_"
            while text in taken:
                text += "_"
            taken.add(text)
            names[node] = text
        return names

    # ---------------------------------------------------------------- lines

    def text(self) -> str:
        head = self.head()
        body = [*head, *self.steps()]
        helpers = [helper_text(f) for f in reversed(self.helpers.values())]
        width = min(max((len(code) for code, _ in body), default=0), COLUMN)
        lines = [f"    {code:{width}}  # {where}" if where else f"    {code}"
                 for code, where in body]  # fmt: skip
        lines[len(head) : len(head)] = [f"    {code}" for code in self.sizes()]
        constants = [f"{name} = {array_text(c.array)}" for c, name in self.constants.items()]
        constants += [table_text(name, table) for name, table in self.tables.items()]
        parameters = ", ".join(self.names[n] for n in self.program.inputs)
        function = [
            '@np.errstate(all="ignore")',
            f"def {self.name}({parameters}):",
            *self.guards(),
            *lines,
            *self.conditions(),
            f"    return {self.results()}",
        ]
        code = "\n".join([*constants, *([""] * 2 if constants else []),
                          *(f"{h}\n\n" for h in helpers), *function])  # fmt: skip
        imports = ["import numpy as np"]
        if "special." in code:
            imports.append("from scipy import special")
        library = [name for name in ("blas", "lapack") if f"{name}." in code]
        if library:
            imports.append(f"from scipy.linalg import {', '.join(library)}")
        if "symgrad._core.ops." in code:  # a Python function, which only this process knows
            imports.append("import symgrad._core.ops.callback")
        standard = [f"import {m}" for m in ("base64", "math") if f"{m}." in code]
        return "\n".join([*standard, *([""] if standard else []), *imports, "", "", code]) + "\n"

    def conditions(self) -> list[str]:
        """What the values must satisfy."""
        if not self.program.conditions:
            return []
        test = " and ".join(map(self.operand, self.program.conditions))
        text = "the values take another branch than the program was traced for"
        return [f"    if not ({test}):", f'        raise ValueError("{text}")']

    def results(self) -> str:
        return ", ".join(map(self.operand, self.program.outputs)) or "()"

    def guards(self) -> list[str]:
        """What the sizes must satisfy, as the function's docstring."""
        relations = guard_texts(self.program.guards)
        if not relations:
            return []
        text = f"For sizes with {', '.join(relations)}."
        if len(text) > COLUMN:
            lines = textwrap.wrap(text, 90)
            return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """']
        return [f'    """{text}"""']

    def sizes(self) -> list[str]:
        """What the arguments' shapes must be."""
        arrays = [n for n in self.program.inputs if n.shape]
        known = [f"{self.names[n]}.shape == {self.shape(n)}" for n in arrays]
        tests = [*known, *guard_texts(self.program.guards)]
        if not tests:
            return []
        found = ", ".join(f"{s} = {{{s}}}" for s in self.program.sizes)
        words = f"the program is for {', '.join(tests)}{f'; found {found}' if found else ''}"
        return [f"if not ({' and '.join(tests)}):", f'    raise ValueError(f"{words}")']

    def head(self) -> list[tuple[str, str]]:
        """Give the arguments their types, and read the sizes off their shapes."""
        lines = []
        for node in self.program.inputs:
            name, dtype = self.names[node], f"np.{node.dtype.name}"
            value = f"np.asarray({name}, {dtype})" if node.shape else f"{dtype}({name})"
            if node.dtype.kind == "i":  # a float is no place and no size
                value = f'np.asarray({name}).astype({dtype}, casting="same_kind")'
                value += "" if node.shape else "[()]"
            lines.append((f"{name} = {value}", ""))
        for symbol, (k, axis) in self.program.sizes.items():
            name = self.names[self.program.inputs[k]]
            lines.append(
                (f"{symbol} = {f'int({name})' if axis is None else f'{name}.shape[{axis}]'}", "")
            )
        return lines

    def steps(self) -> list[tuple[str, str]]:
        lines: list[tuple[str, str]] = []
        for node in self.program.steps:
            where = self.program.line_text(node)
            if not isinstance(node.op, Bodied):
                lines.append((f"{self.names[node]} = {self.right(node)}", where))
                continue
            for name, body in named_bodies(node):
                lines += self.nested(f"{self.names[node]}_{name}", body)
            lines.append((f"{self.names[node]} = {self.run(node)}", where))
        return lines

    # ---------------------------------------------------------------- loops and branches

    def nested(self, name: str, body: Body) -> list[tuple[str, str]]:
        """Return the function that a body is."""
        inner = _Writer(body_program(body), name, self)
        parameters = ", ".join(inner.names[x] for x in body.inputs)
        lines = [(f"def {name}({parameters}):", "")]
        lines += [(f"    {code}", where) for code, where in inner.steps()]
        lines.append((f"    return ({inner.results()},)", ""))
        kinds = [f"({self.shape(x)}, np.{x.dtype.name})" for x in body.outputs]
        lines.append((f"{name}.kinds = [{', '.join(kinds)}]", ""))
        return lines

    def shape(self, node: Node) -> str:
        return spell(node.shape)

    def run(self, node: Node) -> str:
        """Return the call that runs a loop or a branch."""
        bodies = {body: f"{self.names[node]}_{name}" for name, body in named_bodies(node)}

        def text(value: Any) -> str:
            if isinstance(value, tuple):
                return f"({''.join(f'{text(v)}, ' for v in value)})"
            if isinstance(value, Body):
                return bodies[value]
            return repr(value) if value is None or isinstance(value, bool) else size_text(value)

        arguments = [*self.operands(node), *(f"{k}={text(v)}" for k, v in node.items)]
        return f"{Code.of(node.op).helpers[0].__name__}({', '.join(arguments)})"

    # ---------------------------------------------------------------- right-hand sides

    def right(self, node: Node) -> str:
        op = node.op
        operands = [Operand(t, x.shape, x.dtype)
                    for t, x in zip(self.operands(node), node.operands, strict=True)]  # fmt: skip
        source = Code.of(op).source
        if source is not None:
            text = source(*operands, **node.params)
        else:
            arguments = [*map(str, operands), *(f"{k}={v!r}" for k, v in node.items)]
            text = f"{function_name(op)}({', '.join(arguments)})"
        if isinstance(op, Map) and op.ufunc is None:
            # What is no universal function may keep a 0-d array, or compute wider.
            if node.dtype.name == "float32" and "dtype" not in node.params:
                text = f"np.asarray({text}, np.float32)"
            if not node.shape and (source is None or "(" in text):
                text = plain_number(text)
        return text

    def operands(self, node: Node) -> list[str]:
        """Return the operands' texts: names, and numbers as plain as NumPy's rules allow.

        A Python number takes the type of the array beside it. Alone it would be float64 or
        int64, and two of them would be computed by Python, which knows no infinity of 1/0.
        """
        free = [x for x in node.operands if not isinstance(x, (Literal, SizeOf))]
        ufunc = node.op.ufunc if isinstance(node.op, Map) else None
        # SciPy's universal functions do not all treat Python numbers as weak, and helper
        # functions ask their operands for types.
        weak = ufunc is not None and getattr(np, ufunc.__name__, None) is ufunc
        alone = not free if node.op.kind == "map" else node.op.kind != "view"
        alone = alone or bool(Code.of(node.op).helpers)
        texts = []
        for x in node.operands:
            beside = weak and x.dtype in _WRITTEN and any(y.dtype == x.dtype for y in free)
            plain = isinstance(x, Literal) and x.dtype in _DEFAULT and not alone
            texts.append(self.operand(x, plain=plain or beside))
        return texts

    def operand(self, node: Node, plain: bool = False) -> str:
        known = self.names.get(node)
        if known is not None:
            return known
        if isinstance(node, Iota):
            return f"np.arange({size_text(node.size)})"
        dtype = f"np.{node.dtype.name}"
        if isinstance(node, SizeOf):
            text = size_text(node.size)
            if not plain:
                return f"{dtype}({text})"
            return text if text.isidentifier() or text.isdigit() else f"({text})"
        assert isinstance(node, Literal)
        text = number_text(node.value)
        if not plain:
            return f"{dtype}({text})"
        return f"({text})" if text.startswith("-") else text


# ---------------------------------------------------------------- texts


def global_names(code: CodeType) -> Iterator[str]:
    """Yield the names that code reads from its module; an attribute of the same name is none."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from global_names(inner)


def plain_number(text: str) -> str:
    """Return the expression whose value is a number where that of ``text`` may be a 0-d array."""
    if text.endswith("[()]"):
        return text
    whole = ast.parse(text, mode="eval").body
    tight = isinstance(whole, (ast.Call, ast.Subscript, ast.Attribute, ast.Name))
    return f"{text}[()]" if tight else f"({text})[()]"


def number_text(value: Any) -> str:
    """Return a number as Python text that gives the same bits back."""
    number = value.item()
    if isinstance(number, float) and not math.isfinite(number):
        return "np.nan" if number != number else "np.inf" if number > 0 else "-np.inf"
    return repr(number)


def array_text(array: np.ndarray[Any, Any]) -> str:
    """Return an array as Python text that gives the same bits back."""
    dtype = f"np.{array.dtype.name}"
    if array.size <= WRITTEN_OUT:
        numbers = iter([number_text(v) for v in array.ravel()])
        if array.size:
            return f"np.array({_nested(numbers, array.shape)}, {dtype})"
        return f"np.zeros({array.shape}, {dtype})"
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(little.tobytes()).decode()
    return (
        f'np.frombuffer(base64.b64decode("{data}"), "{little.dtype.str}")'
        f".astype({dtype}).reshape({array.shape})"
    )


def table_text(name: str, table: Any) -> str:
    """Return the definition of a table that helper functions read, in lines of ordinary length."""
    return "\n    ".join(textwrap.wrap(f"{name} = {table!r}", 90, break_on_hyphens=False))


def _nested(numbers: Any, shape: tuple[int, ...]) -> str:
    if not shape:
        return str(next(numbers))
    return f"[{', '.join(_nested(numbers, shape[1:]) for _ in range(shape[0]))}]"


def function_name(op: Op) -> str:
    """Return the name of the NumPy or SciPy function that an op is."""
    function = op.head if isinstance(op, Map) else None
    name = getattr(function, "__name__", "")
    if function is not None and op.evaluate is function:
        if getattr(np, name, None) is function:
            return f"np.{name}"
        # Of a module of SciPy, or of the user's, which he then has to import himself.
        module = getattr(function, "__module__", None) or "scipy.special"
        return f"special.{name}" if module.startswith("scipy.special") else f"{module}.{name}"
    raise UnsupportedError(
        f"the op {op.name} is no NumPy function: give source= in its definition, which says "
        "how to write it in NumPy code"
    )


class _Bare(ast.NodeTransformer):
    """Strip what only the package's own modules need: annotations, their import aliases."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name("special", node.ctx), node) if node.id == "sc" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], node.value, lineno=node.lineno), node)


@lru_cache(maxsize=256)  # to find, parse and write it takes longer than the rest of a source
def helper_text(function: FunctionType) -> str:
    """Return the code of a helper function, without annotations."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        raise UnsupportedError(f"the code of {function.__name__} is not at hand: {error}") from None
    return ast.unparse(ast.fix_missing_locations(_Bare().visit(ast.parse(text))))
