"""``symgrad show``: what a function computes, its derivatives, and how they are computed."""

from __future__ import annotations

import argparse
import io
from typing import Any

from .._api._explain import explain
from .._api._export_c import export_c
from .._api._formulas import formula
from .._show import show
from .._symbolic import LATE
from . import _target
from ._output import Output

SAYS = "print a function's formula and derivatives, or how they are computed"

EXAMPLES = f"""{_target.HELP}

examples:
  symgrad show model.py:energy --args "rand(5)" 2.0
  symgrad show model.py:energy --args "rand(5)" 2.0 --wrt x --order 2
  symgrad show model.py:energy --args "rand(5)" 2.0 --latex
  symgrad show "x*sin(x)" --args 1.0 --explain    the chain rule, step by step
  symgrad show model.py:energy --args "rand(5)" 2.0 --stages
  symgrad show model.py:energy --args "rand(5)" 2.0 --c > energy.c"""


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    _target.add_target(command)
    _target.add_wrt(command)
    stages = "every stage of the compiler"
    _target.add_forms(command, explain="the derivation, step by step", stages=stages)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    target = _target.load(options.target)
    f, output = target.function, Output()
    # What a formula is, and its derivatives, do not depend on the numbers.
    arguments = _target.arguments(options.args or ["1.0"] * len(target.symbols))
    names = _target.matched(f, arguments)
    wrt = _target.chosen(options.wrt, names, arguments)
    if options.stages:
        page = io.StringIO()
        show(_target.value_and_gradient(f, wrt), *arguments, file=page)
        output.sections(page.getvalue().rstrip("\n"))
    elif options.explain:
        _explained(f, arguments, wrt, output)
    elif options.c or options.program:
        made = _target.value_and_gradient(f, wrt)
        if options.c:
            output.code(export_c(made, *arguments), "c")
        else:
            output.code(made.program(*arguments).source("value_and_gradient"), "python")
    else:
        _formulas(f, arguments, wrt, options, output)
    return 0


def _explained(f: Any, arguments: list[Any], wrt: list[int], output: Output) -> None:
    for number, k in enumerate(_target.some(wrt)):
        if number:
            output.text("")
        output.sections(str(explain(f, *arguments, wrt=k)))


def _formulas(
    f: Any, arguments: list[Any], wrt: list[int], options: argparse.Namespace, output: Output
) -> None:
    found = [formula(f, *arguments)]
    # First derivatives each by itself, second ones with the mixed ones among them.
    several = wrt if options.order == 1 else [wrt] * bool(wrt)
    found += [formula(f, *arguments, wrt=k, order=options.order) for k in several]
    for number, one in enumerate(found):
        if number and not options.latex:
            output.text("")
        if options.latex:
            output.text(one.latex())
        elif options.pretty:
            output.text(one.pretty())
        else:
            output.equations(one.rows())
            for note in one.notes:
                output.text(f"({note})", "dim")
            if one.gave_up:
                output.text(f"({LATE})", "yellow")
    if not wrt:
        output.text("(there is no real argument to differentiate by: write 2.0, not 2)", "yellow")
