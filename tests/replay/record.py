"""What is noted of an entry: of each kind of arguments that it compiles for, pass by pass."""

from __future__ import annotations

import contextlib
import difflib
import gc
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np

import symgrad as sg
from symgrad._core.base.state import within
from symgrad._core.graph import Node
from symgrad._core.pipeline import legal, lower
from symgrad._core.program import Program, schedule
from symgrad._core.program._steps import leaf_text
from symgrad._core.program._text import named_bodies
from symgrad._core.runtime import write_entry
from symgrad._core.trace import flatten
from symgrad._dispatch._function import Function
from symgrad._export import c_source

from .corpus import Entry, answer

#: One in so many entries is compiled to machine code; of the others the text is what matters.
CODE = 4

#: Programs of more steps are not written as C, NumPy source and legalised listings.
LONG = 3000

#: What differs from process to process: addresses, and the names of functions called back.
_PASSING = re.compile(r"\b0x[0-9a-f]{6,12}\b|(?<=token=)[\w.]+|(?<=callback\.)[\w.]+")

Record = dict[str, dict[str, str]]  # entry -> pass -> text


def recorded(entries: Iterable[Entry]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the names of entries and the texts of their passes."""
    gc.freeze()
    for entry in entries:
        code = entry.code or crc32(entry.name.encode()) % CODE == 0
        gc.collect()  # a step that lives on from before has kept its line
        with still(), made() as found, sg.backend("llvm" if code else "numpy"):
            results = bits(answer(entry.run, ()))
        texts: dict[str, str] = {}
        for number, specialization in enumerate(found):
            for name, text in passes(specialization):
                texts[f"{number} {name}"] = text
        texts["results"] = results
        yield entry.name, {name: _PASSING.sub("_", text) for name, text in texts.items()}


@contextlib.contextmanager
def still() -> Iterator[None]:
    """Leave it to counts of references what is freed in the block: the same in every process."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def made() -> Iterator[list[Any]]:
    """Collect the specialisations that are made in the block, in order."""
    found: list[Any] = []
    keep = Function._keep

    def noted(self: Function, signature: Any, specialization: Any) -> None:
        found.append(specialization)
        keep(self, signature, specialization)

    with mock.patch.object(Function, "_keep", noted):
        yield found


def passes(made: Any) -> Iterator[tuple[str, str]]:
    """Yield the passes that a specialisation has gone through, first to last."""
    graph, program = made.graph, made.program
    traced = schedule(graph.inputs, graph.outputs, graph.guards, graph.conditions)
    yield "trace and transform", listing(traced)
    yield "rewrite and schedule", f"{listing(program)}\nfingerprint {program.fingerprint}"
    with within(promised=made.promised):
        if len(program.steps) <= LONG:
            yield "legalise", listing(legal(program))
        lowered = lower(program)
        yield "emit", "\n; ----\n".join((lowered.text, *lowered.straight))
        yield "entry", write_entry(lowered, made.kinds)
        yield "layout", attempt(made.layout.source)
    if len(program.steps) <= LONG:
        yield "source", attempt(program.source)
        yield "C", attempt(lambda: c_source(program))
    yield "lines", "\n".join(str(n.where) for n in program.nested_steps())


def attempt(write: Callable[[], str]) -> str:
    try:
        return write()
    except sg.errors.SymgradError as error:
        return f"{type(error).__name__}: {error}"


def listing(program: Program) -> str:
    """Return a program exactly, without the user's lines: one step a line."""
    number = program.numbers
    lines = [f"in {n.name}: {kind(n)}" for n in program.inputs]
    lines += [f"v{number[n]} = {leaf_text(n)}: {kind(n)}" for n in program.leaves]
    for node, level in zip(program.steps, program.levels, strict=True):
        bodies = named_bodies(node)
        skipped = {name for name, _ in bodies} | {"cases"}
        items = [f"{k}={v}" for k, v in node.items if k not in skipped]
        operands = " ".join(f"v{number[x]}" for x in node.operands)
        lines.append(f"v{number[node]} = {node.op.name} {operands} {items}: {kind(node)} @{level}")
        for name, body in bodies:
            lines += [f"  {name}", *(f"    {x}" for x in listing(program.of(body)).split("\n"))]
    lines += sorted(f"guard {g} is {truth}" for g, truth in program.guards.items())
    lines += [f"require v{number[x]}" for x in program.conditions]
    return "\n".join([*lines, "return " + " ".join(f"v{number[x]}" for x in program.outputs)])


def kind(node: Node) -> str:
    return f"{node.dtype.char}{node.shape}"


def bits(result: Any) -> str:
    """Return a result as text, down to the last bit."""
    lines = []
    for leaf in flatten(result)[0]:
        if hasattr(leaf, "toarray"):
            leaf = leaf.toarray()
        if np.asarray(leaf).dtype.kind in "OU":
            lines += str(leaf).split("\n")
            continue
        array = np.ascontiguousarray(leaf)
        values = (
            array.tobytes().hex(" ", -array.itemsize)
            if array.size <= 64
            else sha256(array).hexdigest()
        )
        lines.append(f"{array.dtype}{array.shape} {values}")
    return "\n".join(lines)


# ---------------------------------------------------------------- files


def write(path: Path, record: Record) -> None:
    """Write a record to a file."""
    path.write_bytes(gzip.compress(json.dumps(record).encode(), 1))


def read(path: Path) -> Record:
    """Read a record from a file."""
    record: Record = json.loads(gzip.decompress(path.read_bytes()))
    return record


def difference(
    name: str, before: Mapping[str, str] | None, after: Mapping[str, str], length: int = 12
) -> list[str]:
    """Return what to print of an entry: the first pass that differs, and its first lines."""
    if before is None:
        return [f"{name}: is new"]
    for part in dict.fromkeys([*before, *after]):
        old, new = before.get(part), after.get(part)
        if old == new:
            continue
        others = [p for p in dict.fromkeys([*before, *after]) if before.get(p) != after.get(p)]
        if old is None or new is None:
            return [f"{name}: {part} is {'new' if old is None else 'gone'}"]
        lines = difflib.unified_diff(old.split("\n"), new.split("\n"), "before", "after", "", "", 1)
        shown = [f"    {line[:150]}" for line in islice(lines, 2, 2 + length)]
        return [f"{name}: {part} differs first, in all {', '.join(others)}", *shown]
    return []
