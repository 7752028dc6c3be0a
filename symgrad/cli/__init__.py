"""The command line: ``symgrad diff``, ``show``, ``verify``, ...

Each module of this package whose name has no underscore in front is one command. ``SAYS`` is what
it does and ``EXAMPLES`` how, for ``--help``; ``add(command)`` adds its arguments to a parser, and
``run(options)`` returns the exit status.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import SymgradError
from ._output import complain

_INTERVAL = re.compile(r"-[\d.][^:\s]*:")

#: Exit statuses, for scripts.
OK, MISSED, MISTAKE = 0, 1, 2

EXAMPLES = """examples:
  symgrad diff "sin(x)*exp(-y**2)"                  derivatives of a formula
  symgrad diff "sin(x)*exp(-y**2)" --wrt x --c      the same as C code
  symgrad show model.py:energy --args "rand(5)" 2.0 what a function computes, and how
  symgrad verify "x*sin(x)" --domain -3:3           a certificate over an interval

exit status: 0 as it should be; 1 a result misses its goal; 2 a mistake in the input
`symgrad COMMAND --help` has more examples."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser, with all commands."""
    top = argparse.ArgumentParser(
        prog="symgrad",
        description="Exact, fast derivatives of NumPy functions and SymPy formulas.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"symgrad {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            own = importlib.import_module(f"{__name__}.{module.name}")
            command = commands.add_parser(
                module.name, help=own.SAYS, description=own.SAYS, epilog=own.EXAMPLES,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )  # fmt: skip
            own.add(command)
            command.set_defaults(run=own.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv:
        The arguments, default ``sys.argv[1:]``.

    Returns
    -------
    int
        0 on success, 1 where a result misses its goal, 2 on a mistake in the input.

    Examples
    --------
    >>> from symgrad.cli import main
    >>> main(["diff", "x*sin(x)"])
    f(x) = x*sin(x)
    <BLANKLINE>
    d f/d x = x*cos(x) + sin(x)
    0
    """
    given = sys.argv[1:] if argv is None else argv
    if not given:
        parser().print_help()
        return OK
    unknown = _unknown(given[0])
    if unknown:
        complain(unknown)
        raise SystemExit(MISTAKE)  # as argparse does for options that it does not know
    # argparse takes -3:3 for an option; what has a space in it, it does not.
    options = parser().parse_args([f" {a}" if _INTERVAL.match(a) else a for a in given])
    if sys.stdout is None:
        complain("the result cannot be written: standard output is closed")
        return MISTAKE
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except SymgradError as error:
        complain(str(error))
        return MISTAKE
    except BrokenPipeError:  # `symgrad ... | head`: the reader has seen enough
        _drop_output()
        return OK
    except OSError as error:
        if error.filename is not None:
            raise
        _drop_output()
        complain(f"the result cannot be written: {error.strerror}")
        return MISTAKE
    except KeyboardInterrupt:
        return 130
    return status


def _unknown(command: str) -> str:
    """Return what is wrong with the name of a command, and the one that is nearest."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    if command in names or command.startswith("-"):
        return ""
    near = difflib.get_close_matches(command, names, n=1)
    if near:
        return f"there is no command {command!r}; did you mean {near[0]!r}?"
    return f"there is no command {command!r}; the commands are {', '.join(names)}"


def _drop_output() -> None:
    """Let what is still to be written go nowhere, without another error at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
