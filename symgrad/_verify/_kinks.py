"""Where a derivative does not exist, or a convention was used, within a domain.

The records say it all: the SymPy form of an op has *switches*, quantities whose sign decides
between branches; its domain says for which operands the rule holds; its convention what is
returned where there is no derivative. Here the program's steps are looked at for all points
of a sample: a switch that has both signs among them has a kink or a jump between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._core.graph import Literal, Node, topological
from .._core.op import Words
from .._core.rewrite import is_length
from ._numbers import Digits, finite, is_nan
from ._numeric_calculus import rule_of
from ._rules import Rule
from ._steps import _floating, step_text

#: Steps, and elements of a step, that are looked at.
STEPS, ELEMENTS = 400, 8


MEANINGS = {
    "branch": "changes sides in the domain",
    "edge": "reaches the end of where its derivative exists",
    "outside": "is no real number in a part of the domain",
}


@dataclass(frozen=True)
class Kink:
    """A step with a kink, a jump or an end of its domain inside of the sampled domain.

    Attributes
    ----------
    step:
        The op and its operands as mathematics.
    where:
        The user's line.
    what:
        ``"branch"`` where a decision changes sides, ``"edge"`` where a slope is not finite,
        ``"outside"`` where the result is no real number.
    convention:
        What is returned where the derivative does not exist, in words, or None.
    at:
        How many sampled points lie exactly there.
    """

    step: str
    where: str | None
    what: str
    convention: str | None
    at: int

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        text = f"{self.step}{place}: {MEANINGS[self.what]}"
        if self.convention:
            text += f"; {self.convention}"
        if self.at:
            text += f" ({self.at} sampled {'point' if self.at == 1 else 'points'} there)"
        return text


def kinks(
    outputs: Sequence[Node], runs: Sequence[Mapping[Node, np.ndarray[Any, Any]]]
) -> list[Kink]:
    """Return the steps behind ``outputs`` that have a kink between the sampled points.

    Parameters
    ----------
    outputs:
        Nodes of the function's graph, before any pass.
    runs:
        The values of its inputs, for each point.
    """
    order = topological(outputs)[:STEPS]
    context = Digits(20)
    values: list[dict[Node, Any]] = []
    for inputs in runs:
        known: dict[Node, Any] = {}
        for node in order:
            if all(x in known for x in node.operands):
                value = _floating(node, inputs, known)
                if value is not None:
                    known[node] = value
        values.append(known)
    used = [_used(outputs, order, known) for known in values]
    found: dict[tuple[str, str | None], Kink] = {}
    for node in order:
        # Of a choice, the condition is what decides.
        decides = any(x.dtype.kind == "f" for x in node.operands) and all(
            x.dtype.kind != "b" for x in node.operands
        )
        kink = None
        if node.op.kind != "map":
            kink = _choice(node, values)
        elif node.op.sympy is not None and decides:
            kink = _kink(context, node, values, used)
        if kink is not None:
            found.setdefault((kink.step, kink.where), kink)
    return list(found.values())


def _choice(node: Node, values: Sequence[Mapping[Node, Any]]) -> Kink | None:
    """Return the kink of an op on whole arrays that picks elements: which ones it picks changes."""
    if not any(x.dtype.kind == "f" for x in node.operands):
        return None
    picks = set()
    for known in values:
        if node not in known:
            continue
        if node.dtype.kind in "iu":
            picks.add(np.asarray(known[node]).tobytes())
        elif node.op.taken is not None and node.op.kind == "reduce":
            with np.errstate(all="ignore"):
                operands = [known[x] for x in node.operands]
                pairs = node.op.taken(known[node], *operands, **node.params)
            masks = [np.asarray(p[0]).tobytes() for p in pairs if p is not None]
            picks.add(b"".join(masks))
    if len(picks) < 2:
        return None
    where = str(node.where) if node.where else None
    return Kink(step_text(node), where, "branch", Words.of(node.op).convention, 0)


def _used(
    outputs: Sequence[Node], order: Sequence[Node], known: Mapping[Node, Any]
) -> dict[Node, np.ndarray[Any, Any]]:
    """Return which elements of the steps a result depends on: not those of untaken branches."""
    found = {x: np.ones(np.shape(known[x]), bool) for x in outputs if x in known}
    for node in reversed(order):
        mask, op = found.get(node), node.op
        if mask is None:
            continue
        operands = [known[x] for x in node.operands]
        chosen: Sequence[Any] = [None] * len(operands)
        if op.taken is not None and op.kind == "map":
            with np.errstate(all="ignore"):
                chosen = op.taken(known[node], *operands, **node.params)
        for x, value, pair in zip(node.operands, operands, chosen, strict=True):
            part = mask if pair is None else mask & (np.asarray(pair[0]) == pair[1])
            shape = np.shape(value)
            if op.kind == "map":
                part = _summed(part, shape)
            elif op.kind == "view" and len(operands) == 1:
                part = _seen(node, part, shape)
            else:  # a sum or a product of elements is used where any of it is
                part = np.full(shape, part.any())
            found[x] = found[x] | part if x in found else part
    return found


def _seen(node: Node, mask: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return which elements of its operand a view shows where ``mask`` is true."""
    places = np.arange(math.prod(shape)).reshape(shape)
    found = np.zeros(places.size, bool)
    found[np.asarray(node.op.evaluate(places, **node.params))[mask]] = True
    return found.reshape(shape)


def _summed(mask: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return where any of the elements is true that an operand's element was broadcast to."""
    lead = mask.ndim - len(shape)
    axes = [k for k in range(mask.ndim) if k < lead or shape[k - lead] == 1]
    return np.reshape(mask.any(axis=tuple(axes)), shape)


def _kink(
    context: Any, node: Node, values: Sequence[Mapping[Node, Any]],
    used: Sequence[Mapping[Node, np.ndarray[Any, Any]]],
) -> Kink | None:  # fmt: skip
    rule = _rule(node)
    below = above = at = ends = outside = 0
    for known, live in zip(values, used, strict=True):
        if any(x not in known for x in node.operands):
            continue
        operands = np.broadcast_arrays(*(known[x] for x in node.operands))
        needed = live.get(node, np.ones(operands[0].shape, bool))
        for place in [p for p in np.ndindex(*operands[0].shape) if needed[p]][:ELEMENTS]:
            numbers = [_exact(context, x[place]) for x in operands]
            signs = _signs(context, rule, numbers)
            below += -1 in signs
            above += 1 in signs
            at += 0 in signs
            ends += _has_no_slope(context, rule, numbers)
            outside += all(map(finite, numbers)) and _is_nan(context, rule, numbers)
    where = str(node.where) if node.where else None
    if outside:
        return Kink(step_text(node), where, "outside", None, outside)
    if (below and above) or at:
        return Kink(step_text(node), where, "branch", Words.of(node.op).convention, at)
    if ends:
        convention = "derivative 0 at 0" if is_length(node) else Words.of(node.op).convention
        return Kink(step_text(node), where, "edge", convention, ends)
    return None


def _rule(node: Node) -> Rule:
    def kind(x: Node) -> str:
        return x.dtype.kind if x.dtype.kind in "bf" else "i"

    known = tuple(
        (k, sp.nsimplify(x.value.item(), rational=True))
        for k, x in enumerate(node.operands)
        if isinstance(x, Literal) and x.dtype.kind != "b" and np.isfinite(x.value)
    )
    return rule_of(node.op, node.items, "".join(map(kind, node.operands)), kind(node), known)


def _signs(context: Any, rule: Rule, numbers: Sequence[Any]) -> set[int]:
    """Return the signs of the switches; whole ones have none but where they jump."""
    found = set()
    for gap, whole, _ in rule.switches:
        value = gap(context, numbers)
        if not finite(value):
            continue
        if whole:
            found |= {0} if value == context.floor(value) else set()
        else:
            found.add(0 if value == 0 else 1 if value > 0 else -1)
    return found


def _has_no_slope(context: Any, rule: Rule, numbers: Sequence[Any]) -> bool:
    """Tell whether a derivative of the formula is not finite at finite operands."""
    return all(map(finite, numbers)) and any(
        slope is not None and not finite(slope(context, numbers)) for slope in rule.slopes
    )


def _is_nan(context: Any, rule: Rule, numbers: Sequence[Any]) -> bool:
    value = rule.value(context, numbers)
    return not isinstance(value, bool) and is_nan(value)


def _exact(context: Any, value: Any) -> Any:
    return context.mpf(float(value)) if value.dtype.kind == "f" else value.item()
