"""``symgrad bisect``: the optimising pass without which a script passes."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from .._core.base.switches import SWITCHES
from ..errors import ArgumentError
from ._output import Output

SAYS = "find the optimising pass without which a script passes"

EXAMPLES = """The script exits with 0 where all is right, say by an assertion on a result. It is
run with everything, then without any of the passes, then without each of them.

examples:
  symgrad bisect wrong.py
  symgrad bisect -m pytest -q tests/test_mine.py::test_gradient
  SYMGRAD_WITHOUT=fuse python wrong.py            a process without the pass that was found

exit status: 0 a pass was found; 1 none is at fault; 2 a mistake in the input"""


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "script", nargs=argparse.REMAINDER, metavar="SCRIPT ...",
        help="what Python is given: a file and its arguments, or -m MODULE ...",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    script: list[str] = options.script
    if not script:
        raise ArgumentError("which script is to be run? Give a file, or -m MODULE")
    out = Output()
    if _passes(script):
        out.text("the script passes; it is to exit with a status other than 0 if a result is wrong")
        return 1
    if not _passes(script, *SWITCHES):
        out.text("the script fails without any optimising pass, too: none of them is at fault")
        return 1
    found = [name for name in SWITCHES if _passes(script, name)]
    if found:
        for name in found:
            out.text(f"the script passes without `{name}`: {SWITCHES[name]}")
    else:
        names = ", ".join(f"`{name}`" for name in _least(script))
        out.text(f"the script passes only without all of {names}")
    return 0


def _least(script: Sequence[str]) -> list[str]:
    """Return passes that have to be left out together, none of which can stay."""
    off = list(SWITCHES)
    for name in SWITCHES:
        less = [other for other in off if other != name]
        if _passes(script, *less):
            off = less
    return off


def _passes(script: Sequence[str], *without: str) -> bool:
    """Tell whether a script exits with 0, without some passes."""
    environment = os.environ | {"SYMGRAD_WITHOUT": ",".join(without)}
    done = subprocess.run(
        [sys.executable, *script], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return done.returncode == 0
