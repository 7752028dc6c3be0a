"""Sums of tapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from .._graph import Body, Input, Node
from .._trace import Traced, as_node
from ._parts import Loop, stand_ins, tape


def merged(parts: Sequence[tuple[Sequence[Node], Any]]) -> tuple[tuple[Node], dict[str, Any]]:
    """Return the sum of tapes as a tape: a loop that adds their elements."""
    tapes = [tape(operands[0], params["index"]) for operands, params in parts]
    slices = stand_ins(tapes, "x")
    total = reduce(np.add, map(Traced, slices))
    step = Input("i", (), "int64")
    source = Loop.of(tapes[0].operands[0])
    loop = Loop((), tuple(tapes), (), Body((step, *slices), [as_node(total)]), source.length)
    return (loop.node(),), {"index": 0}
