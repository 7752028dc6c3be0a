"""A program as one function in C99."""

from __future__ import annotations

import re
from collections import Counter

from .._core.base.sizes import MOST_BYTES
from .._core.graph import Constant, Node, topological
from .._core.lowering import computed, sizes_of, unsure
from .._core.program import Program
from ._blocks import Block, Memory, legal_program
from ._instructions import TYPES, Writer, constant, number_text
from ._loops import kept_steps
from ._signature import Signature, guard_text

#: Constants of so many elements a line.
PER_LINE = 8
#: What a function does whose values take another branch.
OTHER = "return 3;"


def c_source(program: Program, name: str = "program", title: str = "") -> str:
    """Return a program as standalone C99.

    Parameters
    ----------
    program:
        The program; its arguments become parameters, sizes first.
    name:
        The name of the C function.
    title:
        A line for the comment above it.

    Returns
    -------
    str
        A file with one function. It needs the C library and ``libm`` only, and returns 0, or
        1 if there was no memory, 2 if the sizes are none that the program is for, or 3 if the
        values take another branch (``if x > 0``) than the program was traced for.

    Raises
    ------
    ArgumentError
        If ``name`` is no name in C.
    UnsupportedError
        If the program contains an op that C does not have: a function of SciPy, a factorisation.
    """
    return _Function(program, Signature(program, name, title)).text()


#: Makes room for what loops without a known length write down: twice as much each time.
GROW = """
static void *{name}_grow(void *memory, ptrdiff_t *room, ptrdiff_t bytes)
{{
    if (memory && *room >= bytes) return memory;
    *room = *room > 0 ? *room : 512;
    while (*room < bytes) *room *= 2;
    return realloc(memory, (size_t)*room);
}}

"""


class _Function:
    def __init__(self, program: Program, signature: Signature) -> None:
        self.program, self.signature = legal_program(program), signature
        self.names, self.memory = signature.inputs, Memory(signature)
        kept = kept_steps(self.program.steps, self.program.outputs)
        self.targets: dict[Node, str] = {}
        for k, node in enumerate(self.program.outputs):
            if node in kept and node.shape:
                self.targets.setdefault(node, f"out{k}")

    # ---------------------------------------------------------------- the file

    def text(self) -> str:
        writer = Writer()
        block = Block(writer, self.memory, self.program, self.names, self.targets)
        block.write()
        for k, node in enumerate(self.program.outputs):
            if self.targets.get(node) != f"out{k}":
                block.loops.copy(node, f"out{k}")
        for node in self.program.conditions:
            writer.line(f"if (!{block.names[node]}) {OTHER}")
        body, writer.lines = _needed(writer.lines), []
        self._unused(writer, body)
        self._guards(writer)
        self._memory(writer, body)
        parts = [self._head(), *self._helpers(), *self._constants()]
        parts += [self.signature.prototype(), "{"]
        for numbers, table in writer.tables.items():
            lines = _array(f"double {table}", list(map(number_text, numbers)))
            parts += [f"    {line}" for line in lines]
        return "\n".join([*parts, *writer.lines, "}"]) + "\n"

    def _memory(self, writer: Writer, body: list[str]) -> None:
        """Write the body between the lines that take memory and those that give it back."""
        arrays, tapes = self.memory.arrays, self.memory.tapes
        for c, name, size in arrays:
            writer.line(f"{c} *const {name} = malloc(({size} + 1) * sizeof({c}));")
        for c, name in tapes:
            writer.line(f"{c} *{name} = NULL;")
            writer.line(f"ptrdiff_t {name}_room = 0, {name}_n = 0;")
        if not arrays and not tapes:
            writer.lines += [*body, "    return 0;"]
            return
        body = [line.replace(OTHER, "{ status = 3; goto end; }") for line in body]
        writer.line("int status = 1;")
        if arrays:
            missing = " || ".join(f"!{name}" for _, name, _ in arrays)
            writer.line(f"if ({missing}) goto end;")
        writer.line("{")
        writer.lines += [f"    {line}" if line else "" for line in body]
        writer.line("}")
        writer.line("status = 0;")
        writer.lines.append("end:")
        for name in (*(name for _, name, _ in arrays), *(name for _, name in tapes)):
            writer.line(f"free({name});")
        writer.line("return status;")

    def _helpers(self) -> list[str]:
        return GROW.format(name=self.signature.name).split("\n")[:-1] if self.memory.tapes else []

    def _head(self) -> str:
        headers = ("math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h")
        return "\n".join([*(f"#include <{h}>" for h in headers), "", self.signature.comment()])

    def _constants(self) -> list[str]:
        lines = []
        for node, name in self.memory.constants.items():
            assert isinstance(node, Constant)
            c, values = TYPES[node.dtype.name], [constant(v) for v in node.array.ravel()]
            lines += [*_array(f"{c} {name}", values), ""]
        return lines

    def _unused(self, writer: Writer, body: list[str]) -> None:
        """Say of parameters that nothing depends on that this is so: compilers ask."""
        words = set(re.findall(r"\w+", "\n".join(body)))
        words |= {str(s) for relation in self.program.guards for s in relation.free_symbols}
        words |= {size for _, _, size in self.memory.arrays for size in re.findall(r"\w+", size)}
        numbers = {
            self.program.inputs[k] for k, axis in self.program.sizes.values() if axis is None
        }
        sizes = [str(s) for s, (_, axis) in self.program.sizes.items() if axis is not None]
        inputs = [self.names[x] for x in self.program.inputs if x not in numbers]
        for name in (*sizes, *inputs):
            if name not in words:
                writer.line(f"(void){name};")

    def _guards(self, writer: Writer) -> None:
        """Read sizes that are arguments, and refuse sizes that the program is not for."""
        for symbol, (k, axis) in self.program.sizes.items():
            if axis is None:
                source = self.names[self.program.inputs[k]]
                writer.line(f"const ptrdiff_t {symbol} = (ptrdiff_t){source};")
        self._bounds(writer)
        for relation, holds in self.program.guards.items():
            wrong = guard_text((relation, not holds))
            writer.line(f"if ({wrong}) return 2;")

    def _bounds(self, writer: Writer) -> None:
        """Refuse sizes with which positions and bytes could be more than a ptrdiff_t holds."""
        program = self.program
        nodes = [*program.nested_steps(), *topological((*program.outputs, *program.conditions))]
        terms = [
            "*".join([repr(float(c)), *(f"(double){s}" for s, p in m for _ in range(p))])
            for m, c in unsure(
                program, [*computed(program, program.outputs), *sizes_of(nodes), *self.memory.bytes]
            ).items()
        ]
        if terms:
            writer.line(f"if ({' + '.join(terms)} >= {float(MOST_BYTES)!r}) return 1;")


def _array(name: str, values: list[str]) -> list[str]:
    """Return the lines that define a constant array."""
    rows = range(0, len(values), PER_LINE)
    inside = [f"    {', '.join(values[k : k + PER_LINE])}," for k in rows] or ["    0,"]
    return [f"static const {name}[{max(len(values), 1)}] = {{", *inside, "};"]


def _needed(lines: list[str]) -> list[str]:
    """Return the lines without temporary values that no other line reads."""
    count = Counter(re.findall(r"\w+", "\n".join(lines)))
    kept = []
    for line in reversed(lines):
        made = re.fullmatch(r" *const \w+ (t\d+) = .*;", line)
        if made is not None and count[made[1]] == 1:
            count.subtract(re.findall(r"\w+", line))
        else:
            kept.append(line)
    return kept[::-1]
