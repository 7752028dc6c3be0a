"""Loops that are left early, as loops that are not: ``break`` and its kin as variables.

    for i in range(n):            k, done, left = 0, False, False
        x = step(x)               while not done and k < n:
        if far(x):                    i = k; k = k + 1
            continue                  x = step(x)
        if near(x):                   if far(x): pass
            return x                  else:
        y = x                             if near(x): left = True; done = True
    raise error                           else: y = x
                                  if left: return x
                                  raise error

What is returned or raised is computed after the loop, whose variables are then as they were when
it was left.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from ._statements import binds, counts, located, walk

_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Raise)
_LOOPS = (ast.For, ast.While)


def jumps(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether a loop of these statements is left early, or a step of it."""
    nodes = list(walk(statements))
    within = [n for loop in nodes if isinstance(loop, _LOOPS) for n in walk(loop.body)]
    return any(
        isinstance(n, _JUMPS) and not (isinstance(n, (ast.Break, ast.Continue)) and n in within)
        for n in nodes
    )


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether statements always end by a jump."""
    last = statements[-1] if statements else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, _JUMPS)


def without_jumps(
    loop: ast.For | ast.While, name: Callable[[str], str], tail: bool
) -> list[ast.stmt] | None:
    """Return statements for a loop that is left early; None for one that is none, or is kept.

    Parameters
    ----------
    loop:
        The loop.
    name:
        Makes names of variables.
    tail:
        Whether the function may return after the loop.
    """
    if isinstance(loop, ast.While) and binds(loop.test) and not loop.orelse:
        # Names are given within the loop: ``while True``, of which the test is the first step.
        stop = ast.If(ast.UnaryOp(ast.Not(), loop.test), [located(ast.Break(), loop)], [])
        loop = ast.While(ast.Constant(True), [located(stop, loop), *loop.body], [])
        loop = located(loop, stop)
    if not jumps(loop.body) or (isinstance(loop, ast.For) and not counts(loop)):
        return None
    made = _Loop(loop, name)
    body = made.block(loop.body)
    if body is None or (made.after and not tail):
        return None
    return made.whole(body)


class _Loop:
    def __init__(self, loop: ast.For | ast.While, name: Callable[[str], str]) -> None:
        self.loop, self.name, self.done = loop, name, name("done")
        self.flags: list[str] = [self.done]
        self.after: list[ast.stmt] = []

    def set(self, name: str, value: bool, like: ast.AST) -> ast.stmt:
        stored = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
        made: ast.stmt = located(stored, like)
        return made

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        """Return the statements without jumps; None if there is one that stays."""
        made: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(s, ast.Continue):
                return [*made, located(ast.Pass(), s)]
            if isinstance(s, ast.Break):
                return [*made, self.set(self.done, True, s)]
            if isinstance(s, (ast.Return, ast.Raise)):
                flag = self.name("left")
                self.flags.append(flag)
                test = ast.Name(flag, ast.Load())
                self.after.append(located(ast.If(test, [copy.deepcopy(s)], []), s))
                return [*made, self.set(flag, True, s), self.set(self.done, True, s)]
            if not jumps([s]):
                made.append(s)
                continue
            if isinstance(s, _LOOPS):
                inner = without_jumps(s, self.name, tail=True)
                follows = None if inner is None else self.block([*inner, *rest])
                return None if follows is None else [*made, *follows]
            if not isinstance(s, ast.If):
                return None
            sides = [self.block([*x, *([] if _ends(x) else copy.deepcopy(rest))])
                     for x in (s.body, s.orelse)]  # fmt: skip
            body, orelse = sides
            if body is None or orelse is None:
                return None
            body = body or [located(ast.Pass(), s)]
            return [*made, located(ast.If(s.test, body, orelse), s)]
        return made

    def whole(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the loop of these statements, with what goes before and comes after."""
        loop = self.loop
        going: ast.expr = ast.UnaryOp(ast.Not(), ast.Name(self.done, ast.Load()))
        before = [self.set(flag, False, loop) for flag in self.flags]
        if isinstance(loop, ast.While):
            endless = isinstance(loop.test, ast.Constant) and loop.test.value
            test = going if endless else ast.BoolOp(ast.And(), [going, loop.test])
        else:
            assert isinstance(loop.iter, ast.Call)
            assert isinstance(loop.target, ast.Name)
            bounds, k, end = loop.iter.args, self.name("k"), self.name("end")
            start = ast.Constant(0) if len(bounds) == 1 else bounds[0]
            stop = bounds[min(1, len(bounds) - 1)]
            source = f"{k}, {end} = 0, 0\n{loop.target.id} = {k}\n{k} = {k} + 1"
            first, *step = ast.parse(source).body
            assert isinstance(first, ast.Assign)
            first.value = ast.Tuple([start, stop], ast.Load())
            before.append(located(first, loop))
            body = [*(located(x, loop) for x in step), *body]
            below = ast.Compare(ast.Name(k, ast.Load()), [ast.Lt()], [ast.Name(end, ast.Load())])
            test = ast.BoolOp(ast.And(), [going, below])
        made: ast.stmt = located(ast.While(test, body, []), loop)
        ended = list(self.after)
        if loop.orelse:
            test = ast.UnaryOp(ast.Not(), ast.Name(self.done, ast.Load()))
            ended.append(located(ast.If(test, loop.orelse, []), loop))
        return [*before, made, *ended]
