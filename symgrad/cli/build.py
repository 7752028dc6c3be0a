"""``symgrad build``: object files, libraries and C source of functions."""

from __future__ import annotations

import argparse

from .._api._transforms import compile
from .._core.runtime import MACHINES
from ..errors import ArgumentError
from . import _target
from ._output import Output

SAYS = "make an object file (.o), a shared library (.so) or C source (.c) of a function"

EXAMPLES = f"""{_target.HELP}

examples:
  symgrad build model.py:energy --args "rand(5)" 2.0 -o energy.o
  symgrad build model.py:energy --args "rand(5)" 2.0 -o energy.o --gradient --wrt x
  symgrad build model.py:energy --args "rand(5)" 2.0 -o energy.so --target aarch64
  symgrad build "x*sin(x)" --args 1.0 -o f.c --name f

Beside the file come a header and a file for CMake to include."""


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    _target.add_target(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=".o, .so or .c")
    command.add_argument("--gradient", action="store_true", help="value and gradient")
    _target.add_wrt(command)
    command.add_argument("--target", dest="machine", metavar="CPU", help=", ".join(MACHINES))
    command.add_argument("--name", help="the name of the C function")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    target = _target.load(options.target)
    arguments = _target.arguments(options.args or ["1.0"] * len(target.symbols))
    names = _target.matched(target.function, arguments)
    function = compile(target.function)
    if options.gradient or options.wrt:
        wrt = _target.chosen(options.wrt, names, arguments)
        function = _target.value_and_gradient(target.function, wrt)
    try:
        made = function.export(
            options.output, *arguments, target=options.machine, name=options.name
        )
    except OSError as error:
        raise ArgumentError(f"{error.filename or options.output}: {error.strerror}") from error
    Output().text(" ".join(str(path) for path in made))
    return 0
