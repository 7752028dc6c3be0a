"""``symgrad cache``: compiled programs on disk."""

from __future__ import annotations

import argparse
import time
from collections import Counter

from .._dispatch import Stored, remove, stored, usable_folder
from ._output import Output

SAYS = "show or clear the compiled programs on disk"

EXAMPLES = """examples:
  symgrad cache                    where it is, how many programs, how large
  symgrad cache --list             one line for each program
  symgrad cache --clear            remove all of them
  symgrad cache --clear --days 30  those compiled more than 30 days ago

SYMGRAD_CACHE_DIR chooses another folder; empty, it switches the cache off."""


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("--list", action="store_true", help="list the programs")
    command.add_argument("--clear", action="store_true", help="remove the programs")
    command.add_argument(
        "--days", type=float, default=0.0, metavar="N", help="only those older than N days"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    out = Output()
    try:
        folder = usable_folder()
    except OSError as error:
        out.text(f"there is no cache: {error}")
        return 0
    now = time.time()
    entries = [s for s in stored() if now - s.made >= options.days * 86400]
    out.text(f"{folder}: {_summary(entries)}")
    if options.list:
        for entry in entries:
            out.text(_line(entry, now))
    if options.clear:
        gone = remove(entries)
        out.text(f"removed {gone}")
        return 0 if gone == len(entries) else 1
    return 0


def _summary(entries: list[Stored]) -> str:
    count = "1 program" if len(entries) == 1 else f"{len(entries)} programs"
    return f"{count}, {_size(sum(s.size for s in entries))}"


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _line(entry: Stored, now: float) -> str:
    age = now - entry.made
    text = f"{age / 86400:.0f} days" if age >= 2 * 86400 else f"{age / 3600:.1f} hours"
    return f"{entry.folder.name[:12]}  {_size(entry.size):>9}  {text:>10}  {_signature(entry)}"


def _signature(entry: Stored) -> str:
    if entry.inputs is None or entry.outputs is None:
        return "damaged"
    if not entry.inputs and not entry.outputs:
        return "entry code of symgrad"
    return f"{_grouped(entry.inputs)} -> {_grouped(entry.outputs)}"


def _grouped(leaves: tuple[str, ...]) -> str:
    """Return leaves as text, repeated ones by number: ``3 x float64[1]``."""
    counts = Counter(leaves)
    return ", ".join(leaf if n == 1 else f"{n} x {leaf}" for leaf, n in counts.items()) or "nothing"
