"""The way from C into a program: the functions of its C signature, in LLVM IR.

One has the signature that C source has (:class:`Signature`). A library that calls back wants a
signature of its own: what each of its parameters is for a program is a word in a table, and the
function with it calls the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from .._core.base.sizes import as_expr
from .._core.graph import Input
from .._core.runtime import EXHAUSTED, Interface
from .._core.runtime import OTHER_BRANCH as BRANCH
from .._core.runtime.interface import Lines, memory_type
from ..errors import ArgumentError
from ._signature import DONE, NO_MEMORY, NO_PLACE, OTHER_BRANCH, OTHER_SIZES, Signature


class Callback(NamedTuple):
    """A signature that libraries call: what its parameters are, and what it returns for good."""

    users: str
    roles: tuple[str, ...]
    done: int = DONE


#: By the function's type. A "number" is an argument, "numbers" are all that are left, the last of
#: which may be an array, "array" is one and "count" says how many there are; "data" points to the
#: elements of one more argument, if the function has one. "result" and "results" are written; of
#: results there are as many as elements of "array", unless "size" says how many.
CALLBACKS = {
    "double (double)": Callback("scipy.integrate.quad", ("number",)),
    "double (double, void *)": Callback("scipy.integrate.quad", ("number", "data")),
    "double (int, double *)": Callback("scipy.integrate.nquad", ("count", "numbers")),
    "double (int, double *, void *)": Callback(
        "scipy.integrate.nquad", ("count", "numbers", "ignored")
    ),
    "int (double *, intptr_t, double *, void *)": Callback(
        "scipy.ndimage.generic_filter", ("array", "count", "result", "data"), done=1
    ),
    "void (double, double *, double *, void *)": Callback(
        "NumbaLSODA", ("number", "array", "results", "data")
    ),
    "int (size_t, double *, double *, double *, void *)": Callback(
        "nutpie.LogpFunc", ("count", "array", "results", "result", "data")
    ),
    "int (size_t, size_t, double *, double *, void *)": Callback(
        "nutpie.ExpandFunc", ("count", "size", "array", "results", "data")
    ),
}

#: Other words for types of 64 bits.
_WORDS = {"intptr_t": "intptr_t", "npy_intp": "intptr_t", "ptrdiff_t": "intptr_t",
          "ssize_t": "intptr_t", "Py_ssize_t": "intptr_t", "int64_t": "intptr_t",
          "size_t": "size_t", "uint64_t": "size_t"}  # fmt: skip


def callback_type(text: str) -> str:
    """Return the type in :data:`CALLBACKS` that a declaration has.

    Raises
    ------
    ArgumentError
        If it has none of them.
    """
    head, _, rest = str(text).replace("const ", "").replace("*", " * ").partition("(")
    parameters = []
    for parameter in rest.strip().removesuffix(")").split(","):
        words = parameter.split()
        star = " *" if "*" in words else ""
        parameters.append(_WORDS.get(words[0], words[0]) + star if words else "")
    found = f"{(head.split() or ['']).pop(0)} ({', '.join(parameters)})"
    if found not in CALLBACKS:
        known = "; ".join(f"{kind} for {c.users}" for kind, c in CALLBACKS.items())
        raise ArgumentError(
            f"the C signature {text!r} is not known: without one, the function has its own, sizes "
            f"and pointers; known are {known}"
        )
    return found


def _parameter_types(signature: Signature, size_bits: int) -> list[str]:
    program = signature.program
    inputs = ["ptr" if x.shape else memory_type(x.dtype) for x in program.inputs]
    return [f"i{size_bits}"] * len(signature.sizes) + inputs + ["ptr"] * len(program.outputs)


def entry_text(
    signature: Signature, code: Interface, kind: str | None = None, size_bits: int = 64
) -> str:
    """Return the C function of a program, to go into the module of its code.

    Parameters
    ----------
    signature:
        The function's name, and how C calls the program.
    code:
        The program's functions, which are in the module or declared in it.
    kind:
        A type in :data:`CALLBACKS` that the function is to have. Then the program is for arguments
        of fixed sizes, and where something goes wrong that no status can say, results are nan.
    size_bits:
        The width of C's ``ptrdiff_t``.

    Raises
    ------
    ArgumentError
        If the program's arguments or results are not what such a callback has.
    """
    if kind is None:
        return _entry(signature, code, f"define i32 @{signature.name}", size_bits)
    inner = _entry(signature, code, f"define internal i32 @{signature.name}.general")
    return inner + _CallbackText(signature, kind).text()


def _entry(signature: Signature, code: Interface, head: str, size_bits: int = 64) -> str:
    """Return the function of a signature: sizes and guards, then the program, on one thread."""
    e, program = Lines(), signature.program
    names = [f"%n.{s}" for s in signature.sizes]
    sizes = dict(zip(signature.sizes, names, strict=True))
    if size_bits < 64:
        sizes = {s: e.op(f"sext i{size_bits} {x} to i64") for s, x in sizes.items()}
    inputs = [f"%in{k}" for k in range(len(program.inputs))]
    outputs = [f"%out{k}" for k in range(len(program.outputs))]
    numbers = {str(s): inputs[k] for s, (k, axis) in program.sizes.items() if axis is None}
    extents: list[str] = []
    for node, value in zip(program.inputs, inputs, strict=True):
        if node.dim is not None:
            extents.append(value)
        extents += [{**sizes, **numbers}.get(str(d), str(d)) for d in node.shape]
    ranks = sum(leaf.ndim for leaf in code.outputs)
    e.line(f"%found = alloca [{code.sizes + ranks + 1} x i64]")
    e.line(f"%results = alloca [{max(len(outputs), 1)} x i64]")
    given = "".join(f"i64 {x}, " for x in extents)
    fit = e.op(f"call i32 @{code.name}.sizes({given}ptr %found)")
    e.line(f"br i1 {e.op(f'icmp eq i32 {fit}, 0')}, label %run, label %misfit")
    e.line("run:")
    arguments = [f"{'ptr' if x.shape else memory_type(x.dtype)} {value}"
                 for x, value in zip(program.inputs, inputs, strict=True)]  # fmt: skip
    for k in range(code.sizes):
        place = _at(e, "%found", k)
        arguments.append(f"i64 {e.op(f'load i64, ptr {place}')}")
    arguments += [f"ptr {p}" for p, x in zip(outputs, code.outputs, strict=True) if x.ndim]
    arguments += ["ptr %results", "i64 1"]
    status = e.op(f"call i32 @{code.name}.run({', '.join(arguments)})")
    e.line(f"br i1 {e.op(f'icmp eq i32 {status}, 0')}, label %good, label %bad")
    e.line("good:")
    for k, (pointer, leaf) in enumerate(zip(outputs, code.outputs, strict=True)):
        if not leaf.ndim:
            kind, place = memory_type(leaf.dtype), _at(e, "%results", k)
            e.line(f"store {kind} {e.op(f'load {kind}, ptr {place}')}, ptr {pointer}")
    e.line(f"ret i32 {DONE}")
    e.line("misfit:")
    e.line(f"ret i32 {OTHER_SIZES}")
    e.line("bad:")
    memory = e.op(f"icmp eq i32 {status}, {EXHAUSTED}")
    known = e.op(f"select i1 {memory}, i32 {NO_MEMORY}, i32 {NO_PLACE}")
    other = e.op(f"icmp uge i32 {status}, {BRANCH}")
    e.line(f"ret i32 {e.op(f'select i1 {other}, i32 {OTHER_BRANCH}, i32 {known}')}")
    types = zip(_parameter_types(signature, size_bits), [*names, *inputs, *outputs], strict=True)
    parameters = ", ".join(f"{kind} {name}" for kind, name in types)
    return e.text(f"{head}({parameters}) nounwind {{")


def _at(e: Lines, pointer: str, k: int | str, kind: str = "i64") -> str:
    return e.op(f"getelementptr {kind}, ptr {pointer}, i64 {k}")


# ---------------------------------------------------------------- callbacks


class _CallbackText:
    """The function of a callback's type, which calls that of the program's own."""

    def __init__(self, signature: Signature, kind: str) -> None:
        self.signature, self.kind = signature, kind
        self.callback, self.program = CALLBACKS[kind], signature.program
        self.returned, _, rest = kind.removesuffix(")").partition(" (")
        self.types = rest.split(", ")
        self.e = Lines()
        self.left = list(self.program.inputs)
        self.arguments: list[str] = []
        #: How many elements the caller has to give, and how many results it has to take.
        self.elements = self.room = 0

    def refuse(self, why: str) -> ArgumentError:
        wanted = ", ".join(r for r in self.callback.roles if r not in ("ignored", "count", "size"))
        return ArgumentError(
            f"{self.signature.title or 'the function'} cannot be called as {self.kind}, which is "
            f"made of {wanted}: {why}"
        )

    def text(self) -> str:
        e, outputs = self.e, self.program.outputs
        for role, _, p in self.parameters():
            if role in ("number", "numbers", "array", "data"):
                getattr(self, f"_{role}")(p)
        if self.left:
            raise self.refuse(f"{self.names(self.left)} would be given nothing")
        into = {role: p for role, _, p in self.parameters() if role in ("result", "results")}
        if self.returned == "double":
            e.line("%value = alloca double")
            into["result"] = "%value"
        shapes = [x.shape for x in outputs]
        if len(outputs) != len(into) or any(x.dtype != np.float64 for x in outputs):
            raise self.refuse(f"its results are {', '.join(map(_said, outputs))}")
        said = "size" in self.callback.roles and any(shapes)
        self.room = int(as_expr(shapes[0][0])) if said else self.elements
        for shape in shapes:
            target = into.pop("results" if shape else "result", None)
            if target is None or shape not in ((), (self.room,)):
                raise self.refuse(
                    f"its results are {', '.join(map(_said, outputs))}, for {self.elements} numbers"
                )
            self.arguments.append(f"ptr {target}")
        self.called()
        parameters = ", ".join(f"{_llvm(kind)} {p}" for _, kind, p in self.parameters())
        return e.text(
            f"define {_llvm(self.returned)} @{self.signature.name}({parameters}) nounwind {{"
        )

    def parameters(self) -> list[tuple[str, str, str]]:
        """Return the roles of the parameters, their types and names."""
        names = [f"%p{k}" for k in range(len(self.types))]
        return list(zip(self.callback.roles, self.types, names, strict=True))

    def names(self, nodes: Sequence[Input]) -> str:
        return " and ".join(self.signature.inputs[x] for x in nodes)

    # ---------------------------------------------------------------- arguments

    def _next(self) -> Input:
        if not self.left:
            raise self.refuse("it has fewer arguments")
        node = self.left.pop(0)
        if node.dtype != np.float64:
            raise self.refuse(f"{self.names([node])} is of {node.dtype}")
        return node

    def _number(self, p: str) -> None:
        if (node := self._next()).shape:
            raise self.refuse(f"{self.names([node])} is no number")
        self.arguments.append(f"double {p}")

    def _elements(self, node: Input, p: str, at: int) -> int:
        """Give an argument's elements, from a position on; return how many they are."""
        place = _at(self.e, p, at, "double")
        kind, value = ("ptr", place) if node.shape else (
            "double", self.e.op(f"load double, ptr {place}"))  # fmt: skip
        self.arguments.append(f"{kind} {value}")
        return int(sp.prod([as_expr(d) for d in node.shape]))

    def _numbers(self, p: str) -> None:
        while self.left:
            node = self._next()
            if node.shape and self.left:
                raise self.refuse(f"behind the array {self.names([node])} there can be no argument")
            self.elements += self._elements(node, p, self.elements)

    def _array(self, p: str) -> None:
        node = self._next()
        if node.ndim != 1:
            raise self.refuse(f"{self.names([node])} is {_said(node)}, not an array of one axis")
        self.elements = self._elements(node, p, 0)

    def _data(self, p: str) -> None:
        if self.left:
            self._elements(self._next(), p, 0)

    # ---------------------------------------------------------------- the call

    def called(self) -> None:
        """Write the call, and what becomes of its status."""
        e = self.e
        counts = {"count": self.elements, "size": self.room}
        counted = [e.op(f"icmp eq {_llvm(kind)} {p}, {counts[role]}")
                   for role, kind, p in self.parameters() if role in counts]  # fmt: skip
        if counted:
            fits = counted[0] if len(counted) == 1 else e.op(f"and i1 {', '.join(counted)}")
            e.line(f"br i1 {fits}, label %call, label %failed")
            e.line("call:")
        status = e.op(f"call i32 @{self.signature.name}.general({', '.join(self.arguments)})")
        failed = (
            f"[ {status}, %call ], [ {OTHER_SIZES}, %entry ]"
            if counted
            else f"[ {status}, %entry ]"
        )
        e.line(f"br i1 {e.op(f'icmp eq i32 {status}, {DONE}')}, label %done, label %failed")
        e.line("failed:")
        code = e.op(f"phi i32 {failed}")
        nan = "0x7FF8000000000000"
        if self.returned == "int":
            e.line(f"ret i32 {code if self.callback.done == DONE else 0}")
        elif self.returned == "double":
            e.line(f"ret double {nan}")
        else:
            target = next(p for role, _, p in self.parameters() if role == "results")
            e.line("br label %fill")
            e.line("fill:")
            e.line("%k = phi i64 [ 0, %failed ], [ %next, %fill ]")
            e.line(f"store double {nan}, ptr {_at(e, target, '%k', 'double')}")
            e.line("%next = add i64 %k, 1")
            e.line(f"%more = icmp slt i64 %next, {self.elements}")
            e.line("br i1 %more, label %fill, label %over")
            e.line("over:")
            e.line("ret void")
        e.line("done:")
        if self.returned == "int":
            e.line(f"ret i32 {self.callback.done}")
        elif self.returned == "double":
            e.line(f"ret double {e.op('load double, ptr %value')}")
        else:
            e.line("ret void")


def _llvm(kind: str) -> str:
    if kind.endswith("*"):
        return "ptr"
    return {"double": "double", "int": "i32", "void": "void"}.get(kind, "i64")


def _said(node: Any) -> str:
    return f"{node.dtype} of shape {tuple(map(str, node.shape))}" if node.shape else (
        f"one {node.dtype}")  # fmt: skip
