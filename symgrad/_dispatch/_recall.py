"""Kernels known by the user's function alone, so that no derivative is taken to find one.

What comes after tracing a function (its derivative, rewriting, scheduling) depends on nothing
but the function's graph, the transformations around it and symgrad itself. A note on the disk,
beside the kernels, says which kernel came of them the last time. Here is, too, what is in the
cache, and how to remove it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sympy as sp

from .._capture._captures import EndedTraceError
from .._core.base.signals import foreseen, tolerating
from .._core.base.sizes import hint
from .._core.codegen.cache import Entry, cache_folder, note_key, read_entry
from .._core.codegen.entry_files import DESCRIPTION, read_text, write_text
from .._core.codegen.private_files import NEW, discard
from .._core.graph import Input, Rule, topological
from .._core.op import registry
from .._core.ops.callback import CALLBACK
from .._core.program import Program
from .._core.rewrite import ENTERED
from .._core.trace import Graph, Primal, Signature, Tree, strongest
from ..errors import DataError
from ._layout import Layout

#: The folder of the notes in that of the cache.
NOTES = ".notes"

_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Known:
    """What calls need to know of a kernel that a note has led to: see Graph and Code.

    ``admission`` is a program with the guards.
    """

    layout: Layout
    tree: Tree
    leaves: tuple[Any, ...]
    ranks: tuple[int, ...]
    entry: Entry
    admission: Program


class RecalledError(EndedTraceError):
    """The trace can end here: its kernel is known."""

    def __init__(self, known: Known) -> None:
        super().__init__()
        self.known = known
        #: Whether the function has changed what it reads: another trace tells what that means.
        self.changes = False


class Recall:
    """Looks for the kernel of one trace, and notes it once it is made.

    Parameters
    ----------
    words:
        What the kernel depends on beside the function's graph.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._folder: Path | None = None
        self._sketch: Program | None = None
        self._inputs: tuple[Input, ...] = ()

    def watch(self, primal: Primal) -> None:
        """Raise RecalledError if there is a note on the function's graph."""
        result, self._folder, self._inputs = _tree_note(primal.tree), cache_folder(), primal.inputs
        if self._folder is None or result is None:
            return
        self._sketch = _sketched(primal)
        if self._sketch is None:
            return
        self._words = [*self._words, json.dumps(result), str(primal.weak)]
        self._words.append(self._sketch.fingerprint)
        for exactly in (False, True):
            known = None
            with tolerating(Exception):  # whatever is wrong with a note or a kernel
                known = self._read(exactly)
            if known is not None:
                raise RecalledError(known)

    def _note(self, exactly: bool) -> Path:
        """Return the file of the note; ``exactly``: of that for just these sizes."""
        assert self._folder is not None
        assert self._sketch is not None
        sizes = [f"{size}={hint(size)}" for size in self._sketch.sizes] if exactly else []
        return self._folder / NOTES / note_key(*self._words, *sizes)

    def _read(self, exactly: bool) -> Known:
        file, sketch = self._note(exactly), self._sketch
        assert sketch is not None
        note = json.loads(read_text(file))
        layout: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in note["layout"].items()
        }
        leaves = tuple((None,) if leaf is None else leaf for leaf in note["leaves"])
        guards = dict(sketch.guards)
        if exactly:
            guards |= {sp.Eq(size, hint(size)): True for size in sketch.sizes}
        return Known(
            Layout(**layout), _tree(note["tree"]), leaves, tuple(note["ranks"]),
            read_entry(file.parent.parent / note["kernel"], sketch.constants),
            Program(self._inputs, (), (), (), guards),
        )  # fmt: skip

    def keep(self, graph: Graph, layout: Layout, entry: Entry) -> None:
        """Note that the trace that was watched has led to this kernel."""
        tree = _tree_note(graph.tree)
        if self._folder is None or self._sketch is None or tree is None:
            return
        if entry.home is None or graph.conditions:
            return
        if not all(leaf == (None,) for leaf in graph.leaves if isinstance(leaf, tuple)):
            return
        note = {
            "kernel": entry.home.name,
            "layout": asdict(layout),
            "tree": tree,
            "leaves": [None if isinstance(leaf, tuple) else leaf for leaf in graph.leaves],
            "ranks": [x.ndim for x in graph.outputs],
        }
        with tolerating(OSError):  # the disk is full, or somebody else's
            file = self._note(exactly=graph.guards != self._sketch.guards)
            write_text(file, json.dumps(note))
        self._sketch = None  # its nodes can go


def notes_of_kernels(folder: Path) -> dict[str, list[Path]]:
    """Return the notes in a cache folder, by the name of the kernel; "" of damaged ones."""
    found: dict[str, list[Path]] = {}
    with tolerating(OSError):  # there is none, or another process is removing it
        for file in (folder / NOTES).iterdir():
            kernel = ""
            with tolerating(OSError, ValueError, KeyError, DataError):
                kernel = json.loads(read_text(file))["kernel"]
            found.setdefault(kernel, []).append(file)
    return found


def words_of(function: Any, signature: Signature, names: Sequence[str]) -> list[str] | None:
    """Return what a kernel of ``function`` depends on beside the user's function, as text.

    None where that has no name by which another process would know it.
    """
    tree = _tree_note(signature.tree)
    leaves = [_plain((k.kind, k.dtype, k.sizes, k.value)) for k in signature.leaves]
    if tree is None or None in leaves:
        return None
    words = [json.dumps(tree), *map(str, leaves), *names, str(signature.dynamic)]
    while hasattr(function, "_recipe"):
        make, (function, *rest), options = function._recipe
        plain = _plain((make.__qualname__, *rest, *sorted(options.items())))
        if plain is None:
            return None
        words.append(plain)
    return words


def _plain(value: Any) -> str | None:
    """Return numbers, strings and tuples of them as text; None for anything else."""
    if isinstance(value, (tuple, list)):
        parts = [_plain(x) for x in value]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if isinstance(value, type) and value in _PLAIN:
        return value.__name__
    return repr(value) if type(value) in _PLAIN else None


def _tree_note(tree: Tree) -> Any:
    """Return the structure as nested lists; None if there are classes of the user's in it."""
    meta = None
    if tree.kind == "dict":
        kind, *first, keys = tree.meta
        if kind is not dict or first or not all(type(key) is str for key in keys):
            return None
        meta = list(keys)
    elif tree.kind not in ("leaf", "tuple", "list", "complex", "packed"):
        return None
    children = [_tree_note(child) for child in tree.children]
    return None if None in children else [tree.kind, meta, children]


def _tree(note: Any) -> Tree:
    kind, keys, children = note
    return Tree(kind, None if keys is None else (dict, tuple(keys)), tuple(map(_tree, children)))


def _sketched(primal: Primal) -> Program | None:
    """Return the function's graph as a program, for its fingerprint; None if that is not all.

    Rules and functions of the user's are code, which may be other code in another process.
    """
    if primal.decided or ENTERED:
        return None
    outputs = (*primal.outputs, *primal.fresh.values())
    walk = topological(outputs)
    inputs = (*primal.inputs, *primal.fresh)
    known = set(inputs)
    if any(n.op.kind == "leaf" and type(n) is Input and n not in known for n in walk):
        return None  # kept from another trace
    steps = tuple(n for n in walk if n.op.kind != "leaf" or n.operands)
    guards = strongest(primal.guards)
    sketch = Program(inputs, outputs, steps, (0,) * len(steps), guards)
    plain = all(
        registry.is_own(node.op)
        and node.op is not CALLBACK
        and not any(isinstance(value, Rule) for _, value in node.items)
        for node in sketch.nested_steps()
    )
    return sketch if plain else None


#: What is still being written is younger, in seconds.
UNFINISHED = 3600.0


@dataclass(frozen=True)
class Stored:
    """A program in the disk cache.

    Attributes
    ----------
    folder:
        Its folder.
    notes:
        The notes that lead to it.
    size:
        Size of all these files, in bytes.
    made:
        When it was compiled, in seconds since the epoch.
    inputs, outputs:
        Element types and ranks, as ``float64[2]``; None for a damaged entry. Both are empty for
        code of symgrad itself, which converts arguments and results.
    """

    folder: Path
    notes: tuple[Path, ...]
    size: int
    made: float
    inputs: tuple[str, ...] | None
    outputs: tuple[str, ...] | None


def stored() -> list[Stored]:
    """Return the programs in the user's cache folder, the oldest first."""
    folder = cache_folder()
    if folder is None:
        return []
    found = []
    notes = notes_of_kernels(folder)
    for home in folder.iterdir():
        # Another process may be removing it.
        with tolerating(OSError):
            if not home.name.startswith(".") and home.is_dir() and not home.is_symlink():
                own = tuple(notes.get(home.name, ()))
                size = sum(p.lstat().st_size for p in (*home.iterdir(), *own) if not p.is_dir())
                inputs, outputs = (_leaves(home, key) for key in ("inputs", "outputs"))
                found.append(Stored(home, own, size, home.stat().st_mtime, inputs, outputs))
    return sorted(found, key=lambda s: s.made)


def _leaves(home: Path, key: str) -> tuple[str, ...] | None:
    try:
        leaves = json.loads(read_text(home / DESCRIPTION))[key]
        return tuple(f"{dtype}[{ndim}]" if ndim else dtype for dtype, ndim in leaves)
    except foreseen(OSError, ValueError, KeyError, TypeError):
        return None


def remove(entries: list[Stored]) -> int:
    """Remove programs from the cache; return how many are gone.

    Processes that have loaded one keep it: code is read once. What killed processes have left
    unfinished goes as well.
    """
    for entry in entries:
        discard(entry.folder)
        for note in entry.notes:
            with tolerating(OSError):
                note.unlink()
                note.parent.rmdir()  # if it was the last one
    folder = cache_folder()
    for place in [] if folder is None else list(folder.rglob(f"{NEW}*")):
        with tolerating(OSError):
            if time.time() - place.lstat().st_mtime > UNFINISHED:
                discard(place)
    return sum(not entry.folder.exists() for entry in entries)
