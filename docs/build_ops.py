"""Write docs/ops.md, the table of all ops, from the registry.

Run ``python docs/build_ops.py`` after a change to a record; tests/test_docs_ops.py compares.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

import symgrad._core.control
import symgrad._core.ops
import symgrad.special
from symgrad._core.base.sizes import Dim
from symgrad._core.graph import Input, Node, as_sympy, topological
from symgrad._core.op import ArrayOp, Composite, Evidence, Map, Op, Words, registry
from symgrad._core.ops.np_common import DECLARED
from symgrad._core.program import schedule
from symgrad._core.trace import Traced, as_node, partials
from symgrad._core.transforms.reverse import pull_back
from symgrad.errors import UnsupportedError

PAGE = Path(__file__).with_name("ops.md")
#: Without those that a user has defined.
OPS = {name: op for name, op in registry.ops.items() if registry.is_own(op)}
PI = sp.pi

INTRO = """\
# Ops

<!-- Made by docs/build_ops.py from the registry; do not edit. -->

Every NumPy and SciPy function that symgrad traces. `np` is `numpy`, `special` is `scipy.special`. Operators (`+`, `@`, `<`, `&`, `x[i]`) and methods (`x.sum()`, `x.T`) are the functions that they are in NumPy. An op without a function stands behind composites and rules. Click a group to open its table; the browser's search within the page opens those where it finds something.

- **value**: the mathematics, as SymPy prints it.
- **derivative**: the rule in the op's record, by each real operand in turn, with `y` for the result of one operand and `z` for that of two. Reverse and forward mode both use it; the tests prove it against `sympy.diff` of the value.
- **ulps**: the largest error of a compiled float64 result on ordinary arguments, in units in the last place; a test compares with SymPy. Close to a zero of the function it can be more.
- **notes**: the operands for which the rule is proved, if not all real numbers; the [convention](conventions.md) where the derivative does not exist.
"""  # noqa: E501

ARRAYS = """\
All other NumPy functions reduce to these. The element formula is for arrays of sizes `n`, `m`, `p`; the adjoint names the ops that the reverse pass makes of it. `Slice` and `Assemble`, `Gather` and `Scatter`, `Diagonal` and `DiagEmbed` are each other's adjoints."""  # noqa: E501

COMPOSITES = """\
They make no node: a program shows the ops that they are made of."""

#: Of how many steps a formula of the table may be.
MOST = 200

REFUSED = """\
These raise `UnsupportedError` with the reason. So does every function that is nowhere on this page."""  # noqa: E501


# ---------------------------------------------------------------- names


def named(function: Any) -> str:
    """Return a function as it is written after ``import numpy as np``."""
    name = getattr(function, "__name__", None) or next(
        name for name in special.__all__ if getattr(special, name) is function
    )  # SciPy 1.16's functions of several kinds have no name
    if isinstance(function, np.ufunc):
        home = "np" if getattr(np, name, None) is function else "special"
        return f"{home}.{name}"
    module = function.__module__
    for prefix, short in (("numpy.linalg", "np.linalg"), ("numpy.fft", "np.fft"),
                          ("numpy.lib.stride_tricks", "np.lib.stride_tricks"), ("numpy", "np"),
                          ("scipy.special", "special"), ("scipy.linalg", "scipy.linalg"),
                          ("scipy.sparse.linalg", "scipy.linalg")):  # fmt: skip
        if module == prefix or module.startswith(f"{prefix}."):
            return f"{short}.{name}"
    return f"{module}.{name}"


def answered(record: Op | Composite) -> tuple[Any, ...]:
    """Return the functions of NumPy and SciPy that a record answers to."""
    return record.functions if isinstance(record, Map | Composite) else ()


def names(record: Op | Composite) -> list[str]:
    """Return the functions of a record, each once; all names, whatever NumPy is installed."""
    found = list(dict.fromkeys(map(named, answered(record))))
    group = DECLARED.get(found[0] if found else f"np.{record.name}", ())
    return list(dict.fromkeys((*group, *found)))


def functions(record: Op | Composite) -> str:
    """Return the names of a record's functions as code."""
    return ", ".join(map(code, names(record)))


def code(text: Any) -> str:
    """Return text as code in a table cell."""
    return f"`{str(text).replace('|', chr(92) + '|')}`"


def heading(module: ModuleType) -> str:
    """Return a module's title."""
    first = (module.__doc__ or module.__name__).strip().split("\n")[0].rstrip(".")
    return first.replace("``", "`")


def owners() -> dict[str, ModuleType]:
    """Return for each op and composite the module that defines it."""
    found: dict[str, ModuleType] = {}
    for info in (*pkgutil.iter_modules(symgrad._core.ops.__path__, "symgrad._core.ops."),
                 *pkgutil.iter_modules(symgrad.special.__path__, "symgrad.special.")):  # fmt: skip
        module = importlib.import_module(info.name)
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }  # fmt: skip
        for name, value in vars(module).items():
            if isinstance(value, Op) and name not in imported:
                found[value.name] = module
    for record in registry.composites.values():
        found[record.name] = importlib.import_module(record.function.__module__)
    return found


#: The sections that come first, in this order; the rest by the names of their modules.
FIRST = (
    "arithmetic", "transcendental", "signs", "rounding", "logic", "elementary", "gamma",
    "error_functions", "normal", "bessel",
)  # fmt: skip


def position(module: ModuleType) -> tuple[int, str]:
    """Return where a module's section stands on the page."""
    name = module.__name__.rpartition(".")[2]
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


# ---------------------------------------------------------------- elementwise ops

CONSTANTS = {
    float(c): c
    for c in (
        PI, PI / 2, PI / 180, 180 / PI, PI**2 / 3, PI**2 / 4, sp.sqrt(PI) / 2, 2 / sp.sqrt(PI),
        1 / sp.sqrt(2 * PI), sp.sqrt(2 / PI), sp.log(2), sp.log(10), 1 / sp.log(2), 1 / sp.log(10),
    )
}  # fmt: skip


def exact(number: sp.Float) -> Any:
    """Return the number that a float in a rule stands for, or the float itself."""
    value = float(number)
    if abs(value) in CONSTANTS:
        return sp.sign(sp.Rational(value)) * CONSTANTS[abs(value)]
    for d in range(1, 9):
        if float(sp.Rational(round(value * d), d)) == value:
            return sp.Rational(round(value * d), d)
    return number


def formula(value: Any) -> str:
    """Return a number or a traced value as mathematics."""
    if value is None:
        return "0"
    if len(list(topological([as_node(value)]))) > MOST:
        return "see the rule"
    form = as_sympy(as_node(value))
    form = form.replace(lambda e: isinstance(e, sp.Float), exact)
    # A condition is an operand like any other to the rules; to people it is a condition.
    form = form.replace(sp.Function("invert"), sp.Not)
    return sp.sstr(form).replace("Ne(c, 0)", "c")


def operands(op: Map) -> tuple[Input, list[Input]]:
    """Return stand-ins for the result and the operands, named as in the rule."""
    names = ["y", "x"] if op.arity == 1 else ["z", "x", "y"] if op.arity == 2 else []
    rule = op.linear.transpose if op.linear else op.partials
    if rule is not None:
        names = list(inspect.signature(rule).parameters)
    elif op.arity > 2 and op.sympy is not None:
        names = ["y", *inspect.signature(op.sympy).parameters]
    names = names[: op.arity + 1]
    types = ["bool" if d.contains(sp.true) == True else  # noqa: E712
             "int64" if d.is_subset(sp.Integers) else "float64" for d in op.domain]  # fmt: skip
    inputs = [Input(n, (), t) for n, t in zip(names[1:], types, strict=True)]
    return Input(names[0], (), "float64"), inputs


def where(op: Map, inputs: list[Input]) -> Iterator[str]:
    """Yield the domain in words, where it is not the whole line."""
    for domain, node in zip(op.domain, inputs, strict=True):
        if node.dtype == bool or domain == sp.Reals:
            continue
        name = node.name
        if domain in (sp.Integers, sp.Naturals):
            yield f"{name} whole" + (" and positive" if domain is sp.Naturals else "")
        elif domain.is_subset(sp.Reals) and 0 not in domain and domain.inf is -sp.oo:
            yield f"{name} ≠ 0"
        else:
            low, high = domain.inf, domain.sup
            left = f"{low} < " if low is not -sp.oo else ""
            right = f" < {high}" if high is not sp.oo else ""
            yield f"{name} > {low}" if not right else f"{left}{name}{right}"


def map_row(op: Map) -> str:
    """Return the table row of an elementwise op."""
    result, inputs = operands(op)
    params = {"dtype": "float32"} if op.name == "Cast" else {}
    value = derivative = ""
    if op.sympy is not None:
        value = code(formula(op(*map(Traced, inputs), **params)))
    if op.reason is None:
        slopes = partials(op, Traced(result), list(map(Traced, inputs)), params)
        shown = [formula(s) for s, x in zip(slopes, inputs, strict=True) if x.dtype.kind == "f"]
        derivative = ", ".join(map(code, shown))
    notes = [Words.of(op).doc.rstrip(".")] if Words.of(op).doc else []
    domain = ", ".join(where(op, inputs)) if op.reason is None else ""
    notes += [n for n in (domain, Words.of(op).convention, op.reason) if n]
    ulp = f"{Evidence.of(op).ulp:g}"
    # Outside of code, what stands between two powers or products would be bold or slanted.
    told = re.sub(r"(`[^`]*`)|\*", lambda m: m[1] or r"\*", "; ".join(notes))
    cells = (op.name, functions(op), value, derivative or "none", ulp, told)
    return f"| {' | '.join(cells)} |"


# ---------------------------------------------------------------- array ops

N, M, K = Dim("n", 7), Dim("m", 5), Dim("p", 3)


def array(name: str, *shape: Any, dtype: str = "float64") -> Traced:
    return Traced(Input(name, shape, dtype))


X, Y, V, W = array("x", N, M), array("y", M, K), array("x", N), array("y", M)
A, SQUARE, WHOLE = array("a", N), array("x", N, N), array("k", M, dtype="int64")

#: An example of each array op: how it is written, and the result.
CALLS: dict[str, tuple[str, Callable[[], Any]]] = {
    "Sum": ("np.sum(x, axis=1)", lambda: np.sum(X, axis=1)),
    "Prod": ("np.prod(x, axis=1)", lambda: np.prod(X, axis=1)),
    "Max": ("np.max(x, axis=1)", lambda: np.max(X, axis=1)),
    "Min": ("np.min(x, axis=1)", lambda: np.min(X, axis=1)),
    "Any": ("np.any(x > 0, axis=1)", lambda: OPS["Any"](array("b", N, M, dtype="bool"), axes=(1,))),
    "All": ("np.all(x > 0, axis=1)", lambda: OPS["All"](array("b", N, M, dtype="bool"), axes=(1,))),
    "Argmax": ("np.argmax(x, axis=1)", lambda: OPS["Argmax"](X, axes=(1,))),
    "Argmin": ("np.argmin(x, axis=1)", lambda: OPS["Argmin"](X, axes=(1,))),
    "Cumsum": ("np.cumsum(x)", lambda: np.cumsum(V)),
    "Cumprod": ("np.cumprod(x)", lambda: np.cumprod(V)),
    "Recurrence": ("", lambda: OPS["Recurrence"](A, V, axis=0, reverse=False)),
    "Contract": ("x @ y", lambda: X @ Y),
    "Broadcast": ("np.broadcast_to(y, (n, m))", lambda: np.broadcast_to(W, X.shape)),
    "Reshape": ("x.reshape(n*m)", lambda: X.reshape(-1)),
    "Transpose": ("x.T", lambda: X.T),
    "Slice": ("x[1:-1]", lambda: V[1:-1]),
    "Assemble": ("np.concatenate([x, y])", lambda: np.concatenate([V, W])),
    "Diagonal": ("np.diagonal(x)", lambda: np.diagonal(SQUARE)),
    "DiagEmbed": ("np.diag(x)", lambda: OPS["DiagEmbed"](V, offset=0, shape=(N, N))),
    "Gather": ("x[k]", lambda: OPS["Gather"](V, WHOLE, axes=(0,), at=0)),
    "Scatter": (
        "np.add.at(out, k, y)",
        lambda: OPS["Scatter"](W, WHOLE, axes=(0,), at=0, shape=(N,)),
    ),
}


def element(node: Node) -> str:
    """Return the formula of one element of an array op's result."""
    index = sp.symbols("i j", integer=True, nonnegative=True)[: node.ndim]
    given = [sp.IndexedBase(x.name, shape=x.shape) for x in node.operands]  # type: ignore[attr-defined]
    assert isinstance(node.op, ArrayOp)
    form = node.op.element(index, *given, **node.params)
    bound = sorted(form.atoms(sp.Dummy), key=lambda s: (s.name, s.dummy_index))
    letters = iter("ls")
    form = form.xreplace({d: sp.Symbol(next(letters), integer=True) for d in bound})
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return f"out{place} = {sp.sstr(form)}"


def adjoint(node: Node) -> str:
    """Return the ops that pull a cotangent back through an array op."""
    if node.op.reason is not None:
        return "none"
    ct = Input("ct", node.shape, node.dtype)
    found = pull_back([node], [ct], list(node.operands))
    outputs = [g for g in found if g is not None]
    inputs = [n for n in topological(outputs) if isinstance(n, Input)]
    program = schedule(inputs, outputs)
    names = dict.fromkeys(n.op.name for n in program.steps if n is not node)
    return ", ".join(names)


def array_row(op: Op) -> str:
    """Return the table row of an array op."""
    written, value, back = "", "", ""
    if op.name in CALLS:
        written, call = CALLS[op.name]
        node = call().node
        assert node.op is op, f"the example of {op.name} gives {node.op.name}"
        written, value, back = code(written) if written else "", code(element(node)), adjoint(node)
    notes = "; ".join(n for n in (Words.of(op).doc, Words.of(op).convention, op.reason) if n)
    return f"| {op.name} | {op.kind} | {written} | {value} | {back} | {notes} |"


# ---------------------------------------------------------------- refusals


def refusals() -> dict[str, list[str]]:
    """Return the functions that are refused by name, under the reason."""
    found: dict[str, list[str]] = {}
    for function, handler in registry.handlers.items():
        if getattr(handler, "__name__", "") != "refused":
            continue
        try:
            handler()
        except UnsupportedError as error:
            match = re.search(r"cannot be traced: (.*?)(?:\. Write it with|$)", str(error))
            reason = match[1] if match else str(error)
            found.setdefault(reason, []).append(f"`{named(function)}`")
    return found


# ---------------------------------------------------------------- the page


def folded(title: str, lines: Iterable[str], opened: bool = False) -> Iterator[str]:
    """Yield lines under a title that opens them; searching the page does, too."""
    title = re.sub(r"`(.*?)`", r"<code>\1</code>", html.escape(title, quote=False))
    yield from (f"<details{' open' if opened else ''}>", f"<summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>", "")


def page() -> str:
    """Return the text of docs/ops.md."""
    home = owners()
    modules = sorted({*home.values()}, key=position)
    lines = [INTRO, "", "## Elementwise ops", ""]
    for module in modules:
        ops = [op for op in OPS.values() if op.kind == "map" and home.get(op.name) is module]
        if not ops:
            continue
        table = ["| op | functions | value | derivative | ulps | notes |"]
        table += ["| --- | --- | --- | --- | ---: | --- |", *map(map_row, ops)]
        lines += folded(heading(module), table, opened=module is modules[0])

    rows = [array_row(op) for op in OPS.values() if op.kind != "map"]
    lines += ["## Array ops", "", ARRAYS, ""]
    table = ["| op | kind | as in | one element | adjoint | what it does |"]
    table += ["| --- | --- | --- | --- | --- | --- |", *rows]
    lines += folded("Reductions, products, views, gathers, routines, loops and branches", table)
    lines += ["## Functions written in others", "", COMPOSITES, ""]
    for module in modules:
        records = [c for c in registry.composites.values() if home[c.name] is module]
        if not records:
            continue
        table = ["| functions | what it does | notes |", "| --- | --- | --- |"]
        for record in records:
            what = record.doc.rstrip(".").replace("``", "`")
            note = record.convention or ("" if record.differentiable else "no derivative")
            table.append(f"| {functions(record)} | {what} | {note} |")
        lines += folded(heading(module), table)

    rows = [f"| {', '.join(names)} | {why} |" for why, names in refusals().items()]
    lines += ["## Refused functions", "", REFUSED, ""]
    lines += folded("Functions and reasons", ["| functions | reason |", "| --- | --- |", *rows])
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
