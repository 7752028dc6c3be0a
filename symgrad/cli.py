"""The command line: ``symgrad demo``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__
from .demo import run
from .errors import SymgradError

EXAMPLES = """examples:
  symgrad demo                        fit NIST's 27 certified regression problems
  symgrad demo --problem Thurber      one of them in full
  symgrad demo --data my_folder       StRD files of your own
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    top = argparse.ArgumentParser(
        prog="symgrad",
        description="Exact, fast derivatives of NumPy functions and SymPy formulas.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"symgrad {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    demo = commands.add_parser(
        "demo",
        help="fit NIST's certified nonlinear regression problems with compiled Jacobians",
        description=(
            "Read each model from the text in its file, compile residuals and Jacobian, "
            "verify them in ulps, fit from both starting points and compare with the "
            "certified values."
        ),
    )
    demo.add_argument("--problem", metavar="NAME", help="show one problem in full")
    demo.add_argument("--data", metavar="PATH", help="a folder of StRD files, or one file")
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
    >>> try:
    ...     main(["--version"])
    ... except SystemExit as stop:
    ...     assert stop.code == 0
    symgrad ...
    """
    options = parser().parse_args(argv)
    try:
        return run(problem=options.problem, data=options.data)
    except SymgradError as error:
        print(f"symgrad: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
