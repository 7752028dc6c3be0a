"""Programs as JSON: writing.

One step a line, so that two versions of a program can be compared as text. Numbers are
bit-exact: floats in hexadecimal, arrays as base64 of little-endian bytes. Values are numbered
in the order inputs, leaves, steps. Nothing in the file is code.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import sympy as sp

from ...errors import DataError
from ..base.argument_checks import as_path
from ..base.size_text import relation_text, size_text
from ..base.sizes import Dim, Dimension
from ..graph import Body, Constant, Input, Iota, Literal, Node, SizeOf
from ..op import Bodied
from ._steps import Steps, body_program

FORMAT, VERSION = "symgrad program", 2


def save(program: Steps, path: str | os.PathLike[str]) -> None:
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
    target = as_path(path, "save: path")
    text = to_json(program)
    fresh = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def to_json(program: Steps) -> str:
    """Return ``program`` as JSON text.

    Raises
    ------
    DataError
        If a size or a parameter is of a kind that the format does not have.
    """
    symbols = {s for s in program.sizes if isinstance(s, Dim)}
    fields: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": program.fingerprint,
        "sizes": {s.name: s.hint for s in program.sizes if s in symbols},
        **_graph(program),
        **({"conditions": _numbers(program, program.conditions)} if program.conditions else {}),
        "guards": [[relation_text(g), truth] for g, truth in program.guards.items()],
    }
    return "{\n" + ",\n".join(f'"{k}": {_text(v)}' for k, v in fields.items()) + "\n}\n"


def _graph(program: Steps) -> dict[str, Any]:
    """Return the graph of a program or a body; values are numbered in this order."""
    return {
        "inputs": [_input(n) for n in program.inputs],
        "leaves": [_leaf(n) for n in program.leaves],
        "steps": [_step(n, program) for n in program.steps],
        "outputs": _numbers(program, program.outputs),
    }


def _numbers(program: Steps, nodes: Iterable[Node]) -> list[int]:
    return [program.numbers[x] for x in nodes]


def _text(value: Any) -> str:
    if isinstance(value, list) and any(isinstance(v, dict) for v in value):
        return "[\n" + ",\n".join(json.dumps(v) for v in value) + "\n]"
    return json.dumps(value)


def _size(dim: Dimension) -> int | str:
    return dim if isinstance(dim, int) else size_text(dim)


def _shape(node: Node) -> list[int | str]:
    return [_size(d) for d in node.shape]


def _input(node: Input) -> dict[str, Any]:
    fields = {"name": node.name, "dtype": node.dtype.name, "shape": _shape(node)}
    return fields if node.dim is None else {**fields, "size": size_text(node.dim)}


def _leaf(node: Node) -> dict[str, Any]:
    if isinstance(node, Literal):
        return {"kind": "literal", "dtype": node.dtype.name, "value": number_to_json(node.value)}
    if isinstance(node, Constant):
        little = node.array.astype(node.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(little.tobytes()).decode("ascii")
        return {"kind": "constant", "dtype": node.dtype.name, "shape": _shape(node), "data": data}
    if isinstance(node, SizeOf):
        return {"kind": "size", "dtype": node.dtype.name, "size": _size(node.size)}
    if isinstance(node, Iota):
        return {"kind": "range", "size": _size(node.size)}
    raise DataError(f"a leaf of kind {node.op.name} cannot be saved")


def _step(node: Node, program: Steps) -> dict[str, Any]:
    operands = _numbers(program, node.operands)
    fields: dict[str, Any] = {"op": node.op.name, "operands": operands}
    if node.items:
        fields["params"] = {k: _param(v) for k, v in node.items}
    if not isinstance(node.op, Bodied):  # the others are no values themselves
        fields |= {"dtype": node.dtype.name, "shape": _shape(node)}
    where = program.lines.get(node)
    if where is not None:
        fields["line"] = [os.path.basename(where.filename), where.line, where.function]
    return fields


def _param(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_param(v) for v in value]
    if isinstance(value, Body):
        return {"body": _graph(body_program(value))}
    if isinstance(value, sp.Basic):
        return {"size": size_text(value)}
    if value is None or type(value) in (bool, int, str):
        return value
    raise DataError(f"a parameter of type {type(value).__name__} cannot be saved: {value!r:.60}")


def number_to_json(value: Any) -> int | bool | str:
    """Return a NumPy scalar as JSON: floats as hexadecimal text, nan with its bits."""
    if value.dtype.kind != "f":
        return bool(value) if value.dtype.kind == "b" else int(value)
    if np.isnan(value):
        bits = np.asarray(value).astype(value.dtype.newbyteorder(">"))
        return f"nan:{bits.tobytes().hex()}"
    return float(value).hex()
