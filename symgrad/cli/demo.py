"""``symgrad demo``: NIST's certified regression problems."""

from __future__ import annotations

import argparse
from typing import Any

from ..demo import run as run_demo

EXAMPLES = """examples:
  symgrad demo                        fit NIST's 27 certified regression problems
  symgrad demo --problem Thurber      one of them in full"""


def add(commands: Any) -> None:
    """Add the command."""
    command = commands.add_parser(
        "demo",
        help="fit NIST's certified nonlinear regression problems with compiled Jacobians",
        description=(
            "Read each model from the text in its file, compile residuals and Jacobian, "
            "verify them in ulps, fit from both starting points and compare with the "
            "certified values."
        ),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--problem", metavar="NAME", help="show one problem in full")
    command.set_defaults(run=lambda options: run_demo(options.problem))
