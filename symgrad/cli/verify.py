"""``symgrad verify``: compiled derivatives against exact ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .._api._verify import verify
from ..errors import VerificationError
from . import _target
from ._output import Output

EXAMPLES = f"""{_target.HELP}

examples:
  symgrad verify "x*sin(x)" --args 1.5
  symgrad verify model.py:energy --args "rand(5)" 2.0
  symgrad verify model.py:energy --args "rand(5)" 2.0 --limit 4 --json report.json

exit status: 0 all entries are as exact as allowed; 1 one is not; 2 a mistake in the input"""


def add(commands: Any) -> None:
    """Add the command."""
    command = commands.add_parser(
        "verify",
        help="check compiled derivatives against exact ones, in ulps",
        description="Compare a function's compiled value and derivatives with exact ones.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _target.add_target(command)
    command.add_argument("--wrt", metavar="NAME", nargs="+", help="by what; default: all real")
    command.add_argument("--digits", type=int, default=50, help="of the exact values; default: 50")
    command.add_argument("--samples", type=int, default=256, help="elements of each result")
    command.add_argument("--limit", type=float, default=16.0, help="allowed error in ulp")
    command.add_argument("--json", metavar="PATH", type=Path, help="also write the report there")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    f, arguments = _target.load(options.target).function, _target.arguments(options.args)
    _target.matched(f, arguments)
    try:
        report = verify(
            f, *arguments, wrt=options.wrt, digits=options.digits, samples=options.samples,
            limit=options.limit,
        )  # fmt: skip
    except VerificationError as error:
        sys.stderr.write(f"symgrad: {error}\n")
        return 1
    Output().text(str(report))
    if options.json is not None:
        options.json.write_text(report.to_json(), encoding="utf-8")
    return 0
