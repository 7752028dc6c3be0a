"""The tables of docs/performance.md and docs/performance/, written from the records of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stamps

from ._aims import verdicts
from ._table import absent, duration, rows, size
from ._workload import NAMES, load

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"
PAGES = (PAGE, *sorted(PAGE.with_suffix("").glob("*.md")))
BLOCK = r"(<!-- measured: {name} -->\n).*?(<!-- end -->)"


def fill(pages: dict[Path, str], found: dict[str, Any]) -> dict[Path, str]:
    """Return the pages with their measured blocks replaced, each with its stamp.

    Workloads that were not measured keep their blocks, and their rows in the tables of all.
    """
    results = found["results"]
    ran = [name for name in NAMES if any(r["workload"] == name for r in results)]
    every = "" if len(ran) == len(NAMES) else " ".join(ran)
    whole = "\n".join(pages.values())
    blocks = {"machine": machine(found)}
    for name, table in (("aims", aims(results, ran)), ("memory", memory(results))):
        held = re.search(BLOCK.format(name=name), whole, re.DOTALL)
        before = held[0] if held and every else ""
        blocks[name] = joined(before, table, ran, stamp(found, every))
    for name in ran:
        blocks[name] = f"{workload(name, results)}\n\n{stamp(found, name)}"
    filled = dict(pages)
    for name, text in blocks.items():
        pattern = re.compile(BLOCK.format(name=re.escape(name)), re.DOTALL)
        holders = [path for path, page in filled.items() if pattern.search(page)]
        if len(holders) != 1:
            raise ValueError(f"{len(holders)} pages have a block `<!-- measured: {name} -->`")
        path = holders[0]
        filled[path] = pattern.sub(lambda m, text=text: f"{m[1]}{text}\n{m[2]}", filled[path])
    return filled


def joined(before: str, table: str, ran: Sequence[str], new: str) -> str:
    """Return a table with a block's rows of workloads that did not run, and with its stamps."""
    heads, rule, *lines = table.splitlines()

    def of(line: str) -> str:
        return line.split("|")[1].strip()

    rows_before = [line for line in before.splitlines() if line.startswith("|")]
    lines += [line for line in rows_before if of(line) in {*NAMES} - {*ran}]
    lines.sort(key=lambda line: NAMES.index(of(line)))
    old = [found[0] for found in stamps.FORM.finditer(before) if found[0] != new]
    return "\n\n".join(["\n".join([heads, rule, *lines]), *old, new])


def stamp(found: dict[str, Any], name: str = "") -> str:
    """Return the line that says when and where a block was measured, and by which command."""
    m = found["machine"]
    return stamps.line(
        found["date"],
        found["commit"],
        found["versions"]["symgrad"],
        f"{m['processor']}, {m['cores']} cores, {m['vectors']}",
        f"python examples/benchmarks {name}".rstrip() + " --out runs",
    )


def markdown(heads: Sequence[str], cells: Sequence[Sequence[str]], left: int = 2) -> str:
    """A Markdown table."""
    lines = [heads, ["---" if k < left else "---:" for k in range(len(heads))], *cells]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)


def machine(found: dict[str, Any]) -> str:
    """Date, machine and versions."""
    m, versions = found["machine"], found["versions"]
    quick = " (quick)" if found["quick"] else ""
    text = (
        f"Run{quick} of {found['date'][:10]} at commit {found['commit']}: {m['processor']}, "
        f"{m['cores']} cores, {m['vectors']}, {m['system']}, {m['libc']}, "
        f"Python {found['python']}."
    )
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    absent_ = ", ".join(sorted(found["missing"])) or "none"
    return f"{text}\n\nVersions: {listed}. Peers that were not installed: {absent_}."


def aims(results: Sequence[dict[str, Any]], ran: Sequence[str]) -> str:
    """The aims of the workloads that ran, met or not."""
    words = {True: "met", False: "**missed**", None: ""}
    cells = [
        (v.workload, v.aim, v.reached, words[v.met])
        for name in ran
        for v in verdicts(load(name), results)
    ]
    return markdown(("workload", "aim", "reached", ""), cells, left=4)


def memory(results: Sequence[dict[str, Any]]) -> str:
    """The peak memory of a value and gradient, beside JAX's and PyTorch's."""
    peers = ("symgrad", "jax", "torch", "torch.compile")
    known = {(r["workload"], r["case"], r["peer"]): r.get("memory") for r in results}
    keys = list(dict.fromkeys((r["workload"], r["case"]) for r in results))
    cells = [
        (*key, *(size(known.get((*key, peer))) for peer in peers))
        for key in keys
        if (known.get((*key, "symgrad")) or 0) > 1e6
    ]
    return markdown(("workload", "case", *peers), cells)


def workload(name: str, results: Sequence[dict[str, Any]]) -> str:
    """The results of one workload."""
    mine = [r for r in results if r["workload"] == name]
    if not mine:
        return "Not measured yet."
    heads = ("case", "peer", "first", "call", "spread", "to symgrad", "memory", "error", "cost")
    text = markdown(heads, rows(mine))
    late = [(c, p, why) for c, p, why in absent(mine) if why.startswith(("over", "not tried"))]
    if late:
        text += "\n\nToo slow to be timed: "
        text += "; ".join(f"{p} at {c} ({why})" for c, p, why in late) + "."
    wrong = [(c, p, why) for c, p, why in absent(mine) if why.startswith("wrong")]
    if wrong:
        text += (
            "\n\nNot timed because "
            + "; ".join(f"{p} at {c} is {why}" for c, p, why in wrong)
            + "."
        )
    ours = [r for r in mine if r["peer"] == "symgrad" and r.get("call")]
    if ours:
        last = ours[-1]
        first, call = duration(last["first"]), duration(last["call"])
        text += f"\n\nsymgrad at {last['case']}: first {first}, then {call} a call."
    return text


def update(found: dict[str, Any]) -> None:
    """Write the pages."""
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    for path, text in fill(pages, found).items():
        path.write_text(text, encoding="utf-8")
