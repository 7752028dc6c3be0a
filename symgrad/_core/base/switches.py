"""Passes and second ways that only speed depends on, each with a name by which it is left out.

Where a result is wrong, one of them is the first suspect. ``SYMGRAD_WITHOUT`` names those that a
process leaves out, by commas, and ``symgrad bisect`` finds the one without which a script passes,
as LLVM's ``-opt-bisect-limit`` does for its passes. A process without them is slower, and right:
answers may differ by rounding, since another order of operations rounds differently.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import ArgumentError

#: What each makes faster; without it the other way is taken. In the order of the pipeline.
SWITCHES = {
    "recall": "kernels on disk are found by the function's graph, before a derivative is taken",
    "long loops": "the user's long loops and many branches are those of the program",
    "simplify": "steps of derivatives and batches are simplified as they are made",
    "arrays": "numbers that Python has computed one by one become arrays",
    "roll": "steps that Python has written out become loops again",
    "one body": "loops that are equal but for numbers have one body",
    "join": "conditions on neighbouring elements become one condition",
    "rewrite": "rules simplify the whole graph",
    "tidy": "loops and branches lose the results that nobody uses",
    "name axes": "transposed factors become letters of products",
    "unroll": "short axes of fixed length become separate values",
    "call": "long functions that come again become one body",
    "cut": "loops over assembled arrays end at the borders of the parts",
    "shift": "sums of shifted parts are read by each element, in the pass `cut`",
    "fuse": "elementwise steps over one shape share a loop",
    "recompute": "cheap steps are computed again rather than stored",
    "windows": "elements that several shifted parts add to stay in registers",
    "together": "nests that write to one array take turns, some rows at a time",
    "chunks": "long loops are cut into chunks, which threads may share",
    "lanes": "examples whose loops end at different steps run side by side, in lanes",
    "write over": "arrays that a loop carries are written where they lie",
    "reuse": "temporary arrays share memory, one after the other",
    "segments": "long bodies of loops are cut into several loops over a block",
    "merge": "functions of the machine code that are equal but for numbers become one",
}


def named(text: str) -> frozenset[str]:
    """Return the switches that a text names, by commas.

    Raises
    ------
    ArgumentError
        If there is no such switch.
    """
    names = frozenset(name.strip() for name in text.split(",")) - {""}
    if "all" in names:
        names = (names - {"all"}) | SWITCHES.keys()
    unknown = sorted(names - SWITCHES.keys())
    if unknown:
        raise ArgumentError(
            f"SYMGRAD_WITHOUT has {', '.join(unknown)}; what can be left out: all,"
            f" {', '.join(SWITCHES)}"
        )
    return names


_left_out = named(os.environ.get("SYMGRAD_WITHOUT", ""))


def is_on(name: str) -> bool:
    """Tell whether one of :data:`SWITCHES` is not left out."""
    assert name in SWITCHES, name
    return name not in _left_out


def left_out() -> str:
    """Return what is left out: kernels depend on it."""
    return ",".join(sorted(_left_out))


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Leave out some more, in all threads, of what is traced and compiled in the block."""
    global _left_out
    before = _left_out
    _left_out = before | named(",".join(names))
    try:
        yield
    finally:
        _left_out = before
