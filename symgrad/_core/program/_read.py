"""Programs as JSON: reading, with every field checked. No code runs.

A file may be damaged, foreign or made by hand to do harm. So text becomes sizes through a
whitelist, ops come from the registry alone, nodes obey the laws before they are made (equal
nodes are shared by all programs of the process), and the whole is checked like any program.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ...errors import ArgumentError, CycleError, DataError
from ..base.argument_checks import shown
from ..base.size_text import parse_relation, parse_size
from ..base.sizes import Dim, Dimension, Shape, as_expr, hint, recording
from ..base.state import within
from ..graph import Body, Constant, Input, Iota, Literal, Node, SizeOf, Where, apply, printable
from ..graph._laws import RULE_ERRORS, Draft, broken_law, shape_by_rule
from ..graph._types import SUPPORTED, TOKEN
from ..op import Bodied, registry
from ._json import FORMAT, VERSION
from ._kahn import kahn

TYPES = {dtype.name: dtype for dtype in SUPPORTED}
LARGEST = 2**62
DEPTH = 8
#: Processor time that the sizes of a file may take; those of real programs take milliseconds.
SECONDS = 10.0
#: NumPy has no arrays of more axes; none has more bytes than can be counted.
MOST_AXES, MOST_ELEMENTS = 64, 2**58
#: Names of sizes are the tracer's. They are names in a program's source, too.
SIZE_NAME = re.compile(r"[a-z][0-9]{0,9}", re.ASCII)
#: What a rule or SymPy may raise of a program that makes no sense.
SENSELESS = (*RULE_ERRORS, ArithmeticError, RecursionError, NotImplementedError)


@dataclass(frozen=True)
class Saved:
    """What a file holds, as the fields of a program."""

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Node, ...]
    levels: tuple[int, ...]
    guards: dict[sp.Basic, bool]
    conditions: tuple[Node, ...]
    fingerprint: str
    #: What its steps rely on.
    needed: dict[sp.Basic, bool]


def from_json(text: str) -> Saved:
    """Return the fields of the program that ``text`` holds.

    Raises
    ------
    DataError
        Naming the field that is wrong.
    CycleError
        If steps need each other in a circle.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise ArgumentError(f"from_json takes the text of a program, not {shown(text)}")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"no symgrad program: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DataError(f'no symgrad program: it has no field "format": "{FORMAT}"')
    if data.get("version") != VERSION:
        raise DataError(
            f"the program is saved in version {data.get('version')!r:.20} of the format; "
            f"this symgrad reads version {VERSION}"
        )
    try:
        with recording() as needed:
            return _Reader(data).saved(needed)
    except (DataError, CycleError):
        raise
    except SENSELESS as error:  # of an input or a leaf: steps are named
        raise DataError(f"no sound program: {error!r:.200}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


class _Reader:
    def __init__(
        self, data: dict[str, Any], symbols: dict[str, sp.Symbol] | None = None, depth: int = 0
    ) -> None:
        self.data, self.depth = data, depth
        self.symbols: dict[str, sp.Symbol] = {} if symbols is None else symbols
        self.parsed: dict[str, Dimension] = {}
        self.spent = [0.0]
        self.nodes: list[Node] = []
        self.from_inputs: set[Node] = set()

    def saved(self, needed: dict[sp.Basic, bool]) -> Saved:
        for name, value in self.field("sizes", dict).items():
            if not SIZE_NAME.fullmatch(name) or type(value) is not int or not 0 < value < LARGEST:
                raise DataError(f"sizes: {name!r:.40} = {value!r:.40} is no name with a number")
            self.symbols[name] = Dim(name, value)
        inputs, outputs, steps, levels = self.graph()
        guards = self.field("guards", list)
        conditions = self.conditions()
        return Saved(
            tuple(inputs), tuple(outputs), tuple(steps), tuple(levels),
            dict(self.guard(pair) for pair in guards), conditions,
            str(self.field("fingerprint", str)), needed,
        )  # fmt: skip

    def graph(self) -> tuple[list[Input], list[Node], list[Node], list[int]]:
        """Make the nodes; return the inputs, the outputs, the steps and their levels."""
        inputs = [self.input(k, x) for k, x in enumerate(self.records("inputs"))]
        self.nodes += inputs
        self.from_inputs |= set(inputs)
        self.nodes += [self.leaf(k, x) for k, x in enumerate(self.records("leaves"))]
        steps, levels = self.steps(self.records("steps"))
        self.nodes += steps
        outputs = [self.node(k, "outputs") for k in self.field("outputs", list)]
        return inputs, outputs, steps, levels

    def conditions(self) -> tuple[Node, ...]:
        numbers = self.data.get("conditions", [])
        if not isinstance(numbers, list):
            raise DataError(f"conditions: {numbers!r:.40} is no list")
        found = tuple(self.node(k, "conditions") for k in numbers)
        if any(x.dtype != np.bool_ or x.shape for x in found):
            raise DataError("conditions: one of them is no truth value")
        return found

    def body(self, data: Any, what: str) -> Body:
        """Make the body of a loop or a branch."""
        if not isinstance(data, dict) or self.depth >= DEPTH:
            raise DataError(f"{what}: its body is no graph, or nested too deeply")
        reader = _Reader(data, self.symbols, self.depth + 1)
        reader.parsed, reader.spent = self.parsed, self.spent
        try:
            inputs, outputs, _, _ = reader.graph()
        except DataError as error:
            raise DataError(f"{what}: in its body: {error}") from None
        if any(x.dim is not None for x in inputs):
            raise DataError(f"{what}: an input of its body is a size")
        return Body(inputs, outputs)

    # ---------------------------------------------------------------- fields

    def field(self, name: str, kind: type) -> Any:
        return _get(self.data, name, kind, "the file")

    def records(self, name: str) -> list[dict[str, Any]]:
        found: list[Any] = self.field(name, list)
        for k, record in enumerate(found):
            if not isinstance(record, dict):
                raise DataError(f"{name}[{k}] is no record of named fields")
        return found

    def size(self, value: Any, what: str) -> Dimension:
        if type(value) is int and 0 <= value < LARGEST:
            return value
        if not isinstance(value, str):
            raise DataError(f"{what}: {value!r:.40} is no size")
        if value not in self.parsed:
            start = time.thread_time()
            try:
                found = parse_size(value, self.symbols)
                if abs(hint(found)) >= LARGEST:
                    raise DataError(f"{value!r:.80} is no size: it is too large")
            except DataError as error:
                raise DataError(f"{what}: {error}") from None
            except SENSELESS as error:
                raise DataError(f"{what}: {value!r:.80} is no number: {error!r:.80}") from None
            self.parsed[value] = found
            self.spent[0] += time.thread_time() - start
            if self.spent[0] > SECONDS:
                raise DataError(
                    f"{what}: the sizes up to {value!r:.40} took over {SECONDS} s to read"
                )
        return self.parsed[value]

    def shape(self, record: Mapping[str, Any], what: str) -> Shape:
        sizes = _get(record, "shape", list, what)
        shape = tuple(self.size(d, what) for d in sizes)
        elements = math.prod(max(1, abs(hint(d))) for d in shape[:MOST_AXES])
        if len(shape) > MOST_AXES or elements > MOST_ELEMENTS:
            raise DataError(f"{what}: no array has the shape {sizes!r:.60}")
        return shape

    def node(self, number: Any, what: str) -> Node:
        if type(number) is not int or not 0 <= number < len(self.nodes):
            raise DataError(f"{what}: there is no value number {number!r:.40}")
        return self.nodes[number]

    def guard(self, pair: Any) -> tuple[sp.Basic, bool]:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) is not bool:
            raise DataError(f"guards: {pair!r:.60} is no relation with its truth")
        return parse_relation(pair[0], self.symbols), pair[1]

    # ---------------------------------------------------------------- leaves

    def input(self, k: int, record: Mapping[str, Any]) -> Input:
        what = f"inputs[{k}]"
        name = _get(record, "name", str, what)
        if not name.isidentifier():
            raise DataError(f"{what}: {name!r:.40} is no name")
        dim = self.size(record["size"], what) if "size" in record else None
        if not (dim is None or isinstance(dim, sp.Symbol)):
            raise DataError(f"{what}: {dim} is no size symbol")
        return Input(name, self.shape(record, what), _dtype(record, what), dim)

    def leaf(self, k: int, record: Mapping[str, Any]) -> Node:
        what = f"leaves[{k}]"
        kind = record.get("kind")
        if kind == "literal":
            dtype = _dtype(record, what)
            return Literal(number_from_json(record.get("value"), dtype, what), dtype)
        if kind == "constant":
            return Constant(_array(record, _dtype(record, what), what))
        if kind == "size":
            dim = self.size(record.get("size"), what)
            return SizeOf(as_expr(dim), _dtype(record, what))
        if kind == "range":
            return Iota(self.shape({"shape": [record.get("size")]}, what)[0])
        raise DataError(f"{what}: {kind!r:.40} is no kind of leaf")

    # ---------------------------------------------------------------- steps

    def steps(self, records: list[dict[str, Any]]) -> tuple[list[Node], list[int]]:
        """Make the steps' nodes; they must stand in order, and not in a circle."""
        first = len(self.nodes)
        needs = []
        for k, record in enumerate(records):
            numbers = _get(record, "operands", list, f"steps[{k}]")
            for n in numbers:
                if type(n) is not int or not 0 <= n < first + len(records):
                    raise DataError(f"steps[{k}]: there is no value number {n!r:.40}")
            needs.append([n - first for n in numbers if n >= first])

        def name(k: int) -> str:
            return f"steps[{k}] ({printable(str(records[k].get('op')))[:40]})"

        try:
            kahn(range(len(records)), needs.__getitem__, name)
        except CycleError as error:
            raise CycleError(str(error).replace("the graph", "the saved program")) from None
        made: list[Node] = []
        levels: list[int] = []
        for k, record in enumerate(records):
            late = next((n for n in needs[k] if n >= k), None)
            if late is not None:
                raise DataError(f"{name(k)} needs {name(late)}, which comes after it")
            numbers = record["operands"]
            operands = tuple(made[n - first] if n >= first else self.nodes[n] for n in numbers)
            try:
                made.append(self.step(record, operands, name(k)))
            except DataError:
                raise
            except SENSELESS as error:
                raise DataError(f"{name(k)}: it makes no sense: {error!r:.200}") from None
            levels.append(max((levels[n] + 1 for n in needs[k]), default=0))
        return made, levels

    def step(self, record: dict[str, Any], operands: tuple[Node, ...], what: str) -> Node:
        op = registry.named(_get(record, "op", str, what))
        if op is None:
            raise DataError(
                f"{what}: there is no such op; if it is one of your own, define it before "
                "loading, else the file needs a newer symgrad"
            )
        params = _get({"params": {}, **record}, "params", dict, what)
        items = tuple(sorted((k, self.param(v, what, 0)) for k, v in params.items()))
        shape: Shape = ()
        dtype = TOKEN
        if not isinstance(op, Bodied):
            shape, dtype = self.shape(record, what), _dtype(record, what)
        draft = Draft(op, operands, items, shape, dtype)
        broken = broken_law(draft)
        if broken is not None:
            raise DataError(f"{what} breaks the law {broken[0]!r}: {broken[1]}")
        fresh = any(x in self.from_inputs for x in operands)
        if not fresh and shape != shape_by_rule(draft):
            # Other programs may share this node, so its shape is the rule's to the letter.
            raise DataError(f"{what}: its shape is not written as the shape rule gives it")
        line = _line(record, what)
        with within(where=line):
            node = apply(op, operands, items, shape, dtype)
        if fresh:
            self.from_inputs.add(node)
            node.where = line
        return node

    def param(self, value: Any, what: str, depth: int) -> Any:
        if isinstance(value, list) and depth < DEPTH:
            return tuple(self.param(v, what, depth + 1) for v in value)
        if isinstance(value, dict) and set(value) == {"size"}:
            return self.size(value["size"], what)
        if isinstance(value, dict) and set(value) == {"body"}:
            return self.body(value["body"], what)
        if type(value) is int and abs(value) >= LARGEST:
            raise DataError(f"{what}: the number {value!r:.30} in a parameter is too large")
        if value is None or type(value) in (bool, int, str):
            return value
        raise DataError(f"{what}: {value!r:.40} is no parameter")


# ---------------------------------------------------------------- values


def _get(record: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    if name not in record:
        raise DataError(f"{what} has no field {name!r}")
    value = record[name]
    if type(value) is not kind:
        raise DataError(f"{what}: {name!r} is {value!r:.40}, not of type {kind.__name__}")
    return value


def _dtype(record: Mapping[str, Any], what: str) -> np.dtype[Any]:
    name = _get(record, "dtype", str, what)
    if name not in TYPES:
        raise DataError(f"{what}: {name!r:.40} is no element type that symgrad computes in")
    return TYPES[name]


def _line(record: Mapping[str, Any], what: str) -> Where | None:
    line = record.get("line")
    if line is None:
        return None
    if not isinstance(line, list) or [type(x) for x in line] != [str, int, str]:
        raise DataError(f"{what}: {line!r:.60} is no file name, line number and function")
    name, number, function = line
    if not 0 <= number < LARGEST:
        raise DataError(f"{what}: {number!r:.40} is no line number")
    return Where(printable(os.path.basename(name)), number, printable(function))


def number_from_json(value: Any, dtype: np.dtype[Any], what: str) -> Any:
    """Return the NumPy scalar that ``number_to_json`` wrote."""
    try:
        if dtype.kind == "f" and type(value) is str:
            if value.startswith("nan:"):
                bits = np.frombuffer(bytes.fromhex(value[4:]), dtype.newbyteorder(">"))
                [number] = bits.astype(dtype)
                if np.isnan(number):
                    return number
            else:
                exact = float.fromhex(value)
                number = dtype.type(exact)
                if float(number) == exact:
                    return number
        elif type(value) is (bool if dtype.kind == "b" else int) and dtype.kind != "f":
            return dtype.type(value)
    except (ValueError, OverflowError):
        pass
    raise DataError(f"{what}: {value!r:.40} is no number of type {dtype}")


def _array(record: Mapping[str, Any], dtype: np.dtype[Any], what: str) -> Any:
    shape = _get(record, "shape", list, what)
    countable = len(shape) <= MOST_AXES and all(
        type(d) is int and 0 <= d < MOST_ELEMENTS for d in shape
    )
    if not countable or math.prod(max(1, d) for d in shape) > MOST_ELEMENTS:
        raise DataError(f"{what}: {shape!r:.60} is no shape of an array")
    try:
        data = base64.b64decode(_get(record, "data", str, what), validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"{what}: its data are damaged: {error}") from None
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise DataError(f"{what}: its data have {len(data)} bytes, which is no {dtype}{shape}")
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
