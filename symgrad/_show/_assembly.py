"""LLVM assembly for people: the code of the first tasks, the rest counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Lines of code shown of one function, and functions shown.
LINES, FUNCTIONS = 40, 2

_FUNCTION = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"@([\w.]+)\(")


def assembly_lines(text: str, prefix: str) -> Iterator[str]:
    """Yield the lines to show of a module; ``prefix`` is left out of its functions' names."""
    functions: list[str] = _FUNCTION.findall(text)
    tasks = [f for f in functions if f"@{prefix}.task" in f.split("\n", 1)[0]]
    for function in tasks[:FUNCTIONS]:
        lines = function.replace(f"{prefix}.", "").split("\n")
        yield from lines[:LINES]
        if len(lines) > LINES:
            yield f"  ; ... {len(lines) - LINES} more lines"
        yield ""
    shown = set(tasks[:FUNCTIONS])
    for function in functions:
        if function not in shown:
            name = _NAME.search(function)
            called = name.group(1).removeprefix(f"{prefix}.") if name else "?"
            yield f"; @{called}: {function.count(chr(10)) - 1} lines"
