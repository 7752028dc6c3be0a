"""How a numba kernel takes its arguments and gives its results, and its Python source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

from .._core.graph import Node
from .._core.trace import Graph, LeafKind, Tree
from ..errors import UnsupportedError

#: What a kernel's source looks like; the body is one call whatever the program's size. In line
#: with its caller, the checks leave the caller's loop, and references need not be counted.
SOURCE = """\
@numba.njit(nogil=True, error_model="numpy", forceinline=True)
def kernel({parameters}):
{checks}    r = call({arguments}, {targets}, {threads})
    return {result}
"""

#: Types of constants that a kernel can compare its arguments with. Numba takes no others than
#: these, except some that are known by their type, as ``np.float32``.
ASKED = (bool, int, str, NoneType)

CHECK = """\
    if not ({test}):
        raise ValueError("this kernel was made for {words}; "
                         "make one with g.kernel(*args) for values like these")
"""


@dataclass(frozen=True)
class Layout:
    """How a kernel takes its arguments and gives its results.

    Attributes
    ----------
    parameters:
        Names of the kernel's parameters.
    arguments:
        For each leaf of the program, the expression that reads it, as ``p[0]``.
    result:
        The expression that packs the result leaves ``r``.
    flat:
        Whether the parameters are the leaves that are values, because numba has no
        counterpart of a container among the arguments (a dict, a dataclass).
    targets:
        Names of the parameters that take arrays to write into.
    threads:
        How many threads a call may use; 0: as many as set.
    baked:
        What must hold of the arguments that are baked in, as ``p == True``.
    """

    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    result: str
    flat: bool
    targets: tuple[str, ...] = ()
    threads: int = 1
    baked: tuple[str, ...] = ()

    def into(self, arrays: int) -> Layout:
        """Return the layout that takes the arrays of the result after the arguments."""
        taken = set(self.parameters)
        names = (f"{stem}{k}" for stem in ("out", "into") for k in range(arrays + len(taken)))
        free = [name for name in names if name not in taken]
        return replace(self, targets=tuple(free[:arrays]))

    @property
    def has_objects(self) -> bool:
        """Whether a part of the result is an object that Numba has no constant for."""
        return _NO_CONSTANT in self.result

    def with_none(self) -> Layout:
        """Return the layout with None for such objects, for those who put them in themselves."""
        return replace(self, result=self.result.replace(_NO_CONSTANT, "None"))

    def source(self) -> str:
        """Return the kernel's Python source.

        Raises
        ------
        UnsupportedError
            If a part of the result is an object that Numba has no constant for.
        """
        if self.has_objects:
            raise UnsupportedError(
                "a kernel returns arrays, numbers, booleans, text and None, and the function's "
                "result has an object of another type. Write instead: a function that returns the "
                "rest, sg.compile(lambda *args: f(*args)[0]).kernel(...)"
            )
        return SOURCE.format(
            parameters=", ".join((*self.parameters, *self.targets)),
            arguments=_tuple(self.arguments),
            targets=_tuple(self.targets),
            threads=self.threads,
            result=self.result,
            checks="".join(CHECK.format(test=t, words=_quoted(t)) for t in self.baked),
        )


def _tuple(items: tuple[str, ...]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _quoted(test: str) -> str:
    """Return ``test`` as it stands between quotation marks."""
    return test.encode("unicode_escape").decode().replace('"', '\\"')


def can_ask(value: Any) -> bool:
    """Tell whether a kernel can check that it is given this value."""
    return type(value) in ASKED and (type(value) is not int or value.bit_length() < 64)


def layout_of(trees: Mapping[str, Tree], leaves: Sequence[LeafKind], graph: Graph) -> Layout:
    """Return the layout for named argument trees with leaves of these kinds."""
    flat = not all(_has_counterpart(t) for t in trees.values())
    kinds = iter(leaves)
    parameters: list[str] = []
    arguments: list[str] = []
    baked: list[str] = []
    for name, tree in trees.items():
        if not flat:
            parameters.append(name)
        for k, path in enumerate(_paths(tree, name)):
            kind = next(kinds)
            if kind.is_value:
                if flat:
                    path = f"{name}_{k}" if tree.kind != "leaf" else name
                    parameters.append(path)
                arguments.append(_pairs(path, kind) if kind.is_complex else path)
            elif not flat and can_ask(kind.baked_in):
                sign = "is" if kind.baked_in is None else "=="
                baked.append(f"{path} {sign} {kind.baked_in!r}")
    count = len(graph.outputs)
    names = ["r"] if count == 1 else [f"r[{k}]" for k in range(count)]
    result = _pack(graph.tree, iter(graph.leaves), names, graph.outputs)
    return Layout(tuple(parameters), tuple(arguments), result, flat, baked=tuple(baked))


def _has_counterpart(tree: Tree) -> bool:
    if tree.kind in ("dict", "dataclass", "list"):
        return False
    return all(map(_has_counterpart, tree.children))


def _paths(tree: Tree, path: str) -> list[str]:
    if tree.kind == "leaf":
        return [path]
    return [p for k, child in enumerate(tree.children) for p in _paths(child, f"{path}[{k}]")]


def _pairs(path: str, kind: LeafKind) -> str:
    """Return the expression of complex numbers as a real array with a last axis of two."""
    if not kind.sizes:
        return f"np.array(({path}.real, {path}.imag))"
    half = "float32" if kind.dtype == "F" else "float64"
    # Numba reshapes contiguous arrays only; this copies the others.
    return f"np.ascontiguousarray({path}).view(np.{half}).reshape({path}.shape + (2,))"


def _numbers(path: str, node: Node) -> str:
    """Return the expression of the complex numbers of such an array."""
    name = f"np.complex{16 * node.dtype.itemsize}"
    if node.ndim == 1:
        return f"{name}(complex({path}[0], {path}[1]))"
    return f"{path}.view({name}).reshape({path}.shape[:-1])"


def _pack(tree: Tree, leaves: Any, names: list[str], nodes: Sequence[Node]) -> str:
    if tree.kind == "leaf":
        leaf = next(leaves)
        return _constant(leaf[0]) if isinstance(leaf, tuple) else names[leaf]
    if tree.kind == "packed":
        leaf = next(leaves)
        return _numbers(names[leaf], nodes[leaf])
    parts = [_pack(child, leaves, names, nodes) for child in tree.children]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


#: In the place of a result that Numba has no constant for: in no ``repr`` of text.
_NO_CONSTANT = "\0"


def _constant(value: Any) -> str:
    """Return the source of a result that is no value of the trace: a flag, a word, None."""
    return repr(value) if can_ask(value) else _NO_CONSTANT


def named_trees(names: Sequence[str], tree: Tree) -> dict[str, Tree]:
    """Return the structure of each argument by a name: the common part of its leaves' names."""
    rest = iter(names)
    found: dict[str, Tree] = {}
    args, kwargs = tree.children
    for k, child in enumerate((*args.children, *kwargs.children)):
        leaves = [next(rest) for _ in range(child.leaves)]
        name = leaves[0] if child.kind == "leaf" else f"p{k}"
        while name in found or name in ("r", "call", "numba"):
            name += "_"
        found[name] = child
    return found
