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
    functions = {_name(f, prefix): f for f in _FUNCTION.findall(text)}
    # The loop of a task that threads may share is in a part of its own.
    tasks = [
        function
        for name, function in functions.items()
        if re.fullmatch(r"task\d+(\.part)?", name) and f"{name}.part" not in functions
    ]
    for function in tasks[:FUNCTIONS]:
        lines = function.replace(f"{prefix}.", "").replace("@symgrad.", "@").split("\n")
        yield from lines[:LINES]
        if len(lines) > LINES:
            yield f"  ; ... {len(lines) - LINES} more lines"
        yield ""
    for name, function in functions.items():
        if function not in tasks[:FUNCTIONS]:
            yield f"; @{name}: {function.count(chr(10)) - 1} lines"


def _name(function: str, prefix: str) -> str:
    name = _NAME.search(function)
    return name.group(1).removeprefix(f"{prefix}.").removeprefix("symgrad.") if name else "?"
