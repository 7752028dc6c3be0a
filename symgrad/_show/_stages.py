"""The stages that a function goes through on its way to machine code, as text.

Jacobians and Hessians are written as derivatives of what they are of. They are computed column by
column, for as many columns as the example has; a formula of that would be a case distinction
between columns.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, product
from typing import Any, NamedTuple, TextIO

from .._core.base.argument_checks import as_flag, refuse_kernel, shown
from .._core.base.state import within
from .._core.graph import Input, Node, topological
from .._core.lowering import Nest, Plan, plan
from .._core.pipeline import SIMPLIFYING, Pass, Roots, legal, lower, lowering, through
from .._core.program import Program, guard_texts, schedule, shape_text
from .._core.rewrite import RULES, rewrite
from .._core.runtime import structures, vector_math_default
from .._core.trace import Graph, flatten
from .._dispatch import Function
from .._dispatch._progress import Clock
from .._dispatch._specialization import Specialization
from .._symbolic import formula_of
from ..errors import ArgumentError, UnsupportedError

#: Lines of code shown of one function, and functions shown.
LINES, FUNCTIONS = 40, 2

WIDTH = 88


def task_lines(plan: Plan, program: Program) -> Iterator[str]:
    """Yield the lines that describe the tasks of a plan, in the names of ``program``."""
    names = program.names
    number = 0
    for task in plan.tasks:
        if not isinstance(task, Nest):
            yield f"task {number}: {task.node.op.name.lower()} {names[task.node]}"
            number += 1
            continue
        if not (task.nodes or task.reductions or task.stores):
            continue
        over = f"loops over {shape_text(task.domain)}" if task.domain else "straight-line code"
        yield f"task {number}: {over}"
        number += 1
        yield from _row("computes", [names[n] for n in task.nodes])
        folds = [f"{names[n]} = {n.op.name.lower()}({_operands(n, names)})"
                 for n in task.reductions]  # fmt: skip
        yield from _row("reduces", folds)
        yield from _row("stores", _stores(task, plan, names))


def _stores(task: Nest, plan: Plan, names: Mapping[Node, str]) -> list[str]:
    found = []
    for node in task.nodes:
        if node in plan.results:
            found.append(f"{names[node]} as result {plan.results[node]}")
        elif node in plan.stored:
            found.append(names[node])
    found += [f"{names[n]} as result {plan.results[n]}"
              for n in task.reductions if n in plan.results]  # fmt: skip
    for store in task.stores:
        if store.output is not None:
            found.append(f"{names[store.node]} as result {store.output}")
        elif store.part is not None:
            found.append(f"{names[store.node]} into {names[store.target]}")
        else:
            found.append(names[store.node])
    return found


def _operands(node: Node, names: Mapping[Node, str]) -> str:
    return ", ".join(names[x] for x in node.operands)


def _row(word: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        head = f"    {word:8} "
        yield from textwrap.wrap(
            ", ".join(items), WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
        )


#: Transformations whose function takes the arguments that their result takes.
SAME_ARGUMENTS = frozenset(("compile", "grad", "value_and_grad", "jacobian", "hessian"))

#: A formula of more characters is not shown.
READABLE = 2000

#: A listing of more lines is cut in its middle.
LIMIT = 60


@dataclass(frozen=True)
class Stage:
    """One stage: what it is called, and what it has made, line by line."""

    title: str
    lines: tuple[str, ...]


def show(
    f: Callable[..., Any], *args: Any, file: TextIO | None = None, timings: bool = False,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Print every stage of the pipeline for a function, or how long each takes.

    Parameters
    ----------
    f:
        A NumPy function, or a transformed one (``sg.grad(f)``), which is then shown before
        and after the transformation.
    *args, **kwargs : array_like
        Example arguments.
    file:
        Where to print; standard output by default.
    timings:
        Whether to compile the function once more, without kernels from disk, and to print the
        seconds that each stage takes, and the line that most operations come of.

    Raises
    ------
    ArgumentError
        If ``f`` is no function.
    TraceError, UnsupportedError
        If it cannot be traced.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> import symgrad as sg
    >>> page = io.StringIO()
    >>> sg.show(sg.grad(np.sin), 0.5, file=page)
    >>> print(page.getvalue())
    grad of sin(x: float64)
    ...
    2. After grad
        program(x: float64)
            v0 = cos(x)  float64...
    """
    out = sys.stdout if file is None else file
    if not (hasattr(out, "write") and hasattr(out, "writelines")):
        raise ArgumentError(
            f"show: file is an open file, such as sys.stderr or open(name, 'w'), not {shown(file)}"
        )
    timed = as_flag(timings, "timings")
    found = list((times if timed else stages)(f, *args, **kwargs))
    out.write(f"{found[0].title}\n")
    out.writelines(f"{line}\n" for line in found[0].lines)
    for number, stage in enumerate(found[1:], 1):
        out.write(f"\n{number}. {stage.title}\n")
        out.writelines(f"    {line}".rstrip() + "\n" for line in stage.lines)


def times(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Stage]:
    """Yield the seconds that each stage of a first call takes, as :func:`show` prints them."""
    _require_function(f)
    known = f if isinstance(f, Function) else plain(f)
    fresh = known.forgetful()
    clock = Clock("the rest", lambda: topological(fresh.traced_outputs()))
    with within(staged=clock.begin):
        fresh(*args, **kwargs)
    line, count, total = clock.busiest()
    clock.begin("")
    width = max(map(len, clock.seconds))
    rows = [f"{name:{width}} {seconds:10.4f}" for name, seconds in clock.seconds.items()]
    yield Stage(f"{known!r}: seconds of a first call", ())
    yield Stage("Stages", (*rows, f"{'in all':{width}} {sum(clock.seconds.values()):10.4f}"))
    if line is not None:
        text = f"{count:,} of {total:,} operations come of {line}"
        yield Stage("Operations", (text,))


def _require_function(f: Any) -> None:
    refuse_kernel(f, "show")
    if not callable(f):
        raise ArgumentError(
            f"show takes a function and its arguments, not {type(f).__name__}: write "
            "sg.show(f, x), not sg.show(f(x))"
        )


def stages(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Stage]:
    """Yield the stages that :func:`show` prints; the first is the heading."""
    _require_function(f)
    chain = list(reversed(list(_unwrapped(f))))
    traced = [
        (word, function._specialization(args, kwargs, short=True)) for word, function in chain
    ]
    if isinstance(f, Function) and f.rounding:  # its steps have an order of their own
        traced[-1] = (traced[-1][0], f._specialization(args, kwargs, short=True))
    last = traced[-1][1]
    yield Stage(_heading(f, last.program), tuple(_sizes(last.program)))
    for position, (word, made) in enumerate(traced):
        graph = made.graph
        title = f"After {word}" if position or word != "tracing" else "Traced"
        yield Stage(title, _listing(schedule(graph.inputs, graph.outputs)))
    with within(promised=last.promised):
        compiled = tuple(_compiled(last))
    yield from compiled
    yield Stage("In mathematics", tuple(_formulas(f, chain, args, kwargs)))


def _formulas(
    f: Callable[..., Any], chain: Sequence[tuple[str, Function]], args: Any, kwargs: Any
) -> Iterator[str]:
    """Say what the function computes, simplified, in index and in matrix notation."""
    _, steps = derived(f)
    # Kernels know the sizes of short axes; formulas are read with symbols.
    general = chain[len(chain) - 1 - len(steps)][1]._specialization(args, kwargs)
    try:
        if steps:
            found = paths((_inputs(general, argnums, args), times) for argnums, times, _ in steps)
            formula = formula_of(general.graph, found)
        else:
            formula = formula_of(general.graph)
    except UnsupportedError as error:
        yield str(error)
        return
    size, unit = sum(e.operations for e in formula.equations), "operations"
    if size <= READABLE:  # each is a character at least
        text = formula.text()
        size, unit = len(text), "characters"
        if size <= READABLE:
            yield from text.splitlines()
            return
    yield (
        f"a formula of {size} {unit}, too long to be read; sg.formula(f, *args, wrt=0, order=1) "
        "differentiates the function's own formula instead"
    )


def _inputs(made: Specialization, argnums: Sequence[int], args: Sequence[Any]) -> list[Input]:
    """Return the inputs of a graph that belong to some arguments."""
    counts = [len(flatten(arg)[0]) for arg in args]
    starts = [sum(counts[:k]) for k in range(len(args))]
    leaves = {i for k in argnums for i in range(starts[k], starts[k] + counts[k % len(args)])}
    return [x for x, leaf in zip(made.graph.inputs, made.takes, strict=True) if leaf in leaves]


def _unwrapped(f: Callable[..., Any]) -> Iterator[tuple[str, Function]]:
    """Yield ``f`` and what it transforms, outermost first, as far as arguments agree."""
    while isinstance(f, Function):
        name: str = f._recipe[0].__name__
        inner = getattr(f, "__wrapped__", None)
        if name != "compile":
            yield name.strip("_"), f
        if inner is None or name not in SAME_ARGUMENTS:
            return
        f = inner
    yield "tracing", plain(f)


def _heading(f: Callable[..., Any], program: Program) -> str:
    words = []
    while isinstance(f, Function):
        words.append(f._recipe[0].__name__.strip("_"))
        f = getattr(f, "__wrapped__", None) or f._body
    name = getattr(f, "__name__", type(f).__name__)
    chain = "".join(f"{w} of " for w in words if w != "compile")
    arguments = str(program).split("\n", 1)[0].removeprefix("program")
    return f"{chain}{'the function' if name == '<lambda>' else name}{arguments}"


def _sizes(program: Program) -> Iterator[str]:
    """Say where sizes come from, and what the trace took for granted."""
    for symbol, (k, axis) in program.sizes.items():
        name = program.inputs[k].name
        source = name if axis is None else f"{name}.shape[{axis}]"
        yield f"    {symbol} = {source}, {symbol.hint} in this call"
    yield from (f"    holds while {text}" for text in guard_texts(program.guards))


def _listing(program: Program) -> tuple[str, ...]:
    return cut(str(program).split("\n"))


def cut(lines: list[str]) -> tuple[str, ...]:
    """Return ``lines``, their middle left out if they are many."""
    if len(lines) <= LIMIT:
        return tuple(lines)
    head, tail = LIMIT * 2 // 3, LIMIT // 3
    return (*lines[:head], f"    ... {len(lines) - head - tail} more lines ...", *lines[-tail:])


# ---------------------------------------------------------------- passes


def _compiled(last: Specialization) -> Iterator[Stage]:
    """Yield the passes from the traced graph to machine code, those that change something."""
    graph, program = last.graph, last.program
    yield from _changes(SIMPLIFYING, graph)
    yield Stage("Scheduled", tuple(_levels(program)))
    yield from _changes(lowering(program, vector_math_default()), program)
    ready = legal(program)
    tasks = task_lines(plan(ready), ready)
    yield Stage("Planned: what shares a loop, what is stored", cut(list(tasks)))
    yield from _lowered(program)


def _changes(passes: Sequence[Pass], given: Graph | Program) -> Iterator[Stage]:
    """Yield what each pass makes of a graph, if that is another one; rewriting in any case."""
    before = Roots(given.outputs, given.conditions)
    for step, after in through(passes, before):
        listing = _listing(schedule(given.inputs, after.outputs, {}, after.conditions))
        if step.name == "rewrite":
            counts: Counter[str] = Counter()
            rewrite(before.nodes, RULES, counts)
            rules = [f"{count:4} x  {name}" for name, count in counts.most_common()]
            sizes = f"{_count(len(_steps(before.nodes)))} to {len(_steps(after.nodes))}"
            yield Stage(f"{step.says}: {sizes}", (*rules, *listing))
        elif after.nodes != before.nodes:
            yield Stage(step.says, listing)
        before = after


def _steps(outputs: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(n for n in topological(outputs) if n.op.kind != "leaf")


def _count(steps: int) -> str:
    return f"{steps} step{'' if steps == 1 else 's'}"


def _levels(program: Program) -> Iterator[str]:
    """Say which steps are ready together."""
    rounds: dict[int, list[str]] = {}
    for node, level in zip(program.steps, program.levels, strict=True):
        rounds.setdefault(level, []).append(program.names[node])
    rows = [f"level {level}: {', '.join(names)}" for level, names in sorted(rounds.items())]
    yield from cut(rows)


def _lowered(program: Program) -> Iterator[Stage]:
    """Yield the instructions of the first functions, and how much of LLVM's text they become."""
    listings: list[list[str]] = []
    lowered = lower(program, listings=listings)
    lines: list[str] = []
    tasks = [f for f in listings if not f[0].startswith(("run(", "sizes("))]
    # The loop of a task that threads may share is in a part of its own.
    tasks.sort(key=lambda f: not f[0].partition("(")[0].endswith(".part"))
    for function in tasks[:FUNCTIONS]:
        lines += function[:LINES]
        if len(function) > LINES:
            lines.append(f"    ... {len(function) - LINES} more lines")
    for function in listings:
        if function not in tasks[:FUNCTIONS]:
            lines.append(f"{function[0].partition('(')[0]}: {len(function) - 1} lines")
    yield Stage("Written: instructions of the first functions", tuple(lines))
    where = "linked into the caller" if lowered.linked else "compiled by itself"
    count = sum(text.count("\n") + 1 for text in (lowered.text, *lowered.straight))
    fault = structures.FAULT
    lines = [f"called through Numba's dispatcher: {fault} is not given here"] if fault else []
    yield Stage(f"Lowered: {count} lines of LLVM assembly, {where}", tuple(lines))


#: How often they differentiate.
TIMES = {"jacobian": 1, "hessian": 2}


class Step(NamedTuple):
    """One transformation: positions of arguments, times, and whether they came as several."""

    argnums: Sequence[int]
    times: int
    several: bool


def derived(f: Callable[..., Any]) -> tuple[Callable[..., Any], list[Step]]:
    """Return what a function is a derivative of, and the steps from it to the function."""
    steps: list[Step] = []
    while isinstance(f, Function):
        make, (inner, *_), options = f._recipe
        if make.__name__ in TIMES and not options.get("holomorphic"):
            argnums, times = options["argnums"], TIMES[make.__name__]
            one = not isinstance(argnums, (tuple, list))
            if any(isinstance(k, str) for k in ((argnums,) if one else argnums)):
                break  # an argument that is passed by name
            steps.append(Step((argnums,) if one else tuple(argnums), times, not one))
        elif make.__name__ != "compile":
            break
        f = inner
    return f, steps[::-1]


def paths(steps: Iterable[tuple[Iterable[Input], int]]) -> list[list[Input]]:
    """Return the inputs to differentiate by in turn, for each of the derivatives."""
    parts = [list(combinations_with_replacement(inputs, times)) for inputs, times in steps]
    return [list(chain(*path)) for path in product(*parts)]


# ---------------------------------------------------------------- as it was written


def plain(f: Callable[..., Any]) -> Function:
    """Return a function to trace, with nothing around it."""

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return Function(body, f, (plain, (f,), {}))
