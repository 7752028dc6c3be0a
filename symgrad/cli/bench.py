"""``symgrad bench``: the benchmark scripts of a checkout."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

SCRIPTS = Path("examples", "benchmarks")

#: Where there are no scripts whose own help could be printed.
HELP = """usage: symgrad bench [-h] [SCRIPT] [OPTION ...]

Time symgrad beside JAX, PyTorch, CasADi and others. The scripts are in examples/benchmarks of
the source and not of the installed package: run it in the source's folder.

examples:
  cd symgrad && symgrad bench --help              the scripts and their options
"""


def add(commands: Any) -> None:
    """Add the command, whose options are those of the scripts.

    With a prefix that no argument has, argparse passes options on as they are, ``--help`` too.
    """
    command = commands.add_parser(
        "bench",
        help="time symgrad beside JAX, PyTorch, CasADi, ... (needs a checkout)",
        add_help=False,
        prefix_chars="\0",
    )
    command.add_argument("arguments", nargs="*")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the scripts in a process of their own."""
    try:
        folder = scripts()
    except ArgumentError:
        if not {"-h", "--help"} & set(options.arguments):
            raise
        sys.stdout.write(HELP)
        return 0
    done = subprocess.run([sys.executable, str(folder), *options.arguments], check=False)
    return done.returncode


def scripts() -> Path:
    """Return the folder of the scripts: of this checkout, or the one in the current folder."""
    for root in (Path(__file__).parents[2], Path.cwd()):
        if (root / SCRIPTS / "__main__.py").is_file():
            return root / SCRIPTS
    raise ArgumentError(
        "bench runs the scripts in examples/benchmarks, which are part of the source, not of "
        "the installed package. Get the source (its distribution or repository) and run "
        "`symgrad bench` in its folder."
    )
