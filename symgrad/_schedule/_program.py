"""The Program: a graph as steps in order, each a single assignment."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from .._forks import cached_property
from .._graph import (
    Body,
    Constant,
    Input,
    Iota,
    Literal,
    Node,
    SizeOf,
    as_sympy,
    bodies,
    check,
    is_promised,
    topological,
)
from .._op import Op
from .._ops.movement import by_rows
from .._shapes import evaluate_dim, show
from ..errors import (
    ArgumentError,
    BranchError,
    CheckError,
    DataError,
    ShapeError,
    TraceError,
    UnsupportedError,
)
from ._json import save, to_json
from ._kahn import kahn
from ._known import unknown
from ._latex import program_latex
from ._read import from_json
from ._source import source
from ._text import guard_texts, leaf_text, program_text

#: Programs of more steps have no formula that SymPy could work with.
LARGEST_FORMULA = 2000

Source = tuple[int, int | None]  # (input, axis); axis None: the input is the size itself


def _in_order(op: Op, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Compute a step so that its bits do not depend on how arrays lie in memory."""
    if op.kind == "view":
        return op.evaluate(*operands, **params)
    if op.kind != "contract":  # matrices go to BLAS as they lie
        operands = list(map(by_rows, operands))
    result = op.reference(*operands, **params)
    return result if op.results is not None else by_rows(result)


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in Kahn order; at once the formula, the program and the kernel's blueprint.

    Attributes
    ----------
    inputs:
        Input nodes, in the order of the function's flattened arguments.
    outputs:
        Result nodes.
    steps:
        All computed nodes in the order in which they run.
    levels:
        ``levels[k]`` is the round of Kahn's algorithm in which ``steps[k]`` is ready;
        steps of one level do not depend on each other.
    guards:
        Relations between sizes under which the program is the function's.
    conditions:
        Truth values under which it is: those by which Python's ``if`` was decided.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Node, ...]
    levels: tuple[int, ...]
    guards: Mapping[sp.Basic, bool] = field(default_factory=dict)
    conditions: tuple[Node, ...] = ()

    # ---------------------------------------------------------------- what it contains

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """Literals, constants, sizes and ranges that the steps and outputs use."""
        used = dict.fromkeys([x for n in self.steps for x in n.operands])
        used |= dict.fromkeys((*self.outputs, *self.conditions))
        return tuple(n for n in used if n.op.kind == "leaf" and not isinstance(n, Input))

    @cached_property
    def numbers(self) -> dict[Node, int]:
        """The values counted through: inputs, leaves, steps."""
        nodes = dict.fromkeys((*self.inputs, *self.leaves, *self.steps))
        return {node: k for k, node in enumerate(nodes)}

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The arrays that the function closes over."""
        return tuple(n for n in self.leaves if isinstance(n, Constant))

    @cached_property
    def sizes(self) -> dict[sp.Symbol, Source]:
        """For each size symbol, the input and axis that it is read from."""
        found: dict[sp.Symbol, Source] = {}
        for k, node in enumerate(self.inputs):
            if node.dim is not None:
                found.setdefault(node.dim, (k, None))
            for axis, dim in enumerate(node.shape):
                if isinstance(dim, sp.Symbol):
                    found.setdefault(dim, (k, axis))
        return found

    def nested_steps(self) -> Iterator[Node]:
        """Yield the steps, and those of the bodies of loops and branches."""
        for node in self.steps:
            yield node
            for body in bodies(node):
                yield from body_program(body).nested_steps()

    def bind_sizes(self, values: Sequence[Any]) -> dict[sp.Symbol, int]:
        """Return the number of each size symbol for the given argument leaves.

        Raises
        ------
        ShapeError
            If the arguments do not have the ranks and sizes that the program is for.
        """
        sizes = self._sizes(values)
        if self.guards and not self._guard(*sizes.values()):
            found = ", ".join(f"{s} = {n}" for s, n in sizes.items())
            raise ShapeError(
                f"the program is for sizes with {', '.join(guard_texts(self.guards))}, not "
                f"{found}: make one with f.program(*args) for arguments of these sizes"
            )
        return sizes

    def _sizes(self, values: Sequence[Any]) -> dict[sp.Symbol, int]:
        for node, value in zip(self.inputs, values, strict=True):
            if np.ndim(value) < node.ndim:
                raise ShapeError(
                    f"{node.name} has shape {np.shape(value)}, expected {show(node.shape)}"
                )
        sizes = {
            symbol: int(_argument(self.inputs[k], values[k]))
            if axis is None
            else int(np.shape(values[k])[axis])
            for symbol, (k, axis) in self.sizes.items()
        }
        for node, value in zip(self.inputs, values, strict=True):
            expected = tuple(evaluate_dim(d, sizes) for d in node.shape)
            if np.shape(value) != expected:
                raise ShapeError(f"{node.name} has shape {np.shape(value)}, expected {expected}")
        return sizes

    def admits(self, values: Sequence[Any]) -> bool:
        """Tell whether all guards hold for the sizes of these argument leaves."""
        return bool(self._guard(*self._sizes(values).values()))

    @cached_property
    def _guard(self) -> Callable[..., Any]:
        """All guards as one Python function of the sizes, in the order of ``sizes``."""
        relations = [g if truth else sp.Not(g) for g, truth in self.guards.items()]
        symbols = {s: sp.Dummy() for s in self.sizes}
        holds = sp.And(*relations).xreplace(symbols)
        function: Callable[..., Any] = sp.lambdify(list(symbols.values()), holds, modules="math")
        return function

    # ---------------------------------------------------------------- running under NumPy

    def run(self, *values: Any) -> tuple[Any, ...]:
        """Run the steps one by one under NumPy: the reference that kernels are tested by.

        Parameters
        ----------
        *values:
            One number or array for each of ``inputs``.
        """
        env = self._computed(values, self.bind_sizes(values))
        broken = next((x for x in self.conditions if not env[x]), None)
        if broken is not None:
            raise BranchError(branch_message(broken))
        foreign = {id(env[x]) for x in (*self.inputs, *self.leaves)}
        return tuple([_owned(env[x], foreign) for x in self.outputs])

    def holds(self, *values: Any) -> bool:
        """Tell whether the conditions are true for these values of the inputs."""
        if not self.conditions:
            return True
        program = self._test
        env = program._computed(values, self.bind_sizes(values))
        return all(env[x] for x in program.outputs)

    @cached_property
    def _test(self) -> Program:
        return schedule(self.inputs, self.conditions)

    def _computed(self, values: Sequence[Any], sizes: Mapping[sp.Symbol, int]) -> dict[Node, Any]:
        """Return the value of every node."""
        env: dict[Node, Any] = {
            n: _argument(n, v) for n, v in zip(self.inputs, values, strict=True)
        }
        if is_promised():
            env = {n: by_rows(v) for n, v in env.items()}
        for leaf in self.leaves:
            env[leaf] = _leaf_value(leaf, sizes)
        with np.errstate(all="ignore"):
            for node in self.steps:
                params = {k: concrete(v, sizes) for k, v in node.items}
                operands = [env[x] for x in node.operands]
                if is_promised():
                    result = _in_order(node.op, operands, params)
                else:
                    result = node.op.evaluate(*operands, **params)
                several = node.op.results is not None
                env[node] = result if several else np.asarray(result, node.dtype)[()]
        return env

    def __call__(self, *values: Any) -> Any:
        """Run the program under NumPy; one result comes alone, several as a tuple.

        Parameters
        ----------
        *values:
            One number or array for each of ``inputs``.
        """
        results = self.run(*values)
        return results[0] if len(results) == 1 else results

    # ---------------------------------------------------------------- text

    def source(self, name: str = "program") -> str:
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
        return source(self, name)

    @cached_property
    def names(self) -> dict[Node, str]:
        """A name for each input, literal, constant and step."""
        taken = {*(str(s) for s in self.sizes), "np", "special"}
        names: dict[Node, str] = {n: _free(n.name, taken) for n in self.inputs}
        for k, node in enumerate(self.constants):
            names[node] = _free(f"c{k}", taken)
        for leaf in self.leaves:
            if leaf not in names:
                names[leaf] = leaf_text(leaf)
        for k, node in enumerate(self.steps):
            names[node] = _free(f"v{k}", taken)
        return names

    def __str__(self) -> str:
        return program_text(self)

    def __repr__(self) -> str:
        return f"<Program of {len(self.steps)} steps, {len(self.inputs)} inputs>"

    def to_sympy(self) -> list[sp.Expr]:
        """Return the outputs as SymPy expressions; array ops appear as functions by name.

        For formulas of array functions in index notation there is :func:`symgrad.symbolic`.

        Raises
        ------
        UnsupportedError
            If the program is too long for one expression, or compares with nan.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg
        >>> sg.grad(lambda x: np.sin(x) ** 2).program(0.5).to_sympy()
        [2*sin(x)*cos(x)]
        """
        if len(self.steps) > LARGEST_FORMULA:
            raise UnsupportedError(
                f"a program of {len(self.steps)} steps is too long for one SymPy expression "
                f"(at most {LARGEST_FORMULA}): print the program instead"
            )
        try:
            return [as_sympy(x) for x in self.outputs]
        except RecursionError:
            raise UnsupportedError(
                "the program is nested too deeply for one SymPy expression: print it instead"
            ) from None
        except TypeError as error:  # SymPy does not compare with nan
            raise UnsupportedError(f"the program has no SymPy form: {error}") from None

    def latex(self) -> str:
        r"""Return the program as a LaTeX ``align`` block, one line a step.

        Steps on arrays are in index notation.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg
        >>> print(sg.compile(lambda x: np.sum(np.sin(x))).program(np.ones(3)).latex())
        \begin{align}
        {v_{0}}_{i} &= \sin{\left({x}_{i} \right)} \\
        v_{1} &= \sum_{i=0}^{n - 1} {v_{0}}_{i}
        \end{align}
        """
        return program_latex(self)

    @staticmethod
    def of(body: Body) -> Program:
        """Return the body of a loop or a branch as a program.

        Its sizes are those of the program around it.
        """
        return body_program(body)

    # ---------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a JSON file, for :func:`symgrad.load`.

        Parameters
        ----------
        path:
            The file to write; one that exists is replaced, whole or not at all.

        Raises
        ------
        DataError
            If the program contains what the format does not have.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg, pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp(), "slope.json")
        >>> sg.grad(np.sin).program(0.0).save(file)
        >>> sg.load(file)(0.0)
        np.float64(1.0)
        """
        save(self, path)

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Return the program that JSON text holds, checked; see :func:`symgrad.load`."""
        saved = from_json(text)
        program = cls(
            saved.inputs, saved.outputs, saved.steps, saved.levels, saved.guards, saved.conditions
        )
        try:
            check(program)
        except CheckError as error:
            raise DataError(f"no sound program: {error}") from None
        if program.fingerprint != saved.fingerprint:
            raise DataError("the program is not as it was saved: its fingerprint differs")
        missing = unknown(saved.needed, saved.guards)
        return (
            dataclasses.replace(program, guards={**saved.guards, **missing}) if missing else program
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Program.from_json, (to_json(self),)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that the kernel depends on, the same in every process."""
        number = self.numbers
        kinds: dict[Any, int] = {}
        words: list[int] = []  # for each step the number of its kind, and of its operands
        for node in (*self.inputs, *self.leaves, *self.steps):
            operands = node.operands
            kind = (node.__class__, node.items, node.shape, node.dtype, len(operands))
            words.append(kinds.setdefault(kind, len(kinds)))
            words += [number[x] for x in operands]
        digest = hashlib.sha256(np.array(words, "<i8").tobytes())
        for cls, items, shape, dtype, count in kinds:
            digest.update(f"{cls.op.name}{items}{shape}{dtype.char}{count};".encode())
        for node in (*self.inputs, *self.leaves):
            literal = isinstance(node, Literal)
            digest.update(f"{node.value.tobytes().hex() if literal else leaf_text(node)};".encode())
        digest.update(str([number[x] for x in self.outputs]).encode())
        digest.update(str(sorted((str(g), t) for g, t in self.guards.items())).encode())
        digest.update(str([str(n.dim) for n in self.inputs]).encode())
        if self.conditions:
            digest.update(str([number[x] for x in self.conditions]).encode())
        return digest.hexdigest()


def _argument(node: Node, value: Any) -> Any:
    """Return an argument in its input's element type.

    Raises
    ------
    ArgumentError
        If whole numbers or truth values are wanted, and it is others.
    """
    found = np.asarray(value)
    result = found.astype(node.dtype, copy=False)
    if node.dtype.kind in "iub" and found.dtype != node.dtype:
        whole = found.dtype.kind in "iub" or not found.size
        if not (whole and np.array_equal(result, found)):
            kind = "truth values" if node.dtype.kind == "b" else f"numbers of {node.dtype}"
            raise ArgumentError(f"{getattr(node, 'name', '?')} takes {kind}, not {value!r:.60}")
    return result if node.shape else result[()]


def _owned(value: Any, taken: set[int]) -> Any:
    """Return a result that shares memory with no argument, constant or other result."""
    if not isinstance(value, np.ndarray):
        return value
    if id(value) in taken or not (value.flags.owndata and value.flags.c_contiguous):
        return np.array(value, order="C")
    taken.add(id(value))
    return value


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _leaf_value(leaf: Node, sizes: Mapping[sp.Symbol, int]) -> Any:
    if isinstance(leaf, Literal):
        return leaf.value
    if isinstance(leaf, Constant):
        return leaf.array
    if isinstance(leaf, SizeOf):
        return leaf.dtype.type(evaluate_dim(leaf.size, sizes))
    assert isinstance(leaf, Iota)
    return np.arange(evaluate_dim(leaf.size, sizes))


class Step:
    """A body as a function of arrays and numbers, for the given sizes.

    Attributes
    ----------
    kinds:
        Shape and element type of each result.
    """

    def __init__(self, body: Body, sizes: Mapping[sp.Symbol, int]) -> None:
        self.program, self.sizes = body_program(body), sizes
        self.kinds = [(concrete(x.shape, sizes), x.dtype) for x in body.outputs]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Compute the results."""
        env = self.program._computed(values, self.sizes)
        return tuple([env[x] for x in self.program.outputs])


def body_program(body: Body) -> Program:
    """Return a body as a program; its sizes are those of the program around it."""
    if body.program is None:
        body.program = schedule(body.inputs, body.outputs)
    program: Program = body.program
    return program


def concrete(value: Any, sizes: Mapping[sp.Symbol, int]) -> Any:
    """Return a parameter with its symbolic sizes replaced by numbers, bodies made callable."""
    if isinstance(value, tuple):
        return tuple([concrete(v, sizes) for v in value])
    if isinstance(value, Body):
        return Step(value, sizes)
    if isinstance(value, sp.Basic):
        return evaluate_dim(value, sizes)
    return value


def schedule(
    inputs: Sequence[Input],
    outputs: Sequence[Node],
    guards: Mapping[sp.Basic, bool] | None = None,
    conditions: Sequence[Node] = (),
) -> Program:
    """Return the Program of a graph: its computed nodes in Kahn order, with levels."""
    # What was decided to be true whatever the arguments is no condition.
    conditions = [x for x in dict.fromkeys(conditions) if not isinstance(x, Literal)]
    walk = topological([*outputs, *conditions])
    known = set(inputs)
    stray = next((n for n in walk if type(n) is Input and n not in known), None)
    if stray is not None:
        raise TraceError(
            f"the traced argument {stray.name} of another call is used: it was kept when its "
            "function returned. Write instead: pass it as an argument, or return it"
        )
    nodes = [n for n in walk if n.operands or n.op.kind != "leaf"]
    needs: Callable[[Node], Sequence[Node]] = lambda n: n.operands  # noqa: E731
    order, levels = kahn(nodes, needs, name=lambda n: n.op.name)
    return Program(
        tuple(inputs), tuple(outputs), tuple(order), tuple(levels), dict(guards or {}),
        tuple(conditions),
    )  # fmt: skip


def branch_message(condition: Node) -> str:
    """Return what to say where a condition does not hold."""
    where = f" at {condition.where}" if condition.where is not None else ""
    return (
        f"the values take another branch{where} than the program was traced for: call the "
        "function itself, or make a program with f.program(*args) for values like these"
    )
