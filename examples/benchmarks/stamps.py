"""The line below measured figures: when, at which commit, on which machine, by which command.

A script prints it after its figures, or writes it into a page with them. tests/test_docs_stamps.py
reads it: figures of the docs have a stamp, and are measured again before they are 60 days old.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORM = re.compile(
    r"Measured on (?P<day>\d{4}-\d\d-\d\d) at commit (?P<commit>[0-9a-f]{7,12}(?:-dirty)?), "
    r"symgrad (?P<version>\d+\.\d+), on (?P<machine>[^`\n]+), by `(?P<command>[^`\n]+)`\."
)


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def vectors() -> str:
    """The widest vector instructions that the processor says it has."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return "unknown"
    return next((n for f, n in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if f in flags), "none")


def commit() -> str:
    """The checkout's commit, and whether files have changed since."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def line(day: str, commit: str, version: str, machine: str, command: str) -> str:
    """Return a stamp; ``version`` may have more than its first two numbers."""
    minor = ".".join(version.split(".")[:2])
    return (
        f"Measured on {day[:10]} at commit {commit}, symgrad {minor}, on {machine}, by `{command}`."
    )


def stamp(argv: Sequence[str] | None = None) -> str:
    """Return the stamp of figures that this process has just measured.

    Parameters
    ----------
    argv:
        The command, without Python; by default that of the process.
    """
    import symgrad

    script, *options = sys.argv if argv is None else argv
    try:
        script = str(Path(script).resolve().relative_to(ROOT))
    except ValueError:  # not of the checkout
        script = Path(script).name
    script = script.removesuffix("/__main__.py")
    machine = f"{processor()}, {os.cpu_count()} cores, {vectors()}"
    command = shlex.join(["python", script, *options])
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return line(today, commit(), symgrad.__version__, machine, command)


def kept(page: str) -> str | None:
    """Return the first stamp of a page, for a script that writes some of its rows."""
    found = FORM.search(page)
    return found[0] if found else None
