"""The command: ``python examples/benchmarks``."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import peers

from . import _page, _record
from ._aims import verdicts
from ._run import QUICK, Effort, run
from ._table import show
from ._workload import NAMES, load

EPILOG = f"""workloads: {", ".join(NAMES)}
peers: {", ".join(peers.PEERS)}

examples:
  python examples/benchmarks                               everything, about two hours
  python examples/benchmarks sincos --quick                one workload, small sizes, a minute
  python examples/benchmarks rosen --peers symgrad,jax     against one peer
  python examples/benchmarks --page runs/*.json            write docs/performance* from records

Every peer runs in a process of its own with one thread. first: from the function to the first
result, without imports. call: median of repeats that take turns with the other peers', with the
distance of the quartiles as spread. ratio: to symgrad. memory: what a call needs beyond its
arguments. error: the largest, relative, against exact results; who is wrong is not timed.
cost: of value and gradient, in evaluations of the function."""


def options(name: str | None) -> argparse.ArgumentParser:
    """Return the parser; with a name that of a single workload's script."""
    parser = argparse.ArgumentParser(
        prog=f"{name}.py" if name else "python examples/benchmarks",
        description="Time symgrad beside its peers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if name is None:
        parser.add_argument("workloads", nargs="*", metavar="workload", help="default: all")
    parser.add_argument("--peers", metavar="A,B", help="default: all that are installed")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--limit", type=float, metavar="S", help="seconds to a first result")
    parser.add_argument("--rounds", type=int, metavar="N", help="repeats of each peer")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for JSON and plots")
    if name is None:
        parser.add_argument(
            "--page",
            nargs="+",
            type=Path,
            metavar="JSON",
            help="fill in docs/performance*",
        )
    return parser


def available(
    names: str | None, parser: argparse.ArgumentParser
) -> tuple[list[str], dict[str, str]]:
    """Return the peers to run, and what the others lack."""
    wanted = names.split(",") if names else list(peers.PEERS)
    unknown = [n for n in wanted if n not in peers.PEERS]
    if unknown:
        parser.error(f"no peer {', '.join(unknown)}; there are {', '.join(peers.PEERS)}")
    lacking = {n: why for n in wanted if (why := peers.kind(n).missing())}
    return [n for n in wanted if n not in lacking], lacking


def terminal() -> Any:
    """A rich console, where rich is installed and this is a terminal."""
    if importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else None


def tell(text: str) -> None:
    """Say what runs, on a terminal, in place."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def main(argv: Sequence[str] | None = None, name: str | None = None) -> int:
    """Run the command, or a single workload's script, and return the exit status."""
    parser = options(name)
    given = parser.parse_args(argv)
    if name is None and given.page:
        _page.update(_record.read(given.page))
        return 0
    workloads = [name] if name else given.workloads or list(NAMES)
    unknown = [w for w in workloads if w not in NAMES]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(NAMES)}")
    chosen, lacking = available(given.peers, parser)
    effort: Effort = QUICK if given.quick else Effort()
    effort = replace(
        effort, limit=given.limit or effort.limit, rounds=given.rounds or effort.rounds
    )
    for peer, why in lacking.items():
        print(f"not here: {peer} ({why})")
    results: list[dict[str, Any]] = []
    wrong = False
    for workload in map(load, workloads):
        found = run(workload, chosen, effort, given.quick, tell)
        tell("")
        show(f"{workload.name}: {workload.title}", found, terminal())
        for v in verdicts(workload, found):
            verdict = {True: "met", False: "MISSED", None: ""}[v.met]
            print(f"  aim: {v.aim}: {v.reached} {verdict}".rstrip())
        results += found
        wrong |= any(r["peer"] == "symgrad" and "wrong" in r.get("failed", "") for r in found)
        if given.out:
            save(given, workload, found, results, lacking)
    return int(wrong)


def save(given: Any, workload: Any, found: Any, results: Any, lacking: Any) -> None:
    """Write the record so far, and the workload's plot."""
    record = _record.record(results, lacking, given.quick)
    _record.write(given.out / "record.json", record)
    if importlib.util.find_spec("matplotlib") is None:
        print("no plot: matplotlib is not installed")
        return
    from ._plot import plot

    plot(f"{workload.name}: {workload.title}", found, given.out / f"{workload.name}.png")
