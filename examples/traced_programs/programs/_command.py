"""The command: which programs trace, which do not and why."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import _npbench, _scipy
from ._case import Finding, judge

EPILOG = """traced: by sg.adapt, unmodified, with the values of the plain function and the slopes
of differences of high order. option: likewise, with the option named. refused: with the error's
text. first: processor seconds to the first value and gradient. slopes: how many could be checked;
where a function has jumps or kinks, differences settle nowhere."""

COLOURS = {"traced": "green", "option": "cyan", "refused": "yellow", "WRONG": "bold red"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run; the exit status is 1 if a value or a slope is wrong."""
    parser = argparse.ArgumentParser(
        prog="traced_programs", description="Trace functions of others as they are.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--scipy", type=Path, metavar="PATH", help="a checkout of SciPy")
    parser.add_argument("--npbench", type=Path, metavar="PATH", help="a checkout of NPBench")
    parser.add_argument("--only", metavar="A,B", help="functions by name")
    parser.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds for each")
    parser.add_argument("--all", action="store_true", help="show what is traced, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings")
    args = parser.parse_args(argv)
    if not args.scipy and not args.npbench:
        parser.error("give --scipy, --npbench, or both")
    cases = [*(_scipy.cases(args.scipy) if args.scipy else ()),
             *(_npbench.cases(args.npbench) if args.npbench else ())]  # fmt: skip
    wanted = set(args.only.split(",")) if args.only else None
    console = Console()
    findings = []
    with console.status("") as status:
        for case in cases:
            if wanted is None or case.name in wanted:
                status.update(f"{case.suite} {case.name}")
                findings.append(judge(case, limit=args.limit))
                if args.json:
                    text = json.dumps([record(f) for f in findings], indent=1)
                    args.json.write_text(text + "\n")
    console.print(table([f for f in findings if args.all or f.verdict != "traced"]))
    console.print(summary(findings))
    return int(any(f.verdict == "WRONG" for f in findings))


def record(finding: Finding) -> dict[str, object]:
    """Return a finding as JSON has it."""
    case = finding.case
    return {"suite": case.suite, "name": case.name, "verdict": finding.verdict,
            "way": finding.way, "first": round(finding.first, 3), "slopes": finding.slopes,
            "detail": finding.detail, "refusals": finding.refusals}  # fmt: skip


def table(findings: Sequence[Finding]) -> Table:
    """One row a function."""
    made = Table("suite", "function", "verdict", "first", "slopes", "why")
    for f in findings:
        why = f.detail or (f.way if f.verdict == "option" else "")
        verdict = f"[{COLOURS[f.verdict]}]{f.verdict}[/]"
        made.add_row(f.case.suite, f.case.name, verdict, f"{f.first:.2f} s", str(f.slopes),
                     why.replace("[", "\\["))  # fmt: skip
    return made


def summary(findings: Sequence[Finding]) -> Table:
    """One row a suite."""
    made = Table("suite", "functions", *COLOURS, "unmodified", "median first", "longest first")
    for suite in dict.fromkeys(f.case.suite for f in findings):
        those = [f for f in findings if f.case.suite == suite]
        count = Counter(f.verdict for f in those)
        times = sorted(f.first for f in those)
        made.add_row(
            suite, str(len(those)), *(str(count[v]) for v in COLOURS),
            f"{count['traced'] / len(those):.1%}", f"{times[len(times) // 2]:.2f} s",
            f"{times[-1]:.2f} s",
        )  # fmt: skip
    return made
